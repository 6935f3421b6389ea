"""The SVM by dual coordinate descent against its optimum."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from tests.heads.problems import STRENGTHS_OF_C, objective, problem
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.heads import dual_descent, newton
from tfcr.heads.dual_descent import descend
from tfcr.heads.newton import squared_hinge_loss
from tfcr.system.native import LANES, SPARSE_KERNELS, descend_once

KINDS: dict[str, Callable[[NDArray[np.float32]], DenseFeatures | SparseFeatures]] = {
    "dense": DenseFeatures,
    "sparse": lambda features: SparseFeatures(sp.csr_array(features)),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("C", STRENGTHS_OF_C)
def test_the_descent_knows_how_far_it_is_from_the_optimum(C: float, kind: Any) -> None:
    features, _, targets = problem(4)
    signs, weights = targets.signs(range(4)), np.float32(C) * targets.one_vs_rest_weights(range(4))
    coefficients, finished, _ = descend(kind(features), signs, weights, tolerance=1e-4)
    found = objective("svm", C, features, targets, range(4), coefficients.astype(np.float64))
    nothing, nowhere = np.zeros_like(coefficients), np.zeros(4, np.bool_)
    optimum = newton.minimise(squared_hinge_loss, DenseFeatures(features), signs, weights, nothing, nowhere)
    best = objective("svm", C, features, targets, range(4), optimum.astype(np.float64))
    assert (found[finished] <= best[finished] * (1 + 2e-4)).all()
    assert finished.all() if C <= 1 else True


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_threads_and_pieces_change_nothing(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(6, n=60, columns=8)
    signs, weights = targets.signs(range(6)), targets.one_vs_rest_weights(range(6))
    monkeypatch.setattr(dual_descent, "n_threads", lambda: 1)
    expected, finished, _ = descend(kind(features), signs, weights, 1e-3)
    assert finished.all()
    assert expected.shape == (9, 6)
    assert expected.dtype == np.float32
    monkeypatch.setattr(dual_descent, "n_threads", lambda: 3)
    monkeypatch.setattr(dual_descent, "MIN_THREADED", 0)
    np.testing.assert_array_equal(descend(kind(features), signs, weights, 1e-3)[0], expected)
    monkeypatch.setattr(dual_descent, "OPERATIONS", 10 * 9 * 6)  # ten documents at a time, about
    np.testing.assert_array_equal(descend(kind(features), signs, weights, 1e-3)[0], expected)


def test_outputs_are_split_into_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    def bounds(kind: str, n_outputs: int) -> list[tuple[int, int]]:
        features, ones = np.ones((3, 2), np.float32), np.ones((3, n_outputs), np.float32)
        made = dual_descent._DenseDescent if kind == "dense" else dual_descent._SparseDescent
        return made(KINDS[kind](features), ones, ones).bounds  # type: ignore[arg-type]

    monkeypatch.setattr(dual_descent, "n_threads", lambda: 2)
    assert bounds("dense", 1) == [(0, 1)]
    assert bounds("dense", 5) == [(0, 2), (2, 5)]
    widest = LANES[-1]
    assert bounds("sparse", 1) == [(0, 1)]
    assert bounds("sparse", widest) == [(0, widest)]
    assert bounds("sparse", 2 * widest + 1) == [(0, widest), (widest, 2 * widest), (2 * widest, 2 * widest + 1)]


def test_lanes_of_all_widths_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(7, n=60, columns=8)
    signs, weights = targets.signs(range(7)), targets.one_vs_rest_weights(range(7))
    expected, _, duals = descend(KINDS["sparse"](features), signs, weights, 1e-3)
    monkeypatch.setattr(dual_descent, "LANES", LANES[:1])
    narrow, _, narrow_duals = descend(KINDS["sparse"](features), signs, weights, 1e-3)
    np.testing.assert_allclose(narrow, expected, atol=1e-5)
    np.testing.assert_allclose(narrow_duals, duals, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("C", [2.0, 1e-3])
def test_the_gap_is_that_of_the_formula(kind: str, C: float) -> None:
    features, _, targets = problem(3, n=30, columns=6)
    signs, weights = targets.signs(range(3)), np.float32(C) * targets.one_vs_rest_weights(range(3))
    made = dual_descent._DenseDescent if kind == "dense" else dual_descent._SparseDescent
    descent = made(KINDS[kind](features), signs, weights)  # type: ignore[arg-type]
    pool = ThreadPoolExecutor(1)
    np.testing.assert_allclose(descent.gaps(pool), 1)  # no dual variable has moved: the dual objective is 0
    for _ in range(3):
        descent.run_epoch(pool)
    B, duals = descent.coefficients().astype(np.float64), descent.duals.astype(np.float64)
    primal = objective("svm", C, features, targets, range(3), B)
    dual = duals.sum(axis=0) - 0.5 * (B**2).sum(axis=0) - (duals**2 / (4 * weights)).sum(axis=0)
    np.testing.assert_allclose(descent.gaps(pool), (primal - dual) / primal, rtol=1e-3, atol=1e-5)
    assert (descent.gaps(pool) > -1e-6).all()
    assert (descent.gaps(pool) < 0.9).all()
    np.testing.assert_allclose(B, features.T.astype(np.float64) @ (duals * signs), rtol=1e-3, atol=1e-4)


def test_a_descent_that_stalls_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(2)
    signs, weights = targets.signs([0]), np.float32(1e4) * targets.one_vs_rest_weights([0])
    gaps: list[int] = []
    compute = dual_descent._Descent.gaps

    def counted(descent: Any, pool: Any) -> Any:
        gaps.append(1)
        return compute(descent, pool)

    monkeypatch.setattr(dual_descent._Descent, "gaps", counted)
    _, finished, _ = descend(DenseFeatures(features), signs, weights, 1e-7)
    assert not finished.any()
    assert len(gaps) < dual_descent.MAX_GAPS
    gaps.clear()
    descend(SparseFeatures(sp.csr_array(features)), signs, weights, 1e-7)  # goes on, since Newton's steps cost more
    assert len(gaps) == dual_descent.MAX_GAPS
    gaps.clear()
    descend(DenseFeatures(features), signs, weights * np.float32(1e-6), 1e-2)  # an easy one
    assert len(gaps) == 1


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_descent_begins_with_the_dual_variables_of_another(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(4, n=60, columns=8)
    signs, weights = targets.signs(range(4)), targets.one_vs_rest_weights(range(4))
    expected, _, duals = descend(kind(features), signs, weights, 1e-6)
    np.testing.assert_allclose(features.T @ (signs * duals), expected, atol=1e-3)  # Σ sign · dual · x
    epochs: list[int] = []
    run = dual_descent._Descent.run_epoch

    def counted(self: Any, pool: Any) -> None:
        epochs.append(1)
        run(self, pool)

    monkeypatch.setattr(dual_descent._Descent, "run_epoch", counted)
    again, finished, _ = descend(kind(features), signs, weights, 1e-3, duals)
    assert finished.all()
    assert len(epochs) == dual_descent.WARM_EPOCHS
    np.testing.assert_allclose(again, expected, atol=1e-2)


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_documents_of_weight_zero_are_not_visited(kind: Any) -> None:
    features, _, targets = problem(2, n=60, columns=6)
    signs, weights = targets.signs([0]), targets.one_vs_rest_weights([0])
    weights[::3] = 0
    used = weights[:, 0] > 0
    found, _, duals = descend(kind(features), signs, weights, 1e-6, np.ones_like(weights))
    assert (duals[~used] == 0).all()  # whatever they were before
    expected, _, _ = descend(kind(features[used]), signs[used], weights[used], 1e-6, np.ones((used.sum(), 1)))
    np.testing.assert_allclose(found, expected, atol=1e-2)


def test_only_outputs_that_have_not_converged_are_visited_again() -> None:
    ones = np.ones((3, 2), np.float32)
    descent = dual_descent._DenseDescent(DenseFeatures(ones), ones, ones)
    descent.active[:] = False
    descent.limits[:] = 1
    descent.reactivate(np.array([True, False]))
    assert descent.active.tolist() == [[True, False]] * 3
    assert np.isposinf(descent.limits).all()


def test_an_epoch_visits_every_document_once_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    features, signs = DenseFeatures(np.ones((10, 4), np.float32)), np.ones((10, 3), np.float32)
    descent = dual_descent._DenseDescent(features, signs, signs)
    descent.bounds = [(0, 1), (1, 3)]
    visits: list[tuple[int, list[int]]] = []

    def record(documents: NDArray[np.int64], task: int, worst: NDArray[np.float32]) -> None:
        visits.append((task, documents.tolist()))
        worst[:] = [0, 0.5, 2]

    monkeypatch.setattr(descent, "move", record)
    monkeypatch.setattr(dual_descent, "OPERATIONS", 2 * 4 * 3)  # two documents, and one more
    with ThreadPoolExecutor(1) as pool:
        descent.run_epoch(pool)
    assert [len(documents) for part, documents in visits if part == 0] == [3, 3, 3, 1]
    for part in (0, 1):
        assert sorted(number for at, documents in visits for number in documents if at == part) == list(range(10))
    assert visits[0][1] != list(range(3))  # in random order
    assert descent.limits.tolist() == [np.inf, 0.5, 2]  # nothing to shrink by where no gradient was above 0


@pytest.mark.parametrize(("gaps", "asked"), [([0.4, 0.3], 2), ([0.6], 1), ([0.5, 0.2, 0.1, 0.09], 4), ([0.4, 1e-5], 2)])
def test_a_descent_goes_on_while_the_gap_halves(gaps: list[float], asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(2, n=30, columns=6)
    left = list(gaps)
    monkeypatch.setattr(dual_descent._Descent, "gaps", lambda descent, pool: np.array([left.pop(0)]))
    _, finished, _ = descend(DenseFeatures(features), targets.signs([0]), targets.one_vs_rest_weights([0]), 1e-4)
    assert len(gaps) - len(left) == asked
    assert finished.tolist() == [gaps[-1] < 1e-4]


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_get_the_types_that_they_are_compiled_for(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other type would compile them anew, for seconds."""
    kernels = SPARSE_KERNELS[LANES[0]]
    kernel, seen = kernels.descend_once if kind == "sparse" else descend_once, []

    def recorded(*given: Any) -> None:
        seen.append([argument.dtype for argument in given if isinstance(argument, np.ndarray)])
        kernel(*given)

    monkeypatch.setattr(dual_descent, "descend_once", recorded)
    monkeypatch.setitem(SPARSE_KERNELS, LANES[0], kernels._replace(descend_once=recorded))
    features, _, targets = problem(3, n=30, columns=6)
    signs, weights = targets.signs(range(3)), np.float32(1e4) * targets.one_vs_rest_weights(range(3))
    double = SparseFeatures(sp.csr_array(features.astype(np.float64)))  # scipy divides sparse matrices in float64
    descend(double if kind == "sparse" else DenseFeatures(features), signs, weights, 1e-7)
    rows = [np.float32, np.int64] if kind == "dense" else [np.int64, np.int32, np.float32, np.int64]
    # signs, inverse, lengths, coefficients, duals, active, limits, worst
    state = [np.float32] * 5 + [np.bool_] + [np.float32] * 2
    assert len(seen) >= dual_descent.EPOCHS  # also after the first, when the limits have changed
    assert all(types == rows + state for types in seen)


def test_no_variable_is_skipped_in_the_first_epoch() -> None:
    ones = np.ones((3, 2), np.float32)
    descent = dual_descent._DenseDescent(DenseFeatures(ones), ones, ones)
    assert descent.active.all()
    assert np.isposinf(descent.limits).all()


def test_the_gap_of_many_documents_is_not_lost_in_rounding() -> None:
    """In float32, 2²⁴ + 1 is 2²⁴; every sum of the gap is made to be that."""
    ones = np.ones((2, 1), np.float32)
    descent = dual_descent._DenseDescent(DenseFeatures(np.zeros((2, 2), np.float32)), ones, ones)
    descent.planes[:] = [[2.0**12, 1]]
    descent.weights = descent.duals = np.array([[2.0**24], [1]], np.float32)
    descent.inverse = np.array([[2.0**-25], [0.5]], np.float32)
    exact = 2.0**24 + 1
    primal, dual = exact / 2 + exact, exact - exact / 2 - exact / 4
    assert descent.gaps(ThreadPoolExecutor(1)).tolist() == [pytest.approx((primal - dual) / primal, abs=1e-12)]


@pytest.mark.parametrize("kind", KINDS)
def test_duals_of_another_strength_are_scaled_to_the_best_multiple(kind: str) -> None:
    features, _, targets = problem(3, n=30, columns=6)
    signs, weights = targets.signs(range(3)), targets.one_vs_rest_weights(range(3))
    _, _, duals = descend(KINDS[kind](features), signs, np.float32(10) * weights, 1e-6)
    made = dual_descent._DenseDescent if kind == "dense" else dual_descent._SparseDescent
    descent = made(KINDS[kind](features), signs, weights, duals)  # type: ignore[arg-type]
    pool = ThreadPoolExecutor(1)

    def dual_objectives(factor: float) -> Any:
        scaled = factor * descent.duals
        penalty = ((factor * descent.coefficients()) ** 2).sum(axis=0)
        return scaled.sum(axis=0) - 0.5 * penalty - 0.5 * (descent.inverse * scaled**2).sum(axis=0)

    before = dual_objectives(1.0)
    descent.rescale()
    best = dual_objectives(1.0)
    assert (best > before).all()
    assert (best >= dual_objectives(0.9)).all()
    assert (best >= dual_objectives(1.1)).all()
    np.testing.assert_allclose(descent.coefficients(), features.T @ (signs * descent.duals), atol=1e-3)
    assert (descent.gaps(pool) < 1).all()
