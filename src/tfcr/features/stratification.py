"""Iterative stratification: folds of documents with several labels, each with about its part of every class.

Sechidis, Tsoumakas and Vlahavas, "On the stratification of multi-label data", 2011: the rarest class goes first, since
later documents can no longer mend what it lacks. Each of its documents goes to the fold that lacks it most.
"""

import numpy as np
from numpy.typing import NDArray


def iterative_folds(counts: NDArray[np.int64], sizes: NDArray[np.int64], n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each unit: a document, or several documents that stay together; (n_units,).

    Parameters
    ----------
    counts
        How many documents of each class each unit has; (n_units, n_classes).
    sizes
        How many documents it has; (n_units,).
    n_folds, seed
        Number of folds; seed of the order in which units are taken, and of ties.

    Examples
    --------
    The first class has two documents and the second four; each fold gets half of both.

    >>> counts = np.array([[1, 0], [1, 1], [0, 1], [0, 1], [0, 1], [0, 0]])
    >>> folds = iterative_folds(counts, np.ones(6, int), 2, seed=0)
    >>> [counts[folds == number].sum(axis=0).tolist() for number in range(2)], np.bincount(folds).tolist()
    ([[1, 2], [1, 2]], [3, 3])
    """
    n_units, n_classes = counts.shape
    random = np.random.default_rng(seed)
    order, tie = random.permutation(n_units), random.permutation(n_folds).tolist()
    classes = [np.flatnonzero(counts[unit]).tolist() for unit in range(n_units)]
    left = counts.sum(axis=0)
    # what each fold still lacks: of each class, and in all; plain lists, since numbers are read one by one
    lacks = [[float(total) / n_folds] * n_folds for total in left]
    lacks_in_all = [float(sizes.sum()) / n_folds] * n_folds
    fold = np.full(n_units, -1)

    def place(unit: int, wanted: list[float]) -> None:
        chosen = max(range(n_folds), key=lambda number: (wanted[number], lacks_in_all[number], tie[number]))
        fold[unit] = chosen
        lacks_in_all[chosen] -= sizes[unit]
        for held in classes[unit]:
            lacks[held][chosen] -= counts[unit, held]
            left[held] -= counts[unit, held]

    large = np.iinfo(np.int64).max
    for _ in range(n_classes):
        rarest = int(np.argmin(np.where(left > 0, left, large)))
        # of units that stay together, large ones first: small ones can still fill what they leave
        members = order[(counts[order, rarest] > 0) & (fold[order] < 0)]
        for unit in members[np.argsort(-counts[members, rarest], kind="stable")].tolist():
            place(unit, lacks[rarest])
    for unit in order[fold[order] < 0].tolist():  # without any label
        place(unit, lacks_in_all)
    return fold
