"""Predictions for tables: all input columns, and three more or as many as are wanted; lists if texts have several."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tfcr.data.columns import joined_text
from tfcr.decision import UNSURE
from tfcr.errors import InputError
from tfcr.system.parameters import whole
from tfcr.system.progress import Progress
from tfcr.text.class_counts import Labels
from tfcr.text.label_sets import AnyLabels, LabelSets, classes_of
from tfcr.trained.model import TrainedModel

WHY = whole("why", 0, 1000)
BATCH = 40_000
"""Rows per progress step: enough for compiled code to pay for its loading."""
ADDED = ("predicted", "probability", "unknown_words")
"""The columns that every table gets."""
OUTPUT_SEPARATOR = ";"
"""What joins several labels in a cell, if neither the user nor the training data gave a separator."""


@dataclass(frozen=True)
class Extras:
    """What a table tells besides the columns of ADDED.

    A model that may be unsure always tells the two likeliest labels.

    Attributes
    ----------
    second
        The likeliest label but one, and its probability: ``second``, ``second_probability``.
    all_probabilities
        The probability of each class: ``probability_LABEL``.
    why
        So many terms that spoke most for the label: ``why``.
    """

    second: bool = False
    all_probabilities: bool = False
    why: int = 0

    def __post_init__(self) -> None:
        WHY.check(self.why)


NO_EXTRAS = Extras()


def may_be_unsure(model: TrainedModel) -> bool:
    """Return whether a model leaves labels that are not probable enough."""
    return model.decision.least_probabilities is not None


def added_classes(model: TrainedModel) -> list[Any]:
    """Return the classes as a column of predictions has them: as text if some rows may be unsure."""
    classes = model.classes.tolist()
    return [str(label) for label in classes] if may_be_unsure(model) else classes


def check_extras(model: TrainedModel, extras: Extras) -> None:
    """Raise InputError for what a model cannot tell."""
    if extras.second and model.decision.several:
        raise InputError(
            "found --second, and a model that gives several labels; expected one that gives one: leave it out, or take "
            "--all-probabilities"
        )


def predict_frame(
    model: TrainedModel,
    frame: pl.DataFrame,
    text: Sequence[str],
    *,
    names: Sequence[str] = (),
    extras: Extras = NO_EXTRAS,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Return the table with the predicted class, its probability, and the fraction of words unknown to the model.

    If texts have several labels, the first two are lists, of labels and of their probabilities. If a model was trained
    for a precision, the class may be UNSURE, and the two likeliest ones follow. In a row without text all are null. If
    the table already has a column of that name, ours gets an underscore.
    """
    texts = joined_text(frame, text)
    used = [text for text in texts if text is not None]
    found = [added_columns(model, [], extras)]  # which has their types
    for start in range(0, len(used), BATCH):
        found.append(added_columns(model, used[start : start + BATCH], extras))
        if progress is not None:
            progress(min(start + BATCH, len(used)), len(used))
    added = pl.concat(found)
    if len(used) < len(texts):
        rows = pl.Series([text is not None for text in texts])
        places = rows.cum_sum().cast(pl.Int64) - 1
        added = added.select(pl.all().gather(pl.select(pl.when(rows).then(places)).to_series()))
    columns = zip(names or free_names(frame.columns, added.columns), added.iter_columns(), strict=True)
    return frame.with_columns(column.alias(name) for name, column in columns)


def _label_types(classes: Labels, *, several: bool) -> tuple[Any, Any]:
    """Return the types of the columns of labels and probabilities."""
    label = pl.Series(classes.tolist()).dtype
    return (pl.List(label), pl.List(pl.Float64)) if several else (label, pl.Float64)


def _label_values(labels: AnyLabels, probabilities: NDArray[np.float64]) -> tuple[list[Any], list[Any]]:
    """Return the labels of each text and their probabilities; of several, a list of each, the likeliest label first."""
    if not isinstance(labels, LabelSets):
        return labels.tolist(), probabilities.tolist()
    classes = labels.classes.tolist()
    orders = [
        sorted(np.flatnonzero(row).tolist(), key=lambda number: -chances[number])
        for row, chances in zip(labels.members, probabilities, strict=True)
    ]
    chosen = [[float(chances[n]) for n in order] for order, chances in zip(orders, probabilities, strict=True)]
    return [[classes[number] for number in order] for order in orders], chosen


def label_columns(labels: AnyLabels, probabilities: NDArray[np.float64]) -> tuple[pl.Series, pl.Series]:
    """Return labels and their probabilities as columns; of several labels, as columns of lists."""
    types = _label_types(classes_of(labels), several=isinstance(labels, LabelSets))
    values, chosen = _label_values(labels, probabilities)
    return pl.Series(ADDED[0], values, types[0]), pl.Series(ADDED[1], chosen, types[1])


def added_columns(model: TrainedModel, texts: Sequence[str], extras: Extras = NO_EXTRAS) -> pl.DataFrame:
    """Return the columns that are added to a table, for texts: those of ADDED, and others that are wanted."""
    found, decision = model.score_texts(texts), model.decision
    confidences = decision.confidences(found.scores)
    if decision.several:
        labels, probabilities = label_columns(decision.assigned(found.scores), confidences)
    else:  # without a Python object for each label
        labels = pl.Series(added_classes(model)).gather(decision.winners(found.scores))
        probabilities = pl.Series(confidences)
    columns = dict(zip(ADDED, (labels, probabilities, pl.Series(found.unknown_fractions)), strict=True))
    if may_be_unsure(model) or extras.second or extras.all_probabilities:
        columns |= _of_probabilities(model, found.scores, columns, extras)
    if extras.why:
        terms = model.strongest_terms(texts, extras.why)
        columns["why"] = pl.Series([", ".join(some) for some in terms], dtype=pl.String)
    return pl.DataFrame([column.alias(name) for name, column in columns.items()])


def _of_probabilities(
    model: TrainedModel, scores: NDArray[np.float64], columns: Mapping[str, pl.Series], extras: Extras
) -> dict[str, pl.Series]:
    """Return the columns that the probabilities of all classes give, and those of ADDED that they change."""
    classes = pl.Series(added_classes(model))
    found: dict[str, pl.Series] = {}
    if may_be_unsure(model) or extras.second:
        chances, first, second, sure = model.decision.ranked(scores)
        rows = np.arange(len(chances))
        if may_be_unsure(model):
            decided, likeliest = pl.Series(sure), chances.argmax(axis=1)
            unsure = pl.Series([UNSURE] * len(rows), dtype=pl.String)
            found["predicted"] = columns["predicted"].zip_with(decided, unsure)
            found["probability"] = pl.Series(chances[rows, first])
            found["likeliest"] = classes.gather(likeliest)
        found["second"], found["second_probability"] = classes.gather(second), pl.Series(chances[rows, second])
    else:
        chances = model.decision.probabilities(scores)
    if extras.all_probabilities:
        columns_of_classes = zip(classes.to_list(), chances.T, strict=True)
        found |= {f"probability_{label}": pl.Series(column) for label, column in columns_of_classes}
    return found


@dataclass
class Summary:
    """What was predicted, added up over tables: rows and probabilities by class, and unknown words.

    Of several labels per row, `without` rows have none; `unsure` rows are not decided.
    """

    classes: Sequence[Any]
    rows: int = 0
    predicted: int = 0
    without: int = 0
    of_class: Counter[Any] = field(default_factory=Counter)
    probabilities: Counter[Any] = field(default_factory=Counter)
    unknown: float = 0.0
    unsure: int = 0

    def add(self, frame: pl.DataFrame, names: Sequence[str]) -> None:
        """Add a table of `predict_frame`, whose added columns have these names."""
        self.rows += frame.height
        added = pl.DataFrame([frame[name].alias(column) for name, column in zip(names, ADDED, strict=False)])
        added = added.drop_nulls("predicted")
        self.predicted += added.height
        self.unknown += float(added["unknown_words"].sum())
        if added.schema["predicted"] == pl.List:
            self.without += int((added["predicted"].list.len() == 0).sum())
            added = added.explode("predicted", "probability").drop_nulls("predicted")
        elif UNSURE not in self.classes and added.schema["predicted"] == pl.String:
            self.unsure += int((added["predicted"] == UNSURE).sum())
            added = added.filter(pl.col("predicted") != UNSURE)
        sums = added.group_by("predicted", maintain_order=True)
        for label, size, probability in sums.agg(pl.len(), pl.sum("probability")).iter_rows():
            self.of_class[label] += size
            self.probabilities[label] += probability

    def merge(self, other: "Summary") -> None:
        """Add what was predicted elsewhere, of the same classes."""
        self.rows, self.predicted = self.rows + other.rows, self.predicted + other.predicted
        self.without += other.without
        self.of_class += other.of_class
        self.probabilities += other.probabilities
        self.unknown += other.unknown
        self.unsure += other.unsure

    def state(self) -> list[Any]:
        """Return it as JSON."""
        sums = [[self.of_class[label], self.probabilities[label]] for label in self.classes]
        return [self.rows, self.predicted, self.without, self.unknown, self.unsure, sums]

    @classmethod
    def restored(cls, classes: Sequence[Any], state: Sequence[Any]) -> "Summary":
        """Return what `state` was called of."""
        rows, predicted, without, unknown, unsure, sums = state
        of_class = Counter({label: size for label, (size, _) in zip(classes, sums, strict=True)})
        probabilities = Counter({label: total for label, (_, total) in zip(classes, sums, strict=True)})
        return cls(classes, rows, predicted, without, of_class, probabilities, unknown, unsure)

    def lines(self, most: int = 20) -> list[str]:
        """Return the summary in words, a line for each class, and one for all; at most so many classes."""
        total = self.predicted
        missing = self.rows - total
        lines = [f"{missing} of {self.rows} rows have no text and get no prediction"] if missing else []
        if not total:
            return lines
        order = sorted(self.classes, key=lambda label: -self.of_class[label])
        for label in order[:most]:
            size = self.of_class[label]
            mean = f", mean probability {self.probabilities[label] / size:.3f}" if size else ""
            lines.append(f"predicted {label}: {size} rows ({size / total:.1%}){mean}")
        if len(order) > most:
            rest = sum(self.of_class[label] for label in order[most:])
            lines.append(f"predicted {len(order) - most} other classes: {rest} rows ({rest / total:.1%})")
        if self.without:
            lines.append(f"predicted no label: {self.without} rows ({self.without / total:.1%})")
        if self.unsure:
            lines.append(f"{UNSURE}: {self.unsure} rows ({self.unsure / total:.1%}), with their two likeliest labels")
        overall = f"mean probability {self.probabilities.total() / max(self.of_class.total(), 1):.3f}"
        return [*lines, f"all {total} rows: {overall}, unknown words {self.unknown / total:.1%}"]


def free_names(taken: Sequence[str], added: Sequence[str] = ADDED) -> list[str]:
    """Return names for the added columns that the table does not have yet, and no two of which are the same.

    >>> free_names(["text", "probability_a"], ["predicted", "probability_a", "probability_a_"])
    ['predicted', 'probability_a__', 'probability_a_']
    """
    found: list[str] = []
    for name in added:
        free = name
        while free in taken or free in found or (free in added and free != name):
            free += "_"
        found.append(free)
    return found
