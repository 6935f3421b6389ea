"""Targets, class weights, and heads fitted on blocks."""

import numpy as np
import pytest

from tests.heads.problems import as_documents
from tfcr.errors import InputError
from tfcr.features.blocks import Block
from tfcr.heads import Examples, fit_head, make_targets, resolve_head


def test_balanced_weights_are_those_of_liblinear() -> None:
    labels = np.array([0] * 6 + [1] * 3 + [2])
    targets = make_targets(labels, np.arange(3), np.ones(10), "balanced")
    weights = targets.one_vs_rest_weights([2])
    assert weights[-1, 0] == pytest.approx(10 / (3 * 1))
    assert weights[:9, 0] == pytest.approx(1)
    two = make_targets(labels[:9], np.arange(2), np.ones(9), "balanced")
    assert two.one_vs_rest_weights([0])[0, 0] == pytest.approx(9 / (2 * 6))
    assert two.one_vs_rest_weights([0])[8, 0] == pytest.approx(9 / (2 * 3))


def test_class_weights() -> None:
    labels, classes = np.array(["a", "b", "b"]), np.array(["a", "b"])
    assert make_targets(labels, classes, np.ones(3), {"a": 5}).class_weight.tolist() == [5, 1]
    assert make_targets(labels, classes, np.ones(3), None).class_weight.tolist() == [1, 1]
    with pytest.raises(InputError, match="found class_weight for 'c', which is no class"):
        make_targets(labels, classes, np.ones(3), {"c": 5})
    with pytest.raises(InputError, match="expected numbers of at least 0"):
        make_targets(labels, classes, np.ones(3), {"a": -1})
    with pytest.raises(InputError, match="expected 'balanced', None, or a dict"):
        make_targets(labels, classes, np.ones(3), "equal")


def test_scale_does_not_matter() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    blocks = [Block("all", np.ones(4, np.float32), None, "sum")]
    targets = make_targets(y, np.arange(2), np.ones(60), None)
    plain = fit_head(resolve_head("svm", C=1.0), Examples(as_documents(X), targets), blocks)
    shifted = fit_head(resolve_head("svm", C=1.0), Examples(as_documents(X * 1000 + 50_000), targets), blocks)
    np.testing.assert_allclose(plain.coefficients, shifted.coefficients * 1000, rtol=1e-2, atol=1e-3)
    assert shifted.intercepts == pytest.approx(plain.intercepts, abs=1e-3)
