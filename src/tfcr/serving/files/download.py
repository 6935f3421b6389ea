"""The table of an upload as it was read, with what was added: written as ``tfcr predict`` writes it."""

import secrets
import time
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tfcr.data.dialect import delimited_rows
from tfcr.data.options import Dialect, Table
from tfcr.data.writers import WRITERS, Style, frame_writer, style_like
from tfcr.errors import DataError
from tfcr.predict_table import free_names
from tfcr.serving.files.folder import State, Upload, disk_errors
from tfcr.serving.files.looking import tables
from tfcr.serving.files.rows import Label, Rows
from tfcr.serving.problems import RequestError

FORMATS = ("csv", "tsv", "xlsx", "jsonl")
"""Rows of WRITERS that can be downloaded."""
STALE = 600
"""Seconds after which a result is deleted when the next one is written."""
MOST_RESULTS = 3
"""Results of an upload that are kept, whatever their format: pages fetch one as soon as it is written."""
KEPT = ("text", "label", "given", "agrees")
"""Columns of a part that are not written: the table has them already, or they are written otherwise."""


def write_result(upload: Upload, state: State, rows: Rows, format_name: str) -> Path:
    """Write the result of an upload in a format, and return its file; older ones are deleted."""
    upload.check_data()
    path = upload.folder / f"result-{secrets.token_hex(4)}.{format_name}"
    WRITERS[format_name].check()
    try:
        with disk_errors():
            _write(path, upload, state, rows)
    except DataError as error:
        raise RequestError(422, str(error), "another format: JSON lines hold anything") from error
    _drop_results(upload)
    return path


def _drop_results(upload: Upload) -> None:
    """Delete results but the newest few: another tab may be about to fetch one of these."""
    found: list[tuple[float, Path]] = []
    for path in upload.folder.glob("result-*.*"):
        with suppress(OSError):
            found.append((path.stat().st_mtime, path))
    for at, (written, path) in enumerate(sorted(found, reverse=True)):
        if at >= MOST_RESULTS or time.time() - written > STALE:
            with suppress(OSError):
                path.unlink()


def _write(path: Path, upload: Upload, state: State, rows: Rows) -> None:
    added = added_by(rows)
    with closing(_pieces(upload, state)) as pieces:
        first = next(pieces)
        names = free_names(first.frame.columns, added.columns)
        added.columns = names
        style = _style(first, path, added, rows)
        with frame_writer(str(path), "", style) as write:
            before = _add(write, first, added, 0)
            for table in pieces:
                before = _add(write, table, added, before)
            if before != added.height:
                raise _changed()


def _pieces(upload: Upload, state: State) -> Generator[Table]:
    yield from tables(upload, state["said"])


def _add(write: Any, table: Table, added: pl.DataFrame, before: int) -> int:
    end = before + table.frame.height
    if end > added.height:
        raise _changed()
    write(pl.concat([table.frame, added.slice(before, table.frame.height)], how="horizontal"))
    return end


def _changed() -> RequestError:
    return RequestError(409, "the uploaded file has other rows than when it was classified", "to upload it again")


def added_by(rows: Rows) -> pl.DataFrame:
    """Return the columns that are added: those of ``tfcr predict --second``, ``unsure``, ``corrected`` and ``final``.

    ``corrected`` is what the person decided, and empty elsewhere; ``final`` is that, or else the predicted label.
    """
    found = rows.columns(pl.exclude(KEPT))
    labels = {str(label): label for label in rows.state["job"]["classes"]}
    corrected = [_typed(rows.corrections.labels.get(row), labels) for row in range(1, found.height + 1)]
    kind = found.schema["predicted"]
    if any(_is_text(label) for label in corrected) and pl.String not in (kind, getattr(kind, "inner", kind)):
        found = found.with_columns(pl.col("predicted").cast(pl.List(pl.String) if rows.several else pl.String))
        corrected = [None if one is None else [*map(str, one)] if rows.several else str(one) for one in corrected]
        kind = found.schema["predicted"]
    column = pl.Series("corrected", corrected, kind)
    return found.with_columns(column, column.zip_with(column.is_not_null(), found["predicted"]).alias("final"))


def _typed(label: Label, labels: dict[str, Any]) -> Any:
    """Return a corrected label with the type that the model's classes have."""
    if isinstance(label, list):
        return [labels.get(one, one) for one in label]
    return None if label is None else labels.get(label, label)


def _is_text(label: Any) -> bool:
    return any(isinstance(one, str) for one in label) if isinstance(label, list) else isinstance(label, str)


def _style(table: Table, path: Path, added: pl.DataFrame, rows: Rows) -> Style:
    """Return how to write: as the input is written, unless its encoding or quoting cannot hold the labels."""
    _, style = style_like(table, str(path))
    fixed = tuple(name for name, kind in added.schema.items() if kind in (pl.Float64, pl.List(pl.Float64)))
    lists = tuple(name for name, kind in added.schema.items() if kind == pl.List)
    separator = str(rows.state["job"]["separator"])
    style = replace(style, fixed=fixed, lists=lists, label_separator=separator)
    if style.dialect is None:
        return style
    labels, dialect = [*map(str, rows.state["job"]["classes"]), *added.columns], style.dialect
    if not _can_encode(labels, dialect.encoding):
        dialect = replace(dialect, encoding="utf-8")
    if _needs_quotes(labels, dialect):
        dialect = replace(dialect, quoting="needed")
    return replace(style, dialect=dialect)


def _can_encode(labels: Sequence[str], encoding: str) -> bool:
    try:
        "".join(labels).encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _needs_quotes(labels: Sequence[str], dialect: Dialect) -> bool:
    try:
        delimited_rows(pl.DataFrame({"label": labels}), dialect, guard=True, header=False)
    except DataError:
        return True
    return False
