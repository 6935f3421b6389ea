"""Texts of which some have a label, few or none: what labelling starts from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tfcr.data.columns import LABEL_NAMES, SEVERAL_NAMES, Columns, choose_columns, joined_text
from tfcr.data.corpus import Corpus, file_labels, is_missing, opened, with_label_options
from tfcr.data.encoding import source_name
from tfcr.data.labels import written_label
from tfcr.data.options import ReadOptions
from tfcr.data.readers import read_table
from tfcr.data.several import check_sets, split_cells
from tfcr.data.sources import files_in_folders, load_dataset, resolve_sources
from tfcr.errors import DataError


@dataclass(frozen=True)
class PartlyLabelled:
    """Texts, and the labels of those that have one.

    Attributes
    ----------
    texts
        Those that are not empty.
    labels
        For each text its label, as text; a tuple of several; None if it has none.
    rows
        The number of each text's row in the file, from 1; several files are numbered consecutively.
    name
        Where they come from.
    notes
        How the files were read and what was left out, one line each.
    """

    texts: list[str]
    labels: list[Any]
    rows: list[int]
    name: str
    notes: tuple[str, ...] = ()


def load_partly_labelled(
    sources: Sequence[str], options: ReadOptions | None = None, path: str | Path | None = None
) -> PartlyLabelled:
    """Return the texts that a user names, with the labels that are there; a column of labels need not be.

    Parameters
    ----------
    sources, options, path
        As in `load_data`.
    """
    options = options or ReadOptions()
    name, files = resolve_sources(sources, path)
    if name:
        corpus = with_label_options(load_dataset(name, path), options)
        rows = corpus.rows or list(range(1, len(corpus) + 1))
        return PartlyLabelled(corpus.texts, list(map(_as_text, corpus.labels)), rows, name, corpus.notes)
    texts: list[str | None] = []
    cells: list[Any] = []
    how: list[str] = []
    for file in files_in_folders(files):
        with opened(file) as place:
            table = read_table(place, options, file)
            columns = _columns(table.frame, options, source_name(file))
            texts += joined_text(table.frame, columns.text)
            found = [None] * table.frame.height
            cells += found if columns.label is None else file_labels(table, columns, place, options, source_name(file))
        how.append(f"{source_name(file)}: {table.how}, {table.frame.height} rows; {columns.described()}")
    where = ", ".join(map(source_name, files))
    labels = _labels(cells, options, where)
    used = [row for row, text in enumerate(texts) if text is not None]
    if not used:
        raise DataError(f"{where}: no row has a text; is --text the wrong column?")
    empty = len(texts) - len(used)
    notes = [*how, f"{empty} of {len(texts)} rows have no text and are left out"] if empty else how
    kept = [text for text in texts if text is not None]
    return PartlyLabelled(kept, [labels[row] for row in used], [row + 1 for row in used], where, tuple(notes))


def _columns(frame: pl.DataFrame, options: ReadOptions, name: str) -> Columns:
    """Return the columns of the text, and of the label if there is one."""
    label = options.label
    for names in (LABEL_NAMES, SEVERAL_NAMES):
        named = [column for column in frame.columns if column.lower() in names and column not in options.text]
        if label is None and len(named) == 1 and frame.width > 1:
            label = named[0]
    chosen = choose_columns(frame, replace(options, label=label), name, labelled=False)
    if label is None:
        return chosen
    return choose_columns(frame, replace(options, label=label, text=chosen.text), name)


def _labels(cells: list[Any], options: ReadOptions, name: str) -> list[Any]:
    """Return the labels as text, mapped and merged as the user wants."""
    if options.label_separator is not None:
        cells = [cell if isinstance(cell, tuple) else written_label(cell) for cell in cells]
        cells = split_cells(cells, options.label_separator, empty=None)
    known = [row for row, cell in enumerate(cells) if not (cell is None or cell == () or is_missing(cell))]
    rows = [_as_text(cells[row]) for row in known]
    if any(isinstance(labels, tuple) for labels in rows):
        rows = [labels if isinstance(labels, tuple) else (labels,) for labels in rows]
        check_sets(rows, name)
    found: list[Any] = [None] * len(cells)
    if rows:
        corpus = with_label_options(Corpus([""] * len(rows), rows, rows=known, name=name), options)
        for row, labels in zip(corpus.rows, corpus.labels, strict=True):
            found[row] = _as_text(labels)
    return found


def _as_text(label: Any) -> Any:
    return tuple(map(written_label, label)) if isinstance(label, tuple) else written_label(label)
