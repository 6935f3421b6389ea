"""Labelled texts, and reading them from files: which rows can be used, and what the user is told about the others."""

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import polars as pl

from tfcr.data.columns import Columns, choose_columns, joined_text
from tfcr.data.encoding import DataFile, source_name
from tfcr.data.labels import (
    check_one_type,
    label_cells,
    label_notes,
    map_labels,
    merge_spellings,
    read_label_map,
    typed_labels,
    unite_types,
    written_label,
)
from tfcr.data.options import ReadOptions, Table
from tfcr.data.readers import READERS, read_label_lines, read_table
from tfcr.errors import DataError
from tfcr.system.files import scratch_folder
from tfcr.system.limits import is_pipe, is_there
from tfcr.text.labels import by_label

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Corpus:
    """Labelled texts.

    Attributes
    ----------
    texts, labels
        One label for each text.
    groups
        The group of each text, if a column gives it; a group stays in one fold.
    rows
        The number of each text's row in the file, from 1; several files are numbered consecutively.
    name
        Where they come from.
    columns, label_column
        The columns that text and label were taken from; those of the first file, if there are several.
    notes
        How the files were read and what was left out, one line each.
    """

    texts: list[str]
    labels: list[Any]
    groups: list[Any] | None = None
    rows: list[int] = field(default_factory=list)
    name: str = ""
    columns: tuple[str, ...] = ()
    label_column: str | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, numbers: Sequence[int]) -> "Corpus":
        """Return some of the texts, given by their positions."""
        return replace(
            self,
            texts=[self.texts[number] for number in numbers],
            labels=[self.labels[number] for number in numbers],
            groups=[self.groups[number] for number in numbers] if self.groups else None,
            rows=[self.rows[number] for number in numbers] if self.rows else [],
        )


def read_corpus(*paths: str | Path, **options: Any) -> Corpus:
    """Read labelled texts from one or several files.

    Parameters
    ----------
    paths
        Files and folders of any format in READERS; ``-`` is standard input.
    options
        What is known of them: the fields of ReadOptions.
    """
    return corpus_of_files(paths, ReadOptions(**options))


def corpus_of_files(paths: Sequence[str | Path], options: ReadOptions) -> Corpus:
    """Read labelled texts from files, each with its own columns."""
    labels = options.label_files
    if labels and len(labels) != len(paths):
        raise DataError(f"found {len(paths)} files and {len(labels)} files of labels; expected the same number of each")
    tables, columns, cells = [], [], []
    for number, path in enumerate(paths):
        with opened(path) as file:
            table = read_table(file, options, str(path))
            if labels:
                table = _with_labels(table, Path(labels[number]), options)
            columns.append(choose_columns(table.frame, options, source_name(path), format_name=table.format))
            cells.append(_label_cells(table, columns[-1], file, options, source_name(path)))
        tables.append(table)
    how = [
        f"{source_name(path)}: {table.how}, {table.frame.height} rows; {chosen.described()}"
        for path, table, chosen in zip(paths, tables, columns, strict=True)
    ]
    typed = all(READERS[table.format].typed for table in tables)
    name = ", ".join(map(source_name, paths))
    corpus = make_corpus([table.frame for table in tables], columns, name, cells=_of_one_type(cells), typed=typed)
    corpus = with_label_options(corpus, options)
    return replace(corpus, notes=("\n".join(how), *corpus.notes, *_content_notes(corpus)))


def with_label_options(corpus: Corpus, options: ReadOptions) -> Corpus:
    """Return a corpus whose labels are mapped and merged as the user wants, with a note on each."""
    if options.label_map is not None:
        known = read_label_map(options.label_map)
        labels, notes = map_labels(corpus.labels, known, any_spelling=options.merge_labels)
        kept = [number for number, label in enumerate(labels) if label is not None]
        if not kept:
            raise DataError(f"{corpus.name}: the map of labels leaves out every row; expected one that keeps some")
        labels = typed_labels([labels[number] for number in kept])
        check_one_type(labels, corpus.name)
        corpus = replace(corpus.take(kept), labels=labels, notes=(*corpus.notes, *notes))
    if options.merge_labels:
        labels, notes = merge_spellings(corpus.labels, options.default_classes)
        corpus = replace(corpus, labels=labels, notes=(*corpus.notes, *notes))
    return corpus


@contextmanager
def opened(path: str | Path) -> Iterator[Path]:
    """Give a path to read from; standard input and a pipe of the shell are written to a temporary file first."""
    if is_stream(path):
        with scratch_folder() as folder:
            copy = folder / "standard input"
            with _stream(path) as stream, copy.open("wb") as file:
                while chunk := stream.read(1 << 20):
                    file.write(chunk)
            yield copy
    elif is_pipe(Path(path)):  # which may have no writer, and reading would wait for it forever
        raise DataError(f"{path} is a pipe; expected a file, or standard input: give - instead, and < {path}")
    else:
        yield Path(path)


def is_stream(path: str | Path) -> bool:
    """Return whether a source can be read only once: ``-``, or a pipe that the shell made for ``<(command)``."""
    return str(path) == STANDARD_INPUT or (str(path).startswith("/dev/fd/") and is_pipe(Path(path)))


@contextmanager
def _stream(path: str | Path) -> Iterator[IO[bytes]]:
    if str(path) != STANDARD_INPUT:
        with Path(path).open("rb") as file:
            yield file
    elif sys.stdin is None:
        raise DataError("standard input is closed; expected data: give a file, or pipe it in")
    else:
        yield sys.stdin.buffer


def _with_labels(table: Table, file: Path, options: ReadOptions) -> Table:
    if not is_there(file):
        raise DataError(f"{file} does not exist; expected a file of labels, one per line")
    labels = read_label_lines(file, options)
    if len(labels) != table.frame.height:
        raise DataError(
            f"{file} holds {len(labels)} labels for {table.frame.height} texts; expected one label per line and text"
        )
    return replace(table, frame=table.frame.with_columns(pl.Series("label", labels)))


# rows that can be used -----------------------------------------------------------------------------------------------


def make_corpus(
    frames: Sequence[pl.DataFrame],
    columns: Sequence[Columns],
    name: str,
    *,
    cells: Sequence[Any],
    typed: bool,
) -> Corpus:
    """Return the labelled texts of tables, each with its own columns; rows without text or label are left out.

    Parameters
    ----------
    frames, columns
        The tables, and the columns that each has text, label and group in.
    name
        Where they come from.
    cells
        The labels of all rows, None where there is none.
    typed
        Whether all tables come from formats with types.
    """
    texts = [text for frame, chosen in zip(frames, columns, strict=True) for text in joined_text(frame, chosen.text)]
    labels = by_label(lambda label: None if _is_missing(label) else label, cells)
    groups = _groups(frames, columns, name) if columns[0].group else None
    is_whole = None not in texts and None not in labels
    used = [row for row in range(len(texts)) if is_whole or (texts[row] is not None and labels[row] is not None)]
    if not used:
        raise DataError(f"{name}: no row has both a text and a label; is --text or --label the wrong column?")
    united, notes = unite_types([labels[row] for row in used], name)
    corpus = Corpus(
        texts=[text for text, label in zip(texts, labels, strict=True) if text is not None and label is not None],
        labels=typed_labels(united, typed=typed),
        groups=[groups[row] for row in used] if groups else None,
        rows=[row + 1 for row in used],
        name=name,
        columns=columns[0].text,
        label_column=columns[0].label,
    )
    check_one_type(corpus.labels, name)
    return replace(corpus, notes=(*_row_notes(texts, labels), *notes))


def _is_missing(label: Any) -> bool:
    if isinstance(label, str):
        return not label.strip()
    return label is None or (isinstance(label, float) and math.isnan(label))


def _label_cells(table: Table, columns: Columns, file: Path, options: ReadOptions, name: str) -> list[Any]:
    """Return the labels of a table, None where there is none; of JSON, each with its own type."""
    column = table.frame[str(columns.label)]
    exact = READERS[table.format].cells
    if exact is None or (column.dtype == pl.String and not column.str.contains(_AMBIGUOUS).any()):
        return label_cells(column, name)
    label_cells(column, name)  # refuses lists and objects
    cells = exact(DataFile(file, name), options, column.name)
    if len(cells) != len(column):
        raise DataError(f"{name} holds {len(column)} or {len(cells)} objects; expected one JSON object per line")
    return cells


_AMBIGUOUS = r"^\s*[-+\d{\[]|^\s*(true|false|null|NaN|-?Infinity)\s*$|[\x00\ufffd]"
"""Text that polars may have made of a number, a boolean, a list, an object or half of a surrogate pair."""


def _of_one_type(cells: Sequence[list[Any]]) -> list[Any]:
    """Return the labels of all files; as text if one file has text and another has numbers."""
    kinds = {frozenset(set(map(type, of_file)) - {type(None)}) for of_file in cells}
    if len(kinds) > 1 and any(str in kind for kind in kinds):
        return [written_label(cell) for of_file in cells for cell in of_file]
    return [cell for of_file in cells for cell in of_file]


def _groups(frames: Sequence[pl.DataFrame], columns: Sequence[Columns], name: str) -> list[Any]:
    """Return the group of each row; as text if the tables have different types."""
    found = [frame[str(chosen.group)] for frame, chosen in zip(frames, columns, strict=True)]
    cells = [label_cells(column, name) for column in found]
    as_text = len({column.dtype for column in found}) > 1
    return [str(cell) if as_text and cell is not None else cell for of_file in cells for cell in of_file]


def _row_notes(texts: Sequence[str | None], labels: Sequence[Any]) -> list[str]:
    if None not in texts and None not in labels:  # as usual: no pass in Python
        return []
    rows: dict[str, list[int]] = {"text": [], "label": [], "text and no label": []}
    for number, (text, label) in enumerate(zip(texts, labels, strict=True), start=1):
        if text is None or label is None:
            what = "label" if text is not None else "text" if label is not None else "text and no label"
            rows[what].append(number)
    return [
        f"{len(missing)} of {len(texts)} rows have no {what} and are left out "
        f"(row {', '.join(map(str, missing[:3]))}{', …' if len(missing) > 3 else ''})"
        for what, missing in rows.items()
        if missing
    ]


def _content_notes(corpus: Corpus) -> list[str]:
    notes = []
    repeats = len(corpus) - len(set(zip(corpus.texts, map(str, corpus.labels), strict=True)))
    if repeats:
        notes.append(f"{repeats} rows repeat the text and label of another; each is kept")
    return [*notes, *label_notes(corpus.labels)]
