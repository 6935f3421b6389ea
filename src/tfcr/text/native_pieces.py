"""Cutting many words into pieces by compiled code; it gives the same pieces as plain Python."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tfcr.system.native import MAX_PIECES, cut_some, hash_ngrams
from tfcr.system.packed_strings import encode_words
from tfcr.text.lexicon import MARGIN
from tfcr.text.pieces import MAX_CHARACTERS, SEGMENTATIONS, Pieces

ENTRIES = 1 << 20
"""Pieces for which room is made at once."""


def cut_words(words: Sequence[str], pieces: Pieces) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the numbers of the pieces of all words, one word after the other, and where each word's start."""
    text, offsets = encode_words(words)
    return PieceCutter(pieces).cut(text, offsets.astype(np.int64))


class PieceCutter:
    """Cuts words into the pieces of one list."""

    def __init__(self, pieces: Pieces) -> None:
        self.lexicon = pieces.lexicon
        self.segmentation = list(SEGMENTATIONS).index(pieces.segmentation)

    def cut(self, text: NDArray[np.uint8], starts: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Cut words given by their bytes and offsets, (n_words + 1,)."""
        text = text.view()
        text.setflags(write=False)  # compiled code is specialised to read-only arrays: not twice
        piece_starts = np.zeros(len(starts), np.int64)
        found: list[NDArray[np.int32]] = []
        word, done = 0, 0
        while word < len(starts) - 1:  # compiled code stops when its room is full
            room = np.empty(min(ENTRIES, MAX_PIECES * (len(starts) - 1 - word)), np.int32)
            part_starts = piece_starts[word:]
            part_starts[0] = 0
            last = word + cut_some(
                text, starts[word:], 0, self.segmentation,
                self.lexicon.slots, self.lexicon.arena, self.lexicon.offsets, room, part_starts,
            )  # fmt: skip
            used = int(piece_starts[last])
            found.append(room[:used].copy())
            piece_starts[word : last + 1] += done
            done += used
            word = last
        return np.concatenate([np.zeros(0, np.int32), *found]), piece_starts


def find_frequent(
    words: Sequence[str], document_frequencies: NDArray[np.int64], at_least: int, segmentation: str
) -> list[str]:
    """Return the n-grams of words that may occur in `at_least` documents, sorted; see `find_ngrams`."""
    packed, offsets = encode_words(words)
    text, starts = np.append(packed, np.zeros(MARGIN, np.uint8)), offsets.astype(np.int64)
    hashes, places = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    word = 0
    while word < len(words):
        room, where = np.empty(ENTRIES, np.uint64), np.empty(ENTRIES, np.int64)
        word, used = hash_ngrams(text, starts, word, segmentation == "affixes", room, where, 0)
        hashes.append(room[:used].copy())
        places.append(where[:used].copy())
    place = np.concatenate(places)
    _, first, inverse = np.unique(np.concatenate(hashes), return_index=True, return_inverse=True)
    frequencies = np.bincount(inverse, document_frequencies[place >> 10], len(first))
    kept = place[first[frequencies >= at_least]]
    found = zip((kept >> 10).tolist(), (kept >> 3 & 127).tolist(), (kept & 7).tolist(), strict=True)
    return sorted(f" {words[number][:MAX_CHARACTERS]} "[at : at + size] for number, at, size in found)
