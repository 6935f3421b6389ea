"""Predictions for tables: all input columns, and three more."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tfcr.data.columns import joined_text
from tfcr.decision import best_class
from tfcr.system.progress import Progress
from tfcr.trained.model import TrainedModel

BATCH = 40_000
"""Rows per progress step: enough for compiled code to pay for its loading."""
ADDED = ("predicted", "probability", "unknown_words")


def predict_frame(
    model: TrainedModel,
    frame: pl.DataFrame,
    text: Sequence[str],
    *,
    names: Sequence[str] = (),
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Return the table with the predicted class, its probability, and the fraction of words unknown to the model.

    In a row without text these three are null. If the table already has a column of that name, ours gets an
    underscore.
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


def added_columns(model: TrainedModel, texts: Sequence[str]) -> pl.DataFrame:
    """Return the columns that are added to a table, for texts: the names of ADDED."""
    found = model.score_texts(texts)
    classes = pl.Series(model.classes.tolist())
    probabilities = model.decision.probabilities(found.scores).max(axis=1)
    columns = classes.gather(best_class(found.scores)), pl.Series(probabilities), pl.Series(found.unknown_fractions)
    return pl.DataFrame([column.alias(name) for name, column in zip(ADDED, columns, strict=True)])


@dataclass
class Summary:
    """What was predicted, added up over tables: rows and probabilities by class, and unknown words."""

    classes: Sequence[Any]
    rows: int = 0
    of_class: Counter[Any] = field(default_factory=Counter)
    probabilities: Counter[Any] = field(default_factory=Counter)
    unknown: float = 0.0

    def add(self, frame: pl.DataFrame, names: Sequence[str]) -> None:
        """Add a table of `predict_frame`, whose added columns have these names."""
        self.rows += frame.height
        added = pl.DataFrame([frame[name].alias(column) for name, column in zip(names, ADDED, strict=True)])
        sums = added.drop_nulls("predicted").group_by("predicted", maintain_order=True)
        for label, size, probability, unknown in sums.agg(pl.len(), *map(pl.sum, ADDED[1:])).iter_rows():
            self.of_class[label] += size
            self.probabilities[label] += probability
            self.unknown += unknown

    def merge(self, other: "Summary") -> None:
        """Add what was predicted elsewhere, of the same classes."""
        self.rows += other.rows
        self.of_class += other.of_class
        self.probabilities += other.probabilities
        self.unknown += other.unknown

    def state(self) -> list[Any]:
        """Return it as JSON."""
        sums = [[self.of_class[label], self.probabilities[label]] for label in self.classes]
        return [self.rows, self.unknown, sums]

    @classmethod
    def restored(cls, classes: Sequence[Any], state: Sequence[Any]) -> "Summary":
        """Return what `state` was called of."""
        rows, unknown, sums = state
        of_class = Counter({label: size for label, (size, _) in zip(classes, sums, strict=True)})
        probabilities = Counter({label: total for label, (_, total) in zip(classes, sums, strict=True)})
        return cls(classes, rows, of_class, probabilities, unknown)

    def lines(self, most: int = 20) -> list[str]:
        """Return the summary in words, a line for each class, and one for all; at most so many classes."""
        total = self.of_class.total()
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
        overall = f"mean probability {self.probabilities.total() / total:.3f}"
        return [*lines, f"all {total} rows: {overall}, unknown words {self.unknown / total:.1%}"]


def free_names(taken: Sequence[str]) -> list[str]:
    """Return names for the added columns that the table does not have yet."""
    return [_free_name(name, taken) for name in ADDED]


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
