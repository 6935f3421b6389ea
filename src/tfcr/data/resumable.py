"""Files of tables that a killed run leaves as they are, and another resumes.

Rows go to a part beside the file, which is renamed when it is complete; the journal (`system.journal`) says how far it
is. What the part holds beyond that is cut off, so that no row is lost or written twice::

    .predicted.csv.tfcr-part           rows so far, and perhaps some that the journal does not know of
    .predicted.csv.tfcr-journal        {"output": "predicted.csv", "rows": 40000, "bytes": 4100200, …}
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import polars as pl

from tfcr.data.writers import (
    WRITERS,
    Style,
    Write,
    Writer,
    as_held,
    complete_style,
    format_of,
    frame_writer,
    named_errors,
)
from tfcr.errors import InputError, look_up
from tfcr.system.files import hidden_beside, mode_of, no_links, remove_stale
from tfcr.system.journal import Journal, Record


def part_of(path: Path) -> Path:
    """Return where the rows of a file are until it is complete."""
    return hidden_beside(path, ".tfcr-part")


def journal_of(path: Path) -> Path:
    """Return the journal of a run that writes one file."""
    return hidden_beside(path, ".tfcr-journal")


class TableFile:
    """A file that tables are added to.

    Attributes
    ----------
    rows
        How many rows it has.
    notes
        What was said with the last of them, as JSON; None if it has no rows.
    """

    def __init__(self, write: Write, rows: int = 0, notes: Any = None) -> None:
        self.rows, self.notes = rows, notes
        self._write = write

    def add(self, frame: pl.DataFrame, notes: Any) -> None:
        """Add a table, and what to remember once it is written."""
        self._write(frame)
        self.rows, self.notes = self.rows + frame.height, notes


class ResumableFile(TableFile):
    """A file whose journal is kept up to date."""

    def __init__(
        self, path: Path, file: IO[bytes], writer: Writer, style: Style, journal: Journal, record: Record
    ) -> None:
        super().__init__(self._append, record["rows"], record.get("notes"))
        self._name, self._inputs = path.name, record["inputs"]
        self._file, self._writer, self._style, self._journal = file, writer, style, journal
        assert writer.rows is not None  # noqa: S101 - asked for by the caller
        self._to_bytes = writer.rows(style, record.get("state"))

    def _append(self, frame: pl.DataFrame) -> None:
        self._file.write(self._to_bytes(as_held(frame, self._writer, self._style)))

    def add(self, frame: pl.DataFrame, notes: Any) -> None:
        """Add a table, and a record of it once it is on disk."""
        super().add(frame, notes)
        self.record(state=self._to_bytes.state)

    def record(self, **more: Any) -> int:
        """Add a record of all rows so far; return their bytes."""
        self._file.flush()
        os.fsync(self._file.fileno())
        size = self._file.tell()
        self._journal.add(self._name, self.rows, size, inputs=self._inputs, notes=self.notes, **more)
        return size


def complete_record(path: Path, journal: Journal, inputs: Any) -> Record | None:
    """Return the record of a file that an earlier run completed, which gets its name now if it has not yet.

    Raises
    ------
    InputError
        If the file was begun with other inputs.
    """
    record = journal.last(path.name)
    if record is None:
        return None
    if record.get("inputs") != inputs:
        raise InputError(
            f"the input of {path} has changed since the run that is to be resumed; expected the same size and time. To "
            "start over, type the same command without --resume"
        )
    if not record.get("complete"):
        return None
    with suppress(FileNotFoundError):  # killed between the record and the new name
        _rename(path, record["bytes"])
    try:
        is_there = path.stat().st_size == record["bytes"]
    except OSError:
        is_there = False
    return record if is_there else None


def _rename(path: Path, size: int) -> None:
    part = part_of(path)
    if part.stat().st_size == size:
        part.replace(path)


@contextmanager
def resumable_file(path: Path, style: Style, journal: Journal, inputs: Any) -> Iterator[TableFile]:
    """Give a file to add tables to, after the rows that an earlier run wrote.

    It gets its name at the end of the body. If the body is stopped by Ctrl-C, its rows are kept; after an error, they
    are not: most often the input has to be mended.

    Parameters
    ----------
    path, style
        The file, whose ending is its format, and how to write it.
    journal
        Of the run.
    inputs
        What the rows are made from, as JSON.
    """
    writer = look_up(WRITERS, format_of(str(path)), "format to write")
    if writer.rows is None:  # done again, if it is not complete
        journal.forget(path.name)
        with frame_writer(str(path), "", style) as write:
            whole = TableFile(write)
            yield whole
        journal.add(path.name, whole.rows, path.stat().st_size, inputs=inputs, notes=whole.notes, complete=True)
        return
    remove_stale(path.parent)
    style, mode = complete_style(style, writer), mode_of(path)
    record = journal.last(path.name)
    with named_errors(str(path)):
        try:
            file, record = _open_part(part_of(path), record, {"rows": 0, "inputs": inputs})
            with file:
                if mode is not None:
                    part_of(path).chmod(mode)
                opened = ResumableFile(path, file, writer, style, journal, record)
                yield opened
                size = opened.record(complete=True)
            _rename(path, size)
        except BaseException as error:
            if isinstance(error, Exception) or journal.last(path.name) is None:
                part_of(path).unlink(missing_ok=True)
                journal.forget(path.name)
            raise


def _open_part(part: Path, record: Record | None, anew: Record) -> tuple[IO[bytes], Record]:
    """Open a part where its last record ends; if it has none, or is shorter, empty."""
    if record is not None and not record.get("complete"):
        with suppress(FileNotFoundError):
            file = open(part, "r+b", opener=no_links)  # noqa: SIM115 - Path.open takes no opener
            if file.seek(0, os.SEEK_END) >= record["bytes"]:
                file.seek(record["bytes"])
                file.truncate()
                return file, record
            file.close()
    return open(part, "wb", opener=no_links), anew
