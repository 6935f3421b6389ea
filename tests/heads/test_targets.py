"""Targets of several labels: signs, weights, loss and decisions, against formulas written out."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from tfcr.decision import hits_of_members
from tfcr.features.matrix import DenseFeatures
from tfcr.heads import SeveralTargets, make_targets
from tfcr.heads.sklearn_head import SklearnHead
from tfcr.heads.stacking import _best_threshold, tune_thresholds
from tfcr.text.label_sets import find_label_sets

LABELS = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]], bool)


def several(**changes: object) -> SeveralTargets:
    given = {"sample_weight": np.array([1.0, 2.0, 1.0, 3.0]), "class_weight": np.array([2.0, 4.0, 9.0]), **changes}
    return SeveralTargets(LABELS, 3, **given)  # type: ignore[arg-type]


def test_each_class_is_learned_against_the_documents_without_it() -> None:
    targets = several()
    assert targets.n_outputs == 3
    assert targets.signs([0, 1]).tolist() == [[1, 1], [-1, -1], [1, -1], [-1, 1]]
    assert targets.one_vs_rest_weights([0, 1]).tolist() == [[2, 4], [2, 2], [2, 1], [3, 12]]
    assert targets.document_weights().tolist() == [3, 2, 2, 12]
    assert targets.class_totals().tolist() == [2, 4, 0]
    assert targets.constant_signs().tolist() == [0, 0, -1]
    assert targets.rows(np.array([0])).constant_signs().tolist() == [1, 1, -1]
    assert targets.without(np.array([0, 2])).class_totals().tolist() == [0, 3, 0]
    assert SeveralTargets(LABELS[:, :2], 2, np.ones(4), np.ones(2)).n_outputs == 2  # of two classes, not one


def test_balanced_weights_leave_out_a_class_without_documents() -> None:
    sets = find_label_sets(LABELS.astype(int))
    targets = make_targets(sets, sets.classes, np.ones(4), "balanced")
    assert isinstance(targets, SeveralTargets)
    assert targets.class_weight[:2].tolist() == [4 / (3 * 2), 4 / (3 * 2)]
    assert np.isfinite(targets.class_weight).all()


def test_the_loss_is_the_weighted_mean_of_one_vs_rest_logistic_losses() -> None:
    targets, part_weights = several(), np.array([0.5, 2.0])
    stacked = np.random.default_rng(0).normal(size=(2, 4, 3))
    expected = total = 0.0
    for document in range(4):
        for number in range(3):
            own = bool(LABELS[document, number])
            weight = targets.sample_weight[document] * (math.sqrt(targets.class_weight[number]) if own else 1)
            score = float(part_weights @ stacked[:, document, number])
            expected += weight * math.log(1 + math.exp(-score if own else score))
            total += weight
    ahead = targets.ahead(stacked)
    loss, gradient = targets.loss(part_weights, ahead)
    assert loss == pytest.approx(expected / total)
    for part in range(2):
        step = np.eye(2)[part] * 1e-6
        change = targets.loss(part_weights + step, ahead)[0] - targets.loss(part_weights - step, ahead)[0]
        assert gradient[part] == pytest.approx(change / 2e-6, rel=1e-4)
        slope, curvature = targets.slope_and_curvature(0.7, ahead[part])
        nearby = [targets.slope_and_curvature(0.7 + far, ahead[part])[0] for far in (-1e-6, 1e-6)]
        losses = [targets.loss(np.array([0.7 + far]), ahead[part : part + 1])[0] for far in (-1e-6, 1e-6)]
        assert slope == pytest.approx((losses[1] - losses[0]) / 2e-6, rel=1e-4)
        assert curvature == pytest.approx((nearby[1] - nearby[0]) / 2e-6, rel=1e-4)


def test_decisions_are_made_at_the_natural_threshold() -> None:
    targets = several(sample_weight=np.ones(4))
    decided = targets.decide(np.array([[1.0, -1, -1], [-1, -1, -1], [1, 1, -1], [0, 1, -1]]))
    assert decided.astype(int).tolist() == [[1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert targets.macro_f1(decided) == pytest.approx((1 + 2 * 1 / 4) / 2)


@pytest.mark.parametrize(
    ("scores", "own", "expected"),
    [
        ([3.0, 2.0, 1.0], [1, 0, 1], 0.5),
        ([3.0, 2.0, 1.0], [1, 1, 0], 1.5),
        ([3.0, 3.0, 1.0], [1, 0, 0], 2.0),  # equal scores are assigned together
    ],
)
def test_the_best_threshold_is_half_way_between_two_scores(
    scores: list[float], own: list[int], expected: float
) -> None:
    labels = np.array([own, [0, 0, 1]], bool).T
    truth = SeveralTargets(labels, 2, np.ones(3), np.ones(2))
    hits = hits_of_members(labels, np.zeros((3, 2), bool))
    assert _best_threshold(np.array(scores), truth, 0, hits, 0.0) == expected
    assert _best_threshold(np.array(scores), truth, 0, hits, 1.1) is None  # no micro-F1 is that large


def tuning_problem(n_documents: int, shift: float) -> tuple[np.ndarray, SeveralTargets]:
    random = np.random.default_rng(0)
    labels = random.random((n_documents, 2)) < 0.3
    weight = labels.sum() / (2 * labels.sum(axis=0))
    scores = np.where(labels, 1.0, -1.0) + random.normal(size=labels.shape)
    scores[:, 0] += shift
    return scores, SeveralTargets(labels, 2, np.ones(n_documents), weight)


def test_a_threshold_moves_only_where_it_gains_more_than_a_standard_error() -> None:
    scores, truth = tuning_problem(2000, shift=2.0)
    thresholds = tune_thresholds(scores, truth, truth)
    assert thresholds[0] == pytest.approx(2.0, abs=0.6)  # where the scores were shifted to
    assert abs(thresholds[1]) < 0.6
    right = np.where(truth.labels, 0.1, -3.0)
    assert tune_thresholds(right, truth, truth).tolist() == [0, 0]  # nothing to gain
    before = hits_of_members(truth.labels, scores > 0).micro_f1()
    assert hits_of_members(truth.labels, scores > thresholds).micro_f1() >= before


def test_thresholds_stay_natural_if_the_user_weighs_classes_otherwise() -> None:
    scores, truth = tuning_problem(2000, shift=2.0)
    other = SeveralTargets(truth.labels, 2, truth.sample_weight, np.array([1.0, 5.0]))
    assert tune_thresholds(scores, other, other).tolist() == [0, 0]


@pytest.mark.parametrize("estimator", [LogisticRegression(), RidgeClassifier()])
def test_a_scikit_learn_classifier_is_fitted_for_each_class(estimator: object) -> None:
    random = np.random.default_rng(0)
    columns = random.normal(size=(60, 5)).astype(np.float32)
    labels = np.c_[columns[:, 0] > 0, columns[:, 1] > 0, np.ones(60, bool)]
    features = DenseFeatures(np.c_[columns, np.ones(60, np.float32)])
    targets = SeveralTargets(labels, 3, np.ones(60), np.ones(3))
    solution = SklearnHead(estimator).solve(features, targets, [0, 1, 2])
    scores = columns @ solution.coefficients + solution.intercepts
    assert np.mean((scores > 0)[:, :2] == labels[:, :2]) > 0.95
    assert not solution.coefficients[:, 2].any()
