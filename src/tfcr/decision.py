"""From scores to probabilities and labels, by one rule for models, stacking, experiments and wrapped heads.

A linear classifier has one output per class, and the class with the largest score wins. With two classes it has a
single output, as in scikit-learn: a score above 0 means the second class. If documents have several labels, each class
has an output and a threshold of its own, and every class whose score is above its threshold is assigned.

    scores (n_documents, n_outputs)  --link-->  probabilities (n_documents, n_classes)  -->  labels (n_documents,)
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError, unknown_name
from tfcr.text.class_counts import Labels
from tfcr.text.label_sets import ONE, AnyLabels, LabelSets, Members

ClassNumbers = NDArray[np.int64]
"""Labels as positions in the sorted classes."""
Scores = NDArray[np.floating[Any]]
Confusion = NDArray[Any]
"""Rows are true classes, columns predicted ones; (n_classes, n_classes)."""


# the two-class case ------------------------------------------------------------------------------------------------


def output_classes(n_classes: int) -> ClassNumbers:
    """Return the class that each output speaks for; of two classes, the second.

    Examples
    --------
    >>> output_classes(2), output_classes(3)
    (array([1]), array([0, 1, 2]))
    """
    return np.arange(1 if n_classes == 2 else 0, n_classes)


def class_scores(scores: NDArray[Any]) -> NDArray[Any]:
    """Return one column per class: a single output speaks for its class and against the other.

    Examples
    --------
    >>> class_scores(np.array([[1.5]]))
    array([[-1.5,  1.5]])
    """
    return np.concatenate([-scores, scores], axis=-1) if scores.shape[-1] == 1 else scores


def logits(scores: NDArray[Any]) -> NDArray[Any]:
    """Return one column per class whose softmax is the probability; a single output is the difference of two."""
    return class_scores(scores / 2) if scores.shape[-1] == 1 else scores


def output_offsets(class_offsets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what to add to each output so that each class gains its offset; the inverse of `logits`.

    Examples
    --------
    >>> output_offsets(np.array([0.5, 2.0])), output_offsets(np.array([0.0, 1.0, 2.0]))
    (array([1.5]), array([0., 1., 2.]))
    """
    return np.diff(class_offsets) if len(class_offsets) == 2 else class_offsets


def best_class(scores: Scores) -> ClassNumbers:
    """Return the position of the winning class; (n_documents,). Ties go to the first class.

    Examples
    --------
    >>> best_class(np.array([[0.0], [0.1]])), best_class(np.array([[0.2, 0.7, 0.7]]))
    (array([0, 1]), array([1]))
    """
    return np.asarray(class_scores(scores).argmax(axis=1), np.int64)


# links: from scores to probabilities -------------------------------------------------------------------------------


def _expit(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-x)); of the exponent's two signs, the one that cannot overflow."""
    small = np.exp(-np.abs(values, dtype=np.float64))
    return np.asarray(np.where(values >= 0, 1, small) / (1 + small))


def _normalised(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return the softmax of each row."""
    powers = np.exp(np.subtract(values, values.max(axis=1, keepdims=True), dtype=np.float64))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _sigmoid(scores: Scores) -> NDArray[np.float64]:
    """One-vs-rest logistic regression: each class's own probability, normalised to add up to 1."""
    each = _expit(class_scores(scores))
    total = each.sum(axis=1, keepdims=True)
    return np.where(total > 0, each / np.where(total > 0, total, 1), 1 / each.shape[1])


def _softmax(scores: Scores) -> NDArray[np.float64]:
    """For scores that are not log-odds (svm, ridge): they rank the classes and are not calibrated."""
    return _normalised(class_scores(scores))


def _multinomial(scores: Scores) -> NDArray[np.float64]:
    """Multinomial logistic regression; with two classes, a single output of log-odds."""
    return _normalised(logits(scores))


def _independent(scores: Scores) -> NDArray[np.float64]:
    """Several labels per document: each class's own probability; they do not add up to 1."""
    return _expit(scores)


LINKS: dict[str, Callable[[Scores], NDArray[np.float64]]] = {
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "multinomial": _multinomial,
    "independent": _independent,
}


@dataclass(frozen=True, eq=False)
class Calibration:
    """What turns scores into logits whose probabilities mean what they say: scale · score + offset.

    Attributes
    ----------
    scale
        Above 0: how sure a score is.
    offsets
        What each class gains, such as its log frequency; (n_classes,).

    Examples
    --------
    Two classes of scores 0: the second is three times as frequent.

    >>> Calibration(1.0, np.log([0.25, 0.75])).logits(np.array([[0.0]])).round(3)
    array([[-1.386, -0.288]])
    """

    scale: float
    offsets: NDArray[np.float64]

    def logits(self, scores: Scores) -> NDArray[np.float64]:
        """Return one column per class, which the link turns into probabilities; (n_documents, n_classes)."""
        return np.asarray(self.scale * logits(scores) + self.offsets, np.float64)


RULES = ("macro-f1", "probability")
"""What a label is picked by: the score, which is tuned for macro-F1 where classes are balanced, or the probability."""


UNSURE = "unsure"
"""Stands in tables for a label that is less probable than the wanted precision takes."""
NEVER = 2.0
"""As the least probability of a class: its label is never decided."""


class Ranked(NamedTuple):
    """The two likeliest labels of documents that have one each.

    Attributes
    ----------
    probabilities
        Of all classes; (n_documents, n_classes).
    first
        The label; of a document that is unsure, the likeliest class. (n_documents,)
    second
        The likeliest class but that one; (n_documents,).
    sure
        Whether the label is probable enough to be decided; (n_documents,).
    """

    probabilities: NDArray[np.float64]
    first: ClassNumbers
    second: ClassNumbers
    sure: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Decision:
    """How scores become probabilities and labels.

    Attributes
    ----------
    classes
        Sorted, of the type that labels were given in.
    link
        A name of LINKS; ``independent`` if documents have several labels.
    form
        A name of FORMS: the form that labels were given in, and are answered in.
    thresholds
        Of several labels per document: the score of each class above which it is assigned, (n_classes,); None: 0.
    calibration
        What makes probabilities of scores; None if there were no out-of-fold scores to learn it from.
    rule
        A name of RULES.
    least_probabilities
        The probability of each class from which on its label is decided, (n_classes,): below, a document is unsure.
        NEVER for a class that is not decided at all; None: every label is decided.
    costs
        What it costs to assign a class, the column, to a document of another, the row; (n_classes, n_classes). The
        label of the least expected cost is picked. None: it is picked by `rule`.

    Examples
    --------
    >>> Decision(np.array(["a", "b", "c"]), "softmax").labels(np.array([[0.3, 0.7, -1.0]]))
    array(['b'], dtype='<U1')
    >>> Decision(np.array(["a", "b"]), "multinomial", least_probabilities=np.array([0.5, 0.9])).decided(
    ...     np.array([[-1.0], [1.0], [3.0]])
    ... )
    ['a', None, 'b']
    >>> Decision(np.array(["a", "b", "c"]), "independent", "lists").labels(np.array([[0.3, 0.7, -1.0]]))
    [['a', 'b']]
    """

    classes: Labels
    link: str
    form: str = ONE
    thresholds: NDArray[np.float64] | None = None
    calibration: Calibration | None = None
    rule: str = RULES[0]
    least_probabilities: NDArray[np.float64] | None = None
    costs: NDArray[np.float64] | None = None

    @property
    def several(self) -> bool:
        """Whether a document may have several labels, or none."""
        return self.form != ONE

    @property
    def n_outputs(self) -> int:
        """How many scores a document has."""
        return len(self.classes) if self.several else len(output_classes(len(self.classes)))

    def probabilities(self, scores: Scores) -> NDArray[np.float64]:
        """Return a probability for each class; (n_documents, n_classes)."""
        return LINKS[self.link](scores if self.calibration is None else self.calibration.logits(scores))

    def confidences(self, scores: Scores) -> NDArray[np.float64]:
        """Return the probability of the winning class, (n_documents,); of several labels, those of all classes."""
        probabilities = self.probabilities(scores)
        if self.several:
            return probabilities
        return np.asarray(probabilities[np.arange(len(scores)), self.winners(scores)])

    @property
    def limits(self) -> NDArray[np.float64]:
        """The score above which each class is assigned, if documents have several; (n_classes,)."""
        if self.rule == "probability" and self.calibration is not None:  # where the probability is one half
            return -self.calibration.offsets / self.calibration.scale
        return np.zeros(len(self.classes)) if self.thresholds is None else self.thresholds

    def margins(self, scores: Scores) -> Scores:
        """Return what labels are picked by, (n_documents, n_classes): the largest, or of several labels all above 0."""
        if self.costs is not None:
            return -(self.probabilities(scores) @ self.costs)
        if self.rule == "probability" and self.calibration is not None:
            return self.calibration.logits(scores)
        found: Scores = scores - self.limits if self.several else class_scores(scores)
        return found

    def winners(self, scores: Scores) -> ClassNumbers:
        """Return the position of the winning class of each document; ties go to the first. Not for several labels."""
        return np.asarray(self.margins(scores).argmax(axis=1), np.int64)

    def sure(self, scores: Scores) -> NDArray[np.bool_]:
        """Return whether the label of each document is probable enough to be decided; (n_documents,)."""
        if self.least_probabilities is None:
            return np.ones(len(scores), np.bool_)
        return np.asarray(self.confidences(scores) >= self.least_probabilities[self.winners(scores)])

    def ranked(self, scores: Scores) -> Ranked:
        """Return the two likeliest labels of each document, and whether the first is sure. Not for several labels."""
        rows, chances, first = np.arange(len(scores)), self.probabilities(scores), self.winners(scores)
        sure = np.ones(len(scores), np.bool_)
        if self.least_probabilities is not None:
            sure = chances[rows, first] >= self.least_probabilities[first]
            first = np.where(sure, first, chances.argmax(axis=1))
        others = chances.copy()
        others[rows, first] = -1
        return Ranked(chances, first, others.argmax(axis=1), sure)

    def decided(self, scores: Scores) -> list[Any]:
        """Return the label of each document, None if it is unsure; of several labels, a list, which may be empty."""
        assigned = self.assigned(scores)
        if isinstance(assigned, LabelSets):
            return assigned.lists()
        pairs = zip(assigned.tolist(), self.sure(scores).tolist(), strict=True)
        return [label if sure else None for label, sure in pairs]

    def assigned(self, scores: Scores) -> AnyLabels:
        """Return the winning class of each document as a label, or all classes above their thresholds."""
        if self.several:
            return LabelSets(self.classes, above(self.margins(scores)), self.form)
        winners: Labels = self.classes[self.winners(scores)]
        return winners

    def labels(self, scores: Scores) -> Any:
        """Return the labels of each document in the form that they were given in: see FORMS."""
        found = self.assigned(scores)
        return found.in_form() if isinstance(found, LabelSets) else found


def above(margins: Scores) -> Members:
    """Return which classes are assigned: those whose score is above the threshold."""
    return np.asarray(margins > 0)


def class_position(classes: Labels, label: Any) -> int:
    """Return the position of a label among the classes."""
    found = np.flatnonzero(classes == label)
    if not len(found):
        raise InputError(unknown_name(label, list(map(str, classes.tolist())), "class"))
    return int(found[0])


def label_position(classes: Labels, label: Any) -> int:
    """Return the position of a label that may be given as text, as options and files do, whatever the classes are."""
    found = np.flatnonzero(np.array([str(known) for known in classes.tolist()]) == str(label))
    return int(found[0]) if len(found) else class_position(classes, label)


def cost_matrix(costs: Mapping[tuple[Any, Any], float], classes: Labels) -> NDArray[np.float64]:
    """Return the cost of assigning each class, a column, to a document of each, a row; (n_classes, n_classes).

    Parameters
    ----------
    costs
        From a true and an assigned label to the cost. What is not given costs 1, and the right label nothing.
    classes
        Sorted.

    Examples
    --------
    >>> cost_matrix({("spam", "ham"): 0.5}, np.array(["ham", "spam"]))
    array([[0. , 1. ],
           [0.5, 0. ]])
    """
    matrix = 1 - np.eye(len(classes))
    place = cache(lambda label: label_position(classes, label))  # a file may list all pairs of many classes
    for (true, assigned), cost in costs.items():
        matrix[place(true), place(assigned)] = cost
    return matrix


# how good decisions are --------------------------------------------------------------------------------------------


def confusion_matrix(
    true: ClassNumbers, predicted: ClassNumbers, n_classes: int, sample_weight: NDArray[Any] | None = None
) -> Confusion:
    """Count documents, or add up their weights, by true and predicted class; (n_classes, n_classes)."""
    return np.bincount(true * n_classes + predicted, sample_weight, n_classes**2).reshape(n_classes, n_classes)


class ClassHits(NamedTuple):
    """What F1 is made of, for each class: documents rightly assigned, documents of it, documents assigned to it.

    Each is an array of (n_classes,), of counts or of sums of weights.
    """

    right: NDArray[Any]
    true: NDArray[Any]
    assigned: NDArray[Any]

    def macro_f1(self, counted: NDArray[np.bool_] | None = None) -> float:
        """Return the mean F1 of the classes that have documents; `counted` can leave some classes out."""
        present = self.true > 0 if counted is None else (self.true > 0) & counted
        if not present.any():
            return 0.0
        return float(np.mean(2 * self.right[present] / (self.true + self.assigned)[present]))

    def micro_f1(self) -> float:
        """Return F1 of all labels taken together; of one label per document, the accuracy."""
        total = float((self.true + self.assigned).sum())
        return 2 * float(self.right.sum()) / total if total else 0.0


def hits_of_members(true: Members, assigned: Members, sample_weight: NDArray[Any] | None = None) -> ClassHits:
    """Count documents, or add up their weights, by class; both are (n_documents, n_classes)."""
    weights = np.ones(len(true), np.int64) if sample_weight is None else sample_weight
    return ClassHits(weights @ (true & assigned), weights @ true, weights @ assigned)


def hits_of_labels(labels: AnyLabels, predicted: AnyLabels) -> ClassHits:
    """Count documents by class, of one label per document or of several; several are over the same classes."""
    if isinstance(labels, LabelSets) and isinstance(predicted, LabelSets):
        return hits_of_members(labels.members, predicted.members)
    classes, numbers = np.unique(np.concatenate([labels, predicted]), return_inverse=True)
    true, assigned = numbers[: len(labels)], numbers[len(labels) :]
    counted = true[true == assigned], true, assigned  # without the matrix, which is large if there are many classes
    return ClassHits(*(np.bincount(some, minlength=len(classes)) for some in counted))


def _hits(confusion: Confusion) -> ClassHits:
    return ClassHits(np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0))


def macro_f1(confusion: Confusion, counted: NDArray[np.bool_] | None = None) -> float:
    """Return the mean F1 of the classes that have documents; `counted` can leave some classes out.

    Examples
    --------
    Two documents of the first class are right, and one of the second is taken for the first: F1 is 4/5 and 0.

    >>> macro_f1(np.array([[2, 0], [1, 0]]))
    0.4
    """
    return _hits(confusion).macro_f1(counted)


def macro_f1_of_labels(labels: AnyLabels, predicted: AnyLabels) -> float:
    """Return the mean F1 of the classes among `labels`."""
    return hits_of_labels(labels, predicted).macro_f1()


BINS = 15
"""Of equal width, in which probabilities are compared with how often they are right."""


class Reliability(NamedTuple):
    """How often labels were right, by their probability; a bin without labels has 0 everywhere. Each is (BINS,).

    Attributes
    ----------
    sizes
        The fraction of all labels in the bin.
    confidences, right
        The mean probability of the bin's labels, and the fraction of them that were right.
    """

    sizes: NDArray[np.float64]
    confidences: NDArray[np.float64]
    right: NDArray[np.float64]

    @property
    def expected_error(self) -> float:
        """The expected calibration error: the mean distance of both, each bin by its size."""
        return float(self.sizes @ np.abs(self.confidences - self.right))


def reliability(confidences: NDArray[np.float64], right: NDArray[np.bool_], n_bins: int = BINS) -> Reliability:
    """Compare the probability of each label with whether it was right.

    Examples
    --------
    Of two labels with the probability .8, one is right: off by .3.

    >>> round(reliability(np.array([0.8, 0.8]), np.array([True, False])).expected_error, 3)
    0.3
    """
    bins = np.minimum((confidences * n_bins).astype(np.int64), n_bins - 1)
    sizes = np.bincount(bins, minlength=n_bins)
    sums = (np.bincount(bins, values, n_bins) for values in (confidences, right))
    return Reliability(sizes / max(1, len(bins)), *(total / np.maximum(sizes, 1) for total in sums))
