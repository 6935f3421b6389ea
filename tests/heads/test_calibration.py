"""Calibration, against scipy's optimum of the same loss, and on scores whose probabilities are known."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax

from tfcr.decision import LINKS, reliability
from tfcr.heads import Targets, calibration
from tfcr.heads.calibration import fit_calibration
from tfcr.heads.targets import SeveralTargets


def drawn_labels(logits: NDArray[np.float64], seed: int = 0) -> NDArray[np.int64]:
    chances = softmax(logits, axis=1).cumsum(axis=1)
    return np.asarray((np.random.default_rng(seed).random((len(logits), 1)) > chances).sum(axis=1))


def one_label(labels: NDArray[np.int64], n_classes: int) -> Targets:
    return Targets(labels, n_classes, np.ones(len(labels)), np.ones(n_classes))


@pytest.mark.parametrize("n_classes", [2, 3, 20])
def test_probabilities_that_were_shifted_and_scaled_come_back(n_classes: int) -> None:
    random = np.random.default_rng(1)
    logits = 2 * random.normal(size=(6000, n_classes)) + np.log(np.arange(1, n_classes + 1))
    labels = drawn_labels(logits)
    truth = one_label(labels, n_classes)
    scores = (logits - truth.log_frequencies()) / 3
    scores = np.diff(scores, axis=1) if n_classes == 2 else scores
    calibration = fit_calibration(scores, truth, truth)
    found = LINKS["multinomial"](calibration.logits(scores))
    assert np.abs(found - softmax(logits, axis=1)).mean() < 0.015
    right = found.argmax(axis=1) == labels
    assert reliability(found.max(axis=1), right).expected_error < 0.02


def test_several_labels_have_their_own_frequencies() -> None:
    random = np.random.default_rng(2)
    shifts = np.array([-2.0, 0.0, 1.0])
    logits = random.normal(size=(6000, 3)) + shifts
    members = random.random(logits.shape) < 1 / (1 + np.exp(-logits))
    truth = SeveralTargets(members, 3, np.ones(6000), np.ones(3))
    scores = (logits - shifts) * 2
    found = LINKS["independent"](fit_calibration(scores, truth, truth).logits(scores))
    assert np.abs(found - 1 / (1 + np.exp(-logits))).mean() < 0.02
    np.testing.assert_allclose(found.mean(axis=0), members.mean(axis=0), atol=0.01)


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_gradients_are_those_of_the_loss(seed: int) -> None:
    random = np.random.default_rng(seed)
    logits = random.normal(size=(5, 3))
    for truth in (
        Targets(random.integers(3, size=5), 3, random.random(5) + 0.1, np.ones(3)),
        SeveralTargets(random.random((5, 3)) < 0.5, 3, random.random(5) + 0.1, np.ones(3)),
    ):
        value, gradient = truth.log_loss(logits)
        step = 1e-6 * random.normal(size=logits.shape)
        assert truth.log_loss(logits + step)[0] - value == pytest.approx(np.vdot(gradient, step), abs=1e-10)
        along, move = random.normal(size=(5, 3)), random.normal(size=4)

        def by_move(length: float, truth: Targets = truth, along: Any = along, move: Any = move) -> Any:
            by_logits = truth.log_loss(logits + length * (move[0] * along + move[1:]))[1]
            return np.concatenate([[np.vdot(by_logits, along)], by_logits.sum(axis=0)])

        measured = (by_move(1e-5) - by_move(-1e-5)) / 2e-5
        np.testing.assert_allclose(truth.curvature(logits, along) @ move, measured, atol=1e-8)


@given(st.integers(0, 10**6), st.sampled_from([2, 3, 9]))
@settings(max_examples=20, deadline=None)
def test_no_other_parameters_are_likelier(seed: int, n_classes: int) -> None:
    random = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(n_classes), random.integers(n_classes, size=60) // 2])
    truth = one_label(labels, n_classes)
    scores = random.normal(size=(len(labels), n_classes)) + random.choice([-3, 0.5, 3]) * np.eye(n_classes)[labels]
    likelihood = calibration._Likelihood(scores, truth, truth.log_frequencies())
    found = likelihood.most_likely()
    least = likelihood.loss(found)[0]
    bounds = [(calibration.SMALLEST_SCALE, None), *[(None, None)] * (n_classes + 1)]
    theirs = minimize(likelihood.loss, found + 0.1, method="L-BFGS-B", jac=True, bounds=bounds, tol=1e-12)
    assert least <= theirs.fun + 1e-8
    assert found[0] >= calibration.SMALLEST_SCALE


def test_separable_scores_stay_finite() -> None:
    truth = one_label(np.repeat([0, 1], 5), 2)
    found = fit_calibration(np.repeat([[-1.0], [1.0]], 5, axis=0), truth, truth)
    assert 1 < found.scale < 50
