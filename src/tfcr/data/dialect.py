"""How a delimited text file is written: detected in what is read, and followed in what is written."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from tfcr.data.columns import column_numbers
from tfcr.data.encoding import DataFile, decode_chunks
from tfcr.data.options import Dialect
from tfcr.errors import DataError, look_up

NUMBER = r"^[+-]?[0-9.,]*[0-9][0-9.,]*([eE][+-]?[0-9]+)?%?$"
"""A number as a spreadsheet reads it, in any locale."""
FORMULA = r"^[\t\r\n ]*[=+\-@＝＋－＠]"
"""What a spreadsheet may take for a formula, if it is no number; the last four are full-width forms."""


# detecting -----------------------------------------------------------------------------------------------------------


def detect_dialect(file: DataFile, encoding: str, separator: str, *, quoting: bool) -> Dialect:
    """Return how a file is written, by its beginning.

    Parameters
    ----------
    file, encoding, separator
        What is known already.
    quoting
        Whether cells may be quoted; else quotes are ordinary characters.
    """
    head = file.head()
    sample = "".join(decode_chunks([head], encoding, file.name, "replace"))
    if head.startswith(codecs.BOM_UTF8) and codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"
    windows = 2 * sample.count("\r\n") > sample.count("\n")
    style = _quoting_of(sample, separator) if quoting else "none"
    return Dialect(separator, encoding, style, "\r\n" if windows else "\n")


def _quoting_of(sample: str, separator: str) -> str:
    """Return the name of QUOTINGS that fits the rows below the first one.

    Python's csv reads a bare cell as a number in this mode, and fails if it is none: some text is bare then.
    """
    lines = iter(io.StringIO(sample[: sample.rfind("\n") + 1], newline=""))
    cells = csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONNUMERIC)
    try:
        next(csv.reader(lines, delimiter=separator), None)
        types = {type(cell) for row in cells for cell in row}
    except (ValueError, csv.Error):
        return "needed"
    return {frozenset({str}): "all", frozenset({str, float}): "text"}.get(frozenset(types), "needed")


# writing -------------------------------------------------------------------------------------------------------------


class Quotes(NamedTuple):
    """Which cells stand in quotes: the name that polars has for it, and what is done to a cell before."""

    style: Literal["necessary", "always", "never"]
    prepare: Callable[[pl.Expr, str], pl.Expr] = lambda cell, separator: cell


def _quoted_text(cell: pl.Expr, separator: str) -> pl.Expr:
    is_number = cell.str.contains(NUMBER) & ~cell.str.contains(separator, literal=True)
    quoted = pl.lit('"') + cell.str.replace_all('"', '""', literal=True) + pl.lit('"')
    return pl.when(is_number).then(cell).otherwise(quoted)


QUOTINGS: dict[str, Quotes] = {
    "needed": Quotes("necessary"),
    "text": Quotes("never", _quoted_text),
    "all": Quotes("always"),
    "none": Quotes("never"),
}
"""Which cells stand in quotes: those that need it, all but numbers, all, none."""


def told_otherwise(dialect: Dialect, *, encoding: str | None, separator: str | None, quoting: str | None) -> Dialect:
    """Return a dialect with what the user wants instead."""
    if encoding is not None:
        try:
            if not codecs.lookup(encoding)._is_text_encoding:
                raise LookupError
        except (LookupError, ValueError):
            raise DataError(f"unknown encoding {encoding!r} to write; for example: utf-8, utf-8-sig, cp1252") from None
        dialect = replace(dialect, encoding=encoding)
    if separator is not None:
        dialect = replace(dialect, separator=separator)
    if quoting is not None:
        look_up(QUOTINGS, quoting, "quoting")
        dialect = replace(dialect, quoting=quoting)
    return dialect


def guard_formulas(cells: pl.Series) -> pl.Series:
    """Put an apostrophe before cells that a spreadsheet would take for formulas."""
    begins_like_one = cells.str.contains(FORMULA).fill_null(value=False)
    if not begins_like_one.any():  # the usual case
        return cells
    places = np.flatnonzero(begins_like_one.to_numpy())
    found = cells.gather(places)
    is_formula = ~found.str.contains(NUMBER).to_numpy()
    return cells.clone().scatter(places[is_formula], "'" + found.filter(is_formula))


def guarded(text: str) -> str:
    """Return one cell, with an apostrophe before it if a spreadsheet would take it for a formula.

    Examples
    --------
    >>> guarded("=1+1"), guarded("-1.5")
    ("'=1+1", '-1.5')
    """
    return f"'{text}" if re.search(FORMULA, text) and not re.search(NUMBER, text) else text


def delimited_rows(
    frame: pl.DataFrame, dialect: Dialect, *, guard: bool, header: bool, plain: Collection[str] = ()
) -> bytes:
    """Return a table of text as rows in UTF-8, with the names of its columns first if `header`.

    Parameters
    ----------
    frame
        All of its columns are text.
    dialect
        How to write them; its encoding is left to the caller.
    guard
        Whether cells that begin like a formula get an apostrophe.
    header
        Whether to write the names of the columns.
    plain
        Columns of numbers that are not negative, which need no guard.
    """
    rows = b""
    if header:
        names = pl.DataFrame([frame.columns], schema=dict.fromkeys(frame.columns, pl.String), orient="row")
        rows = delimited_rows(names, dialect, guard=guard, header=False)
    numbers = column_numbers(frame.width)  # a column named "*" or "^a.*$" would mean several to polars
    bare = pl.DataFrame(frame.get_columns(), schema=numbers)
    if dialect.quoting == "none":
        _check_bare(bare, dialect)
    if guard:
        cells = zip(frame.columns, bare.iter_columns(), strict=True)
        bare = pl.DataFrame([column if name in plain else guard_formulas(column) for name, column in cells])
    quotes = QUOTINGS[dialect.quoting]
    buffer = io.BytesIO()
    bare.select(quotes.prepare(pl.col(number), dialect.separator).alias(number) for number in numbers).write_csv(
        buffer,
        separator=dialect.separator,
        line_terminator=dialect.line_end,
        quote_style=quotes.style,
        include_header=False,
    )
    return rows + buffer.getvalue()


def _check_bare(frame: pl.DataFrame, dialect: Dialect) -> None:
    for column in frame.iter_columns():
        broken = column.filter(column.str.contains_any([dialect.separator, "\n", "\r"]))
        if len(broken):
            raise DataError(
                f"cannot write the cell {broken[0][:60]!r} without quotes, as the input is written: it holds a "
                "separator or a line break; give --output-quoting needed"
            )
