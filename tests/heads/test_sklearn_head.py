"""Classifiers of scikit-learn as heads."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tests.heads.problems import as_documents, problem
from tfcr import TfcrClassifier
from tfcr.errors import InputError
from tfcr.features.blocks import Block
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.heads import Examples, fit_head, resolve_head
from tfcr.heads.sklearn_head import SklearnHead


@pytest.mark.parametrize(
    "estimator", [LinearSVC(), SGDClassifier(random_state=0), LogisticRegression(solver="liblinear"), RidgeClassifier()]
)
def test_a_scikit_learn_head_learns_from_sparse_parts(estimator: Any) -> None:
    corpus = random_corpus(60, 2)
    model = TfcrClassifier(embeddings=None, parts=("bigrams",), head=estimator)
    assert model.fit(corpus.texts, corpus.labels).score(corpus.texts, corpus.labels) > 0.9


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC(), RidgeClassifier()])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_linear_classifier_is_a_head(estimator: object, n_classes: int) -> None:
    features, y, targets = problem(n_classes)
    blocks = [Block("all", np.ones(40, np.float32), None, "sum")]
    fitted = fit_head(resolve_head(estimator, C=1.0), Examples(as_documents(features[:, :-1]), targets), blocks)
    scores = (features[:, :-1] - fitted.means) @ fitted.coefficients + fitted.intercepts
    reference = estimator.fit(features[:, :-1], y).decision_function(features[:, :-1])  # type: ignore[attr-defined]
    np.testing.assert_allclose(scores.squeeze(), reference, rtol=0.02, atol=0.02)


def test_a_one_vs_one_classifier_is_refused_and_not_misread() -> None:
    features, _, targets = problem(3)
    message = (
        r"^the head SVC\(kernel='linear'\) does not decide by its coefficients, one row for each class; "
        "expected a linear one-vs-rest or multinomial classifier, such as LinearSVC$"
    )
    with pytest.raises(InputError, match=message):
        resolve_head(SVC(kernel="linear"), C=1.0).solve(DenseFeatures(features), targets, [0, 1, 2])


def test_a_head_that_takes_no_weights_says_so() -> None:
    features, _, targets = problem(2, weights=np.full(300, 2.0))
    message = r"^found sample_weight, which the head LinearDiscriminantAnalysis\(\) cannot use; leave it out$"
    with pytest.raises(InputError, match=message):
        resolve_head(LinearDiscriminantAnalysis(), C=1.0).solve(DenseFeatures(features), targets, [0])


def test_a_head_that_takes_no_sparse_features_says_so() -> None:
    features, _, targets = problem(2)
    sparse = SparseFeatures(sp.csr_array(features))
    message = (
        r"^the head LinearDiscriminantAnalysis\(\) cannot learn from sparse features, which words and bigrams have; "
        "expected one that can, such as LogisticRegression or LinearSVC, or the part 'vectors' alone$"
    )
    with pytest.raises(InputError, match=message):
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


def test_links_of_wrapped_heads() -> None:
    features, _, targets = problem(3)
    for estimator, link in [(LogisticRegression(), "multinomial"), (SGDClassifier(random_state=0), "softmax")]:
        assert resolve_head(estimator, C=1).solve(DenseFeatures(features), targets, [0, 1, 2]).link == link


def test_a_wrapped_head_needs_its_memory() -> None:
    corpus = random_corpus(n_classes=3)
    model = plain_classifier(embeddings=random_vectors(corpus), head=LinearSVC(), max_memory="1KB")
    message = (
        r"^found 120 documents of 25 features, 0\.0 GB, more than max_memory allows; "
        r"the head LinearSVC\(\) needs them in memory: raise max_memory$"
    )
    with pytest.raises(InputError, match=message):
        model.fit(corpus.texts, corpus.labels)


def test_the_memory_that_is_missing_is_told() -> None:
    class Large:
        shape = (1_000_000, 600)

    _, _, targets = problem(2)
    with pytest.raises(InputError, match=r"^found 1000000 documents of 600 features, 2\.4 GB, more than"):
        resolve_head(LinearSVC(), C=1.0).solve(Large(), targets, [0])  # type: ignore[arg-type]


def test_a_classifier_without_coefficients_is_refused() -> None:
    features, _, targets = problem(3)
    message = (
        r"^the head DecisionTreeClassifier\(\) has no linear coefficients, one row for each class; "
        "expected a linear classifier such as LogisticRegression, LinearSVC or RidgeClassifier$"
    )
    for outputs in ([0, 1, 2], [1]):
        with pytest.raises(InputError, match=message):
            resolve_head(DecisionTreeClassifier(), C=1.0).solve(DenseFeatures(features), targets, outputs)


def test_sample_weights_reach_a_wrapped_head() -> None:
    features, y, targets = problem(2, weights=np.where(np.arange(300) % 2, 1.0, 5.0))
    found = resolve_head(LinearSVC(dual=False), C=1.0).solve(DenseFeatures(features), targets, [0])
    expected = LinearSVC(dual=False).fit(features[:, :-1], y, targets.sample_weight)
    np.testing.assert_allclose(found.coefficients, expected.coef_.T)
    np.testing.assert_allclose(found.intercepts, expected.intercept_)


@pytest.mark.parametrize(("own", "given", "expected"), [(None, 7, 7), (3, 7, 3), (None, None, None)])
def test_a_seed_is_set_where_the_estimator_has_none(own: Any, given: Any, expected: Any) -> None:
    head = resolve_head(LinearSVC(random_state=own), C=1.0, random_state=given)
    assert isinstance(head, SklearnHead)
    assert head._seeded().random_state == expected
    assert head.estimator.random_state == own
    without = resolve_head(LinearDiscriminantAnalysis(), C=1.0, random_state=7)  # has no such parameter
    assert isinstance(without, SklearnHead)
    assert "random_state" not in without._seeded().get_params()


def test_an_intercept_that_is_one_number_serves_all_outputs() -> None:
    features, _, targets = problem(3)
    found = resolve_head(LinearSVC(fit_intercept=False), C=1.0).solve(DenseFeatures(features), targets, [0, 1, 2])
    assert found.intercepts.tolist() == [0, 0, 0]
    assert found.intercepts.flags.writeable
    whole = resolve_head(WholeNumbers(), C=1.0).solve(DenseFeatures(features), targets, [0, 1, 2])
    assert whole.coefficients.dtype == whole.intercepts.dtype == np.float64


class WholeNumbers(LinearSVC):
    """A classifier whose coefficients are integers."""

    def fit(self, X: Any, y: Any) -> Any:
        fitted: Any = super().fit(X, y)
        fitted.coef_, fitted.intercept_ = (fitted.coef_ * 1000).astype(int), (fitted.intercept_ * 1000).astype(int)
        return fitted


def test_a_wrapped_head_has_no_tolerance_of_ours() -> None:
    head = resolve_head(LinearSVC(), C=1.0)
    assert head.with_tolerance(0.5) is head
