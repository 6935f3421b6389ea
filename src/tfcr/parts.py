"""The parts of a score: kinds of features, each fitted by itself; their scores are added up, each with its share.

To add a kind of feature, add a row to PARTS.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.blocks import Block, make_blocks
from tfcr.counts import ClassCounts
from tfcr.schemes import Scheme, compute_weights


@dataclass(frozen=True)
class Ingredients:
    """What the parts are made of, beside the counts.

    Attributes
    ----------
    vectors
        One for each word, zeros for a word without; float32 (n_words, dimensions). None if no part needs them.
    names
        Those of the classes.
    scheme, blocks, averaging
        As in TfcrClassifier.
    """

    vectors: NDArray[np.float32] | None
    names: list[str]
    scheme: str | Scheme
    blocks: str
    averaging: str


def vector_blocks(counts: ClassCounts, given: Ingredients) -> list[Block]:
    """Return the word vectors weighted by class: the paper's method."""
    weights = compute_weights(given.scheme, counts)
    return make_blocks(given.blocks, weights, given.vectors, given.names, given.averaging, counts.occurs())


def word_blocks(counts: ClassCounts, given: Ingredients) -> list[Block]:
    """Return the words themselves by TF-IDF, with dampened counts, to length 1: what scikit-learn's does."""
    held = counts.word_documents
    idf = np.log((1 + counts.n_documents) / (1 + held)) + 1
    return [Block("(words)", np.where(held > 0, idf, 0).astype(np.float32), None, "unit")]


class Part(NamedTuple):
    """A kind of feature: what makes its blocks, and the strengths C to pick from where none is given."""

    blocks: Callable[[ClassCounts, Ingredients], list[Block]]
    strengths: tuple[float, ...]

    def maker(self, given: Ingredients) -> Callable[[ClassCounts], list[Block]]:
        """Return what makes its blocks from counts alone."""
        return lambda counts: self.blocks(counts, given)


PARTS: dict[str, Part] = {
    "vectors": Part(vector_blocks, (1.0,)),
    "words": Part(word_blocks, (0.1, 0.3, 1.0, 3.0)),
}
