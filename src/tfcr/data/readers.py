"""The data files that can be read, one row each in READERS.

A reader turns a file into a table of all its columns, cells of text files as they stand; which column is what is
decided later. To add a format, write a reader and add a row.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from tfcr.data.datasets.rows import lines
from tfcr.data.delimited import read_delimited
from tfcr.data.encoding import as_utf8, decoded_chunks, detect_encoding, first_bytes
from tfcr.data.options import ReadOptions, Table
from tfcr.errors import DataError, look_up
from tfcr.system.archives import Member, members, tar_members

LABEL_MARK = "__label__"


Reader = Callable[[Path, ReadOptions], Table]


def read_table(path: Path, options: ReadOptions) -> Table:
    """Read a file or a folder of labelled texts."""
    if not path.exists():
        raise DataError(
            f"{path} does not exist; expected a data file, a folder, or a dataset's name (tfcr datasets list)"
        )
    table = look_up(READERS, options.format or detect_format(path, options), "data format")(path, options)
    if not table.frame.height:
        raise DataError(f"{path} holds no rows; expected texts")
    return table


def detect_format(path: Path, options: ReadOptions) -> str:
    """Tell a file's format: by its name, else by its content."""
    if path.is_dir():
        return "folder"
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".tar", ".tgz")):
        return "tar"
    for ending, name_of_format in _ENDINGS.items():
        if name.endswith(ending):
            return name_of_format
    if name.endswith((".xlsx", ".xls", ".ods")):
        raise DataError(f"{path} is a spreadsheet; save it as CSV first, and give that file")
    return _format_of_content(path, options)


def _format_of_content(path: Path, options: ReadOptions) -> str:
    head = first_bytes(path)
    if not head:
        raise DataError(f"{path} is empty; expected labelled texts")
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.lstrip().startswith(b"{"):
        return "jsonl"
    if LABEL_MARK.encode() in head.split(b"\n", 1)[0]:
        return "fasttext"
    return "lines" if options.label_files else "csv"


# other files -------------------------------------------------------------------------------------------------------


def _read_jsonl(path: Path, options: ReadOptions) -> Table:
    encoding = options.encoding or detect_encoding(path)
    with as_utf8(path, encoding) as text:
        try:
            frame = pl.read_ndjson(text, infer_schema_length=None)
        except pl.exceptions.PolarsError:
            frame = pl.DataFrame(_json_records(path, text), infer_schema_length=None, strict=False)
    return Table(frame, f"JSON lines, {encoding}")


def _json_records(path: Path, text: Path) -> list[dict[str, Any]]:
    """Read a JSON list of objects, or objects of mixed types a line each; name the line that is none."""
    content = text.read_text("utf-8")
    if content.lstrip().startswith("["):
        try:
            records = json.loads(content)
        except ValueError as error:
            raise DataError(f"{path} cannot be read as JSON: {error}") from None
        numbered = [(number, record) for number, record in enumerate(records, start=1)]
    else:
        numbered = []
        for number, line in enumerate(content.split("\n"), start=1):
            if line.strip():
                try:
                    numbered.append((number, json.loads(line)))
                except ValueError as error:
                    raise DataError(f"{path}, line {number}: {error}; expected a JSON object a line") from None
    for number, record in numbered:
        if not isinstance(record, dict):
            raise DataError(f"{path}, number {number}: found {type(record).__name__}; expected JSON objects")
    return [record for _, record in numbered]


def _read_parquet(path: Path, options: ReadOptions) -> Table:
    try:
        return Table(pl.read_parquet(path), "Parquet")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {_first_line(error)}") from error


def _read_fasttext(path: Path, options: ReadOptions) -> Table:
    """Read lines of the form ``__label__x the text``."""
    encoding = options.encoding or detect_encoding(path)
    labels, texts = [], []
    for number, line in enumerate(_lines(path, encoding), start=1):
        words = line.split(" ")
        marked = [word for word in words if word.startswith(LABEL_MARK)]
        if len(marked) > 1:
            raise DataError(f"{path}, line {number}: found {len(marked)} labels; expected one")
        labels.append(marked[0].removeprefix(LABEL_MARK) if marked else None)
        texts.append(" ".join(word for word in words if not word.startswith(LABEL_MARK)))
    return Table(_labelled(labels, texts), f"{LABEL_MARK} lines, {encoding}")


def _read_lines(path: Path, options: ReadOptions) -> Table:
    """Read one text a line."""
    encoding = options.encoding or detect_encoding(path)
    return Table(pl.DataFrame({"text": list(_lines(path, encoding))}), f"a text a line, {encoding}")


def _lines(path: Path, encoding: str) -> Iterator[str]:
    """Yield the lines of a file without their ends."""
    return (line.removesuffix("\n").removesuffix("\r") for line in lines(decoded_chunks(path, encoding)))


def read_label_lines(path: Path, encoding: str | None = None) -> list[str]:
    """Return the lines of a file of labels."""
    return list(_lines(path, encoding or detect_encoding(path)))


def _read_folder(path: Path, options: ReadOptions) -> Table:
    return _from_files(path, _contents(members(path)), options, "a folder for each class")


def _read_tar(path: Path, options: ReadOptions) -> Table:
    return _from_files(path, _contents(tar_members(path)), options, "an archive with a folder for each class")


def _contents(files: Iterator[Member]) -> Iterator[tuple[str, bytes]]:
    """Read the files into memory."""
    return ((member.name, b"".join(member.chunks())) for member in files)


def _from_files(path: Path, files: Iterator[tuple[str, bytes]], options: ReadOptions, how: str) -> Table:
    """Label each file with the folder it lies in, in the order of their names."""
    found = [
        (name, content)
        for name, content in files
        if PurePosixPath(name).parent.name and not PurePosixPath(name).name.startswith(".")
    ]
    found.sort()
    encoding = options.encoding or _encoding_of([content for _, content in found])
    labels = [PurePosixPath(name).parent.name for name, _ in found]
    texts = [_decode(content, encoding, f"{path}: {name}") for name, content in found]
    frame = _labelled(labels, texts).with_columns(pl.Series("file", [name for name, _ in found], pl.String))
    return Table(frame, f"{how}, {encoding}")


def _encoding_of(contents: list[bytes]) -> str:
    try:
        for content in contents:
            content.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _decode(content: bytes, encoding: str, where: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where}: byte {error.start} is not {encoding}; give the files' encoding, as in --encoding latin-1"
        ) from None
    except LookupError:
        raise DataError(f"unknown encoding {encoding!r}; for example: utf-8, latin-1, cp1252, utf-16") from None


def _labelled(labels: Sequence[str | None], texts: Sequence[str]) -> pl.DataFrame:
    return pl.DataFrame({"label": labels, "text": texts}, schema={"label": pl.String, "text": pl.String})


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


READERS: dict[str, Reader] = {
    "csv": read_delimited,
    "tsv": read_delimited,
    "jsonl": _read_jsonl,
    "parquet": _read_parquet,
    "fasttext": _read_fasttext,
    "lines": _read_lines,
    "folder": _read_folder,
    "tar": _read_tar,
}

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
