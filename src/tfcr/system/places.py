"""Where data lies that does not fit into memory, and where work on it is done: on this machine, or elsewhere.

A piece of data is a dict of arrays. Work is a function of one piece, or of the pieces of several `Kept` with the same
number, and of arguments that are the same for all::

    shards = places.keep(pieces)                       a Kept of some pieces
    counted = places.transform(count, shards, "words")   another, of what `count` makes of each; it stays where it is
    total = sum(places.map(count_total, counted))      results, in order, one after the other

So what is written once runs in memory, on files larger than memory, and on a cluster.
"""

import itertools
import math
import shutil
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfcr.system.array_codec import Arrays
from tfcr.system.array_files import move_whole, read_piece, write_piece, write_whole
from tfcr.system.checkpoints import NO_CHECKPOINTS, SCRATCH, Checkpoints
from tfcr.system.files import scratch_folder
from tfcr.system.hardware import n_threads, one_blas_thread

DISK_SHARE = 0.5
"""The fraction of the free disk that may be filled with what could be computed again."""

Work = Callable[..., Any]
"""A function of pieces and other arguments; at the top level of a module, so that other processes can call it."""


class Kept(ABC):
    """Pieces that lie somewhere, numbered from 0."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many pieces there are."""


@dataclass(frozen=True)
class ByPiece:
    """An argument with another value for each piece."""

    values: Sequence[Any]


class Places(ABC):
    """Where pieces are kept, and where work on them is done.

    `reads_files` tells whether files that are counted are best read there, since it is not on this processor.
    `checkpoints` are the results of an earlier run of the same job, which was stopped, and take those of this one.
    """

    reads_files = False
    checkpoints = NO_CHECKPOINTS

    @abstractmethod
    def keep(self, pieces: Iterable[Arrays]) -> Kept:
        """Keep pieces, one after the other."""

    def make(self, work: Work, items: Iterable[Any], *arguments: Any, name: str = "") -> Kept:
        """Keep ``work(item, *arguments)``, a dict of arrays, for each item; a lost piece can be made again.

        Under a `name`, pieces that an earlier run has made are not made again, where checkpoints are kept.
        """
        return self.keep(work(item, *arguments) for item in items)

    def each(self, work: Work, items: Iterable[Any], *arguments: Any) -> Iterator[Any]:
        """Yield ``work(item, *arguments)``, anything, for each item, in order."""
        return (work(item, *arguments) for item in items)

    @abstractmethod
    def transform(self, work: Work, *arguments: Any) -> Kept:
        """Keep what `work` makes, a dict of arrays, of each piece of the Kept among the arguments."""

    @abstractmethod
    def map(self, work: Work, *arguments: Any) -> Iterator[Any]:
        """Yield what `work` returns for each piece of the Kept among the arguments, in order."""

    @abstractmethod
    def drop(self, *kept: Kept) -> None:
        """Forget pieces."""

    def room(self) -> float:
        """Return how many bytes may be kept of what could be computed again; none if nobody knows."""
        return 0.0

    def preserve(self, kept: Kept, name: str) -> bool:
        """Let a later run find pieces under a name, if checkpoints are kept and pieces lie there; return whether so."""
        return False

    def preserved(self, name: str) -> Kept | None:
        """Return the pieces that an earlier run preserved under a name; None if it has not."""
        return None


class LocalPlaces(Places):
    """Places on this machine: pieces can be had one by one, and be replaced."""

    @abstractmethod
    def get(self, kept: Kept, number: int) -> Arrays:
        """Return a piece."""

    @abstractmethod
    def put(self, kept: Kept, number: int, piece: Arrays) -> None:
        """Replace a piece."""

    def _of_piece(self, argument: Any, number: int) -> Any:
        """Return what the work on one piece gets for an argument."""
        if isinstance(argument, ByPiece):
            return argument.values[number]
        return self.get(argument, number) if isinstance(argument, Kept) else argument


@dataclass(frozen=True)
class KeptInMemory(Kept):
    """Pieces in memory."""

    pieces: list[Arrays]

    def __len__(self) -> int:
        return len(self.pieces)


class MemoryPlaces(LocalPlaces):
    """Pieces in memory, and work on this thread: for small data, and for tests."""

    def keep(self, pieces: Iterable[Arrays]) -> KeptInMemory:
        """Keep pieces."""
        return KeptInMemory(list(pieces))

    def transform(self, work: Work, *arguments: Any) -> KeptInMemory:
        """Keep what `work` makes of each piece."""
        return KeptInMemory(list(self.map(work, *arguments)))

    def map(self, work: Work, *arguments: Any) -> Iterator[Any]:
        """Yield what `work` returns for each piece, in order."""
        for number in range(n_pieces(arguments)):
            yield work(*(self._of_piece(argument, number) for argument in arguments))

    def drop(self, *kept: Kept) -> None:
        """Forget pieces."""
        for one in kept:
            if isinstance(one, KeptInMemory):
                one.pieces.clear()

    def room(self) -> float:
        """Return that there is room for all: data is small."""
        return math.inf

    def get(self, kept: Kept, number: int) -> Arrays:
        """Return a piece."""
        return _in_memory(kept).pieces[number]

    def put(self, kept: Kept, number: int, piece: Arrays) -> None:
        """Replace a piece."""
        _in_memory(kept).pieces[number] = piece


def _in_memory(kept: Kept) -> KeptInMemory:
    if not isinstance(kept, KeptInMemory):
        raise TypeError(f"found {type(kept).__name__}; expected pieces in memory")
    return kept


@dataclass(frozen=True)
class KeptOnDisk(Kept):
    """Pieces in files of their own."""

    files: list[Path]

    def __len__(self) -> int:
        return len(self.files)


class DiskPlaces(LocalPlaces):
    """Pieces in files of one folder, and work on the threads of this machine.

    Each thread holds the pieces of one number; the others are on disk.

    Parameters
    ----------
    folder
        Where files are written; the caller removes it.
    threads
        How many; by default as many as there are processors.
    checkpoints
        Results to resume from, in the same file system as the folder.
    """

    def __init__(self, folder: Path, threads: int | None = None, checkpoints: Checkpoints = NO_CHECKPOINTS) -> None:
        self.folder = folder
        self.threads = threads or n_threads()
        self.checkpoints = checkpoints
        self._numbers = itertools.count()

    def keep(self, pieces: Iterable[Arrays]) -> KeptOnDisk:
        """Write pieces, one after the other."""
        return KeptOnDisk([self._write(piece) for piece in pieces])

    def make(self, work: Work, items: Iterable[Any], *arguments: Any, name: str = "") -> KeptOnDisk:
        """Write ``work(item, *arguments)`` for each item; see `Places.make`."""
        files = []
        for number, item in enumerate(items):
            path = self.checkpoints.path(f"{name}-{number}") if name else None
            if path is None:
                path = self._write(work(item, *arguments))
            elif not path.exists():
                write_whole(path, work(item, *arguments))
            files.append(path)
        return KeptOnDisk(files)

    def transform(self, work: Work, *arguments: Any) -> KeptOnDisk:
        """Write what `work` makes of each piece."""
        return KeptOnDisk(list(self._run(lambda *given: self._write(work(*given)), arguments)))

    def map(self, work: Work, *arguments: Any) -> Iterator[Any]:
        """Yield what `work` returns for each piece, in order."""
        return self._run(work, arguments)

    def drop(self, *kept: Kept) -> None:
        """Delete the files of pieces."""
        for one in kept:
            if isinstance(one, KeptOnDisk):
                for file in one.files:
                    file.unlink(missing_ok=True)
                one.files.clear()

    def room(self) -> float:
        """Return a part of what the disk has left."""
        return DISK_SHARE * shutil.disk_usage(self.folder).free

    def preserve(self, kept: Kept, name: str) -> bool:
        """Move the files of pieces to the checkpoints; how many there are is written last."""
        files = _on_disk(kept).files
        for number, file in enumerate(files):
            path = self.checkpoints.path(f"{name}-{number}")
            if path is None:
                return False
            move_whole(file, path)
            files[number] = path
        self.checkpoints.write(name, {"pieces": np.array([len(files)])})
        return True

    def preserved(self, name: str) -> KeptOnDisk | None:
        """Return the pieces that an earlier run preserved under a name; None if it has not."""
        known = self.checkpoints.read(name)
        if known is None:
            return None
        paths = [self.checkpoints.path(f"{name}-{number}") for number in range(int(known["pieces"][0]))]
        return KeptOnDisk([path for path in paths if path is not None])

    def _run(self, work: Work, arguments: Sequence[Any]) -> Iterator[Any]:
        def call(number: int) -> Any:
            return work(*(self._of_piece(argument, number) for argument in arguments))

        with one_blas_thread(), ThreadPoolExecutor(self.threads) as pool:
            waiting: deque[Any] = deque()
            try:
                for number in range(n_pieces(arguments)):
                    waiting.append(pool.submit(call, number))
                    if len(waiting) > self.threads:  # so that results do not fill the memory before they are asked for
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def get(self, kept: Kept, number: int) -> Arrays:
        """Read a piece."""
        return read_piece(_on_disk(kept).files[number])

    def put(self, kept: Kept, number: int, piece: Arrays) -> None:
        """Write a piece in the place of another."""
        write_piece(_on_disk(kept).files[number], piece)

    def _write(self, piece: Arrays) -> Path:
        path = self.folder / f"{next(self._numbers)}.safetensors"
        write_piece(path, piece)
        return path


def _on_disk(kept: Kept) -> KeptOnDisk:
    if not isinstance(kept, KeptOnDisk):
        raise TypeError(f"found {type(kept).__name__}; expected pieces on disk")
    return kept


@contextmanager
def local_places(checkpoints: Checkpoints = NO_CHECKPOINTS) -> Iterator[DiskPlaces]:
    """Give places on this machine: files in a temporary folder, which is removed at the end, or beside checkpoints."""
    if checkpoints.folder is not None:
        yield DiskPlaces(checkpoints.folder / SCRATCH, checkpoints=checkpoints)
        return
    with scratch_folder() as folder:
        yield DiskPlaces(folder)


def n_pieces(arguments: Sequence[Any]) -> int:
    """Return how many pieces the Kept among arguments have, the same each."""
    sizes = {len(argument.values) for argument in arguments if isinstance(argument, ByPiece)}
    sizes |= {len(argument) for argument in arguments if isinstance(argument, Kept)}
    if len(sizes) != 1:
        raise ValueError(f"found {sorted(sizes)} pieces; expected the same number of each, and some that are kept")
    return sizes.pop()
