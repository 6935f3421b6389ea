"""Pieces of words: a word that training never saw is scored from its pieces.

A piece is a string within a word, or the whole word. In pieces, a space marks the edge of a word, so that a prefix, an
ending and the same letters inside are three different pieces:

    ngrams    good -> " g" "go" "oo" "od" "d " " go" "goo" "ood" "od " …     2 to 5 characters, each once
    affixes   good -> " g" "d " " go" "od " " goo" "ood " " good" "good "    those at either edge
    longest   goodish -> " good" "ish"         from left to right, the longest piece that fits (WordPiece)
    merge     goodish -> " good" "ish"         characters, joined in the order of the list of pieces (BPE)
    whole     good -> " good "

Which pieces there are is a list; strings that are not in it are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import look_up
from tfcr.system.lazy import lazy_module, native_is_available
from tfcr.system.packed_strings import PackedWords
from tfcr.text.lexicon import Lexicon

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = lazy_module("scipy.sparse")

SHORTEST, LONGEST = 2, 5
"""Characters of an n-gram."""
MAX_CHARACTERS = 64
"""Characters of a word that are looked at: links and random strings have thousands."""
MIN_NATIVE_WORDS = 2_000
"""Fewer words are cut by plain Python, sooner than compiled code is loaded."""

Numbers = Mapping[str, int]
"""The number of each piece."""


def ngrams_of(word: str) -> list[str]:
    """Return the different n-grams of a word, edges included.

    Examples
    --------
    >>> ngrams_of("so")
    [' s', 'so', 'o ', ' so', 'so ', ' so ']
    """
    edged = _edged(word)
    sizes = range(SHORTEST, LONGEST + 1)
    return list(dict.fromkeys(edged[at : at + size] for size in sizes for at in range(len(edged) - size + 1)))


def affixes_of(word: str) -> list[str]:
    """Return the different n-grams at either edge of a word.

    Examples
    --------
    >>> affixes_of("so")
    [' s', 'o ', ' so', 'so ', ' so ']
    """
    edged = _edged(word)
    sizes = range(SHORTEST, min(LONGEST, len(edged)) + 1)
    return list(dict.fromkeys(piece for size in sizes for piece in (edged[:size], edged[-size:])))


def _edged(word: str) -> str:
    return f" {word[:MAX_CHARACTERS]} "


def _known(pieces: Iterable[str], numbers: Numbers) -> list[int]:
    return [numbers[piece] for piece in pieces if piece in numbers]


def _longest(word: str, numbers: Numbers) -> list[int]:
    """Return the longest piece that the word begins with, then the longest after it; what fits nowhere is skipped."""
    rest, found = _edged(word)[:-1], []
    while rest:
        size = next((size for size in range(len(rest), 0, -1) if rest[:size] in numbers), 0)
        if size:
            found.append(numbers[rest[:size]])
        rest = rest[max(size, 1) :]
    return found


def _merged(word: str, numbers: Numbers) -> list[int]:
    """Join the two neighbours whose union comes first in the list, again and again, as sentencepiece's BPE does."""
    parts = list(_edged(word)[:-1])
    while True:
        unions = [(numbers[one + two], at) for at, (one, two) in enumerate(pairwise(parts)) if one + two in numbers]
        if not unions:
            return _known(parts, numbers)
        at = min(unions)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


SEGMENTATIONS: dict[str, Callable[[str, Numbers], list[int]]] = {
    "ngrams": lambda word, numbers: _known(ngrams_of(word), numbers),
    "affixes": lambda word, numbers: _known(affixes_of(word), numbers),
    "longest": _longest,
    "merge": _merged,
    "whole": lambda word, numbers: _known([f" {word} "] if len(word) <= MAX_CHARACTERS else [], numbers),
}
"""From a word to the numbers of its pieces. The position of a row is its number in compiled code."""


def _substrings(word: str) -> Iterable[str]:
    edged = _edged(word)
    return {edged[start:end] for start in range(len(edged)) for end in range(start + 1, len(edged) + 1)}


_CANDIDATES: dict[str, Callable[[str], Iterable[str]]] = {
    "ngrams": ngrams_of,
    "affixes": affixes_of,
    "whole": lambda word: [f" {word} "],
}
"""What a segmentation may look for in a word, where that is less than all of its substrings."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """A list of different pieces, and the name of the segmentation that cuts words into them.

    Examples
    --------
    >>> pieces = Pieces([" go", "od", "o"], "longest")
    >>> pieces.of_word("good"), pieces.of_word("goo"), pieces.of_word("bad")
    ([0, 1], [0, 2], [])
    """

    names: Sequence[str]
    segmentation: str

    def __post_init__(self) -> None:
        look_up(SEGMENTATIONS, self.segmentation, "segmentation")

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each piece."""
        return dict(zip(self.names, range(len(self.names)), strict=True))

    @cached_property
    def lexicon(self) -> Lexicon:
        """The pieces as they are looked up."""
        return Lexicon.of(self.names)

    @classmethod
    def stored(cls, lexicon: Lexicon, segmentation: str) -> Pieces:
        """Return the pieces of a lexicon; nothing of it is decoded."""
        pieces = cls(PackedWords(lexicon.arena, lexicon.offsets), segmentation)
        pieces.__dict__["lexicon"] = lexicon
        return pieces

    def of_word(self, word: str) -> list[int]:
        """Return the numbers of a word's pieces; a piece may occur twice."""
        return SEGMENTATIONS[self.segmentation](word, self.numbers)

    def matrix(self, words: Sequence[str]) -> sp.csr_array:
        """Return how often each word holds each piece; float32 (n_words, n_pieces)."""
        return piece_matrix(*self.cut(words), len(self))

    def cut(self, words: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the numbers of the pieces of all words, one word after the other, and where each word's start."""
        if len(words) >= MIN_NATIVE_WORDS and native_is_available():
            from tfcr.text.native_pieces import cut_words  # noqa: PLC0415 - numba loads slowly

            return cut_words(words, self)
        numbers = self._numbers_for(words)
        found = [SEGMENTATIONS[self.segmentation](word, numbers) for word in words]
        return np.fromiter((number for some in found for number in some), np.int32), np.cumsum([0, *map(len, found)])

    def _numbers_for(self, words: Sequence[str]) -> Numbers:
        """Return the numbers of all pieces that these words may hold: few of a long list, which is not decoded."""
        if "lexicon" not in self.__dict__ and len(self) < MIN_NATIVE_WORDS:
            return self.numbers
        candidates = _CANDIDATES.get(self.segmentation, _substrings)
        asked = list({piece for word in words for piece in candidates(word)})
        found = self.lexicon.find(asked).tolist()
        return {piece: number for piece, number in zip(asked, found, strict=True) if number >= 0}

    def take(self, numbers: NDArray[np.int64]) -> Pieces:
        """Return some of the pieces, in this order."""
        return Pieces([self.names[number] for number in numbers.tolist()], self.segmentation)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what can be derived, when models are copied to other processes."""
        return {"names": list(self.names), "segmentation": self.segmentation}


def piece_matrix(numbers: NDArray[np.int32], starts: NDArray[np.int64], n_pieces: int) -> sp.csr_array:
    """Return the matrix of words and their pieces, which stand one word after the other."""
    matrix = sp.csr_array((np.ones(len(numbers), np.float32), numbers, starts), (len(starts) - 1, n_pieces))
    matrix.sum_duplicates()
    return matrix


def find_ngrams(
    words: Sequence[str], document_frequencies: NDArray[np.int64], at_least: int, segmentation: str
) -> Pieces:
    """Return the n-grams of words that may occur in `at_least` documents, sorted.

    Parameters
    ----------
    words
        Of a corpus.
    document_frequencies
        The number of documents that hold each word; their sum over the words with an n-gram is at least the number of
        documents with that n-gram.
    at_least
        Rarer n-grams are left out.
    segmentation
        ``ngrams`` or ``affixes``.

    Examples
    --------
    >>> find_ngrams(["so", "go"], np.array([1, 2]), 3, "ngrams").names
    ['o ']
    """
    if len(words) >= MIN_NATIVE_WORDS and native_is_available():
        from tfcr.text.native_pieces import find_frequent  # noqa: PLC0415 - numba loads slowly

        return Pieces(find_frequent(words, document_frequencies, at_least, segmentation), segmentation)
    cut = {"ngrams": ngrams_of, "affixes": affixes_of}[segmentation]
    frequencies: dict[str, int] = {}
    for word, frequency in zip(words, document_frequencies.tolist(), strict=True):
        for piece in cut(word):
            frequencies[piece] = frequencies.get(piece, 0) + frequency
    return Pieces(sorted(piece for piece, frequency in frequencies.items() if frequency >= at_least), segmentation)
