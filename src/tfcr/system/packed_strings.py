"""Packed strings: the UTF-8 bytes of many words in one array, and the offset of each word in another.

words    ["an", "ox", "é"]
text     [97 110 111 120 195 169]
offsets  [0 2 4 6]                 word i is text[offsets[i]:offsets[i + 1]]
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tfcr.system.distinct import distinct

_EIGHT = 8
_LINE_FEED = 10
_LONG = 256
"""Bytes of words that are hashed together."""


def encode_words(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the text and offsets of words. Lone surrogates are allowed: tokens may contain anything."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def decode_words(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Return all words of `encode_words`."""
    return decode_some(text, offsets, np.arange(len(offsets) - 1))


def decode_some(text: NDArray[np.uint8], offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> list[str]:
    """Return the words with these numbers; raise UnicodeDecodeError if one is not UTF-8.

    The bytes of all of them are put one after the other with a line feed after each, decoded at once, and split. Words
    1 and 0 of [an, ox] are copied from these places of "anox"; a line feed replaces the last of each::

        places [2 3 4  0 1 2]    text "ox", line feed, "an", line feed
    """
    offsets = offsets.astype(np.int64, copy=False)
    sizes = np.diff(offsets)[numbers] + 1
    ends = np.cumsum(sizes)
    places = np.repeat(offsets[numbers] - (ends - sizes), sizes) + np.arange(sizes.sum())
    some = np.append(text[: offsets[-1]], np.uint8(_LINE_FEED))[places]
    some[ends - 1] = _LINE_FEED
    if np.count_nonzero(some == _LINE_FEED) > len(numbers):  # a word holds one itself
        bounds = zip((ends - sizes).tolist(), (ends - 1).tolist(), strict=True)
        return [some[start:end].tobytes().decode("utf-8", "surrogatepass") for start, end in bounds]
    characters: str = some.tobytes().decode("utf-8", "surrogatepass")
    return characters.split("\n")[:-1]


def take_packed(
    text: NDArray[np.uint8], offsets: NDArray[np.int64], numbers: NDArray[Any]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the text and offsets of the words with these numbers.

    >>> text, offsets = take_packed(*encode_words(["an", "ox", "cow"]), np.array([2, 0]))
    >>> text.tobytes(), offsets.tolist()
    (b'cowan', [0, 3, 5])
    """
    sizes = np.diff(offsets)[numbers]
    taken = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return text[np.repeat(offsets[numbers] - taken[:-1], sizes) + np.arange(taken[-1])], taken


def hash_packed(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return 64 bits for each word; (n_words,). Two of ten million words agree by chance in 1 of 370,000 corpora.

    Eight bytes after the others are mixed into the hash, and at last the size: a word and the same word with a NUL at
    its end differ. Few words are long, and those are hashed one by one.
    """
    padded = np.concatenate([text, np.zeros(_EIGHT, np.uint8)])
    starts, sizes = offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    hashes = np.zeros(len(sizes), np.uint64)
    left = np.flatnonzero((sizes > 0) & (sizes <= _LONG))
    for done in range(0, _LONG, _EIGHT):
        if not len(left):
            break
        hashes[left] = _mixed(hashes[left] ^ _eight_bytes(padded, starts[left] + done, sizes[left] - done))
        left = left[sizes[left] > done + _EIGHT]
    for number in np.flatnonzero(sizes > _LONG).tolist():
        word = text[starts[number] : starts[number] + sizes[number]].tobytes()
        hashes[number] = int.from_bytes(hashlib.blake2b(word, digest_size=_EIGHT).digest(), "little")
    return _mixed(hashes ^ sizes.astype(np.uint64))


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return other numbers, each bit of which depends on all bits, and no two the same: splitmix64 (Steele, 2014)."""
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def find_packed(words: Sequence[str], text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of each word among distinct packed ones, -1 if it is not there; (n_words,).

    Only packed words that share their first eight bytes with a word asked for are looked at: few of a long list.

    Examples
    --------
    >>> find_packed(["ox", "cow", "keyboards"], *encode_words(["keyboard", "keyboards", "ox"])).tolist()
    [2, -1, 1]
    """
    if not words or len(offsets) < 2:
        return np.full(len(words), -1, np.int64)
    asked, all_keys = distinct(_first_eight(*encode_words(words))), _first_eight(text, offsets)
    likely = np.flatnonzero(asked[np.minimum(np.searchsorted(asked, all_keys), len(asked) - 1)] == all_keys)
    data = text.tobytes()
    bounds = zip(offsets[likely].tolist(), offsets[likely + 1].tolist(), likely.tolist(), strict=True)
    numbers = {data[start:end]: number for start, end, number in bounds}
    found = (numbers.get(word.encode("utf-8", "surrogatepass"), -1) for word in words)
    return np.fromiter(found, np.int64, len(words))


def _first_eight(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.uint64]:
    padded = np.concatenate([text, np.zeros(_EIGHT, np.uint8)])
    return _eight_bytes(padded, offsets[:-1], np.diff(offsets))


class PackedWords(Sequence[str]):
    """Words that stay packed, and are decoded one by one when they are asked for.

    Examples
    --------
    >>> words = PackedWords(*encode_words(["an", "ox"]))
    >>> words[1], len(words), list(words)
    ('ox', 2, ['an', 'ox'])
    """

    def __init__(self, text: NDArray[np.uint8], offsets: NDArray[Any]) -> None:
        self.text, self.offsets = text, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, number: int) -> str: ...

    @overload
    def __getitem__(self, number: slice) -> list[str]: ...

    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        if not -len(self) <= number < len(self):
            raise IndexError(f"word {number} of {len(self)}")
        number %= len(self)
        return self.text[self.offsets[number] : self.offsets[number + 1]].tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return iter(decode_words(self.text, self.offsets.astype(np.int64)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def sort_words(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of distinct words in the order of their bytes, which is that of their code points.

    The words are sorted by their first eight bytes, read as one number; those that agree are sorted by their next eight
    bytes, and so on. Zeros stand after a word's end. If words contain NUL, the shorter word comes first.

    Examples
    --------
    Words 0 and 2 share their first eight bytes, so a second round decides::

        words                    keyboards    ox     keyboard
        round 1, bytes 0 to 7    "keyboard"   "ox"   "keyboard"    numbers [0 2 1], positions 0 and 1 tied
        round 2, bytes 8 to 15   "s"                 ""            numbers [2 0 1]

    >>> sort_words(*encode_words(["keyboards", "ox", "keyboard"])).tolist()
    [2, 0, 1]
    """
    padded = np.concatenate([text, np.zeros(_EIGHT, np.uint8)])
    starts, sizes, nul = offsets[:-1], np.diff(offsets), not text.all()
    numbers = np.arange(len(starts))  # the result so far
    groups = np.zeros(len(starts), np.int64)  # for each position in `numbers`: equal where words agree so far
    tied = np.arange(len(starts))  # the positions in `numbers` that share their group with a neighbour
    for done in range(0, int(sizes.max(initial=0)), _EIGHT):
        words = numbers[tied]
        keys = _eight_bytes(padded, starts[words] + done, sizes[words] - done)
        order = np.argsort(keys) if not (done or nul) else np.lexsort((sizes[words], keys, groups[tied]))
        numbers[tied], keys = words[order], keys[order]
        same = (keys[1:] == keys[:-1]) & (groups[tied[1:]] == groups[tied[:-1]])
        groups[tied[1:]] = groups[tied[0]] + np.cumsum(~same)
        tied = tied[np.append(same, False) | np.insert(same, 0, False)]
        if len(tied) == 0:
            break
    return numbers


def _eight_bytes(text: NDArray[np.uint8], starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the first eight bytes of each word as one number, with zeros after the word's end.

    For the word "ox" in the text "oxkeyboards", written as bytes in hexadecimal::

        eights[0]             6f 78 6b 65 79 62 6f 61     the eight bytes from its start, big-endian: "oxkeyboa"
        bits after its end    8 · (8 - 2) = 48            shifted out to the right, and zeros back in
        result                6f 78 00 00 00 00 00 00

    The text must be padded with eight bytes, so that they can be read from every start.
    """
    # One 8-byte number from each position of the text, overlapping: a view, nothing is copied.
    eights: NDArray[np.uint64] = np.ndarray(len(text) - _EIGHT + 1, ">u8", text, strides=(1,))
    bits_after = (_EIGHT * (_EIGHT - np.clip(sizes, 0, _EIGHT))).astype(np.uint64)
    half = bits_after // np.uint64(2)  # shifted twice by half: a shift by all 64 bits would leave the number as it is
    found = eights[np.minimum(starts, len(eights) - 1)].astype(np.uint64)
    cleared: NDArray[np.uint64] = found >> half >> half << half << half
    return cleared
