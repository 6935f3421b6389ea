r"""A journal of what people decided in a page: one JSON object per line, on disk before it is acknowledged.

    {"row": 17, "label": "hardware"}
    {"row": 3, "label": "network"}
    {"row": 17, "label": nu                         the server was killed here, before it acknowledged this line

Lines are only ever added; undoing something is another line. Several processes and threads may add to one journal: each
locks the file meanwhile, and the system frees the lock however the process ends. Whoever reads waits for the lock too:
a line that is not on disk yet may still be taken back. A line without an end was never acknowledged, and is not there;
whoever adds the next line cuts it off. A line that is no JSON object, as a damaged disk leaves it, is left out, and
those after it still count.

A position is a number of bytes: it grows with every line, so that it also is a version of what the journal says.
"""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from tfcr.system.files import open_locked
from tfcr.system.limits import parse_json

Record = dict[str, Any]

WAIT = 0.002
"""Seconds between two attempts to lock a journal that another process or thread is adding to."""
_PART = 1 << 12


class Journal:
    """A file of records; it is made by the first one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder) / "journal.jsonl")
    ...     position = journal.append({"row": 17, "label": "hardware"})
    ...     _ = journal.append({"row": 3, "label": "network"}, {"row": 17, "label": None})
    ...     len(journal.records()), journal.since(position)[0]
    (3, [{'row': 3, 'label': 'network'}, {'row': 17, 'label': None}])
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, *records: Mapping[str, Any]) -> int:
        """Add records, and return the position after them once they are on disk.

        Raises
        ------
        OSError
            If they could not all be written, as on a full disk: then none of them is there.
        """
        lines = b"".join(json.dumps(record, allow_nan=False).encode() + b"\n" for record in records)
        with self._locked() as file:
            handle = file.fileno()
            end = _end_of_lines(handle)
            try:
                os.ftruncate(handle, end)
                _write(handle, lines, end)
                os.fsync(handle)
            except OSError:
                with suppress(OSError):
                    os.ftruncate(handle, end)
                raise
            if not end:
                sync_folder(self.path.parent)
            return end + len(lines)

    def records(self) -> list[Record]:
        """Return all records, the oldest first; none if there is no journal yet."""
        return self.since(0)[0]

    def since(self, position: int) -> tuple[list[Record], int]:
        """Return the records after a position, and the position after them; all records if no line ends there."""
        if not self.path.exists():
            return [], 0
        with self._locked() as file:
            start = position if _ends_line(file.fileno(), position) else 0
            file.seek(start)
            content = file.read()
        content = content[: content.rfind(b"\n") + 1]
        found = [record for line in content.split(b"\n") if line and (record := _record(line)) is not None]
        return found, start + len(content)

    def knows(self, position: int) -> bool:
        """Return whether a line ends at a position, as those of every position that was given; else begin anew."""
        if not position or not self.path.exists():
            return not position
        with self._locked() as file:
            return _ends_line(file.fileno(), position)

    def position(self) -> int:
        """Return the position after all records; 0 if there is no journal yet."""
        if not self.path.exists():
            return 0
        with self._locked() as file:
            return _end_of_lines(file.fileno())

    def _locked(self) -> IO[bytes]:
        while True:
            file = open_locked(self.path)
            if file is not None:
                return file
            time.sleep(WAIT)


def _record(line: bytes) -> Record | None:
    try:
        found = parse_json(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _ends_line(handle: int, position: int) -> bool:
    """Return whether a line ends at a position; at 0 none needs to."""
    if not position or position > os.fstat(handle).st_size:
        return not position
    os.lseek(handle, position - 1, os.SEEK_SET)
    return os.read(handle, 1) == b"\n"


def _end_of_lines(handle: int) -> int:
    """Return where the last line that has an end ends; nothing is read into the buffer of the file."""
    end = os.lseek(handle, 0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _PART)
        os.lseek(handle, start, os.SEEK_SET)
        found = os.read(handle, end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _write(handle: int, content: bytes, start: int) -> None:
    """Write without a buffer, which would be written once more when the file is closed after an error."""
    os.lseek(handle, start, os.SEEK_SET)
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def sync_folder(folder: Path) -> None:
    """Have the name of a new file on disk too; Windows does so itself."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
