"""The table of heads: what each of them must do."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.heads.problems import as_documents, problem
from tfcr.errors import InputError, UnknownNameError
from tfcr.features.blocks import Block
from tfcr.features.matrix import DenseFeatures
from tfcr.heads import HEADS, Examples, fit_head, make_targets, resolve_head


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_repeat_and_remove(name: str, n_classes: int) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 5)).astype(np.float32)
    y = random.integers(0, n_classes, 90)
    weights = random.integers(0, 3, 90).astype(np.float64)
    blocks = [Block("all", np.ones(5, np.float32), None, "sum")]
    classes = np.arange(n_classes)
    used = weights > 0
    targets = make_targets(y[used], classes, weights[used], "balanced")
    weighted = fit_head(resolve_head(name, C=1.0), Examples(as_documents(X[used]), targets), blocks)
    rows = np.repeat(np.arange(90), weights.astype(int))
    targets = make_targets(y[rows], classes, np.ones(len(rows)), "balanced")
    repeated = fit_head(resolve_head(name, C=1.0), Examples(as_documents(X[rows]), targets), blocks)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=2e-2, atol=2e-3)


def test_heads_that_cannot_be() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown head 'svn'; known: lr, svm, ridge\. Did you mean"):
        resolve_head("svn", C=1.0)
    with pytest.raises(InputError, match="expected one of lr, svm, ridge, or a scikit-learn linear classifier"):
        resolve_head(3, C=1.0)
    features, _, targets = problem(3)
    with pytest.raises(InputError, match="has no linear coefficients"):
        resolve_head(DecisionTreeClassifier(), C=1.0).solve(DenseFeatures(features), targets, [0, 1, 2])
    with pytest.raises(InputError, match="found C=-1"):
        resolve_head("svm", C=-1).solve(DenseFeatures(features), targets, [0, 1, 2])
