"""Any scikit-learn linear classifier as a head."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from tfcr.errors import InputError
from tfcr.heads.base import Solution, Targets


class WrappedHead:
    """A scikit-learn classifier with ``coef_`` and ``intercept_``, fitted on centred and scaled features.

    Its own class_weight counts, not ours.
    """

    def __init__(self, estimator: Any) -> None:
        if not is_classifier(estimator):
            raise InputError(f"found head={estimator!r}; expected a scikit-learn linear classifier")
        self.estimator = estimator

    @property
    def link(self) -> str:
        """Exact for multinomial models of probabilities; else uncalibrated."""
        return "multinomial" if hasattr(self.estimator, "predict_proba") else "softmax"

    def solve(self, features: NDArray[np.float32], targets: Targets, outputs: Sequence[int]) -> Solution:
        """Fit a clone, on all classes at once or on one against the rest."""
        together = len(outputs) == targets.n_outputs
        labels = targets.labels if together else targets.signs(outputs)[:, 0]
        fitted = clone(self.estimator)
        weighted = not np.all(targets.sample_weight == 1)
        arguments = {"sample_weight": targets.sample_weight} if weighted else {}
        fitted.fit(features[:, :-1], labels, **arguments)
        coefficients = np.atleast_2d(getattr(fitted, "coef_", np.empty((0, 0))))
        if len(coefficients) != len(outputs):
            raise InputError(
                f"the head {self.estimator!r} has no linear coefficients, one row for each class; "
                "expected a linear classifier such as LogisticRegression, LinearSVC or RidgeClassifier"
            )
        intercepts = np.broadcast_to(np.asarray(fitted.intercept_, np.float64), (len(outputs),))
        return Solution(coefficients.astype(np.float64).T, np.array(intercepts))
