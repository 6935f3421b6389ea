"""Text files in pieces of whole rows, so that a file larger than memory can be read; a small file is one piece."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from tfcr.data.encoding import DataFile, decode_chunks
from tfcr.errors import DataError

PIECE_BYTES = 1 << 26
"""About how much of a file is parsed at once."""
PARQUET_ROWS = 100_000
"""At most how many rows of a large Parquet file are read at once."""

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


def text_pieces(file: DataFile, encoding: str, cut: Cut = line_end) -> Iterator[Piece]:
    """Yield a text file piece by piece, in constant memory; blank pieces are passed over, an empty file is refused."""
    lines, held = 0, None
    for content in _whole_rows(_utf8_slices(file, encoding), cut):
        if content and not content.isspace():
            if held is not None:
                yield Piece(*held, is_last=False)
            held = content, lines
        lines += content.count(b"\n")
    if held is None:
        raise DataError(f"{file.name} is empty; expected labelled texts")
    yield Piece(*held, is_last=True)


def _utf8_slices(file: DataFile, encoding: str) -> Iterator[bytes]:
    """Yield the text in UTF-8, at most PIECE_BYTES at a time."""
    for text in decode_chunks(file.chunks(), encoding, file.name):
        content = text.encode()
        for start in range(0, len(content), PIECE_BYTES):
            yield content[start : start + PIECE_BYTES]


def _whole_rows(slices: Iterator[bytes], cut: Cut) -> Iterator[bytes]:
    """Yield whole rows, about PIECE_BYTES of them; what is left at the end comes last."""
    held: list[bytes] = []
    size, enough = 0, PIECE_BYTES
    for part in slices:
        held.append(part)
        size += len(part)
        if size < enough:
            continue
        content = b"".join(held)
        end = cut(content)
        if end:
            yield content[:end]
            held, size, enough = [content[end:]], size - end, PIECE_BYTES
        else:  # one long row: look again when twice as much is here, so that time stays linear
            held, enough = [content], 2 * enough
    yield b"".join(held)


def row_slices(n_rows: int, file_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield the first row and the number of rows of each piece of a Parquet file.

    Such a file is about a quarter as large as its text.
    """
    pieces = -(-4 * file_bytes // PIECE_BYTES)
    step = n_rows if pieces == 1 else max(1, min(PARQUET_ROWS, n_rows // pieces))
    yield from ((start, step) for start in range(0, n_rows, max(1, step)))
