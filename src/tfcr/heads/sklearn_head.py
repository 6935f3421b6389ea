"""Any scikit-learn linear classifier as a head."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from tfcr.decision import best_class
from tfcr.errors import InputError
from tfcr.features.matrix import DenseFeatures, Features, SparseFeatures
from tfcr.heads.base import Solution
from tfcr.heads.targets import Targets


class SklearnHead:
    """A scikit-learn classifier with ``coef_`` and ``intercept_``, fitted on centred and scaled features.

    Its own class_weight counts, not ours.
    """

    has_strength = False  # it has parameters of its own
    takes_sparse = True

    def __init__(self, estimator: Any, random_state: Any = None) -> None:
        if not is_classifier(estimator):
            raise InputError(f"found head={estimator!r}; expected a scikit-learn linear classifier")
        self.estimator = estimator
        self.random_state = random_state

    def solve(
        self,
        features: Features,
        targets: Targets,
        outputs: Sequence[int],
        start: Solution | None = None,
        duals: NDArray[np.float32] | None = None,
    ) -> Solution:
        """Fit a clone, on all classes together or on one against the rest; `start` is not used."""
        if targets.several:
            return self._solve_each(features, targets, outputs)
        together = len(outputs) == targets.n_outputs
        columns = self._held(features)[:, :-1]
        used = np.flatnonzero(targets.sample_weight)
        if len(used) < len(targets.labels):  # not all classifiers take weights
            columns, targets = columns[used], targets.rows(used)
        labels = targets.labels if together else targets.signs(outputs)[:, 0]
        coefficients, intercepts = self._linear(self._fitted(columns, labels, targets), columns, len(outputs))
        return Solution(coefficients, intercepts, self._link(together))

    def _linear(self, fitted: Any, columns: Any, n_outputs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the coefficients (n_columns, n_outputs) and intercepts of a fitted classifier that has them."""
        found: Any = getattr(fitted, "coef_", np.empty((0, 0)))
        coefficients = np.atleast_2d(found.toarray() if hasattr(found, "toarray") else found)  # SVC's may be sparse
        if len(coefficients) != n_outputs:
            raise InputError(
                f"the head {self.estimator!r} has no linear coefficients, one row for each class; "
                "expected a linear classifier such as LogisticRegression, LinearSVC or RidgeClassifier"
            )
        intercepts = np.broadcast_to(np.asarray(fitted.intercept_, np.float64), (n_outputs,))
        self._check_linear(fitted, columns[:200], coefficients.T, intercepts)
        return coefficients.astype(np.float64).T, np.array(intercepts)

    def _solve_each(self, features: Features, targets: Targets, outputs: Sequence[int]) -> Solution:
        """Fit a clone for each output, and none where a class has all documents or none: its scores are 0."""
        used = np.flatnonzero(targets.sample_weight)
        columns, targets = self._held(features)[:, :-1][used], targets.rows(used)
        coefficients, intercepts = np.zeros((columns.shape[1], len(outputs))), np.zeros(len(outputs))
        for number, output in enumerate(outputs):
            signs = targets.signs([output])[:, 0]
            if np.ptp(signs):
                found = self._linear(self._fitted(columns, signs, targets), columns, 1)
                coefficients[:, number], intercepts[number] = found[0][:, 0], found[1][0]
        return Solution(coefficients, intercepts, self._link(together=False))

    def outputs_together(self, features: Features) -> int | None:
        """Return None: the outputs share their work."""
        return None

    def with_tolerance(self, tolerance: float) -> "SklearnHead":
        """Return itself: its tolerance is a parameter of its own."""
        return self

    def _fitted(self, columns: Any, labels: NDArray[Any], targets: Targets) -> Any:
        estimator = self._seeded()
        weights = self._weights(estimator, targets)
        try:
            estimator.fit(columns, labels, **weights)
        except ValueError as error:  # its parameters, or numbers that it cannot solve (LinAlgError)
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            raise InputError(f"the head {self.estimator!r} cannot be fitted: {reason}") from error
        except TypeError as error:
            if "sparse" not in str(error).lower():
                raise
            raise InputError(
                f"the head {self.estimator!r} cannot learn from sparse features, which words and bigrams have; "
                "expected one that can, such as LogisticRegression or LinearSVC, or the part 'vectors' alone"
            ) from error
        return estimator

    def _link(self, together: bool) -> str:
        """Return the link: scores are log-odds of all classes, or of each class against the rest, or no log-odds."""
        if not hasattr(self.estimator, "predict_proba"):
            return "softmax"
        return "multinomial" if together else "sigmoid"

    def _held(self, features: Features) -> Any:
        if isinstance(features, DenseFeatures | SparseFeatures):
            return features.matrix
        n_documents, n_columns = features.shape
        raise InputError(
            f"found {n_documents} documents of {n_columns} features, {4e-9 * n_documents * n_columns:.1f} GB, "
            f"more than max_memory allows; the head {self.estimator!r} needs them in memory: raise max_memory"
        )

    def _seeded(self) -> Any:
        """Return a clone, seeded if it has a random_state that is None."""
        estimator = clone(self.estimator)
        if self.random_state is not None and estimator.get_params().get("random_state", 0) is None:
            estimator.set_params(random_state=self.random_state)
        return estimator

    def _weights(self, estimator: Any, targets: Targets) -> dict[str, NDArray[np.float64]]:
        if np.all(targets.sample_weight == 1):
            return {}
        if not has_fit_parameter(estimator, "sample_weight"):
            raise InputError(f"found sample_weight, which the head {self.estimator!r} cannot use; leave it out")
        return {"sample_weight": targets.sample_weight}

    def _check_linear(
        self, fitted: Any, rows: NDArray[np.float32], coefficients: NDArray[Any], intercepts: NDArray[np.float64]
    ) -> None:
        """Raise InputError if its coefficients are not one row per class, as in a one-vs-one SVC."""
        scores = rows @ coefficients + intercepts
        if np.mean(fitted.classes_[best_class(scores)] == fitted.predict(rows)) < 0.98:
            raise InputError(
                f"the head {self.estimator!r} does not decide by its coefficients, one row for each class; "
                "expected a linear one-vs-rest or multinomial classifier, such as LinearSVC"
            )
