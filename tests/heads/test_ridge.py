"""Least squares against fits that leave each document out."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.heads.problems import problem
from tfcr.features.matrix import DenseFeatures
from tfcr.heads import resolve_head
from tfcr.heads.ridge import STRENGTHS


@pytest.mark.parametrize("n_classes", [2, 4])
def test_ridge_picks_its_strength_by_leaving_each_document_out(n_classes: int) -> None:
    features, _, targets = problem(n_classes, n=60, columns=8)
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
