"""Files elsewhere: each is copied to a temporary folder before it is read, since most are read more than once.

The web is read by `system.download`, which resumes; other places through fsspec, an extra.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from tfcr.data.addresses import file_name, scheme_of, shown_address
from tfcr.data.parquet import ENDINGS
from tfcr.errors import DataError, MissingExtraError, TfcrError, in_one_line, look_up
from tfcr.system.download import Download, download
from tfcr.system.limits import in_words, limit

CHUNK = 1 << 20


@dataclass(frozen=True)
class Place:
    """A kind of address.

    Attributes
    ----------
    what
        What it leads to, for documentation.
    files
        From an address, which may be a glob, to the files it stands for.
    copy
        Copies a file, or a folder of Parquet files, into a folder, and returns the copy.
    package, extra
        What fsspec needs for it, and our extra that has it, if one does.
    """

    what: str
    files: Callable[[str], list[str]]
    copy: Callable[[str, Path], Path]
    package: str = "fsspec"
    extra: str = "remote"


def remote_files(address: str) -> list[str]:
    """Return the files that an address stands for; raise DataError if there are none."""
    return look_up(PLACES, scheme_of(address), "kind of address").files(address)


def copied(address: str, folder: Path) -> Path:
    """Copy a file, or a folder of Parquet files, into an empty folder."""
    return look_up(PLACES, scheme_of(address), "kind of address").copy(address, folder)


def local_path(address: str) -> str:
    """Return the path that an address of this machine stands for.

    >>> local_path("file:///data/a%20b.csv")
    '/data/a b.csv'
    """
    return url2pathname(urlsplit(address).path)


# the web -------------------------------------------------------------------------------------------------------------


def _web_file(address: str) -> list[str]:
    return [address]


def _download(address: str, folder: Path) -> Path:
    return download(Download(address, file_name(address)), folder)


# through fsspec ------------------------------------------------------------------------------------------------------


@contextmanager
def _file_system(address: str) -> Iterator[tuple[Any, str]]:
    """Give the file system of an address, and its path there; whatever goes wrong with it is one line."""
    place = PLACES[scheme_of(address)]
    try:
        fsspec = import_module("fsspec")
        system = fsspec.filesystem(scheme_of(address))
    except ImportError:
        if place.extra:
            raise MissingExtraError(f"reading {scheme_of(address)}:// addresses", place.extra) from None
        raise DataError(
            f"reading {shown_address(address)} needs {place.package}; install it with: pip install {place.package}"
        ) from None
    try:
        yield system, system._strip_protocol(address)
    except TfcrError:
        raise
    except FileNotFoundError:
        raise DataError(
            f"{shown_address(address)} does not exist; expected a data file, a glob, or a folder of Parquet files"
        ) from None
    except Exception as error:  # each file system has its own
        raise DataError(f"cannot read {shown_address(address)}: {in_one_line(error)}") from error


def _listed(address: str) -> list[str]:
    """Return the files of a glob, or the address itself: of a file, or of a folder of Parquet files."""
    with _file_system(address) as (system, path):
        if has_magic(path):
            found = sorted(system.glob(path))
            _check_number(found, address)
            if not found:
                raise DataError(f"{shown_address(address)} matches no file; expected a data file, a glob, or a folder")
            return [system.unstrip_protocol(one) for one in found]
        if system.isdir(path):
            _dataset_files(system, path, address)
        elif not system.exists(path):
            raise FileNotFoundError
        return [address]


def _copy(address: str, folder: Path) -> Path:
    with _file_system(address) as (system, path):
        target = folder / file_name(address)
        if not system.isdir(path):
            _copy_file(system, path, target, address, limit("download"))
            return target
        room = limit("download")
        for one, inside in _dataset_files(system, path, address):
            place = target / inside
            place.parent.mkdir(parents=True, exist_ok=True)
            room -= _copy_file(system, one, place, address, room)
        return target


def _dataset_files(system: Any, path: str, address: str) -> list[tuple[str, PurePosixPath]]:
    """Return the Parquet files of a folder, and their paths in it."""
    found = sorted(system.find(path))
    _check_number(found, address)
    inside = [PurePosixPath(one).relative_to(PurePosixPath(path)) for one in found]
    hidden = [any(part.startswith((".", "_")) and part != ".." for part in one.parts) for one in inside]
    files = [pair for pair, is_hidden in zip(zip(found, inside, strict=True), hidden, strict=True) if not is_hidden]
    for _, one in files:
        if ".." in one.parts:
            raise DataError(f"{shown_address(address)} holds the path {one}; expected none that leads out of it")
    if not files or not all(one.name.lower().endswith(ENDINGS) for _, one in files):
        raise DataError(
            f"{shown_address(address)} is a folder; expected a file, a folder of Parquet files, or a glob: "
            f"'{shown_address(address).rstrip('/')}/*.csv'"
        )
    return files


def _check_number(found: Sequence[str], address: str) -> None:
    if len(found) > limit("dataset files"):
        raise DataError(
            f"{shown_address(address)} stands for {len(found):,} files; expected at most {limit('dataset files'):,}"
        )


def _copy_file(system: Any, path: str, target: Path, address: str, room: int) -> int:
    """Copy a file of at most `room` bytes; return its size."""
    expected, size = system.size(path), 0
    with system.open(path, "rb") as source, target.open("xb") as copy:
        while chunk := source.read(CHUNK):
            size += len(chunk)
            if size > room:
                raise DataError(
                    f"{shown_address(address)} holds more than {in_words(limit('download'))}; copy it to this machine, "
                    "and give its path"
                )
            copy.write(chunk)
    if expected is not None and size != expected:
        raise DataError(
            f"{shown_address(address)} ended after {size:,} of {expected:,} bytes; it may have changed: type the same "
            "command again"
        )
    return size


PLACES: dict[str, Place] = {
    "https": Place("a file on the web", _web_file, _download),
    "http": Place("the same, unencrypted", _web_file, _download),
    "s3": Place("Amazon S3, and what speaks its language", _listed, _copy, "s3fs"),
    "gs": Place("Google Cloud Storage", _listed, _copy, "gcsfs", extra=""),
    "memory": Place("files that a Python program keeps in fsspec's memory", _listed, _copy),
}
"""Kinds of addresses by what they begin with; ``file://`` is a path."""
