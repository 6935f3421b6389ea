"""Words on disk: their UTF-8 bytes, one after the other, and where each one starts."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray


def encode_words(words: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return words as UTF-8 bytes and offsets. Lone surrogates pass: tokens may hold anything."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), offsets


def decode_words(text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[str]:
    """Return the words of `encode_words`."""
    data, ends = text.tobytes(), offsets.tolist()
    return [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairwise(ends)]
