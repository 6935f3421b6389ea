"""Columns of arrays that plain and compiled code both read; it imports nothing, since numba loads slowly."""

WORD, FIRST = 0, 1  # columns of slots, see `text.lexicon`
ENTRY, VALUE = 0, 1  # columns of places, see `trained.word_table`
