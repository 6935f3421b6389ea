"""Logistic regression and the SVM against liblinear, whichever way a Newton step is solved."""

import itertools
import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.heads.problems import STRENGTHS_OF_C, objective, problem
from tfcr.errors import InputError
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.heads import dual_descent, make_targets, newton, resolve_head
from tfcr.heads.dual_descent import descend
from tfcr.heads.newton import LossFunction, logistic_loss, squared_hinge_loss

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


# losses ------------------------------------------------------------------------------------------------------------

LOSSES: dict[str, tuple[LossFunction, Callable[[float], float]]] = {
    "logistic": (logistic_loss, lambda margin: math.log1p(math.exp(-margin))),
    "squared hinge": (squared_hinge_loss, lambda margin: max(0, 1 - margin) ** 2),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_and_its_derivatives_are_those_of_the_formula(name: str) -> None:
    ours, formula = LOSSES[name]
    scores = np.array([[-2.0, 0.5], [0.3, 3.0], [1.5, -0.1]])
    signs = np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    weights = np.array([[1.0, 2.0], [3.0, 0.5], [0.25, 4.0]])

    def value(moved: NDArray[np.float64], i: int, k: int) -> float:
        return float(weights[i, k] * formula(signs[i, k] * moved[i, k]))

    def at(scores: NDArray[np.float64]) -> Any:
        return ours(scores, signs, weights)

    found = at(scores)
    np.testing.assert_allclose(found.value, [sum(value(scores, i, k) for i in range(3)) for k in range(2)])
    step = 1e-6
    for i, k in itertools.product(range(3), range(2)):
        up, down = scores.copy(), scores.copy()
        up[i, k] += step
        down[i, k] -= step
        assert found.slope[i, k] == pytest.approx((value(up, i, k) - value(down, i, k)) / (2 * step), abs=1e-5)
        assert found.curvature[i, k] == pytest.approx(
            (at(up).slope[i, k] - at(down).slope[i, k]) / (2 * step), abs=1e-5
        )


def test_losses_of_large_scores_do_not_overflow() -> None:
    scores = np.array([[500.0], [-500.0]], np.float32)
    ones = np.ones((2, 1), np.float32)
    for loss, _ in LOSSES.values():
        found = loss(scores, ones, ones)
        assert all(np.isfinite(array).all() for array in found)
        assert found.slope[0, 0] == 0
        assert found.curvature[0, 0] == 0


# step sizes --------------------------------------------------------------------------------------------------------


def parabola(minimum: float, scale: float = 1.0) -> Any:
    """Return the objective and its slope along a step, scale · (size - minimum)²."""
    return lambda sizes: (scale * (sizes - minimum) ** 2, 2 * scale * (sizes - minimum))


@pytest.mark.parametrize(
    ("minimum", "expected"), [(1.0, 1), (0.97, 1), (3.0, 1), (0.25, 0.25), (0.6, 0.6), (0.01, 0.01)]
)
def test_a_step_goes_to_the_minimum_and_no_further_than_one(minimum: float, expected: float) -> None:
    along = parabola(minimum)
    objective, slope = along(np.zeros(1))
    [size] = newton._step_sizes(along, objective, slope)
    assert size == pytest.approx(expected, abs=2**-9)
    assert size <= max(expected, minimum) + 1e-7  # bisection ends before the minimum


def test_each_output_has_a_step_size_of_its_own() -> None:
    along = parabola(np.array([0.5, 2.0, 0.125]))  # type: ignore[arg-type]
    objective, slope = along(np.zeros(3))
    found = newton._step_sizes(along, objective, slope)
    assert found.dtype == np.float32
    assert found == pytest.approx([0.5, 1, 0.125], abs=2**-9)


def test_an_objective_that_cannot_fall_gets_no_step() -> None:
    def flat_then_up(sizes: NDArray[np.float32]) -> Any:
        return 1 + 1e-3 * np.ones_like(sizes), -np.ones_like(sizes)  # a slope that promises what never comes

    assert newton._step_sizes(flat_then_up, np.ones(1), -np.ones(1)).tolist() == [0]

    def rounding(sizes: NDArray[np.float32]) -> Any:
        return 1 + 1e-8 * np.ones_like(sizes), -np.zeros_like(sizes)

    assert newton._step_sizes(rounding, np.ones(1), -np.ones(1)).tolist() != [0]


# the equations of a step -------------------------------------------------------------------------------------------


class Counted(DenseFeatures):
    """Features that count their products."""

    products: ClassVar[list[int]] = []

    def times(self, coefficients: NDArray[np.float32]) -> NDArray[np.float32]:
        self.products.append(1)
        return super().times(coefficients)


def ill_conditioned(n_documents: int = 50, n_columns: int = 30) -> Counted:
    random = np.random.default_rng(0)
    scales = np.logspace(0, 2, n_columns)
    Counted.products.clear()
    return Counted((random.normal(size=(n_documents, n_columns)) * scales).astype(np.float32))


def newton_system(features: DenseFeatures, curvature: NDArray[Any]) -> NDArray[np.float64]:
    X = features.matrix.astype(np.float64)
    return np.eye(X.shape[1]) + X.T @ (curvature[:, None] * X)


def test_the_gram_matrix_solves_a_step_of_one_curvature_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "PATIENT_CG_STEPS", 3)
    features = ill_conditioned()
    curvature, right = np.full((50, 1), 0.5, np.float32), np.ones((30, 1), np.float32)
    hessian = newton._Hessian(features)
    step = hessian._by_conjugate_gradients(curvature, right)
    assert len(Counted.products) == 3 + 1  # three patient steps, and one with the exact inverse
    residual = newton_system(features, curvature[:, 0]) @ step - right
    assert np.linalg.norm(residual) <= newton.RESIDUAL * np.linalg.norm(right)
    assert hessian.factor is not None
    lower = np.tril(hessian.factor)
    np.testing.assert_allclose(lower @ lower.T, newton_system(features, curvature[:, 0]), rtol=1e-4, atol=0.1)
    Counted.products.clear()
    hessian._by_conjugate_gradients(curvature * 1.5, right)  # close enough: no new factor
    assert hessian.factor_curvature == 0.5
    assert len(Counted.products) <= 2
    for factor in (2.0, 1.0):  # too far: twice the last one, then half
        hessian._by_conjugate_gradients(curvature * np.float32(factor), right)
        assert hessian.factor_curvature == pytest.approx(0.5 * factor)


def test_too_many_columns_have_no_gram_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "PATIENT_CG_STEPS", 3)
    curvature, right = np.full((50, 1), 0.5, np.float32), np.ones((30, 1), np.float32)
    for limit, expected in [(30, True), (29, False)]:
        monkeypatch.setattr(newton, "MAX_GRAM_COLUMNS", limit)
        hessian = newton._Hessian(ill_conditioned())
        hessian._by_conjugate_gradients(curvature, right)
        assert (hessian.factor is not None) == expected


def test_conjugate_gradients_stop_at_their_limit_and_at_their_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "MAX_CG_STEPS", 5)
    curvature = np.random.default_rng(1).uniform(0.1, 1, (50, 2)).astype(np.float32)
    right = np.random.default_rng(2).normal(size=(30, 2)).astype(np.float32)
    newton._Hessian(ill_conditioned())._by_conjugate_gradients(curvature, right)
    assert len(Counted.products) == 5
    monkeypatch.setattr(newton, "MAX_CG_STEPS", 1000)
    features = ill_conditioned()
    found = newton._Hessian(features)._by_conjugate_gradients(curvature, right)
    for output in range(2):
        residual = newton_system(features, curvature[:, output]) @ found[:, output] - right[:, output]
        norm = np.linalg.norm(right[:, output])
        assert np.linalg.norm(residual) <= 1.01 * newton.RESIDUAL * norm
    steps = len(Counted.products)
    Counted.products.clear()
    newton._Hessian(features)._by_conjugate_gradients(curvature, right * np.float32(1e-5))  # the size does not matter
    assert len(Counted.products) == steps
    Counted.products.clear()
    newton._Hessian(features)._by_conjugate_gradients(curvature, np.zeros_like(right))  # nothing to do
    assert len(Counted.products) == 0


def test_a_singular_matrix_gets_a_larger_diagonal() -> None:
    found = newton._factorised(np.ones((2, 2), np.float32))
    lower = np.tril(found)
    np.testing.assert_allclose(lower @ lower.T, [[1, 1], [1, 1]], atol=0.02)
    assert lower[1, 1] > 0
    message = "found NaN or infinity in features or weights; expected finite numbers"
    with pytest.raises(InputError, match=f"^{message}$"):
        newton._factorised(-np.eye(2, dtype=np.float32))  # no diagonal is large enough


@pytest.mark.parametrize("exact", [True, False])
def test_a_step_solves_the_equations_of_each_output(exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first output has two support vectors, the second none, the third all documents."""
    random = np.random.default_rng(3)
    features = DenseFeatures(random.normal(size=(20, 4)).astype(np.float32))
    coefficients = random.normal(size=(4, 3)).astype(np.float32)
    scores = features.times(coefficients)
    curvature = random.uniform(0.5, 2, (20, 3)).astype(np.float32)
    curvature[2:, 0] = curvature[:, 1] = 0
    slope = np.where(curvature > 0, random.normal(size=(20, 3)), 0).astype(np.float32)
    gradient = features.transposed_times(slope) + coefficients
    monkeypatch.setattr(newton, "EXACT_STEPS", 10**9 if exact else 0)
    monkeypatch.setattr(newton, "HESSIAN_STEPS", 0)
    monkeypatch.setattr(newton, "RESIDUAL", 1e-6)
    loss = newton.Loss(np.zeros(3), slope, curvature)
    step = newton._Hessian(features).newton_step(loss, gradient, coefficients, scores)
    for output in range(3):
        expected = np.linalg.solve(newton_system(features, curvature[:, output]), -gradient[:, output])
        np.testing.assert_allclose(step[:, output], expected, rtol=1e-3, atol=1e-4)


def test_exact_steps_are_taken_where_support_vectors_are_few_and_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def exact_outputs(function: Any, outputs: list[int], threads: int) -> list[Any]:
        seen.append([*outputs, threads])
        return [function(output) for output in outputs]

    monkeypatch.setattr(newton, "in_parallel", exact_outputs)
    monkeypatch.setattr(newton, "n_threads", lambda: 8)
    monkeypatch.setattr(newton, "SMALL_KERNEL", 1)
    monkeypatch.setattr(newton, "HESSIAN_STEPS", 0)
    features = DenseFeatures(np.ones((10, 6), np.float32))
    curvature = np.zeros((10, 2), np.float32)
    curvature[:2, 0], curvature[:5, 1] = 1, 1  # support vectors: 2² < 2.5 · 10 = 5²
    loss, zeros = newton.Loss(np.zeros(2), np.zeros((10, 2), np.float32), curvature), np.zeros((6, 2), np.float32)

    def outputs(steps: float, kernel_bytes: int) -> list[int]:
        monkeypatch.setattr(newton, "EXACT_STEPS", steps)
        monkeypatch.setattr(newton, "MAX_KERNEL_BYTES", kernel_bytes)
        newton._Hessian(features).newton_step(loss, zeros, zeros, np.zeros((10, 2), np.float32))
        return seen[-1]

    assert outputs(2.5, 1 << 30) == [0, 8]
    assert outputs(2.6, 1 << 30) == [0, 1, 8]
    assert outputs(2.6, 12 * 25) == [0, 1, 1]  # memory for one kernel matrix: one thread
    assert outputs(2.6, 12 * 25 - 1) == [0, 6]  # the larger one does not fit
    assert outputs(2.6, 2 * 12 * 25) == [0, 1, 2]
    monkeypatch.setattr(newton, "SMALL_KERNEL", 5)
    assert outputs(2.6, 1 << 30) == [0, 1, 1]  # too small for threads
    monkeypatch.setattr(newton, "SMALL_KERNEL", 4)
    assert outputs(2.6, 1 << 30) == [0, 1, 8]
    monkeypatch.setattr(newton, "SMALL_KERNEL", 1)
    wide = DenseFeatures(np.ones((10, 100), np.float32))  # the rows of support vectors take more than their kernel
    features = wide
    zeros = np.zeros((100, 2), np.float32)
    assert outputs(2.6, 4 * 5 * 100) == [0, 1, 1]
    assert outputs(2.6, 4 * 5 * 100 - 1) == [0, 2]
    features, zeros = DenseFeatures(np.ones((10, 3), np.float32)), np.zeros((3, 2), np.float32)
    monkeypatch.setattr(newton, "HESSIAN_STEPS", 1.5)  # 2 · 3 < 1.5 · 10 = 5 · 3
    assert outputs(0, 1 << 30) == [0, 8]
    monkeypatch.setattr(newton, "HESSIAN_STEPS", 1.6)
    assert outputs(0, 1 << 30) == [0, 1, 8]
    assert outputs(0, 12 * 3**2) == [0, 1, 1]  # the Hessian has 3 rows, the kernel matrix would have 5


# the whole ---------------------------------------------------------------------------------------------------------


def test_finished_outputs_stay_as_they_are_and_others_move() -> None:
    features, _, targets = problem(3)
    signs, weights = targets.signs([0, 1, 2]), targets.one_vs_rest_weights([0, 1, 2])
    start = np.zeros((41, 3), np.float32)
    finished = np.array([True, False, True])
    found = newton.minimise(logistic_loss, DenseFeatures(features), signs, weights, start, finished)
    assert (found[:, [0, 2]] == 0).all()
    assert abs(found[:, 1]).max() > 0.1
    assert (start == 0).all()


@pytest.mark.parametrize("name", ["svm", "lr"])
def test_a_smaller_tolerance_comes_closer_in_more_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(3)
    outputs, steps = [0, 1, 2], []
    newton_step = newton._Hessian.newton_step

    def counted(*given: Any) -> Any:
        steps.append(1)
        return newton_step(*given)

    monkeypatch.setattr(newton._Hessian, "newton_step", counted)
    gaps, numbers = [], []
    best = None
    for tolerance in (1e-7, 1e-4, 1e-1):
        steps.clear()
        found = resolve_head(name, C=10.0).with_tolerance(tolerance).solve(DenseFeatures(features), targets, outputs)
        B = np.vstack([found.coefficients, found.intercepts])
        values = objective(name, 10.0, features, targets, outputs, B)
        best = values if best is None else best
        gaps.append(float((values / best).max() - 1))
        numbers.append(len(steps))
    assert numbers[0] > numbers[1] > numbers[2]
    assert gaps[1] < 1e-4
    assert gaps[1] <= gaps[2] < 0.2


def test_compiled_code_starts_the_svm_of_large_features_only(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(3, n=60, columns=8)
    called: list[int] = []

    def recorded(*given: Any) -> Any:
        called.append(1)
        return descend(*given)

    monkeypatch.setattr(dual_descent, "descend", recorded)

    def starts(head: str, features: Any, size: int, outputs: list[int], start: Any = None) -> bool:
        called.clear()
        monkeypatch.setattr(newton, "MIN_NATIVE_SIZE", {DenseFeatures: size, SparseFeatures: size})
        resolve_head(head, C=1.0).solve(features, targets, outputs, start)
        return bool(called)

    dense, sparse = DenseFeatures(features), SparseFeatures(sp.csr_array(features))
    for some in (dense, sparse):
        assert starts("svm", some, some.size * 3, [0, 1, 2])
        assert starts("svm", some, some.size * 3, [1])  # all outputs count, also where they are fitted one by one
        assert not starts("svm", some, some.size * 3 + 1, [0, 1, 2])
        assert not starts("lr", some, 0, [0, 1, 2])
        known = resolve_head("svm", C=1.0).solve(some, targets, [0, 1, 2])
        assert not starts("svm", some, 0, [0, 1, 2], known)


def test_newton_heads_keep_their_settings_with_another_tolerance() -> None:
    head = resolve_head("svm", C=3.0)
    assert head.with_tolerance(0.5) == newton.NewtonHead(squared_hinge_loss, "softmax", 3.0, 0.5)
    assert newton.NewtonHead(logistic_loss, "sigmoid") == newton.NewtonHead(logistic_loss, "sigmoid", 1.0, 1e-4)


@pytest.mark.parametrize("name", LOSSES)
def test_a_step_is_searched_along_the_objective_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(3)
    signs, weights = targets.signs([0, 1, 2]), np.float32(5) * targets.one_vs_rest_weights([0, 1, 2])
    search, searches = newton._step_sizes, []

    def checked(along: Any, objective: NDArray[np.float64], descent: NDArray[np.float64]) -> Any:
        value, slope = along(np.zeros(len(objective), np.float32))
        np.testing.assert_allclose(value, objective, rtol=1e-5)
        np.testing.assert_allclose(slope, descent, rtol=1e-3, atol=1e-3)
        for size in (0.25, 0.75):
            ahead, behind = (along(np.full(len(objective), size + sign * 0.01, np.float32))[0] for sign in (1, -1))
            _, slope = along(np.full(len(objective), size, np.float32))
            np.testing.assert_allclose(slope, (ahead - behind) / 0.02, rtol=0.05, atol=0.05)
        searches.append(objective)
        return search(along, objective, descent)

    monkeypatch.setattr(newton, "_step_sizes", checked)
    start, nothing = np.random.default_rng(0).normal(size=(41, 3)).astype(np.float32), np.zeros(3, np.bool_)
    newton.minimise(LOSSES[name][0], DenseFeatures(features), signs, weights, start, nothing)
    head = "lr" if name == "logistic" else "svm"
    expected = objective(head, 5.0, features, targets, [0, 1, 2], start.astype(np.float64))
    np.testing.assert_allclose(searches[0], expected, rtol=1e-5)
    assert len(searches) > 1


def test_an_output_that_cannot_be_improved_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(3)
    outputs: list[int] = []

    def stuck(along: Any, objective: NDArray[np.float64], descent: NDArray[np.float64]) -> Any:
        outputs.append(len(objective))
        return np.array([1, 0, 1][: len(objective)], np.float32)

    monkeypatch.setattr(newton, "_step_sizes", stuck)
    resolve_head("lr", C=1.0).with_tolerance(1e-6).solve(DenseFeatures(features), targets, [0, 1, 2])
    assert outputs[:3] == [3, 2, 1]


# precision and stopping --------------------------------------------------------------------------------------------


class InFloat32(DenseFeatures):
    """Features that refuse anything but float32: a product with float64 takes twice the memory and time."""

    def times(self, coefficients: NDArray[np.float32]) -> NDArray[np.float32]:
        assert coefficients.dtype == np.float32
        return super().times(coefficients)

    def transposed_times(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        assert values.dtype == np.float32
        return super().transposed_times(values)


@pytest.mark.usefixtures("_each_way")
@pytest.mark.parametrize("name", LOSSES)
def test_every_matrix_stays_in_float32(name: str) -> None:
    features, _, targets = problem(3, n=60, columns=8)
    loss = LOSSES[name][0]

    def checked(scores: NDArray[np.float32], signs: NDArray[np.float32], weights: NDArray[np.float32]) -> newton.Loss:
        assert scores.dtype == signs.dtype == weights.dtype == np.float32
        return loss(scores, signs, weights)

    head = newton.NewtonHead(checked, "softmax", C=1000.0, tolerance=1e-6)
    found = head.solve(InFloat32(features), targets, [0, 1, 2])
    assert found.coefficients.dtype == found.intercepts.dtype == np.float64  # what comes later is exact
    head.solve(InFloat32(features), targets, [0, 1, 2], found)


def test_a_line_search_asks_for_sizes_in_float32_and_a_dozen_times_at_most() -> None:
    along, asked = parabola(0.6), []

    def recorded(sizes: NDArray[np.float32]) -> Any:
        asked.append(sizes.dtype)
        return along(sizes)

    objective, slope = along(np.zeros(1))
    newton._step_sizes(recorded, objective, slope)
    assert asked == [np.float32] * 12  # the full step, ten halvings, and the result


def test_the_preconditioner_is_held_in_float32() -> None:
    hessian = newton._Hessian(ill_conditioned())
    hessian._refresh(np.ones((50, 2), np.float32))
    assert hessian.gram is not None
    assert hessian.factor is not None
    assert hessian.gram.dtype == hessian.factor.dtype == np.float32


def test_sums_over_documents_are_exact() -> None:
    """In float32, 2²⁴ + 1 is 2²⁴: the steps of a large problem would be lost in rounding."""
    large = np.array([[2.0**24], [1.0]], np.float32)
    ones, zeros = np.ones((2, 1), np.float32), np.zeros((2, 1), np.float32)
    assert squared_hinge_loss(zeros, ones, large).value.tolist() == [2**24 + 1]
    one_of_them = float(np.logaddexp(np.float32(0), np.float32(0)))
    assert logistic_loss(zeros, ones, large).value.tolist() == [pytest.approx((2**24 + 1) * one_of_them, rel=1e-12)]
    assert newton.dots(large, ones).tolist() == [2**24 + 1]


def test_an_output_is_done_when_a_step_promises_less_than_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of slope s promises to lower the objective by s / 2, as along a parabola."""
    features, _, targets = problem(3)
    signs, weights = targets.signs([0, 1, 2]), targets.one_vs_rest_weights([0, 1, 2])
    seen: list[NDArray[np.float64]] = []
    search = newton._step_sizes

    def recorded(along: Any, objective: NDArray[np.float64], descent: NDArray[np.float64]) -> Any:
        seen.append(-descent / 2 / objective)
        return search(along, objective, descent)

    monkeypatch.setattr(newton, "_step_sizes", recorded)
    start = np.random.default_rng(0).normal(size=(41, 3)).astype(np.float32) * np.array([0.1, 1, 10], np.float32)

    def outputs_per_step(tolerance: float) -> list[int]:
        seen.clear()
        nothing = np.zeros(3, np.bool_)
        newton.minimise(logistic_loss, DenseFeatures(features), signs, weights, start, nothing, tolerance)
        return [len(promised) for promised in seen]

    outputs_per_step(1e-4)
    smallest, middle, largest = sorted(seen[0])
    assert smallest < middle < largest
    for tolerance, second in [(smallest / 1.1, 3), (smallest * 1.1, 2), (middle * 1.1, 1), (largest * 1.1, 0)]:
        assert [*outputs_per_step(tolerance), 0][1] == second


def test_groups_of_outputs_of_sparse_features_give_what_all_together_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs are fitted in groups to save memory: their documents come in the same order in each."""
    features, _, targets = problem(11, n=90, columns=12)
    monkeypatch.setattr(newton, "MIN_NATIVE_SIZE", {SparseFeatures: 0, DenseFeatures: 0})
    sparse, head = SparseFeatures(sp.csr_array(features)), resolve_head("svm", C=1.0)
    together = head.outputs_together(sparse)
    assert together is not None
    assert together % 8 == 0
    assert head.outputs_together(DenseFeatures(features)) is None
    assert resolve_head("lr", C=1.0).outputs_together(sparse) is None
    whole = head.solve(sparse, targets, range(11))
    some, rest = head.solve(sparse, targets, range(8)), head.solve(sparse, targets, range(8, 11))
    np.testing.assert_array_equal(np.hstack([some.coefficients, rest.coefficients]), whole.coefficients)
    assert whole.duals is not None
    assert some.duals is not None
    np.testing.assert_array_equal(some.duals, whole.duals[:, :8])
