"""Files larger than memory, piece by piece: each piece is a table of whole rows.

A piece is read as a file of its own would be, under the same header. The types of JSON values are those of the piece.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl

from tfcr.data.delimited import detect_separator, given_separator
from tfcr.data.encoding import as_utf8, detect_encoding
from tfcr.data.options import ReadOptions, Table
from tfcr.data.readers import detect_format, read_table
from tfcr.errors import DataError

PIECE_BYTES = 1 << 26
"""About how much of a file is read at once; a smaller file is one piece."""
PARQUET_ROWS = 100_000

Cut = Callable[[bytes], int]
"""From the beginning of a file, or from where a row starts, to where the last whole row ends; 0 if none does."""


def table_pieces(path: Path, options: ReadOptions) -> Iterator[Table]:
    """Read a file piece by piece, in constant memory; folders and archives are read whole."""
    if not path.is_file() or path.stat().st_size <= PIECE_BYTES // 4:  # packed text is a quarter of its size, or so
        yield read_table(path, options)
        return
    kind = options.format or detect_format(path, options)
    if kind == "parquet":
        yield from _parquet_pieces(path, options)
    elif kind in ("csv", "tsv", "jsonl", "fasttext", "lines"):
        yield from _text_pieces(path, replace(options, format=kind))
    else:
        yield read_table(path, options)


def _parquet_pieces(path: Path, options: ReadOptions) -> Iterator[Table]:
    try:
        rows = pl.scan_parquet(path)
        height = rows.select(pl.len()).collect().item()
    except (pl.exceptions.PolarsError, OSError):
        yield read_table(path, options)  # which says what is wrong
        return
    step = max(1, min(PARQUET_ROWS, height * PIECE_BYTES // (4 * path.stat().st_size)))
    for start in range(0, height, step):
        yield Table(rows.slice(start, step).collect(), "Parquet")


def _text_pieces(path: Path, options: ReadOptions) -> Iterator[Table]:
    encoding = options.encoding or detect_encoding(path)
    with as_utf8(path, encoding) as text:
        if text.stat().st_size <= PIECE_BYTES or (options.format == "jsonl" and _is_list(text)):
            yield read_table(path, options)
            return
        known = replace(options, encoding="utf-8")
        cut: Cut = _line_end
        if options.format in ("csv", "tsv"):
            separator = given_separator(options) or detect_separator(text, quoting=options.quoting)
            known = replace(known, separator=separator)
            cut = _row_end(separator, quoting=options.quoting and not options.columns)
        for number, (piece, lines_before) in enumerate(_pieces(text, cut, repeat_first=cut is not _line_end)):
            with _naming(path, piece, lines_before):
                table = read_table(piece, known)
            # the first row stands before every piece: it names the columns, or says how many there are
            again = number > 0 and cut is not _line_end and not options.header
            yield Table(table.frame.slice(1) if again else table.frame, f"{table.how} ({encoding}, in pieces)")


def _is_list(text: Path) -> bool:
    """Tell a JSON list, which cannot be cut at its lines."""
    with text.open("rb") as file:
        return file.read(1 << 12).lstrip().startswith(b"[")


def _pieces(text: Path, cut: Cut, *, repeat_first: bool) -> Iterator[tuple[Path, int]]:
    """Write the rows of a file to a temporary one, a piece at a time; yield its path and the lines before the piece."""
    with tempfile.TemporaryDirectory() as folder, text.open("rb") as file:
        piece = Path(folder) / "piece"
        first = _first_row(file, cut) if repeat_first else b""
        lines, rest = 0, b""
        while True:
            content, rest = _whole_rows(file, rest, cut)
            if not content:
                return
            if not content.strip():
                continue
            piece.write_bytes(content if lines == 0 else first + content)
            yield piece, lines
            lines += content.count(b"\n")


def _first_row(file: IO[bytes], cut: Cut) -> bytes:
    row = b""
    while line := file.readline():
        row += line
        if cut(row):
            break
    file.seek(0)
    return row


def _whole_rows(file: IO[bytes], rest: bytes, cut: Cut) -> tuple[bytes, bytes]:
    """Return the next whole rows, about PIECE_BYTES of them, and what was read beyond; all that is left at the end."""
    content = rest
    while chunk := file.read(PIECE_BYTES):
        content += chunk
        if end := cut(content):
            return content[:end], content[end:]
    return content, b""


def _line_end(content: bytes) -> int:
    return content.rfind(b"\n") + 1


def _row_end(separator: str, *, quoting: bool) -> Cut:
    from tfcr.system.native import last_row_end  # noqa: PLC0415 - numba loads slowly, and small files need none

    return lambda content: int(last_row_end(np.frombuffer(content, np.uint8), ord(separator), quoting))


@contextmanager
def _naming(path: Path, piece: Path, lines_before: int) -> Iterator[None]:
    """Name the user's file in errors, not our piece of it."""
    try:
        yield
    except DataError as error:
        name = f"{path}, after line {lines_before}" if lines_before else str(path)
        raise DataError(str(error).replace(str(piece), name)) from None
