"""JSON: one object per line, or a list of objects."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from tfcr.data.encoding import NO_TEXT, DataFile, Encoding, bare_lines, decode_chunks, encoding_of
from tfcr.data.options import BadRow, ReadOptions, Table
from tfcr.data.streaming import Piece, line_end, text_pieces
from tfcr.errors import DataError

MOST_DEPTH = 32
"""Deeper lists or objects are refused: compiled code overflows its stack at some hundreds."""
MOST_DIGITS = {"cell of a table": 38, "label": 4000}
"""Integers with more digits are read as text: polars has none larger, and Python converts none of 4,301 digits."""
_MARK = NO_TEXT.encode()
_NO_OBJECT = re.compile(rb"\n[ \t\r]*[^{ \t\r\n]")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPES = re.compile(rb"(\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F]..|(\\.)", re.DOTALL)
"""A surrogate pair, half of one, or any other escape."""


def read_jsonl(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    """Read objects as rows, piece by piece; a list is one piece."""
    encoding = encoding_of(file, options)
    is_list = _is_list(file, encoding)
    names: list[str] = []
    n_empty, how = 0, ""
    bad: list[BadRow] = []
    for piece in _json_pieces(file, encoding, is_list=is_list):
        found: list[BadRow] | None = [] if file.skips and not is_list else None
        whole = piece._replace(content=_whole_characters(piece.content))
        frame = _frame(whole, file.name, is_list=is_list, bad=found)
        bad += (BadRow(n_empty + row, what) for row, what in found or ())
        how = piece.described("JSON lines", encoding)
        if not frame.width:  # empty objects only, which a table without columns cannot hold
            n_empty += frame.height
            continue
        names = frame.columns
        if n_empty:
            frame = pl.concat([_empty_rows(n_empty, names), frame], how="diagonal_relaxed")
        cells = partial(_piece_cells, piece, file, n_empty, is_list=is_list)
        yield Table(frame, how, cells=cells, bad=tuple(bad))
        n_empty, bad = 0, []
    if n_empty and names:
        yield Table(_empty_rows(n_empty, names), how, bad=tuple(bad))


def json_cells(file: DataFile, options: ReadOptions, column: str) -> list[Any]:
    """Return one value of each JSON object, with its own type; None where it is missing."""
    encoding = encoding_of(file, options)
    is_list = _is_list(file, encoding)
    pieces = _json_pieces(file, encoding, is_list=is_list)
    return [cell for piece in pieces for cell in _piece_cells(piece, file, 0, column, is_list=is_list)]


def _piece_cells(piece: Piece, file: DataFile, n_empty: int, column: str, *, is_list: bool) -> list[Any]:
    """Return one value of each object of a piece, after those of empty objects before it."""
    records = _records(piece, file.name, MOST_DIGITS["label"], is_list, [] if file.skips and not is_list else None)
    return [None] * n_empty + [record.get(column) for record in records]


def _is_list(file: DataFile, encoding: Encoding) -> bool:
    return next(decode_chunks([file.head()], encoding.name, file.name, "replace")).lstrip().startswith("[")


def _json_pieces(file: DataFile, encoding: Encoding, *, is_list: bool) -> Iterator[Piece]:
    """Yield pieces that are not blank; a list is never cut."""
    for piece in text_pieces(file, encoding.name, (lambda content: 0) if is_list else line_end, typed=True):
        if piece.content.strip():
            yield piece


def _whole_characters(content: bytes) -> bytes:
    r"""Return JSON with U+FFFD for each half of a surrogate pair, left where a text was cut: no text can hold it.

    >>> _whole_characters(rb'"\ud83d\ude00 \ud83d. \\ud83d"') == rb'"\ud83d\ude00 \ufffd. \\ud83d"'
    True
    """
    if not _SURROGATE.search(content):
        return content
    return _ESCAPES.sub(lambda found: found[0] if found[1] or found[2] else rb"\ufffd", content)


def _empty_rows(number: int, names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({name: pl.Series([None] * number, dtype=pl.Null) for name in names})


def _frame(piece: Piece, name: str, *, is_list: bool, bad: list[BadRow] | None) -> pl.DataFrame:
    """Return the objects as a table, by polars if it can: lines of mixed types and lists need Python.

    Lines that cannot be read are empty objects and added to `bad`; if that is None, they are refused.
    """
    if not is_list and _has_plain_objects(piece.content) and not (bad is not None and _MARK in piece.content):
        try:
            return pl.read_ndjson(piece.content, infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass
    records = _records(piece, name, MOST_DIGITS["cell of a table"], is_list, bad)
    names = dict.fromkeys(key for record in records for key in record)
    if not names:
        return pl.read_ndjson(b"{}\n" * len(records)) if records else pl.DataFrame()
    return pl.DataFrame([json_series(key, [record.get(key) for record in records]) for key in names])


def json_series(name: str, cells: list[Any]) -> pl.Series:
    """Return a column of JSON; cells of types that polars cannot unite become text."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    try:
        if kinds == {int, float}:
            return pl.Series(name, [None if cell is None else float(cell) for cell in cells], pl.Float64)
        if len(kinds) <= 1:
            return pl.Series(name, cells, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pass
    return json_texts(name, cells)


def json_texts(name: str, cells: list[Any]) -> pl.Series:
    """Return a column of JSON as text."""
    text = [cell if cell is None or isinstance(cell, str) else _json_text(cell) for cell in cells]
    try:
        return pl.Series(name, text, pl.String)
    except UnicodeEncodeError:  # half of a surrogate pair, as in `_whole_characters`
        text = [cell and cell.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for cell in text]
        return pl.Series(name, text, pl.String)


def _json_text(value: Any) -> str:
    """Return a value as JSON, with numbers as polars writes them, which reads most files: 1e3 and 1000.0 as 1000.

    >>> _json_text({"a": [1e22, 0.5, None], "b": {}})
    '{"a": [10000000000000000000000, 0.5, null], "b": {}}'
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json_text(key)}: {_json_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json_text, value)) + "]"
    if isinstance(value, float) and math.isfinite(value):
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    return json.dumps(value, ensure_ascii=False)


def _has_plain_objects(content: bytes) -> bool:
    """Return whether all lines look like objects that are not deep."""
    n_lines = content.count(b"\n") + (not content.endswith(b"\n"))
    n_objects = content.count(b"\n{") + content.startswith(b"{")
    if n_objects < n_lines and _NO_OBJECT.search(b"\n" + content):
        return False
    if content.count(b"{") + content.count(b"[") - n_objects < MOST_DEPTH:  # the usual case: flat objects
        return True
    data = np.frombuffer(content, np.uint8)
    opening = np.flatnonzero((data == ord("{")) | (data == ord("[")))
    line = np.searchsorted(np.flatnonzero(data == ord("\n")), opening)
    return not (line[MOST_DEPTH:] == line[:-MOST_DEPTH]).any()


# by Python -----------------------------------------------------------------------------------------------------------


def _records(
    piece: Piece, name: str, most_digits: int, is_list: bool, bad: list[BadRow] | None = None
) -> list[dict[str, Any]]:
    """Read a JSON list of objects, or lines with objects of mixed types; what is not an object is named.

    In lines it is an empty object and added to `bad`, unless that is None.
    """
    content = piece.content.decode()
    if is_list:
        found = _parsed(content, most_digits, f"{name} cannot be read as JSON")
        return [_checked(record, f"{name}, number {number}") for number, record in enumerate(found, start=1)]
    records: list[dict[str, Any]] = []
    for number, line in enumerate(bare_lines([content]), start=piece.lines_before + 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            if bad is not None and NO_TEXT in line:
                raise DataError(f"{where}: found bytes that are not in the file's encoding")
            records.append(_checked(_parsed(line, most_digits, where), where))
        except DataError as error:
            if bad is None:
                raise DataError(f"{name}, {error}; or leave such rows out: --bad-rows skip") from None
            bad.append(BadRow(len(records), str(error)))
            records.append({})
    return records


def _parsed(content: str, most_digits: int, where: str) -> Any:
    """Parse JSON as polars does: of a repeated key the first counts."""
    try:
        return json.loads(
            content,
            parse_int=lambda digits: int(digits) if len(digits) <= most_digits else digits,
            object_pairs_hook=lambda pairs: {**dict(pairs), **dict(reversed(pairs))},
        )
    except json.JSONDecodeError as error:
        what = f"{error.msg} at character {error.pos + 1}"
    except RecursionError:
        what = f"found lists or objects nested more than {MOST_DEPTH} deep"
    raise DataError(f"{where}: {what}; expected one JSON object per line, or a list of objects")


def _checked(record: Any, where: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise DataError(f"{where}: found {type(record).__name__}; expected JSON objects")
    if _is_deep(record):
        raise DataError(
            f"{where}: found lists or objects nested more than {MOST_DEPTH} deep; expected objects of texts, labels "
            "and numbers"
        )
    return record


def _is_deep(record: dict[str, Any]) -> bool:
    level: list[Any] = [record]
    for _ in range(MOST_DEPTH):
        inner = (value.values() if isinstance(value, dict) else value for value in level)
        level = [part for parts in inner for part in parts if isinstance(part, dict | list)]
        if not level:
            return False
    return True
