"""Extreme weights and strengths: solved as scikit-learn does, or refused with a line; never NaN, never silent."""

import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.heads.problems import objective, problem
from tfcr import Embeddings, TfcrClassifier
from tfcr.errors import InputError
from tfcr.features import matrix
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.heads import HEADS, make_targets, newton, resolve_head, ridge
from tfcr.heads.targets import Targets

WORDS = [f"w{number}" for number in range(12)]
VECTORS = Embeddings.from_arrays(WORDS, np.random.default_rng(0).normal(size=(12, 6)))
CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "fast": {"name": "fast"},
    "best": {"name": "best", "embeddings": VECTORS},
    **{f"paper, {head}": {"name": "paper", "head": head, "embeddings": VECTORS} for head in HEADS},
    "paper, scikit-learn's": {"name": "paper", "head": LogisticRegression(max_iter=20), "embeddings": VECTORS},
}


def texts_and_labels(n: int = 60) -> tuple[list[str], NDArray[np.int64]]:
    """Return texts of three classes, with words of their own and words that all share."""
    random = np.random.default_rng(1)
    labels = np.arange(n) % 3
    own = [random.choice(WORDS[4 * label : 4 * label + 4], 3).tolist() for label in labels]
    return [" ".join([*words, *random.choice(WORDS, 3)]) for words in own], labels


def reference(name: str, C: float, features: NDArray[np.float32], targets: Targets) -> NDArray[np.float64]:
    """Return the objective that liblinear reaches in float64, for the only output."""
    made = LinearSVC if name == "svm" else LogisticRegression
    settings = {"dual": False} if name == "svm" else {"solver": "liblinear"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = made(C=C, max_iter=300, fit_intercept=False, **settings)
        model.fit(features.astype(np.float64), targets.labels, targets.document_weights())
    return objective(name, C, features, targets, [0], model.coef_.T)


@pytest.mark.parametrize("columns", [40, 400], ids=["overlapping", "separable"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["svm", "lr"])
@pytest.mark.parametrize(("C", "weight"), [(1e6, 1.0), (1e8, 1.0), (1e9, 1.0), (1.0, 1e6), (1.0, 1e9), (1e-9, 1.0)])
def test_solved_as_liblinear_does(name: str, C: float, weight: float, sparse: bool, columns: int) -> None:
    weights = np.ones(200)
    weights[::20] = weight
    features, _, targets = problem(2, weights, n=200, columns=columns)
    held = SparseFeatures(sp.csr_array(features)) if sparse else DenseFeatures(features)
    found = resolve_head(name, C=C).solve(held, targets, [0])
    ours = objective(name, C, features, targets, [0], np.vstack([found.coefficients, found.intercepts]))
    assert ours <= 1.01 * reference(name, C, features, targets)


@pytest.mark.parametrize("name", HEADS)
def test_features_that_do_not_fit_in_float64_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels = texts_and_labels()
    model = TfcrClassifier.from_preset("paper", head=name, embeddings=VECTORS, max_memory=1000)
    model.fit(texts, labels)
    message = r"^found 1e\+06 for C times sample weight times class weight, and features that do not fit"
    with pytest.raises(InputError, match=message):
        model.fit(texts, labels, np.full(60, 1e6))
    monkeypatch.setattr(matrix, "memory_limit", lambda: 100)
    with pytest.raises(InputError, match=message):
        TfcrClassifier.from_preset("paper", head=name, embeddings=VECTORS).fit(texts, labels, np.full(60, 1e6))


def test_ridge_with_large_weights_solves_its_equations() -> None:
    weights = np.ones(200)
    weights[::20] = 1e8
    features, _, targets = problem(2, weights, n=200, columns=40)
    found = resolve_head("ridge", C=1.0).solve(DenseFeatures(features), targets, [0])
    X, document_weights = features.astype(np.float64), targets.document_weights()
    moments = X.T @ (document_weights[:, None] * targets.signs([0]))
    solutions = [
        np.linalg.solve(X.T @ (document_weights[:, None] * X) + strength * np.eye(41), moments)
        for strength in ridge.STRENGTHS
    ]
    B = np.vstack([found.coefficients, found.intercepts])
    assert min(np.abs(B - solution).max() for solution in solutions) < 1e-4 * np.abs(B).max()


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize(
    ("first", "rest"), [(1e9, 1.0), (1e-9, 1.0), (1e9, 1e9), (1e-9, 1e-9), (1e9, 1e-9), (1e6, 1.0)]
)
def test_weights_within_the_limits_give_probabilities(configuration: str, first: float, rest: float) -> None:
    texts, labels = texts_and_labels()
    weights = np.full(60, rest)
    weights[:3] = first
    settings = dict(CONFIGURATIONS[configuration])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's head has not converged
        model = TfcrClassifier.from_preset(**settings, random_state=0)
        model.fit(texts, labels, weights)
    probabilities = model.predict_proba(texts)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_equal_weights_of_a_million_keep_the_classes_apart(configuration: str) -> None:
    texts, labels = texts_and_labels()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TfcrClassifier.from_preset(**CONFIGURATIONS[configuration], random_state=0)
        model.fit(texts, labels, np.full(60, 1e6))
    assert np.mean(model.predict(texts) == labels) > 0.9


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("weight", [1e12, 1e39, 1e300, 1.1e9, 1e-10, 1e-300, -1.0, np.nan, np.inf])
def test_other_weights_are_refused(configuration: str, weight: float) -> None:
    texts, labels = texts_and_labels()
    weights = np.ones(60)
    weights[7] = weight
    message = f"found sample_weight[7]={weight!r}; expected 0, or a number from 1e-09 to 1e+09: divide all weights"
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        TfcrClassifier.from_preset(**CONFIGURATIONS[configuration]).fit(texts, labels, weights)


def test_weights_whose_product_is_too_large_are_refused() -> None:
    features, y, _ = problem(2)
    targets = make_targets(y, np.arange(2), np.full(300, 1e9), {0: 1e4})
    with pytest.raises(
        InputError, match=r"^found 1e\+13 for C times sample weight times class weight; expected at most"
    ):
        resolve_head("svm", C=1.0).solve(DenseFeatures(features), targets, [0])
    found = resolve_head("svm", C=0.1).solve(DenseFeatures(features), targets, [0])
    assert np.isfinite(found.coefficients).all()


def test_an_error_of_scikit_learn_is_one_line() -> None:
    features, _, targets = problem(2)
    with pytest.raises(InputError, match=r"^the head LogisticRegression\(C=-1\) cannot be fitted: The 'C' parameter"):
        resolve_head(LogisticRegression(C=-1), C=1.0).solve(DenseFeatures(features), targets, [0])


def test_ordinary_weights_are_solved_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(features: Any, largest: float) -> Any:
        raise AssertionError(features)

    monkeypatch.setattr(newton, "in_float64", refuse)
    monkeypatch.setattr(ridge, "in_float64", refuse)
    features, _, targets = problem(2)
    for name in HEADS:
        resolve_head(name, C=1000.0).solve(DenseFeatures(features), targets, [0])
