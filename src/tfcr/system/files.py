"""Where tfcr keeps its files, and how it writes them: atomically, and one process at a time.

What is being written has a name that tells whose it is, and is locked by its writer::

    .predicted.csv.1f0e3dad-4711-9c2b51aa.tfcr-tmp      .TARGET.MACHINE-PROCESS-RANDOM.tfcr-tmp

The system frees the lock when the writer ends, however it ends. Whoever writes to the same folder next deletes what is
no longer locked, so a killed process leaves nothing behind for long.
"""

import errno
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from tfcr.system.limits import is_there, open_regular

ABANDONED = 86_400
"""Seconds after which the unfinished file of another machine is deleted: its lock may not be visible here."""


def cache_folder(name: str) -> Path:
    """Return a folder of the user's cache; it is created if missing, readable by its owner alone.

    The cache is ``TFCR_CACHE`` if set, else the platform's cache folder, such as ``~/.cache/tfcr``.
    """
    folder = _cache_root() / name
    for private in (folder.parent, folder):  # `parents=True` would give the parent the default mode
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def state_folder(name: str) -> Path:
    """Return a folder for what the user would miss; it is created if missing, readable by its owner alone.

    It lies in ``TFCR_STATE`` if set, else in the platform's state folder, such as ``~/.local/state/tfcr``.
    """
    folder = _state_root() / name
    for private in (folder.parent, folder):
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


def kernels_are_cached(name: str) -> bool:
    """Return whether compiled code of a kernel is in a cache that is used; it may be out of date.

    The answer is remembered: looking through the cache takes longer than scoring a short text.
    """
    return _are_cached(_cache_root() / "kernels", name)


@cache
def _are_cached(folder: Path, name: str) -> bool:
    has_some = next(folder.rglob(f"*.{name}-*.nbi"), None) is not None
    return has_some and kernel_cache() is not None  # what cannot be written to is not read either


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
        with suppress(OSError, ValueError):
            with open_regular(_place_of(name)) as file:
                remembered = Path(os.fsdecode(file.read(_LONGEST_PATH)))
            if remembered.is_absolute() and remembered.exists():
                return remembered
    places = (folder / name for folder in data_folders() for name in names)
    return next((place for place in places if is_there(place)), None)


def fetched_folder() -> Path:
    """Return the folder for downloads; it may not exist yet. A download is used once `remember_path` has noted it."""
    return _cache_root() / "data"


def remember_path(name: str, path: Path) -> None:
    """Store the path of the file or folder of that name; nothing is copied."""
    _place_of(name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(_place_of(name), os.fsencode(path.resolve()))


def _place_of(name: str) -> Path:
    return fetched_folder() / f"{name}.path"


def _cache_root() -> Path:
    if given := os.environ.get("TFCR_CACHE"):
        return Path(given)
    from platformdirs import user_cache_path  # noqa: PLC0415 - only needed without TFCR_CACHE

    return user_cache_path("tfcr", appauthor=False)


def _state_root() -> Path:
    if given := os.environ.get("TFCR_STATE"):
        return Path(given)
    from platformdirs import user_state_path  # noqa: PLC0415 - only needed without TFCR_STATE

    return user_state_path("tfcr", appauthor=False)


# writing -----------------------------------------------------------------------------------------------------------

_TEMPORARY = re.compile(r"\..*\.(?P<machine>[0-9a-f]{8})-(?P<process>[0-9]{1,10})-[0-9a-f]{8}\.tfcr-tmp", re.DOTALL)
_LONGEST_NAME = 255
_LONGEST_PATH = 1 << 16


def temporary_name(name: str) -> str:
    """Return a new name for what will be called `name` once it is complete."""
    ending = f".{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.tfcr-tmp"
    short = os.fsencode(name)[: _LONGEST_NAME - len(ending) - 1]
    return f".{os.fsdecode(short)}{ending}"


def is_temporary(name: str) -> bool:
    """Return whether a file or folder of this name is one that tfcr has not finished, by the name alone."""
    return _TEMPORARY.fullmatch(name) is not None


def remove_stale(folder: Path) -> None:
    """Delete what killed processes of tfcr left unfinished in a folder; what a live one is writing stays."""
    with suppress(OSError), os.scandir(folder) as entries:
        stale = [Path(entry.path) for entry in entries if is_temporary(entry.name)]
        for path in stale:
            with suppress(OSError):
                _remove_if_stale(path)


def _remove_if_stale(path: Path) -> None:
    status = path.lstat()
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return  # not as we make them
    found = _TEMPORARY.fullmatch(path.name)
    if found is None or (found["machine"] != _machine() and time.time() - status.st_mtime < ABANDONED):
        return
    remove = shutil.rmtree if stat.S_ISDIR(status.st_mode) else os.unlink
    if os.name == "nt":  # an open file cannot be deleted there
        remove(path)
        return
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        is_free = _lock(handle)
        if is_free or (is_free is None and not _is_running(int(found["process"]))):
            remove(path)
    finally:
        os.close(handle)


def _machine() -> str:
    return hashlib.sha256(platform.node().encode("utf-8", "replace")).hexdigest()[:8]


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _lock(handle: int) -> bool | None:
    """Lock an open file or folder without waiting; False if another has it locked, None if it cannot be locked."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # some network shares know no locks
        return False if error.errno in (errno.EWOULDBLOCK, errno.EACCES) else None
    return True


def _is_gone(handle: int, path: Path) -> bool:
    """Return whether another process took an unlocked file for a stale one and deleted it."""
    try:
        return not os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return True


def _open_temporary(path: Path) -> tuple[IO[bytes], Path]:
    while True:
        temporary = path.with_name(temporary_name(path.name))
        file = temporary.open("xb")
        if _lock(file.fileno()) is False or _is_gone(file.fileno(), temporary):
            file.close()
            continue
        return file, temporary


def hidden_beside(path: Path, ending: str) -> Path:
    """Return the path of what belongs to a file while it is written, always the same for the same file."""
    name = os.fsencode(path.name)
    if len(name) + len(ending) >= _LONGEST_NAME:
        name = name[:100] + hashlib.sha256(name).hexdigest().encode()
    return path.with_name(f".{os.fsdecode(name)}{ending}")


def no_links(path: str, flags: int) -> int:
    """Open a file, but not what a link of its name leads to; an opener for `open`."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)


def open_locked(path: Path) -> IO[bytes] | None:
    """Open a file for reading and writing, make it if it is missing, and lock it; None if another has it locked."""
    while True:
        handle = no_links(str(path), os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0))
        file = os.fdopen(handle, "r+b")
        is_free = _lock(file.fileno())
        if is_free is not False and not _is_gone(file.fileno(), path):
            return file
        file.close()
        if is_free is False:
            return None


@contextmanager
def written_beside(path: Path) -> Iterator[IO[bytes]]:
    """Write to a temporary file in the same folder, flush it to disk, and rename it to `path` once it is complete.

    Whoever may not read an older file of that name may not read the new one. What killed processes left unfinished in
    the folder is deleted first.
    """
    remove_stale(path.parent)
    mode = mode_of(path)
    file, temporary = _open_temporary(path)
    try:
        with file:
            if mode is not None:
                temporary.chmod(mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name != "nt":
                temporary.replace(path)  # while it is locked
        if os.name == "nt":
            temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def check_writable(path: Path) -> None:
    """Raise OSError, before any long work, if a file cannot be written: nothing can be made beside it, for instance."""
    mode_of(path)
    try:
        file, temporary = _open_temporary(path)
        file.close()
        temporary.unlink(missing_ok=True)
    except OSError as error:  # which names the temporary file
        raise OSError(error.errno, error.strerror, str(path)) from None


def mode_of(path: Path) -> int | None:
    """Return the permissions of the file to be replaced; raise OSError if it is a device or the like."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is there already and is not a file; give another name", str(path))
    return stat.S_IMODE(mode)


def lock_folder(folder: Path) -> int | None:
    """Make a folder if it is missing, readable by its owner alone, and lock it until the handle is closed.

    None if folders cannot be locked here; raises BlockingIOError if another process has it locked.
    """
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        if os.name == "nt":
            return None
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:  # its owner has just deleted it
            continue
        is_free = _lock(handle)
        if is_free is not False and not _is_gone(handle, folder):
            return handle
        os.close(handle)
        if is_free is False:
            raise BlockingIOError(errno.EWOULDBLOCK, "another process has it locked", str(folder))


@contextmanager
def folder_beside(folder: Path) -> Iterator[Path]:
    """Give an empty folder beside `folder` to fill and rename; what is left of it is deleted at the end.

    What killed processes left unfinished beside it is deleted first.
    """
    remove_stale(folder.parent)
    while True:
        temporary = folder.with_name(temporary_name(folder.name))
        temporary.mkdir(mode=0o700)
        handle = None if os.name == "nt" else os.open(temporary, os.O_RDONLY)
        if handle is None or (_lock(handle) is not False and not _is_gone(handle, temporary)):
            break
        os.close(handle)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if handle is not None:
            os.close(handle)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder for temporary files, in the system's place for these."""
    with folder_beside(Path(tempfile.gettempdir()) / "tfcr") as folder:
        yield folder


def write_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically."""
    with written_beside(path) as file:
        file.write(content)


def remove_free_lock(path: Path) -> None:
    """Delete the lock file of a process that was killed before it could; one that is in use stays."""
    if os.name == "nt" or not path.exists():
        return
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if _lock(handle) and not _is_gone(handle, path):
                path.unlink()
        finally:
            os.close(handle)


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
