"""Results: the file that keeps them, and the tables made of them."""
