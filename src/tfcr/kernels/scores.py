"""Scores of counted documents over a word table: rows added up, divided, and added to the intercepts."""

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled_for_sums

RUNS, VALUES = 0, 1  # columns of places
TOGETHER = 256
"""Words added up in float32; the sums of longer documents would lose digits."""


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
        The documents to do.
    starts, words, counts
        The words of all documents, one document after the other, and where each starts.
    lengths
        All tokens of each document.
    places
        Where the RUNS and the VALUES of each word start; (n_words + 1, 2).
    runs
        For each run the first of some neighbouring columns, and the one after the last.
    values
        What a word adds to the columns of its runs, one after the other.
    squares
        What a word adds to the square of the mass of each of the last divisors, those whose counts are sublinear;
        (n_words, n_sublinear).
    sublinear
        The first column whose counts enter as 1 + log n; no run crosses it.
    divisors
        For each divisor its columns: the first is the mass, the others scores; (n_divisors + 1,).
    outputs
        For each column the output that it adds to; (n_columns,).
    averagings
        A divisor is these three times the document's mass, its length, and 1; (n_divisors, 3).
    intercepts
        (n_outputs,).
    decisions
        The result, (n_documents, n_outputs).
    """
    some = np.empty(len(outputs), np.float32)
    sums = np.empty(len(outputs), np.float64)
    squared = np.empty(squares.shape[1], np.float64)
    first_sublinear = len(divisors) - 1 - len(squared)
    for document in range(first, last):
        sums[:] = 0
        squared[:] = 0
        for start in range(starts[document], starts[document + 1], TOGETHER):
            some[:] = 0
            for place in range(start, min(start + TOGETHER, starts[document + 1])):
                word, count = words[place], np.float32(counts[place])
                damp = count if counts[place] == 1 else np.float32(1) + np.log(count)
                for number in range(len(squared)):
                    squared[number] += damp * damp * squares[word, number]
                value = places[word, VALUES]
                for run in range(places[word, RUNS], places[word + 1, RUNS]):
                    here = some[runs[run, 0] : runs[run, 1]]
                    added = values[value : value + len(here)]
                    times = count if runs[run, 0] < sublinear else damp
                    for column in range(len(here)):
                        here[column] += times * added[column]
                    value += len(here)
            for column in range(len(some)):
                sums[column] += some[column]
        for number in range(len(squared)):
            sums[divisors[first_sublinear + number]] = np.sqrt(squared[number])
        decisions[document] = intercepts
        for divisor in range(len(divisors) - 1):
            mass = divisors[divisor]
            total = averagings[divisor, 0] * sums[mass] + averagings[divisor, 1] * lengths[document]
            total += averagings[divisor, 2]
            if total > 0:
                for column in range(mass + 1, divisors[divisor + 1]):
                    decisions[document, outputs[column]] += sums[column] / total
