"""The linear classifiers on top of document vectors.

A head turns features and labels into coefficients and intercepts, one column for each output. To add one, write a
Head and add a row to HEADS. Any scikit-learn linear classifier works in place of a name.
"""

from collections.abc import Callable
from functools import partial

from tfcr.errors import InputError, look_up
from tfcr.heads.base import LINKS, FittedHead, Head, Targets, check_class_weight, fit_head, make_targets
from tfcr.heads.newton import NewtonHead, logistic_loss, squared_hinge_loss
from tfcr.heads.ridge import RidgeHead
from tfcr.heads.sklearn_head import SklearnHead

HEADS: dict[str, Callable[..., Head]] = {
    # logistic regression
    "lr": partial(NewtonHead, logistic_loss, "sigmoid"),
    # the SVM with squared hinge loss, as scikit-learn's LinearSVC
    "svm": partial(NewtonHead, squared_hinge_loss, "softmax"),
    # least squares on targets of +1 and -1, its strength picked by leave-one-out; C has no meaning here
    "ridge": RidgeHead,
}


def resolve_head(head: object, *, C: float, random_state: object = None) -> Head:
    """Return the head for a name; a scikit-learn classifier is wrapped."""
    if isinstance(head, str):
        return look_up(HEADS, head, "head")(C=C)
    if hasattr(head, "fit") and hasattr(head, "get_params"):
        return SklearnHead(head, random_state)
    names = ", ".join(HEADS)
    raise InputError(f"found head={head!r}; expected one of {names}, or a scikit-learn linear classifier")


__all__ = [
    "HEADS",
    "LINKS",
    "FittedHead",
    "Head",
    "Targets",
    "check_class_weight",
    "fit_head",
    "make_targets",
    "resolve_head",
]
