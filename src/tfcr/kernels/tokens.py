"""Tokenise and count UTF-8 bytes without making a string of any token.

A table over all code points says what to do with a character, so that one kernel serves all tokenisers:

    END      ends a token                      KEEP   is appended to a word, or starts one
    MORE     is appended to a started token    SYMBOL is appended to a token of symbols, or starts one
    SKIP     is left out                       ALONE  starts a token that only MORE and MARK are appended to
    MARK     is appended to a started token of any kind, or starts one of symbols

Words and symbols end one another, and MORE ends a token of symbols. With the tokeniser `symbols`, "so GOOD!!"
(lower-cased by then) is handled as

    byte      s    o    ' '  g    o    o    d    !      !
    action    KEEP KEEP END  KEEP KEEP KEEP KEEP SYMBOL SYMBOL
    found     s    o         g    o    o    d    !      !
    sizes     2              4                   2

A document's tokens are found first and looked up afterwards, in a loop so short that the processor works on several
tokens at once. What a slot of a hash table holds is shown in `text.lexicon`, whose plain twin reads the same arrays.

Arrays have a fixed size in here and are grown by the caller between calls; growing them here was five times slower.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.actions import ALONE, END, KEEP, MARK, MORE, SKIP, SYMBOL, UNKNOWN_SYMBOL
from tfcr.kernels.compiling import compiled, inlined
from tfcr.kernels.layout import FIRST, WORD

Int = int | np.int64

SEEN, ENTRY = 0, 1  # columns of last

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ONE, _HALF = np.uint64(1), np.uint64(32)
_HASH_BITS = np.uint64(0xFFFFFF0000000000)
_TAG_BITS = np.uint64(0xFFFFFFFF00000000)
_NUMBER_BITS = np.uint64(0x00000000FFFFFFFF)


@inlined
def eight_bytes(arena: NDArray[np.uint8], start: np.uint64) -> np.uint64:
    """Return eight bytes as one little-endian number; unsigned indices make it a single instruction."""
    return (
        np.uint64(arena[start])
        | np.uint64(arena[start + np.uint64(1)]) << np.uint64(8)
        | np.uint64(arena[start + np.uint64(2)]) << np.uint64(16)
        | np.uint64(arena[start + np.uint64(3)]) << np.uint64(24)
        | np.uint64(arena[start + np.uint64(4)]) << np.uint64(32)
        | np.uint64(arena[start + np.uint64(5)]) << np.uint64(40)
        | np.uint64(arena[start + np.uint64(6)]) << np.uint64(48)
        | np.uint64(arena[start + np.uint64(7)]) << np.uint64(56)
    )


@inlined
def first_and_hash(arena: NDArray[np.uint8], start: Int, size: Int) -> tuple[np.uint64, np.uint64]:
    """Return the first eight bytes of a token, zero-padded, and a hash of all its bytes.

    Eight bytes beyond the token must be readable: they are read and masked out.
    """
    first = eight_bytes(arena, np.uint64(start))
    if size < 8:
        first &= (_ONE << np.uint64(8 * size)) - _ONE
    product = (first ^ np.uint64(size)) * _MULTIPLIER
    for done in range(8, size, 8):
        eight = eight_bytes(arena, np.uint64(start + done))
        if size - done < 8:
            eight &= (_ONE << np.uint64(8 * (size - done))) - _ONE
        product = (product ^ (product >> _HALF) ^ eight) * _MULTIPLIER
    product = (product ^ (product >> _HALF)) * _MULTIPLIER
    return first, product ^ (product >> _HALF)


@inlined
def slot_of(hashed: np.uint64, n_slots: Int) -> Int:
    """Return the first slot of a hash: its lower half as a fraction of 2**32, times the number of slots."""
    return np.int64(((hashed & _NUMBER_BITS) * np.uint64(n_slots)) >> _HALF)


@inlined
def tag_of(hashed: np.uint64, size: Int) -> np.uint64:
    """Return what a slot holds of a word besides its number: part of its hash, and its size up to 255."""
    return (hashed & _HASH_BITS) | (np.uint64(min(size, 255)) << _HALF)


@inlined
def code_point(text: NDArray[np.uint8], at: Int) -> tuple[Int, int]:
    """Return the code point of the character that starts at a byte, and its number of bytes."""
    byte = text[at]
    if byte < 0x80:
        return np.int64(byte), 1
    if byte < 0xE0:
        return (np.int64(byte & 31) << 6) | (text[at + 1] & 63), 2
    if byte < 0xF0:
        return (np.int64(byte & 15) << 12) | (np.int64(text[at + 1] & 63) << 6) | (text[at + 2] & 63), 3
    code = (np.int64(byte & 7) << 18) | (np.int64(text[at + 1] & 63) << 12)
    return code | (np.int64(text[at + 2] & 63) << 6) | (text[at + 3] & 63), 4


@inlined
def find_tokens(
    text: NDArray[np.uint8],
    at: Int,
    end: int,
    actions: NDArray[np.uint8],
    found: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    keys: NDArray[np.uint64],
) -> int:
    """Write the bytes of a document's tokens to `found`, one token after the other; return the number of tokens.

    For each token, `sizes` gets its number of bytes, and `keys` its first eight bytes and its hash.
    """
    used: Int = 0
    n_tokens = 0
    while at < end:
        # ASCII characters, which are most; unsigned indices need no bounds check for negative values
        here, there, stop = np.uint64(at), np.uint64(used), np.uint64(end)
        while here < stop and text[here] < 0x80 and actions[text[here]] == END:
            here += _ONE
        while here < stop and text[here] < 0x80 and actions[text[here]] == KEEP:
            found[there] = text[here]
            here += _ONE
            there += _ONE
        at, written, kind = np.int64(here), np.int64(there), KEEP
        while at < end:  # all other characters, until the token ends
            code, width = code_point(text, at)
            action = actions[code]
            if action == END or (action == MORE and (kind == SYMBOL or written == used)):
                at += width
                break
            if action == MARK and written == used:
                action = SYMBOL
            goes_on = action in (MORE, MARK, SKIP) or (action == kind and action != ALONE)
            if written > used and not goes_on:
                break
            if action != SKIP:
                kind = kind if action in (MORE, MARK) else action
                for offset in range(width):
                    found[written] = text[at + offset]
                    written += 1
            at += width
        if written > used:
            sizes[n_tokens] = written - used
            keys[n_tokens, 0], keys[n_tokens, 1] = first_and_hash(found, used, written - used)
            n_tokens += 1
            used = written
    return n_tokens


@inlined
def look_up(
    found: NDArray[np.uint8],
    start: Int,
    size: Int,
    first: np.uint64,
    hashed: np.uint64,
    slots: NDArray[np.uint64],
    arena: NDArray[np.uint8],
    offsets: NDArray[Any],
) -> tuple[Int, Int]:
    """Return the number of a token's word and its slot; -1 and the empty slot where it would go, if unknown."""
    n_slots = slots.shape[0]
    tag = tag_of(hashed, size)
    slot = slot_of(hashed, n_slots)
    while slots[slot, WORD] != 0:
        if slots[slot, WORD] & _TAG_BITS == tag and slots[slot, FIRST] == first:
            word = np.int64(slots[slot, WORD] & _NUMBER_BITS) - 1
            at = np.int64(offsets[word])
            same = size <= 8 or np.int64(offsets[word + 1]) - at == size
            for offset in range(8, size):
                same = same and arena[at + offset] == found[start + offset]
            if same:
                return word, slot
        slot = slot + 1 if slot + 1 < n_slots else 0
    return -1, slot


@compiled
def count_documents(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    document: int,
    seen_before: int,
    actions: NDArray[np.uint8],
    adding: bool,
    merging: bool,
    keeping: bool,
    found: NDArray[np.uint8],
    sizes: NDArray[np.int64],
    keys: NDArray[np.uint64],
    known_slots: NDArray[np.uint64],
    known_arena: NDArray[np.uint8],
    known_offsets: NDArray[np.uint32],
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

    With the words [so, good] known, counting "so good so bad" gives, by `merging` and `keeping`:

        merging              words [0, 1]           counts [2, 1]          lengths [4]
        neither              words [0, 1, 0]        counts [1, 1, 1]       lengths [4]
        keeping              words [0, 1, 0, -1]    counts [1, 1, 1, 1]    lengths [4]

    Parameters
    ----------
    text, starts
        The bytes of all documents, and where each starts; (n_documents + 1,).
    document, seen_before
        The first document to count; the number of documents of earlier calls, so that no two have one number in `last`.
    actions
        One of END, MORE, KEEP, SKIP, SYMBOL, ALONE, MARK for each code point.
    adding
        Whether an unknown word is added to the new words.
    merging
        Whether a word makes one entry per document, or one per token.
    keeping
        Whether an unknown token makes an entry, UNKNOWN_WORD or UNKNOWN_SYMBOL; only without `merging`.
    found, sizes, keys
        Room for the tokens of the longest document: its bytes and eight more, and one token per byte.
    known_slots, known_arena, known_offsets
        The words that are known from the start: a hash table, the bytes of all words, and where each starts.
    slots, arena, offsets
        The same of the new words, which have the numbers after those.
    last
        For each word, known or new, SEEN (the last document that held it) and ENTRY (its entry there).
    words, counts, entry_starts, lengths
        The result: entries of word and count, where each document's entries start, and all tokens of each document.
    state
        The number of new words and of entries; updated.
    """
    n_new, n_entries = state[0], state[1]
    n_known = known_offsets.shape[0] - 1
    while document < starts.shape[0] - 1:
        n_tokens = find_tokens(text, starts[document], starts[document + 1], actions, found, sizes, keys)
        room = starts[document + 1] - starts[document] + 8
        if n_entries + n_tokens > words.shape[0] or (
            adding
            and (
                offsets[n_new] + room > arena.shape[0]
                or n_known + n_new + n_tokens > last.shape[0]
                or n_new + n_tokens >= offsets.shape[0]
                or 2 * (n_new + n_tokens) > slots.shape[0]
            )
        ):
            break
        start = 0
        for token in range(n_tokens):
            size, first, hashed = sizes[token], keys[token, 0], keys[token, 1]
            word: Int = np.int64(-1)
            if n_known > 0:
                word, _ = look_up(found, start, size, first, hashed, known_slots, known_arena, known_offsets)
            if word < 0 and adding:
                new, slot = look_up(found, start, size, first, hashed, slots, arena, offsets)
                if new < 0:
                    new = n_new
                    n_new += 1
                    slots[slot, WORD] = tag_of(hashed, size) | np.uint64(n_new)
                    slots[slot, FIRST] = first
                    last[n_known + new, SEEN] = -1
                    for offset in range(size):
                        arena[offsets[new] + offset] = found[start + offset]
                    offsets[n_new] = offsets[new] + size
                word = n_known + new
            if word < 0 and actions[code_point(found, start)[0]] in (SYMBOL, MARK):
                word = UNKNOWN_SYMBOL
            start += size
            if word < 0 and not keeping:
                continue
            if merging and last[word, SEEN] == seen_before + document:
                counts[last[word, ENTRY]] += 1
                continue
            if merging:
                last[word, SEEN] = seen_before + document
                last[word, ENTRY] = n_entries
            words[n_entries] = word
            counts[n_entries] = 1
            n_entries += 1
        lengths[document] = n_tokens
        document += 1
        entry_starts[document] = n_entries
    state[0], state[1] = n_new, n_entries
    return document


@inlined
def find_bigram(one: Int, two: Int, bigrams: NDArray[np.int32], bigram_slots: NDArray[np.uint32], bits: int) -> Int:
    """Return the number of a bigram, -1 if it is unknown; `bits` is how many bits of a slot hold the number."""
    n_slots = bigram_slots.shape[0]
    hashed = ((np.uint64(one) << _HALF) | np.uint64(two)) * _MULTIPLIER
    hashed ^= hashed >> _HALF
    numbers = (np.uint64(1) << np.uint64(bits)) - _ONE
    tag = ((hashed >> _HALF) << np.uint64(bits)) & _NUMBER_BITS
    slot = slot_of(hashed, n_slots)
    while bigram_slots[slot] != 0:
        content = np.uint64(bigram_slots[slot])
        if content & ~numbers == tag:
            number = np.int64(content & numbers) - 1
            if bigrams[number, 0] == one and bigrams[number, 1] == two:
                return number
        slot = slot + 1 if slot + 1 < n_slots else 0
    return -1


@compiled
def merge_terms(
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    seen_before: int,
    n_words: int,
    n_terms: int,
    skipped: NDArray[np.bool_],
    bigrams: NDArray[np.int32],
    bigram_slots: NDArray[np.uint32],
    bits: int,
    last: NDArray[np.int32],
    terms: NDArray[np.int32],
    counts: NDArray[np.int32],
    term_starts: NDArray[np.int64],
) -> None:
    """Count the words and bigrams of documents.

    With the words 0 and 1, the bigram (0, 1) as term 5, and an unknown symbol (-2), which is skipped, between them, a
    document of the words [0, -2, 1] has the terms [0, 1, 5] with counts [1, 1, 1].

    Parameters
    ----------
    starts, words
        The words of all documents in order, UNKNOWN_WORD or UNKNOWN_SYMBOL if unknown, and where each document starts.
    n_words, n_terms
        Words from number n_words on are unseen ones, and get the term numbers from n_terms on.
    seen_before, last
        As in `count_documents`, by term instead of word.
    skipped
        Whether bigrams skip each word, unseen ones too; the last two are for UNKNOWN_SYMBOL and UNKNOWN_WORD.
    bigrams, bigram_slots, bits
        The words of each bigram, (n_bigrams, 2); a hash table, and how many bits of a slot hold a bigram's number. The
        term number of a bigram is n_words more.
    terms, counts, term_starts
        The result: entries of term and count, with room for two per word, and where each document's start.
    """
    n_entries = 0
    for document in range(starts.shape[0] - 1):
        before = np.int64(-1)
        for place in range(starts[document], starts[document + 1]):
            word = np.int64(words[place])
            bigram: Int = np.int64(-1)
            if not skipped[word]:
                if word >= 0 and before >= 0:
                    bigram = find_bigram(before, word, bigrams, bigram_slots, bits)
                    bigram = bigram + n_words if bigram >= 0 else bigram
                before = word
            for term in (word + n_terms - n_words if word >= n_words else word, bigram):
                if term < 0:
                    continue
                if last[term, SEEN] == seen_before + document:
                    counts[last[term, ENTRY]] += 1
                    continue
                last[term, SEEN] = seen_before + document
                last[term, ENTRY] = n_entries
                terms[n_entries] = term
                counts[n_entries] = 1
                n_entries += 1
        term_starts[document + 1] = n_entries


@compiled
def find_symbols(
    arena: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    first: int,
    actions: NDArray[np.uint8],
    symbols: NDArray[np.bool_],
) -> None:
    """Write whether each word from number `first` on begins with a symbol; (n_new,)."""
    for number in range(symbols.shape[0]):
        symbols[number] = actions[code_point(arena, offsets[first + number])[0]] in (SYMBOL, MARK)


@compiled
def fill_slots(arena: NDArray[np.uint8], offsets: NDArray[np.int64], n_words: int, slots: NDArray[np.uint64]) -> None:
    """Put different words into an empty hash table; see `text.lexicon` for what a slot holds."""
    n_slots = slots.shape[0]
    for word in range(n_words):
        size = offsets[word + 1] - offsets[word]
        first, hashed = first_and_hash(arena, offsets[word], size)
        slot = slot_of(hashed, n_slots)
        while slots[slot, WORD] != 0:
            slot = slot + 1 if slot + 1 < n_slots else 0
        slots[slot, WORD] = tag_of(hashed, size) | np.uint64(word + 1)
        slots[slot, FIRST] = first
