"""Least squares against fits that leave each document out."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.heads.problems import problem
from tfcr.features import matrix
from tfcr.features.matrix import DenseFeatures
from tfcr.heads import make_targets, resolve_head, ridge
from tfcr.heads.ridge import STRENGTHS


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("rows", [4096, 7])  # in one chunk, or several
def test_ridge_picks_its_strength_by_leaving_each_document_out(
    n_classes: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix, "ROWS", rows)
    features, _, targets = problem(n_classes, n=60, columns=8)
    features[:, 3] *= 1e-2  # an eigenvalue far below 1
    outputs = list(range(targets.n_outputs))
    weights, signs = targets.document_weights(), targets.signs(outputs)
    X = features.astype(np.float64)

    def fit(rows: NDArray[np.int64], strength: float) -> NDArray[np.float64]:
        weighted = X[rows] * weights[rows, None]
        gram = X[rows].T @ weighted + strength * np.eye(X.shape[1])
        return np.asarray(np.linalg.solve(gram, weighted.T @ signs[rows]))

    errors = []
    everyone = np.arange(len(X))
    for strength in STRENGTHS:
        left_out = [signs[i] - X[i] @ fit(np.delete(everyone, i), strength) for i in everyone]
        errors.append(sum(weights[i] * (left_out[i] ** 2).sum() for i in everyone))
    expected = fit(everyone, STRENGTHS[int(np.argmin(errors))])
    ours = resolve_head("ridge", C=1).solve(DenseFeatures(features), targets, outputs)
    np.testing.assert_allclose(np.vstack([ours.coefficients, ours.intercepts]), expected, rtol=1e-3, atol=1e-4)


def test_a_sample_of_the_documents_picks_the_strength_the_same_way_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    features, _, targets = problem(2, n=60, columns=8)
    monkeypatch.setattr(ridge, "MAX_LEFT_OUT", 5)
    directions, shrunk, moments = np.eye(9), np.full((9, 3), 0.01), np.ones((9, 1))
    given = DenseFeatures(features), targets.signs([0]), targets, directions, shrunk, moments
    some = ridge._left_out_errors(*given)
    np.testing.assert_array_equal(ridge._left_out_errors(*given), some)
    monkeypatch.setattr(ridge, "MAX_LEFT_OUT", 60)
    assert (some < ridge._left_out_errors(*given) / 2).all()


def test_a_document_of_weight_three_leaves_one_of_three_out() -> None:
    features, y, _ = problem(2, n=40, columns=5)
    rows = np.repeat(np.arange(40), np.where(np.arange(40) % 4, 1, 3))
    weighted = make_targets(y, np.arange(2), np.where(np.arange(40) % 4, 1.0, 3.0), "balanced")
    repeated = make_targets(y[rows], np.arange(2), np.ones(len(rows)), "balanced")
    shrunk, moments = np.full((6, 2), 0.02), np.ones((6, 1))
    found = [
        ridge._left_out_errors(DenseFeatures(X), targets.signs([0]), targets, np.eye(6), shrunk, moments)
        for X, targets in [(features, weighted), (features[rows], repeated)]
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_products_with_the_features_stay_in_float32() -> None:
    class InFloat32(DenseFeatures):
        def transposed_times(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
            assert values.dtype == np.float32
            return super().transposed_times(values)

    features, _, targets = problem(2, n=40, columns=5)
    found = resolve_head("ridge", C=1).solve(InFloat32(features), targets, [0])
    assert found.coefficients.dtype == found.intercepts.dtype == np.float64
