"""Documents held out: which of them together, and what their vectors are by the weights of the others.

Weights come from the very labels that are learned then, so that a training document's vector looks better than that of
a new one. Where vectors are cross-fitted, each training document's vector is made with the weights of other documents.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.features.blocks import Block
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import CountedDocuments

Rows = NDArray[np.int64]
ClassNumbers = NDArray[np.int64]

CountsOf = Callable[[], ClassCounts]
"""Counts by class, worked out only where they are needed."""
BlocksOf = Callable[[CountedDocuments, CountsOf], list[Block]]


class Cut(NamedTuple):
    """Some training documents, and the blocks that make their vectors."""

    rows: Rows
    blocks: Sequence[Block]

    def seeing(self, numbers: Sequence[int]) -> "Cut":
        """Return it with some of the blocks."""
        return Cut(self.rows, [self.blocks[number] for number in numbers])


def check_cross_fit(cross_fit: int) -> None:
    """Refuse what can be no number of folds."""
    if isinstance(cross_fit, bool) or not isinstance(cross_fit, int | np.integer) or cross_fit < 0 or cross_fit == 1:
        raise InputError(f"found cross_fit={cross_fit!r}; expected a number of folds such as 5, or 0 for none")


def spread_folds(documents: CountedDocuments, labels: ClassNumbers, n_folds: int, seed: int) -> list[Rows]:
    """Return the documents to hold out together, each class spread evenly; no class is held out as a whole.

    Copies stay together, or a document held out would have been seen. The only document of a class, whatever its
    copies, is never held out.
    """
    first = _first_copies(documents, labels)
    order = np.random.default_rng(seed).permutation(np.unique(first))
    order = order[np.argsort(labels[order], kind="stable")]
    sizes = np.bincount(labels[order], minlength=int(labels.max()) + 1)
    within = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fold = np.full(len(first), -1)
    fold[order] = (within + labels[order]) % n_folds  # small classes do not all begin with the first fold
    fold[sizes[labels] < 2] = -1
    return [np.flatnonzero(fold[first] == number) for number in np.unique(fold[fold >= 0])]


def _first_copies(documents: CountedDocuments, labels: ClassNumbers) -> Rows:
    """Return, for each document, the number of the first one of its class with the same words; (n_documents,)."""
    random = np.random.default_rng(0)  # sums of random numbers are alike only where the words are
    keys = documents.matrix @ random.integers(1 << 62, size=len(documents.words))
    keys += random.integers(1 << 62, size=int(labels.max()) + 1)[labels]
    _, first, copy_of = np.unique(keys, return_index=True, return_inverse=True)
    return first[copy_of]


def make_blocks_from(
    blocks_of: BlocksOf, documents: CountedDocuments, labels: ClassNumbers, sample_weight: NDArray[np.float64]
) -> list[Block]:
    """Return the blocks that some documents alone would give."""

    def counts() -> ClassCounts:
        return ClassCounts.from_documents(documents.without_bigrams(), labels, sample_weight=sample_weight)

    return blocks_of(documents, counts)


def cross_fitted(
    blocks_of: BlocksOf,
    blocks: Sequence[Block],
    documents: CountedDocuments,
    labels: ClassNumbers,
    sample_weight: NDArray[np.float64],
    n_folds: int,
    seed: int = 0,
) -> list[Cut]:
    """Return the training documents fold by fold, with the blocks that the other folds give.

    Parameters
    ----------
    blocks_of, blocks
        What makes blocks, and those of all documents, which documents that are never held out get.
    documents, labels, sample_weight
        The training documents, the number of each one's class, and what each counts.
    n_folds, seed
        How many folds, and for what is in each.
    """
    folds = spread_folds(documents, labels, n_folds, seed)
    cuts = []
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(labels)), fold)
        made = make_blocks_from(blocks_of, documents.rows(rest), labels[rest], sample_weight[rest])
        cuts.append(Cut(fold, made))
    never = np.setdiff1d(np.arange(len(labels)), np.concatenate([*folds, np.zeros(0, np.int64)]))
    return [*cuts, Cut(never, blocks)] if len(never) else cuts
