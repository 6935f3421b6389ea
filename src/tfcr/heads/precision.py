"""How probable a label must be to be decided, so that it is right as often as the user wants; else it is "unsure".

Out of fold, the documents that get a class are ordered by its probability, the surest first. The class is decided down
to the last place where it has been right often enough so far: not only in this sample, but at the lower end of an
interval, since few documents are right more often by chance.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import NEVER, Decision, Scores, label_position
from tfcr.errors import InputError, shown_names
from tfcr.heads.targets import Targets
from tfcr.system.parameters import number
from tfcr.text.class_counts import Labels

Z = 1.28
"""Of the one-sided interval of 90 %: of ten classes, nine are to be right as often as wanted in new documents."""
PRECISION = number("precision", 0, 1)

Precision = float | Mapping[Any, float]
"""How often labels are to be right: of all classes, or of single ones, of which None stands for all others."""


def wanted_precision(precision: Precision, classes: Labels) -> NDArray[np.float64]:
    """Return the precision that each class is to have, 0 for a class that is always decided; (n_classes,).

    Examples
    --------
    >>> wanted_precision({None: 0.9, "spam": 0.99}, np.array(["ham", "spam"]))
    array([0.9 , 0.99])
    """
    named = precision if isinstance(precision, Mapping) else {None: precision}
    wanted = np.full(len(classes), float(PRECISION.check(named.get(None, 0.0))))
    for label, value in named.items():
        if label is not None:
            wanted[label_position(classes, label)] = PRECISION.check(value)
    return wanted


def check_precision(precision: object) -> None:
    """Raise InputError for a precision that cannot be used, whatever the classes are."""
    for value in precision.values() if isinstance(precision, Mapping) else (precision,):
        PRECISION.or_none("to decide every text").check(value)


@dataclass(frozen=True)
class PrecisionLimits:
    """The probability from which on each class is decided, and what that gives; each is (n_classes,).

    Attributes
    ----------
    least_probabilities
        NEVER for a class that is not right often enough anywhere.
    attainable
        The largest precision that can be had for the class, 0 if no document gets it.
    decided
        The fraction of all documents, out of fold, that are decided.
    """

    least_probabilities: NDArray[np.float64]
    attainable: NDArray[np.float64]
    decided: float

    def without(self, classes: Labels) -> str:
        """Return the classes that are never decided, each with the precision that can be had; "" if there are none."""
        missed = np.flatnonzero(self.least_probabilities == NEVER)
        return shown_names([f"{classes.tolist()[n]} ({_rounded_down(self.attainable[n])})" for n in missed.tolist()])


def find_limits(decision: Decision, scores: Scores, truth: Targets, wanted: NDArray[np.float64]) -> PrecisionLimits:
    """Return how probable the label of each class must be to have the wanted precision.

    Parameters
    ----------
    decision
        How labels and probabilities are made of scores.
    scores
        Out of fold; (n_documents, n_outputs).
    truth
        The classes of the same documents.
    wanted
        The precision of each class; (n_classes,).
    """
    labels, confidences = decision.winners(scores), decision.confidences(scores)
    right = truth.labels == labels
    found = [
        _limit(confidences[chosen], right[chosen], truth.sample_weight[chosen], float(wanted[label]))
        for label, chosen in enumerate(labels == number for number in range(len(wanted)))
    ]
    limits = np.array([limit for limit, _ in found])
    sure = confidences >= limits[labels]
    decided = float(truth.sample_weight @ sure / truth.sample_weight.sum())
    return PrecisionLimits(limits, np.array([best for _, best in found]), decided)


def _limit(
    confidences: NDArray[np.float64], right: NDArray[np.bool_], weights: NDArray[np.float64], wanted: float
) -> tuple[float, float]:
    """Return the least probability of one class, and the precision that can be had at most.

    Of four documents with probabilities .9, .8, .7, .6 the last is wrong, and .5 is wanted: the lower ends of the first
    one, two, three and four are .38, .55, .65 and .43, so that the limit is half-way between .7 and .6.
    """
    if not len(confidences):
        return (NEVER if wanted > 0 else 0.0), 0.0
    order = np.argsort(-confidences, kind="stable")
    ranked = confidences[order]
    lower = lower_end(np.cumsum((weights * right)[order]), np.cumsum(weights[order]))
    ends = np.append(ranked[:-1] > ranked[1:], True)  # equal ones are decided together
    enough = np.flatnonzero(ends & (lower >= wanted))
    best = float(lower[ends].max())
    if wanted == 0 or (len(enough) and enough[-1] == len(ranked) - 1):
        return 0.0, best
    if not len(enough):
        return NEVER, best
    last = int(enough[-1])
    return float((ranked[last] + ranked[last + 1]) / 2), best


def lower_end(right: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the lower end of Wilson's interval for a fraction of so many documents.

    >>> lower_end(np.array([50.0]), np.array([50.0])).round(3)
    array([0.968])
    """
    share, square = right / total, Z**2
    spread = Z * np.sqrt(share * (1 - share) / total + square / (4 * total**2))
    return np.asarray((share + square / (2 * total) - spread) / (1 + square / total))


def check_limits(limits: PrecisionLimits, precision: Precision, classes: Labels) -> None:
    """Raise InputError if a class that was named, or every class, is not right often enough anywhere."""
    never = limits.least_probabilities == NEVER
    named = precision if isinstance(precision, Mapping) else {}
    missed = [label for label in named if label is not None and never[label_position(classes, label)]]
    if missed or never.all():
        what = f"a precision of {named[missed[0]]:g} for {missed[0]}" if missed else "the precision that is wanted"
        raise InputError(
            f"{what} cannot be had: no training text gets a label that surely, out of fold; the most that can be had: "
            f"{limits.without(classes)}; ask for less, or label more"
        )


def _rounded_down(precision: float) -> str:
    """Return a precision with three digits that can be had for sure.

    >>> _rounded_down(0.9499)
    '0.949'
    """
    return f"{np.floor(precision * 1000) / 1000:.3f}"
