"""From the blocks and coefficients of a trained head to the word table."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.features.blocks import AVERAGINGS, Block, PieceVectors, as_floats, column_starts, is_centred
from tfcr.features.pieces import whole_piece
from tfcr.heads.base import FittedHead
from tfcr.text.shards import Documents, Piece, ShardedDocuments
from tfcr.trained.packing import CHUNK, LoosePieces, LooseTable, pack, term_order
from tfcr.trained.word_table import WordTable


def collapse(
    documents: Documents,
    sample_weight: NDArray[np.float64],
    blocks: Sequence[Block],
    fitted: FittedHead,
) -> WordTable:
    """Multiply weights, vectors and coefficients into one table.

    An average by weights is centred in the table itself: the contribution of a term is how far its vector leads away
    from the average training document, the intercept is that document's score, and an empty block adds nothing. A sum
    or an average by length cannot be centred so: its mean goes into the intercept.
    """
    n_terms, n_outputs = len(documents.vocabulary), len(fitted.intercepts)
    frequencies = (documents.weighted_sums(sample_weight) / sample_weight.sum()).astype(np.float32)
    order = term_order(documents.vocabulary, frequencies)  # as `pack` wants them, so that it makes no second copy
    places = np.empty(n_terms, np.int64)
    places[order] = np.arange(n_terms)
    layout = _Layout.of(blocks, n_outputs)
    terms = [np.flatnonzero(block.weights) for block in blocks]
    scores = _SparseRows(
        n_terms, [(places[some], len(columns)) for some, columns in zip(terms, layout.of_blocks, strict=True)]
    )
    intercepts = fitted.intercepts.copy()
    pieces = []
    for number, (block, start) in enumerate(zip(blocks, column_starts(blocks), strict=False)):
        # block by block: weight · ⟨vector, coefficients⟩ of every term, for the outputs that see the block
        seen, columns = _outputs_of(block, n_outputs), layout.of_blocks[number]
        coefficients = fitted.coefficients[start : start + block.dimensions, seen]
        offsets = fitted.means[start : start + block.dimensions] @ coefficients
        for some in _chunks(terms[number], len(seen)):
            along = _times_vectors(block, some, coefficients)
            centred = along - offsets if is_centred(block) else along
            scores.fill(places[some], columns, block.weights[some, None] * centred)
        if block.pieces is not None:
            pieces.append(_collapse_pieces(block.pieces, coefficients, columns, layout.divisors[number]))
        if not is_centred(block):
            intercepts[seen] -= offsets
    divisor_weights = _divisor_weights(blocks, layout, places)
    return pack(
        LooseTable(
            vocabulary=documents.vocabulary.take(order),
            scores=scores.matrix(len(layout.columns)),
            outputs=np.array([output for output, _ in layout.columns]),
            divisors=np.array([divisor for _, divisor in layout.columns]),
            divisor_weights=divisor_weights,
            averagings=layout.averagings,
            typical=_typical_divisors(divisor_weights[places], layout.averagings, documents, sample_weight),
            frequencies=frequencies[order],
            intercepts=intercepts,
            pieces=tuple(pieces),
        )
    )


def _outputs_of(block: Block, n_outputs: int) -> list[int]:
    """Return the outputs that see a block."""
    return list(range(n_outputs)) if block.output is None else [block.output]


class _Layout(NamedTuple):
    """Which columns and which divisor of the table each block adds to.

    Attributes
    ----------
    columns
        The output and the divisor of each column, ordered by divisor, as `pack` wants them.
    of_blocks
        The columns of each block, one for each output that sees it.
    divisors
        The divisor of each block.
    averagings
        For each divisor, a name of AVERAGINGS.
    """

    columns: list[tuple[int, int]]
    of_blocks: list[list[int]]
    divisors: list[int]
    averagings: tuple[str, ...]

    @classmethod
    def of(cls, blocks: Sequence[Block], n_outputs: int) -> "_Layout":
        numbers: dict[tuple[str, int], int] = {}
        divisors = [numbers.setdefault(_divisor_key(block), len(numbers)) for block in blocks]
        keys = [
            [(output, divisor) for output in _outputs_of(block, n_outputs)]
            for block, divisor in zip(blocks, divisors, strict=True)
        ]
        columns = sorted(dict.fromkeys(key for some in keys for key in some), key=lambda key: key[1])
        place = {key: number for number, key in enumerate(columns)}
        averagings = tuple(averaging for averaging, _ in numbers)
        return cls(columns, [[place[key] for key in some] for some in keys], divisors, averagings)


def _chunks(terms: NDArray[np.int64], width: int) -> Iterator[NDArray[np.int64]]:
    """Yield terms, so many at a time that their values are few: several arrays of these are made."""
    step = max(1, CHUNK // max(1, width))
    for first in range(0, len(terms), step):
        yield terms[first : first + step]


def _times_vectors(block: Block, terms: NDArray[np.int64], coefficients: NDArray[Any]) -> NDArray[Any]:
    """Return ⟨vector, coefficients⟩ of some terms; (n_terms, n_outputs)."""
    if block.vectors is None:
        return np.asarray(coefficients[terms])
    return np.asarray(block.vectors[terms] @ coefficients.astype(np.float32, copy=False))


def _divisor_weights(blocks: Sequence[Block], layout: _Layout, places: NDArray[np.int64]) -> sp.csr_array:
    """Return what each term, at its place, adds to each divisor; blocks of one divisor have the same weights."""
    first = {divisor: number for number, divisor in reversed([*enumerate(layout.divisors)])}
    weights = [AVERAGINGS[blocks[n].averaging].divisor_weights(blocks[n].weights) for n in first.values()]
    terms = [np.flatnonzero(some) for some in weights]
    rows = _SparseRows(len(places), [(places[some], 1) for some in terms])
    for divisor, some, values in zip(first, terms, weights, strict=True):
        rows.fill(places[some], [divisor], values[some, None])
    return rows.matrix(len(layout.averagings))


def _typical_divisors(
    divisor_weights: sp.csr_array,
    averagings: Sequence[str],
    documents: Documents,
    sample_weight: NDArray[np.float64],
) -> NDArray[np.float32]:
    """Return the mean of each divisor over the training documents, given the weights of their terms; (n_divisors,)."""
    if isinstance(documents, ShardedDocuments):
        sums = documents.map(_divisor_sums, divisor_weights, averagings, documents.by_piece(sample_weight))
        return np.asarray(np.sum(list(sums), axis=0) / sample_weight.sum(), np.float32)
    found = _divisor_sums(whole_piece(documents), divisor_weights, averagings, sample_weight)
    return np.asarray(found / sample_weight.sum(), np.float32)


def _divisor_sums(
    piece: Piece, divisor_weights: sp.csr_array, averagings: Sequence[str], sample_weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum of each divisor over documents, each times its weight; (n_divisors,)."""
    counts = as_floats(piece.matrix)
    sums = np.empty(len(averagings))
    whole = len(piece.places) == divisor_weights.shape[0]
    of_terms = divisor_weights if whole else divisor_weights[piece.places]
    for name in set(averagings):
        averaging = AVERAGINGS[name]
        numbers = np.flatnonzero(np.array(averagings) == name)
        divisors = averaging.divisors(averaging.counts(counts), of_terms[:, numbers], piece.lengths)
        sums[numbers] = sample_weight @ divisors
    return sums


def _collapse_pieces(found: PieceVectors, coefficients: NDArray[Any], columns: list[int], divisor: int) -> LoosePieces:
    """Return what the pieces of a block add; pieces without weight are left out."""
    kept = np.flatnonzero(found.weights)
    weights = found.weights[kept]
    along = (
        coefficients[kept]
        if found.vectors is None
        else found.vectors[kept] @ coefficients.astype(np.float32, copy=False)
    )
    return LoosePieces(
        pieces=found.pieces.take(kept),
        scores=(weights[:, None] * along).astype(np.float32),
        columns=np.array(columns),
        divisor=divisor,
        divisor_weights=weights * weights,
    )


def _divisor_key(block: Block) -> tuple[str, int]:
    """Return what blocks with the same divisor have in common: the averaging and, if it uses them, the weights."""
    return block.averaging, id(block.weights) if AVERAGINGS[block.averaging].weights else 0


class _SparseRows:
    """Fills a sparse matrix block by block, in its place: which terms a block has is known before its values are.

    Terms 0 and 2 have a block of two columns, term 2 another of one column. Rows begin at 0, 2, 2 and end at 5; `next`
    is where the next number of each goes, at first (0, 2, 2), after the first block (2, 2, 4).
    """

    def __init__(self, n_terms: int, blocks: Sequence[tuple[NDArray[np.int64], int]]) -> None:
        sizes = np.zeros(n_terms, np.int64)
        for rows, width in blocks:
            sizes[rows] += width
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.next = self.starts[:-1].copy()
        self.columns = np.empty(self.starts[-1], np.int32)
        self.values = np.empty(self.starts[-1], np.float32)

    def fill(self, rows: NDArray[np.int64], columns: Sequence[int], values: NDArray[Any]) -> None:
        """Add the values of some terms, none of them twice, in some columns; (n_rows, n_columns)."""
        places = self.next[rows, None] + np.arange(len(columns))
        self.columns[places], self.values[places] = columns, values
        self.next[rows] += len(columns)

    def matrix(self, n_columns: int) -> sp.csr_array:
        """Return the matrix, in the same memory; values of several blocks in one column are added up."""
        # with starts of 64 bits, scipy would copy the columns to 64 bits
        starts = self.starts.astype(np.int32) if self.starts[-1] < 1 << 31 else self.starts
        found = sp.csr_array((self.values, self.columns, starts), (len(self.next), n_columns))
        found.sum_duplicates()
        found.eliminate_zeros()
        return found
