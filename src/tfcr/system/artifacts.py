"""Artefacts: arrays on disk that can be made again, such as converted vector files and counted corpora.

An artefact is a folder in a section of the user's cache, memory-mapped when it is opened::

    embeddings/4f1c…-a07b…/        section / name
        facts.json                 {"arrays": {"vectors": ["<f4", [400000, 50]], …}, "facts": {…}}
        vectors.raw                the numbers of one array, row by row, little-endian
        words.text.raw  …
        seal.json                  the hash and the stamp of each file

It is written under a temporary name and renamed once complete, by one process at a time, so that it is whole or absent.
A file that has changed on disk since is hashed (`system.seals`); a damaged artefact is made again, with a warning. The
whole cache may be deleted at any time.

A name with a hyphen is SOURCE-STATE, such as the hash of a file's path and the hash of its size and time: making an
artefact deletes those of other states of the same source.
"""

import hashlib
import io
import json
import math
import shutil
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tfcr.errors import DamagedError, TfcrError, TfcrWarning
from tfcr.system.files import cache_folder, folder_beside, locked, remove_free_lock
from tfcr.system.limits import parse_json, read_regular
from tfcr.system.seals import broken_by, write_seal

T = TypeVar("T")

FACTS, SEAL = "facts.json", "seal.json"
DIGEST_VERSION = 1
"""Part of every digest. Experiments store digests with their results: another number makes them run again."""


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
    lock = folder.with_name(f".{name}.lock")
    found = _open(folder)
    if found is not None:
        remove_free_lock(lock)
        return found
    with locked(lock, waiting, remove=True):
        return _open(folder) or _write(folder, make)  # another process may have made it while we waited


def read_artifact(
    section: str, name: str, make: Make, read: Callable[[Artifact], T], *, waiting: Callable[[], object] | None = None
) -> T:
    """Return what `read` returns for an artefact; make it (again) if it is absent, or `read` raises DamagedError."""
    made = make_artifact(section, name, make, waiting=waiting)
    try:
        return _read(made, read)
    except DamagedError as error:
        _tell_damaged(cache_folder(section) / name, str(error))
        drop_artifact(section, name)
        return _read(make_artifact(section, name, make, waiting=waiting), read)


def _read(artifact: Artifact, read: Callable[[Artifact], T]) -> T:
    try:
        return read(artifact)
    except (TfcrError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise DamagedError(str(error) or type(error).__name__) from error


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
        self._sums: dict[str, Any] = {}

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
            self._sums[name] = hashlib.sha256()
        n_rows, *row_shape = self._shapes[name]
        if piece.shape[1:] != tuple(row_shape) or piece.dtype.newbyteorder("<") != self._dtypes[name]:
            raise ValueError(
                f"{name}: found rows of {piece.dtype} {piece.shape[1:]}; expected those of the first piece"
            )
        content = piece.astype(self._dtypes[name], copy=False).data
        self._files[name].write(content)
        if self._folder is not None and content.nbytes:
            self._sums[name].update(content)
        self._shapes[name] = (n_rows + len(piece), *row_shape)

    def finish(self) -> None:
        """Write the facts, once all arrays are complete."""
        if self._folder is None:
            return
        for file in self._files.values():
            file.close()
        arrays = {name: (self._dtypes[name].str, shape) for name, shape in self._shapes.items()}
        facts = json.dumps({"arrays": arrays, "facts": self.facts}).encode()
        (self._folder / FACTS).write_bytes(facts)
        sums = {self._folder / f"{name}.raw": hashed.hexdigest() for name, hashed in self._sums.items()}
        write_seal(self._folder / SEAL, {self._folder / FACTS: hashlib.sha256(facts).hexdigest(), **sums})

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
    with folder_beside(folder) as beside:
        with ArtifactWriter(beside) as writer:
            make(writer)
            writer.finish()
        shutil.rmtree(folder, ignore_errors=True)  # a damaged one, if any
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        beside.rename(folder)
    _drop_earlier(folder)
    written = _open(folder)
    if written is None:
        raise OSError(5, "what was written cannot be read again", str(folder))
    return written


def _drop_earlier(folder: Path) -> None:
    """Delete the artefacts of earlier states of the same source, and locks that killed processes left."""
    source = folder.name.split("-")[0]
    for other in folder.parent.glob(f"{source}-*"):
        with suppress(OSError):
            if other != folder:
                shutil.rmtree(other) if other.is_dir() else other.unlink()
    for lock in folder.parent.glob(f".{source}-*.lock"):
        if lock.name != f".{folder.name}.lock":
            remove_free_lock(lock)


def _open(folder: Path) -> Artifact | None:
    """Return the artefact in a folder; None if it is absent, or damaged, with a warning."""
    if not folder.exists():
        return None
    if (folder / FACTS).exists() and not (folder / SEAL).exists():
        return None  # of a version without seals
    try:
        return _open_sealed(folder)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
        _tell_damaged(folder, str(error))
        return None


def _open_sealed(folder: Path) -> Artifact:
    stored = parse_json(read_regular(folder / FACTS, "settings"))
    files = {name: folder / f"{name}.raw" for name in stored["arrays"]}
    broken = broken_by(folder / SEAL, [folder / FACTS, *files.values()])
    if broken:
        raise ValueError(broken)
    return Artifact({name: _map(files[name], *kind) for name, kind in stored["arrays"].items()}, stored["facts"])


def _tell_damaged(folder: Path, what: str) -> None:
    warnings.warn(
        f"the cache entry {folder.parent.name}/{folder.name} is damaged ({what}); it is made again",
        TfcrWarning,
        stacklevel=2,
    )


def _map(path: Path, kind: str, shape: list[int]) -> NDArray[Any]:
    """Map an array into memory; raise ValueError if its file is not of the size that it must be."""
    dtype = np.dtype(kind)
    if dtype.kind not in "biuf" or path.stat().st_size != dtype.itemsize * math.prod(shape):
        raise ValueError(f"{path} is damaged")
    if not math.prod(shape):  # an empty file cannot be mapped
        return np.zeros(shape, dtype)
    return np.asarray(np.memmap(path, dtype, "r", shape=tuple(shape)))  # plain: slices of a memmap are slow to make
