"""From what a user names to labelled texts: the one resolver for files, folders and standard input."""

import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tfcr.data.columns import Columns, Corpus, choose_columns, make_corpus
from tfcr.data.options import ReadOptions, Table
from tfcr.data.readers import read_label_lines, read_table
from tfcr.data.streaming import table_pieces
from tfcr.errors import DataError

STANDARD_INPUT = "-"


def read_corpus(*paths: str | Path, **options: Any) -> Corpus:
    """Read labelled texts from one or several files.

    Parameters
    ----------
    paths
        Files of one kind (csv, tsv, jsonl, parquet, ``__label__`` text, gz of those), folders or tar archives with a
        folder for each class; ``-`` is standard input.
    options
        What is known of them; see ReadOptions.
    """
    chosen = ReadOptions(**options)
    name = ", ".join(str(path) for path in paths)
    table, columns = read_tables(paths, chosen)
    return make_corpus(table.frame, columns, name, [table.how])


def read_tables(paths: Sequence[str | Path], options: ReadOptions, *, labelled: bool = True) -> tuple[Table, Columns]:
    """Read files into one table, and choose its columns."""
    if options.label_files and len(options.label_files) != len(paths):
        raise DataError(
            f"found {len(paths)} files and {len(options.label_files)} files of labels; expected as many of both"
        )
    frames, hows = [], []
    for number, path in enumerate(paths):
        with _as_file(path) as file:
            table = read_table(file, options)
        frame = (
            _with_labels(table.frame, Path(options.label_files[number]), options)
            if options.label_files
            else table.frame
        )
        options = _with_usual(options, frame.columns, str(path))
        columns = choose_columns(frame, options, str(path), labelled=labelled)
        hows.append(f"{path}: {table.how}, {frame.height} rows; {_described(columns)}")
        frames.append(frame)
    if len(frames) > 1:
        frames = [frame.cast(pl.String, strict=False) for frame in frames]
    whole = pl.concat(frames, how="diagonal")
    return Table(whole, "\n".join(hows)), columns


def read_unlabelled(
    paths: Sequence[str | Path], options: ReadOptions, usual: Sequence[str] = ()
) -> tuple[Table, Columns]:
    """Read files whose labels do not matter; the `usual` columns hold the text where none are given."""
    return read_tables(paths, replace(options, usual=tuple(usual)), labelled=False)


def read_pieces(
    paths: Sequence[str | Path], options: ReadOptions, usual: Sequence[str] = ()
) -> Generator[tuple[Table, Columns]]:
    """Read files whose labels do not matter, piece by piece: in constant memory, however large they are.

    All pieces have the columns that the files begin with.
    """
    names = _columns_of_all(paths, options) if len(paths) > 1 else None
    for path in paths:
        with _as_file(path) as file:
            for number, table in enumerate(table_pieces(file, options)):
                chosen = _with_usual(replace(options, usual=tuple(usual)), table.frame.columns, str(path))
                columns = choose_columns(table.frame, chosen, str(path), labelled=False)
                how = f"{path}: {table.how}; {_described(columns)}" if number == 0 else ""
                frame = table.frame if names is None else _with_columns(table.frame, names)
                yield Table(frame, how), columns


def _columns_of_all(paths: Sequence[str | Path], options: ReadOptions) -> list[str]:
    if STANDARD_INPUT in map(str, paths):
        raise DataError("found standard input among several files; expected it alone, or files only")
    found = [next(table_pieces(Path(path), options)).frame.columns for path in paths]
    return list(dict.fromkeys(name for columns in found for name in columns))


def _with_columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the table with these columns, as text; those that it lacks are empty."""
    late = [name for name in frame.columns if name not in names]
    if late:
        raise DataError(
            f"found the column {late[0]!r} only after the first rows of its file; expected those that the files begin "
            "with: predict one file at a time, with -o FILE.jsonl"
        )
    absent = [pl.lit(None, pl.String).alias(name) for name in names if name not in frame.columns]
    return frame.with_columns(absent).select(names).cast(pl.String, strict=False)


def _with_usual(options: ReadOptions, columns: Sequence[str], name: str) -> ReadOptions:
    """Take the columns that a model was trained on, unless others are given."""
    if options.usual_label in columns and not options.label:
        options = replace(options, label=options.usual_label)
    if options.text or not options.usual:
        return options
    missing = [column for column in options.usual if column not in columns]
    if missing:
        raise DataError(
            f"{name}: the model was trained on the columns {', '.join(options.usual)}, and there is no {missing[0]!r}; "
            f"give --text NAME; columns: {', '.join(columns)}"
        )
    return replace(options, text=options.usual)


def _described(columns: Columns) -> str:
    parts = [f"text: {' + '.join(columns.text)}"]
    parts += [f"label: {columns.label}"] if columns.label else []
    parts += [f"group: {columns.group}"] if columns.group else []
    return ", ".join(parts)


def _with_labels(frame: pl.DataFrame, file: Path, options: ReadOptions) -> pl.DataFrame:
    if not file.exists():
        raise DataError(f"{file} does not exist; expected a file of labels, one a line")
    labels = read_label_lines(file, options.encoding)
    if len(labels) != frame.height:
        raise DataError(f"{file} holds {len(labels)} labels for {frame.height} texts; expected one a line for each")
    return frame.with_columns(pl.Series("label", labels))


@contextmanager
def _as_file(path: str | Path) -> Iterator[Path]:
    """Give a path to read from; standard input is written to a temporary file first."""
    if str(path) != STANDARD_INPUT:
        yield Path(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        with copy.open("wb") as file:
            while chunk := sys.stdin.buffer.read(1 << 20):
                file.write(chunk)
        yield copy
