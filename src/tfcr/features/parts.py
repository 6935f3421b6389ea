"""Parts: kinds of features, each fitted by a head of its own; stacking adds up their scores.

To add a kind of feature, write a function that makes its blocks, and add a row to PARTS.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.embeddings import Embeddings
from tfcr.features.blocks import Block, PieceVectors, make_blocks
from tfcr.features.cross_fit import BlockMaker
from tfcr.schemes import Scheme, compute_weights
from tfcr.text.class_counts import ClassCounts
from tfcr.text.pieces import Pieces, find_ngrams
from tfcr.text.shards import Documents

RARE_NGRAM = 2
"""Character n-grams in fewer training documents have no weight."""
LONG_DOCUMENTS = 100
"""Different words of a mean document beyond which a part uses all n-grams or none. Many long documents have words
enough: on 20 Newsgroups, those at the edges of words cost .8 points of macro-F1 and three times the work."""
AFFIXES_OF_NGRAMS = 0.25
"""About what fraction of a word's n-grams is at its edges."""
UNSEEN_WORDS = 100_000
"""Words of a vector file, the most frequent ones, that a model knows though training did not see them."""
UNSEEN_SCORES = 4_000_000
"""Scores of such words that a model may hold: with many classes, it knows fewer words."""


@dataclass(frozen=True)
class CharacterNgrams:
    """The character n-grams of a vocabulary.

    Attributes
    ----------
    pieces
        The n-grams.
    of_words
        1 where a word holds an n-gram; float32 (n_words, n_pieces).
    """

    pieces: Pieces
    of_words: sp.csr_array

    @classmethod
    def of(cls, documents: Documents, n_classes: int, limits: "NgramLimits") -> "CharacterNgrams | None":
        """Return the n-grams of the documents' words: all, those at their edges, or None, as the limits say."""
        words = documents.vocabulary.words
        frequencies = documents.only_words().document_frequencies()
        # a word of n characters has n + 1 n-grams of two characters, edges included, n of three, and so on: 4n - 2
        sizes = np.fromiter((4 * len(word) for word in words), np.int64, len(words))
        length = float(frequencies.sum()) / max(1, len(documents))
        segmentation = limits.segmentation(float(frequencies @ sizes) * n_classes, length)
        if segmentation is None:
            return None
        pieces = find_ngrams(words, frequencies, RARE_NGRAM, segmentation)
        return cls(pieces, pieces.matrix(words))


@dataclass(frozen=True)
class NgramLimits:
    """How many character n-grams a part uses; the work is the n-grams of all documents, times the classes.

    Attributes
    ----------
    all
        The most work with all n-grams. Beyond that, those at the edges of words do nearly as well.
    affixes
        The most work with those at the edges. Beyond that, the part does without.
    """

    all: float
    affixes: float = np.inf

    def segmentation(self, work: float, length: float) -> str | None:
        """Return ``ngrams``, ``affixes`` or None for the work that all n-grams would make.

        `length` is the mean number of different words of a document.
        """
        if work <= self.all:
            return "ngrams"
        if length > LONG_DOCUMENTS:
            return None
        return "affixes" if work * AFFIXES_OF_NGRAMS <= self.affixes else None


@dataclass(frozen=True)
class PlainVectors:
    """The word vectors of one Embeddings, for unweighted sums.

    Attributes
    ----------
    vectors
        One per word, zeros if it has none; float32 (n_words, dimensions).
    lengths
        The length of each, or the root of the sum of squares over its sub-words; float32 (n_words,).
    pieces, piece_vectors
        What a word never seen is made of; float32 (n_pieces, dimensions).
    """

    vectors: NDArray[np.float32]
    lengths: NDArray[np.float32]
    pieces: Pieces
    piece_vectors: NDArray[np.float32]

    @classmethod
    def of(cls, embeddings: Embeddings, words: Sequence[str], n_classes: int) -> "PlainVectors":
        """Return the vectors of the words of training, and pieces for those of new texts."""
        pieces, piece_vectors = embeddings.pieces(min(UNSEEN_WORDS, UNSEEN_SCORES // n_classes))
        if embeddings.segmentation is None:
            vectors, seen = embeddings.of_words(words), {f" {word} " for word in words}
            unseen = np.array([number for number, name in enumerate(pieces.names) if name not in seen], np.int64)
            lengths = np.linalg.norm(vectors, axis=1)
            return cls(vectors, lengths, pieces.take(unseen), piece_vectors[unseen])
        cut = pieces.matrix(words)
        squares = np.einsum("pd,pd->p", piece_vectors, piece_vectors)
        return cls(cut @ piece_vectors, np.sqrt(cut @ squares), pieces, piece_vectors)


@dataclass(frozen=True)
class PartSettings:
    """What parts make their blocks of, besides counts.

    Attributes
    ----------
    vectors
        One per word, zeros if it has none; float32 (n_words, dimensions). None if no part needs vectors.
    class_names
        For the names of columns.
    scheme, blocks, averaging
        As in TfcrClassifier.
    plain
        The vectors of the part ``plain``, one or more.
    ngrams
        The n-grams of the words, if a part needs them.
    """

    vectors: NDArray[np.float32] | None
    class_names: list[str]
    scheme: str | Scheme
    blocks: str
    averaging: str
    plain: Sequence[PlainVectors] = ()
    ngrams: CharacterNgrams | None = None


def vector_blocks(documents: Documents, counts: Callable[[], ClassCounts], settings: PartSettings) -> list[Block]:
    """Return the word vectors weighted by class: the paper's method."""
    known = counts()
    weights = compute_weights(settings.scheme, known)
    names, averaging = settings.class_names, settings.averaging
    return make_blocks(settings.blocks, weights, settings.vectors, names, averaging, known.occurs())


def plain_blocks(documents: Documents, counts: Callable[[], ClassCounts], settings: PartSettings) -> list[Block]:
    """Return the sum of word vectors, to unit length, one block for each kind of vectors; no weights are learned.

    Words never seen are seen by it, as far as the vectors know them or their sub-words.
    """
    return [
        Block(
            "(plain)",
            *_split_lengths(plain.vectors, plain.lengths),
            "unit",
            pieces=PieceVectors(plain.pieces, *_split_lengths(plain.piece_vectors)),
        )
        for plain in settings.plain
    ]


def _split_lengths(
    vectors: NDArray[np.float32], lengths: NDArray[np.float32] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the length of each vector, and the vectors divided by it."""
    found = np.linalg.norm(vectors, axis=1) if lengths is None else lengths
    return found, np.divide(vectors, np.where(found > 0, found, 1)[:, None], dtype=np.float32)


def tfidf_blocks(documents: Documents, counts: Callable[[], ClassCounts], settings: PartSettings) -> list[Block]:
    """Return all terms of the vocabulary by TF-IDF, with sublinear counts and L2 norm, as scikit-learn computes it.

    A bigram that only one document holds has no weight.
    """
    frequencies = documents.document_frequencies()
    at_least = np.ones(len(frequencies))
    at_least[documents.vocabulary.section("bigrams")] = 2
    return [Block("(words)", np.where(frequencies >= at_least, _idf(frequencies, documents), 0), None, "unit")]


def character_blocks(documents: Documents, counts: Callable[[], ClassCounts], settings: PartSettings) -> list[Block]:
    """Return the character n-grams of the words by TF-IDF: an n-gram counts in each word of the document.

    The n-grams of a word are a sparse vector of that word, so that this is a block like any other: with idf 2 for
    "go" and 1 for "od", "good" has the weight √(2² + 1²) and the vector (2, 1) / √5.
    """
    found = settings.ngrams
    if found is None:
        return []
    frequencies = found.of_words.T @ documents.only_words().document_frequencies()
    frequencies = np.minimum(frequencies, len(documents))  # an upper bound: a document may hold several such words
    idf = np.where(frequencies >= RARE_NGRAM, _idf(frequencies, documents), 0).astype(np.float32)
    vectors = sp.csr_array(found.of_words @ sp.diags_array(idf))
    vectors.eliminate_zeros()
    weights = np.zeros(len(documents.vocabulary), np.float32)
    words = documents.vocabulary.section("words")
    weights[words] = np.sqrt((vectors * vectors).sum(axis=1))
    scaled = sp.diags_array(1 / np.where(weights[words] > 0, weights[words], 1)) @ vectors
    no_bigrams = sp.csr_array((len(weights) - scaled.shape[0], scaled.shape[1]), dtype=np.float32)
    padded = sp.csr_array(sp.vstack([scaled.astype(np.float32), no_bigrams]))
    return [Block("(characters)", weights, padded, "unit", pieces=PieceVectors(found.pieces, idf, None))]


def ngram_blocks(documents: Documents, counts: Callable[[], ClassCounts], settings: PartSettings) -> list[Block]:
    """Return terms and character n-grams, side by side for one head."""
    return [*tfidf_blocks(documents, counts, settings), *character_blocks(documents, counts, settings)]


def _idf(frequencies: NDArray[np.int64], documents: Documents) -> NDArray[np.float32]:
    return (np.log((1 + len(documents)) / (1 + frequencies)) + 1).astype(np.float32)


@dataclass(frozen=True)
class Part:
    """A kind of feature.

    Attributes
    ----------
    make_blocks
        Makes its blocks from documents, a function that gives their class counts, and the settings.
    strengths
        The values of C to pick from if none is given.
    uses_bigrams
        Whether it sees the bigrams of the vocabulary, or words only.
    needs_vectors
        Whether it needs embeddings.
    ngrams
        How many character n-grams of the words it uses; None if none.
    supervised
        Whether its blocks depend on labels, so that cross-fitting changes them.
    sparse
        Whether its features are sparse, with as many columns as there are terms.
    cost
        About how long a fit takes, relative to that of ``words``; for the progress bar only.
    entries
        About how many features that are not 0 it has for each different word of a document, if its features are sparse.
    memory
        About how many bytes training takes for each byte of text, if all of it is in memory.
    """

    make_blocks: Callable[[Documents, Callable[[], ClassCounts], PartSettings], list[Block]]
    strengths: tuple[float, ...]
    uses_bigrams: bool = False
    needs_vectors: bool = False
    ngrams: NgramLimits | None = None
    supervised: bool = False
    sparse: bool = False
    cost: float = 1.0
    entries: float = 1.0
    memory: float = 10.0

    def block_maker(self, settings: PartSettings) -> BlockMaker:
        """Return a function that makes its blocks from documents and counts."""
        return lambda documents, counts: self.make_blocks(documents, counts, settings)


_TFIDF = Part(tfidf_blocks, (0.1, 0.3, 1.0, 3.0), sparse=True)
_NGRAMS = NgramLimits(all=400_000_000)
PARTS: dict[str, Part] = {
    # word vectors weighted by class: the paper's method
    "vectors": Part(vector_blocks, (1.0,), needs_vectors=True, supervised=True, cost=5.0, memory=16.0),
    # the plain sum of word vectors, words never seen included
    "plain": Part(plain_blocks, (0.1, 0.3, 1.0, 3.0), needs_vectors=True),
    # words by TF-IDF
    "words": _TFIDF,
    # words and bigrams by TF-IDF
    "bigrams": replace(_TFIDF, uses_bigrams=True, cost=2.0, entries=2.0, memory=30.0),
    # character n-grams of words by TF-IDF
    "characters": replace(_TFIDF, make_blocks=character_blocks, ngrams=_NGRAMS, cost=4.0, entries=14.0, memory=40.0),
    # words, bigrams and character n-grams by TF-IDF, fitted together
    "ngrams": replace(
        _TFIDF, make_blocks=ngram_blocks, ngrams=_NGRAMS, uses_bigrams=True, cost=6.0, entries=16.0, memory=50.0
    ),
    # words by TF-IDF, and character n-grams only where there are so few that they cost almost nothing
    "lexical": replace(_TFIDF, make_blocks=ngram_blocks, ngrams=NgramLimits(all=5_000_000, affixes=5_000_000)),
}
