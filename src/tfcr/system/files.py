"""Where tfcr keeps what it can make again, and how it writes so that nothing is ever half-written."""

import bz2
import gzip
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache, made if need be, open to nobody else.

    It lies in ``TFCR_CACHE``, or where the system keeps such things.
    """
    folder = _cache_root() / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def kernel_cache() -> Path | None:
    """Return the folder for compiled code; None where the user's cache cannot be written.

    A cache of code is as trusted as code: it is open to its user alone, and nobody's else is used.
    """
    try:
        folder = cache_folder("kernels")
        folder.chmod(0o700)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def data_folders() -> list[Path]:
    """Return the folders that datasets and vectors are looked for in: those named by TFCR_DATA, else usual ones."""
    if given := os.environ.get("TFCR_DATA"):
        return [Path(folder) for folder in given.split(os.pathsep) if folder]
    return [folder for folder in (Path("data"), Path("..") / "shared" / "data") if folder.is_dir()]


def looked_in() -> str:
    """Say where data was looked for."""
    folders = ", ".join(map(str, data_folders()))
    return f"looked in {folders}" if folders else "TFCR_DATA is not set"


def find_data(*names: str) -> Path | None:
    """Return the first of these files or folders that is there: at its remembered place, else in a data folder."""
    for name in names:
        with suppress(OSError, UnicodeDecodeError):
            remembered = Path(_place_of(name).read_text("utf-8"))
            if remembered.exists():
                return remembered
    places = (folder / name for folder in data_folders() for name in names)
    return next((place for place in places if place.exists()), None)


def fetched_folder() -> Path:
    """Return the folder for what is downloaded; it need not exist yet. A thing in it counts once it is remembered."""
    return _cache_root() / "data"


def remember_path(name: str, path: Path) -> None:
    """Note where the file or folder of that name is; nothing is copied."""
    _place_of(name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(_place_of(name), str(path.resolve()).encode())


def _place_of(name: str) -> Path:
    return fetched_folder() / f"{name}.path"


def _cache_root() -> Path:
    if given := os.environ.get("TFCR_CACHE"):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "tfcr" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tfcr"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfcr"


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading, unpacked if it is packed by gzip or bzip2."""
    head = _first_bytes(path)
    unpack = next((unpack for magic, unpack in _PACKERS.items() if head.startswith(magic)), None)
    return unpack(path) if unpack else path.open("rb")


def is_packed(path: Path) -> bool:
    """Tell a packed file by its first bytes."""
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
    """Write to a temporary file beside `path`, flush it to disk, and rename it only when all is written."""
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
    """Write `content` to `path`, whole or not at all."""
    with written_beside(path) as file:
        file.write(content)


@contextmanager
def locked(path: Path, waiting: Callable[[], object] | None = None) -> Iterator[None]:
    """Let one process at a time through; `waiting` is called if another is there already.

    The system lets go of the lock when its process ends, however it ends. Who is through may remove the file.
    """
    while True:
        with path.open("ab") as file:
            if not _lock(file.fileno()):
                if waiting is not None:
                    waiting()
                while not _lock(file.fileno()):
                    time.sleep(0.1)
            if _is_at(file, path):  # else it was removed while we waited, and locks nothing
                yield
                return


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(number: int) -> bool:
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(number: int) -> bool:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
