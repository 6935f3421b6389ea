"""The data formats that can be read, one row each in READERS.

To add a format, write a function that yields tables of all its columns, and add a row. Which column holds what is
decided later. A format that cannot be read in pieces yields one table.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import accumulate, chain
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

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
from tfcr.data.foreign import OLE, check_zip, foreign_format, is_xlsx
from tfcr.data.isolated import parse_isolated
from tfcr.data.json_lines import json_cells, json_series, read_jsonl
from tfcr.data.options import ReadOptions, Table
from tfcr.data.parquet import ENDINGS, is_parquet_folder, read_parquet
from tfcr.data.streaming import emptied, text_pieces
from tfcr.errors import DataError, MissingExtraError, in_one_line, look_up, unknown_name
from tfcr.system.archives import Member, members, tar_members
from tfcr.system.limits import in_words, is_there, kind_of, limit

LABEL_MARK, BETWEEN_MARKS = "__label__", " "
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
"""What a workbook with a password names its content."""
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
    typed
        Whether cells have types: 1 is another label than "1".
    cells
        Returns one column with the type that each cell has in the file, where a table would unite them.
    label_separator
        What the reader puts between several labels of a row; none of them contains it.
    places
        What it can be, as `kind_of` calls it.
    """

    what: str
    read: Callable[[DataFile, ReadOptions], Iterator[Table]]
    endings: tuple[str, ...] = ()
    begins: Callable[[bytes], bool] = lambda head: False
    is_text: bool = True
    typed: bool = False
    cells: Callable[[DataFile, ReadOptions, str], list[Any]] | None = None
    label_separator: str | None = None
    places: tuple[str, ...] = ("a file",)


def read_table(path: Path, options: ReadOptions, name: str = "") -> Table:
    """Read a whole file or folder."""
    tables = [replace(table, cells=None) for table in table_pieces(path, options, name)]  # which hold the file's bytes
    frames = [table.frame for table in tables]
    if len(frames) == 1:
        return tables[0]
    before = accumulate((frame.height for frame in frames), initial=0)
    rows = zip(before, tables, strict=False)
    bad = tuple(one._replace(row=one.row + start) for start, table in rows for one in table.bad)
    whole = replace(tables[0], bad=bad)
    exact = READERS[tables[0].format].cells
    if exact is None:
        return replace(whole, frame=pl.concat(frames, how="diagonal_relaxed"))
    columns = dict.fromkeys(column for frame in frames for column in frame.columns)
    mixed = {column: pl.lit(None) for column in columns if not _same_types(frames, column)}
    held = [frame.with_columns(**{name: mixed[name] for name in frame.columns if name in mixed}) for frame in frames]
    file = DataFile(path, name, skips=options.bad_rows == "skip")
    again = [json_series(column, exact(file, options, column)) for column in mixed]
    return replace(whole, frame=pl.concat(held, how="diagonal_relaxed").with_columns(again))


def _same_types(frames: Sequence[pl.DataFrame], column: str) -> bool:
    """Return whether a column has types in all pieces that polars unites as if the file were read whole.

    A column with text in one piece and numbers, lists or objects in another has not: {"a": 1} would become {1}.
    """
    parts = [frame.select(column) for frame in frames if column in frame.columns]
    types = {part.dtypes[0] for part in parts} - {pl.Null()}
    if len(types) <= 1 or all(kind.is_numeric() for kind in types):
        return True
    if not all(kind.is_nested() for kind in types):
        return False
    try:
        pl.concat(parts, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        return False
    return True


def table_pieces(
    path: Path, options: ReadOptions, name: str = "", facts: dict[str, Any] | None = None
) -> Iterator[Table]:
    """Read a file or folder as one table, or in several of whole rows if it is large.

    Parameters
    ----------
    path, options
        Its path, and the user's options.
    name
        What messages call it; the path if empty.
    facts
        What was detected when it was read before; see `DataFile`.
    """
    file = DataFile(path, name, facts, skips=options.bad_rows == "skip")
    try:
        yield from _pieces_of(file, options)
    except DataError as error:
        if str(path) in str(error) and str(path) != file.name:  # standard input lies in a temporary file
            raise DataError(str(error).replace(str(path), file.name)) from error
        raise


def _pieces_of(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    _check_place(file, options.format)
    format_name = options.format or detect_format(file, options)
    reader = look_up(READERS, format_name, "data format")
    if options.sheet is not None and format_name != "xlsx":
        raise DataError(f"{file.name}: found --sheet {options.sheet}, and the file is {format_name}; leave it out")
    if reader.is_text and (foreign := foreign_format(file.head())):
        raise DataError(f"{file.name} {foreign}")
    found = False
    for table in reader.read(file, options):
        if table.frame.height:
            found = True
            yield replace(table, format=format_name)
    if not found:
        raise DataError(f"{file.name} holds no rows; expected texts")


def _check_place(file: DataFile, format_name: str | None) -> None:
    """Refuse what no reader can read: a path that leads nowhere, a device, a folder where a file is expected."""
    try:
        kind = kind_of(file.path)
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(
            f"{file.name} does not exist; expected a data file, a folder, or a dataset's name (tfcr datasets list)"
        ) from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {file.name}: {in_one_line(error)}") from error
    if kind not in ("a file", "a folder"):
        raise DataError(f"{file.name} is {kind}; expected a data file or a folder")
    if format_name in READERS and kind not in READERS[format_name].places:
        expected = " or ".join(READERS[format_name].places)
        raise DataError(f"{file.name} is {kind}; expected {expected} with --format {format_name}, or leave that out")


def detect_format(file: DataFile, options: ReadOptions) -> str:
    """Return the name of a file's format: by the file's name, else by its content.

    A file whose labels are in another file has one text per line.
    """
    if options.label_files:
        return "lines"
    is_dir = file.path.is_dir()
    if is_dir and is_parquet_folder(file.path):
        return "parquet"
    name = file.path.name.lower() + ("/" if is_dir else "")
    for ending, reason in REFUSED.items():
        if name.endswith(ending):
            head = file.head()
            is_text = b"\n" in head and b"\0" not in head
            text = "is text, whatever its name; rename it to .csv, or give --format csv" if is_text else ""
            raise DataError(f"{file.name} {foreign_format(head) or text or reason}")
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


def _read_fasttext(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    """Read lines of the form ``__label__x the text``, or ``__label__x __label__y the text``."""
    encoding = encoding_of(file, options)
    for piece in text_pieces(file, encoding.name):
        labels, texts = [], []
        for line in bare_lines([piece.content.decode()]):
            words = line.split(" ")
            marked = [word.removeprefix(LABEL_MARK) for word in words if word.startswith(LABEL_MARK)]
            labels.append(BETWEEN_MARKS.join(marked) if marked else None)
            texts.append(" ".join(word for word in words if not word.startswith(LABEL_MARK)))
        frame, bad = emptied(_labelled(labels, texts), piece, encoding.name)
        yield Table(frame, piece.described(f"{LABEL_MARK} lines", encoding), bad=bad)


def _read_lines(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    encoding = encoding_of(file, options)
    for piece in text_pieces(file, encoding.name):
        texts = list(bare_lines([piece.content.decode()]))
        frame, bad = emptied(pl.DataFrame({"text": texts}), piece, encoding.name)
        yield Table(frame, piece.described("one text per line", encoding), bad=bad)


def label_lines(path: Path, options: ReadOptions) -> Iterator[str]:
    """Return the lines of a file of labels, one by one."""
    if not is_there(path):
        raise DataError(f"{path} does not exist; expected a file of labels, one per line")
    file = DataFile(path)
    return bare_lines(decode_chunks(file.chunks(), encoding_of(file, options).name, path))


# tables --------------------------------------------------------------------------------------------------------------


def _read_xlsx(file: DataFile, options: ReadOptions) -> Iterator[Table]:
    """Read a sheet; each cell as the text that CSV would have: 1 and not 1.0, dates as 2024-05-31."""
    if not _has_fastexcel():
        raise MissingExtraError("reading Excel workbooks", "excel")
    content = _workbook(file)
    frame, sheet, sheets = pl.DataFrame(), "", [""]
    try:
        for found in parse_isolated("xlsx", file.path, content, sheet=options.sheet):
            if isinstance(found, pl.DataFrame):
                frame = found
            else:
                sheet, sheets = found["sheet"], found["sheets"]
    except DataError:
        raise
    except ValueError as error:
        raise _no_workbook(file, error) from error
    if sheet is None:
        raise DataError(f"{file.name}: {unknown_name(options.sheet, sheets, 'sheet')}")
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


def _has_fastexcel() -> bool:
    try:
        return find_spec("fastexcel") is not None
    except ValueError:  # hidden, as our tests do it
        return False


def _no_workbook(file: DataFile, error: Exception) -> DataError:
    reason = in_one_line(error)
    return DataError(
        f"{file.name} cannot be read as an Excel workbook: {reason}; open it, and save it again as .xlsx or CSV"
    )


def _workbook(file: DataFile) -> bytes:
    """Return the bytes of a workbook; one that is no workbook, is encrypted, or unpacks to absurd sizes is refused."""
    content = b""
    for chunk in file.chunks():
        content += chunk
        if len(content) > limit("workbook"):
            raise DataError(f"{file.name} is larger than {in_words(limit('workbook'))}; save it as CSV")
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
            raise _no_workbook(file, error) from error
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
        "one JSON object per line, or a JSON list of objects; labels keep their type, and a list holds several",
        read_jsonl,
        (".jsonl", ".ndjson", ".json"),
        lambda head: head.lstrip().startswith(b"{"),
        typed=True,
        cells=json_cells,
    ),
    "parquet": Reader(
        "Parquet, or a folder of such files, whose folders may name columns (`year=2024/`); labels keep their type, "
        "and a list holds several",
        read_parquet,
        ENDINGS,
        lambda head: head.startswith(b"PAR1"),
        is_text=False,
        typed=True,
        places=("a file", "a folder"),
    ),
    "xlsx": Reader(
        "a sheet of an Excel workbook, the first unless `--sheet` names another (`pip install 'tfcr[excel]'`)",
        _read_xlsx,
        (".xlsx", ".xlsm"),
        is_xlsx,
        is_text=False,
    ),
    "fasttext": Reader(
        f"lines of the form `{LABEL_MARK}x the text`, as fastText reads them; several labels as `{LABEL_MARK}x "
        f"{LABEL_MARK}y the text`",
        _read_fasttext,
        begins=lambda head: LABEL_MARK.encode() in head.split(b"\n", 1)[0],
        label_separator=BETWEEN_MARKS,
    ),
    "lines": Reader("one text per line, with labels in another file, or without", _read_lines),
    "folder": Reader(
        "a folder with one folder per class; the label is the file's parent folder",
        _read_folder,
        ("/",),
        is_text=False,
        places=("a folder",),
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
