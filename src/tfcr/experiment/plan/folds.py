"""The paper's protocol: a random sample, stratified folds, and training parts that contain the smaller ones."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.evaluation import splits

Indices = NDArray[np.int64]


class Split(NamedTuple):
    """Indices of the training documents and of the test documents."""

    train: Indices
    test: Indices


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


def thin_classes(train: Indices, labels: NDArray[Any], least: float, seed: int, fold: int) -> Indices:
    """Return fewer and fewer documents of each class: all of the first, a fraction `least` of the last, at least two.

    The fractions fall geometrically. With ``least = .02`` and three classes they are 1, √.02 = .14 and .02.
    """
    random = np.random.default_rng([seed, fold])
    classes = np.unique(labels)
    kept = []
    for label, fraction in zip(classes, least ** np.linspace(0, 1, len(classes)), strict=True):
        rows = train[labels[train] == label]
        kept.append(random.permutation(rows)[: max(2, round(fraction * len(rows)))])
    return np.sort(np.concatenate(kept))
