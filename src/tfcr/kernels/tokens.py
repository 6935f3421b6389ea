"""Tokenise and count over UTF-8 bytes, without making a string of any token.

What to do with a character is said by a table over all code points, so that one kernel serves all tokenisers: END ends
a token, KEEP is appended to it, MORE is appended to one that has begun, SKIP is passed over.
Arrays are of fixed size in here and grown by the caller between calls; growing them here was five times slower.
"""

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled

END, MORE, KEEP, SKIP = 0, 1, 2, 3
START, STOP, SEEN, ENTRY = 0, 1, 2, 3

_FIRST_HASH = np.uint64(1469598103934665603)
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_UPPER = np.uint64(0xFFFFFFFF00000000)
_LOWER = np.uint64(0x00000000FFFFFFFF)


@compiled
def count_documents(  # noqa: PLR0912, PLR0915 - one pass, nothing to call from its inside
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    document: int,
    actions: NDArray[np.uint8],
    adding: bool,
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    known: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.int32],
    entry_starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    state: NDArray[np.int64],
) -> int:
    """Count documents from number `document` on; stop before one that might not fit, and return its number.

    Parameters
    ----------
    text, starts
        All documents' bytes, and where each starts; the last start is the end.
    actions
        One of END, MORE, KEEP, SKIP for each code point.
    adding
        Whether a word that is not known gets a number, or is passed over.
    slots
        Hash table: the upper half of a word's hash, and its number plus 1; 0 where empty. Its size is a power of two.
    arena
        The bytes of the words, one after the other.
    known
        For each word START, STOP (its bytes), SEEN (the last document that held it) and ENTRY (the entry there): what
        a token needs to know of its word lies in one line of the processor's cache.
    words, counts, entry_starts
        The result: entries of word and count, and where each document's start.
    lengths
        The tokens of each document, the unknown ones too.
    state
        The bytes of the arena used, the words known, the entries written.
    """
    used, n_words, n_entries = state[0], state[1], state[2]
    mask = slots.shape[0] - 1
    n_documents = starts.shape[0] - 1
    while document < n_documents:
        at, end = starts[document], starts[document + 1]
        size = end - at
        tokens = (size + 1) // 2  # a token and what ends it take two bytes
        if (
            used + size + 4 > arena.shape[0]
            or n_entries + tokens > words.shape[0]
            or (adding and (n_words + tokens > known.shape[0] or 2 * (n_words + tokens) > slots.shape[0]))
        ):
            break
        n_tokens = 0
        while at < end:
            written = used
            hashed = _FIRST_HASH
            while at < end:
                byte = text[at]
                if byte < 0x80:
                    code, width = np.int64(byte), 1
                elif byte < 0xE0:
                    code, width = (np.int64(byte & 31) << 6) | (text[at + 1] & 63), 2
                elif byte < 0xF0:
                    code = (np.int64(byte & 15) << 12) | (np.int64(text[at + 1] & 63) << 6) | (text[at + 2] & 63)
                    width = 3
                else:
                    code = (np.int64(byte & 7) << 18) | (np.int64(text[at + 1] & 63) << 12)
                    code |= (np.int64(text[at + 2] & 63) << 6) | (text[at + 3] & 63)
                    width = 4
                action = actions[code]
                if action == END or (action == MORE and written == used):
                    at += width
                    break
                if action != SKIP:
                    for offset in range(width):
                        arena[written] = text[at + offset]
                        hashed = (hashed ^ np.uint64(text[at + offset])) * _MULTIPLIER
                        written += 1
                at += width
            if written == used:
                continue
            n_tokens += 1
            hashed ^= hashed >> _HALF
            tag = hashed & _UPPER
            slot = np.int64(hashed & np.uint64(mask))
            held = slots[slot]
            word = np.int64(-1)
            while held != 0:
                if held & _UPPER == tag:
                    word = np.int64(held & _LOWER) - 1
                    first = known[word, START]
                    same = known[word, STOP] - first == written - used
                    if same:
                        for offset in range(written - used):
                            if arena[first + offset] != arena[used + offset]:
                                same = False
                                break
                    if same:
                        break
                    word = np.int64(-1)
                slot = (slot + 1) & mask
                held = slots[slot]
            if word < 0:
                if not adding:
                    continue
                word = n_words
                n_words += 1
                slots[slot] = tag | np.uint64(n_words)
                known[word, START] = used
                known[word, STOP] = written
                known[word, SEEN] = -1
                used = written
            if known[word, SEEN] == document:
                counts[known[word, ENTRY]] += 1
            else:
                known[word, SEEN] = document
                known[word, ENTRY] = n_entries
                words[n_entries] = word
                counts[n_entries] = 1
                n_entries += 1
        lengths[document] = n_tokens
        document += 1
        entry_starts[document] = n_entries
    state[0], state[1], state[2] = used, n_words, n_entries
    return document


@compiled
def fill_slots(arena: NDArray[np.uint8], known: NDArray[np.int64], n_words: int, slots: NDArray[np.uint64]) -> None:
    """Put words into an empty hash table."""
    mask = slots.shape[0] - 1
    for word in range(n_words):
        hashed = _FIRST_HASH
        for at in range(known[word, START], known[word, STOP]):
            hashed = (hashed ^ np.uint64(arena[at])) * _MULTIPLIER
        hashed ^= hashed >> _HALF
        slot = np.int64(hashed & np.uint64(mask))
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = (hashed & _UPPER) | np.uint64(word + 1)
