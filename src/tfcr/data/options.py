"""What a user may say about a data file, and what reading it gives."""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about a file; None and empty mean: find out.

    Attributes
    ----------
    text
        The columns that hold the text, by name or number from 1; several are joined.
    label, group
        The column that holds the label, and the one that says what must stay together in cross-validation.
    format
        A name of READERS.
    encoding
        A name that Python knows.
    separator
        The character between columns.
    quoting
        Whether cells may stand in double quotes.
    header
        Whether the first line names the columns.
    columns
        How many columns there are; the last one takes the rest of the line.
    label_files
        Files that hold the labels line by line, one for each file of texts.
    usual, usual_label
        The columns to take for text and label if they are there and no others are given.
    """

    text: tuple[str, ...] = ()
    label: str | None = None
    group: str | None = None
    format: str | None = None
    encoding: str | None = None
    separator: str | None = None
    quoting: bool = True
    header: bool = True
    columns: int | None = None
    label_files: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    usual_label: str | None = None


@dataclass(frozen=True)
class Table:
    """All columns of a file, and how it was read, in words."""

    frame: pl.DataFrame
    how: str
