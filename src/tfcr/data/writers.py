"""Tables to files, written completely or not at all, or to standard output; large ones piece by piece.

To add a format, write a generator that yields a function to add a table, and add a row to WRITERS.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import polars as pl

from tfcr.errors import DataError, look_up
from tfcr.system.files import scratch_folder, written_beside

Write = Callable[[pl.DataFrame], None]
"""Adds a table to a file."""


@dataclass(frozen=True)
class Writer:
    """A format of tables: what it is, and a generator that takes an open file and yields a `Write` for it.

    The file's ending is the name of the format.
    """

    what: str
    write_to: Callable[[IO[bytes]], Iterator[Write]]


def _write_delimited(file: IO[bytes], separator: str) -> Iterator[Write]:
    names: list[str] = []

    def write(frame: pl.DataFrame) -> None:
        new = [name for name in frame.columns if name not in names]
        if names and new:
            raise DataError(
                f"found the column {new[0]!r} only after the first rows were written; "
                "write JSON lines, where rows may differ: -o FILE.jsonl"
            )
        absent = [pl.lit(None).alias(name) for name in names if name not in frame.columns]
        ordered = frame.with_columns(absent).select(names) if names else frame
        ordered.write_csv(file, separator=separator, include_header=not names)
        names.extend(new)

    yield write


def _write_json_lines(file: IO[bytes]) -> Iterator[Write]:
    yield lambda frame: frame.write_ndjson(file)


def _write_parquet(file: IO[bytes]) -> Iterator[Write]:
    """Collect the pieces in files of their own: nothing can be appended to a Parquet file."""
    with scratch_folder() as folder:
        parts: list[Path] = []
        types: dict[Any, pl.DataType] = {}

        def write(frame: pl.DataFrame) -> None:
            parts.append(folder / f"{len(parts)}.parquet")
            known: dict[Any, Any] = {name: types[name] for name in frame.columns if name in types}
            frame.cast(known).write_parquet(parts[-1])  # pieces of incompatible types fail now, not at the end
            types.update(frame.schema | known)

        yield write
        whole = pl.concat([pl.scan_parquet(part) for part in parts], how="diagonal_relaxed")
        whole.sink_parquet(file)


WRITERS: dict[str, Writer] = {
    "csv": Writer("comma-separated values", partial(_write_delimited, separator=",")),
    "tsv": Writer("tab-separated values", partial(_write_delimited, separator="\t")),
    "jsonl": Writer("one JSON object per line", _write_json_lines),
    "parquet": Writer("Parquet", _write_parquet),
}


def _format_of(path: str) -> str:
    return Path(path).suffix.removeprefix(".")


def check_target(path: str | None) -> None:
    """Refuse a file that cannot be written, before any long work."""
    if path is None:
        return
    look_up(WRITERS, _format_of(path), "format to write")
    if not Path(path).parent.is_dir():
        raise DataError(f"the folder {Path(path).parent} does not exist; make it first: mkdir -p {Path(path).parent}")


@contextmanager
def frame_writer(path: str | None, default: str) -> Iterator[Write]:
    """Give a function that adds a table to a file, or to standard output.

    Parameters
    ----------
    path
        The file, which appears when all is written; its ending is its format. None is standard output.
    default
        The format of standard output.
    """
    try:
        if path is None:
            with contextmanager(WRITERS[default].write_to)(sys.stdout.buffer) as write:
                yield write
            sys.stdout.buffer.flush()
            return
        writer = look_up(WRITERS, _format_of(path), "format to write")
        with written_beside(Path(path)) as file, contextmanager(writer.write_to)(file) as write:
            yield write
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"cannot write such a table: {reason}; JSON lines hold anything: -o FILE.jsonl") from error


def write_frame(frame: pl.DataFrame, path: str | None, default: str) -> None:
    """Write one table."""
    with frame_writer(path, default) as write:
        write(frame)
