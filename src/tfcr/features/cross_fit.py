"""Cross-fitting: a training document's vector is made with class weights that other documents gave.

Class weights come from the very labels that the head then learns, so that a training document's vector looks better
than that of a new document. scikit-learn's TargetEncoder solves the same problem in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.features.blocks import Block
from tfcr.features.stratification import iterative_folds
from tfcr.system.distinct import distinct
from tfcr.system.parameters import whole, zero_or
from tfcr.text.class_counts import ClassCounts
from tfcr.text.shards import Documents

Rows = NDArray[np.int64]
Numbers = NDArray[Any]
"""Classes of documents: positions, (n_documents,); of several labels, bool (n_documents, n_classes)."""
CROSS_FIT = replace(zero_or(whole("cross_fit", 2, 1000)), expected="a number of folds such as 5, or 0 for none")

BlockMaker = Callable[[Documents, Callable[[], ClassCounts]], list[Block]]
"""Makes blocks from training documents; their class counts are computed only if asked for."""


class FoldBlocks(NamedTuple):
    """Some training documents, and the blocks that make their vectors."""

    rows: Rows
    blocks: Sequence[Block]

    def select(self, numbers: Sequence[int]) -> "FoldBlocks":
        """Return the same documents with some of the blocks."""
        return FoldBlocks(self.rows, [self.blocks[number] for number in numbers])


def check_cross_fit(cross_fit: int) -> None:
    """Raise InputError unless it is 0 or at least 2."""
    CROSS_FIT.check(cross_fit)


def stratified_folds(documents: Documents, labels: Numbers, n_folds: int, seed: int) -> list[Rows]:
    """Split documents into folds, stratified by class; no fold contains all documents of a class.

    Duplicates stay in one fold, or a held-out document would have been seen in training. The only document of a class,
    however often it is repeated, is in no fold.

    Six documents of the classes 0 0 0 1 1 2, the second a copy of the first, in two folds:

        first     0 0 2 3 4 5      the first document with the same terms
        order     0 2 3 4 5        different documents, shuffled, then sorted by class
        within    0 1 0 1 0        the position within the class
        fold      0 1 1 0 -        (within + class) % 2; class 2 has one document and is in no fold
        folds     [0 1 4] [2 3]    a copy goes where its first document goes

    Of several labels per document, folds are stratified iteratively, and may contain all documents of a class if these
    are few and have other classes too.
    """
    first = _first_duplicates(documents, labels)
    if labels.ndim == 2:
        return _folds_of_sets(first, labels, n_folds, seed)
    order = np.random.default_rng(seed).permutation(distinct(first))
    order = order[np.argsort(labels[order], kind="stable")]
    sizes = np.bincount(labels[order])
    within = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fold = np.full(len(first), -1)
    fold[order] = (within + labels[order]) % n_folds  # shifted, so that small classes do not all fill the first fold
    fold[sizes[labels] < 2] = -1
    return [np.flatnonzero(fold[first] == number) for number in np.unique(fold[fold >= 0])]


def _first_duplicates(documents: Documents, labels: Numbers) -> Rows:
    """Return, for each document, the first one of its class or classes with the same terms; (n_documents,)."""
    random = np.random.default_rng(0)
    keys = documents.content_keys(random)
    if labels.ndim == 2:
        keys += labels @ random.integers(1 << 62, size=labels.shape[1])
    else:
        keys += random.integers(1 << 62, size=int(labels.max()) + 1)[labels]
    _, first, duplicate_of = np.unique(keys, return_index=True, return_inverse=True)
    return first[duplicate_of]


def _folds_of_sets(first: Rows, labels: Numbers, n_folds: int, seed: int) -> list[Rows]:
    """Return folds of documents with several labels; the only document of a class is in no fold."""
    units = distinct(first)
    of_class = labels[units].sum(axis=0)
    used = units[~labels[units][:, of_class == 1].any(axis=1)]
    fold = np.full(len(first), -1)
    fold[used] = iterative_folds(labels[used].astype(np.int64), np.ones(len(used), np.int64), n_folds, seed)
    return [np.flatnonzero(fold[first] == number) for number in np.unique(fold[fold >= 0])]


def make_blocks_from(
    make_blocks: BlockMaker, documents: Documents, labels: Numbers, sample_weight: NDArray[np.float64]
) -> list[Block]:
    """Return the blocks that these documents alone give."""
    return make_blocks(documents, lambda: ClassCounts.from_documents(documents, labels, sample_weight=sample_weight))


def cross_fit_blocks(
    make_blocks: BlockMaker,
    blocks: Sequence[Block],
    documents: Documents,
    labels: Numbers,
    sample_weight: NDArray[np.float64],
    n_folds: int,
    seed: int = 0,
) -> list[FoldBlocks]:
    """Return the training documents fold by fold, with the blocks that the other folds give.

    Parameters
    ----------
    make_blocks, blocks
        Makes blocks; and those of all documents, used for documents that are in no fold.
    documents, labels, sample_weight
        The training documents, their classes and weights.
    n_folds, seed
        Number of folds, and the seed of the split.
    """
    folds = stratified_folds(documents, labels, n_folds, seed)
    found = []
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(labels)), fold)
        made = make_blocks_from(make_blocks, documents.rows(rest), labels[rest], sample_weight[rest])
        found.append(FoldBlocks(fold, made))
    in_no_fold = np.setdiff1d(np.arange(len(labels)), np.concatenate([*folds, np.zeros(0, np.int64)]))
    return [*found, FoldBlocks(in_no_fold, blocks)] if len(in_no_fold) else found
