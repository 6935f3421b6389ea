"""Where tfcr keeps what it can make again, and how it writes so that nothing is ever half-written."""

import gzip
import os
import secrets
import sys
from collections.abc import Iterator
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


def _cache_root() -> Path:
    if given := os.environ.get("TFCR_CACHE"):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "tfcr" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tfcr"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfcr"


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a file for reading, unpacked if it is gzipped."""
    return cast(IO[bytes], gzip.open(path, "rb") if is_packed(path) else path.open("rb"))


def is_packed(path: Path) -> bool:
    """Tell a gzipped file by its first bytes."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


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
