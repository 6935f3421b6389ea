"""From sparse matrices to a word table as it is stored and read.

collapse, older models --LooseTable--> pack: terms and columns in order, stretches side by side --> WordTable
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.kernels.layout import ENTRY
from tfcr.system.array_codec import narrowed
from tfcr.text.pieces import Pieces
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.word_table import Entries, PieceTable, Rows, WordTable

MOSTLY = 0.6
"""Fraction of words, or bigrams, that add to a group from which on all of them get a stretch for it."""

CHUNK = 1 << 20
"""Numbers of a sparse matrix that are put in their places together."""
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
    order = term_order(loose.vocabulary, loose.frequencies)
    columns = _Columns.of(loose, order)
    vocabulary = loose.vocabulary if _rises(order) else loose.vocabulary.take(order)
    n_words, n_groups = vocabulary.n_words, len(loose.averagings)
    terms, groups = np.divmod(columns.used(), n_groups)
    is_word = terms < n_words
    for_words = _mostly(groups[is_word], n_groups, n_words)
    for_bigrams = _mostly(groups[~is_word], n_groups, len(vocabulary) - n_words)
    is_single = ~np.where(is_word, for_words[groups], for_bigrams[groups])
    return WordTable(
        vocabulary=vocabulary,
        words=columns.rows(np.flatnonzero(for_words), 0, n_words),
        bigrams=columns.rows(np.flatnonzero(for_bigrams), n_words, len(vocabulary)),
        entries=columns.entries(terms[is_single], groups[is_single]),
        scales=np.ones((n_groups, 1), np.float32),
        starts=columns.starts.astype(np.int32),
        outputs=loose.outputs[columns.order].astype(np.int32),
        averagings=loose.averagings,
        typical=loose.typical,
        deviations=np.sqrt(loose.frequencies[order]).astype(np.float32),
        intercepts=loose.intercepts,
        pieces=tuple(_pack_pieces(pieces, columns) for pieces in loose.pieces),
    )


def term_order(vocabulary: Vocabulary, frequencies: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return terms as a table has them: words first, then bigrams, each by falling frequency."""
    return np.lexsort((-frequencies, vocabulary.section_of_terms()))


def _rises(order: NDArray[np.int64]) -> bool:
    """Return whether an order changes nothing."""
    return bool((order == np.arange(len(order))).all())


def _mostly(groups: NDArray[np.int64], n_groups: int, n_terms: int) -> NDArray[np.bool_]:
    """Return which groups most of some terms add to, given the groups of each term in a row; (n_groups,)."""
    counts = np.bincount(groups, minlength=n_groups)
    return np.asarray(counts / max(1, n_terms) >= MOSTLY) & (n_terms > 0)


class _Numbers(NamedTuple):
    """Some numbers of a sparse matrix: the term, the column, the group of the column, and the value of each."""

    terms: NDArray[np.int64]
    columns: NDArray[np.int64]
    groups: NDArray[np.int64]
    values: NDArray[np.float32]

    def where(self, chosen: NDArray[np.bool_]) -> "_Numbers":
        return _Numbers(self.terms[chosen], self.columns[chosen], self.groups[chosen], self.values[chosen])


class _Ordered(NamedTuple):
    """A sparse matrix over ordered terms, and columns ordered by group; `groups` is that of each column."""

    matrix: sp.csr_array
    groups: NDArray[np.int64]

    def numbers(self, first: int, last: int) -> Iterator[_Numbers]:
        """Yield all numbers of a range of terms, about CHUNK at a time: some arrays of as many are made of them."""
        indptr = self.matrix.indptr.astype(np.int64)
        while first < last:
            end = int(np.searchsorted(indptr, indptr[first] + CHUNK, "right")) - 1
            end = min(max(end, first + 1), last)
            some = slice(indptr[first], indptr[end])
            columns = self.matrix.indices[some].astype(np.int64)
            terms = np.repeat(np.arange(first, end), np.diff(indptr[first : end + 1]))
            yield _Numbers(terms, columns, self.groups[columns], self.matrix.data[some])
            first = end


class _Columns(NamedTuple):
    """The columns of a loose table, ordered by group, over ordered terms.

    `order` are the columns in their new order, `starts` the first of each group, (n_groups + 1,). A **key** is a term
    and a group as one number, term · n_groups + group.
    """

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    scores: _Ordered
    weights: _Ordered

    @classmethod
    def of(cls, loose: LooseTable, terms: NDArray[np.int64]) -> "_Columns":
        n_groups = len(loose.averagings)
        order = np.argsort(loose.divisors, kind="stable")
        starts = np.searchsorted(loose.divisors[order], np.arange(n_groups + 1))
        scores = _Ordered(_in_order(loose.scores, terms, order), loose.divisors[order])
        return cls(order, starts, scores, _Ordered(_in_order(loose.divisor_weights, terms, None), np.arange(n_groups)))

    @property
    def n_terms(self) -> int:
        """The number of terms."""
        return int(self.weights.matrix.shape[0])

    def used(self) -> NDArray[np.int64]:
        """Return the keys of all terms and groups that they add to, sorted."""
        keys = [
            _without_repeats(self._keys(some))
            for part in (self.scores, self.weights)
            for some in part.numbers(0, self.n_terms)
        ]
        return _without_repeats(np.sort(np.concatenate([np.zeros(0, np.int64), *keys]), kind="stable"))

    def _keys(self, numbers: _Numbers) -> NDArray[np.int64]:
        return numbers.terms * (len(self.starts) - 1) + numbers.groups

    def rows(self, groups: NDArray[np.int64], first: int, last: int) -> Rows:
        """Return the rows of a range of terms, with a stretch for each of these groups."""
        widths = np.diff(self.starts)[groups]
        values = np.zeros((last - first, int((1 + widths).sum())), np.float32)
        weights = np.zeros((last - first, len(groups)), np.float32)
        numbers = np.full(len(self.starts) - 1, -1)  # of each group among these
        numbers[groups] = np.arange(len(groups))
        shifts = np.cumsum(1 + widths) - widths - self.starts[groups]  # from a column to its place in the row
        for part, filled in ((self.scores, values), (self.weights, weights)):
            for some in part.numbers(first, last):
                number = numbers[some.groups]
                here = np.flatnonzero(number >= 0)
                places = some.columns[here] + shifts[number[here]] if filled is values else number[here]
                filled[some.terms[here] - first, places] = some.values[here]
        return Rows(groups.astype(np.int32), weights, values)

    def entries(self, terms: NDArray[np.int64], groups: NDArray[np.int64]) -> Entries:
        """Return the stretches of these terms and groups, which are sorted by term and then by group."""
        n_terms = int(terms[-1]) + 1 if len(terms) else 0
        sizes = 1 + np.diff(self.starts)[groups]
        starts = np.cumsum(sizes) - sizes
        values, weights = np.zeros(int(sizes.sum()), np.float32), np.zeros(len(terms), np.float32)
        for entries, some in self._found(self.scores, terms, groups):
            values[starts[entries] + 1 + some.columns - self.starts[some.groups]] = some.values
        for entries, some in self._found(self.weights, terms, groups):
            weights[entries] = some.values
        firsts = np.searchsorted(terms, np.arange(n_terms + 1))
        places = np.stack([firsts, np.append(starts, len(values))[firsts]], axis=1)
        narrow = narrowed(places, np.uint32, "values of single terms and groups")
        return Entries(narrow, groups.astype(np.uint16), weights, values)

    def _found(
        self, part: _Ordered, terms: NDArray[np.int64], groups: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], _Numbers]]:
        """Yield the numbers of some terms and groups, and for each which of these it is of."""
        keys = terms * (len(self.starts) - 1) + groups
        has_some = np.zeros(len(self.starts) - 1, np.bool_)
        has_some[groups] = True
        for chunk in part.numbers(0, int(terms[-1]) + 1 if len(terms) else 0):
            some = chunk.where(has_some[chunk.groups])
            asked = self._keys(some)
            entries = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
            here = keys[entries] == asked
            yield entries[here], some.where(here)


def _without_repeats(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different ones of sorted keys."""
    return keys[np.diff(keys, prepend=-1) > 0]


def _in_order(matrix: sp.csr_array, terms: NDArray[np.int64], columns: NDArray[np.int64] | None) -> sp.csr_array:
    """Return a matrix with its rows, and if given its columns, in another order; the columns of each row rise.

    A matrix that is in order already is not copied: it may be the largest array of a training.
    """
    found = matrix if _rises(terms) else matrix[terms]
    if columns is not None and not _rises(columns):
        found = sp.csr_array((found.data, np.argsort(columns)[found.indices], found.indptr), found.shape)
    found.sort_indices()
    return found


def _pack_pieces(loose: LoosePieces, columns: _Columns) -> PieceTable:
    """Return pieces with a value for each column of their group, 0 for those that they do not add to."""
    first, last = columns.starts[loose.divisor : loose.divisor + 2].tolist()
    places = np.argsort(columns.order)[loose.columns] - first
    values = np.zeros((len(loose.scores), 1 + last - first), np.float32)
    values[:, 1 + places] = loose.scores
    rows = Rows(np.array([loose.divisor], np.int32), loose.divisor_weights[:, None].astype(np.float32), values)
    return PieceTable(loose.pieces, rows)


# and back ------------------------------------------------------------------------------------------------------------


def loosen(table: WordTable) -> LooseTable:
    """Return a table as sparse matrices, over its terms and columns in their order: the inverse of `pack`."""
    n_terms, n_columns = len(table.vocabulary), len(table.outputs)
    scores: list[sp.csr_array] = []
    weights: list[sp.csr_array] = []
    for first, rows in ((0, table.words), (table.vocabulary.n_words, table.bigrams)):
        terms, columns, values = _numbers_of_rows(table, rows)
        scores.append(_matrix(values, first + terms, columns, (n_terms, n_columns)))
        spread = np.repeat(np.arange(len(rows.weights)), len(rows.groups))
        groups = np.tile(rows.groups, len(rows.weights))
        weights.append(_matrix(rows.weights.ravel(), first + spread, groups, (n_terms, table.n_groups)))
    of_entries, firsts = table.entries.groups.astype(np.int64), table.entries.places[:, ENTRY].astype(np.int64)
    terms = np.repeat(np.arange(len(firsts) - 1), firsts[1:] - firsts[:-1])
    weights.append(_matrix(table.entries.weights, terms, of_entries, (n_terms, table.n_groups)))
    widths = table.widths[of_entries]
    starts = np.cumsum(1 + widths) - 1 - widths
    within = np.arange(int(widths.sum())) - np.repeat(np.cumsum(widths) - widths, widths)
    scale = np.repeat(table.scales_of(of_entries, table.entries.values[starts]), widths)
    values = table.entries.values[np.repeat(starts + 1, widths) + within] * scale
    columns = np.repeat(table.starts[of_entries], widths) + within
    scores.append(_matrix(values, np.repeat(terms, widths), columns, (n_terms, n_columns)))
    return LooseTable(
        vocabulary=Vocabulary(list(table.vocabulary.words), table.vocabulary.bigrams),
        scores=sp.csr_array(scores[0] + scores[1] + scores[2]),
        outputs=table.outputs.astype(np.int64),
        divisors=np.repeat(np.arange(table.n_groups), table.widths),
        divisor_weights=sp.csr_array(weights[0] + weights[1] + weights[2]),
        averagings=table.averagings,
        typical=table.typical,
        frequencies=(table.deviations.astype(np.float32) ** 2).astype(np.float32),
        intercepts=table.intercepts,
        pieces=tuple(_loose_pieces(table, some) for some in table.pieces),
    )


def _numbers_of_rows(table: WordTable, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return the row, the column and the value of each number of some rows."""
    places, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    values = np.zeros((len(rows.values), 0), np.float32)
    parts = [values]
    for group, stretch in zip(rows.groups.tolist(), table.stretch_slices(rows), strict=True):
        own = rows.values[:, stretch]
        parts.append((own[:, 1:] * table.scales_of(group, own[:, 0])[:, None]).astype(np.float32))
        columns.append(np.arange(table.starts[group], table.starts[group + 1]))
    values = np.concatenate(parts, axis=1)
    every = np.concatenate(columns)
    places.append(np.repeat(np.arange(len(values)), len(every)))
    return np.concatenate(places), np.tile(every, len(values)), values.ravel()


def _loose_pieces(table: WordTable, some: PieceTable) -> LoosePieces:
    _, _, values = _numbers_of_rows(table, some.rows)
    columns = np.arange(table.starts[some.group], table.starts[some.group + 1])
    scores = values.reshape(len(some.pieces), len(columns))
    return LoosePieces(some.pieces, scores, columns, some.group, some.rows.weights[:, 0])


def _matrix(
    values: NDArray[np.float32], rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]
) -> sp.csr_array:
    """Return a sparse matrix of the values that are not 0."""
    kept = np.flatnonzero(values)
    return sp.csr_array((values[kept].astype(np.float32), (rows[kept], columns[kept])), shape)
