"""Near-duplicates against the comparison of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.evaluation import Evaluation
from tfcr.evaluation.duplicates import find_duplicates, near_duplicates
from tfcr.text.documents import count_terms


def similarity(one: str, other: str) -> float:
    first, second = set(one.split()), set(other.split())
    return len(first & second) / len(first | second)


def texts_with_copies(random: np.random.Generator, n_texts: int) -> list[str]:
    """Return texts of which some repeat another with one word changed or left out."""
    words = [f"w{number}" for number in range(200)]
    texts = [" ".join(random.choice(words, random.integers(5, 20), replace=False)) for _ in range(n_texts)]
    for place in random.choice(n_texts, n_texts // 3, replace=False):
        copied = texts[random.integers(n_texts)].split()
        copied[random.integers(len(copied))] = str(random.choice(words))
        texts[place] = " ".join(random.permutation(copied[random.integers(2) :]))
    return texts


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_is_similar_and_most_of_it_is_found(seed: int) -> None:
    texts = texts_with_copies(np.random.default_rng(seed), 150)
    originals = near_duplicates(count_terms(texts, "words"))
    for place, original in enumerate(originals.tolist()):
        assert original <= place
        assert originals[original] == original
        assert similarity(texts[place], texts[original]) >= 0.8 or original == place
    repeats = {
        place for place in range(len(texts)) if any(similarity(texts[place], texts[at]) >= 0.8 for at in range(place))
    }
    found = set(np.flatnonzero(originals != np.arange(len(texts))).tolist())
    assert found <= repeats
    assert len(repeats) > 20
    assert len(found) >= 0.93 * len(repeats)  # of a chain of copies, the last may not repeat the first


@given(st.lists(st.sampled_from(["", "a", "a b", "b a a", "c d e", "e d c", "f"]), max_size=12))
def test_the_same_words_are_always_found(texts: list[str]) -> None:
    originals = near_duplicates(count_terms(texts, "words"))
    for place, text in enumerate(texts):
        same = [at for at in range(place) if set(texts[at].split()) == set(text.split())]
        assert originals[place] == (same[0] if same and text else place)


def test_thousands_of_the_same_phrase_are_one_group() -> None:
    texts = ["merry christmas to all"] * 3000 + ["merry christmas to all of you"]  # 4 of 6 words
    originals = near_duplicates(count_terms(texts, "words"))
    assert originals.tolist() == [0] * 3000 + [3000]


def test_duplicates_that_spoil_training_or_testing() -> None:
    texts = ["the goal of the match", "the match of the goal", "a film about love", "goal goal", "of match the goal"]
    labels = np.array(["sport", "film", "film", "sport", "sport"])
    folds = np.array([0, 1, 0, 1, 0])
    chances = np.full((5, 2), 0.5)
    predicted = np.array(["sport", "sport", "film", "sport", "sport"])
    result = Evaluation(labels, predicted, np.array(["film", "sport"]), chances, folds, (0.5, 0.5))
    found = find_duplicates(count_terms(texts, "words"), labels, folds, result)
    [group] = found.contradictory
    assert (group.documents, group.labels) == ((0, 1, 4), ("sport", "film", "sport"))
    assert found.across_folds == (0, 1, 4)
    assert found.macro_f1_without == 1
    apart = find_duplicates(count_terms(texts, "words"), labels, np.array([0, 0, 1, 1, 0]), result)
    assert (apart.across_folds, apart.macro_f1_without) == ((), None)


def test_texts_that_are_only_trained_on() -> None:
    texts = ["an old text", "a new text", "old text an"]
    labels = np.array(["a", "b", "a"])
    tested = Evaluation(labels[1:], labels[1:], np.array(["a", "b"]), np.eye(2), np.zeros(2, np.int64), (1.0,))
    found = find_duplicates(count_terms(texts, "words"), labels, np.array([-1, 0, 0]), tested)
    assert found.across_folds == (1,)  # of the two that were tested
