"""A document vector is a row of blocks; a block is an average of word vectors.

    block(d) = Σ_w n(w, d) · weight(w) · vector(w)  /  divisor(d)

The paper's concatenation has one block for each class, all with the same vectors. TF-IDF is a block too: its vectors
are one dimension for each word, and counts enter sublinear, as 1 + log n. Everything that a model computes later (word
table, explanation) follows from this one form, so that a new kind of feature is a new list of blocks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import look_up
from tfcr.schemes import Weights

Known = NDArray[np.bool_]
Vectors = NDArray[np.float32] | sp.csr_array

WORTH_COMPILED_CODE = 50_000_000
"""Words times columns from which document vectors are computed by compiled code; less is done before it is loaded."""


@dataclass(frozen=True)
class Block:
    """One stretch of the document vector.

    Attributes
    ----------
    name
        The class it belongs to, or what it holds.
    weights
        float32 (n_words,).
    vectors
        float32 (n_words, dimensions), dense or sparse; None stands for the identity, one dimension for each word.
    averaging
        A name of AVERAGINGS.
    output
        The number of the only classifier that sees this block; None for all of them.
    suffixes
        What follows the name in each column's name, if not the number of the dimension.
    """

    name: str
    weights: NDArray[np.float32]
    vectors: Vectors | None
    averaging: str
    output: int | None = None
    suffixes: tuple[str, ...] | None = None

    @property
    def dimensions(self) -> int:
        """How many columns it has."""
        return len(self.weights) if self.vectors is None else int(self.vectors.shape[1])

    def column_names(self) -> list[str]:
        """Return the names of its columns, ``class__dimension``."""
        suffixes = self.suffixes or tuple(map(str, range(self.dimensions)))
        return [f"{self.name}__{suffix}" for suffix in suffixes]


# averagings: what a block's sum is divided by ----------------------------------------------------------------------


class Averaging(NamedTuple):
    """A divisor is `weights` · (the weights of all the document's words) + `length` · (all its tokens) + `one`.

    If `sublinear`, counts enter as 1 + log n, and the weights are added up as the sides of a right angle: the root of
    their squares.
    """

    weights: float = 0
    length: float = 0
    one: float = 0
    sublinear: bool = False

    def counts(self, counts: sp.csr_array) -> sp.csr_array:
        """Return counts as they enter."""
        return sublinear_counts(counts) if self.sublinear else counts

    def divisors(
        self, counts: sp.csr_array, masses: NDArray[np.float32] | sp.csr_array, lengths: NDArray[Any]
    ) -> NDArray[np.float32]:
        """Return the divisors of documents, (n_documents, n_divisors).

        Parameters
        ----------
        counts
            As they enter; (n_documents, n_words).
        masses
            What each word adds to each divisor; (n_words, n_divisors). See `masses`.
        lengths
            All tokens of each document.
        """
        summed = (squared(counts) if self.sublinear else counts) @ masses
        sums = np.asarray(summed.toarray() if sp.issparse(summed) else summed, np.float32)
        if self.sublinear:
            sums = np.sqrt(sums)
        return np.asarray(self.weights * sums + self.length * lengths[:, None] + self.one, np.float32)

    def masses(self, weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what each word adds to the divisor, before the root if there is one."""
        return weights * weights if self.sublinear else weights


AVERAGINGS: dict[str, Averaging] = {
    # by the weights of all the document's words, those without a vector too, as in the author's program
    "weights": Averaging(weights=1),
    # by all tokens, known or not
    "length": Averaging(length=1),
    "sum": Averaging(one=1),
    # to length 1, as TF-IDF is with sublinear counts
    "unit": Averaging(weights=1, sublinear=True),
}


def sublinear_counts(counts: sp.csr_array) -> sp.csr_array:
    """Return 1 + log n for each count; n itself below 1, where the logarithm would turn a word into its opposite."""
    numbers = counts.data.astype(np.float32)
    sublinear = np.where(numbers < 1, numbers, 1 + np.log(np.maximum(numbers, 1)))
    return sp.csr_array((sublinear, counts.indices, counts.indptr), counts.shape)


def as_floats(counts: sp.csr_array) -> sp.csr_array:
    """Return counts as float32; scipy's own function would sort the matrix first."""
    return sp.csr_array((counts.data.astype(np.float32), counts.indices, counts.indptr), counts.shape)


def squared(matrix: sp.csr_array) -> sp.csr_array:
    """Return the squares of all values; scipy's own function would sort it, too."""
    return sp.csr_array((matrix.data * matrix.data, matrix.indices, matrix.indptr), matrix.shape)


def divide(sums: NDArray[np.float32], divisors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divide; a document with nothing to average gets zeros."""
    return np.divide(sums, divisors, out=np.zeros_like(sums), where=divisors > 0)


# which blocks a document vector has --------------------------------------------------------------------------------


def all_blocks(
    weights: Weights, vectors: NDArray[np.float32] | None, names: Sequence[str], averaging: str, known: Known
) -> list[Block]:
    """Return one block for each class, seen by every classifier: the paper's concatenation, N × d columns."""
    if weights.shape[1] == 1:
        names = ["all"]
    return [
        Block(name, np.ascontiguousarray(weights[:, number]), vectors, averaging) for number, name in enumerate(names)
    ]


def own_blocks(
    weights: Weights, vectors: NDArray[np.float32] | None, names: Sequence[str], averaging: str, known: Known
) -> list[Block]:
    """Return blocks of which each class's classifier sees its own, the plain mean, and its share of the weight.

    Its columns grow with the number of classes, not the work of each classifier. Two classes share one classifier,
    which sees the blocks of both. A scheme with one weight for all classes has no own blocks: it gets the block and
    the plain mean.
    """
    shared = weights.shape[1] <= 2
    blocks = all_blocks(weights, vectors, names, averaging, known)
    own = [
        Block(block.name, block.weights, block.vectors, averaging, None if shared else number)
        for number, block in enumerate(blocks)
    ]
    mean = Block("(mean)", known.astype(np.float32), vectors, "weights")
    return [*own, mean] if weights.shape[1] == 1 else [*own, mean, *_mass_blocks(weights, names, shared)]


def _mass_blocks(weights: Weights, names: Sequence[str], shared: bool) -> list[Block]:
    """Return the share of the document's weight that each class holds, as the average of the words' shares."""
    total = weights.sum(axis=1)
    shares = divide(weights, total[:, None])
    return [
        Block(name, total, shares[:, [number]], "weights", None if shared else number, ("mass",))
        for number, name in enumerate(names)
    ]


BlockMaker = Callable[[Weights, NDArray[np.float32] | None, Sequence[str], str, Known], list[Block]]
BLOCKS: dict[str, BlockMaker] = {"all": all_blocks, "own": own_blocks}


def make_blocks(
    kind: str,
    weights: Weights,
    vectors: NDArray[np.float32] | None,
    names: Sequence[str],
    averaging: str,
    known: Known,
) -> list[Block]:
    """Return the blocks of a document vector; `known` tells the words that training knows, (n_words,)."""
    check_blocks(kind, averaging)
    return BLOCKS[kind](weights, vectors, names, averaging, known)


def check_blocks(kind: str, averaging: str) -> None:
    """Refuse unknown names."""
    look_up(AVERAGINGS, averaging, "averaging")
    look_up(BLOCKS, kind, "blocks")


# from counts to features -------------------------------------------------------------------------------------------


def document_vectors(
    counts: sp.csr_array,
    lengths: NDArray[Any],
    blocks: Sequence[Block],
    threads: int | None = None,
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Return the blocks of all documents side by side; float32 of shape (n_documents, n_columns), in `out` if given."""
    starts = column_starts(blocks)
    features = np.empty((counts.shape[0], starts[-1]), np.float32) if out is None else out
    for first, last in _runs_of_blocks(blocks):
        averaging = AVERAGINGS[blocks[first].averaging]
        numbers = averaging.counts(as_floats(counts))
        weights = np.stack([block.weights for block in blocks[first:last]], axis=1)
        divisors = averaging.divisors(numbers, averaging.masses(weights), lengths)
        shares = np.divide(1, divisors, out=np.zeros_like(divisors), where=divisors > 0)
        _average(numbers, weights, blocks[first].vectors, shares, features[:, starts[first] : starts[last]], threads)
    return features


def _runs_of_blocks(blocks: Sequence[Block]) -> list[tuple[int, int]]:
    """Return the ranges of neighbouring blocks that average the same vectors alike, and so can be computed together."""
    ends = [
        number
        for number, (one, two) in enumerate(pairwise(blocks), start=1)
        if one.vectors is not two.vectors or one.averaging != two.averaging
    ]
    return list(pairwise([0, *ends, len(blocks)]))


def word_shares(counts: sp.csr_array, lengths: NDArray[Any], block: Block) -> sp.csr_array:
    """Return count · weight / divisor for each word of each document; its product with the vectors is the block."""
    averaging = AVERAGINGS[block.averaging]
    numbers = averaging.counts(as_floats(counts))
    divisors = averaging.divisors(numbers, averaging.masses(block.weights)[:, None], lengths)[:, 0]
    inverse = np.divide(1, divisors, out=np.zeros_like(divisors), where=divisors > 0)
    data = numbers.data * block.weights[numbers.indices] * np.repeat(inverse, np.diff(numbers.indptr))
    shares = sp.csr_array((data, numbers.indices, numbers.indptr), numbers.shape, copy=True)
    shares.eliminate_zeros()  # a word has weight only in classes where it occurred
    return shares


def _average(
    counts: sp.csr_array,
    weights: NDArray[np.float32],
    vectors: Vectors | None,
    shares: NDArray[np.float32],
    target: NDArray[np.float32],
    threads: int | None,
) -> None:
    """Write some blocks into their columns: weighted sums, times the share that one weight has in each document."""
    if isinstance(vectors, np.ndarray) and counts.nnz * target.shape[1] >= WORTH_COMPILED_CODE:
        from tfcr.system.native import average_vectors, in_threads  # noqa: PLC0415 - numba loads slowly

        arrays = counts.indptr.astype(np.int64), counts.indices.astype(np.int32), counts.data
        rows = np.ascontiguousarray(vectors)
        in_threads(
            lambda first, last: average_vectors(first, last, *arrays, weights, rows, shares, target),
            len(target),
            threads,
        )
        return
    width = target.shape[1] // weights.shape[1]
    for number in range(weights.shape[1]):
        block = target[:, number * width : (number + 1) * width]
        np.multiply(_weighted_sums(counts, weights[:, number], vectors), shares[:, [number]], out=block)


def empty_blocks(counts: sp.csr_array, blocks: Sequence[Block]) -> NDArray[np.bool_]:
    """Tell which blocks of which documents average nothing; (n_documents, n_blocks).

    A short text holds no word of most classes. Its blocks of zeros say nothing, and nothing is to be learned from them.
    """
    numbers = as_floats(counts)
    empty = np.zeros((counts.shape[0], len(blocks)), np.bool_)
    for number, block in enumerate(blocks):
        if block.averaging == "weights":
            empty[:, number] = numbers @ block.weights == 0
    return empty


def _weighted_sums(counts: sp.csr_array, weights: NDArray[np.float32], vectors: Vectors | None) -> NDArray[np.float32]:
    weighted = sp.csr_array((counts.data * weights[counts.indices], counts.indices, counts.indptr), counts.shape)
    sums = weighted if vectors is None else weighted @ vectors
    return np.asarray(sums.toarray() if sp.issparse(sums) else sums, np.float32)


def column_names(blocks: Sequence[Block]) -> list[str]:
    """Return the names of all columns."""
    return [name for block in blocks for name in block.column_names()]


def column_starts(blocks: Sequence[Block]) -> list[int]:
    """Return where each block starts, and the number of all columns."""
    return [0, *np.cumsum([block.dimensions for block in blocks]).tolist()]
