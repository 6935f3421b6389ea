"""Parts: kinds of features, each fitted by a head of its own; stacking adds up their scores.

To add a kind of feature, write a function that makes its blocks, and add a row to PARTS.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfcr.features.blocks import Block, make_blocks
from tfcr.features.cross_fit import BlockMaker
from tfcr.schemes import Scheme, compute_weights
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import CountedDocuments


@dataclass(frozen=True)
class VectorSettings:
    """How word vectors become blocks.

    Attributes
    ----------
    vectors
        One per word, zeros if it has none; float32 (n_words, dimensions). None if no part needs vectors.
    class_names
        For the names of columns.
    scheme, blocks, averaging
        As in TfcrClassifier.
    """

    vectors: NDArray[np.float32] | None
    class_names: list[str]
    scheme: str | Scheme
    blocks: str
    averaging: str


def vector_blocks(
    documents: CountedDocuments, counts: Callable[[], ClassCounts], settings: VectorSettings
) -> list[Block]:
    """Return the word vectors weighted by class: the paper's method."""
    known = counts()
    weights = compute_weights(settings.scheme, known)
    names, averaging = settings.class_names, settings.averaging
    return make_blocks(settings.blocks, weights, settings.vectors, names, averaging, known.occurs())


def tfidf_blocks(
    documents: CountedDocuments, counts: Callable[[], ClassCounts], settings: VectorSettings
) -> list[Block]:
    """Return all terms of the vocabulary by TF-IDF, with sublinear counts and L2 norm, as scikit-learn computes it.

    A bigram that only one document holds has no weight.
    """
    frequencies = documents.document_frequencies()
    idf = np.log((1 + len(documents)) / (1 + frequencies)) + 1
    at_least = np.ones(len(frequencies))
    at_least[documents.vocabulary.section("bigrams")] = 2
    return [Block("(words)", np.where(frequencies >= at_least, idf, 0).astype(np.float32), None, "unit")]


@dataclass(frozen=True)
class Part:
    """A kind of feature.

    Attributes
    ----------
    make_blocks
        Makes its blocks from documents, a function that gives their class counts, and the settings of vectors.
    strengths
        The values of C to pick from if none is given.
    uses_bigrams
        Whether it sees the bigrams of the vocabulary, or words only.
    needs_vectors
        Whether it needs embeddings.
    supervised
        Whether its blocks depend on labels, so that cross-fitting changes them.
    sparse
        Whether its features are sparse, with as many columns as there are terms.
    cost
        About how long a fit takes, relative to that of ``words``; for the progress bar only.
    """

    make_blocks: Callable[[CountedDocuments, Callable[[], ClassCounts], VectorSettings], list[Block]]
    strengths: tuple[float, ...]
    uses_bigrams: bool = False
    needs_vectors: bool = False
    supervised: bool = False
    sparse: bool = False
    cost: float = 1.0

    def block_maker(self, settings: VectorSettings) -> BlockMaker:
        """Return a function that makes its blocks from documents and counts."""
        return lambda documents, counts: self.make_blocks(documents, counts, settings)


PARTS: dict[str, Part] = {
    # word vectors weighted by class: the paper's method
    "vectors": Part(vector_blocks, (1.0,), needs_vectors=True, supervised=True, cost=5.0),
    # words by TF-IDF
    "words": Part(tfidf_blocks, (0.1, 0.3, 1.0, 3.0), sparse=True),
    # words and bigrams by TF-IDF
    "bigrams": Part(tfidf_blocks, (0.1, 0.3, 1.0, 3.0), sparse=True, uses_bigrams=True, cost=2.0),
}
