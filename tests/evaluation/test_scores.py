"""Scores against scikit-learn's, intervals against naive resampling, and the bar that a classifier must pass."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix, f1_score, precision_recall_fscore_support

from tests.several import random_sets
from tfcr.evaluation import Evaluation, bootstrap, compare_with_majority, decided_curve, majority_class
from tfcr.evaluation.scores import f1_interval
from tfcr.text.label_sets import LabelSets


def evaluation(labels: NDArray[Any], predicted: NDArray[Any], classes: list[Any], seed: int = 0) -> Evaluation:
    """Return an evaluation with random probabilities."""
    chances = np.random.default_rng(seed).dirichlet(np.ones(len(classes)), len(labels))
    return Evaluation(labels, predicted, np.array(classes), chances, np.zeros(len(labels), np.int64), (0.5,))


PAIRS = st.lists(st.tuples(st.sampled_from("dabc"), st.sampled_from("dabc")), min_size=1, max_size=40)


@given(PAIRS)
def test_counts_and_scores_are_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    labels, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    found = evaluation(labels, predicted, ["d", "a", "b", "c"])  # in any order
    np.testing.assert_array_equal(found.confusion(), confusion_matrix(labels, predicted, labels=["d", "a", "b", "c"]))
    present = np.unique(labels).tolist()
    theirs = precision_recall_fscore_support(labels, predicted, labels=present, zero_division=0)
    scores = found.per_class()
    assert [score.label for score in scores] == present
    ours = [(score.precision, score.recall, score.f1, score.documents) for score in scores]
    np.testing.assert_allclose(np.array(ours).T, np.array(theirs))
    assert found.micro_f1 == pytest.approx(found.accuracy)
    for score in scores:
        assert 0 <= score.f1_interval.low <= score.f1 <= score.f1_interval.high <= 1
    wrong = found.mistakes()
    assert set(wrong.tolist()) == set(np.flatnonzero(labels != predicted).tolist())
    assert (np.diff(found.confidences[wrong]) <= 0).all()


def test_the_f1_of_a_small_class_may_be_lower_than_it_looks() -> None:
    assert f1_interval(0, 0, 0) == (0, 1)
    low, high = f1_interval(2, 2, 2)
    assert (low < 0.6, high) == (True, 1)
    assert f1_interval(200, 200, 200).low > 0.98
    assert f1_interval(0, 5, 0).low == 0
    assert f1_interval(0, 5, 0).high > 0.4


def naive_intervals(
    labels: NDArray[Any], predicted: NDArray[Any], groups: NDArray[Any], average: str
) -> NDArray[np.float64]:
    random = np.random.default_rng(5)
    names = np.unique(groups)
    scores = []
    for _ in range(1000):
        drawn = np.concatenate([np.flatnonzero(groups == name) for name in random.choice(names, len(names))])
        present = np.unique(labels[drawn])
        scores.append(f1_score(labels[drawn], predicted[drawn], labels=present, average=average, zero_division=0))
    return np.asarray(np.percentile(scores, [2.5, 97.5]), np.float64)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_bootstrap_is_that_of_drawing_documents(grouped: bool) -> None:
    random = np.random.default_rng(0)
    labels = random.choice(list("aaaabbc"), 120)
    predicted = np.where(random.random(120) < 0.7, labels, random.choice(list("abc"), 120))
    groups = np.arange(120) // 4 if grouped else np.arange(120)
    found = bootstrap(labels, predicted, groups.tolist() if grouped else None)
    np.testing.assert_allclose(found.macro_f1, naive_intervals(labels, predicted, groups, "macro"), atol=0.02)
    np.testing.assert_allclose(found.micro_f1, found.accuracy)
    assert bootstrap(labels, predicted) == bootstrap(labels, predicted)


def test_the_bootstrap_of_several_labels() -> None:
    random = np.random.default_rng(0)
    truth = random_sets(random, 150, 4)
    noisy = truth.members ^ (random.random(truth.members.shape) < 0.1)
    predicted = LabelSets(truth.classes, noisy)
    found = bootstrap(truth, predicted)
    exact = (truth.members == noisy).all(axis=1).mean()
    assert found.accuracy.low < exact < found.accuracy.high
    assert found.micro_f1.low < f1_score(truth.members, noisy, average="micro") < found.micro_f1.high
    assert found.macro_f1.low < f1_score(truth.members, noisy, average="macro") < found.macro_f1.high
    by_group = bootstrap(truth, predicted, list(range(150)))
    np.testing.assert_allclose(by_group.macro_f1, found.macro_f1, atol=0.02)


def test_nineteen_of_twenty_intervals_hold_the_true_score() -> None:
    random = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        labels = random.choice(["a", "b"], 100)
        predicted = np.where(random.random(100) < 0.8, labels, np.where(labels == "a", "b", "a"))
        low, high = bootstrap(labels, predicted).accuracy
        held += low <= 0.8 <= high
    assert 180 <= held <= 199


def test_the_most_probable_labels_are_decided_first() -> None:
    random = np.random.default_rng(0)
    labels, predicted = random.choice(list("ab"), 250), random.choice(list("ab"), 250)
    result = evaluation(labels, predicted, ["a", "b"])
    curve = decided_curve(result)
    assert len(curve.decided) == 100
    assert curve.decided[-1] == 1
    for decided, right, probability in zip(*curve, strict=True):
        chosen = np.sort(result.confidences)[::-1][: round(decided * 250)]
        assert chosen[-1] == probability
        is_chosen = result.confidences >= probability
        assert np.mean((labels == predicted)[is_chosen]) == pytest.approx(right)


def test_the_most_frequent_class_is_the_bar_to_pass() -> None:
    labels = np.array(list("aaaabb"))
    folds = np.array([0, 0, 1, 1, 0, 1])
    classes, chances = np.array(["a", "b"]), np.full((6, 2), 0.5)
    useless = Evaluation(labels, np.array(list("abaaaa")), classes, chances, folds, (0.4, 0.4))
    trivial = majority_class(useless)
    assert trivial is not None
    assert list(trivial.predicted) == ["a"] * 6  # type: ignore[arg-type]
    assert trivial.macro_f1 == pytest.approx(0.4)  # F1 of a is .8, of b 0
    assert trivial.accuracy == pytest.approx(4 / 6)
    [comment] = compare_with_majority(useless)
    assert comment.startswith("macro-F1 0.400 is not above 0.400, that of always predicting 'a'")
    assert comment.endswith("6 documents are few to learn from; label more")
    predicted = np.array(list("abaaaa") * 10)
    many = Evaluation(np.repeat(labels, 10), predicted, classes, chances, np.repeat(folds, 10), (0.4,))
    assert compare_with_majority(many)[0].endswith("are --text and --label the right columns?")
    fair = Evaluation(labels, np.array(list("abbabb")), classes, chances, folds, (0.6, 0.7))
    [comment] = compare_with_majority(fair, balanced=True)
    assert comment.endswith("train with --class-weight none for accuracy")
    assert "--class-weight" not in compare_with_majority(fair)[0]
    assert compare_with_majority(Evaluation(labels, labels, classes, chances, folds, (1.0, 1.0))) == []
    one = Evaluation(labels[:2], labels[:2], classes, chances, folds[:2], (1.0,))
    assert (majority_class(one), compare_with_majority(one)) == (None, [])
