"""The program that parses a Parquet file or a workbook in a process of its own; see `isolated`.

It imports nothing of tfcr, so that it starts quickly. The request is a JSON object in its argument. It answers with
messages: a letter (t a table as Arrow stream, i facts as JSON, e an error, z the end), the size in 8 bytes, the
content.
"""

import io
import json
import os
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
    except (Exception, pl.exceptions.PanicException) as error:  # the last is no Exception
        _send(b"e", _reason(error).encode("utf-8", "replace"))


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


class _Pieces:
    """What is sent of Parquet files: pieces that are small enough if a file is large.

    Parameters
    ----------
    piece_bytes, piece_rows, most
        See `row_slices`; and how many bytes all files may unpack to.
    skips
        Whether rows that cannot be read are sent as empty ones, after a message that says why.
    """

    def __init__(self, piece_bytes: int, piece_rows: int, most: int, *, skips: bool = False) -> None:
        self.piece_bytes, self.piece_rows, self.most, self.skips = piece_bytes, piece_rows, most, skips
        self.unpacked = 0

    def send(self, rows: pl.LazyFrame, size: int, like: pl.DataFrame | None = None, name: str = "") -> None:
        """Send the rows of a file of `size` bytes, with the columns of an empty table if it is given."""
        height = rows.select(pl.len()).collect().item()
        self._add(_LEAST_ROW_BYTES * height)
        for start, length in row_slices(height, size, self.piece_bytes, self.piece_rows):
            try:
                frame = rows.slice(start, length).collect()
            except (Exception, pl.exceptions.PanicException) as error:
                what = f"rows {start + 1:,} to {min(start + length, height):,}{name}: {_reason(error)}"
                if not self.skips:
                    raise ValueError(what) from None
                _send(b"i", json.dumps({"bad": what}).encode())
                frame = pl.DataFrame(schema=rows.collect_schema()).clear(min(length, height - start))
            self._add(frame.estimated_size())
            _send_table(frame if like is None else pl.concat([like, frame], how="diagonal_relaxed"))

    def _add(self, unpacked: float) -> None:
        self.unpacked += int(unpacked)
        _check_size(self.unpacked, self.most)


def _reason(error: BaseException) -> str:
    if isinstance(error, pl.exceptions.PanicException):  # which says nothing to a user
        return "it is damaged"
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _parse_parquet(path: str, size: int, **how: Any) -> None:
    """Send the rows of a file; for `how` see _Pieces."""
    _Pieces(**how).send(pl.scan_parquet(path, glob=False, hive_partitioning=False), size)


def _parse_parquet_files(path: str | None, size: int, **how: Any) -> None:
    """Send the rows of several files, with the columns of all.

    Standard input has their paths and names, and more columns, with the value that all rows of a file have.
    """
    files = json.loads(sys.stdin.buffer.read())
    scans, columns = [], []
    for place, name, values in files:
        scan = pl.scan_parquet(place, glob=False, hive_partitioning=False)
        kinds = {column: pl.String if isinstance(value, str) else pl.Int64 for column, value in values.items()}
        try:
            scan = scan.with_columns(pl.lit(values[column], kind).alias(column) for column, kind in kinds.items())
            columns.append(pl.DataFrame(schema=scan.collect_schema()))
        except (Exception, pl.exceptions.PanicException) as error:
            raise ValueError(f"{name}: {_reason(error)}") from None
        scans.append(scan)
    like = _united(columns, [column for _, _, values in files[:1] for column in values])
    pieces = _Pieces(**how)
    for scan, (place, name, _) in zip(scans, files, strict=True):
        pieces.send(scan, os.stat(place).st_size, like, f" of {name}")  # noqa: PTH116 - pathlib loads slowly


def _united(tables: list[pl.DataFrame], last: list[str]) -> pl.DataFrame:
    """Return an empty table with the columns of all, of types that hold those of all; some columns come last."""
    try:
        like = pl.concat(tables, how="diagonal_relaxed")
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"columns of its files have different types: {_reason(error)}") from None
    for table in tables:
        for column, kind in table.schema.items():
            if kind.is_nested() and kind != like.schema[column]:
                raise ValueError(f"columns of its files have different types: {column} is {kind}, and not in all files")
    return like.select([column for column in like.columns if column not in last] + last)


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


_PARSERS: dict[str, Any] = {"parquet": _parse_parquet, "parquet files": _parse_parquet_files, "xlsx": _parse_xlsx}

if __name__ == "__main__":
    main()
