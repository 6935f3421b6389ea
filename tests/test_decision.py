"""From scores to probabilities and labels: small cases that one can check by hand."""

import math
import re
from time import process_time

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix as sklearn_confusion
from sklearn.metrics import f1_score

from tfcr.decision import (
    LINKS,
    Decision,
    best_class,
    class_position,
    class_scores,
    confusion_matrix,
    cost_matrix,
    logits,
    macro_f1,
    macro_f1_of_labels,
    output_classes,
    output_offsets,
)
from tfcr.errors import InputError


@pytest.mark.parametrize(("n_classes", "expected"), [(1, [0]), (2, [1]), (3, [0, 1, 2])])
def test_two_classes_have_one_output_for_the_second(n_classes: int, expected: list[int]) -> None:
    assert output_classes(n_classes).tolist() == expected


def test_a_single_output_speaks_for_its_class_and_against_the_other() -> None:
    assert class_scores(np.array([[1.5], [-2.0]])).tolist() == [[-1.5, 1.5], [2.0, -2.0]]
    assert class_scores(np.array([[1.0, 2.0, 3.0]])).tolist() == [[1, 2, 3]]
    assert class_scores(np.ones((4, 5, 1))).shape == (4, 5, 2)


def test_logits_of_a_single_output_differ_by_it() -> None:
    assert logits(np.array([[3.0]])).tolist() == [[-1.5, 1.5]]
    assert logits(np.array([[1.0, 2.0, 3.0]])).tolist() == [[1, 2, 3]]
    assert logits(np.ones((5, 4, 1))).shape == (5, 4, 2)  # of several parts
    assert logits(np.ones((5, 1, 3))).shape == (5, 1, 3)


@pytest.mark.parametrize("offsets", [[0.5, 2.0], [0.0, 1.0, 2.0]])
def test_offsets_of_outputs_move_classes_by_their_offsets(offsets: list[float]) -> None:
    scores = np.zeros((1, len(output_classes(len(offsets)))))
    moved = logits(scores + output_offsets(np.array(offsets)))[0]
    np.testing.assert_allclose(moved - moved[0], np.array(offsets) - offsets[0])


def test_the_largest_score_wins_and_ties_go_to_the_first_class() -> None:
    assert best_class(np.array([[0.0], [0.1], [-0.1]])).tolist() == [0, 1, 0]
    found = best_class(np.array([[0.2, 0.7, 0.7], [3.0, 2.0, 1.0], [1.0, 1.0, 2.0]]))
    assert found.tolist() == [1, 0, 2]
    assert found.dtype == np.int64


@pytest.mark.parametrize("link", sorted(set(LINKS) - {"independent"}))
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_probabilities_add_up_and_follow_the_scores(link: str, n_outputs: int) -> None:
    scores = np.random.default_rng(0).normal(size=(20, n_outputs)) * 5
    scores[0] = -800  # sigmoids that are all 0
    found = LINKS[link](scores)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()
    best = (scores[:, 0] > 0) if n_outputs == 1 else scores.argmax(axis=1)
    np.testing.assert_array_equal(found[1:].argmax(axis=1), best[1:])


def sigmoid(score: float) -> float:
    return 1 / (1 + math.exp(-score))


HAND_WORKED: dict[str, tuple[list[float], list[float]]] = {
    # one output of score 1, and three outputs of scores 1, 0, -1; before they are normalised
    "sigmoid": ([sigmoid(-1), sigmoid(1)], [sigmoid(1), 0.5, sigmoid(-1)]),
    "softmax": ([math.exp(-1), math.e], [math.e, 1, math.exp(-1)]),
    "multinomial": ([sigmoid(-1), sigmoid(1)], [math.e, 1, math.exp(-1)]),
}


def test_every_link_is_worked_by_hand_here() -> None:
    assert {*HAND_WORKED, "independent"} == set(LINKS)


def test_independent_probabilities_do_not_add_up() -> None:
    found = Decision(np.arange(3), "independent", "lists").probabilities(np.array([[1.0, 0.0, -1.0]]))
    np.testing.assert_allclose(found[0], [sigmoid(1), 0.5, sigmoid(-1)], rtol=1e-12)


@pytest.mark.parametrize("link", HAND_WORKED)
def test_probabilities_of_each_link(link: str) -> None:
    for scores, expected in zip([[1.0], [1.0, 0.0, -1.0]], HAND_WORKED[link], strict=True):
        found = Decision(np.arange(max(2, len(scores))), link).probabilities(np.array([scores]))
        np.testing.assert_allclose(found[0], np.array(expected) / sum(expected), rtol=1e-12)


def test_sigmoids_that_are_all_zero_give_every_class_the_same_probability() -> None:
    assert LINKS["sigmoid"](np.full((1, 4), -800.0)).tolist() == [[0.25] * 4]
    np.testing.assert_allclose(LINKS["sigmoid"](np.array([[-800.0, -2.0]])), [[0, 1]])


def test_a_decision_gives_labels_of_the_classes_own_type() -> None:
    decision = Decision(np.array(["ham", "spam"]), "sigmoid")
    assert decision.n_outputs == 1
    assert decision.labels(np.array([[-1.0], [2.0]])).tolist() == ["ham", "spam"]
    numbers = Decision(np.array([2, 5, 9]), "softmax")
    assert numbers.n_outputs == 3
    assert numbers.labels(np.array([[0.0, 1.0, 2.0]])).tolist() == [9]
    assert [class_position(numbers.classes, label) for label in (2, 5, 9)] == [0, 1, 2]
    assert type(class_position(numbers.classes, 5)) is int


def test_an_unknown_class_is_refused_with_the_known_ones() -> None:
    message = "unknown class 'eggs'; known: ham, spam."
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        class_position(np.array(["ham", "spam"]), "eggs")


def test_confusion_is_counted_by_true_and_predicted_class() -> None:
    true, predicted = np.array([0, 0, 1, 2, 2]), np.array([0, 1, 1, 0, 2])
    expected = [[1, 1, 0], [0, 1, 0], [1, 0, 1]]
    assert confusion_matrix(true, predicted, 3).tolist() == expected
    assert confusion_matrix(true, predicted, 3).tolist() == sklearn_confusion(true, predicted).tolist()
    weights = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    assert confusion_matrix(true, predicted, 3, weights).tolist() == [[1, 2, 0], [0, 4, 0], [8, 0, 16]]
    assert confusion_matrix(true[:1], predicted[:1], 3).tolist() == [
        [1, 0, 0],
        [0] * 3,
        [0] * 3,
    ]  # classes without documents


def test_macro_f1_is_the_mean_over_classes_with_documents() -> None:
    confusion = np.array([[2, 0, 1], [1, 0, 0], [0, 0, 0]])  # F1 is 2 · 2 / (3 + 3), and 0; the third has none
    assert macro_f1(confusion) == pytest.approx((2 / 3 + 0) / 2)
    assert macro_f1(confusion, np.array([True, False, True])) == pytest.approx(2 / 3)
    assert macro_f1(confusion, np.array([True, True, False])) == pytest.approx(1 / 3)  # one document is enough
    assert macro_f1(confusion, np.array([False, False, True])) == 0
    assert macro_f1(np.zeros((2, 2))) == 0


def test_macro_f1_of_labels_is_scikit_learns() -> None:
    labels, predicted = np.array(["b", "a", "b", "c", "c"]), np.array(["b", "b", "b", "c", "a"])
    expected = f1_score(labels, predicted, average="macro")
    assert macro_f1_of_labels(labels, predicted) == pytest.approx(expected)
    # a class that is predicted only has no F1 of its own
    assert macro_f1_of_labels(np.array(["a", "a"]), np.array(["a", "x"])) == pytest.approx(2 / 3)


def test_costs_of_all_pairs_of_many_classes_take_no_time() -> None:
    classes = np.array([f"class {number:03}" for number in range(300)])
    pairs = {(str(true), str(assigned)): 2.0 for true in classes for assigned in classes}
    start = process_time()
    assert (cost_matrix(pairs, classes) == 2).all()
    assert process_time() - start < 2


def test_scores_of_many_classes_need_no_matrix() -> None:
    labels = np.arange(100_000)
    assert macro_f1_of_labels(labels, labels) == 1  # a matrix would take 80 GB
    assert macro_f1_of_labels(labels, np.roll(labels, 1)) == 0
