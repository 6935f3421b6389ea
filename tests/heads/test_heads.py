"""The table of heads: what each of them must do."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tests.heads.problems import as_documents, problem
from tfcr.decision import LINKS, best_class
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


LINK_OF_HEAD = {"lr": "sigmoid", "svm": "softmax", "ridge": "softmax"}


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_head_keeps_the_contract(name: str, n_classes: int) -> None:
    features, y, targets = problem(n_classes)
    head = resolve_head(name, C=1.0)
    outputs = list(range(targets.n_outputs))
    found = head.with_tolerance(1e-3).solve(DenseFeatures(features), targets, outputs)
    assert found.coefficients.shape == (40, targets.n_outputs)
    assert found.intercepts.shape == (targets.n_outputs,)
    assert found.coefficients.dtype == found.intercepts.dtype == np.float64
    assert found.link == LINK_OF_HEAD[name]
    assert found.link in LINKS
    scores = features[:, :-1] @ found.coefficients + found.intercepts
    assert np.mean(best_class(scores) == y) > 1.3 / n_classes
    one = head.solve(DenseFeatures(features), targets, outputs[-1:])  # the same output, fitted alone
    similar = np.corrcoef(one.coefficients[:, 0], found.coefficients[:, -1])[0, 1]
    assert similar > 0.99 if name != "ridge" else similar > 0.9  # ridge picks one strength for all outputs


def test_what_heads_need_and_can_do() -> None:
    heads = {name: resolve_head(name, C=1.0) for name in HEADS} | {"own": resolve_head(LinearSVC(), C=1.0)}
    assert {name for name, head in heads.items() if head.has_strength} == {"lr", "svm"}
    assert {name for name, head in heads.items() if head.takes_sparse} == {"lr", "svm", "own"}


@pytest.mark.parametrize("C", [0, -1, np.inf, np.nan, 1e-10, 1.1e9, "1", True, None, 1j])
@pytest.mark.parametrize("name", ["lr", "svm"])
def test_c_must_be_a_number_in_its_range(name: str, C: Any) -> None:
    message = f"found C={C!r}; expected a number from 1e-09 to 1e+09"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        resolve_head(name, C=C)


def test_what_is_no_head_is_refused() -> None:
    message = "found head=3; expected one of lr, svm, ridge, or a scikit-learn linear classifier"
    with pytest.raises(InputError, match=f"^{message}$"):
        resolve_head(3, C=1.0)
    with pytest.raises(InputError, match=r"^found head=Ridge\(\); expected a scikit-learn linear classifier$"):
        resolve_head(Ridge(), C=1.0)  # a regressor
    with pytest.raises(InputError, match="expected one of lr, svm, ridge"):
        resolve_head(type("Fits", (), {"fit": None})(), C=1.0)
    with pytest.raises(InputError, match="expected one of lr, svm, ridge"):
        resolve_head(type("HasParameters", (), {"get_params": None})(), C=1.0)
