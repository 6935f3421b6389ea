"""Datasets by name, read into memory or row by row."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from tfcr.data.corpus import Corpus
from tfcr.data.datasets.fetch import dataset_place, rows_at
from tfcr.data.datasets.registry import DATASETS
from tfcr.data.datasets.rows import Row
from tfcr.errors import DataError, look_up


def load_dataset(name: str, path: str | Path | None = None, *, sample: int | None = None, seed: int = 0) -> Corpus:
    """Return the texts of a dataset; if its files are missing, the error says how to get them.

    Parameters
    ----------
    name
        A name of DATASETS.
    path
        Where its files are: a file, a folder or an archive. If omitted, they are looked for in the place given to
        `fetch_dataset`, in the folders of TFCR_DATA and among the downloads.
    sample
        At most this many documents, drawn at random in one pass: the others are never held in memory.
    seed
        Seed of the random draw.
    """
    drawn = _draw(dataset_rows(name, path), sample, seed)
    if not drawn.whole:
        raise DataError(
            f"the files of {name!r} hold no document with a text and a label ({drawn.missing:,} without); "
            f"expected {DATASETS[name].files}"
        )
    return Corpus(
        texts=[row.text or "" for _, row in drawn.kept],
        labels=[row.label for _, row in drawn.kept],
        rows=[number for number, _ in drawn.kept],
        name=name,
        notes=tuple(_notes(drawn, seed)),
    )


def dataset_rows(name: str, path: str | Path | None = None) -> Iterator[Row]:
    """Yield the rows of a dataset one by one, with None for what is missing."""
    look_up(DATASETS, name, "dataset")
    return rows_at(name, Path(path) if path is not None else dataset_place(name))


class _Drawn(NamedTuple):
    """Rows with their numbers; how many rows had both text and label, and how many had not."""

    kept: list[tuple[int, Row]]
    whole: int
    missing: int


def _draw(rows: Iterator[Row], most: int | None, seed: int) -> _Drawn:
    """Keep the rows that have text and label, in their order, or a uniform sample of `most` of them.

    This is reservoir sampling: the n-th row takes a random place among n, and stays if that is one of the first `most`.
    """
    random = Random(seed)  # noqa: S311 - no secret
    kept: list[tuple[int, Row]] = []
    whole = missing = 0
    for number, row in enumerate(rows, start=1):
        if not row.label or not row.text or not row.text.strip():
            missing += 1
            continue
        whole += 1
        if most is None or len(kept) < most:
            kept.append((number, row))
        elif (place := random.randrange(whole)) < most:
            kept[place] = (number, row)
    return _Drawn(sorted(kept), whole, missing)


def _notes(drawn: _Drawn, seed: int) -> Iterator[str]:
    if drawn.missing:
        rows = drawn.whole + drawn.missing
        yield f"{drawn.missing:,} of {rows:,} rows have no text, or no label of the dataset: left out"
    if len(drawn.kept) < drawn.whole:
        yield f"{len(drawn.kept):,} of {drawn.whole:,} documents, drawn with seed {seed}"
