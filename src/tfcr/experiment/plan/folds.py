"""The paper's protocol: a random sample, stratified folds, and training parts that contain the smaller ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.evaluation import splits
from tfcr.system.parameters import check_all, number, whole

Indices = NDArray[np.int64]


class Split(NamedTuple):
    """Indices of the training documents and of the test documents."""

    train: Indices
    test: Indices


CLASS_SIZES = (whole("most", 2, 10**9).or_none("for all"), number("zipf", 0, 10))
"""What the numbers of ClassSizes may be."""
FEWEST = 2
"""Documents that each class keeps: one to train on, and one to pick by."""


@dataclass(frozen=True)
class ClassSizes:
    """How many training documents each class keeps.

    Attributes
    ----------
    most
        At most so many of each class; None for all.
    zipf
        Exponent s of Zipf's law: the class of rank r keeps at most n / rˢ documents, where n are those of the largest
        class. With 0, all ranks are equal.

    Examples
    --------
    Three classes of 100, 60 and 50 documents; the first three ranks of Zipf's law with s = 1 are 1, 1/2 and 1/3:

    >>> sizes, ranks = np.array([100, 60, 50]), np.array([1, 2, 3])
    >>> ClassSizes(zipf=1).kept(sizes, ranks)
    array([100,  50,  33])
    >>> ClassSizes(most=60).kept(sizes, ranks)
    array([60, 60, 50])
    >>> ClassSizes(most=60, zipf=1).kept(sizes, ranks)
    array([60, 30, 20])
    """

    most: int | None = None
    zipf: float = 0.0

    def check(self) -> None:
        """Raise an error for numbers that cannot be used."""
        check_all(CLASS_SIZES, vars(self))

    def ranks(self, totals: Indices, seed: int) -> Indices:
        """Return the rank of each class from 1, the largest first, equal ones in random order."""
        capped = totals if self.most is None else np.minimum(totals, self.most)
        ranks = np.empty(len(totals), np.int64)
        ranks[np.lexsort((np.random.default_rng(seed).permutation(len(totals)), -capped))] = 1 + np.arange(len(totals))
        return ranks

    def kept(self, sizes: Indices, ranks: Indices) -> Indices:
        """Return how many of its documents each class keeps."""
        capped = sizes if self.most is None else np.minimum(sizes, self.most)
        by_law = np.rint(capped.max() / ranks**self.zipf).astype(np.int64)
        kept: Indices = np.minimum(capped, np.maximum(by_law, FEWEST))
        return kept

    def described(self) -> str:
        """Return it in words."""
        law = f"Zipf {self.zipf:g}" if self.zipf else ""
        most = f"{'at most ' if law else ''}{self.most:,} per class" if self.most else ""
        return ", ".join(filter(None, (most, law)))


def sample_documents(n_documents: int, at_most: int, seed: int) -> Indices:
    """Return the sorted indices of a random sample of documents, or of all if there are no more."""
    if n_documents <= at_most:
        return np.arange(n_documents)
    return np.sort(np.random.default_rng(seed).choice(n_documents, at_most, replace=False))


def cut_folds(labels: NDArray[Any], groups: Sequence[Any] | None, folds: int, seed: int) -> list[Split]:
    """Cut documents into folds: stratified, shuffled, seeded; documents of one group stay together."""
    return [Split(train, test) for train, test in splits(labels, groups, folds, seed)]


def training_part(train: Indices, size: int | None, seed: int, fold: int) -> Indices:
    """Return the first `size` of the training documents in a random order that depends on seed and fold alone.

    So a larger part contains the smaller ones, and all schemes see the same. None: all of them.
    """
    if size is None:
        return train
    return np.sort(np.random.default_rng([seed, fold]).permutation(train)[:size])


def class_part(train: Indices, labels: NDArray[Any], sizes: ClassSizes, seed: int, fold: int) -> Indices:
    """Return the first training documents of each class, in a random order that depends on seed and fold alone.

    Classes are ranked by their documents among all `labels`, so that a class has the same rank in all folds.
    """
    random = np.random.default_rng([seed, fold])
    classes, totals = np.unique(labels, return_counts=True)
    rows = [random.permutation(train[labels[train] == label]) for label in classes]
    kept = sizes.kept(np.array(list(map(len, rows))), sizes.ranks(totals, seed))
    return np.sort(np.concatenate([some[:size] for some, size in zip(rows, kept.tolist(), strict=True)]))
