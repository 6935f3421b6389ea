"""A trained model made smaller: an ordinary model that keeps the terms that matter most."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.layout import ENTRY, VALUE
from tfcr.trained.word_table import Entries, PieceTable, Rows, WordTable


def take_terms(table: WordTable, terms: NDArray[np.int64]) -> WordTable:
    """Return the table with some of its terms, in rising order; with each bigram, both of its words.

    The entries of the terms 0 to 3 begin at 0 2 2 3, and end at 5: of the terms 0 and 3, the entries 0 1 3 4 are left,
    and begin at 0 2, and end at 4.
    """
    n_words = table.vocabulary.n_words
    words, bigrams = terms[terms < n_words], terms[terms >= n_words] - n_words
    return replace(
        table,
        vocabulary=table.vocabulary.take(terms),
        words=_take_rows(table.words, words),
        bigrams=_take_rows(table.bigrams, bigrams),
        entries=_take_entries(table, terms),
        deviations=table.deviations[terms],
    )


def _take_rows(rows: Rows, numbers: NDArray[np.int64]) -> Rows:
    return rows._replace(weights=rows.weights[numbers], values=rows.values[numbers])


def _take_entries(table: WordTable, terms: NDArray[np.int64]) -> Entries:
    places = table.entries.places.astype(np.int64)
    own = terms[terms < len(places) - 1]
    sizes = places[own + 1] - places[own]
    entries, values = (_ranges(places[own, part], sizes[:, part]) for part in (ENTRY, VALUE))
    ends = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(sizes, axis=0)])
    return Entries(
        ends.astype(np.uint32),
        table.entries.groups[entries],
        table.entries.weights[entries],
        table.entries.values[values],
    )


def _ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    ends = np.cumsum(sizes)
    return np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)


def take_pieces(table: PieceTable, numbers: NDArray[np.int64]) -> PieceTable:
    return PieceTable(table.pieces.take(numbers), _take_rows(table.rows, numbers))


def short_weights(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return numbers rounded to the upper half of a float32, which is wrong by a 256th at most."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
