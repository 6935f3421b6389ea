"""A journal of what a long run has written, so that another run can resume after a kill.

A journal is a file of JSON lines. The first says what the run depends on; each other one is a record of how far one
output is. Of several records of the same output the last counts, and a line without an end was never written::

    {"version": "0.3", "model": "4f1c…", "options": {…}}
    {"output": "a.csv", "rows": 40000, "bytes": 4100200, …}
    {"output": "a.csv", "rows": 61853, "bytes": 6150931, "complete": true, …}
    {"output": "b.csv", "rows": 40000, …

Its process holds a lock on it, which the system frees however the process ends.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tfcr.errors import InputError
from tfcr.system.files import open_locked
from tfcr.system.limits import parse_json

Record = dict[str, Any]


class Journal:
    """An open journal.

    Attributes
    ----------
    path
        Its file.
    resumes
        Whether it had a record of an earlier run, which is resumed.
    """

    def __init__(self, path: Path, file: IO[bytes], records: list[Record]) -> None:
        self.path = path
        self.resumes = bool(records)
        self._file = file
        self._last = {record["output"]: record for record in records[1:]}

    def last(self, output: str) -> Record | None:
        """Return the last record of an output; None if nothing of it is worth resuming."""
        found = self._last.get(output)
        return found if found is not None and found["bytes"] else None

    def add(self, output: str, rows: int, size: int, **more: Any) -> None:
        """Add a record: so many rows of an output, in so many bytes, are on disk."""
        self._last[output] = {"output": output, "rows": rows, "bytes": size, **more}
        _append(self._file, self._last[output])

    def forget(self, output: str) -> None:
        """Add that an output has to be begun anew, if there was a record of it."""
        if output in self._last:
            self.add(output, 0, 0)

    def is_worth_resuming(self) -> bool:
        """Return whether any output has rows."""
        return any(record["bytes"] for record in self._last.values())

    def remove(self) -> None:
        """Delete the journal: nothing is left to resume."""
        if os.name == "nt":  # where an open file cannot be deleted, and which has no lock to keep meanwhile
            self._file.close()
        self.path.unlink()


@contextmanager
def opened_journal(path: Path, depends_on: Mapping[str, Any], *, resume: bool, what: str) -> Iterator[Journal]:
    """Give the journal of a run, which no other run uses meanwhile; the file stays unless it is removed.

    Parameters
    ----------
    path
        The file.
    depends_on
        What must be the same for a run to be resumed, as JSON: a name for each thing, in words, and its state.
    resume
        Whether to resume the run of an earlier journal, if there is one; else it is emptied.
    what
        What the run writes, for messages.

    Raises
    ------
    InputError
        If another process has it open, or if what the earlier run depends on has changed.
    """
    file = open_locked(path)
    if file is None:
        raise InputError(
            f"another tfcr predict is writing {what}; expected one at a time: wait until it has ended, or give "
            "another -o"
        )
    with file:
        begins = json.loads(json.dumps(dict(depends_on)))
        records, end = _records(file.read()) if resume else ([], 0)
        changed = [name for name, state in begins.items() if records and records[0].get(name) != state]
        if changed:
            raise InputError(
                f"found another {changed[0]} than that of the run that began to write {what}; expected the same to "
                "resume it. To start over, type the same command without --resume"
            )
        file.seek(end)
        file.truncate()
        if not records:
            try:
                _append(file, begins)
            except OSError:  # a full disk: nothing is left behind
                path.unlink()
                raise
        yield Journal(path, file, records)


def _append(file: IO[bytes], record: Mapping[str, Any]) -> None:
    file.write(json.dumps(record).encode() + b"\n")
    file.flush()
    os.fsync(file.fileno())


def _records(content: bytes) -> tuple[list[Record], int]:
    """Return the lines of a journal, and where they end; of one that is damaged, those before the damage."""
    records: list[Record] = []
    end = 0
    for line in content.splitlines(keepends=True):
        try:
            record = parse_json(line)
        except ValueError:
            break
        if not isinstance(record, dict) or not line.endswith(b"\n") or not _is_whole(record, first=not records):
            break
        records.append(record)
        end += len(line)
    return records, end


def _is_whole(record: Record, *, first: bool) -> bool:
    """Return whether a record has what each has, so that a damaged journal is not trusted."""
    if first:
        return True
    sizes = (record.get("rows"), record.get("bytes"))
    return isinstance(record.get("output"), str) and all(isinstance(size, int) and size >= 0 for size in sizes)
