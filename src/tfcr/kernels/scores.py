"""Scores of counted documents over a packed word table: rows are added up, divided, and added to the intercepts.

Worked example, with lanes of 2 columns and one output. The divisor D0 (column 0) divides the scores a and b (columns 1
and 2); D1 (column 3) divides c (column 4):

    term    runs             values              document: good × 2, film × 1
    good    columns 0 to 4   2  .6  .2  0        sums, column by column: 5  1.3  .4  1  .5
    film    columns 0 to 6   1  .1  0  1  .5  0  score: intercept + 1.3 / 5 + .4 / 5 + .5 / 1

How a table is packed is shown in `trained.packed_table`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled_for_sums, inlined

RUNS, VALUES = 0, 1  # columns of places
FLOAT32_TERMS = 256
"""Terms added up in float32 before the sums are added in float64: longer float32 sums would lose digits."""


@inlined
def add_row(times: Any, row: NDArray[np.float32], sums: NDArray[Any]) -> None:
    """Add a multiple of a row to sums."""
    for column in range(len(row)):
        sums[column] += times * row[column]


@compiled_for_sums
def score_documents(
    first: int,
    last: int,
    starts: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.int32],
    lengths: NDArray[np.int64],
    places: NDArray[np.int64],
    runs: NDArray[np.int32],
    values: NDArray[np.float32],
    squares: NDArray[np.float32],
    unseen_values: NDArray[np.float32],
    unseen_squares: NDArray[np.float32],
    sublinear: int,
    divisors: NDArray[np.int32],
    outputs: NDArray[np.int32],
    averagings: NDArray[np.float32],
    intercepts: NDArray[np.float64],
    decisions: NDArray[np.float64],
) -> None:
    """Write the scores of documents `first` to `last`.

    Parameters
    ----------
    first, last
        The range of documents.
    starts, words, counts
        The terms of all documents and their counts, document after document, and where each document starts.
    lengths
        All tokens of each document.
    places
        Where the RUNS and the VALUES of each term start; (n_terms + 1, 2).
    runs
        The first column of each run of neighbouring columns, and the one after its last; (n_runs, 2).
    values
        What a term adds to the columns of its runs, run after run.
    squares
        What a term adds to the squared L2 norm of each of the last divisors, those with sublinear counts;
        (n_terms, n_sublinear).
    unseen_values, unseen_squares
        The same of words that are no terms, which have the numbers after those: what they add to all columns with
        sublinear counts, (n_unseen, n_sublinear_columns), and to the squared norms, (n_unseen, n_sublinear).
    sublinear
        The first column with sublinear counts, 1 + log n; no run crosses it.
    divisors
        The first column of each divisor, which holds its sum of weights; its scores follow; (n_divisors + 1,).
    outputs
        The output that each column adds to; (n_columns,).
    averagings
        A divisor is the dot product of these with its sum of weights, the document's length, and 1; (n_divisors, 3).
    intercepts
        (n_outputs,).
    decisions
        The result, (n_documents, n_outputs).
    """
    some = np.empty(len(outputs), np.float32)
    sums = np.empty(len(outputs), np.float64)
    squared = np.empty(squares.shape[1], np.float64)
    first_sublinear = len(divisors) - 1 - len(squared)
    n_terms = len(places) - 1
    for document in range(first, last):
        sums[:] = 0
        squared[:] = 0
        for start in range(starts[document], starts[document + 1], FLOAT32_TERMS):
            some[:] = 0
            for place in range(start, min(start + FLOAT32_TERMS, starts[document + 1])):
                word, count = words[place], np.float32(counts[place])
                sublinear_count = count if counts[place] == 1 else np.float32(1) + np.log(count)
                if word >= n_terms:
                    add_row(sublinear_count, unseen_values[word - n_terms], some[sublinear:])
                    add_row(sublinear_count * sublinear_count, unseen_squares[word - n_terms], squared)
                    continue
                add_row(sublinear_count * sublinear_count, squares[word], squared)
                value = places[word, VALUES]
                for run in range(places[word, RUNS], places[word + 1, RUNS]):
                    here = some[runs[run, 0] : runs[run, 1]]
                    added = values[value : value + len(here)]
                    times = count if runs[run, 0] < sublinear else sublinear_count
                    add_row(times, added, here)
                    value += len(here)
            for column in range(len(some)):
                sums[column] += some[column]
        for number in range(len(squared)):
            sums[divisors[first_sublinear + number]] = np.sqrt(squared[number])
        decisions[document] = intercepts
        for divisor in range(len(divisors) - 1):
            first_column = divisors[divisor]
            total = averagings[divisor, 0] * sums[first_column] + averagings[divisor, 1] * lengths[document]
            total += averagings[divisor, 2]
            if total > 0:
                for column in range(first_column + 1, divisors[divisor + 1]):
                    decisions[document, outputs[column]] += sums[column] / total
