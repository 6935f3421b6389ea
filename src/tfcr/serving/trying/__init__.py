"""The page Try: a text as it is typed, its words coloured, and a word's weight in every class."""
