"""Labels that come batch by batch."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tfcr.errors import InputError
from tfcr.text.label_numbers import LabelNumbers
from tfcr.text.label_sets import LabelSets, NumberedLabels, class_numbers, classes_of


def numbered(*batches: Any) -> NumberedLabels | LabelSets:
    numbers = LabelNumbers()
    for batch in batches:
        numbers.add(batch)
    return numbers.labels()


@pytest.mark.parametrize(
    "batches",
    [([3, 1], [2], [], [1]), ([2.5], [0.5, 2.5]), ([True, False],), (["b", "a"], ["c"]), (np.array(["x", "y"]),)],
)
def test_numbers_lead_back_to_the_labels(batches: Any) -> None:
    found = numbered(*batches)
    given = np.concatenate([np.asarray(batch) for batch in batches if len(batch)])
    assert isinstance(found, NumberedLabels)
    assert found.classes[found.numbers].tolist() == given.tolist()
    assert classes_of(found).tolist() == np.unique(given).tolist()
    assert class_numbers(found, found.classes).tolist() == found.numbers.tolist()


def test_some_of_the_labels_may_lack_classes() -> None:
    some = numbered(["a", "b", "c"])[np.array([2, 0])]
    assert isinstance(some, NumberedLabels)
    assert len(some) == 2
    assert classes_of(some).tolist() == ["a", "c"]
    assert class_numbers(some, np.array(["a", "c", "d"])).tolist() == [1, 0]


def test_several_labels_are_members() -> None:
    found = numbered([("b", "a"), ()], [["c"]])
    assert isinstance(found, LabelSets)
    assert found.classes.tolist() == ["a", "b", "c"]
    assert found.members.astype(int).tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_an_indicator_has_a_column_for_each_class() -> None:
    found = numbered(np.array([[1, 0], [0, 1]]), [[]], sp.csr_array(np.array([[1, 1]])))
    assert isinstance(found, LabelSets)
    assert found.members.astype(int).tolist() == [[1, 0], [0, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ((["a"], [("a",)]), "one label for some texts and lists of labels for others"),
        ((["a"], [1]), "type"),
        (([["sport"], "politics"],), "others are lists"),
        (([1, True, 0],), "type"),
        (([1, 0], [True]), "type"),
    ],
)
def test_labels_of_different_kinds_are_refused(batches: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        numbered(*batches)
