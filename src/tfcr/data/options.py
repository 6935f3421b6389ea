"""What a user may say about a data file, and what reading it returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tfcr.errors import InputError, look_up
from tfcr.system.parameters import whole

BAD_ROWS = {"stop": "stop at the first one, and name it", "skip": "leave them out, and count them"}
"""What is done about rows that cannot be read."""
COLUMNS = whole("columns", 1, 10_000).or_none("to take them from the first row")


@dataclass(frozen=True)
class ReadOptions:
    """What a user says about data files; what is None or empty is detected.

    Attributes
    ----------
    text
        Columns that hold the text, by name or number from 1; several are joined.
    label, group
        Column that holds the label; column whose equal values stay in one fold of cross-validation.
    time
        Column of dates, times or numbers that the corpus may be split by.
    format
        A name of READERS.
    encoding
        Any name that Python knows.
    separator
        Character between columns, or its name in SEPARATORS.
    quoting
        Whether cells may be quoted with double quotes; if None, the way that gives consistent columns.
    header
        Whether the first row names the columns.
    columns
        Number of columns; the last one takes the rest of the line.
    label_files
        Files with one label per line, one for each file of texts.
    sheet
        Sheet of an Excel workbook, by name or by number from 1; the first if None.
    label_separator
        What separates several labels in one cell; None: each cell is one label, unless the format has lists.
    merge_labels
        Whether labels that differ in case, blanks or Unicode form only become one: the most frequent spelling.
    label_map
        What labels become: a mapping, or a file with two columns and no header. A label that becomes empty is left out,
        with its rows; one that is not in the map is kept. It is applied before `merge_labels`.
    default_text, default_label
        Columns for text and label if none are given: those that a model was trained on. The label's may be absent.
    default_classes
        The classes of that model: spellings that `merge_labels` prefers.
    default_separator
        The label separator of the file that it was trained on.
    several
        Whether it gives several labels: then a row with one label has a list of one where the format has lists.
    keep_unlabelled
        Whether texts without a label are kept too, apart from the others: see `Corpus.unlabelled`.
    bad_rows
        A name of BAD_ROWS: what is done about a row that cannot be read.
    """

    text: tuple[str, ...] = ()
    label: str | None = None
    group: str | None = None
    time: str | None = None
    format: str | None = None
    encoding: str | None = None
    separator: str | None = None
    quoting: bool | None = None
    header: bool = True
    columns: int | None = None
    label_files: tuple[str, ...] = ()
    sheet: str | None = None
    label_separator: str | None = None
    merge_labels: bool = False
    label_map: str | Path | Mapping[Any, Any] | None = None
    default_text: tuple[str, ...] = ()
    default_label: str | None = None
    default_classes: tuple[Any, ...] = ()
    default_separator: str | None = None
    several: bool = False
    keep_unlabelled: bool = False
    bad_rows: str = "stop"

    def __post_init__(self) -> None:
        """Refuse a number of columns that polars would abort the process for, and a separator that is nowhere."""
        COLUMNS.check(self.columns)
        if self.label_separator == "":
            raise InputError("found an empty label separator; expected what stands between labels, such as ';'")
        look_up(BAD_ROWS, self.bad_rows, "way to deal with bad rows")


@dataclass(frozen=True)
class Dialect:
    """How a delimited text file is written, so that another can be written in the same way.

    Attributes
    ----------
    separator
        The character between columns.
    encoding
        Its name in Python; ``utf-8-sig`` and ``utf-16`` begin with a byte order mark.
    quoting
        A name of QUOTINGS.
    line_end
        What ends a row.
    """

    separator: str = ","
    encoding: str = "utf-8"
    quoting: str = "needed"
    line_end: str = "\n"


class BadRow(NamedTuple):
    """A row that could not be read and is empty instead: its position in a table, and what is wrong with it."""

    row: int
    what: str


@dataclass(frozen=True)
class Table:
    """All columns of a file or of a piece of one, and in words how it was read.

    `format` is a name of READERS; `dialect` is known of delimited text only. `cells` returns one column with the type
    that each cell has in the file, where the table would unite them; only pieces of formats with such cells have it.
    `bad` are the rows that could not be read, in their order: they are empty, so that others keep their numbers.
    """

    frame: pl.DataFrame
    how: str
    format: str = ""
    dialect: Dialect | None = None
    cells: Callable[[str], list[Any]] | None = None
    bad: tuple[BadRow, ...] = ()
