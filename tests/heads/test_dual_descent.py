"""The SVM by dual coordinate descent against its optimum."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tests.heads.problems import STRENGTHS_OF_C, objective, problem
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.heads import newton
from tfcr.heads.dual_descent import descend
from tfcr.heads.newton import squared_hinge_loss


@pytest.mark.parametrize("kind", [DenseFeatures, lambda features: SparseFeatures(sp.csr_array(features))])
@pytest.mark.parametrize("C", STRENGTHS_OF_C)
def test_the_descent_knows_how_far_it_is_from_the_optimum(C: float, kind: Any) -> None:
    features, _, targets = problem(4)
    signs, weights = targets.signs(range(4)), np.float32(C) * targets.one_vs_rest_weights(range(4))
    coefficients, finished = descend(kind(features), signs, weights, tolerance=1e-4)
    found = objective("svm", C, features, targets, range(4), coefficients.astype(np.float64))
    nothing, nowhere = np.zeros_like(coefficients), np.zeros(4, np.bool_)
    optimum = newton.minimise(squared_hinge_loss, DenseFeatures(features), signs, weights, nothing, nowhere)
    best = objective("svm", C, features, targets, range(4), optimum.astype(np.float64))
    assert (found[finished] <= best[finished] * (1 + 2e-4)).all()
    assert finished.all() if C <= 1 else True
