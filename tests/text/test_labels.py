"""Labels of one type: what passes can be saved and read back, and nothing merges."""

import datetime
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr import TfcrClassifier
from tfcr.errors import InputError
from tfcr.text.class_counts import check_labels
from tfcr.text.labels import LabelError, by_label, label_array
from tfcr.text.stored_counts import read_classes, write_classes

REFUSED: dict[str, tuple[Any, str]] = {
    "2**63": (
        [2**63, 2**63 + 1],
        "found the label 9223372036854775808; expected integers from -2\\*\\*63 to 2\\*\\*63 - 1",
    ),
    "2**63 and a negative one": ([2**63, -1], "found the label 9223372036854775808"),
    "30 digits": ([10**30, 10**30 + 1], "found the label 1000000000000000000000000000000"),
    "uint64": (np.array([2**63, 2**63 + 1], np.uint64), "found the label 9223372036854775808"),
    "number and text": ([1, "1"], "found labels of the types int, str, such as 1 and '1'; expected one type"),
    "boolean and integer": ([True, 1], "found labels of the types bool, int"),
    "integers that a float rounds": ([2**53 + 1, 0.5], "among numbers with a decimal point, which would round it"),
    "infinity": ([1.0, float("inf")], "found the label inf; expected finite numbers"),
    "a list and a label": ([["a"], "b"], r"label number 1 \(counted from 0\) is 'b', and others are lists"),
    "dict": ([{"a": 1}, "b"], "is of type dict"),
    "date": ([datetime.date(2024, 5, 31)] * 2, "is of type date"),
    "dates of numpy": (np.array(["2024-05-31", "2024-06-01"], "datetime64[D]"), "is of type date"),
    "bytes": (np.array([b"a", b"b"]), "is of type bytes"),
    "half of a surrogate pair": (["a\ud800", "b"], r"the label 'a\\ud800', with half of a surrogate pair"),
    "the same in an array": (np.array(["a\ud800", "b"]), "half of a surrogate pair"),
    "NUL at the end, which numpy drops": (["a\0", "a"], "ends in a NUL"),
    "a text": (["a" * 1001, "b"], "found a label of 1,001 characters, .* are these the texts"),
    "one string": ("ab", "found labels='ab'; expected a list"),
    "a table": (np.zeros((2, 1)), r"found labels of shape \(2, 1\)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_labels_that_cannot_be_kept_are_refused_before_any_work(kind: str) -> None:
    labels, message = REFUSED[kind]
    with pytest.raises(InputError, match=message):
        TfcrClassifier.from_preset("fast").fit(["good", "bad"], labels)


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b"],
        [True, False],
        [-(2**63), 2**63 - 1],
        [1, 2.5],
        np.array([1, 2], np.uint64),
        np.array([0.1, 0.2], np.float32),
        np.array([1, 2], np.longdouble),
        np.array(["a", "b"], dtype=object),
        np.array(["a", "b"], dtype=np.dtypes.StringDType()),
        np.array(["a", "b"], dtype=">U1"),
    ],
    ids=str,
)
def test_labels_come_back_from_a_file_as_they_were(labels: Any) -> None:
    classes = np.unique(check_labels(labels, 2))
    again = read_classes(json.loads(json.dumps(write_classes(classes))))
    assert again.tolist() == classes.tolist()
    assert len(again) == 2


@given(
    st.lists(
        st.one_of(st.integers(), st.floats(), st.booleans(), st.text(), st.none(), st.binary(), st.lists(st.text())),
        min_size=2,
        max_size=4,
    )
)
def test_nothing_merges_and_nothing_fails_later(values: list[Any]) -> None:
    try:
        array = label_array(values)
    except LabelError:
        return
    assert array.tolist() == values
    if all(value == value for value in values):
        assert len(np.unique(array)) == len(set(values))
    json.dumps(array.tolist(), ensure_ascii=False).encode()


@pytest.mark.parametrize("labels", [["a", None, "a"], [1, True, 1.0], [[1], "a", [1]], [0.5, float("nan")], []])
def test_a_function_of_each_label(labels: list[Any]) -> None:
    assert by_label(repr, labels) == list(map(repr, labels))  # 1, 1.0 and True are equal, and not the same


def test_a_function_is_called_once_for_each_label() -> None:
    calls: list[Any] = []
    assert by_label(calls.append, ["b", None, "a", "b", None]) == [None] * 5
    assert calls == ["b", None, "a"]
