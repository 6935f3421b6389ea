"""Predictions for tables: all input columns, and three more; lists of labels if texts have several."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tfcr.data.columns import joined_text
from tfcr.system.progress import Progress
from tfcr.text.class_counts import Labels
from tfcr.text.label_sets import AnyLabels, LabelSets, classes_of
from tfcr.trained.model import TrainedModel

BATCH = 40_000
"""Rows per progress step: enough for compiled code to pay for its loading."""
ADDED = ("predicted", "probability", "unknown_words")
OUTPUT_SEPARATOR = ";"
"""What joins several labels in a cell, if neither the user nor the training data gave a separator."""


def predict_frame(
    model: TrainedModel,
    frame: pl.DataFrame,
    text: Sequence[str],
    *,
    names: Sequence[str] = (),
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Return the table with the predicted class, its probability, and the fraction of words unknown to the model.

    If texts have several labels, the first two are lists, of labels and of their probabilities. In a row without text
    these three are null. If the table already has a column of that name, ours gets an underscore.
    """
    texts = joined_text(frame, text)
    used = [text for text in texts if text is not None]
    found = [added_columns(model, [])]  # which has their types
    for start in range(0, len(used), BATCH):
        found.append(added_columns(model, used[start : start + BATCH]))
        if progress is not None:
            progress(min(start + BATCH, len(used)), len(used))
    added = pl.concat(found)
    if len(used) < len(texts):
        rows = pl.Series([text is not None for text in texts])
        places = rows.cum_sum().cast(pl.Int64) - 1
        added = added[pl.select(pl.when(rows).then(places)).to_series()]
    columns = zip(names or free_names(frame.columns), added.iter_columns(), strict=True)
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


def added_columns(model: TrainedModel, texts: Sequence[str]) -> pl.DataFrame:
    """Return the columns that are added to a table, for texts: the names of ADDED."""
    found, decision = model.score_texts(texts), model.decision
    confidences = decision.confidences(found.scores)
    if decision.several:
        columns = label_columns(decision.assigned(found.scores), confidences)
    else:  # without a Python object for each label
        labels = pl.Series(model.classes.tolist()).gather(decision.winners(found.scores))
        columns = labels, pl.Series(confidences)
    both = zip(ADDED, (*columns, pl.Series(found.unknown_fractions)), strict=True)
    return pl.DataFrame([column.alias(name) for name, column in both])


@dataclass
class Summary:
    """What was predicted, added up over tables: rows and probabilities by class, and unknown words.

    Of several labels per row, `without` rows have none.
    """

    classes: Sequence[Any]
    rows: int = 0
    predicted: int = 0
    without: int = 0
    of_class: Counter[Any] = field(default_factory=Counter)
    probabilities: Counter[Any] = field(default_factory=Counter)
    unknown: float = 0.0

    def add(self, frame: pl.DataFrame, names: Sequence[str]) -> None:
        """Add a table of `predict_frame`, whose added columns have these names."""
        self.rows += frame.height
        added = pl.DataFrame([frame[name].alias(column) for name, column in zip(names, ADDED, strict=True)])
        added = added.drop_nulls("predicted")
        self.predicted += added.height
        self.unknown += float(added["unknown_words"].sum())
        if added.schema["predicted"] == pl.List:
            self.without += int((added["predicted"].list.len() == 0).sum())
            added = added.explode("predicted", "probability").drop_nulls("predicted")
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

    def state(self) -> list[Any]:
        """Return it as JSON."""
        sums = [[self.of_class[label], self.probabilities[label]] for label in self.classes]
        return [self.rows, self.predicted, self.without, self.unknown, sums]

    @classmethod
    def restored(cls, classes: Sequence[Any], state: Sequence[Any]) -> "Summary":
        """Return what `state` was called of."""
        rows, predicted, without, unknown, sums = state
        of_class = Counter({label: size for label, (size, _) in zip(classes, sums, strict=True)})
        probabilities = Counter({label: total for label, (_, total) in zip(classes, sums, strict=True)})
        return cls(classes, rows, predicted, without, of_class, probabilities, unknown)

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
        overall = f"mean probability {self.probabilities.total() / max(self.of_class.total(), 1):.3f}"
        return [*lines, f"all {total} rows: {overall}, unknown words {self.unknown / total:.1%}"]


def free_names(taken: Sequence[str]) -> list[str]:
    """Return names for the added columns that the table does not have yet."""
    return [_free_name(name, taken) for name in ADDED]


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
