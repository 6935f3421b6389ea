"""Delimited text: CSV and its kin, as spreadsheets and ticket systems write them.

polars reads regular files; irregular ones (stray quotes, rows that end in extra separators) are read row by row.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import polars as pl

from tfcr.data.columns import column_names, column_numbers
from tfcr.data.dialect import detect_dialect
from tfcr.data.encoding import DataFile, bare_lines, decode_chunks, encoding_of
from tfcr.data.options import ReadOptions, Table
from tfcr.data.streaming import Piece, row_end, text_pieces
from tfcr.errors import DataError

if TYPE_CHECKING:
    from _csv import Reader

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


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
    # of lines that were split, the last column may hold separators: it must be quoted
    dialect = detect_dialect(file, encoding.name, separator, quoting=options.quoting or options.columns is not None)
    names: list[str] = []
    for piece in text_pieces(file, encoding.name, row_end(separator, quoting=options.quoting and not options.columns)):
        frame = _read_piece(piece, file.name, separator, options, len(names))
        breaks = _breaks_note(piece, frame.height) if options.quoting else []
        how = piece.described(f"{SEPARATORS.get(separator, repr(separator))}-separated", encoding, *breaks)
        if not names:
            names = column_names(frame, header=options.header)
            frame = frame.slice(1) if options.header else frame
        yield Table(frame.rename(dict(zip(frame.columns, names, strict=True))), how, dialect=dialect)


def _breaks_note(piece: Piece, rows: int) -> list[str]:
    """Say how many line breaks were taken for parts of cells: one quote that is never closed swallows many rows."""
    n_lines = piece.content.count(b"\n") + (not piece.content.endswith(b"\n"))
    if n_lines <= rows:  # the usual case; leaving out blank lines is slow
        return []
    breaks = sum(1 for line in io.BytesIO(piece.content) if line.strip()) - rows
    return [f"{breaks} line breaks inside quoted cells (if that is wrong: --quoting none)"] if breaks > 0 else []


# separators ----------------------------------------------------------------------------------------------------------


def _given_separator(options: ReadOptions) -> str | None:
    """Return the separator that the user gave, by name or as it is."""
    return None if options.separator is None else separator_named(options.separator)


def separator_named(given: str) -> str:
    """Return a separator that is given by its name or as it is."""
    names = {name: character for character, name in SEPARATORS.items()}
    separator = {**names, "\\t": "\t"}.get(given, given)
    if len(separator) != 1 or separator in '"\r\n' or not separator.isascii():
        raise DataError(f"found the separator {given!r}; expected one character, or one of {', '.join(names)}")
    return separator


def detect_separator(sample: str, *, quoting: bool = True) -> str:
    r"""Return the separator that gives most rows the same number of columns, two or more.

    >>> detect_separator("id;text\n1;good, cheap\n2;bad\n")
    ';'
    """
    scores = {separator: _regularity(sample, separator, quoting) for separator in SEPARATORS}
    best = max(scores, key=lambda separator: scores[separator])
    return best if scores[best] > (0, 0) else ","


def _regularity(sample: str, separator: str, quoting: bool) -> tuple[float, int]:
    """Return the fraction of rows with the most common number of columns, and that number.

    It is (0, 0) if that number is one, or if the first row has one column: each text may hold a comma, a header does
    not.
    """
    rows = [row for row in csv_cells(io.StringIO(sample, newline=""), separator, quoting=quoting) if row]
    if not rows or len(rows[0]) == 1:
        return 0.0, 0
    sizes = Counter(len(row) for row in (rows[:-1] if len(rows) > 2 else rows))
    size, number = sizes.most_common(1)[0]
    return (round(number / sizes.total(), 2), size) if size > 1 else (0.0, 0)


def csv_cells(text: Iterable[str], separator: str = ",", *, quoting: bool = True) -> "Reader":
    """Return a csv.reader of lines that keep their ends; cells may have any length."""
    csv.field_size_limit(1 << 30)
    return csv.reader(text, delimiter=separator, quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE)


# rows ----------------------------------------------------------------------------------------------------------------


def _read_piece(piece: Piece, name: str, separator: str, options: ReadOptions, width: int) -> pl.DataFrame:
    """Return the rows of a piece, the header among them; `width` is the number of columns, 0 in the first piece."""
    if options.columns:
        return _split_lines(piece, separator, options.columns)
    frame = _read_regular(piece, separator, options, width)
    return _read_irregular(piece, name, separator, options, width) if frame is None else frame


def _split_lines(piece: Piece, separator: str, columns: int) -> pl.DataFrame:
    """Split each line at its first separators only."""
    lines = pl.DataFrame({"line": list(bare_lines([piece.content.decode()]))})
    return lines.select(pl.col("line").str.splitn(separator, columns)).unnest("line")


def _read_regular(piece: Piece, separator: str, options: ReadOptions, width: int) -> pl.DataFrame | None:
    """Return the rows as polars reads them, or None if they are not as regular as it wants them."""
    try:
        return pl.read_csv(
            piece.content,
            separator=separator,
            quote_char='"' if options.quoting else None,
            has_header=False,
            infer_schema=False,
            schema=dict.fromkeys(column_numbers(width), pl.String) if width else None,
        )
    except pl.exceptions.PolarsError:
        return None


def _read_irregular(piece: Piece, name: str, separator: str, options: ReadOptions, width: int) -> pl.DataFrame:
    """Read stray quotes, and rows that end in more separators than others."""
    rows: list[list[str | None]] = []
    reader = csv_cells(io.StringIO(piece.content.decode(), newline=""), separator, quoting=options.quoting)
    for cells in reader:
        row: list[str | None] = [cell or None for cell in cells]
        width = width or len(row)
        if any(cell is not None for cell in row[width:]):
            raise DataError(
                f"{name}, line {piece.lines_before + reader.line_num}: found {len(row)} columns; expected {width}, as "
                f"in the first line. If texts hold the separator, give --columns {width}, and the last takes the rest"
            )
        if row:
            rows.append((row + [None] * width)[:width])
    return pl.DataFrame(rows, schema=dict.fromkeys(column_numbers(width), pl.String), orient="row")
