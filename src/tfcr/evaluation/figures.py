"""The figures of a cross-validation that a model keeps: what a report shows, and no text.

`Figures.as_json` is what the model's folder and ``tfcr train --json`` hold; `Figures.from_json` reads it again, with
every check that a file from elsewhere needs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import BINS, Reliability
from tfcr.errors import ModelError, shown
from tfcr.evaluation.scores import (
    ClassScore,
    DecidedCurve,
    Evaluation,
    Interval,
    bootstrap,
    decided_curve,
    majority_class,
    most_frequent_class,
)

MOST_HARD_ROWS = 100
MOST_CONFUSION_CLASSES = 1000
"""Classes from which on the confusion matrix is left out: it would take megabytes."""
SURE = 0.9
"""The probability from which on a label is called sure here."""
ROUNDING = 1e-9
"""By so much a fraction may be above 1."""
MOST_COUNTED = 2**53
"""No corpus has more documents."""


@dataclass(frozen=True)
class HardRow:
    """A row of the training file that the classifiers found hard; `probability` is that of its own label."""

    row: int
    label: Any
    predicted: Any
    probability: float


@dataclass(frozen=True)
class Trust:
    """How far the probability of one label can be trusted.

    Attributes
    ----------
    label, documents
        The label, and how many documents got it.
    probability, right
        Its mean probability in these, and the fraction that was right.
    sure, sure_right
        How many documents got it with a probability of SURE or more, and the fraction of these that was right.
    surely_missed
        Of the documents that have the label, the fraction that got another one with such a probability.
    """

    label: Any
    documents: int
    probability: float
    right: float
    sure: int
    sure_right: float
    surely_missed: float


@dataclass(frozen=True)
class MajorityScore:
    """What always predicting the most frequent class would reach."""

    label: Any
    macro_f1: float
    std: float
    macro_f1_pooled: float
    micro_f1: float
    accuracy: float


@dataclass(frozen=True)
class Figures:
    """How a model scored in cross-validation.

    Attributes
    ----------
    documents, several
        How many documents were tested, and whether they may have several labels.
    fold_scores
        Macro-F1 of each fold.
    macro_f1, std
        Their mean and standard deviation.
    macro_f1_pooled, micro_f1, accuracy
        Of all predictions taken together.
    intervals
        The 95 % intervals of these three, by bootstrap; their names are the keys.
    most_frequent_class
        The bar to pass; None if there is one class only.
    classes
        Precision, recall, F1 and size of each class.
    confusion_classes, confusion
        The classes, and how many documents of each, by row, were assigned to which, by column; empty if documents
        have several labels, or from MOST_CONFUSION_CLASSES classes on.
    calibration_error
        The expected calibration error of the likeliest label.
    calibration
        Bins of equal width of the probability: the fraction of labels in it (`sizes`), their mean probability
        (`confidences`), and the fraction that was right (`right`).
    decided
        Points of the curve "share decided against share right": `decided`, `right`, and the probability from which on
        labels are decided (`probabilities`); empty for several labels.
    trust
        How far the probability of each label can be trusted; empty for several labels, and in older models.
    hardest
        The rows whose own label got the lowest probability, hardest first; empty for several labels.
    unknown_words
        The mean fraction of a document's tokens that did not occur in training.
    """

    documents: int
    several: bool
    fold_scores: tuple[float, ...]
    macro_f1: float
    std: float
    macro_f1_pooled: float
    micro_f1: float
    accuracy: float
    intervals: Mapping[str, Interval]
    most_frequent_class: MajorityScore | None
    classes: tuple[ClassScore, ...]
    confusion_classes: tuple[Any, ...]
    confusion: tuple[tuple[int, ...], ...]
    calibration_error: float
    calibration: Mapping[str, tuple[float, ...]]
    decided: Mapping[str, tuple[float, ...]]
    hardest: tuple[HardRow, ...]
    unknown_words: float
    trust: tuple[Trust, ...] = ()

    @classmethod
    def of(cls, result: Evaluation, rows: Sequence[int] = (), groups: Sequence[Any] | None = None) -> "Figures":
        """Return the figures of predictions; `rows` are the numbers of the documents' rows, by default from 1."""
        intervals = bootstrap(result.labels, result.predicted, groups)
        calibration = result.reliability()
        unknown = result.unknown_fractions
        has_confusion = not result.several and len(result.classes) < MOST_CONFUSION_CLASSES
        return cls(
            documents=len(result.labels),
            several=result.several,
            fold_scores=result.fold_scores,
            macro_f1=result.macro_f1,
            std=result.std,
            macro_f1_pooled=result.pooled_macro_f1,
            micro_f1=result.micro_f1,
            accuracy=result.accuracy,
            intervals={
                "macro_f1_pooled": intervals.macro_f1,
                "micro_f1": intervals.micro_f1,
                "accuracy": intervals.accuracy,
            },
            most_frequent_class=_majority(result),
            classes=tuple(result.per_class()),
            confusion_classes=tuple(result.classes.tolist()) if has_confusion else (),
            confusion=tuple(map(tuple, result.confusion().tolist())) if has_confusion else (),
            calibration_error=calibration.expected_error,
            calibration=_as_tuples(calibration),
            decided={} if result.several else _as_tuples(decided_curve(result)),
            hardest=() if result.several else _hardest(result, rows),
            trust=() if result.several else _trust(result),
            unknown_words=0.0 if unknown is None or not len(unknown) else float(unknown.mean()),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON can hold them."""
        return {**asdict(self), "classes": [vars(score) for score in self.classes]}

    @classmethod
    def from_json(cls, found: Any) -> "Figures":
        """Return the figures that `as_json` wrote; raise ModelError if they are damaged."""
        try:
            given = {"trust": [], **found}  # which older models do not keep
            values = {name: read(given[name]) for name, read in _READERS.items()}
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelError(f"the figures of the model are damaged: {shown(str(error))}; train it again") from None
        figures = cls(**values)
        size = len(figures.confusion_classes)
        if len(figures.confusion) != size or any(len(row) != size for row in figures.confusion):
            raise ModelError("the figures of the model are damaged: its confusion matrix is not square; train it again")
        return figures


def _majority(result: Evaluation) -> MajorityScore | None:
    trivial = majority_class(result)
    if trivial is None:
        return None
    scores = trivial.macro_f1, trivial.std, trivial.pooled_macro_f1, trivial.micro_f1, trivial.accuracy
    return MajorityScore(most_frequent_class(result.labels)[0], *scores)


def _as_tuples(arrays: Any) -> dict[str, tuple[float, ...]]:
    return {name: tuple(values.tolist()) for name, values in arrays._asdict().items()}


def _trust(result: Evaluation) -> tuple[Trust, ...]:
    labels, predicted, confidences = result.numbers(result.labels), result.numbers(result.predicted), result.confidences
    is_right, is_sure = labels == predicted, confidences >= SURE

    def sums(classes: NDArray[Any], values: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(classes, values, len(result.classes)), np.float64)

    def mean(total: NDArray[np.float64], size: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(total / np.maximum(size, 1))

    size, sure = sums(predicted, np.ones(len(labels))), sums(predicted, is_sure)
    columns = (
        size.astype(int),
        mean(sums(predicted, confidences), size),
        mean(sums(predicted, is_right), size),
        sure.astype(int),
        mean(sums(predicted, is_right & is_sure), sure),
        mean(sums(labels, is_sure & ~is_right), sums(labels, np.ones(len(labels)))),
    )
    rows = zip(result.classes.tolist(), *(column.tolist() for column in columns), strict=True)
    return tuple(Trust(*row) for row in rows)


def _hardest(result: Evaluation, rows: Sequence[int]) -> tuple[HardRow, ...]:
    labels, predicted = np.asarray(result.labels).tolist(), np.asarray(result.predicted).tolist()
    own = result.probabilities[np.arange(len(labels)), result.numbers(result.labels)]
    return tuple(
        HardRow(rows[at] if rows else at + 1, labels[at], predicted[at], float(own[at]))
        for at in np.argsort(own, kind="stable")[:MOST_HARD_ROWS].tolist()
    )


# reading what others wrote -------------------------------------------------------------------------------------------


def _fraction(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 + ROUNDING:
        raise ValueError(f"found {shown(value)}, expected a number from 0 to 1")
    return float(value)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_COUNTED:
        raise ValueError(f"found {shown(value)}, expected a whole number")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"found {shown(value)}, expected true or false")
    return value


def _label(value: Any) -> Any:
    if not isinstance(value, str | int | float):
        raise ValueError(f"found {shown(value)}, expected a label")
    return value


def _list_of(read: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def listed(values: Any) -> tuple[Any, ...]:
        if not isinstance(values, list | tuple):
            raise ValueError(f"found {shown(values)}, expected a list")
        return tuple(map(read, values))

    return listed


def _map_of(names: Sequence[str], read: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    return lambda values: {name: read(values[name]) for name in names}


def _arrays(names: Sequence[str], size: int | None = None) -> Callable[[Any], dict[str, Any]]:
    """Return how to read lists of one length, that of the first by default, which has something in it."""

    def read(values: Any) -> dict[str, Any]:
        found = _map_of(names, _list_of(_fraction))(values)
        lengths = {len(array) for array in found.values()}
        if lengths != {size or max(*lengths, 1)}:
            raise ValueError(f"found lists of {sorted(lengths)} numbers, expected as many in each")
        return found

    return read


_points = _arrays(DecidedCurve._fields)


def _record(kind: Callable[..., Any], **readers: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda values: kind(**{name: read(values[name]) for name, read in readers.items()})


def _interval(values: Any) -> Interval:
    low, high = map(_fraction, values)
    return Interval(low, high)


_majority_score = _record(
    MajorityScore,
    label=_label,
    macro_f1=_fraction,
    std=_fraction,
    macro_f1_pooled=_fraction,
    micro_f1=_fraction,
    accuracy=_fraction,
)

_READERS: dict[str, Callable[[Any], Any]] = {
    "documents": _whole,
    "several": _flag,
    "fold_scores": _list_of(_fraction),
    "macro_f1": _fraction,
    "std": _fraction,
    "macro_f1_pooled": _fraction,
    "micro_f1": _fraction,
    "accuracy": _fraction,
    "intervals": _map_of(("macro_f1_pooled", "micro_f1", "accuracy"), _interval),
    "most_frequent_class": lambda values: None if values is None else _majority_score(values),
    "classes": _list_of(
        _record(
            ClassScore,
            label=_label,
            precision=_fraction,
            recall=_fraction,
            f1=_fraction,
            documents=_whole,
            f1_interval=_interval,
        )
    ),
    "confusion_classes": _list_of(_label),
    "confusion": _list_of(_list_of(_whole)),
    "calibration_error": _fraction,
    "calibration": _arrays(Reliability._fields, BINS),
    "decided": lambda values: {} if values == {} else _points(values),
    "hardest": _list_of(_record(HardRow, row=_whole, label=_label, predicted=_label, probability=_fraction)),
    "unknown_words": _fraction,
    "trust": _list_of(
        _record(
            Trust,
            label=_label,
            documents=_whole,
            probability=_fraction,
            right=_fraction,
            sure=_whole,
            sure_right=_fraction,
            surely_missed=_fraction,
        )
    ),
}
"""How each figure is read and checked."""
