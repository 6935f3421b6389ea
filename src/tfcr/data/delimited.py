"""Delimited text: CSV and its kin, as spreadsheets and ticket systems write them.

polars reads what is even; what is not (stray quotes, rows that end in more separators) is read row by row.
"""

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Literal

import polars as pl

from tfcr.data.encoding import as_utf8, detect_encoding
from tfcr.data.options import ReadOptions, Table
from tfcr.errors import DataError

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}


def read_delimited(path: Path, options: ReadOptions) -> Table:
    """Read a file of rows and columns; encoding and separator are found out where they are not given."""
    encoding = options.encoding or detect_encoding(path)
    with as_utf8(path, encoding) as text:
        if not text.stat().st_size:
            raise DataError(f"{path} is empty; expected labelled texts")
        separator = given_separator(options) or detect_separator(text, quoting=options.quoting)
        frame = _split_lines(text, separator, options.columns) if options.columns else None
        if frame is None:
            frame = _read_by_polars(text, separator, options)
        if frame is None:
            frame = _read_carefully(path, text, separator, options)
        within = _line_breaks(text) - frame.height
    how = [f"{SEPARATORS.get(separator, repr(separator))}-separated", encoding]
    if options.quoting and within > 0:
        how.append(f"{within} line breaks inside quoted cells (if that is wrong: --quoting none)")
    return Table(_named(frame, header=options.header), ", ".join(how))


def _line_breaks(text: Path) -> int:
    """Return the number of lines that hold anything."""
    with text.open("rb") as file:
        return sum(1 for line in file if line.strip())


def given_separator(options: ReadOptions) -> str | None:
    """Return the separator that the user gave, by name or as it is."""
    if options.separator is None:
        return "\t" if options.format == "tsv" else None
    names = {name: character for character, name in SEPARATORS.items()}
    separator = {**names, "\\t": "\t"}.get(options.separator, options.separator)
    if len(separator) != 1:
        raise DataError(
            f"found the separator {options.separator!r}; expected one character, or one of {', '.join(names)}"
        )
    return separator


def detect_separator(path: Path, *, quoting: bool = True) -> str:
    """Tell the separator from the beginning of a file."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return separator_of(file.read(1 << 16), quoting=quoting)


def separator_of(sample: str, *, quoting: bool = True) -> str:
    """Return the separator that gives most rows the same number of columns, two or more."""
    scores = {separator: _evenness(sample, separator, quoting) for separator in SEPARATORS}
    best = max(scores, key=lambda separator: scores[separator])
    return best if scores[best] > (0, 0) else ","


def _quoting(quoting: bool) -> Literal[0, 3]:
    return csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE


def _evenness(sample: str, separator: str, quoting: bool) -> tuple[float, int]:
    """Return the share of the rows that have the most common number of columns, and that number; (0, 0) for one."""
    rows = list(csv.reader(io.StringIO(sample, newline=""), delimiter=separator, quoting=_quoting(quoting)))
    sizes = Counter(len(row) for row in (rows[:-1] if len(rows) > 2 else rows) if row)
    if not sizes:
        return 0.0, 0
    size, number = sizes.most_common(1)[0]
    return (round(number / sizes.total(), 2), size) if size > 1 else (0.0, 0)


def _read_by_polars(text: Path, separator: str, options: ReadOptions) -> pl.DataFrame | None:
    """Return the rows, the header among them, or None where they are not as even as polars wants them."""
    try:
        return pl.read_csv(
            text,
            separator=separator,
            quote_char='"' if options.quoting else None,
            has_header=False,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        return None


def _read_carefully(path: Path, text: Path, separator: str, options: ReadOptions) -> pl.DataFrame:
    """Read what is uneven: stray quotes, and rows that end in more separators than others."""
    csv.field_size_limit(1 << 30)
    rows: list[list[str | None]] = []
    with text.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter=separator, quoting=_quoting(options.quoting))
        for fields in reader:
            row: list[str | None] = [field or None for field in fields]
            width = len(rows[0]) if rows else len(row)
            if any(field is not None for field in row[width:]):
                raise DataError(
                    f"{path}, line {reader.line_num}: found {len(row)} columns; expected {width}, as in the first "
                    f"line. If texts hold the separator, give --columns {width}, and the last takes the rest"
                )
            if row:
                rows.append((row + [None] * width)[:width])
    return pl.DataFrame(rows, schema=[str(number) for number in range(len(rows[0]))], orient="row")


def _split_lines(text: Path, separator: str, columns: int) -> pl.DataFrame:
    """Cut each line at its first separators only."""
    lines = pl.DataFrame({"line": text.read_text("utf-8").removesuffix("\n").split("\n")})
    parts = lines.select(pl.col("line").str.strip_suffix("\r").str.splitn(separator, columns))
    return parts.unnest("line")


def _named(frame: pl.DataFrame, *, header: bool) -> pl.DataFrame:
    """Name the columns after the first row, or by their number."""
    numbers = [str(number + 1) for number in range(frame.width)]
    if not header:
        return frame.rename(dict(zip(frame.columns, numbers, strict=True)))
    first = frame.row(0)
    names: list[str] = []
    for number, cell in zip(numbers, first, strict=True):
        name = (cell or "").strip() or number
        names.append(f"{name} ({number})" if name in names else name)
    return frame.slice(1).rename(dict(zip(frame.columns, names, strict=True)))
