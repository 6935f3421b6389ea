"""What a long job keeps in a folder while it works, so that the same command resumes it after it was stopped.

::

    .model.training/               beside the output, locked by the process that works
        made-from.json             what the results are made from: data, options, versions
        shard-0.safetensors        results under names; each is complete if it is there
        words.step.safetensors
        packed.bytes               a file that a result belongs to
        scratch/                   temporary files, deleted when the job is resumed

The steps of a job are functions of what it is made from. So a result that is found under its name is the one that would
be made again.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from tfcr.errors import ClusterError, InputError, TfcrError
from tfcr.system.array_codec import Arrays
from tfcr.system.array_files import UNFINISHED, read_piece, write_whole
from tfcr.system.files import hidden_beside, is_temporary, lock_folder, write_file
from tfcr.system.limits import parse_json, read_regular

ENDING, RECORD, SCRATCH, SUFFIX, BYTES = ".training", "made-from.json", "scratch", ".safetensors", ".bytes"

Note = Callable[[str], None]


class Checkpoints:
    """Results under names, in a folder; without a folder, nothing is kept."""

    def __init__(self, folder: Path | None = None, prefix: str = "") -> None:
        self.folder, self._prefix = folder, prefix

    def within(self, name: str) -> "Checkpoints":
        """Return those of a part of the job, whose names begin with that of the part."""
        return Checkpoints(self.folder, f"{self._prefix}{name}.")

    def path(self, name: str) -> Path | None:
        """Return the file of a result, whether or not it is there; None if nothing is kept."""
        return None if self.folder is None else self.folder / f"{self._prefix}{name}{SUFFIX}"

    def read(self, name: str) -> Arrays | None:
        """Return a result; None if it is not there."""
        path = self.path(name)
        if path is None or not path.exists():
            return None
        try:
            return read_piece(path)
        except OSError:  # of a disk that lost what it had reported as written
            return None

    def write(self, name: str, result: Arrays) -> None:
        """Keep a result, in the place of an older one of that name."""
        path = self.path(name)
        if path is not None:
            write_whole(path, result)

    def read_json(self, name: str) -> Any:
        """Return a result that JSON can hold; None if it is not there."""
        found = self.read(name)
        return None if found is None else json.loads(found["json"].tobytes())

    def write_json(self, name: str, result: Any) -> None:
        """Keep a result that JSON can hold."""
        self.write(name, {"json": np.frombuffer(json.dumps(result).encode(), np.uint8)})

    def forget(self, *names: str) -> None:
        """Delete results."""
        for name in names:
            if (path := self.path(name)) is not None:
                path.unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Return the names of all results that are there, sorted."""
        if self.folder is None:
            return []
        found = (path.name.removesuffix(SUFFIX) for path in self.folder.glob(f"*{SUFFIX}"))
        return sorted(name.removeprefix(self._prefix) for name in found if name.startswith(self._prefix))


NO_CHECKPOINTS = Checkpoints()


def checkpoint_folder(output: str | os.PathLike[str]) -> Path:
    """Return the folder beside an output in which its results are kept while it is made."""
    return hidden_beside(Path(output).absolute(), ENDING)


@contextmanager
def checkpoints_beside(
    output: str | os.PathLike[str], made_from: Mapping[str, Any], note: Note = lambda line: None
) -> Iterator[Checkpoints | None]:
    """Give what an earlier run kept of the same job, to go on from there; it is deleted when the job has ended well.

    It stays if the job is stopped, or fails for a reason that may be gone the next time, such as a full disk. None if
    nothing can be written beside the output.

    Parameters
    ----------
    output
        What the job makes.
    made_from
        What results depend on, as JSON: if that has changed, the job starts over, and a `note` says so.
    note
        Called with one line.
    """
    folder = checkpoint_folder(output)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        handle = lock_folder(folder)
    except BlockingIOError:
        raise InputError(
            f"another process trains {output} at this moment, in {folder}; expected one at a time: wait until it has "
            "ended, or give another output with -o"
        ) from None
    except OSError:
        yield None
        return
    try:
        yield from _locked(folder, made_from, note)
    finally:
        if handle is not None:
            os.close(handle)


def _locked(folder: Path, made_from: Mapping[str, Any], note: Note) -> Iterator[Checkpoints]:
    _refuse_foreign(folder)
    known, wanted = _record(folder), json.loads(json.dumps(made_from, default=str))
    checkpoints = Checkpoints(folder)
    if known != wanted:
        if checkpoints.names():
            note(f"training starts over: {_difference(known, wanted)} changed since it was stopped")
        _empty(folder)
        write_file(folder / RECORD, json.dumps(wanted).encode())
    _empty(folder / SCRATCH)
    (folder / SCRATCH).mkdir(exist_ok=True)
    for path in folder.glob(f"*{UNFINISHED}"):
        path.unlink()
    try:
        yield checkpoints
    except BaseException as error:
        if not checkpoints.names() or (isinstance(error, TfcrError) and not isinstance(error, ClusterError)):
            shutil.rmtree(folder, ignore_errors=True)  # the same command would fail again
        else:
            shutil.rmtree(folder / SCRATCH, ignore_errors=True)
            if not isinstance(error, KeyboardInterrupt):
                note(f"what is done so far is kept in {folder}: to resume, type the same command again")
        raise
    shutil.rmtree(folder, ignore_errors=True)


def remove_checkpoints(output: str | os.PathLike[str]) -> None:
    """Delete what a run that was stopped kept beside an output that has been made since; not while another works."""
    folder = checkpoint_folder(output)
    if not folder.is_dir() or folder.is_symlink():
        return
    with suppress(OSError, InputError):
        handle = lock_folder(folder)
        try:
            _refuse_foreign(folder)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            if handle is not None:
                os.close(handle)


def _refuse_foreign(folder: Path) -> None:
    """Raise InputError if a folder holds what tfcr did not write: it would be deleted."""
    for entry in folder.iterdir():
        endings = (SUFFIX, BYTES, UNFINISHED)
        ours = entry.name in (RECORD, SCRATCH) or entry.name.endswith(endings) or is_temporary(entry.name)
        if not ours or entry.is_symlink():
            raise InputError(
                f"{folder} holds {entry.name}, which tfcr did not write there; expected a name that is free: move that "
                "folder, or give another output with -o"
            )


def _record(folder: Path) -> Any:
    try:
        return parse_json(read_regular(folder / RECORD, "settings"))
    except (OSError, ValueError):
        return None


def _difference(known: Any, wanted: Mapping[str, Any]) -> str:
    if not isinstance(known, dict):
        return "its record"
    return " and ".join(name for name in wanted if known.get(name) != wanted[name]) or "the kind of record"


def _empty(folder: Path) -> None:
    """Delete all files of a folder: the record first, so that what is left belongs to nothing."""
    (folder / RECORD).unlink(missing_ok=True)
    for entry in folder.iterdir() if folder.is_dir() else ():
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
