"""Classifiers of scikit-learn as heads."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import SVC, LinearSVC

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tests.heads.problems import as_documents, problem
from tfcr.errors import InputError
from tfcr.features.blocks import Block
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.heads import Examples, fit_head, resolve_head


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


def test_links_of_wrapped_heads() -> None:
    features, _, targets = problem(3)
    for estimator, link in [(LogisticRegression(), "multinomial"), (SGDClassifier(random_state=0), "softmax")]:
        assert resolve_head(estimator, C=1).solve(DenseFeatures(features), targets, [0, 1, 2]).link == link


def test_a_wrapped_head_needs_its_memory() -> None:
    corpus = random_corpus(n_classes=3)
    model = plain_classifier(embeddings=random_vectors(corpus), head=LinearSVC(), max_memory="1KB")
    with pytest.raises(InputError, match=r"more than max_memory allows; the head LinearSVC\(\) needs them in memory"):
        model.fit(corpus.texts, corpus.labels)
