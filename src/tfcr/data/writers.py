"""Tables to files, whole or not at all, or to standard output; piece by piece where they are large."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import polars as pl

from tfcr.errors import DataError, look_up
from tfcr.system.files import written_beside

Write = Callable[[pl.DataFrame], None]
Writer = Callable[[IO[bytes]], Iterator[Write]]
"""Opened with a file, gives a function that adds a table to it."""


def _delimited_writer(separator: str) -> Writer:
    def write_to(file: IO[bytes]) -> Iterator[Write]:
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

    return write_to


def _write_json_lines(file: IO[bytes]) -> Iterator[Write]:
    yield lambda frame: frame.write_ndjson(file)


def _write_parquet(file: IO[bytes]) -> Iterator[Write]:
    """Collect the pieces in files of their own: a Parquet file cannot be added to."""
    with tempfile.TemporaryDirectory() as folder:
        parts: list[Path] = []

        types: dict[Any, pl.DataType] = {}

        def write(frame: pl.DataFrame) -> None:
            parts.append(Path(folder) / f"{len(parts)}.parquet")
            known: dict[Any, Any] = {name: types[name] for name in frame.columns if name in types}
            frame.cast(known).write_parquet(parts[-1])  # what cannot be of one type is refused now, not at the end
            types.update(frame.schema | known)

        yield write
        whole = pl.concat([pl.scan_parquet(part) for part in parts], how="diagonal_relaxed")
        whole.sink_parquet(file)


WRITERS: dict[str, Writer] = {
    "csv": _delimited_writer(","),
    "tsv": _delimited_writer("\t"),
    "jsonl": _write_json_lines,
    "parquet": _write_parquet,
}


def check_target(path: str | None) -> None:
    """Refuse a file that cannot be written, before any long work."""
    if path is None:
        return
    look_up(WRITERS, Path(path).suffix.removeprefix("."), "format to write")
    if not Path(path).parent.is_dir():
        raise DataError(f"the folder {Path(path).parent} does not exist; make it first: mkdir -p {Path(path).parent}")


@contextmanager
def frame_writer(path: str | None, default: str) -> Iterator[Write]:
    """Give a function that adds a table to a file, or to standard output.

    The format is told from the file's ending, or `default` on standard output. The file appears when all is written.
    """
    try:
        if path is None:
            with contextmanager(WRITERS[default])(sys.stdout.buffer) as write:
                yield write
            sys.stdout.buffer.flush()
            return
        writer = contextmanager(WRITERS[Path(path).suffix.removeprefix(".")])
        with written_beside(Path(path)) as file, writer(file) as write:
            yield write
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise DataError(f"cannot write such a table: {reason}; JSON lines hold anything: -o FILE.jsonl") from error


def write_frame(frame: pl.DataFrame, path: str | None, default: str) -> None:
    """Write one table."""
    with frame_writer(path, default) as write:
        write(frame)
