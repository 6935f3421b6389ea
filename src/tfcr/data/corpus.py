"""Labelled texts, and reading them from files: which rows can be used, and what the user is told about the others."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from tfcr.data.columns import Columns, choose_columns, joined_text
from tfcr.data.options import ReadOptions, Table
from tfcr.data.readers import read_label_lines, read_table
from tfcr.errors import DataError
from tfcr.system.files import scratch_folder

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
    tables, columns = [], []
    for number, path in enumerate(paths):
        with opened(path) as file:
            table = read_table(file, options, str(path))
        if labels:
            table = _with_labels(table, Path(labels[number]), options)
        columns.append(choose_columns(table.frame, options, str(path)))
        tables.append(table)
    how = [
        f"{path}: {table.how}, {table.frame.height} rows; {chosen.described()}"
        for path, table, chosen in zip(paths, tables, columns, strict=True)
    ]
    corpus = make_corpus([table.frame for table in tables], columns, ", ".join(map(str, paths)))
    return replace(corpus, notes=("\n".join(how), *corpus.notes))


@contextmanager
def opened(path: str | Path) -> Iterator[Path]:
    """Give a path to read from; standard input is written to a temporary file first."""
    if str(path) != STANDARD_INPUT:
        yield Path(path)
        return
    with scratch_folder() as folder:
        copy = folder / "standard input"
        with copy.open("wb") as file:
            while chunk := sys.stdin.buffer.read(1 << 20):
                file.write(chunk)
        yield copy


def _with_labels(table: Table, file: Path, options: ReadOptions) -> Table:
    if not file.exists():
        raise DataError(f"{file} does not exist; expected a file of labels, one per line")
    labels = read_label_lines(file, options)
    if len(labels) != table.frame.height:
        raise DataError(
            f"{file} holds {len(labels)} labels for {table.frame.height} texts; expected one label per line and text"
        )
    return replace(table, frame=table.frame.with_columns(pl.Series("label", labels)))


# rows that can be used -----------------------------------------------------------------------------------------------


def make_corpus(frames: Sequence[pl.DataFrame], columns: Sequence[Columns], name: str) -> Corpus:
    """Return the labelled texts of tables, each with its own columns; rows without text or label are left out.

    Parameters
    ----------
    frames, columns
        The tables, and the columns that each has text, label and group in.
    name
        Where they come from.
    """
    texts = [text for frame, chosen in zip(frames, columns, strict=True) for text in joined_text(frame, chosen.text)]
    labels = [
        None if isinstance(label, str) and not label.strip() else label for label in _cells(frames, columns, "label")
    ]
    groups = _cells(frames, columns, "group") if columns[0].group else None
    used = [row for row in range(len(texts)) if texts[row] is not None and labels[row] is not None]
    if not used:
        raise DataError(f"{name}: no row has both a text and a label; is --text or --label the wrong column?")
    corpus = Corpus(
        texts=[text for row in used if (text := texts[row]) is not None],
        labels=typed_labels([labels[row] for row in used]),
        groups=[groups[row] for row in used] if groups else None,
        rows=[row + 1 for row in used],
        name=name,
        columns=columns[0].text,
        label_column=columns[0].label,
    )
    return replace(corpus, notes=(*_row_notes(texts, labels), *_content_notes(corpus)))


def _cells(frames: Sequence[pl.DataFrame], columns: Sequence[Columns], kind: str) -> list[Any]:
    """Return the cells of each table's column for `kind`; as text if the tables have different types."""
    found = [frame[getattr(chosen, kind)] for frame, chosen in zip(frames, columns, strict=True)]
    if len({column.dtype for column in found}) > 1:
        found = [column.cast(pl.String, strict=False) for column in found]
    return [cell for column in found for cell in column.to_list()]


def typed_labels(labels: list[Any]) -> list[Any]:
    """Return labels as integers if all of them are written as such, else without surrounding blanks."""
    if all(isinstance(label, str) and _is_whole(label) for label in labels):
        return [int(label) for label in labels]
    return [label.strip() if isinstance(label, str) else label for label in labels]


def _is_whole(label: str) -> bool:
    try:
        return str(int(label)) == label.strip()
    except ValueError:
        return False


def _row_notes(texts: Sequence[str | None], labels: Sequence[Any]) -> list[str]:
    notes = []
    for what, cells in (("text", texts), ("label", labels)):
        missing = [row + 1 for row, cell in enumerate(cells) if cell is None]
        if missing:
            first = ", ".join(map(str, missing[:3])) + (", …" if len(missing) > 3 else "")
            notes.append(f"{len(missing)} of {len(cells)} rows have no {what} and are left out (row {first})")
    return notes


def _content_notes(corpus: Corpus) -> list[str]:
    notes = []
    repeats = len(corpus) - len(set(zip(corpus.texts, map(str, corpus.labels), strict=True)))
    if repeats:
        notes.append(f"{repeats} rows repeat the text and label of another; each is kept")
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in corpus.labels):
        values = Counter(corpus.labels)
        shown = ", ".join(map(str, sorted(values)[:5])) + (", …" if len(values) > 5 else "")
        notes.append(f"the labels are numbers ({shown}); each number is a class")
    return notes
