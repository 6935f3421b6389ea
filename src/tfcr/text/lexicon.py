"""Look-up of words and bigrams in hash tables that are stored as they are read: nothing is built before the first text.

Plain numpy and compiled code read the same arrays; `kernels.tokens` has the compiled twin of everything here. A slot of
words holds most of what a word is compared with, so that a look-up mostly costs one line of the processor's cache:

    slots[h]  WORD:  hash (24 bits) | size up to 255 (8 bits) | word number + 1 (32 bits); 0 means empty
              FIRST: the first eight bytes of the word, zero-padded
    a word longer than eight bytes is compared with the arena as well; the next slot is tried after a mismatch

A slot of bigrams has 32 bits: the number of the bigram + 1, and above it as much of the hash as there is room for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.layout import FIRST, WORD
from tfcr.system.array_codec import narrowed
from tfcr.system.packed_strings import encode_words

MARGIN = 8
"""Bytes of the arena beyond its last word: eight are read at a time."""
FULLEST = 2 / 3
"""How full a table is: a fuller one is smaller, and has longer runs of taken slots to look through."""
WINDOW = 8
"""Slots that numpy looks at together; most words are found, or an empty slot is, among the first so many."""

FEW = 24
"""Words up to which each is looked up by plain Python, sooner than numpy looks up all of them."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ONE, _EIGHT, _HALF = np.uint64(1), np.uint64(8), np.uint64(32)
_HASH_BITS = np.uint64(0xFFFFFF0000000000)
_TAG_BITS = np.uint64(0xFFFFFFFF00000000)
_LOW_BITS = np.uint64(0x00000000FFFFFFFF)

_PYTHON_MULTIPLIER, _64_BITS, _32_BITS = int(_MULTIPLIER), (1 << 64) - 1, (1 << 32) - 1

Unsigned = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Different words and their numbers.

    ["so", "good"] become the arena ``sogood`` and MARGIN zeros, the offsets [0, 2, 6], and a hash table.

    Attributes
    ----------
    arena, offsets
        The bytes of all words, and where each starts; uint32 (n_words + 1,).
    slots
        uint64 (n_slots, 2).

    Examples
    --------
    >>> Lexicon.of(["so", "good"]).find(["good", "bad", "so"]).tolist()
    [1, -1, 0]
    """

    arena: NDArray[np.uint8]
    offsets: NDArray[np.uint32]
    slots: Unsigned

    @classmethod
    def of(cls, words: Sequence[str]) -> "Lexicon":
        """Make it from a list of words, which keep their numbers."""
        text, offsets = encode_words(words)
        arena = np.concatenate([text, np.zeros(MARGIN, np.uint8)])
        narrow = narrowed(offsets, np.uint32, "the bytes of its words")
        return cls(arena, narrow, _fill_slots(arena, offsets)).frozen()

    def frozen(self) -> "Lexicon":
        """Return it with arrays that cannot be written to: compiled code knows no others here."""
        for array in (self.arena, self.offsets, self.slots):
            array.setflags(write=False)
        return self

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def find(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of each word; -1 where it is unknown."""
        if len(words) <= FEW:
            return np.fromiter(map(self._find_one, words), np.int64, len(words))
        text, offsets = encode_words(words)
        return self.find_bytes(np.concatenate([text, np.zeros(MARGIN, np.uint8)]), offsets)

    def find_bytes(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of each word, given by its bytes; the text has MARGIN more."""
        starts, sizes = offsets[:-1], np.diff(offsets)
        first, hashed = _first_and_hash(text, starts, sizes)
        tags = _tags(hashed, sizes)
        numbers = np.full(len(starts), -1, np.int64)
        pending = np.arange(len(starts))  # words whose slot has not been found
        places = slots_of_hashes(hashed, len(self.slots))
        for steps in _windows(len(self.slots)):
            slots = self.slots[_wrapped(places[pending, None] + steps, len(self.slots))]  # (n_pending, n_steps, 2)
            words = slots[:, :, WORD]
            same = ((words & _TAG_BITS) == tags[pending, None]) & (slots[:, :, FIRST] == first[pending, None])
            in_run = np.logical_and.accumulate(words != 0, axis=1)  # an empty slot ends the search
            rows, columns = np.nonzero(same & in_run)
            some = pending[rows]
            candidates = (words[rows, columns] & _LOW_BITS).astype(np.int64) - 1
            agree = np.flatnonzero(self._agree(candidates, text, starts[some], sizes[some]))[::-1]
            numbers[some[agree]] = candidates[agree]  # backwards: of several, the first slot is written last, and stays
            pending = pending[in_run[:, -1] & (numbers[pending] < 0)]
            if not len(pending):
                break
        return numbers

    def _find_one(self, word: str) -> int:
        """Return the number of a word, -1 if it is unknown: the same search in plain Python."""
        text = word.encode("utf-8", "surrogatepass")
        size = len(text)
        first = int.from_bytes(text[:MARGIN], "little")
        product = (first ^ size) * _PYTHON_MULTIPLIER & _64_BITS
        for done in range(MARGIN, size, MARGIN):
            eight = int.from_bytes(text[done : done + MARGIN], "little")
            product = (product ^ (product >> 32) ^ eight) * _PYTHON_MULTIPLIER & _64_BITS
        product = (product ^ (product >> 32)) * _PYTHON_MULTIPLIER & _64_BITS
        hashed = product ^ (product >> 32)
        tag = (hashed >> 40 << 8) | min(size, 255)
        n_slots, slots = len(self.slots), self.slots
        place = (hashed & _32_BITS) * n_slots >> 32
        while content := slots.item(place, WORD):
            if content >> 32 == tag and slots.item(place, FIRST) == first:
                number = (content & _32_BITS) - 1
                if size <= MARGIN:
                    return number
                start, end = self.offsets.item(number), self.offsets.item(number + 1)
                if end - start == size and self.arena[start + MARGIN : end].tobytes() == text[MARGIN:]:
                    return number
            place = place + 1 if place + 1 < n_slots else 0
        return -1

    def _agree(
        self, words: NDArray[np.int64], text: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether words with these numbers have the given bytes, after the first eight."""
        if (sizes <= MARGIN).all():
            return np.ones(len(words), np.bool_)
        own = self.offsets[words].astype(np.int64)
        same: NDArray[np.bool_] = self.offsets[words + 1].astype(np.int64) - own == sizes
        for done in range(MARGIN, int(sizes.max(initial=0)), MARGIN):
            rest = np.flatnonzero(same & (sizes > done))
            mine = _eight_bytes(self.arena, own[rest] + done, sizes[rest] - done)
            same[rest] = mine == _eight_bytes(text, starts[rest] + done, sizes[rest] - done)
        return same


@dataclass(frozen=True, eq=False)
class BigramLexicon:
    """Different bigrams and their numbers.

    Attributes
    ----------
    bigrams
        The numbers of both words of each; int32 (n_bigrams, 2).
    slots
        uint32 (n_slots,).

    Examples
    --------
    >>> BigramLexicon.of(np.array([[2, 0], [2, 1]], np.int32)).find(np.array([[2, 1], [0, 1], [-1, 2]])).tolist()
    [1, -1, -1]
    """

    bigrams: NDArray[np.int32]
    slots: NDArray[np.uint32]

    @classmethod
    def of(cls, bigrams: NDArray[np.int32]) -> "BigramLexicon":
        """Make it from word numbers, (n_bigrams, 2)."""
        places, contents = _bigram_slots(bigrams, np.arange(len(bigrams)), n_slots_for(len(bigrams)), len(bigrams))
        slots = np.zeros(n_slots_for(len(bigrams)), np.uint32)
        _insert(slots, places, contents)
        return cls(np.ascontiguousarray(bigrams).view(), slots).frozen()

    def frozen(self) -> "BigramLexicon":
        """Return it with arrays that cannot be written to."""
        self.slots.setflags(write=False)
        self.bigrams.setflags(write=False)
        return self

    def __len__(self) -> int:
        return len(self.bigrams)

    def find(self, pairs: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the number of each pair of word numbers, (n_pairs, 2); -1 where it is unknown."""
        if len(pairs) <= FEW:
            return np.fromiter((self._find_one(*pair) for pair in pairs.tolist()), np.int64, len(pairs))
        numbers = np.full(len(pairs), -1, np.int64)
        pending = np.flatnonzero((pairs >= 0).all(axis=1))
        places, tags = _bigram_slots(pairs[pending], np.full(len(pending), -1), len(self.slots), len(self))
        bits = np.uint32((1 << number_bits(len(self))) - 1)
        for steps in _windows(len(self.slots)):
            slots = self.slots[_wrapped(places[:, None] + steps, len(self.slots))]
            # a slot is compared with the words only if it is taken, and the rest of the hash agrees
            in_run = np.logical_and.accumulate(slots != 0, axis=1)
            rows, columns = np.nonzero(in_run & ((slots & ~bits) == tags[:, None]))
            some = pending[rows]
            candidates = (slots[rows, columns] & bits).astype(np.int64) - 1
            agree = np.flatnonzero((self.bigrams[candidates] == pairs[some]).all(axis=1))[::-1]
            numbers[some[agree]] = candidates[agree]
            rest = in_run[:, -1] & (numbers[pending] < 0)
            pending, places, tags = pending[rest], places[rest], tags[rest]
            if not len(pending):
                break
        return numbers

    def _find_one(self, one: int, two: int) -> int:
        """Return the number of a pair, -1 if it is unknown: the same search in plain Python."""
        if one < 0 or two < 0:
            return -1
        product = (one << 32 | two) * _PYTHON_MULTIPLIER & _64_BITS
        hashed = product ^ (product >> 32)
        bits, n_slots, slots = number_bits(len(self)), len(self.slots), self.slots
        tag, place = (hashed >> 32) << bits & _32_BITS, (hashed & _32_BITS) * n_slots >> 32
        while content := slots.item(place):
            if content >> bits << bits == tag:
                number = (content & ((1 << bits) - 1)) - 1
                if self.bigrams.item(number, 0) == one and self.bigrams.item(number, 1) == two:
                    return number
            place = place + 1 if place + 1 < n_slots else 0
        return -1


def n_slots_for(size: int) -> int:
    """Return the number of slots of a table with `size` entries; one is always empty."""
    return int(size / FULLEST) + 8


def number_bits(size: int) -> int:
    """Return the bits that a number from 1 to `size` takes."""
    return max(1, int(size).bit_length())


def slots_of_hashes(hashed: Unsigned, n_slots: int) -> NDArray[np.int64]:
    """Return the first slot of each hash: its lower half as a fraction of 2**32, times the number of slots."""
    return ((hashed & _LOW_BITS) * np.uint64(n_slots) >> _HALF).astype(np.int64)


def _windows(n_slots: int) -> Iterator[NDArray[np.int64]]:
    """Yield the slots to look at, counted from the first: WINDOW of them, then four times as many each time."""
    done, size = 0, WINDOW
    while done < n_slots:
        yield np.arange(done, min(done + size, n_slots))
        done, size = done + size, 4 * size


def _wrapped(places: NDArray[np.int64], n_slots: int) -> NDArray[np.int64]:
    """Return places beyond the last slot as places from the first one on."""
    return np.where(places < n_slots, places, places - n_slots)


def _first_and_hash(
    text: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[Unsigned, Unsigned]:
    """Return the first eight bytes of words, zero-padded, and a hash of all their bytes; see `kernels.tokens`."""
    first = _eight_bytes(text, starts, sizes)
    product = (first ^ sizes.astype(np.uint64)) * _MULTIPLIER
    for done in range(MARGIN, int(sizes.max(initial=0)), MARGIN):
        rest = np.flatnonzero(sizes > done)
        eight = _eight_bytes(text, starts[rest] + done, sizes[rest] - done)
        product[rest] = (product[rest] ^ (product[rest] >> _HALF) ^ eight) * _MULTIPLIER
    product = (product ^ (product >> _HALF)) * _MULTIPLIER
    return first, product ^ (product >> _HALF)


def _eight_bytes(text: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> Unsigned:
    """Return the first eight bytes of words as little-endian numbers, with zeros after a word's end."""
    # one number from each position of the text, overlapping: a view, nothing is copied
    eights: Unsigned = np.ndarray(len(text) - MARGIN + 1, "<u8", text, strides=(1,))
    found = eights[starts].astype(np.uint64)
    short = np.flatnonzero(sizes < MARGIN)
    found[short] &= (_ONE << (_EIGHT * sizes[short].astype(np.uint64))) - _ONE
    return found


def _tags(hashed: Unsigned, sizes: NDArray[np.int64]) -> Unsigned:
    return (hashed & _HASH_BITS) | (np.minimum(sizes, 255).astype(np.uint64) << _HALF)


def _fill_slots(arena: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Unsigned:
    """Return the hash table of words."""
    sizes = np.diff(offsets)
    first, hashed = _first_and_hash(arena, offsets[:-1], sizes)
    slots = np.zeros((n_slots_for(len(sizes)), 2), np.uint64)
    numbers = np.arange(1, len(sizes) + 1, dtype=np.uint64)
    places = _insert(slots[:, WORD], slots_of_hashes(hashed, len(slots)), _tags(hashed, sizes) | numbers)
    slots[places, FIRST] = first
    return slots


def _bigram_slots(
    pairs: NDArray[np.integer[Any]], numbers: NDArray[np.int64], n_slots: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the first slot of each pair, and what it holds for these numbers; -1: the bits of the hash alone."""
    keys = (pairs[:, 0].astype(np.uint64) << _HALF) | pairs[:, 1].astype(np.uint64)
    hashed = keys * _MULTIPLIER
    hashed ^= hashed >> _HALF
    upper = (hashed >> _HALF) << np.uint64(number_bits(size)) & _LOW_BITS
    return slots_of_hashes(hashed, n_slots), (upper | (numbers + 1).astype(np.uint64)).astype(np.uint32)


def _insert(slots: NDArray[Any], places: NDArray[np.int64], contents: NDArray[Any]) -> NDArray[np.int64]:
    """Put contents into the first empty slots at or after their places, and return where they went.

    In the order of their places, each goes to its place, or right after the one before it. The places 2, 2, 3, 7 of a
    table of 8 slots become 2, 3, 4, 7; with another 7, the last goes on to slot 8, which is the first empty one, 0.
    """
    order = np.argsort(places, kind="stable")
    steps = np.arange(len(places))
    found = np.maximum.accumulate(places[order] - steps) + steps
    beyond = found >= len(slots)
    taken = np.zeros(len(slots), np.bool_)
    taken[found[~beyond]] = True
    found[beyond] = np.flatnonzero(~taken)[: int(beyond.sum())]
    slots[found] = contents[order]
    went = np.empty_like(found)
    went[order] = found
    return went
