"""The files of a folder, tar or zip archive, read without unpacking them to disk.

An archive with a path or link that leads out of it, or with an absurd size, is refused as a whole.
"""

import posixpath
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from tfcr.errors import DataError
from tfcr.system.files import open_unpacked, written_beside
from tfcr.system.progress import Progress

CHUNK = 1 << 20
MOST_UNPACKED = 4 << 30
"""An archive that unpacks to more bytes than this is refused as an attack."""
MOST_RATIO = 500
"""So is one that unpacks to this many times its size, if that is more than MOST_HARMLESS bytes."""
MOST_HARMLESS = 100 << 20

DAMAGED = (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error, NotImplementedError, RuntimeError)
"""What the standard library raises for a file that is truncated, password-protected, or not an archive."""


@dataclass(frozen=True)
class Member:
    """A file on disk or in an archive.

    Attributes
    ----------
    name
        Its path within the folder or archive.
    where
        Its full path, for messages.
    chunks
        Yields its bytes, decompressed.
    """

    name: str
    where: str
    chunks: Callable[[], Iterator[bytes]]

    @property
    def base(self) -> str:
        """The file name without folders."""
        return PurePosixPath(self.name).name


def members(path: Path, *, nested: bool = False) -> Iterator[Member]:
    """Yield the files of a folder (sorted by name) or of an archive (in its order), or the file itself.

    Read each file before the next one is yielded: an archive is read in a single pass.

    Parameters
    ----------
    path
        A folder, an archive or a file.
    nested
        Whether to read the archives in a folder as well.
    """
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file() and not file.name.startswith("."):
                yield from members(file) if nested else _file(file, file.relative_to(path).as_posix())
    elif is_tar(path):
        yield from tar_members(path)
    elif _is_zip(path):
        yield from _in_zip(path)
    else:
        yield from _file(path, path.name)


def _file(path: Path, name: str) -> Iterator[Member]:
    yield Member(name, str(path), partial(file_chunks, path))


def is_tar(path: Path) -> bool:
    """Return whether a file is a tar archive, by its name or else by its content."""
    name = path.name.lower()
    if name.endswith((".tar", ".tgz", ".tbz", ".tbz2")) or ".tar." in name:
        return True
    try:
        return tarfile.is_tarfile(path)
    except DAMAGED:
        return False


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip" or zipfile.is_zipfile(path)


def file_chunks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file; gzip and bzip2 are decompressed."""
    return _chunks(path, partial(open_unpacked, path))


def _chunks(where: Path | str, start: Callable[[], IO[bytes]]) -> Iterator[bytes]:
    """Yield the bytes of the file that `start` opens; errors name it."""
    try:
        with start() as file:
            while chunk := file.read(CHUNK):
                yield chunk
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        raise DataError(f"cannot read {where}: {error.strerror or error}") from error
    except DAMAGED as error:
        raise DataError(f"{where} is truncated or damaged ({error}); get the file again") from error


def tar_members(path: Path) -> Iterator[Member]:
    """Yield the files of a tar archive; links that stay inside it are skipped."""
    limit = _Limit(path)
    try:
        with tarfile.open(path) as archive:
            for entry in archive:
                _check_name(path, entry.name)
                if entry.islnk() or entry.issym():
                    _check_link(path, entry.name, entry.linkname, within="" if entry.islnk() else entry.name)
                limit.add(entry.size)
                if entry.isfile():
                    yield _packed(path, entry.name, partial(_extract, archive, entry))
    except DAMAGED as error:
        raise DataError(
            f"{path} is truncated or not a tar archive ({_first_line(error)}); get the file again"
        ) from error


def _in_zip(path: Path) -> Iterator[Member]:
    limit = _Limit(path)
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                _check_name(path, entry.filename)
                limit.add(entry.file_size)
                if stat.S_ISLNK(entry.external_attr >> 16):
                    _check_link(path, entry.filename, archive.read(entry).decode("utf-8", "replace"), entry.filename)
                elif not entry.is_dir():
                    yield _packed(path, entry.filename, partial(archive.open, entry))
    except DAMAGED as error:
        raise DataError(
            f"{path} is truncated or not a zip archive ({_first_line(error)}); get the file again"
        ) from error


def _packed(path: Path, name: str, start: Callable[[], IO[bytes]]) -> Member:
    where = f"{path}: {name}"
    return Member(name, where, partial(_chunks, where, start))


def _extract(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> IO[bytes]:
    file = archive.extractfile(entry)
    if file is None:
        raise tarfile.ReadError(f"{entry.name} is not a file")
    return file


def _check_name(path: Path, name: str) -> None:
    if _leads_out(name):
        raise DataError(f"{path} holds the path {name!r}, which leads out of its folder; it is not to be trusted")


def _check_link(path: Path, name: str, target: str, within: str) -> None:
    """Raise DataError for a link that leads out of the archive; others are harmless."""
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(within), target))
    if _leads_out(joined):
        raise DataError(
            f"{path} holds the link {name!r} to {target!r}, which leads out of its folder; it is not to be trusted"
        )


def _leads_out(name: str) -> bool:
    path = PureWindowsPath(name)  # splits at both kinds of slashes, and knows drives
    return bool(path.root or path.drive or ".." in path.parts)


class _Limit:
    """Adds up the sizes of an archive's files, and raises DataError beyond what an honest archive holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.most = min(MOST_UNPACKED, max(MOST_HARMLESS, MOST_RATIO * path.stat().st_size))
        self.unpacked = 0

    def add(self, size: int) -> None:
        self.unpacked += size
        if self.unpacked > self.most:
            raise DataError(
                f"{self.path} unpacks to more than {self.most >> 20} MB; it is damaged, or not to be trusted"
            )


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


# unpacking one file --------------------------------------------------------------------------------------------------


def unpack_one(archive: Path, target: Path, progress: Progress | None = None) -> None:
    """Unpack one file to `target` atomically: from a zip the file of the same name, or the content of a .gz or .bz2.

    No path in the archive decides where the file goes.
    """
    if _is_zip(archive):
        size, chunks = _named_in_zip(archive, target.name)
    else:
        size, chunks = 0, file_chunks(archive)
    free = shutil.disk_usage(target.parent).free
    if size > free:
        raise DataError(
            f"{target.name} needs {size / 1e9:.1f} GB, and {target.parent} has {free / 1e9:.1f} GB left; make room and "
            "type the same command again"
        )
    done = 0
    with written_beside(target) as file:
        for chunk in chunks:
            file.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, max(done, size))


def _named_in_zip(archive: Path, name: str) -> tuple[int, Iterator[bytes]]:
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = [entry for entry in opened.infolist() if PurePosixPath(entry.filename).name == name]
    except DAMAGED as error:
        raise DataError(
            f"{archive} is truncated or not a zip archive ({_first_line(error)}); get the file again"
        ) from error
    if len(entries) != 1:
        raise DataError(f"{archive} holds {len(entries)} files called {name}; expected one")
    return entries[0].file_size, _zip_chunks(archive, entries[0])


def _zip_chunks(archive: Path, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with zipfile.ZipFile(archive) as opened:
        yield from _chunks(f"{archive}: {entry.filename}", partial(opened.open, entry))
