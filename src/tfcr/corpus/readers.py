"""The data files that can be read, one row each in READERS."""

import io
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from tfcr.errors import DataError, look_up, unknown_name


@dataclass(frozen=True)
class Corpus:
    """Texts and their labels, one for each text."""

    texts: list[str]
    labels: list[Any]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class ReadOptions:
    """Which columns hold text and label, and how bytes become text."""

    text: str = "text"
    label: str = "label"
    encoding: str = "utf-8"


Reader = Callable[[Path, ReadOptions], Corpus]


def read_corpus(
    path: str | Path,
    *,
    text: str = "text",
    label: str = "label",
    encoding: str = "utf-8",
    format: str | None = None,
) -> Corpus:
    """Read labelled texts.

    Parameters
    ----------
    path
        A .csv or .jsonl file, or a folder or .tar.gz with a folder for each class.
    text, label
        The columns to read.
    encoding
        How the file's bytes become text.
    format
        A name of READERS, if it shall not be told from the file's name.
    """
    source = Path(path)
    if not source.exists():
        raise DataError(f"{source} does not exist; expected a file or folder of labelled texts")
    reader = look_up(READERS, format or _format_of(source), "data format")
    corpus = reader(source, ReadOptions(text, label, encoding))
    if not corpus.texts:
        raise DataError(f"{source} holds no documents; expected labelled texts")
    return corpus


def _format_of(path: Path) -> str:
    if path.is_dir():
        return "folder"
    if path.name.endswith((".tar.gz", ".tgz", ".tar")):
        return "tar"
    ending = path.suffix.removeprefix(".")
    if ending not in READERS:
        raise DataError(f"{path}: {unknown_name(ending, READERS, 'data format')}")
    return ending


def _read_csv(path: Path, options: ReadOptions) -> Corpus:
    try:
        table = pl.read_csv(io.BytesIO(_decoded(path, options.encoding).encode()), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path} cannot be read as CSV: {str(error).splitlines()[0]}") from error
    return _from_table(path, table, options)


def _read_jsonl(path: Path, options: ReadOptions) -> Corpus:
    try:
        table = pl.read_ndjson(io.BytesIO(_decoded(path, options.encoding).encode()), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path} cannot be read as JSON lines: {str(error).splitlines()[0]}") from error
    return _from_table(path, table, options)


def _from_table(path: Path, table: pl.DataFrame, options: ReadOptions) -> Corpus:
    for column in (options.text, options.label):
        if column not in table.columns:
            raise DataError(f"{path}: {unknown_name(column, table.columns, 'column')}")
    return Corpus(table[options.text].cast(pl.String).to_list(), table[options.label].to_list())


def _read_folder(path: Path, options: ReadOptions) -> Corpus:
    files = ((file.relative_to(path).as_posix(), file.read_bytes()) for file in path.rglob("*") if file.is_file())
    return _from_files(path, files, options)


def _read_tar(path: Path, options: ReadOptions) -> Corpus:
    try:
        with tarfile.open(path) as archive:
            return _from_files(path, _members(archive), options)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"{path} is truncated or no tar archive ({error}); get the file again") from error


def _members(archive: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """Read the files of an archive into memory; nothing is ever unpacked to disk, and links are passed over."""
    for member in archive:
        file = archive.extractfile(member) if member.isfile() else None
        if file is not None:
            yield member.name, file.read()


def _from_files(path: Path, files: Iterator[tuple[str, bytes]], options: ReadOptions) -> Corpus:
    """Label each file with the folder it lies in, in the order of their names."""
    found = []
    for name, content in files:
        label = PurePosixPath(name).parent.name
        if label and not PurePosixPath(name).name.startswith("."):
            found.append((name, label, _decode(content, options.encoding, f"{path}: {name}")))
    found.sort()
    return Corpus([text for _, _, text in found], [label for _, label, _ in found])


def _decoded(path: Path, encoding: str) -> str:
    return _decode(path.read_bytes(), encoding, str(path))


def _decode(content: bytes, encoding: str, where: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{where}: byte {error.start} is not {encoding}; give the encoding, as in encoding='latin-1'"
        ) from None
    except LookupError:
        raise DataError(f"unknown encoding {encoding!r}; for example: utf-8, latin-1, cp1252, utf-16") from None


READERS: dict[str, Reader] = {
    "csv": _read_csv,
    "jsonl": _read_jsonl,
    "folder": _read_folder,
    "tar": _read_tar,
}
