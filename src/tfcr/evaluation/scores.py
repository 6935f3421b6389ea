"""How good predictions are: scores with intervals, and what always predicting the most frequent class would reach."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.decision import (
    ClassNumbers,
    Confusion,
    Reliability,
    confusion_matrix,
    hits_of_labels,
    macro_f1_of_labels,
    reliability,
)
from tfcr.evaluation.words import MistakeWords
from tfcr.text.label_sets import AnyLabels, LabelSets, classes_of
from tfcr.trained.seen import Seen

FEW_DOCUMENTS = 20
"""With fewer documents per class, a bad score may be due to that."""
SMALL_CLASS = 10
"""Documents below which the score of a class is named as uncertain, with its interval."""
NORMAL = 1.959964
"""Standard deviations on either side of the mean that hold 95 % of a normal distribution."""
RESAMPLES = 1000
CHUNK = 1 << 22
"""Numbers that are drawn at a time."""


class Interval(NamedTuple):
    """The bounds of a 95 % interval."""

    low: float
    high: float


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one class, its number of documents, and the 95 % interval of its F1."""

    label: Any
    precision: float
    recall: float
    f1: float
    documents: int
    f1_interval: Interval


def f1_interval(right: float, true: float, assigned: float) -> Interval:
    """Return the 95 % interval of the F1 of one class.

    Of the documents that have the class or are assigned to it, the fraction J is right, and F1 = 2 J / (1 + J). The
    interval of J is Wilson's, which is never empty: the F1 of a class that is right in 3 of 3 documents may be lower.

    Parameters
    ----------
    right, true, assigned
        The number of documents rightly assigned, of the class, and assigned to it.

    Examples
    --------
    >>> [round(bound, 3) for bound in f1_interval(3, 3, 3)]
    [0.61, 1.0]
    """
    n = true + assigned - right
    if n == 0:
        return Interval(0.0, 1.0)
    fraction, squared = right / n, NORMAL**2
    middle = (fraction + squared / (2 * n)) / (1 + squared / n)
    reach = NORMAL * sqrt(fraction * (1 - fraction) / n + squared / (4 * n**2)) / (1 + squared / n)
    bounds = min(max(middle - reach, 0.0), fraction), max(min(middle + reach, 1.0), fraction)  # but for rounding
    return Interval(*(2 * bound / (1 + bound) for bound in bounds))


@dataclass(frozen=True)
class Evaluation:
    """What a classifier predicted for texts that it was not trained on.

    Attributes
    ----------
    labels, predicted
        For each document; of several labels per document, LabelSets over the same classes.
    classes
        Of the columns of probabilities.
    probabilities
        Of all classes, for each document; (n_documents, n_classes).
    folds
        The fold that each document was tested in; all 0 without cross-validation.
    fold_scores
        Macro-F1 of each fold.
    seen
        How many of the texts the model was trained on; None if it does not know, or after cross-validation.
    unknown_fractions
        The fraction of each document's tokens that did not occur in training, (n_documents,).
    words
        The words behind mistakes, if they were asked for.
    sure
        Whether each document was decided, (n_documents,); None if no precision was wanted, and all are.
    """

    labels: AnyLabels
    predicted: AnyLabels
    classes: NDArray[Any]
    probabilities: NDArray[np.float64]
    folds: NDArray[np.int64]
    fold_scores: tuple[float, ...]
    seen: Seen | None = None
    unknown_fractions: NDArray[np.float64] | None = None
    words: MistakeWords | None = None
    sure: NDArray[np.bool_] | None = None

    @property
    def macro_f1(self) -> float:
        """The mean over folds, the headline."""
        return float(np.mean(self.fold_scores))

    @property
    def std(self) -> float:
        """The standard deviation over folds."""
        return float(np.std(self.fold_scores))

    @property
    def pooled_macro_f1(self) -> float:
        """Macro-F1 of all predictions taken together."""
        return macro_f1_of_labels(self.labels, self.predicted)

    @property
    def several(self) -> bool:
        """Whether documents may have several labels."""
        return isinstance(self.labels, LabelSets)

    @property
    def micro_f1(self) -> float:
        """F1 of all labels taken together; of one label per document, the accuracy."""
        return hits_of_labels(self.labels, self.predicted).micro_f1()

    @property
    def accuracy(self) -> float:
        """The fraction of documents with the right label; of several, with all of the right labels and no other."""
        if isinstance(self.labels, LabelSets) and isinstance(self.predicted, LabelSets):
            return float(np.mean((self.labels.members == self.predicted.members).all(axis=1)))
        return float(np.mean(self.labels == self.predicted))

    @property
    def confidences(self) -> NDArray[np.float64]:
        """The probability of the predicted class, (n_documents,); of several labels, those of all classes."""
        if isinstance(self.predicted, LabelSets):
            return self.probabilities
        winners = self.numbers(self.predicted)
        return np.asarray(self.probabilities[np.arange(len(winners)), winners])

    def numbers(self, labels: AnyLabels) -> ClassNumbers:
        """Return the position of each label among the classes, which need not be sorted. Not for several labels."""
        order = np.argsort(self.classes, kind="stable")
        return np.asarray(order[np.searchsorted(self.classes, labels, sorter=order)], np.int64)  # type: ignore[arg-type]

    def confusion(self) -> Confusion:
        """Return how many documents of each class, by row, are assigned to which, by column. Not for several labels."""
        return confusion_matrix(self.numbers(self.labels), self.numbers(self.predicted), len(self.classes))

    def mistakes(self) -> NDArray[np.int64]:
        """Return the documents with a wrong label, the most confident first. Not for several labels."""
        wrong = np.flatnonzero(self.labels != self.predicted)
        return wrong[np.argsort(-self.confidences[wrong], kind="stable")]

    def reliability(self) -> Reliability:
        """Return how often the likeliest label was right, by its probability; of several labels, each label.

        The likeliest label is that of `predict_proba`, which need not be the one that was predicted.
        """
        if isinstance(self.labels, LabelSets):
            return reliability(self.probabilities.ravel(), self.labels.members.ravel())
        likeliest = self.probabilities.argmax(axis=1)
        return reliability(self.probabilities.max(axis=1), self.classes[likeliest] == self.labels)

    def per_class(self) -> list[ClassScore]:
        """Return precision, recall and F1 of each class that has documents, all predictions taken together."""
        hits = hits_of_labels(self.labels, self.predicted)
        if isinstance(self.labels, LabelSets):
            classes = self.labels.classes
        else:
            classes = np.unique(np.concatenate([self.labels, self.predicted]))
        rows = zip(classes.tolist(), *(counts.tolist() for counts in hits), strict=True)
        return [_class_score(*row) for row in rows if row[2]]


def _class_score(label: Any, right: int, true: int, assigned: int) -> ClassScore:
    precision = right / assigned if assigned else 0.0
    f1 = 2 * right / (true + assigned)
    return ClassScore(label, precision, right / true, f1, true, f1_interval(right, true, assigned))


@dataclass(frozen=True)
class DecidedScore:
    """Documents that were decided at the wanted precision, and the fraction of them that are right; 0 if none were."""

    label: Any
    decided: int
    right: float


def decided_scores(result: Evaluation) -> list[DecidedScore]:
    """Return how many documents of each predicted class were decided, and how often rightly; empty if all were.

    The first is that of all classes together, whose label is None.
    """
    if result.sure is None or isinstance(result.labels, LabelSets):
        return []
    n_classes, right = len(result.classes), result.labels == result.predicted
    predicted = result.numbers(result.predicted)
    decided = np.bincount(predicted[result.sure], minlength=n_classes)
    of_these = np.bincount(predicted[result.sure & right], minlength=n_classes)
    counts = zip([decided.sum(), *decided], [of_these.sum(), *of_these], strict=True)
    return [
        DecidedScore(label, int(size), float(hits / max(size, 1)))
        for label, (size, hits) in zip([None, *result.classes.tolist()], counts, strict=True)
    ]


def majority_class(result: Evaluation) -> Evaluation | None:
    """Return the evaluation of always predicting the most frequent class; None if the documents have one class only.

    A classifier that is not better has learned nothing of use.
    """
    if len(classes_of(result.labels)) < 2:
        return None
    label, size = most_frequent_class(result.labels)
    predicted = _all_of_class(result.labels, label)
    folds = [result.folds == fold for fold in range(len(result.fold_scores))]
    scores = tuple(macro_f1_of_labels(result.labels[fold], predicted[fold]) for fold in folds)
    chances = np.tile(np.where(result.classes == label, size / len(predicted), 0.0), (len(predicted), 1))
    return Evaluation(result.labels, predicted, result.classes, chances, result.folds, scores)


def most_frequent_class(labels: AnyLabels) -> tuple[Any, int]:
    """Return the label of the most frequent class, and how many documents have it."""
    if isinstance(labels, LabelSets):
        classes, sizes = labels.classes, labels.members.sum(axis=0)
    else:
        classes, sizes = np.unique(labels, return_counts=True)
    largest = int(np.argmax(sizes))
    return classes.tolist()[largest], int(sizes[largest])


def _all_of_class(labels: AnyLabels, label: Any) -> AnyLabels:
    """Return as many labels, all of one class."""
    if isinstance(labels, LabelSets):
        return replace(labels, members=np.tile(labels.classes == label, (len(labels), 1)))
    return np.full_like(labels, label)


def compare_with_majority(result: Evaluation, *, balanced: bool = False) -> list[str]:
    """Return what to tell a user whose classifier is no better than always predicting the most frequent class.

    `balanced` is whether classes were given equal weight, which costs accuracy.
    """
    trivial = majority_class(result)
    if trivial is None:
        return []
    always = f"that of always predicting {most_frequent_class(result.labels)[0]!r}"
    if result.macro_f1 <= trivial.macro_f1:
        n_documents = len(result.labels)
        few = n_documents < FEW_DOCUMENTS * len(classes_of(result.labels))
        cause = (
            f"{n_documents} documents are few to learn from; label more"
            if few
            else "the texts tell nothing of the classes; are --text and --label the right columns?"
        )
        return [f"macro-F1 {result.macro_f1:.3f} is not above {trivial.macro_f1:.3f}, {always}: {cause}"]
    if result.accuracy <= trivial.accuracy:
        cause = (
            "; rare classes count as much as frequent ones: train with --class-weight none for accuracy"
            if balanced
            else ""
        )
        return [f"accuracy {result.accuracy:.3f} is not above {trivial.accuracy:.3f}, {always}{cause}"]
    return []


# intervals -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Intervals:
    """The 95 % intervals of the scores of all predictions taken together."""

    macro_f1: Interval
    micro_f1: Interval
    accuracy: Interval


class _Units(NamedTuple):
    """What is drawn in a resample: its probability, and what it adds to the counts that scores are made of.

    `right`, `true` and `assigned` are (n_units, n_classes); `exact` counts documents with the right labels and no
    others, `sizes` all documents.
    """

    chances: NDArray[np.float64]
    right: sp.csr_array
    true: sp.csr_array
    assigned: sp.csr_array
    exact: NDArray[np.float64]
    sizes: NDArray[np.float64]


def bootstrap(labels: AnyLabels, predicted: AnyLabels, groups: Sequence[Any] | None = None, seed: int = 0) -> Intervals:
    """Return how far scores vary if other documents of the same kind had been tested: the percentile bootstrap.

    Documents are drawn with replacement, as many as there are, RESAMPLES times; documents of one group are drawn
    together. The classifiers stay as they are: how far they would vary with other training documents does not count.

    Since scores depend on counts only, not documents are drawn but how many have each pair of label and prediction:

        label      a  a  a  b        pairs      (a, a)  (a, b)  (b, b)
        predicted  a  a  b  b        drawn        3       0       1      F1 of a 1, of b 1
                                     drawn        1       1       2      F1 of a 2/3, of b 4/5
    """
    random = np.random.default_rng(seed)
    units = _grouped(labels, predicted, groups) if groups else _distinct(labels, predicted)
    n_drawn = len(units.chances) if groups else len(labels)
    at_once = max(1, CHUNK // len(units.chances))
    scores = []
    for first in range(0, RESAMPLES, at_once):
        drawn = random.multinomial(n_drawn, units.chances, min(at_once, RESAMPLES - first))
        scores.append(_resampled(drawn, units))
    low, high = np.percentile(np.concatenate(scores, axis=1), [2.5, 97.5], axis=1)
    return Intervals(*(Interval(float(one), float(two)) for one, two in zip(low, high, strict=True)))


def _resampled(drawn: NDArray[np.int64], units: _Units) -> NDArray[np.float64]:
    """Return macro-F1, micro-F1 and accuracy of each resample; (3, n_resamples)."""
    right, true, assigned = (np.asarray(drawn @ hits) for hits in (units.right, units.true, units.assigned))
    present = true > 0
    f1 = np.divide(2 * right, true + assigned, out=np.zeros(right.shape), where=present)
    macro = f1.sum(axis=1) / np.maximum(present.sum(axis=1), 1)
    micro = 2 * right.sum(axis=1) / np.maximum((true + assigned).sum(axis=1), 1)
    return np.array([macro, micro, (drawn @ units.exact) / (drawn @ units.sizes)])


def _units_of_documents(labels: AnyLabels, predicted: AnyLabels) -> _Units:
    """Return each document as a unit of its own."""
    n_documents = len(labels)
    if isinstance(labels, LabelSets) and isinstance(predicted, LabelSets):
        true, assigned = (sp.csr_array(sets.members.astype(np.int64)) for sets in (labels, predicted))
        exact = (labels.members == predicted.members).all(axis=1)
    else:
        classes, numbers = np.unique(np.concatenate([labels, predicted]), return_inverse=True)
        columns = numbers[:n_documents], numbers[n_documents:]
        ones, starts = np.ones(n_documents, np.int64), np.arange(n_documents + 1)
        true, assigned = (sp.csr_array((ones, some, starts), (n_documents, len(classes))) for some in columns)
        exact = columns[0] == columns[1]
    chances = np.full(n_documents, 1 / n_documents)
    return _Units(chances, true * assigned, true, assigned, exact.astype(np.float64), np.ones(n_documents))


def _distinct(labels: AnyLabels, predicted: AnyLabels) -> _Units:
    """Return documents of the same labels and predictions as one unit, that is drawn so much more often."""
    if isinstance(labels, LabelSets) and isinstance(predicted, LabelSets):
        patterns: NDArray[Any] = np.packbits(np.concatenate([labels.members, predicted.members], axis=1), axis=1)
    else:
        pair = np.concatenate([labels, predicted])
        patterns = np.unique(pair, return_inverse=True)[1].reshape(2, -1).T
    _, firsts, sizes = np.unique(patterns, axis=0, return_index=True, return_counts=True)
    return _units_of_documents(labels[firsts], predicted[firsts])._replace(chances=sizes / len(labels))


def _grouped(labels: AnyLabels, predicted: AnyLabels, groups: Sequence[Any]) -> _Units:
    """Return the documents of each group as one unit."""
    documents = _units_of_documents(labels, predicted)
    names, numbers = np.unique([str(group) for group in groups], return_inverse=True)
    size = len(numbers)
    members = sp.csr_array((np.ones(size, np.int64), (numbers, np.arange(size))), (len(names), size))
    chances = np.full(len(names), 1 / len(names))
    sums: list[Any] = [members @ counts for counts in documents[1:]]
    return _Units(chances, *sums)


# which labels to trust -----------------------------------------------------------------------------------------------

CURVE_POINTS = 100


class DecidedCurve(NamedTuple):
    """How often labels are right if only those of enough probability are decided. Each is (n_points,).

    Attributes
    ----------
    decided
        The fraction of documents that are decided, increasing up to 1.
    right
        The fraction of these with the right label.
    probabilities
        The probability of the predicted label from which on they are decided.
    """

    decided: NDArray[np.float64]
    right: NDArray[np.float64]
    probabilities: NDArray[np.float64]


def decided_curve(result: Evaluation, n_points: int = CURVE_POINTS) -> DecidedCurve:
    """Return how often the most probable labels are right. Not for several labels.

    Examples
    --------
    >>> labels, predicted = np.array(list("aabb")), np.array(list("aaba"))
    >>> chances = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> result = Evaluation(labels, predicted, np.array(["a", "b"]), chances, np.zeros(4, int), (1.0,))
    >>> found = decided_curve(result, 2)
    >>> found.decided.tolist(), found.right.tolist(), found.probabilities.tolist()
    ([0.5, 1.0], [1.0, 0.75], [0.8, 0.6])
    """
    confidences = result.confidences
    order = np.argsort(-confidences, kind="stable")
    right = np.cumsum((np.asarray(result.labels) == result.predicted)[order]) / np.arange(1, len(order) + 1)
    n_points = min(n_points, len(order))
    ends = np.ceil(np.arange(1, n_points + 1) * len(order) / n_points).astype(np.int64)
    return DecidedCurve(ends / len(order), right[ends - 1], confidences[order][ends - 1])
