"""Predictions compared with labels: what is right, wrong and unsure, and what is confused with what.

A document may have several labels, so all is counted by pairs of a document and a class, here with two classes a, b:

    document   labels   assigned     pairs of labels       pairs of assigned
    0          a        a            (0, a) right          (0, a) right
    1          a        b            (1, a) wrong          (1, b) wrong        a is confused with b
    2          b        unsure       (2, b) unsure
    3          (none)   b                                  (3, b) not known
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.serving.documents.scoring import Predictions
from tfcr.serving.documents.store import Documents
from tfcr.serving.models import ServedModel

RIGHT, WRONG, UNSURE, UNLABELLED = range(4)
STATUSES: Mapping[str, int] = {"right": RIGHT, "wrong": WRONG, "unsure": UNSURE, "unlabelled": UNLABELLED}
ORDERS = ("row", "probability")
"""How a list is sorted: as in the file, or the most probable label first."""

Numbers = NDArray[np.int64]


class Pairs(NamedTuple):
    """Pairs of a document and a class, and the status of each."""

    documents: Numbers
    classes: Numbers
    status: Numbers


@dataclass(frozen=True)
class Wanted:
    """Which documents are listed.

    Attributes
    ----------
    label, predicted
        The number of a class that they have as a label, or are assigned; None: any.
    status
        A name of STATUSES, or None: all. With a class, it is the status of the pair.
    order
        A name of ORDERS.
    """

    label: int | None = None
    predicted: int | None = None
    status: str | None = None
    order: str = ORDERS[0]


class Results:
    """A model's predictions for documents, compared with their labels.

    Attributes
    ----------
    names
        The classes of the model, then labels that it does not know.
    """

    def __init__(self, documents: Documents, served: ServedModel, predictions: Predictions) -> None:
        self.documents, self.served, self.predictions = documents, served, predictions
        others = [label for label in documents.labels if label not in served.numbers]
        self.names = [*served.keys, *others]
        self.numbers = {name: number for number, name in enumerate(self.names)}

    @cached_property
    def labelled(self) -> Pairs:
        """The pairs of documents and their labels."""
        documents, classes = self._labels
        hit = np.isin(self._codes(documents, classes), self._codes(*self._assigned))
        status = np.where(hit, RIGHT, np.where(self.predictions.sure[documents], WRONG, UNSURE))
        return Pairs(documents, classes, status)

    @cached_property
    def assigned(self) -> Pairs:
        """The pairs of documents and the classes that they are assigned."""
        documents, classes = self._assigned
        hit = np.isin(self._codes(documents, classes), self._codes(*self._labels))
        status = np.where(hit, RIGHT, np.where(self.documents.is_labelled[documents], WRONG, UNLABELLED))
        return Pairs(documents, classes, status)

    @cached_property
    def status(self) -> Numbers:
        """The status of each document: right if it is assigned its labels and no others; (n_documents,)."""
        found = np.full(len(self.documents), RIGHT)
        for pairs in (self.labelled, self.assigned):
            found[pairs.documents[pairs.status == WRONG]] = WRONG
        found[~self.predictions.sure] = UNSURE
        found[~self.documents.is_labelled] = UNLABELLED
        return found

    @cached_property
    def confusions(self) -> tuple[Numbers, Numbers, Numbers]:
        """Label, class that was assigned wrongly instead, and number of documents; the most frequent first."""
        missed, extra = (
            (pairs.documents[pairs.status == WRONG], pairs.classes[pairs.status == WRONG])
            for pairs in (self.labelled, self.assigned)
        )
        sizes = np.bincount(extra[0], minlength=len(self.documents))  # pairs are sorted by document
        starts, n_extra = np.cumsum(sizes) - sizes, sizes[missed[0]]
        ends = np.cumsum(n_extra)
        places = np.repeat(starts[missed[0]] - (ends - n_extra), n_extra) + np.arange(n_extra.sum())
        codes = np.repeat(missed[1], n_extra) * len(self.names) + extra[1][places]
        pairs, counts = np.unique(codes, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return pairs[order] // len(self.names), pairs[order] % len(self.names), counts[order]

    def counts(self) -> NDArray[np.int64]:
        """Return the documents of each class, by status, and in the last column those it is assigned to."""
        n_classes = len(self.names)
        columns = [
            np.bincount(self.labelled.classes[self.labelled.status == status], minlength=n_classes)
            for status in (RIGHT, WRONG, UNSURE)
        ]
        known = self.assigned.status != UNLABELLED
        columns.append(np.bincount(self.assigned.classes[known], minlength=n_classes))
        return np.stack(columns, axis=1)

    def listed(self, wanted: Wanted) -> Numbers:
        """Return the numbers of the documents that are wanted, in their order."""
        status = None if wanted.status is None else STATUSES[wanted.status]
        chosen = np.ones(len(self.documents), np.bool_)
        if wanted.label is None and wanted.predicted is None and status is not None:
            chosen = self.status == status
        for pairs, number in ((self.labelled, wanted.label), (self.assigned, wanted.predicted)):
            if number is not None:
                of_class = (pairs.classes == number) & (True if status is None else pairs.status == status)
                has = np.zeros(len(self.documents), np.bool_)
                has[pairs.documents[of_class]] = True
                chosen &= has
        found = np.flatnonzero(chosen)
        if wanted.order == "probability":
            found = found[np.argsort(-self.predictions.probability[found], kind="stable")]
        return found

    def labels_of(self, document: int) -> list[str]:
        """Return the labels of a document."""
        found = slice(*self.documents.label_starts[document : document + 2].tolist())
        return [self.documents.labels[number] for number in self.documents.label_numbers[found].tolist()]

    def assigned_to(self, document: int) -> list[str]:
        """Return the classes that a document is assigned."""
        found = slice(*self.predictions.starts[document : document + 2].tolist())
        return [self.names[number] for number in self.predictions.assigned[found].tolist()]

    @cached_property
    def _labels(self) -> tuple[Numbers, Numbers]:
        known = np.array([self.numbers[label] for label in self.documents.labels], np.int64)
        return _owners(self.documents.label_starts), known[self.documents.label_numbers]

    @property
    def _assigned(self) -> tuple[Numbers, Numbers]:
        return _owners(self.predictions.starts), self.predictions.assigned.astype(np.int64)

    def _codes(self, documents: Numbers, classes: Numbers) -> Numbers:
        """Return one number for each pair."""
        return documents * len(self.names) + classes


def _owners(starts: Numbers) -> Numbers:
    """Return the document of each entry.

    >>> _owners(np.array([0, 1, 1, 3])).tolist()
    [0, 2, 2]
    """
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))
