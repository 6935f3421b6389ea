"""Words on disk: their UTF-8 bytes, one after the other, and where each one starts."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_EIGHT = 8


def encode_words(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return words as UTF-8 bytes and offsets. Lone surrogates pass: tokens may hold anything."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def decode_words(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Return the words of `encode_words`."""
    return decode_some(text, offsets, np.arange(len(offsets) - 1))


def decode_some(text: NDArray[np.uint8], offsets: NDArray[np.int64], numbers: NDArray[np.int64]) -> list[str]:
    """Return the words with these numbers."""
    data = text.tobytes()
    bounds = zip(offsets[numbers].tolist(), offsets[numbers + 1].tolist(), strict=True)
    return [data[start:end].decode("utf-8", "surrogatepass") for start, end in bounds]


def sort_words(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of different words in the order of their bytes, which is that of their code points.

    Eight bytes are compared at a time, as one number; words that agree in them are sorted by the next eight. After its
    end a word goes on in zeros; where words hold NUL, the shorter one comes first.
    """
    padded = np.concatenate([text, np.zeros(_EIGHT, np.uint8)])
    starts, sizes, nul = offsets[:-1], np.diff(offsets), not text.all()
    numbers, groups = np.arange(len(starts)), np.zeros(len(starts), np.int64)
    tied = np.arange(len(starts))  # places in `numbers`; those of the same group are still to be sorted
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
    """Return the first eight bytes of each word as one number, zeros after the word's end."""
    eights: NDArray[np.uint64] = np.ndarray(len(text) - _EIGHT + 1, ">u8", text, strides=(1,))
    bits_after = (_EIGHT * (_EIGHT - np.clip(sizes, 0, _EIGHT))).astype(np.uint64)
    half = bits_after // np.uint64(2)  # a shift by 64 bits would be none
    found = eights[np.minimum(starts, len(eights) - 1)].astype(np.uint64)
    cleared: NDArray[np.uint64] = found >> half >> half << half << half
    return cleared
