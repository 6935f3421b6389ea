"""From sparse matrices to a word table as it is stored and read.

collapse, older models --LooseTable--> pack: terms and columns in order, stretches side by side --> WordTable
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.system.array_codec import narrowed
from tfcr.text.pieces import Pieces
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.word_table import Entries, PieceTable, Rows, WordTable

MOSTLY = 0.6
"""Fraction of words, or bigrams, that add to a group from which on all of them get a stretch for it."""

MOST_GROUPS = 1 << 16
"""The number of an entry's group has 16 bits."""


@dataclass(frozen=True, eq=False)
class LoosePieces:
    """What each piece of an unseen word adds to some columns and a divisor of a loose table.

    Attributes
    ----------
    pieces
        The pieces of the rows.
    scores
        float32 (n_pieces, n_scores).
    columns
        The columns that the scores add to; (n_scores,).
    divisor
        The divisor that they add to.
    divisor_weights
        float32 (n_pieces,).
    """

    pieces: Pieces
    scores: NDArray[np.float32]
    columns: NDArray[np.int64]
    divisor: int
    divisor_weights: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class LooseTable:
    """A word table as two sparse matrices, over terms and columns in any order.

    Attributes
    ----------
    vocabulary
        The terms of the rows.
    scores
        Sparse float32 (n_terms, n_columns).
    outputs, divisors
        For each column, the output that it adds to and the divisor that divides it; (n_columns,).
    divisor_weights
        What each term adds to each divisor; sparse float32 (n_terms, n_divisors).
    averagings
        For each divisor, a name of AVERAGINGS.
    typical
        The mean of each divisor over the training documents; float32 (n_divisors,).
    frequencies
        The mean count of each term in a training document; float32 (n_terms,).
    intercepts
        float64 (n_outputs,).
    pieces
        What unseen words are scored from.
    """

    vocabulary: Vocabulary
    scores: sp.csr_array
    outputs: NDArray[np.int64]
    divisors: NDArray[np.int64]
    divisor_weights: sp.csr_array
    averagings: tuple[str, ...]
    typical: NDArray[np.float32]
    frequencies: NDArray[np.float32]
    intercepts: NDArray[np.float64]
    pieces: tuple[LoosePieces, ...] = ()


def check_groups(n_groups: int) -> None:
    """Raise InputError if there are more divisors than a table can number."""
    if n_groups > MOST_GROUPS:
        raise InputError(
            f"found {n_groups:,} divisors, one for each class and block; expected at most {MOST_GROUPS:,}: train with "
            "fewer classes, or with averaging='length', where all blocks have the same divisor"
        )


def pack(loose: LooseTable) -> WordTable:
    """Return a table whose terms and columns are in order: common terms first, columns by group."""
    check_groups(len(loose.averagings))
    order = np.lexsort((-loose.frequencies, loose.vocabulary.section_of_terms()))
    columns = _Columns.of(loose, order)
    vocabulary = loose.vocabulary.take(order)
    used = columns.used()
    n_words = vocabulary.n_words
    word_groups, bigram_groups = (np.flatnonzero(_mostly(part)) for part in (used[:n_words], used[n_words:]))
    used[:n_words, word_groups] = False  # what is left goes to entries
    used[n_words:, bigram_groups] = False
    return WordTable(
        vocabulary=vocabulary,
        words=columns.rows(word_groups, 0, n_words),
        bigrams=columns.rows(bigram_groups, n_words, len(vocabulary)),
        entries=columns.entries(used),
        scales=np.ones((len(loose.averagings), 1), np.float32),
        starts=columns.starts.astype(np.int32),
        outputs=loose.outputs[columns.order].astype(np.int32),
        averagings=loose.averagings,
        typical=loose.typical,
        deviations=np.sqrt(loose.frequencies[order]).astype(np.float32),
        intercepts=loose.intercepts,
        pieces=tuple(_pack_pieces(pieces, columns) for pieces in loose.pieces),
    )


def _mostly(used: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which groups most of some terms add to; (n_groups,)."""
    if not len(used):
        return np.zeros(used.shape[1], np.bool_)
    return np.asarray(used.mean(axis=0) >= MOSTLY)


class _Columns(NamedTuple):
    """The columns of a loose table, ordered by group, over ordered terms.

    `order` are the columns in their new order, `starts` the first of each group, (n_groups + 1,).
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    scores: sp.csc_array
    weights: sp.csc_array

    @classmethod
    def of(cls, loose: LooseTable, terms: NDArray[np.int64]) -> "_Columns":
        order = np.argsort(loose.divisors, kind="stable")
        starts = np.searchsorted(loose.divisors[order], np.arange(len(loose.averagings) + 1))
        return cls(order, starts, _ordered(loose.scores, terms, order), _ordered(loose.divisor_weights, terms, None))

    def used(self) -> NDArray[np.bool_]:
        """Return which terms add to which groups; (n_terms, n_groups)."""
        used = np.zeros(self.weights.shape, np.bool_)
        for group, (first, last) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
            used[self.scores.indices[self.scores.indptr[first] : self.scores.indptr[last]], group] = True
            used[self.weights.indices[self.weights.indptr[group] : self.weights.indptr[group + 1]], group] = True
        return used

    def rows(self, groups: NDArray[np.int64], first: int, last: int) -> Rows:
        """Return the rows of a range of terms, with a stretch for each of these groups."""
        widths = np.diff(self.starts)[groups]
        values = np.zeros((last - first, int((1 + widths).sum())), np.float32)
        weights = np.zeros((last - first, len(groups)), np.float32)
        ends = np.cumsum(1 + widths)
        for number, (group, end, width) in enumerate(zip(groups.tolist(), ends.tolist(), widths.tolist(), strict=True)):
            terms, columns, found = _entries_of(self.scores, self.starts[group], self.starts[group + 1])
            here = (terms >= first) & (terms < last)
            values[terms[here] - first, end - width + columns[here]] = found[here]
            terms, _, found = _entries_of(self.weights, group, group + 1)
            here = (terms >= first) & (terms < last)
            weights[terms[here] - first, number] = found[here]
        return Rows(groups.astype(np.int32), weights, values)

    def entries(self, used: NDArray[np.bool_]) -> Entries:
        """Return the stretches of these terms and groups, term after term."""
        terms, groups = np.nonzero(used)
        n_terms = int(terms[-1]) + 1 if len(terms) else 0
        sizes = 1 + np.diff(self.starts)[groups]
        starts = np.cumsum(sizes) - sizes
        values, weights = np.zeros(int(sizes.sum()), np.float32), np.zeros(len(terms), np.float32)
        number_of = np.full(len(used), -1)
        for group in np.unique(groups).tolist():
            own = np.flatnonzero(groups == group)
            number_of[:] = -1
            number_of[terms[own]] = own
            of_terms, columns, found = _entries_of(self.scores, self.starts[group], self.starts[group + 1])
            here = number_of[of_terms] >= 0
            values[starts[number_of[of_terms[here]]] + 1 + columns[here]] = found[here]
            of_terms, _, found = _entries_of(self.weights, group, group + 1)
            here = number_of[of_terms] >= 0
            weights[number_of[of_terms[here]]] = found[here]
        firsts = np.searchsorted(terms, np.arange(n_terms + 1))
        of_terms = np.stack([firsts, np.append(starts, len(values))[firsts]], axis=1)
        places = narrowed(of_terms, np.uint32, "values of single terms and groups")
        return Entries(places, groups.astype(np.uint16), weights, values)


def _ordered(matrix: sp.csr_array, terms: NDArray[np.int64], columns: NDArray[np.int64] | None) -> sp.csc_array:
    """Return a matrix with its rows, and if given its columns, in another order."""
    ranks = np.empty(len(terms), np.int32)
    ranks[terms] = np.arange(len(terms))
    by_column = sp.csc_array(matrix)
    renumbered = sp.csc_array((by_column.data, ranks[by_column.indices], by_column.indptr), by_column.shape)
    return renumbered if columns is None else renumbered[:, columns]


def _entries_of(
    matrix: sp.csc_array, first: int, last: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float32]]:
    """Return the terms, columns (counted from `first`) and values of some columns."""
    bounds = matrix.indptr[first : last + 1]
    some = slice(bounds[0], bounds[-1])
    return matrix.indices[some], np.repeat(np.arange(last - first), np.diff(bounds)), matrix.data[some]


def _pack_pieces(loose: LoosePieces, columns: _Columns) -> PieceTable:
    """Return pieces with a value for each column of their group, 0 for those that they do not add to."""
    first, last = columns.starts[loose.divisor : loose.divisor + 2].tolist()
    places = np.argsort(columns.order)[loose.columns] - first
    values = np.zeros((len(loose.scores), 1 + last - first), np.float32)
    values[:, 1 + places] = loose.scores
    rows = Rows(np.array([loose.divisor], np.int32), loose.divisor_weights[:, None].astype(np.float32), values)
    return PieceTable(loose.pieces, rows)
