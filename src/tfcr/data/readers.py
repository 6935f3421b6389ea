"""The data formats that can be read, one row each in READERS.

To add a format, write a function that yields tables of all its columns, and add a row. Which column holds what is
decided later. A format that cannot be read in pieces yields one table.
"""

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import polars as pl

from tfcr.data import streaming
from tfcr.data.columns import column_names
from tfcr.data.delimited import read_delimited
from tfcr.data.encoding import (
    HEAD_BYTES,
    DataFile,
    bare_lines,
    decode,
    decode_chunks,
    detect_encoding,
    encoding_of,
    given_encoding,
    printable,
)
from tfcr.data.foreign import OLE, check_parquet, check_zip, foreign_format, is_xlsx
from tfcr.data.isolated import parse_isolated
from tfcr.data.options import ReadOptions, Table
from tfcr.data.streaming import Piece, line_end, text_pieces
from tfcr.errors import DataError, MissingExtraError, first_line, look_up
from tfcr.system.archives import Member, members, tar_members
from tfcr.system.files import is_packed

LABEL_MARK = "__label__"
MOST_DIGITS = 38
"""Integers of JSON with more digits are read as text: polars has none larger."""
MOST_DEPTH = 32
"""JSON with deeper lists or objects is refused: polars overflows its stack at some hundreds."""
MOST_WORKBOOK_BYTES = 1 << 28
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
"""What a workbook with a password names its content."""
_NO_OBJECT = re.compile(rb"\n[ \t\r]*[^{ \t\r\n]")
_LONE_SURROGATE = re.compile(
    rb"(?<!\\)\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})(?<!\\)\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""Half of a character beyond U+FFFF in JSON, left where a text was cut; no text can hold it."""
_DATE, _TIME = r"^(\d{4}-\d\d-\d\d) 00:00:00$", r"^1899-12-31 (\d\d:\d\d:\d\d)$"
"""A date and a time of day in Excel, where every date has a time, and every time a date."""


@dataclass(frozen=True)
class Reader:
    """A data format.

    Attributes
    ----------
    what
        What it is, for help and documentation.
    read
        Yields a file's columns as tables of whole rows: a small file as one, a large one in pieces if the format
        allows. Raises DataError that names the file, what is wrong with it and what to do.
    endings
        Endings of file names, in lower case, also recognised before ``.gz`` and ``.bz2``; ``/`` is a folder.
    begins
        Recognises the first bytes of a file that has none of the endings.
    is_text
        Whether its files are text, and no file of another known kind.
    """

    what: str
    read: Callable[[DataFile, ReadOptions], Iterator[Table]]
    endings: tuple[str, ...] = ()
    begins: Callable[[bytes], bool] = lambda head: False
    is_text: bool = True


def read_table(path: Path, options: ReadOptions, name: str = "") -> Table:
    """Read a whole file or folder."""
    tables = list(table_pieces(path, options, name))
    frames = [table.frame for table in tables]
    return Table(frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed"), tables[0].how)


def table_pieces(path: Path, options: ReadOptions, name: str = "") -> Iterator[Table]:
    """Read a file or folder as one table, or in several of whole rows if it is large.

    Parameters
    ----------
    path, options
        Its path, and the user's options.
    name
        What messages call it; the path if empty.
    """
    if not path.exists():
        raise DataError(
            f"{name or path} does not exist; expected a data file, a folder, or a dataset's name (tfcr datasets list)"
        )
    file = DataFile(path, name)
    reader = look_up(READERS, options.format or detect_format(file, options), "data format")
    if reader.is_text and (foreign := foreign_format(file.head())):
        raise DataError(f"{file.name} {foreign}")
    found = False
    for table in reader.read(file, options):
        if table.frame.height:
            found = True
            yield table
    if not found:
        raise DataError(f"{file.name} holds no rows; expected texts")


def detect_format(file: DataFile, options: ReadOptions) -> str:
    """Return the name of a file's format: by the file's name, else by its content.

    A file whose labels are in another file has one text per line.
    """
    if options.label_files:
        return "lines"
    name = file.path.name.lower() + ("/" if file.path.is_dir() else "")
    for ending, reason in REFUSED.items():
        if name.endswith(ending):
            raise DataError(f"{file.name} {foreign_format(file.head()) or reason}")
    unpacked = name.removesuffix(".gz").removesuffix(".bz2")
    for candidate in (name, unpacked):
        for format_name, reader in READERS.items():
            if candidate.endswith(reader.endings):
                return format_name
    head = file.head()
    for format_name, reader in READERS.items():
        if reader.begins(head):
            return format_name
    return "csv"


# lines of text -------------------------------------------------------------------------------------------------------


def _read_jsonl(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    encoding = encoding_of(file, options)
    is_list = next(decode_chunks([file.head()], encoding.name, file.name, "replace")).lstrip().startswith("[")
    names: list[str] = []
    n_empty, how = 0, ""
    for piece in text_pieces(file, encoding.name, (lambda content: 0) if is_list else line_end):
        content = _LONE_SURROGATE.sub(rb"\\ufffd", piece.content)
        if not content.strip():
            continue
        frame = _json_frame(piece._replace(content=content), file.name, is_list=is_list)
        how = piece.described("JSON lines", encoding)
        if frame.width:
            names = frame.columns
            yield Table(
                pl.concat([_empty_rows(n_empty, names), frame], how="diagonal_relaxed") if n_empty else frame, how
            )
            n_empty = 0
        else:  # empty objects only, which a table without columns cannot hold
            n_empty += frame.height
    if n_empty and names:
        yield Table(_empty_rows(n_empty, names), how)


def _empty_rows(number: int, names: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({name: pl.Series([None] * number, dtype=pl.Null) for name in names})


def _json_frame(piece: Piece, name: str, *, is_list: bool) -> pl.DataFrame:
    """Return the objects as a table, by polars if it can: lines of mixed types and lists need Python."""
    if not is_list and _has_plain_objects(piece.content):
        try:
            return pl.read_ndjson(piece.content, infer_schema_length=None)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass
    records = (_listed_records if is_list else _line_records)(piece, name)
    try:
        return pl.DataFrame(records, infer_schema_length=None, strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, TypeError, RecursionError) as error:
        raise DataError(
            f"{name} cannot be read as a table: {first_line(error)}; expected objects of the same form, such as "
            '{"text": "…", "label": "…"}'
        ) from None


def _has_plain_objects(content: bytes) -> bool:
    """Return whether all lines look like objects that are not deep, which would overflow the stack of compiled code."""
    n_lines = content.count(b"\n") + (not content.endswith(b"\n"))
    n_objects = content.count(b"\n{") + content.startswith(b"{")
    if n_objects < n_lines and _NO_OBJECT.search(b"\n" + content):
        return False
    data = np.frombuffer(content, np.uint8)
    opening = np.flatnonzero((data == ord("{")) | (data == ord("[")))
    line = np.searchsorted(np.flatnonzero(data == ord("\n")), opening)
    return not (line[MOST_DEPTH:] == line[:-MOST_DEPTH]).any()


def _listed_records(piece: Piece, name: str) -> list[dict[str, Any]]:
    """Read a JSON list of objects."""
    try:
        records = _from_json(piece.content.decode())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name} cannot be read as JSON: {first_line(error)}") from None
    return [_checked_record(record, number, name) for number, record in enumerate(records, start=1)]


def _line_records(piece: Piece, name: str) -> list[dict[str, Any]]:
    """Read lines with objects of mixed types; a line that is not an object is named."""
    numbered = enumerate(bare_lines([piece.content.decode()]), start=piece.lines_before + 1)
    return [
        _checked_record(_json_record(line, number, name), number, name) for number, line in numbered if line.strip()
    ]


def _json_record(line: str, number: int, name: str) -> Any:
    try:
        return _from_json(line)
    except json.JSONDecodeError as error:
        what = f"{error.msg} at character {error.colno}"
    except RecursionError:
        what = f"found lists or objects nested more than {MOST_DEPTH} deep"
    except ValueError as error:
        what = first_line(error)
    raise DataError(f"{name}, line {number}: {what}; expected one JSON object per line")


def _checked_record(record: Any, number: int, name: str) -> dict[str, Any]:
    if not isinstance(record, dict):
        raise DataError(f"{name}, number {number}: found {type(record).__name__}; expected JSON objects")
    if _is_deep(record):
        raise DataError(
            f"{name}, number {number}: found lists or objects nested more than {MOST_DEPTH} deep; expected JSON objects "
            "of texts, labels and numbers"
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


def _from_json(content: str) -> Any:
    """Parse JSON as polars does: of a repeated key the first counts. Larger integers than it knows become text."""
    return json.loads(
        content,
        parse_int=lambda digits: int(digits) if len(digits) < MOST_DIGITS else digits,
        object_pairs_hook=lambda pairs: {**dict(pairs), **dict(reversed(pairs))},
    )


def _read_fasttext(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    """Read lines of the form ``__label__x the text``."""
    encoding = encoding_of(file, options)
    for piece in text_pieces(file, encoding.name):
        labels, texts = [], []
        for number, line in enumerate(bare_lines([piece.content.decode()]), start=piece.lines_before + 1):
            words = line.split(" ")
            marked = [word for word in words if word.startswith(LABEL_MARK)]
            if len(marked) > 1:
                raise DataError(f"{file.name}, line {number}: found {len(marked)} labels; expected one")
            labels.append(marked[0].removeprefix(LABEL_MARK) if marked else None)
            texts.append(" ".join(word for word in words if not word.startswith(LABEL_MARK)))
        yield Table(_labelled(labels, texts), piece.described(f"{LABEL_MARK} lines", encoding))


def _read_lines(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    encoding = encoding_of(file, options)
    for piece in text_pieces(file, encoding.name):
        texts = list(bare_lines([piece.content.decode()]))
        yield Table(pl.DataFrame({"text": texts}), piece.described("one text per line", encoding))


def read_label_lines(path: Path, options: ReadOptions) -> list[str]:
    """Return the lines of a file of labels."""
    file = DataFile(path)
    return list(bare_lines(decode_chunks(file.chunks(), encoding_of(file, options).name, path)))


# tables --------------------------------------------------------------------------------------------------------------


def _read_parquet(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    if is_packed(file.path):
        raise DataError(f"{file.name} is compressed with gzip or bzip2; unpack it first: gunzip FILE, or bunzip2 FILE")
    try:
        check_parquet(file.path)
        for found in parse_isolated("parquet", file.path, piece_bytes=streaming.PIECE_BYTES):
            if isinstance(found, pl.DataFrame):
                yield Table(found, "Parquet")
    except DataError:
        raise
    except (ValueError, OSError) as error:
        foreign = foreign_format(file.head())
        reason = foreign or f"cannot be read as Parquet: {first_line(error)}; get the file again"
        raise DataError(f"{file.name} {reason}") from error


def _read_xlsx(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    """Read the first sheet; each cell as the text that CSV would have: 1 and not 1.0, dates as 2024-05-31."""
    if find_spec("fastexcel") is None:
        raise MissingExtraError("reading Excel workbooks", "excel")
    content = _workbook(file)
    sheets: list[str] = []
    frame = pl.DataFrame()
    try:
        for found in parse_isolated("xlsx", file.path, content):
            if isinstance(found, pl.DataFrame):
                frame = found
            else:
                sheets = found["sheets"]
    except DataError:
        raise
    except ValueError as error:
        raise DataError(
            f"{file.name} cannot be read as an Excel workbook: {first_line(error)}; open it, and save it again as "
            ".xlsx or CSV"
        ) from error
    sheet, *others = sheets
    if frame.is_empty():
        hint = f"; others are {', '.join(others)}: move the one with the texts to the front" if others else ""
        raise DataError(f"{file.name}: the first sheet, {sheet}, is empty; expected labelled texts{hint}")
    names = column_names(frame, header=options.header)
    cells = frame.slice(1) if options.header else frame
    cells = cells.select(pl.all().str.replace(_DATE, "$1").str.replace(_TIME, "$1"))
    cells.columns = names
    yield Table(cells, f"Excel, sheet {sheet}" + (f", the first of {1 + len(others)}" if others else ""))


def _workbook(file: DataFile) -> bytes:
    """Return the bytes of a workbook; one that is no workbook, is encrypted, or unpacks to absurd sizes is refused."""
    content = b""
    for chunk in file.chunks():
        content += chunk
        if len(content) > MOST_WORKBOOK_BYTES:
            raise DataError(f"{file.name} is larger than {MOST_WORKBOOK_BYTES >> 20} MB; save it as CSV")
    if not content:
        raise DataError(f"{file.name} is empty; expected labelled texts")
    if content.startswith(OLE) and _ENCRYPTED_PACKAGE in content:
        raise DataError(f"{file.name} is encrypted; save it without a password first, and give that file")
    if not content.startswith(OLE) and not is_xlsx(content[:HEAD_BYTES]) and (foreign := foreign_format(content)):
        raise DataError(f"{file.name} {foreign}")
    if content.startswith(b"PK\x03\x04"):
        try:
            check_zip(io.BytesIO(content), len(content))
        except ValueError as error:
            raise DataError(
                f"{file.name} cannot be read as an Excel workbook: {first_line(error)}; open it, and save it again as "
                ".xlsx or CSV"
            ) from error
    return content


# folders and archives ------------------------------------------------------------------------------------------------


def _read_folder(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    yield _from_members(file.name, members(file.path), options, "one folder per class")


def _read_tar(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    yield _from_members(file.name, tar_members(file.path), options, "an archive with one folder per class")


def _from_members(name: str, files: Iterable[Member], options: ReadOptions, how: str) -> Table:
    """Label each file with the folder it lies in, in the order of their names; all have one encoding."""
    found = []
    for member in files:
        path = PurePosixPath(printable(member.name))
        if path.parent.name and not path.name.startswith("."):
            found.append((str(path), path.parent.name, b"".join(member.chunks())))
    found.sort()
    joined = partial(_joined, [content for *_, content in found])
    encoding = given_encoding(options.encoding, next(joined(), b"")) if options.encoding else detect_encoding(joined)
    names, labels, contents = zip(*found, strict=True) if found else ((), (), ())
    texts = [
        decode(content, encoding.name, f"{name}: {member_name}")
        for member_name, content in zip(names, contents, strict=True)
    ]
    frame = _labelled(labels, texts).with_columns(pl.Series("file", names, pl.String))
    return Table(frame, f"{how}, {encoding}")


def _joined(contents: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the contents with a line break between, so that no character runs from one file into the next."""
    return chain.from_iterable((content, b"\n") for content in contents)


def _labelled(labels: Sequence[str | None], texts: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({"label": labels, "text": texts}, schema={"label": pl.String, "text": pl.String})


READERS: dict[str, Reader] = {
    "csv": Reader(
        "rows and columns separated by comma, semicolon, tab or bar, with or without quotes", read_delimited, (".csv",)
    ),
    "tsv": Reader("the same, separated by tabs", partial(read_delimited, separator="\t"), (".tsv", ".tab")),
    "jsonl": Reader(
        "one JSON object per line, or a JSON list of objects; labels keep their type",
        _read_jsonl,
        (".jsonl", ".ndjson", ".json"),
        lambda head: head.lstrip().startswith(b"{"),
    ),
    "parquet": Reader("Parquet", _read_parquet, (".parquet", ".pq"), lambda head: head.startswith(b"PAR1"), False),
    "xlsx": Reader(
        "the first sheet of an Excel workbook (`pip install 'tfcr[excel]'`)",
        _read_xlsx,
        (".xlsx", ".xlsm"),
        is_xlsx,
        False,
    ),
    "fasttext": Reader(
        f"lines of the form `{LABEL_MARK}x the text`, as fastText reads them; one label per line",
        _read_fasttext,
        begins=lambda head: LABEL_MARK.encode() in head.split(b"\n", 1)[0],
    ),
    "lines": Reader("one text per line, with labels in another file, or without", _read_lines),
    "folder": Reader(
        "a folder with one folder per class; the label is the file's parent folder", _read_folder, ("/",), is_text=False
    ),
    "tar": Reader(
        "an archive of such a folder",
        _read_tar,
        (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz"),
        is_text=False,
    ),
}

REFUSED = dict.fromkeys(
    (".xls", ".xlsb", ".ods"), "is a spreadsheet; save it as .xlsx or CSV first, and give that file"
)
REFUSED |= {".zip": "is a zip archive; unpack it first, and give a file in it, or its folder"}
"""Endings of files that people try and that have no reader, with what to do instead."""
