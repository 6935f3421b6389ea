from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from tfcr import ClassCounts
from tfcr.errors import InputError
from tfcr.text import class_counts
from tfcr.text.documents import CountedDocuments, count_terms
from tfcr.text.vocabulary import Vocabulary

WORDS = st.sampled_from(["a", "b", "c", "dd", "é", "字"])
DOCUMENTS = st.lists(st.tuples(st.lists(WORDS, max_size=6).map(" ".join), st.sampled_from("xyz")), max_size=12)


def counted(labelled: list[tuple[str, str]]) -> ClassCounts:
    return ClassCounts.from_texts([text for text, _ in labelled], [label for _, label in labelled])


@given(DOCUMENTS)
def test_counts_equal_naive_counting(labelled: list[tuple[str, str]]) -> None:
    occurrences: Counter[tuple[str, str]] = Counter()
    documents: Counter[tuple[str, str]] = Counter()
    for text, label in labelled:
        occurrences.update((word, label) for word in text.split())
        documents.update((word, label) for word in set(text.split()))
    counts = counted(labelled)
    for row, word in enumerate(counts.words):
        for column, label in enumerate(counts.classes):
            assert counts.occurrences[row, column] == occurrences[word, label]
            assert counts.documents[row, column] == documents[word, label]
        assert counts.word_occurrences[row] == sum(occurrences[word, label] for label in "xyz")
        assert counts.word_documents[row] == sum(documents[word, label] for label in "xyz")
    assert counts.n_documents == len(labelled)
    assert counts.n_occurrences == counts.class_occurrences.sum() == sum(occurrences.values())
    assert list(counts.words) == sorted({word for word, _ in occurrences})


@given(DOCUMENTS, DOCUMENTS)
def test_counts_add_up(one: list[tuple[str, str]], two: list[tuple[str, str]]) -> None:
    if one and two:
        assert counted(one) + counted(two) == counted(one + two) == counted(two) + counted(one)


def test_adding_labels_of_two_types_is_refused() -> None:
    with pytest.raises(InputError, match="expected one type"):
        ClassCounts.from_texts(["a"], [1]) + ClassCounts.from_texts(["a"], ["x"])


def test_matrix_equals_that_of_scikit_learn(corpus) -> None:  # type: ignore[no-untyped-def]
    vectorizer = CountVectorizer(token_pattern=r"\w+")
    expected = vectorizer.fit_transform(corpus.texts)
    found = count_terms(corpus.texts)
    assert list(found.vocabulary.words) == vectorizer.get_feature_names_out().tolist()
    assert (found.matrix != expected).nnz == 0


def test_unknown_words_count_in_the_length_only() -> None:
    found = count_terms(["a b c a"], vocabulary=Vocabulary(["a"]))
    assert found.matrix.toarray().tolist() == [[2]]
    assert found.lengths.tolist() == [4]


def test_weights_repeat_and_remove() -> None:
    texts, labels = ["a b", "b b", "c"], ["x", "y", "x"]
    weighted = ClassCounts.from_texts(texts, labels, sample_weight=[2, 1, 0])
    repeated = ClassCounts.from_texts(["a b", "a b", "b b"], ["x", "x", "y"])
    assert weighted.at_least(1) == repeated


def test_min_count_leaves_the_totals_alone() -> None:
    counts = ClassCounts.from_texts(["a a b"], ["x"])
    assert counts.at_least(2).words == ["a"]
    assert counts.at_least(2).n_occurrences == 3
    assert counts.words == ["a", "b"]


def test_fractional_weights_lose_no_word() -> None:
    counts = ClassCounts.from_texts(["a b", "b c"], ["x", "y"], sample_weight=[0.1, 0.2])
    assert counts.at_least(1).words == ["a", "b", "c"]
    assert ClassCounts.from_texts(["a"] * 10, ["x"] * 10, sample_weight=[0.1] * 10).at_least(1).words == ["a"]
    assert counts.at_least(2).words == []


def test_a_million_words_in_a_hundred_classes_fit() -> None:
    random = np.random.default_rng(0)
    n_words, n_documents, n_entries = 1_000_000, 20_000, 2_000_000
    matrix = sp.csr_array(
        (
            np.ones(n_entries, np.int32),
            (random.integers(0, n_documents, n_entries), random.integers(0, n_words, n_entries)),
        ),
        shape=(n_documents, n_words),
    )
    words = [f"{number:07}" for number in range(n_words)]
    documents = CountedDocuments(Vocabulary(words), matrix, np.asarray(matrix.sum(axis=1)))
    counts = ClassCounts.from_documents(documents, random.integers(0, 100, n_documents))
    assert counts.occurrences.shape == (n_words, 100)
    assert counts.occurrences.nnz <= n_entries
    assert counts.n_occurrences == n_entries


@pytest.mark.parametrize("max_dense", [0, class_counts.MAX_DENSE])
@pytest.mark.parametrize("weights", [None, [1, 2, 0, 0.5]])
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_counts_of_a_matrix_may_be_fractions_and_weighted(
    dtype: type, weights: list[float] | None, max_dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_counts, "MAX_DENSE", max_dense)
    matrix: NDArray[Any] = np.array([[1, 0, 3], [2, 1, 0], [0, 4, 1], [1, 0, 1]], dtype)
    matrix = matrix / 4 if dtype is np.float64 else matrix
    used = np.ones(4) if weights is None else np.array(weights)
    documents = CountedDocuments(Vocabulary(["a", "b", "c"]), sp.csr_array(matrix), np.full(4, 4))
    counts = ClassCounts.from_documents(documents, ["x", "y", "x", "y"], sample_weight=weights)
    members = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(counts.occurrences.toarray(), (used[:, None] * matrix).T @ members)
    np.testing.assert_array_equal(counts.documents.toarray(), (used[:, None] * (matrix > 0)).T @ members)
    np.testing.assert_array_equal(counts.word_occurrences, used @ matrix)
    np.testing.assert_array_equal(counts.word_documents, used @ (matrix > 0))
    assert (counts.n_occurrences, counts.n_documents) == ((used @ matrix).sum(), used.sum())


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("a text", ["x"], "found a single string; expected a list of texts"),
        (["a", None], ["x", "y"], r"text number 1 \(counted from 0\) is of type NoneType"),
        (["a", 3.5], ["x", "y"], "text number 1 .* is of type float"),
        (5, ["x"], "found int; expected a list of texts"),
        (["a", "b"], ["x"], "found 2 texts and 1 labels"),
        (["a", "b"], ["x", None], r"label number 1 \(counted from 0\) is missing"),
        (["a", "b"], [1.0, float("nan")], "label number 1 .* is missing"),
        (["a", "b"], ["x", 1], "found labels of the types int, str"),
        (["a", "b"], np.array([["x"], ["y"]]), "expected one label for each text"),
        (["a", "b"], [["x"], ["y"], []], "found 2 texts and labels of 3"),
        (["a", "b"], np.array(["x", 1], dtype=object), "found labels of the types int, str"),
        (["a", "b"], ["x", float("nan")], "label number 1 .* is missing"),
        (pl.DataFrame({"a": ["x"], "b": ["y"]}), ["x"], "found a table of 2 columns; expected one"),
        (["a", "b"], None, "found no labels; expected one for each text"),
    ],
)
def test_bad_input(texts, labels, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=message):
        ClassCounts.from_texts(texts, labels)


@pytest.mark.parametrize("weights", [[1, -1], [1, float("nan")], [1], [0, 0]])
def test_bad_weights(weights: list[float]) -> None:
    with pytest.raises(InputError, match="sample_weight"):
        ClassCounts.from_texts(["a", "b"], ["x", "y"], sample_weight=weights)


def test_label_types_are_kept() -> None:
    assert ClassCounts.from_texts(["a", "b"], [10, 9]).classes.tolist() == [9, 10]
    assert ClassCounts.from_texts(["a", "b"], [True, False]).classes.dtype == bool


def test_repr_tells_the_sizes() -> None:
    assert repr(ClassCounts.from_texts(["a b", "a"], ["x", "y"])) == (
        "ClassCounts(2 words, 2 classes, 2 documents, 3 tokens)"
    )


def test_counts_compare_only_with_counts() -> None:
    assert ClassCounts.from_texts(["a"], ["x"]) != "counts"
    with pytest.raises(TypeError):
        ClassCounts.from_texts(["a"], ["x"]) + 1  # type: ignore[operator]


def test_a_hundred_counts_of_many_words_add_up_soon() -> None:
    """Words are numbered once, and entries added up when many are waiting: no part costs as much as the sum."""
    parts = [
        ClassCounts.from_texts([" ".join(f"w{number}" for number in range(part, 4000, 1 + part % 3))], [f"c{part % 7}"])
        for part in range(100)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_counts, "MIN_WAITING", 1000)
        total = ClassCounts.total(iter(parts))
    assert total == ClassCounts.total(reversed(parts))
    assert total.n_occurrences == sum(part.n_occurrences for part in parts)
    assert total.occurrences.sum(axis=0).tolist() == total.class_occurrences.tolist()
    assert total.words == sorted({word for part in parts for word in part.words})


def test_a_sum_knows_its_tokenizer() -> None:
    one, two = (ClassCounts.from_texts(["a"], ["x"], tokenizer=name) for name in ("words", "paper"))
    unknown = ClassCounts.from_texts(["a"], ["x"], tokenizer=str.split)
    assert (one + one).tokenizer == "words"
    assert (one + unknown).tokenizer is None
    with pytest.raises(InputError, match="found counts by the tokenizer 'paper' and by 'words'"):
        ClassCounts.total([one, unknown, two])
