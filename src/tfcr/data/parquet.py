"""Parquet: one file, or a dataset: a folder of such files, whose nested folders may name columns.

posts/year=2023/part-0.parquet          year is a column: 2023 in all rows of the first file
posts/year=2024/part-0.parquet
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from tfcr.data import streaming
from tfcr.data.encoding import DataFile
from tfcr.data.foreign import check_parquet, foreign_format
from tfcr.data.isolated import parse_isolated
from tfcr.data.options import BadRow, ReadOptions, Table
from tfcr.errors import DataError, in_one_line
from tfcr.system.limits import is_file, is_folder, is_packed, limit

ENDINGS = (".parquet", ".pq")
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder whose rows have no value."""


def read_parquet(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    """Read a file or a dataset, some rows at a time."""
    if is_folder(file.path):
        yield from _read_dataset(file)
        return
    if is_packed(file.path):
        raise DataError(f"{file.name} is compressed with gzip or bzip2; unpack it first: gunzip FILE, or bunzip2 FILE")
    try:
        check_parquet(file.path)
        yield from _tables("parquet", file.path, None, file.path.stat().st_size, "Parquet", skips=file.skips)
    except DataError:
        raise
    except (ValueError, OSError) as error:
        head = file.head()
        foreign = "" if head.startswith(b"PAR1") else foreign_format(head)
        raise DataError(f"{file.name} {foreign or _damaged(error)}") from error


def _damaged(error: Exception) -> str:
    hint = "; or leave such rows out: --bad-rows skip" if str(error).startswith("rows ") else ""
    return f"cannot be read as Parquet: {in_one_line(error)}; get the file again{hint}"


def _tables(kind: str, path: Path, content: bytes | None, size: int, how: str, *, skips: bool) -> Iterator[Table]:
    pieces = {"piece_bytes": streaming.PIECE_BYTES, "piece_rows": streaming.PARQUET_ROWS}
    problem = ""
    for found in parse_isolated(kind, path, content, size=size, skips=skips, **pieces):
        if isinstance(found, pl.DataFrame):
            bad = tuple(BadRow(row, problem) for row in range(found.height if problem else 0))
            yield Table(found, how, bad=bad)
            problem = ""
        else:
            problem = found["bad"]  # of all rows of the next table


# datasets ------------------------------------------------------------------------------------------------------------


def is_parquet_folder(folder: Path) -> bool:
    """Return whether a folder holds Parquet files, in folders of any depth, and no other data."""
    found = False
    for file in _data_files(folder):
        if not file.name.lower().endswith(ENDINGS):
            return False
        found = True
    return found


def _data_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, by name; those that begin with a dot or underscore hold no rows."""
    n_files = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        for name in sorted(names):
            if not name.startswith((".", "_")) and is_file(path := Path(place, name)):
                n_files += 1
                if n_files > limit("dataset files"):
                    raise DataError(
                        f"{folder} holds more than {limit('dataset files'):,} files; expected fewer, larger ones"
                    )
                yield path


def _read_dataset(file: DataFile) -> Iterator[Table]:
    files = list(_data_files(file.path))
    if not files:
        raise DataError(f"{file.name} holds no files; expected Parquet files, in it or in its folders")
    values = _typed([_folder_values(one.relative_to(file.path)) for one in files], file.name)
    size = 0
    for one in files:
        try:
            check_parquet(one)
            size += one.stat().st_size
        except (ValueError, OSError) as error:
            raise DataError(f"{one} {_damaged(error)}") from error
    request = [[os.fspath(one.resolve()), str(one), of_file] for one, of_file in zip(files, values, strict=True)]
    how = f"Parquet, {len(files):,} files" if len(files) > 1 else "Parquet, 1 file"
    try:
        yield from _tables("parquet files", file.path, json.dumps(request).encode(), size, how, skips=file.skips)
    except (ValueError, OSError) as error:
        raise DataError(f"{file.name} {_damaged(error)}") from error


def _folder_values(path: Path) -> dict[str, str | None]:
    """Return the columns that the folders of a file name, and their values.

    >>> _folder_values(Path("year=2024/topic=a%20b/part-0.parquet"))
    {'year': '2024', 'topic': 'a b'}
    """
    pairs = (name.partition("=") for name in path.parts[:-1] if "=" in name)
    return {unquote(key): None if value == NO_VALUE else unquote(value) for key, _, value in pairs}


def _typed(found: Sequence[Mapping[str, str | None]], name: str) -> list[dict[str, Any]]:
    """Return the values of all files; integers if all values of a column are."""
    columns = list(dict.fromkeys(column for of_file in found for column in of_file))
    for column in columns:
        if not all(column in of_file for of_file in found):
            raise DataError(
                f"{name}: some of its folders are called {column}=…, and not all files lie in one; expected the same "
                "columns for all files"
            )
    whole = {column for column in columns if all(map(_is_whole, (of_file[column] for of_file in found)))}
    return [
        {column: int(value) if value is not None and column in whole else value for column, value in of_file.items()}
        for of_file in found
    ]


def _is_whole(value: str | None) -> bool:
    return value is None or (value.removeprefix("-").isdecimal() and len(value) < 19 and str(int(value)) == value)
