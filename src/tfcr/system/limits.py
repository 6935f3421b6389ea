"""How much a file or a server may ask of us: one table, and the ways of opening that keep to it.

A header may lie and a compressed file may unpack to anything, so every reader checks a row of LIMITS first.
Files are opened without waiting: a pipe, a device or a socket where a file was expected is refused.
"""

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import stat
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple


class Limit(NamedTuple):
    """The largest number allowed (for a rate, the smallest), its unit, and what it counts."""

    value: int
    unit: str
    what: str


LIMITS: dict[str, Limit] = {
    "unpacked": Limit(64 << 30, "bytes", "what a compressed file or an archive unpacks to"),
    "unpacked ratio": Limit(200, "times its size", "the same, if it is more than `unpacked harmless`"),
    "unpacked harmless": Limit(100 << 20, "bytes", "what any compressed file may unpack to"),
    "workbook": Limit(1 << 28, "bytes", "an Excel workbook, as it lies on disk"),
    "table unpacked": Limit(1 << 30, "bytes", "what a workbook unpacks to, and a Parquet file below `unpacked ratio`"),
    "dataset files": Limit(1_000_000, "files", "the files of a Parquet dataset, or of a folder elsewhere"),
    "archive header": Limit(1 << 20, "bytes", "the header of one file in a tar archive, the target of a link in a zip"),
    "xz memory": Limit(256 << 20, "bytes", "what unpacking an xz file takes"),
    "dimensions": Limit(1 << 16, "numbers", "the length of a word vector"),
    "vector line": Limit(1 << 24, "bytes", "one line of a text file of word vectors"),
    "vector word": Limit(1 << 16, "bytes", "one word of a file of word vectors"),
    "vector number": Limit(64, "bytes", "one number of a text file of word vectors, on average over a line"),
    "array header": Limit(1 << 16, "bytes", "the header of a .npy"),
    "tensor header": Limit(100_000_000, "bytes", "the header of a safetensors file"),
    "word list": Limit(4 << 30, "bytes", "the word list beside vectors"),
    "settings": Limit(64 << 20, "bytes", "a model's config.json, and the notes in the cache"),
    "model file": Limit(16 << 30, "bytes", "one data file of a model"),
    "download": Limit(64 << 30, "bytes", "a download whose size neither we nor the server know"),
    "download head": Limit(1 << 20, "bytes", "the headers of a server's answer"),
    "download rate": Limit(1000, "bytes per second", "the slowest download, averaged over `download window`"),
    "download window": Limit(60, "seconds", "the time over which the rate of a download is measured"),
    "redirects": Limit(10, "addresses", "the addresses that a download is led through"),
}
"""What is refused when it is larger (a rate: smaller)."""


def limit(name: str) -> int:
    """Return a row's number."""
    return LIMITS[name].value


def in_words(size: int) -> str:
    """Return a number of bytes with a unit.

    >>> in_words(15_223_170)
    '15.2 MB'
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"


_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def kind_of(path: Path) -> str:
    """Return what a path leads to: ``a file``, ``a folder``, ``a pipe``, …; raise OSError if to nothing."""
    return _kind(path.stat().st_mode)


def is_there(path: Path) -> bool:
    """Return whether a path leads to anything, or the system does not say: whoever reads it then tells why.

    ``Path.exists`` raises OSError for a name that is too long, or in a folder that may not be entered.
    """
    try:
        path.stat()
    except OSError as error:
        return not leads_nowhere(error)
    except ValueError:
        return False
    return True


def is_file(path: Path) -> bool:
    """Return whether a path leads to a file that can be asked about."""
    return _kind_if_any(path) == "a file"


def is_folder(path: Path) -> bool:
    """Return whether a path leads to a folder that can be asked about."""
    return _kind_if_any(path) == "a folder"


def is_pipe(path: Path) -> bool:
    """Return whether a path leads to a pipe."""
    return _kind_if_any(path) == "a pipe"


def leads_nowhere(error: OSError) -> bool:
    """Return whether an error means that there is no such file, and can be none."""
    return error.errno in _NOWHERE


_NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EBADF)


def _kind_if_any(path: Path) -> str:
    try:
        return kind_of(path)
    except (OSError, ValueError):
        return ""


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "no file")


def open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading; raise OSError for a pipe, device or folder, without waiting for a writer."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"it is {_kind(mode)}; expected a file", str(path))
        return open(handle, "rb")  # noqa: PTH123 - a handle, not a path
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path, name: str) -> bytes:
    """Return the content of a file; raise OSError if it is none, or larger than this row of LIMITS."""
    with open_regular(path) as file:
        check_size(path, os.fstat(file.fileno()).st_size, name)
        return file.read()


def check_size(path: Path, size: int, name: str) -> None:
    """Raise OSError if a file is larger than this row of LIMITS."""
    if size > limit(name):
        raise OSError(errno.EINVAL, f"it holds {in_words(size)}; expected at most {in_words(limit(name))}", str(path))


def parse_json(content: bytes | str) -> Any:
    """Return what JSON holds; raise ValueError also where Python raises RecursionError."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("brackets within brackets, too deep") from None


# compressed files --------------------------------------------------------------------------------------------------


def most_unpacked(size: int) -> int:
    """Return how many bytes a compressed file of `size` bytes may unpack to."""
    return min(limit("unpacked"), max(limit("unpacked harmless"), limit("unpacked ratio") * size))


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading; gzip, bzip2 and xz are decompressed.

    Reading raises OSError if the file is damaged, or unpacks to more than `most_unpacked`.
    """
    file = open_regular(path)
    try:
        unpack = _packer(file)
        return io.BufferedReader(_Unpacked(file, unpack(file)), 1 << 17) if unpack else file
    except BaseException:
        file.close()
        raise


def is_packed(path: Path) -> bool:
    """Return whether a file is compressed with gzip, bzip2 or xz, by its first bytes."""
    with open_regular(path) as file:
        return _packer(file) is not None


def _packer(file: IO[bytes]) -> Callable[[IO[bytes]], Any] | None:
    head = file.read(6)
    file.seek(0)
    return next((unpack for magic, unpack in _PACKERS.items() if head.startswith(magic)), None)


class _Unpacked(io.RawIOBase):
    """The content of a compressed file, as long as it is whole and not too large."""

    def __init__(self, file: IO[bytes], unpacked: Any) -> None:
        self.file = file
        self.unpacked = unpacked
        self.most = most_unpacked(os.fstat(file.fileno()).st_size)
        self.size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            n_read: int = self.unpacked.readinto(buffer)
        except (EOFError, zlib.error, lzma.LZMAError, ValueError) as error:
            raise OSError(str(error) or type(error).__name__) from None
        self.size += n_read
        if self.size > self.most:
            what = f"it unpacks to more than {in_words(self.most)}; if you trust it, unpack it first"
            raise OSError(errno.EFBIG, what)
        return n_read

    def close(self) -> None:
        self.unpacked.close()
        self.file.close()
        super().close()


class _XzFile(io.RawIOBase):
    """The content of an xz file; unlike `lzma.LZMAFile`, with a limit on the memory that its header asks for."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self._start()

    def _start(self) -> None:
        self.stream = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=limit("xz memory"))

    def readinto(self, buffer: Any) -> int:
        while True:
            if self.stream.eof:  # another stream may follow, after zeros
                packed = self.stream.unused_data.lstrip(b"\0") or self.file.read(1 << 16).lstrip(b"\0")
                if not packed:
                    return 0
                self._start()
            else:
                packed = self.file.read(1 << 16) if self.stream.needs_input else b""
                if not packed and self.stream.needs_input:
                    raise EOFError("the file ends early")
            content = self.stream.decompress(packed, len(buffer))
            if content:
                buffer[: len(content)] = content
                return len(content)


_PACKERS: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": _XzFile,
}


def is_from_system(error: BaseException) -> bool:
    """Return whether the operating system refuses a file, or there is none; an unpacker's OSError has no number."""
    return isinstance(error, OSError) and error.errno is not None


UNREADABLE = (
    *(OSError, EOFError, zlib.error, lzma.LZMAError),
    *(ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(RuntimeError, MemoryError, NotImplementedError),
)
"""What readers of the standard library, numpy and scipy raise for a file that is not what it should be.

Catch `TfcrError` before it: some of ours derive from these too.
"""
