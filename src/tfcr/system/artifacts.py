"""Artefacts: arrays on disk that can be made again, such as converted vector files and counted corpora.

An artefact is a folder in a section of the user's cache, memory-mapped when it is opened::

    embeddings/4f1c…-a07b…/        section / name
        facts.json                 {"arrays": {"vectors": ["<f4", [400000, 50]], …}, "facts": {…}}
        vectors.raw                the numbers of one array, row by row, little-endian
        words.text.raw  …

It is written under a temporary name and renamed once complete, by one process at a time, so that it is whole or absent.
The size of every file is checked against ``facts.json``; a damaged artefact is made again. The whole cache may be
deleted at any time.

A name with a hyphen is SOURCE-STATE, such as the hash of a file's path and the hash of its size and time: making an
artefact deletes those of other states of the same source.
"""

import hashlib
import io
import json
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tfcr.errors import DamagedError
from tfcr.system.files import cache_folder, locked

T = TypeVar("T")

FACTS = "facts.json"
DIGEST_VERSION = 1
"""Part of every digest. Experiments store digests with their results: another number makes them run again."""
ABANDONED = 86_400
"""Seconds after which the unfinished folder of a killed process is deleted."""


@dataclass(frozen=True)
class Artifact:
    """Arrays, read-only if mapped from disk, and a few facts as JSON."""

    arrays: Mapping[str, NDArray[Any]]
    facts: dict[str, Any]


def digest_of(*parts: Any) -> str:
    """Return a name for whatever these parts describe; they are compared as JSON."""
    text = json.dumps([DIGEST_VERSION, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def digest_of_strings(strings: Iterable[str]) -> str:
    """Return the hash of many strings; their lengths count, so that ["ab"] differs from ["a", "b"]."""
    hashed = hashlib.sha256()
    for string in strings:
        encoded = string.encode("utf-8", "surrogatepass")
        hashed.update(len(encoded).to_bytes(8, "little"))
        hashed.update(encoded)
    return hashed.hexdigest()[:32]


def open_artifact(section: str, name: str) -> Artifact | None:
    """Return an artefact; None if it is absent or damaged."""
    return _open(cache_folder(section) / name)


def drop_artifact(section: str, name: str) -> None:
    """Delete an artefact whose content turned out to be damaged, so that it is made again."""
    shutil.rmtree(cache_folder(section) / name, ignore_errors=True)


Make = Callable[["ArtifactWriter"], object]


def make_artifact(section: str, name: str, make: Make, *, waiting: Callable[[], object] | None = None) -> Artifact:
    """Return an artefact; make it first if it is absent or damaged.

    Parameters
    ----------
    section
        A folder of the user's cache.
    name
        The digest of all it is made from; see the top of this module for names with a hyphen.
    make
        Writes its arrays and facts.
    waiting
        Called once if another process is making the same artefact.

    Raises
    ------
    OSError
        If the disk is full or read-only; `make_in_memory` needs no disk.
    """
    folder = cache_folder(section) / name
    found = _open(folder)
    if found is not None:
        return found
    with locked(folder.with_name(f".{name}.lock"), waiting, remove=True):
        return _open(folder) or _write(folder, make)  # another process may have made it while we waited


def read_artifact(
    section: str, name: str, make: Make, read: Callable[[Artifact], T], *, waiting: Callable[[], object] | None = None
) -> T:
    """Return what `read` returns for an artefact; make it (again) if it is absent, or `read` raises DamagedError."""
    try:
        return read(make_artifact(section, name, make, waiting=waiting))
    except DamagedError:
        drop_artifact(section, name)
        return read(make_artifact(section, name, make, waiting=waiting))


def make_in_memory(make: Make) -> Artifact:
    """Return an artefact that is nowhere on disk."""
    with ArtifactWriter(None) as writer:
        make(writer)
        return writer.in_memory()


class ArtifactWriter:
    """Writes the arrays of one artefact: whole, or in pieces that are appended.

    Attributes
    ----------
    facts
        Whatever JSON can hold; to be filled by the caller.
    """

    def __init__(self, folder: Path | None) -> None:
        self.facts: dict[str, Any] = {}
        self._folder = folder
        self._files: dict[str, IO[bytes]] = {}
        self._dtypes: dict[str, np.dtype[Any]] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}

    def write(self, arrays: Mapping[str, ArrayLike]) -> None:
        """Write whole arrays."""
        for name, array in arrays.items():
            self.append(name, array)

    def append(self, name: str, rows: ArrayLike) -> None:
        """Append rows to an array; all pieces have the type and the row shape of the first one."""
        piece = np.ascontiguousarray(rows)
        if name not in self._files:
            self._files[name] = io.BytesIO() if self._folder is None else (self._folder / f"{name}.raw").open("wb")
            self._dtypes[name] = piece.dtype.newbyteorder("<")
            self._shapes[name] = (0, *piece.shape[1:])
        n_rows, *row_shape = self._shapes[name]
        if piece.shape[1:] != tuple(row_shape) or piece.dtype.newbyteorder("<") != self._dtypes[name]:
            raise ValueError(
                f"{name}: found rows of {piece.dtype} {piece.shape[1:]}; expected those of the first piece"
            )
        self._files[name].write(piece.astype(self._dtypes[name], copy=False).data)
        self._shapes[name] = (n_rows + len(piece), *row_shape)

    def finish(self) -> None:
        """Write the facts, once all arrays are complete."""
        if self._folder is None:
            return
        for file in self._files.values():
            file.close()
        arrays = {name: (self._dtypes[name].str, shape) for name, shape in self._shapes.items()}
        (self._folder / FACTS).write_text(json.dumps({"arrays": arrays, "facts": self.facts}), "utf-8")

    def in_memory(self) -> Artifact:
        """Return what was written to memory."""
        arrays: dict[str, NDArray[Any]] = {}
        for name, file in self._files.items():
            content = file.getbuffer() if isinstance(file, io.BytesIO) else memoryview(b"")
            arrays[name] = np.frombuffer(content, self._dtypes[name]).reshape(self._shapes[name])
        return Artifact(arrays, self.facts)

    def __enter__(self) -> "ArtifactWriter":
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            for file in self._files.values():
                file.close()


def _write(folder: Path, make: Make) -> Artifact:
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with ArtifactWriter(beside) as writer:
            make(writer)
            writer.finish()
        shutil.rmtree(folder, ignore_errors=True)  # a damaged one, if any
        beside.rename(folder)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    _drop_earlier(folder)
    written = _open(folder)
    if written is None:
        raise OSError(5, "what was written cannot be read again", str(folder))
    return written


def _drop_earlier(folder: Path) -> None:
    """Delete the artefacts of earlier states of the same source, and what killed processes left long ago."""
    source = folder.name.split("-")[0]
    for other in [*folder.parent.glob(f"{source}-*"), *folder.parent.glob(f".{source}-*")]:
        with suppress(OSError):
            unfinished = other.name.startswith(".")
            if other != folder and not (unfinished and time.time() - other.stat().st_mtime < ABANDONED):
                shutil.rmtree(other) if other.is_dir() else other.unlink()


def _open(folder: Path) -> Artifact | None:
    try:
        stored = json.loads((folder / FACTS).read_bytes())
        arrays = {name: _map(folder / f"{name}.raw", *kind) for name, kind in stored["arrays"].items()}
        return Artifact(arrays, stored["facts"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _map(path: Path, kind: str, shape: list[int]) -> NDArray[Any]:
    """Map an array into memory; raise ValueError if its file is not of the size that it must be."""
    dtype = np.dtype(kind)
    if dtype.kind not in "biuf" or path.stat().st_size != dtype.itemsize * math.prod(shape):
        raise ValueError(f"{path} is damaged")
    if not math.prod(shape):  # an empty file cannot be mapped
        return np.zeros(shape, dtype)
    return np.asarray(np.memmap(path, dtype, "r", shape=tuple(shape)))  # plain: slices of a memmap are slow to make
