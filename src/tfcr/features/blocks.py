"""A document vector is a row of blocks; a block is a weighted average of term vectors.

    block(d) = Σ_t n(t, d) · weight(t) · vector(t)  /  divisor(d)

The paper's concatenation has one block per class, all with the same word vectors. TF-IDF is a block too: each term's
vector is a dimension of its own, and counts enter sublinearly, as 1 + log n. Word table and explanations follow from
this one form, so that a new kind of feature is a new list of blocks.

Worked example: "good good film" with weights good 2, film 1 and vectors good (1, 0), film (0, 1), averaged by weights:

    sum      2 · 2 · (1, 0) + 1 · 1 · (0, 1) = (4, 1)
    divisor  2 · 2 + 1 · 1 = 5
    block    (.8, .2)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import look_up
from tfcr.schemes import Weights
from tfcr.system.hardware import check_fits
from tfcr.system.lazy import lazy_module
from tfcr.text.documents import Counted
from tfcr.text.pieces import Pieces

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = lazy_module("scipy.sparse")

Known = NDArray[np.bool_]
Vectors: TypeAlias = "NDArray[np.float32] | sp.csr_array"

MIN_NATIVE_PRODUCTS = 50_000_000
"""Entries times columns below which document vectors are computed by scipy, sooner than compiled code is loaded."""


LENGTH_OF_MASS = 7.0
"""Length of word vectors beside which the mass is a fraction from 0 to 1; beside others it grows with their length, so
that the scale of a vector file does not matter. With vectors 6 to 12 long, results on six datasets were best."""


@dataclass(frozen=True)
class PieceVectors:
    """How a block sees a word that is no term: weight · vector of the word is the sum over its pieces.

    Likewise, the square of its weight is the sum of its pieces' squares, so that the L2 norm is known.

    Attributes
    ----------
    pieces
        The pieces that words are cut into.
    weights
        float32 (n_pieces,).
    vectors
        float32 (n_pieces, dimensions); None stands for the identity, one dimension per piece.
    """

    pieces: Pieces
    weights: NDArray[np.float32]
    vectors: NDArray[np.float32] | None


@dataclass(frozen=True)
class Block:
    """One stretch of the document vector.

    Attributes
    ----------
    name
        The class it belongs to, or what it holds.
    weights
        float32 (n_terms,).
    vectors
        float32 (n_terms, dimensions), dense or sparse; None stands for the identity, one dimension per term.
    averaging
        A name of AVERAGINGS.
    output
        The only output of the head that sees this block; None if all do.
    suffixes
        What follows the name in each column's name; by default the number of the dimension.
    pieces
        How it sees words that are no terms; None if it does not. Only for averaging ``unit``.
    """

    name: str
    weights: NDArray[np.float32]
    vectors: Vectors | None
    averaging: str
    output: int | None = None
    suffixes: tuple[str, ...] | None = None
    pieces: PieceVectors | None = None

    @property
    def dimensions(self) -> int:
        """The number of columns."""
        return len(self.weights) if self.vectors is None else int(self.vectors.shape[1])

    def column_names(self) -> list[str]:
        """Return the names of its columns, ``class__dimension``."""
        suffixes = self.suffixes or tuple(map(str, range(self.dimensions)))
        return [f"{self.name}__{suffix}" for suffix in suffixes]


# averagings: what a block's sum is divided by ----------------------------------------------------------------------


class Averaging(NamedTuple):
    """A divisor: `weights` · Σ_t n(t) · weight(t) + `length` · (all tokens) + `one`.

    If `sublinear`, counts enter as 1 + log n, and the sum of weights is the L2 norm √(Σ_t (n(t) · weight(t))²).
    """

    weights: float = 0
    length: float = 0
    one: float = 0
    sublinear: bool = False

    def counts(self, counts: sp.csr_array) -> sp.csr_array:
        """Return counts as they enter the sums."""
        return sublinear_counts(counts) if self.sublinear else counts

    def divisors(
        self, counts: sp.csr_array, divisor_weights: NDArray[np.float32] | sp.csr_array, lengths: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Return the divisors of documents, (n_documents, n_divisors).

        Parameters
        ----------
        counts
            As returned by `counts`; (n_documents, n_terms).
        divisor_weights
            As returned by `divisor_weights`; (n_terms, n_divisors).
        lengths
            All tokens of each document.
        """
        summed = (squared(counts) if self.sublinear else counts) @ divisor_weights
        sums = np.asarray(summed.toarray() if sp.issparse(summed) else summed, np.float32)
        if self.sublinear:
            sums = np.sqrt(sums)
        return np.asarray(self.weights * sums + self.length * lengths[:, None] + self.one, np.float32)

    def divisor_weights(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what each term adds to the divisor: its weight, or its square under the root of the L2 norm."""
        return weights * weights if self.sublinear else weights


AVERAGINGS: dict[str, Averaging] = {
    # by the weights of all terms, also those without a vector, as in the author's program
    "weights": Averaging(weights=1),
    # by all tokens, known or not
    "length": Averaging(length=1),
    "sum": Averaging(one=1),
    # to L2 norm 1 with sublinear counts, as TF-IDF
    "unit": Averaging(weights=1, sublinear=True),
}


def sublinear_counts(counts: sp.csr_array) -> sp.csr_array:
    """Return 1 + log n for each count; fractional counts below 1 stay, or their logarithm would change sign."""
    numbers = counts.data.astype(np.float32)
    scaled = np.where(numbers < 1, numbers, 1 + np.log(np.maximum(numbers, 1)))
    return sp.csr_array((scaled, counts.indices, counts.indptr), counts.shape)


def as_floats(counts: sp.csr_array) -> sp.csr_array:
    """Return counts as float32; scipy's own conversion would sort the matrix first."""
    return sp.csr_array((counts.data.astype(np.float32), counts.indices, counts.indptr), counts.shape)


def squared(matrix: sp.csr_array) -> sp.csr_array:
    """Return the squares of all values; scipy's own function would sort the matrix first."""
    return sp.csr_array((matrix.data * matrix.data, matrix.indices, matrix.indptr), matrix.shape)


def divide(sums: NDArray[np.float32], divisors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide; 0 where the divisor is 0."""
    return np.divide(sums, divisors, out=np.zeros_like(sums), where=divisors > 0)


# which blocks a document vector has --------------------------------------------------------------------------------


def all_blocks(
    weights: Weights, vectors: NDArray[np.float32] | None, names: Sequence[str], averaging: str, known: Known
) -> list[Block]:
    """Return one block per class, seen by all outputs: the paper's concatenation, N × d columns."""
    if weights.shape[1] == 1:
        names = ["all"]
    return [
        Block(name, np.ascontiguousarray(weights[:, number]), vectors, averaging) for number, name in enumerate(names)
    ]


def own_blocks(
    weights: Weights, vectors: NDArray[np.float32] | None, names: Sequence[str], averaging: str, known: Known
) -> list[Block]:
    """Return blocks for outputs that each see their class's block, the unweighted mean and their class's mass.

    The cost per output does not grow with the number of classes. Two classes share one output, which sees the blocks of
    both. A scheme with one weight for all classes has a single block, seen with the mean.
    """
    shared = weights.shape[1] <= 2
    blocks = all_blocks(weights, vectors, names, averaging, known)
    own = [replace(block, output=None if shared else number) for number, block in enumerate(blocks)]
    mean = Block("(mean)", known.astype(np.float32), vectors, "weights")
    if weights.shape[1] == 1:
        return [*own, mean]
    return [*own, mean, *_mass_blocks(weights, names, shared, _typical_length(vectors) / LENGTH_OF_MASS)]


def _typical_length(vectors: NDArray[np.float32] | None) -> float:
    """Return the root mean square length of the vectors that are not 0."""
    if vectors is None or not vectors.any():
        return LENGTH_OF_MASS
    squares = np.einsum("wd,wd->w", vectors, vectors, dtype=np.float64)
    return float(np.sqrt(squares[squares > 0].mean()))


def _mass_blocks(weights: Weights, names: Sequence[str], shared: bool, scale: float) -> list[Block]:
    """Return each class's mass: the fraction of the document's weight that it holds, scaled, one column per class."""
    total = weights.sum(axis=1)
    fractions = divide(weights, total[:, None]) * np.float32(scale)
    return [
        Block(name, total, fractions[:, [number]], "weights", None if shared else number, ("mass",))
        for number, name in enumerate(names)
    ]


BlockLayout = Callable[[Weights, NDArray[np.float32] | None, Sequence[str], str, Known], list[Block]]
BLOCKS: dict[str, BlockLayout] = {"all": all_blocks, "own": own_blocks}


def make_blocks(
    kind: str,
    weights: Weights,
    vectors: NDArray[np.float32] | None,
    names: Sequence[str],
    averaging: str,
    known: Known,
) -> list[Block]:
    """Return the blocks of a document vector; `known` are the words seen in training, (n_words,)."""
    check_blocks(kind, averaging)
    return BLOCKS[kind](weights, vectors, names, averaging, known)


def check_blocks(kind: str, averaging: str) -> None:
    """Raise UnknownNameError for unknown names."""
    look_up(AVERAGINGS, averaging, "averaging")
    look_up(BLOCKS, kind, "blocks")


# from counts to features -------------------------------------------------------------------------------------------


def document_vectors(
    documents: Counted,
    blocks: Sequence[Block],
    threads: int | None = None,
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Return the blocks of all documents side by side; float32 (n_documents, n_columns), in `out` if given."""
    starts = column_starts(blocks)
    if out is None:
        check_fits(
            4 * len(documents) * starts[-1],
            f"vectors of {len(documents):,} documents with {starts[-1]:,} columns",
            "give fewer documents at a time, or vectors of fewer dimensions",
        )
    features = np.empty((len(documents), starts[-1]), np.float32) if out is None else out
    for first, last in _ranges_of_like_blocks(blocks):
        averaging = AVERAGINGS[blocks[first].averaging]
        counts = averaging.counts(as_floats(documents.matrix))
        weights = np.stack([block.weights for block in blocks[first:last]], axis=1)
        divisors = averaging.divisors(counts, averaging.divisor_weights(weights), documents.lengths)
        factors = divide(np.ones_like(divisors), divisors)  # sums are multiplied by them: 0 for an empty block
        _average(counts, weights, blocks[first].vectors, factors, features[:, starts[first] : starts[last]], threads)
    return features


def _ranges_of_like_blocks(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Return ranges of neighbouring blocks with the same vectors and averaging, which are computed together."""
    ends = [
        number
        for number, (one, two) in enumerate(pairwise(blocks), start=1)
        if one.vectors is not two.vectors or one.averaging != two.averaging
    ]
    return list(pairwise([0, *ends, len(blocks)]))


def weighted_counts(documents: Counted, block: Block) -> sp.csr_array:
    """Return count · weight / divisor for each term of each document; times the vectors, it is the block."""
    counts = documents.matrix
    weighted = sp.csr_array((weighted_values(documents, block), counts.indices, counts.indptr), counts.shape, copy=True)
    weighted.eliminate_zeros()  # a word has weight only in classes where it occurred
    return weighted


def weighted_values(documents: Counted, block: Block) -> NDArray[np.float32]:
    """Return count · weight / divisor for each count of the matrix; (n_counts,)."""
    averaging = AVERAGINGS[block.averaging]
    counts = averaging.counts(as_floats(documents.matrix))
    divisors = averaging.divisors(counts, averaging.divisor_weights(block.weights)[:, None], documents.lengths)[:, 0]
    factors = divide(np.ones_like(divisors), divisors)
    values = counts.data * block.weights[counts.indices] * np.repeat(factors, np.diff(counts.indptr))
    return np.asarray(values, np.float32)


def _average(
    counts: sp.csr_array,
    weights: NDArray[np.float32],
    vectors: Vectors | None,
    factors: NDArray[np.float32],
    target: NDArray[np.float32],
    threads: int | None,
) -> None:
    """Write like blocks into their columns: weighted sums, times one factor per document and block."""
    if isinstance(vectors, np.ndarray) and counts.nnz * target.shape[1] >= MIN_NATIVE_PRODUCTS:
        from tfcr.system.native import average_vectors, in_threads  # noqa: PLC0415 - numba loads slowly

        arrays = counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data
        rows = np.ascontiguousarray(vectors)
        in_threads(
            lambda first, last: average_vectors(first, last, *arrays, weights, rows, factors, target),
            len(target),
            threads,
        )
        return
    width = target.shape[1] // weights.shape[1]
    for number in range(weights.shape[1]):
        block = target[:, number * width : (number + 1) * width]
        np.multiply(_weighted_sums(counts, weights[:, number], vectors), factors[:, [number]], out=block)


def empty_blocks(documents: Counted, blocks: Sequence[Block]) -> NDArray[np.bool_]:
    """Return which blocks of which documents average nothing; (n_documents, n_blocks).

    A short text holds no word of most classes. Its blocks of zeros carry no information and must not be learned from.
    """
    counts = as_floats(documents.matrix)
    empty = np.zeros((len(documents), len(blocks)), np.bool_)
    for number, block in enumerate(blocks):
        if is_centred(block):
            empty[:, number] = counts @ block.weights == 0
    return empty


def is_centred(block: Block) -> bool:
    """Return whether the word table can centre the block: its terms' factors add up to 1, or to 0 where it is empty."""
    return AVERAGINGS[block.averaging] == Averaging(weights=1)


def _weighted_sums(counts: sp.csr_array, weights: NDArray[np.float32], vectors: Vectors | None) -> NDArray[np.float32]:
    weighted = sp.csr_array((counts.data * weights[counts.indices], counts.indices, counts.indptr), counts.shape)
    sums = weighted if vectors is None else weighted @ vectors
    return np.asarray(sums.toarray() if sp.issparse(sums) else sums, np.float32)


def column_names(blocks: Sequence[Block]) -> list[str]:
    """Return the names of all columns."""
    return [name for block in blocks for name in block.column_names()]


def column_starts(blocks: Sequence[Block]) -> list[int]:
    """Return the first column of each block, and the number of all columns; (n_blocks + 1,)."""
    return [0, *np.cumsum([block.dimensions for block in blocks]).tolist()]
