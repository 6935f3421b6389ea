"""Heads: the linear classifiers on top of document vectors.

A head turns features and labels into coefficients and intercepts, one column per output. To add one, write a Head and
add a row to HEADS. Any scikit-learn linear classifier can take the place of a name.
"""

from collections.abc import Callable

from tfcr.errors import InputError, look_up, shown
from tfcr.heads.base import Examples, FittedHead, Head, Problem, fit_head
from tfcr.heads.newton import NewtonHead, logistic_loss, squared_hinge_loss
from tfcr.heads.ridge import RidgeHead
from tfcr.heads.targets import SeveralTargets, Targets, check_class_weight, make_targets

HEADS: dict[str, Callable[[float], Head]] = {
    # logistic regression
    "lr": lambda C: NewtonHead(logistic_loss, "sigmoid", C),
    # the SVM with squared hinge loss, as scikit-learn's LinearSVC
    "svm": lambda C: NewtonHead(squared_hinge_loss, "softmax", C),
    # least squares on targets of +1 and -1; picks its own strength by leave-one-out
    "ridge": lambda C: RidgeHead(),
}
"""From the regularisation strength C to a head."""


def resolve_head(head: object, *, C: float, random_state: object = None) -> Head:
    """Return the head for a name; a scikit-learn classifier is wrapped."""
    if isinstance(head, str):
        return look_up(HEADS, head, "head")(C)
    if hasattr(head, "fit") and hasattr(head, "get_params"):
        from tfcr.heads.sklearn_head import SklearnHead  # noqa: PLC0415 - a trained model needs no scikit-learn

        return SklearnHead(head, random_state)
    names = ", ".join(HEADS)
    raise InputError(f"found head={shown(head)}; expected one of {names}, or a scikit-learn linear classifier")


__all__ = [
    "HEADS",
    "Examples",
    "FittedHead",
    "Head",
    "Problem",
    "SeveralTargets",
    "Targets",
    "check_class_weight",
    "fit_head",
    "make_targets",
    "resolve_head",
]
