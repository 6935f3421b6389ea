"""Scores from confusion matrices: rows are the true classes, columns the predicted ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Confusion = NDArray[np.int64]


def confusion_of(true: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> Confusion:
    """Count the documents of each true and predicted class; (n_classes, n_classes)."""
    confusion = np.zeros((n_classes, n_classes), np.int64)
    np.add.at(confusion, (true, predicted), 1)
    return confusion


def macro_f1(confusion: Confusion, classes: Sequence[Any], left_out: str | None = None) -> float:
    """Return the mean F1 of the classes that have documents, but for one left out.

    Examples
    --------
    Two of *a* are found, and one of *b* is taken for *a*: F1 is 4/5 and 0.

    >>> macro_f1(np.array([[2, 0], [1, 0]]), ["a", "b"])
    0.4
    """
    of_class, as_class = confusion.sum(axis=1), confusion.sum(axis=0)
    f1 = 2 * np.diag(confusion) / np.maximum(of_class + as_class, 1)
    counted = (of_class > 0) & np.array([str(label) != left_out for label in classes])
    return float(f1[counted].mean()) if counted.any() else 0.0
