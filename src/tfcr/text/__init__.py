"""From texts to tokens and counts."""
