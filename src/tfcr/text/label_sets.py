"""Several labels per document: which documents have which classes, and the form that a user gave them in.

lists, sets or tuples of labels; an indicator of 0 and 1  --find_label_sets-->  LabelSets  --in_form-->  the same form
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError, shown
from tfcr.text.labels import LabelError, label_array

ONE, LISTS, INDICATOR = "label", "lists", "indicator"
FORMS = (ONE, LISTS, INDICATOR)
"""How labels are given to `fit`, and so how `predict` answers: one label, a list of labels, or a row of 0 and 1."""
_SETS = (list, tuple, set, frozenset)

Members = NDArray[np.bool_]
"""True where a document has a class; (n_documents, n_classes)."""


@dataclass(frozen=True, eq=False)
class LabelSets:
    """The labels of documents that have several of them, one, or none.

    Attributes
    ----------
    classes
        Sorted; the numbers of the columns if labels were given as an indicator.
    members
        True where a document has a class; (n_documents, n_classes).
    form
        LISTS or INDICATOR.

    Examples
    --------
    >>> sets = find_label_sets([["b", "a"], [], ["a"]])
    >>> sets.classes.tolist(), sets.members.astype(int).tolist(), sets.in_form()
    (['a', 'b'], [[1, 1], [0, 0], [1, 0]], [['a', 'b'], [], ['a']])
    """

    classes: NDArray[Any]
    members: Members
    form: str = LISTS

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, rows: Any) -> LabelSets:
        """Return the labels of some documents; the classes stay, whether or not one of these has them."""
        return replace(self, members=self.members[rows])

    def lists(self) -> list[list[Any]]:
        """Return the labels of each document, sorted."""
        classes = self.classes.tolist()
        return [[classes[number] for number in np.flatnonzero(row).tolist()] for row in self.members]

    def in_form(self) -> Any:
        """Return the labels as they were given: lists of labels, or an indicator of integers."""
        return self.members.astype(np.int64) if self.form == INDICATOR else self.lists()

    def over(self, classes: NDArray[Any]) -> LabelSets:
        """Return the same labels over other classes, which must contain all of them; compared as text."""
        places = {str(label): number for number, label in enumerate(classes.tolist())}
        members = np.zeros((len(self), len(classes)), np.bool_)
        members[:, [places[str(label)] for label in self.classes.tolist()]] = self.members
        return replace(self, classes=classes, members=members)


@dataclass(frozen=True, eq=False)
class NumberedLabels:
    """One label per document, as numbers: of millions of documents, labels themselves would take much memory.

    Attributes
    ----------
    classes
        Sorted.
    numbers
        The position of each document's label among them; (n_documents,).
    """

    classes: NDArray[Any]
    numbers: NDArray[np.integer[Any]]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> NumberedLabels:
        """Return the labels of some documents; the classes stay."""
        return replace(self, numbers=self.numbers[rows])


AnyLabels = NDArray[Any] | LabelSets
"""One label per document, or several."""
GivenLabels = AnyLabels | NumberedLabels
"""The labels of training documents, in any form."""


def classes_of(labels: GivenLabels) -> NDArray[Any]:
    """Return the classes, sorted; of several labels per document, also those that no document has."""
    if isinstance(labels, NumberedLabels):
        return labels.classes[np.bincount(labels.numbers, minlength=len(labels.classes)) > 0]
    return labels.classes if isinstance(labels, LabelSets) else np.unique(labels)


def classes_with_members(labels: AnyLabels) -> NDArray[Any]:
    """Return the classes that a document has, sorted."""
    return labels.classes[labels.members.any(axis=0)] if isinstance(labels, LabelSets) else np.unique(labels)


def joined_labels(one: AnyLabels, two: AnyLabels) -> AnyLabels:
    """Return labels, and others of the same kind after them."""
    if isinstance(one, LabelSets) and isinstance(two, LabelSets):
        classes = np.union1d(one.classes, two.classes)
        return replace(one.over(classes), members=np.concatenate([some.over(classes).members for some in (one, two)]))
    if isinstance(one, LabelSets) or isinstance(two, LabelSets):
        raise InputError("found one label for some texts and lists of labels for others; expected one of both")
    return np.concatenate([one, two])


def class_numbers(labels: GivenLabels, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the position of each label among the classes, (n_documents,); of several labels, the members."""
    if isinstance(labels, NumberedLabels):
        return np.asarray(np.searchsorted(classes, labels.classes).astype(labels.numbers.dtype)[labels.numbers])
    return labels.members if isinstance(labels, LabelSets) else np.searchsorted(classes, labels)


def find_label_sets(labels: Any) -> Any:
    """Return several labels per document as LabelSets; what has one label per document is returned as it is.

    Lists of 0 and 1, all of one length, are an indicator, as in scikit-learn: a list of labels has none twice. What can
    be read only once is returned as a list.
    """
    if (
        isinstance(labels, LabelSets | NumberedLabels | str | bytes)
        or labels is None
        or not hasattr(labels, "__iter__")
    ):
        return labels
    shape = getattr(labels, "shape", None)
    if shape is not None and len(shape) == 2:
        return _of_indicator(labels.toarray() if hasattr(labels, "toarray") else labels)
    if isinstance(labels, np.ndarray) and labels.dtype.kind != "O":
        return labels
    rows = labels if isinstance(labels, list) else labels.to_list() if hasattr(labels, "to_list") else list(labels)
    is_set = [isinstance(row, (*_SETS, np.ndarray)) for row in rows] if _has_sets(rows) else []
    if not any(is_set):
        return labels if hasattr(labels, "__len__") else rows
    if not all(is_set):
        number = is_set.index(False)
        raise InputError(
            f"label number {number} (counted from 0) is {shown(rows[number])}, and others are lists; expected one "
            "label for each text, or a list of labels for each: [] for none"
        )
    rows = [row.tolist() if isinstance(row, np.ndarray) else list(row) for row in rows]
    return _of_indicator(rows) if _is_indicator(rows) else _of_lists(rows)


def _has_sets(rows: Sequence[Any]) -> bool:
    return any(issubclass(kind, (*_SETS, np.ndarray)) for kind in set(map(type, rows)))


def _is_indicator(rows: Sequence[list[Any]]) -> bool:
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows):
        return False
    numbers = bool, int, np.bool_, np.integer
    return all(isinstance(cell, numbers) and cell in (0, 1) for row in rows for cell in row)


def _of_indicator(given: Any) -> LabelSets:
    array = np.asarray(given)
    if array.shape[1] < 2:
        raise InputError(
            f"found labels of shape {array.shape}; expected one label for each text, in one dimension, or an indicator "
            "with a column for each of two classes or more"
        )
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            array = array.astype(str)
    wrong = np.argwhere(~np.isin(array, (0, 1))) if array.dtype.kind in "biuf" else np.zeros((1, 2), np.int64)
    if len(wrong) and array.size:
        row, column = wrong[0].tolist()
        raise InputError(
            f"found {shown(array[row, column].item())} in row {row}, column {column} of labels of shape {array.shape}; "
            "expected an indicator of 0 and 1, one column per class, or one label for each text"
        )
    return _checked(LabelSets(np.arange(array.shape[1]), array.astype(np.bool_), INDICATOR))


def _of_lists(rows: Sequence[list[Any]]) -> LabelSets:
    flat = [label for row in rows for label in row]
    owners = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    for owner, label in zip(owners.tolist(), flat, strict=True):
        if label is None or (isinstance(label, float) and np.isnan(label)):
            raise InputError(
                f"the labels of text number {owner} (counted from 0), {shown(rows[owner])}, hold a missing one; "
                "expected labels, or an empty list for none"
            )
    try:
        array = label_array(flat)
    except LabelError as error:
        remedy = ": turn them all into text with str()" if error.as_text else ""
        raise InputError(f"{error}{remedy}") from None
    classes, numbers = np.unique(array, return_inverse=True)
    members = np.zeros((len(rows), len(classes)), np.bool_)
    members[owners, numbers] = True
    repeated = np.flatnonzero(members.sum(axis=1) < np.bincount(owners, minlength=len(rows)))
    if len(repeated):
        raise InputError(
            f"the labels of text number {repeated[0]} (counted from 0), {shown(rows[repeated[0]])}, hold one twice; "
            "expected each once, or an indicator as an array: np.array(labels)"
        )
    return _checked(LabelSets(classes, members))


def _checked(sets: LabelSets) -> LabelSets:
    if len(sets) and not sets.members.any():
        raise InputError(f"none of the {len(sets)} documents has a label; expected documents with labels")
    return sets
