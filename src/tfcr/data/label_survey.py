"""A first pass over labelled files in constant memory: each different cell of the labels, and how many rows have it.

What a label becomes depends on all rows: "1" is a number if all labels are, and the most frequent spelling wins. But it
does not depend on which row it stands in. So the rules of `corpus` are applied to the different cells, each counted::

    "World" 3 rows, "world" 1 row  --rules of corpus-->  {"World": "World", "world": "World"}

and the second pass, over rows, is a look-up.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tfcr.data.columns import Columns, choose_columns, mean_length, rows_with_text
from tfcr.data.corpus import (
    NO_ROWS,
    bad_rows_note,
    content_notes,
    is_missing,
    of_one_type,
    row_note,
    splitting_separator,
    united_labels,
    wanted_labels,
    with_several,
)
from tfcr.data.labels import bad_label_error, counted, label_cells, label_problem
from tfcr.data.options import BadRow, ReadOptions, Table
from tfcr.data.readers import READERS
from tfcr.data.several import FlatLabels
from tfcr.errors import DataError

SHOWN_ROWS = 3
MOST_CELL_BYTES = 1 << 28
"""What all different cells may take together; more are no labels, but texts or numbers of rows."""
_CELL_BYTES = 500
"""About what we note of a cell."""

Key = tuple[type, Any]
"""A cell with its type: 1, 1.0 and True are equal, and different labels."""


def cell_key(cell: Any) -> Key:
    """Return what tells a cell from others; JSON may hold cells that have no hash, which are refused later."""
    if isinstance(cell, tuple):
        cell_keys = tuple(map(cell_key, cell))
        return tuple, cell_keys
    if isinstance(cell, float) and cell != cell:  # noqa: PLR0124 - NaN, which is missing
        return type(None), None
    return type(cell), repr(cell) if isinstance(cell, list | dict) else cell


@dataclass
class LabelCell:
    """A cell of a file: the rows that have it, with a text and without; the first of each, counted from 1."""

    value: Any
    n_rows: int = 0
    n_bare: int = 0
    rows: list[int] = field(default_factory=list)
    bare_rows: list[int] = field(default_factory=list)

    def add(self, number: int, rows: Sequence[int], *, has_text: bool) -> None:
        """Count rows of a piece, of which the first are given."""
        first = self.rows if has_text else self.bare_rows
        first += rows[: SHOWN_ROWS - len(first)]
        if has_text:
            self.n_rows += number
        else:
            self.n_bare += number

    @property
    def first_row(self) -> int:
        """The first row that has it."""
        return min((*self.rows, *self.bare_rows))


@dataclass
class FileSurvey:
    """What the first pass finds in a file.

    Attributes
    ----------
    name
        What messages call it.
    format, how
        A name of READERS, and in words how it was read.
    columns, options
        Those of text and label; what the user says about the file.
    n_rows
        How many rows it has.
    n_bad, first_bad
        How many rows could not be read, and the first of them.
    cells
        Its different cells of labels, in the order of first use.
    no_labels
        Cells that cannot be labels, and why; their rows are bad.
    text_types
        The types that each column of texts has in the pieces of the file.
    """

    name: str
    columns: Columns
    options: ReadOptions
    format: str = ""
    how: str = ""
    n_rows: int = 0
    n_bad: int = 0
    first_bad: BadRow | None = None
    cells: dict[Key, LabelCell] = field(default_factory=dict)
    no_labels: dict[Key, str] = field(default_factory=dict)
    text_types: dict[str, set[pl.DataType]] = field(default_factory=dict)
    _held: int = 0

    def add(self, table: Table, cells: Sequence[Any] | pl.Series, texts: pl.DataFrame) -> None:
        """Count the rows of a piece.

        Parameters
        ----------
        table
            The piece.
        cells
            Those of its labels; as a column if polars can count them.
        texts
            A table with its texts.
        """
        if not self.n_rows:
            self.format, self.how = table.format, table.how
        for column in self.columns.text:
            self.text_types.setdefault(column, set()).update({table.frame.schema[column]} - {pl.Null()})
        has_text = rows_with_text(texts, self.columns.text)
        if table.bad:
            self._add_bad(len(table.bad), self.n_rows + table.bad[0].row, table.bad[0].what)
        groups = _groups(cells, has_text, self.n_rows + 1, [row for row, _ in table.bad], self.name)
        for value, is_text, number, rows in groups:
            key = cell_key(value)
            if key not in self.cells and key not in self.no_labels:
                self._begin(key, value, rows[0], table.format)
            if key in self.no_labels:
                self._add_bad(number, rows[0] - 1, self.no_labels[key])
            else:
                self.cells[key].add(number, rows, has_text=is_text)
        self.n_rows += table.frame.height

    def _begin(self, key: Key, value: Any, row: int, format_name: str) -> None:
        """Note a cell that was not seen before; refuse it if it cannot be a label, unless such rows are left out."""
        self._check_size(value)
        problem = label_problem(value, splitting_separator(format_name, self.options))
        if problem is None:
            self.cells[key] = LabelCell(None if key[1] is None else value)
        elif self.options.bad_rows == "stop":
            raise bad_label_error(self.name, row, problem)
        else:
            self.no_labels[key] = problem

    def _add_bad(self, number: int, row: int, what: str) -> None:
        self.n_bad += number
        if self.first_bad is None or row < self.first_bad.row:
            self.first_bad = BadRow(row, what)

    def _check_size(self, value: Any) -> None:
        self._held += _CELL_BYTES + len(str(value))
        if self._held > MOST_CELL_BYTES:
            raise DataError(
                f"{self.name}: found {len(self.cells) + 1:,} different labels in the column {self.columns.label!r} "
                f"up to row {self.n_rows:,}; expected classes: is --label the wrong column?"
            )


def _groups(
    cells: Sequence[Any] | pl.Series, has_text: pl.Series, first_row: int, bad: Sequence[int], name: str
) -> Iterator[tuple[Any, bool, int, list[int]]]:
    """Yield the different cells with and without text, how many rows have them, and the first; without bad rows."""
    but = {first_row + row for row in bad}
    if isinstance(cells, pl.Series):
        rows = pl.DataFrame([cells.alias("cell"), has_text.alias("has_text")]).with_row_index("row", offset=first_row)
        rows = rows.filter(~pl.col("row").is_in(list(but))) if but else rows
        first = pl.col("row").head(SHOWN_ROWS)
        groups = rows.group_by("cell", "has_text", maintain_order=True).agg(pl.len().alias("number"), first)
        others = (groups[column].to_list() for column in ("has_text", "number", "row"))
        yield from zip(label_cells(groups["cell"].alias(cells.name), name), *others, strict=True)
        return
    for row, (cell, is_text) in enumerate(zip(cells, has_text, strict=True), start=first_row):
        if row not in but:
            yield cell, is_text, 1, [row]


# columns -------------------------------------------------------------------------------------------------------------


class ColumnSurvey:
    """The columns of all pieces of a file: those of a piece may lack some that others have, or differ in length.

    Parameters
    ----------
    options, name
        What the user says of the file, and what messages call it.
    """

    def __init__(self, options: ReadOptions, name: str) -> None:
        self._options, self._name = options, name
        self._types: dict[str, pl.DataType] = {}
        self._lengths: dict[str, list[tuple[float, int]]] = {}
        self._format = ""

    def add(self, table: Table) -> None:
        """Note the columns of a piece."""
        frame, self._format = table.frame, table.format
        self._types |= {column: dtype for column, dtype in frame.schema.items() if column not in self._types}
        if len(self._types) <= 4:  # only then columns may be told apart by their length
            for column in frame.columns:
                number = frame.height - frame[column].null_count()
                self._lengths.setdefault(column, []).append((mean_length(frame, column) * number, number))

    def choose(self) -> Columns:
        """Return the columns of text and label, as if all pieces were one table."""
        lengths = {
            column: sum(total for total, _ in of_column) / max(1, sum(number for _, number in of_column))
            for column, of_column in self._lengths.items()
        }
        frame = pl.DataFrame(schema=self._types)
        return choose_columns(frame, self._options, self._name, format_name=self._format, lengths=lengths)


# labels --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelSurvey:
    """What the labels of all files become.

    Attributes
    ----------
    becomes
        For each file and each of its cells the label, or a tuple of several; None for rows that are left out.
    class_sizes
        How many rows each class has, in the order of first use.
    n_rows, n_left_out
        How many rows are used, and how many are not.
    label_separator
        What separates several labels in a cell.
    several
        Whether a row may have several labels.
    notes
        How the files were read and what is left out, as of a Corpus.
    """

    becomes: tuple[Mapping[Key, Any], ...]
    class_sizes: Counter[Any]
    n_rows: int
    n_left_out: int
    label_separator: str | None
    several: bool
    notes: tuple[str, ...]


def label_survey(files: Sequence[FileSurvey], options: ReadOptions) -> LabelSurvey:
    """Return what labels become, by the rules of `corpus`."""
    name = ", ".join(file.name for file in files)
    found = [list(file.cells.values()) for file in files]
    cells, separator = with_several(
        [file.format for file in files],
        [file.columns for file in files],
        [[cell.value for cell in of_file] for of_file in found],
        options,
        [file.name for file in files],
        [[cell.first_row for cell in of_file] for of_file in found],
    )
    labels = [[None if is_missing(label) else label for label in of_file] for of_file in of_one_type(cells)]
    used = [
        (file, number)
        for file, of_file in enumerate(labels)
        for number in sorted(range(len(of_file)), key=lambda number: (found[file][number].rows or [0])[0])
        if of_file[number] is not None and found[file][number].n_rows
    ]
    if not used:
        raise DataError(NO_ROWS.format(name))
    sizes = [found[file][number].n_rows for file, number in used]
    typed = all(READERS[file.format].typed for file in files)
    united, notes = united_labels([labels[file][number] for file, number in used], name, typed=typed)
    wanted, kept, more = wanted_labels(united, options, name, sizes)
    sizes = [sizes[row] for row in kept]
    nothing = cell_key(None)  # the cell of rows that could not be read
    becomes: list[dict[Key, Any]] = [
        dict.fromkeys((*file.cells, *file.no_labels, *([nothing] if file.n_bad else []))) for file in files
    ]
    keys = [list(file.cells) for file in files]
    for row, label in zip(kept, wanted, strict=True):
        file, number = used[row]
        becomes[file][keys[file][number]] = label
    how = "\n".join(f"{file.name}: {file.how}, {file.n_rows} rows; {file.columns.described()}" for file in files)
    bad = [
        bad_rows_note(file.name, file.n_bad, file.first_bad.row + 1, file.first_bad.what)
        for file in files
        if file.first_bad is not None
    ]
    how = "\n".join([how, *bad])
    flat = FlatLabels.of(wanted)
    return LabelSurvey(
        tuple(becomes),
        counted(flat.labels, flat.spread(sizes)),
        sum(sizes),
        sum(file.n_rows for file in files) - sum(sizes),
        separator,
        flat.sizes is not None,
        (how, *_row_notes(files, labels), *notes, *more, *content_notes(wanted, sizes)),
    )


def _row_notes(files: Sequence[FileSurvey], labels: Sequence[Sequence[Any]]) -> list[str]:
    """Return how many rows lack a text or a label; rows are numbered consecutively."""
    numbers: Counter[str] = Counter()
    first: dict[str, list[int]] = {"text": [], "label": [], "text and no label": []}
    before = 0
    for file, of_file in zip(files, labels, strict=True):
        for cell, label in zip(file.cells.values(), of_file, strict=True):
            bare = "text and no label" if label is None else "text"
            for what, number, rows in ((bare, cell.n_bare, cell.bare_rows), ("label", cell.n_rows, cell.rows)):
                if what != "label" or label is None:
                    numbers[what] += number
                    first[what] += (before + row for row in rows)
        before += file.n_rows
    return [
        row_note(what, numbers[what], sorted(rows)[:SHOWN_ROWS], before)
        for what, rows in first.items()
        if numbers[what]
    ]


# looking up ----------------------------------------------------------------------------------------------------------


def look_up_labels(cells: Sequence[Any], becomes: Mapping[Key, Any]) -> list[Any]:
    """Return what each cell becomes; raise KeyError for one that the survey has not seen."""
    kinds = set(map(type, cells)) - {type(None)}
    if len(kinds) > 1 or kinds & {tuple, float, list, dict}:
        return [becomes[cell_key(cell)] for cell in cells]
    plain = {value: label for (kind, value), label in becomes.items() if kind in kinds or value is None}
    return list(map(plain.__getitem__, cells))
