"""Labels that come batch by batch, as numbers: those of millions of documents take a few bytes each."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.text.class_counts import check_targets
from tfcr.text.label_sets import LabelSets, NumberedLabels
from tfcr.text.labels import LabelError, label_array

_SETS = (list, tuple, set, frozenset)


def _listed(labels: Any) -> tuple[bool, list[Any]]:
    """Return whether documents may have several labels, and the label or labels of each.

    A list of lists holds labels, whatever they look like; only an array or a sparse matrix may be an indicator.
    """
    if hasattr(labels, "shape"):
        checked = check_targets(labels, labels.shape[0]) if labels.shape[0] else np.zeros(0)
        return (True, checked.lists()) if isinstance(checked, LabelSets) else (False, checked.tolist())
    rows = list(labels)
    is_set = [isinstance(row, _SETS) for row in rows]
    if any(is_set) and not all(is_set):
        raise InputError(
            f"label number {is_set.index(False)} (counted from 0) is no list, and others are lists; expected one label "
            "for each text, or a list of labels for each: [] for none"
        )
    return any(is_set), rows


class LabelNumbers:
    """Numbers labels in the order of their first use, then by their order as classes.

    Examples
    --------
    >>> numbers = LabelNumbers()
    >>> numbers.add(["pos", "neg"])
    >>> numbers.add(["neutral"])
    >>> found = numbers.labels()
    >>> found.classes.tolist(), found.numbers.tolist()
    (['neg', 'neutral', 'pos'], [2, 0, 1])
    """

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.several: bool | None = None
        self._found: list[NDArray[np.int32]] = []
        self._sizes: list[NDArray[np.int32]] = []

    def add(self, labels: Sequence[Any]) -> None:
        """Add the labels of more documents, one each, or several."""
        several, values = _listed(labels)
        if not values:
            return
        self._check_kind(several)
        if several:
            self._sizes.append(np.fromiter(map(len, values), np.int32, len(values)))
            values = [label for row in values for label in row]
        if len({isinstance(label, bool) for label in (*list(self.numbers)[:1], *values)}) > 1:  # True is 1 in a dict
            raise InputError("found labels of type bool among others; expected one type: turn them all into text")
        known = self.numbers
        for label in dict.fromkeys(values):
            known.setdefault(label, len(known))
        self._found.append(np.fromiter(map(known.__getitem__, values), np.int32, len(values)))

    def add_numbers(
        self, classes: Sequence[Any], numbers: NDArray[np.int32], sizes: NDArray[np.int32] | None = None
    ) -> None:
        """Add the labels of more documents, as numbers of classes; `sizes` is how many each has, if not one.

        >>> numbers = LabelNumbers()
        >>> numbers.add_numbers(["pos", "none", "neg"], np.array([2, 0], np.int32))
        >>> numbers.labels().classes.tolist(), numbers.labels().numbers.tolist()
        (['neg', 'pos'], [0, 1])
        """
        if sizes is None and not len(numbers):
            return
        self._check_kind(sizes is not None)
        if sizes is not None:
            self._sizes.append(sizes)
        places = np.full(len(classes), -1, np.int32)
        for number in np.unique(numbers).tolist():
            places[number] = self.numbers.setdefault(classes[number], len(self.numbers))
        self._found.append(places[numbers])

    def _check_kind(self, several: bool) -> None:
        if self.several is not None and several != self.several:
            raise InputError("found one label for some texts and lists of labels for others; expected one of both")
        self.several = several

    def labels(self) -> NumberedLabels | LabelSets:
        """Return the labels of all documents."""
        try:
            array = label_array(list(self.numbers))
        except LabelError as error:
            raise InputError(f"{error}{': turn them all into text with str()' if error.as_text else ''}") from None
        order = np.argsort(array, kind="stable")
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order), dtype=np.int32)
        numbers = np.concatenate([np.zeros(0, np.int32), *(places[found] for found in self._found)])
        if not self.several:
            return NumberedLabels(array[order], numbers)
        sizes = np.concatenate(self._sizes)
        members = np.zeros((len(sizes), len(order)), np.bool_)
        members[np.repeat(np.arange(len(sizes)), sizes), numbers] = True
        return LabelSets(array[order], members)
