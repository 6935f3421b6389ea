"""The data files that can be read, one row each in READERS.

A reader turns a file into a table of all its columns, cells of text files as they stand; which column is what is
decided later. To add a format, write a reader and add a row.
"""

import csv
import io
import json
import tarfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import polars as pl

from tfcr.corpus.decoding import as_utf8, decoded_chunks, detect_encoding, first_bytes
from tfcr.errors import DataError, look_up

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
LABEL_MARK = "__label__"
MOST_UNPACKED = 4 << 30
"""An archive that unpacks to more bytes than this is taken for an attack."""
MOST_RATIO = 500
"""So is one that unpacks to so many times its size, past a first MOST_HARMLESS bytes."""
MOST_HARMLESS = 100 << 20


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about a file; None and empty mean: find out.

    Attributes
    ----------
    text
        The columns that hold the text, by name or number from 1; several are joined.
    label, group
        The column that holds the label, and the one that says what must stay together in cross-validation.
    format
        A name of READERS.
    encoding
        A name that Python knows.
    separator
        The character between columns.
    quoting
        Whether cells may stand in double quotes.
    header
        Whether the first line names the columns.
    columns
        How many columns there are; the last one takes the rest of the line.
    label_files
        Files that hold the labels line by line, one for each file of texts.
    usual, usual_label
        The columns to take for text and label if they are there and no others are given.
    """

    text: tuple[str, ...] = ()
    label: str | None = None
    group: str | None = None
    format: str | None = None
    encoding: str | None = None
    separator: str | None = None
    quoting: bool = True
    header: bool = True
    columns: int | None = None
    label_files: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    usual_label: str | None = None


@dataclass(frozen=True)
class Table:
    """All columns of a file, and how it was read, in words."""

    frame: pl.DataFrame
    how: str


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


# delimited text ----------------------------------------------------------------------------------------------------


def _read_delimited(path: Path, options: ReadOptions) -> Table:
    encoding = options.encoding or detect_encoding(path)
    with as_utf8(path, encoding) as text:
        if not text.stat().st_size:
            raise DataError(f"{path} is empty; expected labelled texts")
        separator = _given_separator(options) or detect_separator(text, quoting=options.quoting)
        frame = _split_lines(text, separator, options.columns) if options.columns else None
        if frame is None:
            frame = _read_by_polars(text, separator, options)
        if frame is None:
            frame = _read_carefully(path, text, separator, options)
        within = _line_breaks(text) - frame.height
    how = [f"{SEPARATORS.get(separator, repr(separator))}-separated", encoding]
    if options.quoting and within > 0:
        how.append(f"{within} line breaks inside quoted cells (if that is wrong: --quoting none)")
    return Table(_named(frame, header=options.header), ", ".join(how))


def _line_breaks(text: Path) -> int:
    """Return the number of lines that hold anything."""
    with text.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _given_separator(options: ReadOptions) -> str | None:
    if options.separator is None:
        return "\t" if options.format == "tsv" else None
    names = {name: character for character, name in SEPARATORS.items()}
    separator = {**names, "\\t": "\t"}.get(options.separator, options.separator)
    if len(separator) != 1:
        raise DataError(
            f"found the separator {options.separator!r}; expected one character, or one of {', '.join(names)}"
        )
    return separator


def detect_separator(path: Path, *, quoting: bool = True) -> str:
    """Return the separator that gives most rows the same number of columns, two or more."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        sample = file.read(1 << 16)
    scores = {separator: _evenness(sample, separator, quoting) for separator in SEPARATORS}
    best = max(scores, key=lambda separator: scores[separator])
    return best if scores[best] > (0, 0) else ","


def _quoting(quoting: bool) -> Literal[0, 3]:
    return csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE


def _evenness(sample: str, separator: str, quoting: bool) -> tuple[float, int]:
    """Return the share of the rows that have the most common number of columns, and that number; (0, 0) for one."""
    rows = list(csv.reader(io.StringIO(sample, newline=""), delimiter=separator, quoting=_quoting(quoting)))
    sizes = Counter(len(row) for row in (rows[:-1] if len(rows) > 2 else rows) if row)
    if not sizes:
        return 0.0, 0
    size, number = sizes.most_common(1)[0]
    return (round(number / sizes.total(), 2), size) if size > 1 else (0.0, 0)


def _read_by_polars(text: Path, separator: str, options: ReadOptions) -> pl.DataFrame | None:
    """Return the rows, the header among them, or None where they are not as even as polars wants them."""
    try:
        return pl.read_csv(
            text,
            separator=separator,
            quote_char='"' if options.quoting else None,
            has_header=False,
            infer_schema=False,
        )
    except pl.exceptions.PolarsError:
        return None


def _read_carefully(path: Path, text: Path, separator: str, options: ReadOptions) -> pl.DataFrame:
    """Read what is uneven: stray quotes, and rows that end in more separators than others."""
    csv.field_size_limit(1 << 30)
    rows: list[list[str | None]] = []
    with text.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter=separator, quoting=_quoting(options.quoting))
        for fields in reader:
            row: list[str | None] = [field or None for field in fields]
            width = len(rows[0]) if rows else len(row)
            if any(field is not None for field in row[width:]):
                raise DataError(
                    f"{path}, line {reader.line_num}: found {len(row)} columns; expected {width}, as in the first "
                    f"line. If texts hold the separator, give --columns {width}, and the last takes the rest"
                )
            if row:
                rows.append((row + [None] * width)[:width])
    return pl.DataFrame(rows, schema=[str(number) for number in range(len(rows[0]))], orient="row")


def _split_lines(text: Path, separator: str, columns: int) -> pl.DataFrame:
    """Cut each line at its first separators only."""
    lines = pl.DataFrame({"line": text.read_text("utf-8").removesuffix("\n").split("\n")})
    parts = lines.select(pl.col("line").str.strip_suffix("\r").str.splitn(separator, columns))
    return parts.unnest("line")


def _named(frame: pl.DataFrame, *, header: bool) -> pl.DataFrame:
    """Name the columns after the first row, or by their number."""
    numbers = [str(number + 1) for number in range(frame.width)]
    if not header:
        return frame.rename(dict(zip(frame.columns, numbers, strict=True)))
    first = frame.row(0)
    names: list[str] = []
    for number, cell in zip(numbers, first, strict=True):
        name = (cell or "").strip() or number
        names.append(f"{name} ({number})" if name in names else name)
    return frame.slice(1).rename(dict(zip(frame.columns, names, strict=True)))


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
    """Yield the lines of a file; only a line break ends one, whatever else str.splitlines takes for one."""
    rest = ""
    for chunk in decoded_chunks(path, encoding):
        *whole, rest = (rest + chunk).split("\n")
        yield from (line.removesuffix("\r") for line in whole)
    if rest:
        yield rest.removesuffix("\r")


def read_label_lines(path: Path, encoding: str | None = None) -> list[str]:
    """Return the lines of a file of labels."""
    return list(_lines(path, encoding or detect_encoding(path)))


def _read_folder(path: Path, options: ReadOptions) -> Table:
    files = ((file.relative_to(path).as_posix(), file.read_bytes()) for file in path.rglob("*") if file.is_file())
    return _from_files(path, files, options, "a folder for each class")


def _read_tar(path: Path, options: ReadOptions) -> Table:
    try:
        with tarfile.open(path) as archive:
            return _from_files(path, _members(path, archive), options, "an archive with a folder for each class")
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"{path} is truncated or no tar archive ({_first_line(error)}); get the file again") from error


def _members(path: Path, archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """Read the files of an archive into memory; nothing is ever unpacked to disk, and links are passed over."""
    unpacked = 0
    most = min(MOST_UNPACKED, max(MOST_HARMLESS, MOST_RATIO * path.stat().st_size))
    for member in archive:
        if PurePosixPath(member.name).is_absolute() or ".." in PurePosixPath(member.name).parts:
            raise DataError(
                f"{path} holds the path {member.name!r}, which leads out of its folder; it is not to be trusted"
            )
        unpacked += member.size
        if unpacked > most:
            raise DataError(f"{path} unpacks to more than {most >> 20} MB; it is damaged or not to be trusted")
        file = archive.extractfile(member) if member.isfile() else None
        if file is not None:
            yield member.name, file.read()


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
    "csv": _read_delimited,
    "tsv": _read_delimited,
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
