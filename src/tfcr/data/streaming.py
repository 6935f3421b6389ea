"""Text files in pieces of whole rows, so that a file larger than memory can be read; a small file is one piece."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from tfcr.data.encoding import NO_TEXT, DataFile, utf8_chunks
from tfcr.data.options import BadRow
from tfcr.errors import DataError

PIECE_BYTES = 1 << 26
"""About how much of a file is parsed at once."""
UNTYPED_BYTES = 1 << 22
"""The same where cells have no types: it is as well parsed in smaller pieces, so that other work can begin."""
PARQUET_ROWS = 100_000
"""At most how many rows of a Parquet file are read at once."""
MOST_ROW_BYTES = 1 << 28
"""A longer row is refused: texts are shorter, and a quote that is never closed makes the rest of a file one cell."""

Cut = Callable[[bytes], int]
"""From bytes that begin with a row to where their last whole row ends; 0 if none does."""


class Piece(NamedTuple):
    """Whole rows of a file in UTF-8, the number of lines before them, and whether they are the last."""

    content: bytes
    lines_before: int
    is_last: bool

    def described(self, *how: object) -> str:
        """Return how the piece was read, in words."""
        whole = self.is_last and not self.lines_before
        return ", ".join(map(str, how)) + ("" if whole else ", in pieces")


def emptied(frame: pl.DataFrame, piece: Piece, encoding: str) -> tuple[pl.DataFrame, tuple[BadRow, ...]]:
    """Return the rows of a piece, those with NO_TEXT empty, and which these are; cells are text."""
    position = piece.content.find(NO_TEXT.encode())
    if position < 0:
        return frame, ()
    is_bad = frame.select(pl.any_horizontal(pl.all().str.contains(NO_TEXT, literal=True).fill_null(value=False)))
    rows = is_bad.to_series()
    line = piece.lines_before + piece.content.count(b"\n", 0, position) + 1
    bad = [BadRow(row, f"found bytes that are not {encoding}") for row in rows.arg_true().to_list()]
    bad[:1] = [BadRow(first.row, f"line {line}: {first.what}") for first in bad[:1]]
    return frame.select(pl.when(~rows).then(pl.all())), tuple(bad)


def line_end(content: bytes) -> int:
    """Cut after the last line."""
    return content.rfind(b"\n") + 1


def row_end(separator: str, *, quoting: bool) -> Cut:
    """Return a function that cuts after the last row of delimited text, which may have line breaks in quoted cells."""
    if not quoting:
        return line_end

    def cut(content: bytes) -> int:
        from tfcr.system.native import last_row_end  # noqa: PLC0415 - numba loads slowly; small files do not need it

        return int(last_row_end(np.frombuffer(content, np.uint8), ord(separator), quoting))

    return cut


def text_pieces(file: DataFile, encoding: str, cut: Cut = line_end, *, typed: bool = False) -> Iterator[Piece]:
    """Yield a text file piece by piece, in constant memory; a file of blank lines is refused.

    Parameters
    ----------
    file, encoding, cut
        The file, its encoding, and where a piece may end.
    typed
        Whether its cells have types.
    """
    lines, held, is_blank = 0, None, True
    for content in whole_rows(file, encoding, cut, PIECE_BYTES if typed else min(PIECE_BYTES, UNTYPED_BYTES)):
        if held is not None:
            yield Piece(*held, is_last=False)
        held = content, lines
        lines += content.count(b"\n")
        is_blank = is_blank and (not content or content.isspace())
    if held is None or is_blank:
        raise DataError(f"{file.name} is empty; expected labelled texts")
    yield Piece(*held, is_last=True)


def whole_rows(file: DataFile, encoding: str, cut: Cut = line_end, size: int = 0) -> Iterator[bytes]:
    """Yield whole rows of a file in UTF-8, about `size` bytes of them, or else PIECE_BYTES; the rest comes last."""
    size = size or PIECE_BYTES
    held: list[bytes] = []
    lines, n_held, enough = 0, 0, size
    for part in _utf8_slices(file, encoding, size):
        held.append(part)
        n_held += len(part)
        if n_held < enough:
            continue
        content = b"".join(held)
        end = cut(content)
        if end:
            yield content[:end]
            lines += content.count(b"\n", 0, end)
            held, n_held, enough = [content[end:]], n_held - end, size
        else:  # one long row: look again when twice as much is here, so that time stays linear
            held, enough = [content], min(2 * enough, MOST_ROW_BYTES + 1)
        if n_held > MOST_ROW_BYTES and not end:
            raise _too_long(file, content, lines)
    if n_held:
        yield b"".join(held)


def _too_long(file: DataFile, content: bytes, lines_before: int) -> DataError:
    what = f"{file.name}, line {lines_before + 1}: found a row of more than {MOST_ROW_BYTES >> 20} MB"
    if content.lstrip().startswith(b"["):
        return DataError(f"{what}, a JSON list; write one object per line: jq -c '.[]' FILE > FILE.jsonl")
    return DataError(f"{what}; expected rows of texts. If a quote is never closed, give --quoting none")


def _utf8_slices(file: DataFile, encoding: str, size: int) -> Iterator[bytes]:
    """Yield the text in UTF-8, at most `size` bytes at a time; the line breaks of old Macs become ours."""
    head = file.head()
    old_mac = b"\r" in head and b"\n" not in head
    for chunk in utf8_chunks(file, encoding):
        content = chunk.replace(b"\r", b"\n") if old_mac else chunk
        for start in range(0, len(content), size):
            yield content[start : start + size]
