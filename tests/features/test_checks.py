"""What estimators check before they fit: the whole messages, and the least that is allowed."""

import re
import warnings
from typing import Any

import numpy as np
import pytest

from tfcr import ClassCounts, Embeddings, TfcrWarning
from tfcr.errors import CorpusWarning, EmbeddingsError, InputError
from tfcr.features.checks import check_classes, check_seed, class_names, count_classes, vectors_of_words
from tfcr.text.documents import count_terms


def test_classes_become_text_for_names_of_columns() -> None:
    assert class_names(np.array([1, 2])) == ["1", "2"]


@pytest.mark.parametrize(("classes", "found"), [(["x"], "one class only, 'x'"), ([], "no documents")])
def test_fewer_than_two_classes_are_refused(classes: list[str], found: str) -> None:
    check_classes(np.array(["x", "y"]))
    message = f"found {found}; expected documents of at least two classes"
    with pytest.raises(InputError, match=f"^{message}$"):
        check_classes(np.array(classes))


@pytest.mark.parametrize("seed", [0, 7, np.int64(7)])
def test_a_whole_number_is_a_seed(seed: Any) -> None:
    assert check_seed(seed) == int(seed)
    assert type(check_seed(seed)) is int


def test_other_random_states_have_no_seed() -> None:
    assert check_seed(None) is None
    assert check_seed(np.random.RandomState(0)) is None


@pytest.mark.parametrize("wrong", [-1, 2**32, "one", 1.5])
def test_what_is_no_random_state_is_refused(wrong: object) -> None:
    message = f"found random_state={wrong!r}; expected a whole number from 0 to 2**32 - 1, a RandomState or None"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$") as caught:
        check_seed(wrong)
    assert caught.value.__suppress_context__


def test_documents_of_weight_zero_are_not_counted() -> None:
    documents = count_terms(["a a b", "a c", "gone", "a"])
    labels = np.array(["x", "y", "z", "y"])
    counts, kept = count_classes(documents, labels, np.array([1.0, 1.0, 0.0, 2.0]), 2)
    assert counts.classes.tolist() == ["x", "y"]
    assert counts.n_documents == 4
    assert dict(zip(counts.words, counts.word_occurrences.tolist(), strict=True)) == {"a": 5, "b": 1, "c": 1, "gone": 0}
    assert kept.words == ["a"]
    with pytest.raises(InputError, match=r"^found one class only, 'x'; expected documents of at least two classes$"):
        count_classes(documents, labels, np.array([1.0, 0.0, 0.0, 0.0]), 1)


def test_a_minimum_that_no_word_reaches_is_refused() -> None:
    documents = count_terms(["a b", "c d", "e"])
    message = "found no word that occurs 2.5 times in 2 texts; expected texts with words, or a lower min_count"
    with pytest.raises(InputError, match=f"^{message}$"):
        count_classes(documents, np.array(["x", "y", "y"]), np.array([1.0, 1.0, 0.0]), 2.5)


def test_texts_without_words_are_reported() -> None:
    documents = count_terms(["a", "", "b", "!"])
    labels = np.array(["x", "x", "y", "y"])
    message = "2 of 4 texts contain no words, the first is number 1 (counted from 0); only their labels are used"
    with pytest.warns(TfcrWarning, match=f"^{re.escape(message)}$"):
        count_classes(documents, labels, np.ones(4), 1)
    with pytest.warns(TfcrWarning, match=r"^1 of 3 texts contain no words, the first is number 3 \("):
        count_classes(documents, labels, np.array([1.0, 0.0, 1.0, 1.0]), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        count_classes(documents, labels, np.array([1.0, 0.0, 1.0, 0.0]), 1)


def counts_of(*texts: str) -> ClassCounts:
    return ClassCounts.from_texts(texts, list(range(len(texts))))


def test_words_have_their_vectors_or_zeros() -> None:
    vectors = Embeddings.from_arrays(["a", "b"], [[1.0, 2.0], [3.0, 4.0]])
    with warnings.catch_warnings():  # half of the tokens are enough
        warnings.simplefilter("error")
        found = vectors_of_words(vectors, counts_of("a c", "b d"))
    assert found.tolist() == [[1, 2], [3, 4], [0, 0], [0, 0]]
    assert found.dtype == np.float32


def test_too_few_vectors_are_reported() -> None:
    vectors = Embeddings.from_arrays(["a"], [[1.0]])
    message = (
        "only 20% of the tokens (25% of the distinct words) have a vector in arrays; "
        "vectors trained on these texts (w2v) may do better"
    )
    with pytest.warns(TfcrWarning, match=f"^{re.escape(message)}$"):
        vectors_of_words(vectors, counts_of("a c d", "b b"))


def test_advice_is_not_what_is_done_already() -> None:
    vectors = Embeddings.train(["a a b", "c d e f g h"])
    with pytest.warns(CorpusWarning, match="there are too few texts to train vectors on: give more, or") as caught:
        vectors_of_words(vectors, counts_of("a c d", "e f g"))
    assert "may do better" not in str(caught[0].message)


def test_no_vector_at_all_is_an_error() -> None:
    message = (
        "none of the 4 words of the corpus ('a', 'b', 'c', …) has a vector in arrays; "
        "are they of the same language, and the tokenizer the right one?"
    )
    with pytest.raises(EmbeddingsError, match=f"^{re.escape(message)}$"):
        vectors_of_words(Embeddings.from_arrays(["x"], [[1.0]]), counts_of("a b", "c d"))
