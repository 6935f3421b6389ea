"""Predictions for tables: all input columns, and three more."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from tfcr.data.columns import joined_text
from tfcr.system.progress import Progress
from tfcr.trained.model import TrainedModel

BATCH = 20_000
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
    used = [row for row, cell in enumerate(texts) if cell is not None]
    columns: tuple[list[Any], ...] = tuple([None] * frame.height for _ in ADDED)
    types: tuple[Any, ...] = (pl.Series(model.classes.tolist()).dtype, pl.Float64, pl.Float64)
    for start in range(0, len(used), BATCH):
        batch = used[start : start + BATCH]
        found = model.predict_with_unknown([texts[row] or "" for row in batch])
        for column, values in zip(columns, found, strict=True):
            for row, value in zip(batch, values.tolist(), strict=True):
                column[row] = value
        if progress is not None:
            progress(min(start + BATCH, len(used)), len(used))
    added = zip(names or free_names(frame.columns), columns, types, strict=True)
    return frame.with_columns(pl.Series(name, values, kind) for name, values, kind in added)


def free_names(taken: Sequence[str]) -> list[str]:
    """Return names for the added columns that the table does not have yet."""
    return [_free_name(name, taken) for name in ADDED]


def _free_name(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name
