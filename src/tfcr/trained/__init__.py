"""What is left after training: the word table, its explanations, and model files."""
