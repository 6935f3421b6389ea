"""The heads against liblinear and against least squares done the long way."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tfcr.decision import LINKS
from tfcr.errors import InputError, UnknownNameError
from tfcr.features.blocks import Block
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.heads import HEADS, Examples, fit_head, make_targets, newton, resolve_head
from tfcr.heads.base import Targets
from tfcr.heads.dual_descent import descend
from tfcr.heads.newton import logistic_loss, squared_hinge_loss
from tfcr.heads.ridge import STRENGTHS
from tfcr.text.documents import CountedDocuments
from tfcr.text.vocabulary import Vocabulary

STRENGTHS_OF_C = [0.01, 1.0, 100.0, 1000.0]


def problem(
    n_classes: int, weights: NDArray[np.float64] | None = None, n: int = 300, columns: int = 40
) -> tuple[NDArray[np.float32], NDArray[np.int64], Targets]:
    """Return scaled features with a last column of ones, labels, and targets; the classes overlap."""
    X, y = make_classification(
        n, columns, n_informative=min(10, columns - 3), n_classes=n_classes, class_sep=0.6, flip_y=0.1, random_state=0
    )
    X -= X.mean(axis=0)
    X /= np.sqrt((X**2).sum(axis=1).mean())
    features = np.ones((n, columns + 1), np.float32)
    features[:, :-1] = X
    sample_weight = np.ones(n) if weights is None else weights
    return features, y, make_targets(y, np.arange(n_classes), sample_weight, "balanced")


def as_documents(X: NDArray[np.float32]) -> CountedDocuments:
    """Return documents whose counts are these features, one word for each column."""
    return CountedDocuments(
        Vocabulary([str(number) for number in range(X.shape[1])]), sp.csr_array(X), np.ones(len(X), np.int64)
    )


def objective(
    name: str, C: float, features: NDArray[np.float32], targets: Targets, outputs: Sequence[int], B: NDArray[np.float64]
) -> NDArray[np.float64]:
    loss = {"lr": logistic_loss, "svm": squared_hinge_loss}[name]
    weights = (C * targets.one_vs_rest_weights(outputs).astype(np.float64)).astype(np.float64)
    value = loss(features.astype(np.float64) @ B, targets.signs(outputs), weights).value  # type: ignore[arg-type]
    return np.asarray(value + 0.5 * (B**2).sum(axis=0))


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


def test_balanced_weights_are_those_of_liblinear() -> None:
    labels = np.array([0] * 6 + [1] * 3 + [2])
    targets = make_targets(labels, np.arange(3), np.ones(10), "balanced")
    weights = targets.one_vs_rest_weights([2])
    assert weights[-1, 0] == pytest.approx(10 / (3 * 1))
    assert weights[:9, 0] == pytest.approx(1)
    two = make_targets(labels[:9], np.arange(2), np.ones(9), "balanced")
    assert two.one_vs_rest_weights([0])[0, 0] == pytest.approx(9 / (2 * 6))
    assert two.one_vs_rest_weights([0])[8, 0] == pytest.approx(9 / (2 * 3))


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


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC(), RidgeClassifier()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_linear_classifier_is_a_head(estimator: object, n_classes: int) -> None:
    features, y, targets = problem(n_classes)
    blocks = [Block("all", np.ones(40, np.float32), None, "sum")]
    fitted = fit_head(resolve_head(estimator, C=1.0), Examples(as_documents(features[:, :-1]), targets), blocks)
    scores = (features[:, :-1] - fitted.means) @ fitted.coefficients + fitted.intercepts
    reference = estimator.fit(features[:, :-1], y).decision_function(features[:, :-1])  # type: ignore[attr-defined]
    np.testing.assert_allclose(scores.squeeze(), reference, rtol=0.02, atol=0.02)


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


def test_a_one_vs_one_classifier_is_refused_and_not_misread() -> None:
    features, _, targets = problem(3)
    with pytest.raises(InputError, match="does not decide by its coefficients"):
        resolve_head(SVC(kernel="linear"), C=1.0).solve(DenseFeatures(features), targets, [0, 1, 2])


def test_a_head_that_takes_no_weights_says_so() -> None:
    features, _, targets = problem(2, weights=np.full(300, 2.0))
    with pytest.raises(InputError, match="found sample_weight, which the head .* cannot use"):
        resolve_head(LinearDiscriminantAnalysis(), C=1.0).solve(DenseFeatures(features), targets, [0])


def test_a_head_that_takes_no_sparse_features_says_so() -> None:
    features, _, targets = problem(2)
    sparse = SparseFeatures(sp.csr_array(features))
    with pytest.raises(InputError, match=r"the head LinearDiscriminantAnalysis\(\) cannot learn from sparse features"):
        resolve_head(LinearDiscriminantAnalysis(), C=1.0).solve(sparse, targets, [0])
    ours = resolve_head(SVC(kernel="linear"), C=1.0)  # gives sparse coefficients for sparse features
    found, dense = ours.solve(sparse, targets, [0]), ours.solve(DenseFeatures(features), targets, [0])
    np.testing.assert_allclose(found.coefficients, dense.coefficients, atol=1e-2)


def test_an_error_of_a_head_s_own_stays_as_it_is() -> None:
    class Broken(LogisticRegression):
        def fit(self, *given: Any) -> Any:
            raise TypeError("broken")

    features, _, targets = problem(2)
    with pytest.raises(TypeError, match="broken"):
        resolve_head(Broken(), C=1.0).solve(DenseFeatures(features), targets, [0])


def test_a_wrapped_head_is_seeded_and_knows_its_link() -> None:
    features, _, targets = problem(3)
    head = resolve_head(SGDClassifier(loss="log_loss"), C=1.0, random_state=7)
    one, two = (head.solve(DenseFeatures(features), targets, [0, 1, 2]) for _ in range(2))
    np.testing.assert_array_equal(one.coefficients, two.coefficients)
    assert one.link == "multinomial"
    assert head.solve(DenseFeatures(features), targets, [1]).link == "sigmoid"


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


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_probabilities_add_up_and_follow_the_scores(link: str, n_outputs: int) -> None:
    scores = np.random.default_rng(0).normal(size=(20, n_outputs)) * 5
    scores[0] = -800  # sigmoids of nothing but zeros
    found = LINKS[link](scores)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found >= 0).all()
    best = (scores[:, 0] > 0) if n_outputs == 1 else scores.argmax(axis=1)
    np.testing.assert_array_equal(found[1:].argmax(axis=1), best[1:])


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


def test_links_of_wrapped_heads() -> None:
    features, _, targets = problem(3)
    for estimator, link in [(LogisticRegression(), "multinomial"), (SGDClassifier(random_state=0), "softmax")]:
        assert resolve_head(estimator, C=1).solve(DenseFeatures(features), targets, [0, 1, 2]).link == link
