"""The paper's protocol: a random sample, stratified folds, and training parts that contain the smaller ones."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.evaluation import splits

Places = NDArray[np.int64]


class Split(NamedTuple):
    """The places of the training and of the test documents."""

    train: Places
    test: Places


def sample_documents(n_documents: int, at_most: int, seed: int) -> Places:
    """Return the places of a random sample of at most so many documents, in their order."""
    if n_documents <= at_most:
        return np.arange(n_documents)
    return np.sort(np.random.default_rng(seed).choice(n_documents, at_most, replace=False))


def cut_folds(labels: NDArray[Any], groups: Sequence[Any] | None, folds: int, seed: int) -> list[Split]:
    """Cut documents into folds: stratified, shuffled, seeded; documents of one group stay together."""
    return [Split(train, test) for train, test in splits(labels, groups, folds, seed)]


def training_part(train: Places, size: int | None, seed: int, fold: int) -> Places:
    """Return the first `size` of the training documents in a random order that depends on seed and fold alone.

    So a larger part contains the smaller ones, and all schemes see the same. None: all of them.
    """
    if size is None:
        return train
    return np.sort(np.random.default_rng([seed, fold]).permutation(train)[:size])
