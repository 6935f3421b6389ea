"""Where tfcr keeps what it can make again, and how it writes so that nothing is ever half-written."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache, made if need be, open to nobody else.

    It lies in ``TFCR_CACHE``, or where the system keeps such things.
    """
    folder = _cache_root() / name
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _cache_root() -> Path:
    if given := os.environ.get("TFCR_CACHE"):
        return Path(given)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "tfcr" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tfcr"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tfcr"


@contextmanager
def written_beside(path: Path) -> Iterator[IO[bytes]]:
    """Write to a temporary file beside `path`, flush it to disk, and rename it only when all is written."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())  # mkstemp's 0600 would hide a shared model from its users
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def write_file(path: Path, content: bytes) -> None:
    """Write `content` to `path`, whole or not at all."""
    with written_beside(path) as file:
        file.write(content)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
