"""What a user may say about a data file, and what reading it returns."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class ReadOptions:
    """What a user says about data files; what is None or empty is detected.

    Attributes
    ----------
    text
        Columns that hold the text, by name or number from 1; several are joined.
    label, group
        Column that holds the label; column whose equal values stay in one fold of cross-validation.
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
    default_text, default_label
        Columns for text and label if none are given: those that a model was trained on. The label's may be absent.
    """

    text: tuple[str, ...] = ()
    label: str | None = None
    group: str | None = None
    format: str | None = None
    encoding: str | None = None
    separator: str | None = None
    quoting: bool | None = None
    header: bool = True
    columns: int | None = None
    label_files: tuple[str, ...] = ()
    default_text: tuple[str, ...] = ()
    default_label: str | None = None


@dataclass(frozen=True)
class Table:
    """All columns of a file or of a piece of one, and in words how it was read."""

    frame: pl.DataFrame
    how: str
