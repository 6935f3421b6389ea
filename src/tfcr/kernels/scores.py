"""Scores of counted documents over a word table: rows are added up, divided, and added to the intercepts.

How a row is stored is shown in `trained.word_table`, whose plain twin reads the same arrays.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled, compiled_for_sums, inlined
from tfcr.kernels.layout import ENTRY, VALUE


@inlined
def scale_of(code: Any, scales: NDArray[np.float32]) -> Any:
    """Return the scale with this number; the nearest there is, if a program has changed the file that holds it."""
    number: Any = np.int64(code)
    return scales[min(max(number, 0), len(scales) - 1)]


@inlined
def add_values(times: Any, values: NDArray[Any], sums: NDArray[np.float64]) -> None:
    """Add a multiple of values to sums."""
    for column in range(len(values)):
        sums[column] += times * np.float64(values[column])


@inlined
def add_row(
    row: Any,
    count: np.float64,
    sublinear_count: np.float64,
    groups: NDArray[np.int32],
    weights: NDArray[np.float32],
    values: NDArray[Any],
    scales: NDArray[np.float32],
    starts: NDArray[np.int32],
    sublinear: NDArray[np.bool_],
    sums: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> None:
    """Add a multiple of a row to the sums of columns and of weights."""
    place = 0
    for number in range(len(groups)):
        group = groups[number]
        times = sublinear_count if sublinear[group] else count
        totals[group] += (times * times if sublinear[group] else times) * weights[row, number]
        size = starts[group + 1] - starts[group]
        scaled = times * scale_of(values[row, place], scales[group])
        add_values(scaled, values[row, place + 1 : place + 1 + size], sums[starts[group] : starts[group + 1]])
        place += 1 + size


@compiled_for_sums
def score_documents(
    first: int,
    last: int,
    document_starts: NDArray[np.int64],
    terms: NDArray[np.int32],
    counts: NDArray[np.int32],
    lengths: NDArray[np.int64],
    word_groups: NDArray[np.int32],
    word_weights: NDArray[np.float32],
    word_values: NDArray[Any],
    bigram_groups: NDArray[np.int32],
    bigram_weights: NDArray[np.float32],
    bigram_values: NDArray[Any],
    unseen_groups: NDArray[np.int32],
    unseen_weights: NDArray[np.float32],
    unseen_values: NDArray[np.float32],
    places: NDArray[np.uint32],
    entry_groups: NDArray[np.uint16],
    entry_weights: NDArray[np.float32],
    entry_values: NDArray[Any],
    scales: NDArray[np.float32],
    no_scales: NDArray[np.float32],
    starts: NDArray[np.int32],
    sublinear: NDArray[np.bool_],
    outputs: NDArray[np.int32],
    averagings: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    decisions: NDArray[np.float64],
) -> None:
    """Write the scores of documents `first` to `last`.

    Parameters
    ----------
    first, last
        The range of documents.
    document_starts, terms, counts
        The terms of all documents and their counts, document after document, and where each document starts.
    lengths
        All tokens of each document.
    word_groups, word_weights, word_values
        The rows of words; see `trained.word_table.Rows`.
    bigram_groups, bigram_weights, bigram_values
        The rows of bigrams, whose term numbers are those after the words.
    unseen_groups, unseen_weights, unseen_values
        The rows of words that are no terms, which have the numbers after those.
    places, entry_groups, entry_weights, entry_values
        What terms add to other groups; see `trained.word_table.Entries`.
    scales, no_scales
        The scales of each group, (n_groups, n_scales), and for unseen words (n_groups, 1), all 1.
    starts, sublinear
        The first column of each group, (n_groups + 1,), and whether counts enter it as 1 + log n, so that its weights
        are those of a squared L2 norm; (n_groups,).
    outputs
        The output that each column adds to; (n_columns,).
    averagings
        A divisor is the dot product of these with its sum of weights, the document's length, and 1; (n_groups, 3).
    intercepts
        (n_outputs,).
    decisions
        The result, (n_documents, n_outputs).
    """
    n_words, n_terms = len(word_values), len(word_values) + len(bigram_values)
    n_groups, with_entries = len(sublinear), len(places) - 1
    sums = np.empty(len(outputs), np.float64)
    totals = np.empty(n_groups, np.float64)
    for document in range(first, last):
        sums[:] = 0
        totals[:] = 0
        for place in range(document_starts[document], document_starts[document + 1]):
            term, count = terms[place], np.float64(counts[place])
            root = count if counts[place] == 1 else 1 + np.log(count)
            if term < n_words:
                add_row(
                    term, count, root, word_groups, word_weights, word_values, scales, starts, sublinear, sums, totals
                )
            elif term < n_terms:
                add_row(
                    term - n_words, count, root, bigram_groups, bigram_weights, bigram_values, scales, starts,
                    sublinear, sums, totals,
                )  # fmt: skip
            else:
                add_row(
                    term - n_terms, count, root, unseen_groups, unseen_weights, unseen_values, no_scales, starts,
                    sublinear, sums, totals,
                )  # fmt: skip
            if term < with_entries:
                value: Any = np.int64(places[term, VALUE])
                for entry in range(np.int64(places[term, ENTRY]), np.int64(places[term + 1, ENTRY])):
                    group = np.int64(entry_groups[entry])
                    times = root if sublinear[group] else count
                    totals[group] += (times * times if sublinear[group] else times) * entry_weights[entry]
                    here = sums[starts[group] : starts[group + 1]]
                    scaled = times * scale_of(entry_values[value], scales[group])
                    add_values(scaled, entry_values[value + 1 : value + 1 + len(here)], here)
                    value += np.int64(1 + len(here))
        decisions[document] = intercepts
        for number in range(n_groups):
            total = np.sqrt(totals[number]) if sublinear[number] else totals[number]
            divisor = averagings[number, 0] * total + averagings[number, 1] * lengths[document] + averagings[number, 2]
            if divisor > 0:
                for column in range(starts[number], starts[number + 1]):
                    decisions[document, outputs[column]] += sums[column] / divisor


@compiled
def add_pieces(
    pieces: NDArray[np.int32],
    piece_starts: NDArray[np.int64],
    weights: NDArray[np.float32],
    values: NDArray[Any],
    scales: NDArray[np.float32],
    to_weights: NDArray[np.float32],
    to_values: NDArray[np.float32],
) -> None:
    """Write the sums of the rows of pieces, a word's pieces after the other's.

    Parameters
    ----------
    pieces, piece_starts
        The pieces of all words, and where each word's start; (n_words + 1,).
    weights, values
        The rows of pieces; (n_pieces, 1) and (n_pieces, 1 + width).
    scales
        Of their group.
    to_weights, to_values
        The result; (n_words,) and (n_words, width).
    """
    sums = np.empty(to_values.shape[1], np.float64)
    for word in range(len(piece_starts) - 1):
        sums[:] = 0
        total = 0.0
        for place in range(piece_starts[word], piece_starts[word + 1]):
            piece = pieces[place]
            scale = np.float64(scale_of(values[piece, 0], scales))
            total += weights[piece, 0]
            for column in range(len(sums)):
                sums[column] += scale * values[piece, column + 1]
        to_weights[word] = total
        for column in range(len(sums)):
            to_values[word, column] = sums[column]
