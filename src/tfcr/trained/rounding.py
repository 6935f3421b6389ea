"""Large word tables made small: values of 8 bits, and no bigrams that hardly matter.

A stretch of values v is stored as whole numbers from -127 to 127 times a scale. The scales of a group are fixed, each a
fourth of an octave below the last, and a stretch takes the smallest that its largest value fits:

    largest value of the group 8:  scales 8 / 127, 6.73 / 127, 5.66 / 127, 4.76 / 127, 4 / 127, …
    values    3  -1.5   .2         the largest, 3, fits scale 5, 3.36 / 127
    stored    5  113  -57  8       the number of the scale, and each value · 127 / 3.36

A value is wrong by at most half a scale, a 213th of the largest of its stretch; over the terms of a document such
errors mostly cancel out. Weights stay as they are: divisors are exact.

Bigrams are many, and most of them rare. What one adds to the variance of a score over the training documents is about
the square of its influence; those with the least, which together hold PRUNED of what all bigrams add, are left out.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tfcr.trained.word_table import Entries, Rows, Values, WordTable

CHUNK = 1 << 20
"""Values that are processed together: several arrays of as many are made."""
ROUNDED_FROM = 1 << 20
"""Values from which on a table is rounded: a smaller one takes little room as it is."""
PRUNED = 0.005
"""Fraction of the variance that bigrams add to scores which may get lost with those left out."""
N_SCALES = 128
PER_OCTAVE = 4
LARGEST = 127


def round_table(table: WordTable, at_least: int | None = None, *, weak_bigrams: bool = False) -> WordTable:
    """Return a large table with values of 8 bits; a small one, or one that is rounded already, as it is.

    A table is large if it has `at_least` so many values; by default ROUNDED_FROM. Bigrams that hardly matter are left
    out, unless `weak_bigrams`.
    """
    parts = table.words, table.bigrams, *(some.rows for some in table.pieces)
    size = sum(part.values.size for part in parts) + table.entries.values.size
    if table.words.values.dtype == np.int8 or size < (ROUNDED_FROM if at_least is None else at_least):
        return table
    table = table if weak_bigrams else _without_weak_bigrams(table)
    parts = table.words, table.bigrams, *(some.rows for some in table.pieces)
    scales = _scales(table, parts)
    return replace(
        table,
        words=_round_rows(table, table.words, scales),
        bigrams=_round_rows(table, table.bigrams, scales),
        entries=_round_entries(table, scales),
        scales=scales,
        deviations=table.deviations.astype(np.float16),
        pieces=tuple(replace(some, rows=_round_rows(table, some.rows, scales)) for some in table.pieces),
    )


def _without_weak_bigrams(table: WordTable) -> WordTable:
    """Return the table without the bigrams that have the least influence."""
    n_words, rows = table.vocabulary.n_words, table.bigrams
    if not len(rows.values) or len(table.entries.places) > n_words + 1:
        return table
    variances = np.zeros(len(rows.values))
    for group, stretch in zip(rows.groups.tolist(), table.stretch_slices(rows), strict=True):
        largest = np.abs(rows.values[:, stretch][:, 1:]).max(axis=1, initial=0).astype(np.float64)
        variances += (largest / (table.typical[group] or 1)) ** 2
    variances *= table.deviations[n_words:].astype(np.float64) ** 2
    order = np.argsort(variances, kind="stable")
    n_weak = int(np.searchsorted(np.cumsum(variances[order]), PRUNED * variances.sum(), "right"))
    kept = np.sort(order[n_weak:])
    terms = np.concatenate([np.arange(n_words), n_words + kept])
    return replace(
        table,
        vocabulary=table.vocabulary.take(terms),
        bigrams=rows._replace(weights=rows.weights[kept], values=rows.values[kept]),
        deviations=table.deviations[terms],
    )


def _scales(table: WordTable, parts: tuple[Rows, ...]) -> NDArray[np.float32]:
    """Return the scales of each group; (n_groups, N_SCALES)."""
    largest = np.zeros(table.n_groups)
    for rows in parts:
        for group, stretch in zip(rows.groups.tolist(), table.stretch_slices(rows), strict=True):
            largest[group] = max(largest[group], np.abs(rows.values[:, stretch]).max(initial=0))
    np.maximum.at(largest, table.entries.groups, _largest_of_entries(table))
    steps = 2.0 ** (-np.arange(N_SCALES) / PER_OCTAVE)
    return (largest[:, None] / LARGEST * steps).astype(np.float32)


def _ranges_of_entries(table: WordTable) -> Iterator[tuple[slice, slice, NDArray[np.int64]]]:
    """Yield some entries after the others, their values, and where each entry begins among these.

    Entries of 3, 2 and 4 numbers, of which about 5 are to be processed together: first entries 0:2 with the values 0:5,
    which begin at (0, 3), then entry 2:3 with 5:9, which begins at (0,).
    """
    sizes = (1 + table.widths[table.entries.groups]).astype(np.int64)
    ends = np.cumsum(sizes)
    first, start = 0, 0
    while first < len(sizes):
        last = max(int(np.searchsorted(ends, start + CHUNK, "right")), first + 1)
        end = int(ends[last - 1])
        yield slice(first, last), slice(start, end), ends[first:last] - sizes[first:last] - start
        first, start = last, end


def _largest_of_entries(table: WordTable) -> NDArray[np.float32]:
    """Return the largest value of each entry; the place for the number of its scale holds 0."""
    largest = np.zeros(len(table.entries.groups), np.float32)
    for entries, values, firsts in _ranges_of_entries(table):
        largest[entries] = np.maximum.reduceat(np.abs(table.entries.values[values]), firsts)
    return largest


def _codes(largest: NDArray[np.float32], scales: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the number of the smallest scale that each stretch fits, by its largest value."""
    # scales fall: the first that is too small, and the one before it
    return np.maximum(np.searchsorted(-scales * LARGEST, -largest, "right") - 1, 0)


def _round_rows(table: WordTable, rows: Rows, scales: NDArray[np.float32]) -> Rows:
    rounded = np.zeros(rows.values.shape, np.int8)
    for group, stretch in zip(rows.groups.tolist(), table.stretch_slices(rows), strict=True):
        values = rows.values[:, stretch][:, 1:]
        codes = _codes(np.abs(values).max(axis=1, initial=0), scales[group])
        rounded[:, stretch.start] = codes
        rounded[:, stretch.start + 1 : stretch.stop] = _whole(values, scales[group][codes][:, None])
    return rows._replace(values=rounded)


def _round_entries(table: WordTable, scales: NDArray[np.float32]) -> Entries:
    groups, largest = table.entries.groups, _largest_of_entries(table)
    codes = np.zeros(len(largest), np.int64)
    by_group = np.argsort(groups, kind="stable")  # once: there may be thousands of groups
    bounds = np.searchsorted(groups[by_group], np.arange(table.n_groups + 1))
    for group in np.flatnonzero(np.diff(bounds)).tolist():
        own = by_group[bounds[group] : bounds[group + 1]]
        codes[own] = _codes(largest[own], scales[group])
    rounded = np.zeros(len(table.entries.values), np.int8)
    for entries, values, firsts in _ranges_of_entries(table):
        some = table.entries.values[values]
        sizes = np.diff(firsts, append=len(some))
        of_range = _whole(some, np.repeat(scales[groups[entries], codes[entries]], sizes))
        of_range[firsts] = codes[entries]
        rounded[values] = of_range
    return table.entries._replace(values=rounded)


def _whole(values: Values, scales: NDArray[np.float32]) -> NDArray[np.int8]:
    """Return values as whole numbers of scales; 0 where a group has none but zeros."""
    quotients = np.divide(values, scales, out=np.zeros(values.shape, np.float32), where=scales > 0)
    return np.clip(np.rint(quotients), -LARGEST, LARGEST).astype(np.int8)
