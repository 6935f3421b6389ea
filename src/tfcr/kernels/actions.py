"""The numbers that plain and compiled code of counting agree on; this module does not load numba."""

END, MORE, KEEP, SKIP, SYMBOL, ALONE, MARK = 0, 1, 2, 3, 4, 5, 6
"""What a tokeniser does with a character; see `kernels.tokens`."""

UNKNOWN_WORD, UNKNOWN_SYMBOL = -1, -2
"""Token numbers of tokens outside the vocabulary. As indices they count from the end of a mask over all words."""
