"""Uploads on disk: one folder each, whose name cannot be guessed."""

import errno
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tfcr.data.readers import READERS, REFUSED
from tfcr.serving.journal import Journal, sync_folder
from tfcr.serving.problems import RequestError
from tfcr.system.files import folder_beside, open_locked, remove_stale, temporary_name, write_file
from tfcr.system.limits import in_words, is_folder, read_regular

MOST_KEPT = 100
"""Uploads in the work folder."""
MOST_NAME = 255
"""Characters of a file's name that are kept."""
FORMATS = ("csv", "tsv", "jsonl", "xlsx", "parquet", "lines", "fasttext")
"""Rows of READERS that can be uploaded: files, not folders."""
RUNNING = ("reading", "classifying")
"""Stages in which a worker has the lock."""
DAY = 86_400
UNREAD = 3_600
"""Seconds after which a file is deleted that nobody began to read: the server was killed, and nobody knows its name."""
ATTEMPTS, PAUSE = 100, 0.01
"""How often, and after how many seconds, a lock is tried that another worker only looks at."""
_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

State = dict[str, Any]


@contextmanager
def disk_errors() -> Iterator[None]:
    """Say clearly that the disk is full, or that an upload has been deleted meanwhile."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise full_disk() from error
        if isinstance(error, FileNotFoundError):
            raise unknown() from error
        raise


def is_full(error: OSError) -> bool:
    """Return whether a disk is full, also if polars says so."""
    return error.errno in _FULL or any(f"(os error {number})" in str(error) for number in _FULL)


def full_disk() -> RequestError:
    """Return the problem of a full disk."""
    return RequestError(
        507, "the disk of the server is full", "to delete files that are no longer needed; nothing was changed"
    )


def unknown() -> RequestError:
    """Return the problem of an upload that is not there."""
    return RequestError(404, "found no such file", "one that was uploaded, and not deleted since: upload it again")


@dataclass(frozen=True)
class Upload:
    """An uploaded file.

    Attributes
    ----------
    folder
        Its folder, whose name is its id.
    name
        What the person called it; only ever shown.
    size, received
        Bytes, and seconds since 1970.
    ending
        Of the file on disk; empty if the name has none that we know.
    """

    folder: Path
    name: str
    size: int
    received: float
    ending: str

    @property
    def id(self) -> str:
        """What requests know it by."""
        return self.folder.name

    @property
    def data(self) -> Path:
        """The file."""
        return self.folder / f"data{self.ending}"

    @property
    def journal(self) -> Journal:
        """What the person decided."""
        return Journal(self.folder / "corrections.jsonl")

    def check_data(self) -> None:
        """Raise RequestError if the file is no longer what was uploaded."""
        try:
            is_same = self.data.stat().st_size == self.size
        except OSError:
            is_same = False
        if not is_same:
            raise RequestError(
                409, "the uploaded file was changed or deleted in the folder of the server", "to upload it again"
            )

    # state ---------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """Return how far the work on it is; ``stopped`` is whether the worker that did it has ended before."""
        found = self._read_state()
        if found["stage"] not in RUNNING or self._is_locked():
            return {**found, "stopped": False}
        again = self._read_state()  # it may have been completed between the two looks
        return {**again, "stopped": again == found}

    def _read_state(self) -> State:
        found: State = self.read("state.json")
        return found

    def write_state(self, state: State) -> None:
        """Replace the state; only the worker that holds the lock does so."""
        self.write("state.json", state)

    def read(self, name: str) -> Any:
        """Return what a file of the folder holds, as JSON."""
        try:
            return json.loads(read_regular(self.folder / name, "settings"))
        except FileNotFoundError:
            raise unknown() from None

    def write(self, name: str, content: Any) -> None:
        """Write a file of the folder, as JSON, completely or not at all."""
        with disk_errors():
            write_file(self.folder / name, json.dumps(content).encode())

    def lock(self) -> IO[bytes]:
        """Take the lock, and return the file that holds it until it is closed; raise RequestError if a worker has it.

        A process that ends, however it does, loses it.
        """
        with disk_errors():
            for _ in range(ATTEMPTS):
                found = open_locked(self.folder / "lock")
                if found is not None:
                    return found
                time.sleep(PAUSE)
        raise RequestError(409, "this file is being worked on already", "to wait until that is done")

    def _is_locked(self) -> bool:
        try:
            found = open_locked(self.folder / "lock")
        except FileNotFoundError:
            raise unknown() from None
        if found is not None:
            found.close()
        return found is None

    def is_unread(self) -> bool:
        """Return whether nobody has begun to read it."""
        try:
            return bool(self._read_state()["stage"] == "received")
        except (RequestError, OSError, ValueError, KeyError):  # damaged: it is deleted when its days are over
            return False

    def last_change(self) -> float:
        """Return when anything of it was last changed, in seconds since 1970."""
        times = [self.received]
        for name in ("state.json", "corrections.jsonl"):
            with suppress(OSError):
                times.append((self.folder / name).stat().st_mtime)
        return max(times)


class Uploads:
    """All uploads of a server; they lie in one folder, and outlive the server."""

    def __init__(self, work: Path, keep_days: int) -> None:
        self.work, self.keep_days = work, keep_days

    def get(self, name: str) -> Upload:
        """Return the upload of an id."""
        folder = self.work / name
        if not _ID.fullmatch(name) or not is_folder(folder):
            raise unknown()
        return _upload(folder)

    async def receive(self, name: str, parts: AsyncIterator[bytes], run: Any) -> Upload:
        """Keep a file that arrives in parts; if it does not arrive completely, nothing is left of it.

        Parameters
        ----------
        name
            What the person calls it.
        parts
            The file.
        run
            Calls a function on another thread.
        """
        await run(self.make_room)
        folder = self.work / secrets.token_urlsafe(16)
        name, size = _short_name(name), 0
        with disk_errors(), folder_beside(folder) as temporary:
            ending = ending_of(name)
            with (temporary / f"data{ending}").open("wb") as file:
                async for part in parts:
                    await run(file.write, part)
                    size += len(part)
                if not size:
                    raise RequestError(422, f"{name} is empty", "a file with texts")
                await run(_sync, file)
            facts = {"name": name, "size": size, "received": time.time(), "ending": ending}
            write_file(temporary / "upload.json", json.dumps(facts).encode())
            write_file(temporary / "state.json", json.dumps({"stage": "received"}).encode())
            temporary.rename(folder)
            await run(sync_folder, self.work)
        return _upload(folder)

    def make_room(self) -> None:
        """Delete uploads not changed for some days, and those never read; raise RequestError if too many are left."""
        kept = 0
        with disk_errors():
            remove_stale(self.work)
            folders = [entry for entry in self.work.iterdir() if _ID.fullmatch(entry.name)]
        for folder in folders:
            with suppress(RequestError, OSError, ValueError, KeyError):
                upload = _upload(folder)
                kept_for = UNREAD if upload.is_unread() else self.keep_days * DAY
                if time.time() - upload.last_change() > kept_for and not upload._is_locked():
                    self.delete(upload)
                    continue
            kept += 1
        if kept >= MOST_KEPT:
            raise RequestError(
                507, f"the server keeps {kept} files already", "to delete files that are no longer needed first"
            )

    def delete(self, upload: Upload) -> None:
        """Delete an upload, with all that was made from it; a job that works on it ends."""
        away = self.work / temporary_name(upload.id)
        try:
            upload.folder.rename(away)  # at once: a kill in the middle leaves nothing that looks like an upload
        except FileNotFoundError:
            raise unknown() from None
        shutil.rmtree(away, ignore_errors=True)


def _upload(folder: Path) -> Upload:
    try:
        facts = json.loads(read_regular(folder / "upload.json", "settings"))
    except FileNotFoundError:
        raise unknown() from None
    return Upload(folder, str(facts["name"]), int(facts["size"]), float(facts["received"]), str(facts["ending"]))


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _short_name(name: str) -> str:
    r"""Return the last part of a name, as a browser may give a path; control characters are replaced.

    >>> _short_name("C:\\data\\a\nb.csv"), _short_name("")
    ('a b.csv', 'file')
    """
    last = re.split(r"[/\\]", name)[-1]
    return re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", " ", last).strip()[-MOST_NAME:] or "file"


def ending_of(name: str) -> str:
    """Return the ending that tells a reader the format; empty if it tells none, so that the content does.

    >>> ending_of("a.CSV"), ending_of("b.jsonl.gz"), ending_of("c.txt"), ending_of("d.tar"), ending_of("e.xls")
    ('.csv', '.jsonl.gz', '', '', '.xls')
    """
    low = name.lower()
    known = [ending for format_name in FORMATS for ending in READERS[format_name].endings]
    for packed in ("", ".gz", ".bz2"):
        for ending in (*known, *REFUSED):
            if low.endswith(ending + packed):
                return ending + packed
    return ""


def described(upload: Upload) -> dict[str, Any]:
    """Return what a page shows of an upload."""
    return {"id": upload.id, "name": upload.name, "size": upload.size, "in_words": in_words(upload.size)}
