"""The files of a folder, tar or zip archive, read without unpacking them to disk.

An archive with a path or link that leads out of it, or with an absurd size, is refused as a whole; `system.limits` has
the sizes.
"""

import os
import posixpath
import shutil
import stat
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from tfcr.errors import DataError, TfcrError, TfcrWarning, in_one_line
from tfcr.system.files import written_beside
from tfcr.system.limits import (
    UNREADABLE,
    in_words,
    is_folder,
    is_from_system,
    kind_of,
    leads_nowhere,
    limit,
    most_unpacked,
    open_regular,
    open_unpacked,
)
from tfcr.system.progress import Progress

CHUNK = 1 << 20

DAMAGED = (tarfile.TarError, zipfile.BadZipFile, *UNREADABLE)
"""What the standard library raises for a file that is truncated, password-protected, or not an archive."""


@contextmanager
def _naming(where: Path | str, what: str) -> Iterator[None]:
    """Raise DataError, with the file's name, for what cannot be read; `what` says what it should have been."""
    try:
        yield
    except TfcrError:
        raise
    except DAMAGED as error:
        if is_from_system(error):
            raise DataError(f"cannot read {where}: {in_one_line(error)}") from error
        raise DataError(f"{where} is truncated or {what} ({in_one_line(error)}); get the file again") from error


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
    if is_folder(path):
        for file in _files_below(path):
            yield from members(file) if nested else _file(file, file.relative_to(path).as_posix())
    elif is_tar(path):
        yield from tar_members(path)
    elif _is_zip(path):
        yield from _in_zip(path)
    else:
        yield from _file(path, path.name)


def _files_below(folder: Path) -> list[Path]:
    """Return the files below a folder, sorted by name; a folder that cannot be listed is an error.

    A link to a file is read. One to a folder is not followed: it may lead back to where it lies. What is passed over
    gets a warning, since it may be half of the data: the files of a git-annex that were not fetched are such links.
    """
    found: list[Path] = []
    passed_over: list[tuple[Path, str]] = []
    folders = [folder]
    while folders:  # a list, no recursion: folders may be nested deeper than Python's stack
        place = folders.pop()
        with _naming(place, "damaged"), os.scandir(place) as entries:
            for entry in entries:
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(path)
                elif not entry.name.startswith("."):
                    kind = _kind_of_entry(path)
                    found.append(path) if kind == "a file" else passed_over.append((path, kind))
    if passed_over:
        path, kind = min(passed_over)
        others = f", and {len(passed_over) - 1} more" if len(passed_over) > 1 else ""
        warnings.warn(
            f"{folder}: {path.relative_to(folder)}{others} passed over: it is {kind}; expected files and folders",
            TfcrWarning,
            stacklevel=3,
        )
    return sorted(found)


def _kind_of_entry(path: Path) -> str:
    with _naming(path, "damaged"):
        try:
            kind = kind_of(path)
        except OSError as error:
            if leads_nowhere(error):
                return "a link that leads nowhere"
            raise
    return "a link to a folder" if kind == "a folder" else kind


def _file(path: Path, name: str) -> Iterator[Member]:
    yield Member(name, str(path), partial(file_chunks, path))


def is_tar(path: Path) -> bool:
    """Return whether a file is a tar archive, by its name or else by its first header."""
    name = path.name.lower()
    if name.endswith((".tar", ".tgz", ".tbz", ".tbz2")) or ".tar." in name:
        return True
    try:
        with open_unpacked(path) as file:
            tarfile.TarInfo.frombuf(file.read(tarfile.BLOCKSIZE), "utf-8", "surrogateescape")
    except DAMAGED:
        return False
    return True


def _is_zip(path: Path) -> bool:
    if path.suffix.lower() == ".zip":
        return True
    try:
        with open_regular(path) as file:
            return zipfile.is_zipfile(file)
    except OSError:
        return False


def file_chunks(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file; gzip, bzip2 and xz are decompressed."""
    return _chunks(path, partial(open_unpacked, path))


def _chunks(where: Path | str, start: Callable[[], IO[bytes]]) -> Iterator[bytes]:
    """Yield the bytes of the file that `start` opens; errors name it."""
    with _naming(where, "damaged"), start() as file:
        while chunk := file.read(CHUNK):
            yield chunk


class _CheckedHeader(tarfile.TarInfo):
    """The header of one file in a tar archive.

    The standard library reads what a header announces without asking how much, and takes a damaged header, or the end
    of a truncated file, for the end of the archive.
    """

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> "_CheckedHeader":
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.HeaderError as error:
            if buf and not any(buf):  # zeros end an archive
                raise
            raise tarfile.ReadError(f"{error} where a file or the archive's end should be") from None
        about_others = header.type in (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, *_LONG_NAMES)
        if header.size < 0 or (about_others and header.size > limit("archive header")):
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        if header.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError("a sparse file, which tfcr does not read")
        return header


_LONG_NAMES = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


def tar_members(path: Path) -> Iterator[Member]:
    """Yield the files of a tar archive; links that stay inside it are skipped."""
    with _naming(path, "not a tar archive"), open_unpacked(path) as file:
        unpacked = _Limit(path)
        # as a stream: it never seeks backwards, which offsets below 0 would make it do without end
        with tarfile.open(fileobj=file, mode="r|", tarinfo=_CheckedHeader) as archive:
            for entry in archive:
                _check_name(path, entry.name)
                if entry.islnk() or entry.issym():
                    _check_link(path, entry.name, entry.linkname, within="" if entry.islnk() else entry.name)
                unpacked.add(entry.size)
                if entry.isfile():
                    yield _packed(path, entry.name, partial(_extract, archive, entry))


def _in_zip(path: Path) -> Iterator[Member]:
    with _naming(path, "not a zip archive"), open_regular(path) as file, zipfile.ZipFile(file) as archive:
        unpacked = _Limit(path)
        for entry in archive.infolist():
            _check_name(path, entry.filename)
            unpacked.add(entry.file_size)
            if stat.S_ISLNK(entry.external_attr >> 16):
                _check_link(path, entry.filename, _link_target(archive, entry), entry.filename)
            elif not entry.is_dir():
                yield _packed(path, entry.filename, partial(archive.open, entry))


def _link_target(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    if entry.file_size > limit("archive header"):
        raise zipfile.BadZipFile(f"a link of {entry.file_size:,} bytes")
    return archive.read(entry).decode("utf-8", "replace")


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
        self.most = most_unpacked(path.stat().st_size)
        self.unpacked = 0

    def add(self, size: int) -> None:
        self.unpacked += size
        if size < 0 or self.unpacked > self.most:
            raise DataError(
                f"{self.path} unpacks to more than {in_words(self.most)}; it is damaged, or not to be trusted"
            )


# unpacking one file --------------------------------------------------------------------------------------------------


def unpack_one(archive: Path, target: Path, progress: Progress | None = None) -> None:
    """Unpack one file to `target` atomically: from a zip the file of the same name, else what was compressed.

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
    with _naming(archive, "not a zip archive"), zipfile.ZipFile(archive) as opened:
        entries = [entry for entry in opened.infolist() if PurePosixPath(entry.filename).name == name]
    if len(entries) != 1:
        raise DataError(f"{archive} holds {len(entries)} files called {name}; expected one")
    _Limit(archive).add(entries[0].file_size)
    return entries[0].file_size, _zip_chunks(archive, entries[0])


def _zip_chunks(archive: Path, entry: zipfile.ZipInfo) -> Iterator[bytes]:
    with zipfile.ZipFile(archive) as opened:
        yield from _chunks(f"{archive}: {entry.filename}", partial(opened.open, entry))
