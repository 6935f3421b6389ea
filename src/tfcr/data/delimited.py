"""Delimited text: CSV and its kin, as spreadsheets and ticket systems write them.

polars reads regular files; irregular ones (stray quotes, rows that end in extra separators) are read row by row.
"""

import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from tfcr.data.columns import column_names, column_numbers
from tfcr.data.dialect import detect_dialect
from tfcr.data.encoding import DataFile, Encoding, bare_lines, decode_chunks, encoding_of, lines
from tfcr.data.options import BadRow, ReadOptions, Table
from tfcr.data.quotes import find_quoting, tally
from tfcr.data.streaming import MOST_ROW_BYTES, Piece, emptied, row_end, text_pieces, whole_rows
from tfcr.errors import DataError, TfcrWarning

if TYPE_CHECKING:
    from _csv import Reader

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
TALLY_BYTES = 1 << 21
"""How much of a file is looked at at once to tell how its quotes are meant: little enough for the processor's cache."""
_BLANK_LINES = re.compile(rb"^(?:\r?\n)+")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_LONE_RETURN_TEXT = re.compile("\r(?!\n)")
_RETURN = "\ufdd0"
"""Stands for a lone carriage return while csv splits a line: a code point that is no character, so no text holds it."""


def read_delimited(file: DataFile, options: ReadOptions, separator: str | None = None) -> Iterator[Table]:
    """Read rows and columns, piece by piece.

    Parameters
    ----------
    file, options
        The file, and the user's options.
    separator
        Of the format, if it has one; the user's goes first, and without either it is detected.
    """
    encoding = encoding_of(file, options)
    separator = _given_separator(options) or separator
    if separator is None:
        sample = next(decode_chunks([file.head()], encoding.name, file.name, "replace"))
        separator = detect_separator(sample, quoting=options.quoting)
    return _read_separated(file, options, encoding, separator)


def _read_separated(file: DataFile, options: ReadOptions, encoding: Encoding, separator: str) -> Iterator[Table]:
    form = file.fact("form", lambda: _form(file, encoding.name, separator, options))
    described = f"{SEPARATORS.get(separator, repr(separator))}-separated"
    dialect = detect_dialect(file, encoding.name, separator, quoting=not form.is_literal)
    names: list[str] = []
    for piece in text_pieces(file, encoding.name, row_end(separator, quoting=form.quoting)):
        bad: list[BadRow] | None = [] if file.skips else None
        frame = _read_piece(piece, file.name, form, len(names), bad)
        if not frame.width:
            continue  # blank lines before the first row
        frame, marked = emptied(frame, piece, encoding.name)
        bad = sorted([*(bad or ()), *marked])
        how = piece.described(described, encoding, *form.notes)
        if not names:
            if options.header and bad and bad[0].row == 0:
                raise DataError(f"{file.name}: {bad[0].what}, in the names of its columns; give --encoding NAME")
            names = column_names(frame, header=options.header)
            frame = frame.slice(1) if options.header else frame
            bad = [BadRow(row - options.header, what) for row, what in bad]
        frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
        yield Table(frame, how, dialect=dialect, bad=tuple(bad))


class Form(NamedTuple):
    """How the rows of a file are written.

    Attributes
    ----------
    separator
        The character between cells.
    quoting
        Whether cells are quoted.
    is_literal
        Whether quotes are ordinary characters.
    unquote
        Whether the quotes around a cell are removed, though they do not protect what is between them.
    is_regular
        Whether quotes stand only where a program that writes CSV puts them, and the last quoted cell is closed.
    columns
        Number of columns if the last one takes the rest of the line.
    notes
        What the user should know of it.
    """

    separator: str
    quoting: bool
    is_literal: bool = False
    unquote: bool = False
    is_regular: bool = False
    columns: int | None = None
    notes: tuple[str, ...] = ()


# quotes --------------------------------------------------------------------------------------------------------------


def _form(file: DataFile, encoding: str, separator: str, options: ReadOptions) -> Form:
    """Decide whether cells are quoted: as the user says, else the way that gives consistent columns."""
    if options.columns or options.quoting is False:
        return Form(separator, quoting=False, is_literal=not options.columns, columns=options.columns)
    if not any(b'"' in chunk for chunk in file.chunks()):
        return Form(separator, quoting=False)
    found = tally(whole_rows(file, encoding, size=TALLY_BYTES), separator)
    breaks = found.lines - found.rows
    if options.quoting is None and found.quotes_are_characters():
        why = (
            f"{file.name}: quotes are read as ordinary characters, which gives {found.lines:,} rows, "
            f"{_fitting(found.lines - found.misfit_lines, found.lines)} with {(found.width or 0) + 1} columns; as "
            f"quoted cells they would give {found.rows:,} rows, {_fitting(found.rows - found.misfit_rows, found.rows)} "
            f"with {(found.row_width or 0) + 1}, and {max(breaks, 0):,} line breaks inside cells. If that is wrong: "
            "--quoting usual"
        )
        warnings.warn(why, TfcrWarning, stacklevel=2)
        how = ("quotes are ordinary characters",)
        return Form(separator, quoting=False, is_literal=True, unquote=found.begins_quoted, notes=how)
    notes = (f"{breaks} line breaks inside quoted cells (if that is wrong: --quoting none)",) if breaks > 0 else ()
    if found.inside:
        warnings.warn(
            f"{file.name}, line {found.opened}: a quote opens a cell and is never closed, so the rest of the file is "
            "one cell. If that is wrong: --quoting none",
            TfcrWarning,
            stacklevel=2,
        )
    is_regular = found.is_regular and not found.inside
    return Form(separator, quoting=found.has_quotes, is_regular=is_regular, notes=notes)


def _fitting(number: int, total: int) -> str:
    return "all" if number == total else f"{number:,} of them"


# separators ----------------------------------------------------------------------------------------------------------


def _given_separator(options: ReadOptions) -> str | None:
    """Return the separator that the user gave, by name or as it is."""
    return None if options.separator is None else separator_named(options.separator)


def separator_named(given: str) -> str:
    """Return a separator that is given by its name or as it is."""
    names = {name: character for character, name in SEPARATORS.items()}
    separator = {**names, "\\t": "\t"}.get(given, given)
    if len(separator) != 1 or not separator.isascii() or separator in '"\r\n':
        raise DataError(
            f"found the separator {given!r}; expected one character (ASCII, no quote, no line break), or one of "
            f"{', '.join(names)}"
        )
    return separator


def detect_separator(sample: str, *, quoting: bool | None = True) -> str:
    r"""Return the separator that gives most rows the same number of columns, two or more.

    Whether cells may be quoted is tried both ways if `quoting` is None.

    >>> detect_separator("id;text\n1;good, cheap\n2;bad\n")
    ';'
    """
    ways = (quoting,) if quoting is not None else (True, False) if '"' in sample else (False,)
    scores = {(separator, way): _regularity(sample, separator, way) for way in ways for separator in SEPARATORS}
    best = max(scores, key=lambda case: scores[case])  # the first of several
    return best[0] if scores[best] > (0, 0) else ","


def _regularity(sample: str, separator: str, quoting: bool) -> tuple[float, int]:
    """Return the fraction of rows with the most common number of columns, and that number.

    It is (0, 0) if that number is one, or if the first row has one column: each text may hold a comma, a header does
    not.
    """
    if separator not in sample:
        return 0.0, 0
    rows = [row for row in csv_cells(_csv_lines(sample), separator, quoting=quoting) if row]
    if not rows or len(rows[0]) == 1:
        return 0.0, 0
    sizes = Counter(len(row) for row in (rows[:-1] if len(rows) > 2 else rows))
    size, number = sizes.most_common(1)[0]
    return (round(number / sizes.total(), 2), size) if size > 1 else (0.0, 0)


def csv_cells(text: Iterable[str], separator: str = ",", *, quoting: bool = True) -> "Reader":
    """Return a csv.reader of lines that keep their ends; cells may be long."""
    csv.field_size_limit(MOST_ROW_BYTES)
    return csv.reader(text, delimiter=separator, quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE)


# rows ----------------------------------------------------------------------------------------------------------------


def _read_piece(piece: Piece, name: str, form: Form, width: int, bad: list[BadRow] | None) -> pl.DataFrame:
    """Return the rows of a piece, the header among them; `width` is the number of columns, 0 in the first piece.

    Rows that cannot be read are empty and added to `bad`; if that is None, they are refused.
    """
    content = piece.content if width else _BLANK_LINES.sub(b"", piece.content, count=1)
    if not content:
        return pl.DataFrame()
    if form.columns:
        return _split_lines(content, form.separator, form.columns)
    width = width or _first_width(content, form)
    frame = _read_regular(content, form, width)
    if frame is None:
        lines_before = piece.lines_before + piece.content.count(b"\n") - content.count(b"\n")
        frame = _read_irregular(content, name, lines_before, form, width, bad)
    return frame.select(_unquoted(pl.all())) if form.unquote else frame


def _first_width(content: bytes, form: Form) -> int:
    """Return the number of columns of the first row."""
    lines = (line.decode("utf-8", "replace") for line in io.BytesIO(content))
    return len(next(csv_cells(map(_no_lone_return, lines), form.separator, quoting=form.quoting)))


def _split_lines(content: bytes, separator: str, columns: int) -> pl.DataFrame:
    """Split each line at its first separators only."""
    lines = pl.DataFrame({"line": list(bare_lines([content.decode()]))})
    return lines.select(pl.col("line").str.splitn(separator, columns)).unnest("line")


def _read_regular(content: bytes, form: Form, width: int) -> pl.DataFrame | None:
    """Return the rows as polars reads them, or None if they are not regular.

    Only where polars and Python's csv agree on every cell: else rows would depend on where a file is cut.
    """
    if _LONE_RETURN.search(content):
        return None
    quoting = form.quoting and b'"' in content
    is_known = form.is_regular or not quoting
    if not is_known and not find_quoting(np.frombuffer(content, np.uint8), ord(form.separator)).is_closed:
        return None
    try:
        frame = pl.read_csv(
            content,
            separator=form.separator,
            quote_char='"' if quoting else None,
            has_header=False,
            infer_schema=False,
            schema=dict.fromkeys(column_numbers(width), pl.String),
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None
    return frame.select(pl.all().replace("", None)) if quoting and b'""' in content else frame


def _read_irregular(
    content: bytes, name: str, lines_before: int, form: Form, width: int, bad: list[BadRow] | None
) -> pl.DataFrame:
    """Read stray quotes, and rows that end in more separators than others; a blank line is an empty row."""
    rows: list[list[str | None]] = []
    reader = csv_cells(_csv_lines(content.decode()), form.separator, quoting=form.quoting)
    for cells in reader:
        row: list[str | None] = [cell.replace(_RETURN, "\r") or None for cell in cells]
        if any(cell is not None for cell in row[width:]):
            hint = f"--columns {width}, and the last takes the rest" if width > 1 else "--format lines"
            where = f"line {lines_before + reader.line_num}"
            what = f"{where}: found {len(row)} columns; expected {width}, as in the first line"
            if bad is None:
                raise DataError(
                    f"{name}, {what}. If texts hold the separator, give {hint}; or leave such rows out: --bad-rows skip"
                )
            bad.append(BadRow(len(rows), what))
            row = []
        rows.append((row + [None] * width)[:width])
    return pl.DataFrame(rows, schema=dict.fromkeys(column_numbers(width), pl.String), orient="row")


def _csv_lines(text: str) -> Iterator[str]:
    """Yield lines for csv, which takes a lone carriage return for the end of a row; for us it is a character."""
    return map(_no_lone_return, lines([text])) if "\r" in text else lines([text])


def _no_lone_return(line: str) -> str:
    return line if "\r" not in line else _LONE_RETURN_TEXT.sub(_RETURN, line)


def _unquoted(cells: pl.Expr) -> pl.Expr:
    """Remove the quotes around whole cells."""
    is_quoted = cells.str.contains(r'^(?s)".*"$')
    bare = cells.str.replace(r'^(?s)"(.*)"$', "$1").str.replace_all('""', '"', literal=True).replace("", None)
    return pl.when(is_quoted).then(bare).otherwise(cells)
