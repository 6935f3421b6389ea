"""The parts of a score: kinds of features, each fitted by itself; their scores are added up, each with its share.

To add a kind of feature, add a row to PARTS.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.features.blocks import Block, make_blocks
from tfcr.features.cross_fit import BlocksOf, CountsOf
from tfcr.schemes import Scheme, compute_weights
from tfcr.text.documents import CountedDocuments


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


def vector_blocks(documents: CountedDocuments, counts: CountsOf, given: Ingredients) -> list[Block]:
    """Return the word vectors weighted by class: the paper's method."""
    found = counts()
    weights = compute_weights(given.scheme, found)
    return make_blocks(given.blocks, weights, given.vectors, given.names, given.averaging, found.occurs())


def word_blocks(documents: CountedDocuments, counts: CountsOf, given: Ingredients) -> list[Block]:
    """Return the words themselves by TF-IDF, with sublinear counts, to length 1, as scikit-learn does it.

    So are pairs of neighbouring words, where documents are counted over them; one document's own say nothing.
    """
    held = np.bincount(documents.matrix.indices, minlength=len(documents.words))
    idf = np.log((1 + len(documents)) / (1 + held)) + 1
    at_least = np.where(np.arange(len(held)) < len(held) - documents.n_bigrams, 1, 2)
    return [Block("(words)", np.where(held >= at_least, idf, 0).astype(np.float32), None, "unit")]


class Part(NamedTuple):
    """A kind of feature.

    Attributes
    ----------
    blocks
        Makes its blocks from documents, what gives their counts, and the ingredients.
    strengths
        What C is picked from where none is given.
    uses_bigrams
        Whether it sees pairs of neighbouring words.
    by_class
        Whether its blocks depend on the classes, so that cross-fitting changes them.
    """

    blocks: Callable[[CountedDocuments, CountsOf, Ingredients], list[Block]]
    strengths: tuple[float, ...]
    uses_bigrams: bool = False
    by_class: bool = False

    def maker(self, given: Ingredients) -> BlocksOf:
        """Return what makes its blocks from documents and counts alone."""
        return lambda documents, counts: self.blocks(documents, counts, given)


PARTS: dict[str, Part] = {
    # word vectors weighted by class: the paper's method
    "vectors": Part(vector_blocks, (1.0,), by_class=True),
    # the words themselves
    "words": Part(word_blocks, (0.1, 0.3, 1.0, 3.0)),
    # words and pairs of neighbouring words
    "bigrams": Part(word_blocks, (0.1, 0.3, 1.0, 3.0), uses_bigrams=True),
}
