"""Word tables as sparse matrices, to look at; scoring needs no such matrix."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.text.terms import Batch
from tfcr.trained.word_table import WordTable


class Matrices(NamedTuple):
    """What each term adds to each column and to each divisor; float32 (n_terms, n_columns) and (n_terms, n_groups)."""

    scores: sp.csr_array
    divisor_weights: sp.csr_array


def matrices_of(table: WordTable) -> Matrices:
    """Return what the rows and entries of a table hold."""
    n_terms = len(table.vocabulary)
    everything = Batch(
        np.array([0, n_terms]), np.arange(n_terms, dtype=np.int32), np.ones(n_terms, np.int32), np.array([n_terms])
    )
    scores = sp.lil_array((n_terms, len(table.outputs)), dtype=np.float32)
    weights = sp.lil_array((n_terms, table.n_groups), dtype=np.float32)
    for part in table._parts(everything, table.unseen_rows([])):
        for number, (group, values, columns) in enumerate(part.slices):
            scaled = part.values[:, values] * part.times[:, [number]]
            scores[part.at[:, None], np.arange(columns.start, columns.stop)] = scaled
            weights[part.at, group] = part.weights[:, number]
    for entry in table._entries_of(everything):
        scores[entry.at, entry.columns] = entry.values
        weights[entry.terms, entry.term_groups] = entry.weights
    found = Matrices(scores.tocsr(), weights.tocsr())
    for matrix in found:
        matrix.eliminate_zeros()
    return found


def column_groups(table: WordTable) -> NDArray[np.int64]:
    """Return the group of each column."""
    return np.repeat(np.arange(table.n_groups), table.widths)
