"""Logistic regression and the SVM against liblinear, whichever way a Newton step is solved."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.heads.problems import STRENGTHS_OF_C, objective, problem
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.heads import make_targets, newton, resolve_head

WAYS: dict[str, dict[str, Any]] = {
    "conjugate gradients": {"PATIENT_CG_STEPS": 1000, "MAX_CG_STEPS": 1000, "EXACT_STEPS": 0},
    "preconditioned": {"PATIENT_CG_STEPS": 0, "MAX_CG_STEPS": 1000, "EXACT_STEPS": 0},
    "exact": {"EXACT_STEPS": 10**9},
    "descent first": {"MIN_NATIVE_SIZE": {DenseFeatures: 0, SparseFeatures: 0}},
}


@pytest.fixture(params=WAYS)
def _each_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Solve in each way that the size and the support vectors of a problem may lead to."""
    for name, value in WAYS[request.param].items():
        monkeypatch.setattr(newton, name, value)


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize("C", STRENGTHS_OF_C)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_svm_reaches_the_optimum_of_liblinear(n_classes: int, C: float) -> None:
    features, y, targets = problem(n_classes)
    outputs = list(range(targets.n_outputs))
    ours = resolve_head("svm", C=C).solve(DenseFeatures(features), targets, outputs)
    reference = LinearSVC(
        C=C, dual=False, tol=1e-8, max_iter=100_000, class_weight="balanced", fit_intercept=False
    ).fit(features, y)
    B = np.vstack([ours.coefficients, ours.intercepts])
    found = objective("svm", C, features, targets, outputs, B)
    best = objective("svm", C, features, targets, outputs, reference.coef_.T)
    np.testing.assert_allclose(found, best, rtol=1e-3)


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize("C", STRENGTHS_OF_C)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_lr_reaches_the_optimum_of_liblinear(n_classes: int, C: float) -> None:
    features, _, targets = problem(n_classes)
    outputs = list(range(targets.n_outputs))
    ours = resolve_head("lr", C=C).solve(DenseFeatures(features), targets, outputs)
    best = []
    for output in outputs:  # scikit-learn's liblinear refuses more than two classes: one at a time
        weight = targets.one_vs_rest_weights([output])[:, 0]
        reference = LogisticRegression(C=C, solver="liblinear", tol=1e-8, max_iter=10_000, fit_intercept=False)
        reference.fit(features, targets.signs([output])[:, 0], sample_weight=weight)
        best.append(reference.coef_[0])
    B = np.vstack([ours.coefficients, ours.intercepts])
    found = objective("lr", C, features, targets, outputs, B)
    np.testing.assert_allclose(found, objective("lr", C, features, targets, outputs, np.array(best).T), rtol=1e-3)


@pytest.mark.parametrize("name", ["svm", "lr"])
def test_collinear_features_and_huge_c(name: str) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 6)).astype(np.float32)
    features = np.hstack([X, X, np.ones((3000, 1), np.float32)])
    y = (X[:, 0] + random.normal(size=3000) > 0).astype(int)
    targets = make_targets(y, np.arange(2), np.ones(3000), None)
    found = resolve_head(name, C=1e8).solve(DenseFeatures(features), targets, [0])
    assert np.isfinite(found.coefficients).all()
    assert np.mean((features[:, :-1] @ found.coefficients + found.intercepts > 0)[:, 0] == y) > 0.7


@pytest.mark.parametrize("name", ["svm", "lr"])
def test_a_start_near_the_optimum_saves_steps_and_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(3)
    outputs = [0, 1, 2]
    steps = []
    newton_step = newton._Hessian.newton_step

    def counted(*given: Any) -> Any:
        steps.append(1)
        return newton_step(*given)

    monkeypatch.setattr(newton._Hessian, "newton_step", counted)
    near = resolve_head(name, C=50.0).solve(DenseFeatures(features), targets, outputs)
    steps.clear()
    cold = resolve_head(name, C=60.0).solve(DenseFeatures(features), targets, outputs)
    n_cold = len(steps)
    steps.clear()
    warm = resolve_head(name, C=60.0).solve(DenseFeatures(features), targets, outputs, near)
    assert len(steps) < n_cold
    np.testing.assert_allclose(warm.coefficients, cold.coefficients, atol=0.03 * abs(cold.coefficients).max())
