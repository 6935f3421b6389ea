"""Where tfcr keeps its files, and how it writes them: atomically, and one process at a time."""

import bz2
import gzip
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache; it is created if missing, readable by its owner alone.

    The cache is ``TFCR_CACHE`` if set, else the platform's cache folder, such as ``~/.cache/tfcr``.
    """
    folder = _cache_root() / name
    for private in (folder.parent, folder):  # `parents=True` would give the parent the default mode
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def kernel_cache() -> Path | None:
    """Return the folder for compiled code; None if the user's cache is not writable.

    Whoever can write to it can run code as this user, so only its owner may.
    """
    try:
        folder = cache_folder("kernels")
        folder.chmod(0o700)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def data_folders() -> list[Path]:
    """Return the folders searched for datasets and vectors: those in TFCR_DATA, or ``data`` and ``../shared/data``."""
    if given := os.environ.get("TFCR_DATA"):
        return [Path(folder) for folder in given.split(os.pathsep) if folder]
    return [folder for folder in (Path("data"), Path("..") / "shared" / "data") if folder.is_dir()]


def looked_in() -> str:
    """Return where data was searched for, for an error message."""
    folders = ", ".join(map(str, data_folders()))
    return f"looked in {folders}" if folders else "TFCR_DATA is not set"


def find_data(*names: str) -> Path | None:
    """Return the first of these files or folders that exists, at its remembered path or else in a data folder."""
    for name in names:
        with suppress(OSError, UnicodeDecodeError):
            remembered = Path(_place_of(name).read_text("utf-8"))
            if remembered.exists():
                return remembered
    places = (folder / name for folder in data_folders() for name in names)
    return next((place for place in places if place.exists()), None)


def fetched_folder() -> Path:
    """Return the folder for downloads; it may not exist yet. A download is used once `remember_path` has noted it."""
    return _cache_root() / "data"


def remember_path(name: str, path: Path) -> None:
    """Store the path of the file or folder of that name; nothing is copied."""
    _place_of(name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(_place_of(name), str(path.resolve()).encode())


def _place_of(name: str) -> Path:
    return fetched_folder() / f"{name}.path"


def _cache_root() -> Path:
    if given := os.environ.get("TFCR_CACHE"):
        return Path(given)
    from platformdirs import user_cache_path  # noqa: PLC0415 - only needed without TFCR_CACHE

    return user_cache_path("tfcr", appauthor=False)


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading; gzip and bzip2 are decompressed."""
    head = _first_bytes(path)
    unpack = next((unpack for magic, unpack in _PACKERS.items() if head.startswith(magic)), None)
    return unpack(path) if unpack else path.open("rb")


def is_packed(path: Path) -> bool:
    """Return whether a file is compressed with gzip or bzip2, by its first bytes."""
    return _first_bytes(path).startswith(tuple(_PACKERS))


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(3)


_PACKERS: dict[bytes, Callable[[Path], IO[bytes]]] = {
    b"\x1f\x8b": lambda path: cast(IO[bytes], gzip.GzipFile(path)),
    b"BZh": lambda path: cast(IO[bytes], bz2.BZ2File(path)),
}


@contextmanager
def written_beside(path: Path) -> Iterator[IO[bytes]]:
    """Write to a temporary file in the same folder, flush it to disk, and rename it to `path` once it is complete."""
    temporary = path.with_name(f".{path.name}-{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def write_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with written_beside(path) as file:
        file.write(content)


@contextmanager
def locked(path: Path, waiting: Callable[[], object] | None = None, *, remove: bool = False) -> Iterator[None]:
    """Let one process (or thread) at a time run the body.

    The system frees the lock when its process ends, however it ends.

    Parameters
    ----------
    path
        The lock file. Whoever holds the lock may delete it.
    waiting
        Called once if another process holds the lock.
    remove
        Delete the lock file at the end.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415 - takes 40 ms, and most runs lock nothing

    lock = FileLock(path, poll_interval=0.1)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        if waiting is not None:
            waiting()
        lock.acquire()
    try:
        yield
    finally:
        if remove:
            with suppress(OSError):  # while we hold it: afterwards it may be another's
                path.unlink()
        lock.release()
