"""Vector files as memory-mapped arrays: converted once, opened at once ever after.

An entry is a folder with the vectors as raw little-endian float32, the words as UTF-8 bytes and their offsets, and
a small JSON file. It is named after the path, size and time of the file it was made from, so that a changed file is
read again.
"""

import hashlib
import json
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tfcr.embeddings.formats import VectorBlock
from tfcr.errors import EmbeddingsError, TfcrWarning
from tfcr.system.files import cache_folder
from tfcr.system.packed_strings import decode_words

CACHE_VERSION = 1


@dataclass(frozen=True)
class LoadReport:
    """What was found in a vector file.

    Attributes
    ----------
    read
        Vectors in the file.
    not_utf8
        Words left out because their bytes are not UTF-8: no text can hold them.
    repeated
        Words left out because they had come before: the first vector counts, as in gensim.
    """

    read: int = 0
    not_utf8: int = 0
    repeated: int = 0


@dataclass(frozen=True)
class WordArrays:
    """Vectors float32 (n_words, dimensions); the words' UTF-8 bytes, one after the other; offsets (n_words + 1,)."""

    vectors: NDArray[np.float32]
    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    report: LoadReport

    def words(self) -> list[str]:
        """Decode all words."""
        return decode_words(self.text, self.offsets)


def open_cached(files: Sequence[Path], kind: str, read: Callable[[], Iterator[VectorBlock]]) -> WordArrays:
    """Open the cached form of vector files; convert them first if they are new, have changed, or the cache is damaged.

    Parameters
    ----------
    files
        The file, and what else its vectors depend on, such as a word list.
    kind
        The name of the reader.
    read
        Reads the vectors.
    """
    try:
        entry = cache_folder("embeddings") / _entry_name(files, kind)
        if not _is_whole(entry):
            _convert_to(entry, files[0], read)
        return _open(entry)
    except OSError:  # a read-only or full disk: read into memory, keep nothing
        return _convert_in_memory(files[0], read)


def _entry_name(files: Sequence[Path], kind: str) -> str:
    status = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    place = hashlib.sha256(str(files[0].resolve()).encode()).hexdigest()[:12]
    state = hashlib.sha256(f"{status} {kind} {CACHE_VERSION}".encode()).hexdigest()[:12]
    return f"{place}-{state}"


def _is_whole(entry: Path) -> bool:
    try:
        meta = json.loads((entry / "meta.json").read_text())
        sizes = {
            "vectors.f32": 4 * meta["words"] * meta["dimensions"],
            "offsets.i64": 8 * (meta["words"] + 1),
            "words.utf8": meta["bytes"],
        }
        return all((entry / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError, KeyError):
        return False


def _convert_to(entry: Path, path: Path, read: Callable[[], Iterator[VectorBlock]]) -> None:
    beside = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
    try:
        _convert(beside, path, read)
        shutil.rmtree(entry, ignore_errors=True)  # a damaged one, if any
        try:
            beside.rename(entry)
        except OSError:
            if not _is_whole(entry):  # else another process was faster: its entry is as good
                raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    _drop_older(entry)


def _drop_older(entry: Path) -> None:
    """Remove the entries made from earlier states of the same file, and what killed conversions left a day ago."""
    place = entry.name.split("-")[0]
    for other in [*entry.parent.glob(f"{place}-*"), *entry.parent.glob(f".{place}-*")]:
        with suppress(OSError):
            old = other.name[0] != "." or time.time() - other.stat().st_mtime > 86_400
            if other != entry and old:
                shutil.rmtree(other)


def _convert_in_memory(path: Path, read: Callable[[], Iterator[VectorBlock]]) -> WordArrays:
    with tempfile.TemporaryDirectory() as folder:
        _convert(Path(folder), path, read)
        opened = _open(Path(folder))
        return WordArrays(np.array(opened.vectors), np.array(opened.text), np.array(opened.offsets), opened.report)


def _convert(folder: Path, path: Path, read: Callable[[], Iterator[VectorBlock]]) -> None:
    """Write words and vectors block by block, leaving out what cannot be used."""
    seen: set[bytes] = set()
    lengths: list[int] = []
    n_read = not_utf8 = dimensions = 0
    with (folder / "vectors.f32").open("wb") as vectors, (folder / "words.utf8").open("wb") as text:
        for block in read():
            n_read += len(block.words)
            dimensions = block.vectors.shape[1]
            kept = []
            for row, word in enumerate(block.words):
                if word in seen:
                    continue
                if not _is_utf8(word):
                    not_utf8 += 1
                    continue
                seen.add(word)
                kept.append(row)
                lengths.append(len(word))
                text.write(word)
            vectors.write(np.ascontiguousarray(block.vectors[kept], "<f4").tobytes())
    if not lengths:
        raise EmbeddingsError(f"{path} holds no vectors; expected at least one")
    np.concatenate([[0], np.cumsum(lengths)]).astype("<i8").tofile(folder / "offsets.i64")
    report = LoadReport(n_read, not_utf8, n_read - not_utf8 - len(lengths))
    meta = {"words": len(lengths), "dimensions": dimensions, "bytes": sum(lengths), **asdict(report)}
    (folder / "meta.json").write_text(json.dumps(meta))
    _tell(path, report)


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _tell(path: Path, report: LoadReport) -> None:
    if report.not_utf8 or report.repeated:
        warnings.warn(
            f"{path.name}: of {report.read} vectors, {report.not_utf8} were left out because their word is not "
            f"UTF-8, and {report.repeated} because their word had come before",
            TfcrWarning,
            stacklevel=2,
        )


def _open(entry: Path) -> WordArrays:
    meta = json.loads((entry / "meta.json").read_text())
    report = LoadReport(meta["read"], meta["not_utf8"], meta["repeated"])
    return WordArrays(
        np.memmap(entry / "vectors.f32", "<f4", "r", shape=(meta["words"], meta["dimensions"])),
        np.fromfile(entry / "words.utf8", np.uint8),
        np.fromfile(entry / "offsets.i64", "<i8"),
        report,
    )
