"""The data formats that can be read, one row each in READERS.

To add a format, write a function that yields tables of all its columns, and add a row. Which column holds what is
decided later. A format that cannot be read in pieces yields one table.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from tfcr.data.columns import column_names
from tfcr.data.delimited import read_delimited
from tfcr.data.encoding import DataFile, Encoding, bare_lines, decode, decode_chunks, detect_encoding, encoding_of
from tfcr.data.options import ReadOptions, Table
from tfcr.data.streaming import Piece, line_end, row_slices, text_pieces
from tfcr.errors import DataError, MissingExtraError, look_up, unknown_name
from tfcr.system.archives import Member, members, tar_members

LABEL_MARK = "__label__"
_OLE, _ENCRYPTED_PACKAGE = b"\xd0\xcf\x11\xe0", "EncryptedPackage".encode("utf-16-le")
"""How a workbook with a password begins, and what it names its content."""
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
    typed
        Whether cells have types: 1 is another label than "1".
    cells
        Returns one column with the type that each cell has in the file, where a table would unite them.
    """

    what: str
    read: Callable[[DataFile, ReadOptions], Iterator[Table]]
    endings: tuple[str, ...] = ()
    begins: Callable[[bytes], bool] = lambda head: False
    typed: bool = False
    cells: Callable[[DataFile, ReadOptions, str], list[Any]] | None = None


def read_table(path: Path, options: ReadOptions, name: str = "") -> Table:
    """Read a whole file or folder."""
    tables = list(table_pieces(path, options, name))
    frames = [table.frame for table in tables]
    return replace(tables[0], frame=frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal_relaxed"))


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
    format_name = options.format or detect_format(file, options)
    reader = look_up(READERS, format_name, "data format")
    if options.sheet is not None and format_name != "xlsx":
        raise DataError(f"{file.name}: found --sheet {options.sheet}, and the file is {format_name}; leave it out")
    found = False
    for table in reader.read(file, options):
        if table.frame.height:
            found = True
            yield replace(table, format=format_name)
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
            raise DataError(f"{file.name} {reason}")
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
    for piece in text_pieces(file, encoding.name, _json_end):
        try:
            if _SURROGATE_ESCAPE.search(piece.content):
                raise pl.exceptions.ComputeError("polars reads half of a surrogate pair as NUL")
            frame = pl.read_ndjson(piece.content, infer_schema_length=None)
        except pl.exceptions.PolarsError:
            records = _json_records(piece, file.name)
            if _SURROGATE_ESCAPE.search(piece.content):
                records = _whole_characters(records)
            names = dict.fromkeys(name for record in records for name in record)
            frame = pl.DataFrame([_json_series(name, [record.get(name) for record in records]) for name in names])
        yield Table(frame, piece.described("JSON lines", encoding))


_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def _json_series(name: str, cells: list[Any]) -> pl.Series:
    """Return a column of JSON; cells of types that polars cannot unite become text."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    try:
        if kinds == {int, float}:
            return pl.Series(name, [None if cell is None else float(cell) for cell in cells], pl.Float64)
        if len(kinds) <= 1:
            return pl.Series(name, cells, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        pass
    text = [cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False) for cell in cells]
    return pl.Series(name, text, pl.String)


def _whole_characters(value: Any) -> Any:
    """Return JSON with U+FFFD for each half of a surrogate pair, which no UTF-8 text can hold."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(cell) for key, cell in value.items()}
    return [_whole_characters(cell) for cell in value] if isinstance(value, list) else value


def json_cells(file: DataFile, options: ReadOptions, column: str) -> list[Any]:
    """Return one value of each JSON object, with its own type; None where it is missing."""
    pieces = text_pieces(file, encoding_of(file, options).name, _json_end)
    return [record.get(column) for piece in pieces for record in _json_records(piece, file.name)]


def _json_end(content: bytes) -> int:
    """Cut after the last line; a JSON list of objects cannot be cut."""
    return 0 if content[:4096].lstrip().startswith(b"[") else line_end(content)


def _json_records(piece: Piece, name: str) -> list[dict[str, Any]]:
    """Read a JSON list of objects, or lines with objects of mixed types; a line that is not an object is named."""
    content = piece.content.decode()
    if content.lstrip().startswith("["):
        try:
            records = list(enumerate(json.loads(content), start=1))
        except ValueError as error:
            raise DataError(f"{name} cannot be read as JSON: {error}") from None
    else:
        numbered = enumerate(bare_lines([content]), start=piece.lines_before + 1)
        records = [(number, _json_record(line, number, name)) for number, line in numbered if line.strip()]
    for number, record in records:
        if not isinstance(record, dict):
            raise DataError(f"{name}, number {number}: found {type(record).__name__}; expected JSON objects")
    return [record for _, record in records]


def _json_record(line: str, number: int, name: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        what = f"{error.msg} at character {error.colno}"
        raise DataError(f"{name}, line {number}: {what}; expected one JSON object per line") from None


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
    try:
        rows = pl.scan_parquet(file.path)
        height = rows.select(pl.len()).collect().item()
        for start, length in row_slices(height, file.path.stat().st_size):
            yield Table(rows.slice(start, length).collect(), "Parquet")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{file.name} cannot be read as Parquet: {_first_line(error)}") from error


def _read_xlsx(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    """Read a sheet; each cell as the text that CSV would have: 1 and not 1.0, dates as 2024-05-31."""
    try:
        import fastexcel  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("reading Excel workbooks", "excel") from None
    content = b"".join(file.chunks())
    if not content:
        raise DataError(f"{file.name} is empty; expected labelled texts")
    if content.startswith(_OLE) and _ENCRYPTED_PACKAGE in content:
        raise DataError(f"{file.name} is encrypted; save it without a password first, and give that file")
    try:
        sheets = fastexcel.read_excel(content).sheet_names
        if not sheets:
            raise ValueError("it has no sheet")
        sheet = _sheet_named(options.sheet, sheets, file.name)
        frame = pl.read_excel(
            content,
            sheet_name=sheet,
            engine="calamine",
            has_header=False,
            infer_schema_length=0,  # all text: a column may hold several types, and its name is text anyway
            drop_empty_rows=False,  # rows keep their numbers
            drop_empty_cols=False,
            raise_if_empty=False,
        )
    except DataError:
        raise
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, ValueError) as error:
        reason = _first_line(error).removeprefix("calamine error: ")
        raise DataError(
            f"{file.name} cannot be read as an Excel workbook: {reason}; open it, and save it again as .xlsx or CSV"
        ) from error
    if frame.is_empty():
        others = [other for other in sheets if other != sheet]
        hint = f"; others are {', '.join(others)}: give the one with the texts, --sheet NAME" if others else ""
        first = "first " if sheet == sheets[0] else ""
        raise DataError(f"{file.name}: the {first}sheet, {sheet}, is empty; expected labelled texts{hint}")
    names = column_names(frame, header=options.header)
    cells = frame.slice(1) if options.header else frame
    cells = cells.select(pl.all().str.replace(_DATE, "$1").str.replace(_TIME, "$1"))
    cells.columns = names
    number = "the first" if sheet == sheets[0] else f"number {1 + sheets.index(sheet)}"
    yield Table(cells, f"Excel, sheet {sheet}" + (f", {number} of {len(sheets)}" if len(sheets) > 1 else ""))


def _sheet_named(wanted: str | None, sheets: Sequence[str], name: str) -> str:
    """Return the sheet that the user wants, by name or by number from 1; the first if none."""
    if wanted is None or wanted in sheets:
        return sheets[0] if wanted is None else wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(sheets):
        return sheets[int(wanted) - 1]
    raise DataError(f"{name}: {unknown_name(wanted, sheets, 'sheet')}")


def _is_xlsx(head: bytes) -> bool:
    return head.startswith(b"PK") and b"xl/" in head


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


# folders and archives ------------------------------------------------------------------------------------------------


def _read_folder(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    yield _from_members(file.name, members(file.path), options, "one folder per class")


def _read_tar(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    yield _from_members(file.name, tar_members(file.path), options, "an archive with one folder per class")


def _from_members(name: str, files: Iterable[Member], options: ReadOptions, how: str) -> Table:
    """Label each file with the folder it lies in, in the order of their names; all have one encoding."""
    found = []
    for member in files:
        path = PurePosixPath(member.name)
        if path.parent.name and not path.name.startswith("."):
            found.append((member.name, path.parent.name, b"".join(member.chunks())))
    found.sort()
    joined = partial(_joined, [content for *_, content in found])
    encoding = Encoding(options.encoding) if options.encoding else detect_encoding(joined)
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
        typed=True,
        cells=json_cells,
    ),
    "parquet": Reader(
        "Parquet; labels keep their type",
        _read_parquet,
        (".parquet", ".pq"),
        lambda head: head.startswith(b"PAR1"),
        True,
    ),
    "xlsx": Reader(
        "a sheet of an Excel workbook, the first unless `--sheet` names another (`pip install 'tfcr[excel]'`)",
        _read_xlsx,
        (".xlsx", ".xlsm"),
        _is_xlsx,
    ),
    "fasttext": Reader(
        f"lines of the form `{LABEL_MARK}x the text`, as fastText reads them; one label per line",
        _read_fasttext,
        begins=lambda head: LABEL_MARK.encode() in head.split(b"\n", 1)[0],
    ),
    "lines": Reader("one text per line, with labels in another file, or without", _read_lines),
    "folder": Reader("a folder with one folder per class; the label is the file's parent folder", _read_folder, ("/",)),
    "tar": Reader(
        "an archive of such a folder",
        _read_tar,
        (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz"),
    ),
}

REFUSED = dict.fromkeys(
    (".xls", ".xlsb", ".ods"), "is a spreadsheet; save it as .xlsx or CSV first, and give that file"
)
REFUSED |= {".zip": "is a zip archive; unpack it first, and give a file in it, or its folder"}
"""Endings of files that people try and that have no reader, with what to do instead."""
