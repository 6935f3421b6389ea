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


def test_numbers_of_known_classes_are_the_labels_themselves() -> None:
    classes = ["pos", "unused", "neg", "neutral"]
    as_numbers, as_labels = LabelNumbers(), LabelNumbers()
    for some in ([2, 2, 0], [], [3, 2]):
        as_numbers.add_numbers(classes, np.array(some, np.int32))
        as_labels.add([classes[number] for number in some])
    found, expected = as_numbers.labels(), as_labels.labels()
    assert isinstance(found, NumberedLabels)
    assert isinstance(expected, NumberedLabels)
    assert found.classes.tolist() == expected.classes.tolist() == ["neg", "neutral", "pos"]
    assert found.numbers.tolist() == expected.numbers.tolist()


def test_numbers_of_several_labels() -> None:
    as_numbers, as_labels = LabelNumbers(), LabelNumbers()
    as_numbers.add_numbers(["b", "a"], np.array([0, 1, 1], np.int32), np.array([2, 0, 1], np.int32))
    as_numbers.add_numbers(["b", "a"], np.zeros(0, np.int32))  # a part of a file without documents
    as_labels.add([("b", "a"), (), ("a",)])
    found, expected = as_numbers.labels(), as_labels.labels()
    assert isinstance(found, LabelSets)
    assert isinstance(expected, LabelSets)
    np.testing.assert_array_equal(found.members, expected.members)


def test_numbers_of_one_label_and_of_several_are_refused() -> None:
    numbers = LabelNumbers()
    numbers.add_numbers(["a", "b"], np.array([0], np.int32))
    with pytest.raises(InputError, match="expected one of both"):
        numbers.add_numbers(["a", "b"], np.array([0, 1], np.int32), np.array([2], np.int32))
