"""Tables to files, whole or not at all, or to standard output."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

import polars as pl

from tfcr.errors import DataError, look_up
from tfcr.files import written_beside

Writer = Callable[[pl.DataFrame, IO[bytes]], None]

WRITERS: dict[str, Writer] = {
    "csv": lambda frame, file: frame.write_csv(file),
    "tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
    "jsonl": lambda frame, file: frame.write_ndjson(file),
    "parquet": lambda frame, file: frame.write_parquet(file),
}


def check_target(path: str | None) -> None:
    """Refuse a file that cannot be written, before any long work."""
    if path is None:
        return
    look_up(WRITERS, Path(path).suffix.removeprefix("."), "format to write")
    if not Path(path).parent.is_dir():
        raise DataError(f"the folder {Path(path).parent} does not exist; make it first: mkdir -p {Path(path).parent}")


def write_frame(frame: pl.DataFrame, path: str | None, default: str) -> None:
    """Write a table; its format is told from the file's ending, or `default` on standard output."""
    if path is None:
        WRITERS[default](frame, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with written_beside(Path(path)) as file:
        WRITERS[Path(path).suffix.removeprefix(".")](frame, file)
