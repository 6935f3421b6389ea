"""Cut words, given by their UTF-8 bytes, into pieces; the twin of the plain Python in `text.pieces`.

A word is copied into a buffer with a space at either edge, and the first byte of each of its characters is noted:

    word      g ü t                buffer   ' ' g ü ü t ' '
    edges     0 1 2 4 5 6          character i reaches from edges[i] to edges[i + 1]
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled, inlined
from tfcr.kernels.tokens import Int, first_and_hash, look_up

NGRAMS, AFFIXES, LONGEST, MERGE, WHOLE = 0, 1, 2, 3, 4  # as in SEGMENTATIONS
SHORTEST_NGRAM, LONGEST_NGRAM = 2, 5
MAX_CHARACTERS = 64
MAX_PIECES = 4 * (MAX_CHARACTERS + 1)
"""Most pieces of a word: n-grams of four sizes."""
BUFFER_BYTES = 4 * MAX_CHARACTERS + 2 + 8
"""Room for a word, its edges, and the eight bytes that hashing reads beyond."""

_SPACE = 32


@inlined
def copy_edged(text: NDArray[np.uint8], at: Int, end: Int, buffer: NDArray[np.uint8], edges: NDArray[np.int64]) -> int:
    """Copy a word between two spaces; return its number of characters, the spaces included."""
    buffer[0] = _SPACE
    edges[0] = 0
    edges[1] = 1
    used = 1
    n_characters = 1
    while at < end and n_characters <= MAX_CHARACTERS:
        buffer[used] = text[at]
        used += 1
        at += 1
        while at < end and text[at] & 0xC0 == 0x80:  # the other bytes of the character
            buffer[used] = text[at]
            used += 1
            at += 1
        n_characters += 1
        edges[n_characters] = used
    buffer[used] = _SPACE
    edges[n_characters + 1] = used + 1
    return n_characters + 1


@compiled
def find_piece(
    buffer: NDArray[np.uint8],
    start: Int,
    end: Int,
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint32],
) -> Int:
    """Return the number of the piece between two bytes of the buffer, -1 if there is none.

    It is called, not inlined: in six places it took three times as long to compile, and was hardly faster.
    """
    first, hashed = first_and_hash(buffer, start, end - start)
    return look_up(buffer, start, end - start, first, hashed, slots, arena, offsets)[0]


@inlined
def is_new(number: Any, pieces: NDArray[Any], start: Int, end: Int) -> bool:
    """Return whether a piece is not among those of the word so far."""
    new = True
    for place in range(start, end):
        new = new and pieces[place] != number
    return new


@inlined
def cut_ngrams(
    buffer: NDArray[np.uint8],
    edges: NDArray[np.int64],
    n_characters: int,
    affixes: bool,
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint32],
    pieces: NDArray[np.int32],
    used: Int,
) -> Int:
    """Write the different n-grams of a word, or those at its edges; return the number of entries."""
    start = used
    for size in range(SHORTEST_NGRAM, min(LONGEST_NGRAM, n_characters) + 1):
        last = n_characters - size
        for at in range(0, last + 1, max(last, 1) if affixes else 1):
            number = find_piece(buffer, edges[at], edges[at + size], slots, arena, offsets)
            if number >= 0 and is_new(number, pieces, start, used):
                pieces[used] = number
                used += 1
    return used


@inlined
def cut_longest(
    buffer: NDArray[np.uint8],
    edges: NDArray[np.int64],
    n_characters: int,
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint32],
    pieces: NDArray[np.int32],
    used: Int,
) -> Int:
    """Write the longest pieces from left to right; return the number of entries."""
    at = 0
    while at < n_characters:
        end = n_characters
        number = np.int64(-1)
        while end > at and number < 0:
            number = np.int64(find_piece(buffer, edges[at], edges[end], slots, arena, offsets))
            end -= 1
        if number >= 0:
            pieces[used] = number
            used += 1
        at = max(end, at) + 1
    return used


@inlined
def cut_merged(
    buffer: NDArray[np.uint8],
    edges: NDArray[np.int64],
    unions: NDArray[np.int64],
    n_parts: int,
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint32],
    pieces: NDArray[np.int32],
    used: Int,
) -> Int:
    """Join neighbours by the rank of their union, and write what is left; return the number of entries.

    `unions` is room for the number of the union of each part with the next, -1 if that is no piece.
    """
    for at in range(n_parts - 1):
        unions[at] = find_piece(buffer, edges[at], edges[at + 2], slots, arena, offsets)
    while True:
        best = -1
        for at in range(n_parts - 1):
            if unions[at] >= 0 and (best < 0 or unions[at] < unions[best]):
                best = at
        if best < 0:
            break
        for at in range(best + 1, n_parts):  # the edge between the two goes; edges[n_parts] is the end
            edges[at] = edges[at + 1]
        for at in range(best + 1, n_parts - 1):
            unions[at] = unions[at + 1]
        n_parts -= 1
        for at in (best - 1, best):
            if 0 <= at < n_parts - 1:
                unions[at] = find_piece(buffer, edges[at], edges[at + 2], slots, arena, offsets)
    for at in range(n_parts):
        number = find_piece(buffer, edges[at], edges[at + 1], slots, arena, offsets)
        if number >= 0:
            pieces[used] = number
            used += 1
    return used


@compiled
def cut_some(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    word: int,
    segmentation: int,
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    offsets: NDArray[np.uint32],
    pieces: NDArray[np.int32],
    piece_starts: NDArray[np.int64],
) -> int:
    """Cut words from number `word` on; stop before one whose pieces might not fit, and return its number.

    Parameters
    ----------
    text, starts
        The bytes of all words, and where each starts; (n_words + 1,).
    word
        The first word to cut.
    segmentation
        NGRAMS, AFFIXES, LONGEST, MERGE or WHOLE.
    slots, arena, offsets
        The list of pieces, as in `count_documents`.
    pieces, piece_starts
        The result: numbers of pieces, and where each word's start; the entry of the first word is given.
    """
    buffer = np.zeros(BUFFER_BYTES, np.uint8)
    edges = np.zeros(MAX_CHARACTERS + 3, np.int64)
    unions = np.zeros(MAX_CHARACTERS + 3, np.int64)
    used = piece_starts[word]
    while word < starts.shape[0] - 1 and used + MAX_PIECES <= pieces.shape[0]:
        n_characters = copy_edged(text, starts[word], starts[word + 1], buffer, edges)
        without_right = n_characters - 1  # sub-words know no right edge
        if segmentation in (NGRAMS, AFFIXES):
            affixes = segmentation == AFFIXES
            used = cut_ngrams(buffer, edges, n_characters, affixes, slots, arena, offsets, pieces, used)
        elif segmentation == LONGEST:
            used = cut_longest(buffer, edges, without_right, slots, arena, offsets, pieces, used)
        elif segmentation == MERGE:
            used = cut_merged(buffer, edges, unions, without_right, slots, arena, offsets, pieces, used)
        elif edges[n_characters] == starts[word + 1] - starts[word] + 2:  # the whole word, if it is not cut off
            number = find_piece(buffer, np.int64(0), edges[n_characters], slots, arena, offsets)
            if number >= 0:
                pieces[used] = number
                used += 1
        word += 1
        piece_starts[word] = used
    return word


@compiled
def hash_ngrams(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    word: int,
    affixes: bool,
    hashes: NDArray[np.uint64],
    places: NDArray[np.int64],
    used: int,
) -> tuple[int, int]:
    """Write a hash of every different n-gram of each word, and where it is.

    Stops before a word whose n-grams might not fit; returns its number, and the number of entries.

    Parameters
    ----------
    text, starts, word
        As in `cut_some`.
    affixes
        Whether only n-grams at either edge count.
    hashes, places
        The result; a place is the word · 1024 + the first character · 8 + the number of characters.
    used
        The number of entries so far.
    """
    buffer = np.zeros(BUFFER_BYTES, np.uint8)
    edges = np.zeros(MAX_CHARACTERS + 3, np.int64)
    while word < starts.shape[0] - 1 and used + MAX_PIECES <= hashes.shape[0]:
        start = used
        n_characters = copy_edged(text, starts[word], starts[word + 1], buffer, edges)
        for size in range(SHORTEST_NGRAM, min(LONGEST_NGRAM, n_characters) + 1):
            last = n_characters - size
            for at in range(0, last + 1, max(last, 1) if affixes else 1):
                hashed = first_and_hash(buffer, edges[at], edges[at + size] - edges[at])[1]
                if is_new(hashed, hashes, start, used):
                    hashes[used] = hashed
                    places[used] = (word << 10) | (at << 3) | size
                    used += 1
        word += 1
    return word, used
