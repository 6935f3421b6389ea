"""Tokenise and count over UTF-8 bytes, without making a string of any token.

What to do with a character is said by a table over all code points, so that one kernel serves all tokenisers: END ends
a token, KEEP is appended to it, MORE is appended to one that has begun, SKIP is passed over.

What a token is compared with lies beside its slot in the hash table: whether it is a known word is mostly decided by
one line of the processor's cache. Arrays are of fixed size in here and grown by the caller between calls; growing them
here was five times slower.
"""

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled

END, MORE, KEEP, SKIP = 0, 1, 2, 3
WORD, FIRST = 0, 1  # columns of slots
SEEN, ENTRY = 0, 1  # columns of last

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_NOTHING, _BYTE, _HALF = np.uint64(0), np.uint64(8), np.uint64(32)
_HASH_BITS = np.uint64(0xFFFFFF0000000000)
_TAG_BITS = np.uint64(0xFFFFFFFF00000000)
_NUMBER_BITS = np.uint64(0x00000000FFFFFFFF)


@compiled
def mix(hashed: np.uint64, eight: np.uint64) -> np.uint64:
    """Return the hash of what was hashed before and the next eight bytes."""
    product = (hashed ^ eight) * _MULTIPLIER
    return product ^ (product >> _HALF)


@compiled
def tag_of(hashed: np.uint64, size: int) -> np.uint64:
    """Return what a slot keeps of a word beside its number: some of its hash, and its size up to 255."""
    return (hashed & _HASH_BITS) | (np.uint64(min(size, 255)) << _HALF)


@compiled
def count_documents(  # noqa: PLR0912, PLR0915 - one pass, nothing to call from its inside
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    document: int,
    actions: NDArray[np.uint8],
    adding: bool,
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    last: NDArray[np.int32],
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
        Hash table of a power of two of rows: WORD, a word's number plus 1 and its tag, 0 where empty; and FIRST, the
        word's first eight bytes.
    arena, offsets
        The bytes of the words, one after the other, and where each starts; the last offset is the end.
    last
        For each word SEEN (the last document that held it) and ENTRY (the entry there).
    words, counts, entry_starts
        The result: entries of word and count, and where each document's start.
    lengths
        The tokens of each document, the unknown ones too.
    state
        The bytes of the arena used, the words known, the entries written.
    """
    used, n_words, n_entries = state[0], state[1], state[2]
    mask = np.uint64(slots.shape[0] - 1)
    n_documents = starts.shape[0] - 1
    while document < n_documents:
        at, end = starts[document], starts[document + 1]
        size = end - at
        tokens = (size + 1) // 2  # a token and what ends it take two bytes
        if (
            used + size + 4 > arena.shape[0]
            or n_entries + tokens > words.shape[0]
            or (adding and (n_words + tokens > last.shape[0] or 2 * (n_words + tokens) > slots.shape[0]))
        ):
            break
        n_tokens = 0
        while at < end:
            # the next token: its bytes go to the end of the arena, and to `eight` for the hash
            written = used
            hashed, eight, first, shift = _NOTHING, _NOTHING, _NOTHING, _NOTHING
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
                        byte = text[at + offset]
                        arena[written] = byte
                        written += 1
                        eight |= np.uint64(byte) << shift
                        shift += _BYTE
                        if shift == 64:
                            if written == used + 8:
                                first = eight
                            hashed, eight, shift = mix(hashed, eight), _NOTHING, _NOTHING
                at += width
            size = written - used
            if size == 0:
                continue
            n_tokens += 1
            if size < 8:
                first = eight
            hashed = mix(mix(hashed, eight), np.uint64(size))
            # the word it is
            tag = tag_of(hashed, size)
            slot = np.int64(hashed & mask)
            held = slots[slot, WORD]
            word = np.int64(-1)
            while held != 0:
                if held & _TAG_BITS == tag and slots[slot, FIRST] == first:
                    word = np.int64(held & _NUMBER_BITS) - 1
                    if size <= 8:
                        break
                    start = offsets[word]
                    same = offsets[word + 1] - start == size
                    if same:
                        for offset in range(8, size):
                            if arena[start + offset] != arena[used + offset]:
                                same = False
                                break
                    if same:
                        break
                    word = np.int64(-1)
                slot = np.int64(np.uint64(slot + 1) & mask)
                held = slots[slot, WORD]
            if word < 0:
                if not adding:
                    continue
                word = n_words
                n_words += 1
                slots[slot, WORD] = tag | np.uint64(n_words)
                slots[slot, FIRST] = first
                last[word, SEEN] = -1
                used = written
                offsets[n_words] = used
            if last[word, SEEN] == document:
                counts[last[word, ENTRY]] += 1
            else:
                last[word, SEEN] = document
                last[word, ENTRY] = n_entries
                words[n_entries] = word
                counts[n_entries] = 1
                n_entries += 1
        lengths[document] = n_tokens
        document += 1
        entry_starts[document] = n_entries
    state[0], state[1], state[2] = used, n_words, n_entries
    return document


@compiled
def fill_slots(arena: NDArray[np.uint8], offsets: NDArray[np.int64], n_words: int, slots: NDArray[np.uint64]) -> None:
    """Put words into an empty hash table."""
    mask = np.uint64(slots.shape[0] - 1)
    for word in range(n_words):
        size = offsets[word + 1] - offsets[word]
        hashed, eight, first, shift = _NOTHING, _NOTHING, _NOTHING, _NOTHING
        for at in range(offsets[word], offsets[word + 1]):
            eight |= np.uint64(arena[at]) << shift
            shift += _BYTE
            if shift == 64:
                if at == offsets[word] + 7:
                    first = eight
                hashed, eight, shift = mix(hashed, eight), _NOTHING, _NOTHING
        if size < 8:
            first = eight
        hashed = mix(mix(hashed, eight), np.uint64(size))
        slot = np.int64(hashed & mask)
        while slots[slot, WORD] != 0:
            slot = np.int64(np.uint64(slot + 1) & mask)
        slots[slot, WORD] = tag_of(hashed, size) | np.uint64(word + 1)
        slots[slot, FIRST] = first
