"""The program that parses a Parquet file or a workbook in a process of its own; see `isolated`.

It imports nothing of tfcr, so that it starts quickly. The request is a JSON object in its argument. It answers with
messages: a letter (t a table as Arrow stream, i facts as JSON, e an error, z the end), the size in 8 bytes, the
content.
"""

import io
import json
import struct
import sys
from typing import Any

import polars as pl

_CPU_SECONDS = 8
_CPU_BYTES_PER_SECOND = 500_000
_MEMORY = 1 << 30
_MEMORY_RATIO = 40
"""Processor time and memory that any file may take, and more for large files."""
_LEAST_ROW_BYTES = 8


def main() -> None:
    """Answer the request."""
    request = json.loads(sys.argv[1])
    _limit(request["size"])
    try:
        _PARSERS[request.pop("kind")](**request)
        _send(b"z", b"")
    except MemoryError:
        _send(b"e", b"it needs too much memory")
    except pl.exceptions.PanicException:  # which is no Exception, and says nothing to a user
        _send(b"e", b"it is damaged")
    except Exception as error:
        lines = str(error).strip().splitlines()
        _send(b"e", (lines[0] if lines else type(error).__name__).encode("utf-8", "replace"))


def _limit(size: int) -> None:
    """Limit memory and processor time, where the system can."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + _CPU_SECONDS + size // _CPU_BYTES_PER_SECOND
    for what, most in (("RLIMIT_CPU", seconds), ("RLIMIT_DATA", _MEMORY + _MEMORY_RATIO * size), ("RLIMIT_CORE", 0)):
        if hasattr(resource, what):
            _, hard = resource.getrlimit(getattr(resource, what))
            resource.setrlimit(getattr(resource, what), (most if hard < 0 else min(most, hard), hard))


def _send(mark: bytes, payload: bytes) -> None:
    sys.stdout.buffer.write(struct.pack("<cQ", mark, len(payload)))
    sys.stdout.buffer.write(payload)
    sys.stdout.buffer.flush()


def _send_table(frame: pl.DataFrame) -> None:
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    _send(b"t", stream.getvalue())


def _parse_parquet(path: str, size: int, piece_bytes: int, piece_rows: int, most: int) -> None:
    """Send the rows in pieces, which are small enough if the file is large; refuse more than `most` bytes."""
    rows = pl.scan_parquet(path, glob=False)
    height = rows.select(pl.len()).collect().item()
    unpacked = _LEAST_ROW_BYTES * height
    _check_size(unpacked, most)
    for start, length in row_slices(height, size, piece_bytes, piece_rows):
        frame = rows.slice(start, length).collect()
        unpacked += frame.estimated_size()
        _check_size(unpacked, most)
        _send_table(frame)


def _check_size(unpacked: float, most: int) -> None:
    if unpacked > most:
        raise ValueError(f"it unpacks to more than {most >> 20} MB, and is damaged, or not to be trusted")


def row_slices(n_rows: int, file_bytes: int, piece_bytes: int, piece_rows: int) -> list[tuple[int, int]]:
    """Return the first row and the number of rows of each piece of a Parquet file.

    Such a file is about a quarter as large as its text.
    """
    pieces = -(-4 * file_bytes // piece_bytes)
    step = max(1, min(piece_rows, n_rows // max(1, pieces)))
    return [(start, step) for start in range(0, n_rows, step)]


def _parse_xlsx(path: str | None, size: int, sheet: str | None, most: int) -> None:
    """Send the names of the sheets, then the cells of one as text; the workbook comes on standard input.

    The sheet is given by name, or by number from 1; it is the first if none is given.
    """
    import fastexcel  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - an extra

    content = sys.stdin.buffer.read()
    try:
        sheets = fastexcel.read_excel(content).sheet_names
        if not sheets:
            raise ValueError("it has no sheet")
        numbered: dict[str | None, str] = {
            None: sheets[0],
            **{str(number): name for number, name in enumerate(sheets, start=1)},
        }
        name = sheet if sheet in sheets else numbered.get(sheet)
        _send(b"i", json.dumps({"sheets": sheets, "sheet": name}).encode())
        if name is None:
            return
        frame = pl.read_excel(
            content,
            sheet_name=name,
            engine="calamine",
            has_header=False,
            infer_schema_length=0,  # all text: a column may hold several types, and its name is text anyway
            drop_empty_rows=False,  # rows keep their numbers
            drop_empty_cols=False,
            raise_if_empty=False,
        )
    except fastexcel.FastExcelError as error:
        raise ValueError(str(error).removeprefix("calamine error: ")) from error
    _check_size(frame.estimated_size(), most)
    _send_table(frame)


_PARSERS: dict[str, Any] = {"parquet": _parse_parquet, "xlsx": _parse_xlsx}

if __name__ == "__main__":
    main()
