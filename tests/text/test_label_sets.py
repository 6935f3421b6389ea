"""Several labels per document: the forms that they are given in, and what is refused."""

from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from tfcr import ClassCounts
from tfcr.errors import InputError
from tfcr.schemes import SCHEMES
from tfcr.text.class_counts import check_targets
from tfcr.text.label_sets import LabelSets, class_numbers, classes_of, find_label_sets

LISTS = [["b", "a"], [], ["a"], ["c"]]
MEMBERS = [[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 1]]

SAME_LISTS: dict[str, Any] = {
    "lists": LISTS,
    "tuples": list(map(tuple, LISTS)),
    "sets": list(map(set, LISTS)),
    "frozen sets": tuple(map(frozenset, LISTS)),
    "a generator": (row for row in LISTS),
    "arrays": [np.array(row, dtype=object) for row in LISTS],
    "an array of objects": np.array([*LISTS, None], dtype=object)[:-1],
    "a series": pl.Series(LISTS),
}


@pytest.mark.parametrize("form", SAME_LISTS)
def test_lists_of_labels_in_any_form(form: str) -> None:
    found = check_targets(SAME_LISTS[form], 4)
    assert isinstance(found, LabelSets)
    assert found.classes.tolist() == ["a", "b", "c"]
    assert found.members.astype(int).tolist() == MEMBERS
    assert found.in_form() == [["a", "b"], [], ["a"], ["c"]]


SAME_INDICATORS: dict[str, Any] = {
    "an array": np.array(MEMBERS),
    "booleans": np.array(MEMBERS, bool),
    "floats": np.array(MEMBERS, float),
    "lists of 0 and 1": MEMBERS,
    "a sparse array": sp.csr_array(np.array(MEMBERS)),
    "a table": pl.DataFrame(np.array(MEMBERS)),
}


@pytest.mark.parametrize("form", SAME_INDICATORS)
def test_indicators_in_any_form(form: str) -> None:
    found = check_targets(SAME_INDICATORS[form], 4)
    assert isinstance(found, LabelSets)
    assert found.classes.tolist() == [0, 1, 2]
    assert found.in_form().tolist() == MEMBERS
    assert found.in_form().dtype == np.int64


def test_one_label_per_document_stays_what_it_was() -> None:
    labels = ["x", "y"]
    assert find_label_sets(labels) is labels
    assert find_label_sets(None) is None
    assert check_targets(iter(labels), 2).tolist() == labels  # type: ignore[union-attr]
    assert check_targets([["x"], ["y"]], 2).form == "lists"  # type: ignore[union-attr]
    assert check_targets([[0], [1], [1]], 3).lists() == [[0], [1], [1]]  # type: ignore[union-attr]


REFUSED: dict[str, tuple[Any, str]] = {
    "a missing label": ([["a", None], ["b"]], r"labels of text number 0 .*\['a', None\], hold a missing one"),
    "NaN": ([["a"], [float("nan")]], "labels of text number 1 .* hold a missing one"),
    "a label twice": ([["a"], ["b", "b"]], r"text number 1 .*\['b', 'b'\], hold one twice; expected each once"),
    "no label at all": ([[], []], "none of the 2 documents has a label"),
    "an indicator without labels": (np.zeros((2, 2)), "none of the 2 documents has a label"),
    "two types": ([["a"], [1]], "found labels of the types int, str"),
    "lists in lists": ([[["a"]], []], "is of type list"),
    "a list and a label": ([["a"], "b"], "label number 1 .* is 'b', and others are lists"),
    "not 0 or 1": (np.array([[0, 1], [2, 0]]), r"found 2 in row 1, column 0 .*expected an indicator of 0 and 1"),
    "a fraction": (np.array([[0, 0.5], [1, 0]]), "found 0.5 in row 0, column 1"),
    "not a number": (np.array([[0, np.nan], [1, 0]]), "found nan in row 0, column 1"),
    "text": (np.array([["a", "b"], ["c", "d"]]), "found 'a' in row 0, column 0"),
    "one column": (np.array([[1], [0]]), r"found labels of shape \(2, 1\)"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_bad_sets_are_refused(kind: str) -> None:
    labels, message = REFUSED[kind]
    with pytest.raises(InputError, match=message):
        check_targets(labels, 2)


def test_rows_keep_all_classes() -> None:
    sets = find_label_sets(LISTS)
    some = sets[np.array([1, 2])]
    assert len(some) == 2
    assert classes_of(some).tolist() == ["a", "b", "c"]
    assert class_numbers(some, some.classes).astype(int).tolist() == MEMBERS[1:3]


def test_labels_over_the_classes_of_a_model_compare_as_text() -> None:
    sets = find_label_sets([[2], [1, 2]]).over(np.array(["1", "2", "3"]))
    assert sets.lists() == [["2"], ["1", "2"]]


def test_a_document_counts_in_each_of_its_classes_and_once_in_all() -> None:
    texts, labels = ["good good film", "bad film", "film"], [["a", "b"], ["b"], []]
    counts = ClassCounts.from_texts(texts, labels, sample_weight=[1, 2, 1])
    assert (counts.words, counts.classes.tolist()) == (["bad", "film", "good"], ["a", "b"])
    assert counts.occurrences.toarray().tolist() == [[0, 2], [1, 3], [2, 2]]
    assert counts.documents.toarray().tolist() == [[0, 2], [1, 3], [1, 1]]
    assert counts.word_occurrences.tolist() == [2, 4, 2]
    assert counts.word_documents.tolist() == [2, 4, 1]
    assert counts.class_occurrences.tolist() == [3, 7]
    assert counts.class_documents.tolist() == [1, 3]
    assert (counts.n_occurrences, counts.n_documents) == (8, 4)


def test_lists_of_one_label_count_as_labels_do() -> None:
    texts, labels = ["good film", "bad film", "so so"], ["a", "b", "a"]
    assert ClassCounts.from_texts(texts, [[label] for label in labels]) == ClassCounts.from_texts(texts, labels)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_takes_classes_that_all_documents_or_none_have(scheme: str) -> None:
    counts = ClassCounts.from_texts(["good film", "bad film"], np.array([[1, 0, 1], [1, 0, 0]]))
    weights = SCHEMES[scheme](counts)
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
