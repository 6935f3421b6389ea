"""Fewer columns for the same linear model: those that are proportional to each other become one.

Character n-grams that occur in one document only, and n-grams of the same rare words, are proportional columns: four
fifths of all. A linear model with an L2 penalty splits a coefficient among such columns by their lengths, so that one
column, as long as all of them together, gives the same scores.

With the columns (1, 2, 0), (2, 4, 0) and (0, 0, 3), the lengths of the first two are √5 and 2√5. Both become one column
of length 5: √5 · (1, 2, 0). A document (x, y, z) has x · 1/√5 + y · 2/√5 in it.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

DECIMALS = 9
"""To which the projections of proportional columns agree; those of others differ by chance."""


class MergedColumns(TransformerMixin, BaseEstimator):
    """Merges columns that are proportional on the training documents, and numbers them by frequency.

    Frequent columns side by side stay in the processor's cache. All values must be positive, as those of TF-IDF are.
    """

    def fit(self, X: sp.csr_matrix, y: object = None) -> "MergedColumns":
        """Find proportional columns: of length 1, they are equal, and so are their projections on random directions."""
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=0)).ravel())
        directions = np.random.default_rng(0).standard_normal((X.shape[0], 2))
        one, two = np.round((X.T @ directions) / lengths[:, None], DECIMALS).T
        _, first, group = np.unique(one + 1j * two, return_index=True, return_inverse=True)
        group = _by_frequency(np.bincount(X.indices, minlength=X.shape[1])[first])[group]
        total = np.sqrt(np.bincount(group, lengths**2))
        columns = np.arange(len(group) + 1)
        self.merging_ = sp.csr_matrix((lengths / total[group], group, columns), shape=(len(group), len(total)))
        return self

    def transform(self, X: sp.csr_matrix) -> Any:
        """Return the features with merged columns."""
        merged = (X @ self.merging_).tocsr()
        merged.sort_indices()
        return merged


def _by_frequency(frequencies: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the new number of each column, the most frequent first.

    >>> _by_frequency(np.array([2, 9, 5]))
    array([2, 0, 1])
    """
    order = np.argsort(-frequencies, kind="stable")
    numbers = np.empty_like(order)
    numbers[order] = np.arange(len(order))
    return numbers
