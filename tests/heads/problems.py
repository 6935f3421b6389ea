"""Small problems for heads, and the objective that they minimise."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from tfcr.heads import make_targets
from tfcr.heads.newton import logistic_loss, squared_hinge_loss
from tfcr.heads.targets import Targets
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
    value = loss(features.astype(np.float64) @ B, targets.signs(outputs), weights).value
    return np.asarray(value + 0.5 * (B**2).sum(axis=0))
