"""Vector files as memory-mapped arrays: converted once, opened instantly afterwards.

The artefact of a file is named after the path, size and time of that file, so that a changed file is converted again.
"""

import logging
import warnings
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tfcr.embeddings.formats import VectorFile
from tfcr.errors import DamagedError, EmbeddingsError, TfcrWarning
from tfcr.system.array_codec import get_array, packed_strings
from tfcr.system.artifacts import Artifact, ArtifactWriter, digest_of, make_in_memory, read_artifact
from tfcr.system.packed_strings import decode_words

SECTION = "embeddings"


@dataclass(frozen=True)
class LoadReport:
    """What loading a vector file read and left out.

    Attributes
    ----------
    read
        Number of vectors in the file.
    not_utf8
        Words left out because their bytes are not UTF-8: no text contains them.
    repeated
        Words left out because they had occurred before: the first vector counts, as in gensim.
    """

    read: int = 0
    not_utf8: int = 0
    repeated: int = 0


@dataclass(frozen=True)
class WordArrays:
    """Words and vectors as arrays.

    Attributes
    ----------
    vectors
        float32 (n_words, dimensions).
    text, offsets
        The words, packed as by `encode_words`.
    report
        What loading left out.
    segmentation
        A name of SEGMENTATIONS if the words are pieces of words, else None.
    """

    vectors: NDArray[np.float32]
    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    report: LoadReport
    segmentation: str | None = None

    def words(self) -> list[str]:
        """Decode all words."""
        return self.first_words(len(self.vectors))

    def first_words(self, n_words: int) -> list[str]:
        """Decode the words of the first rows."""
        offsets = self.offsets[: n_words + 1]
        return decode_words(self.text[: offsets[-1]], offsets)


def open_cached(file: VectorFile) -> WordArrays:
    """Return the words and vectors of a file; convert it first if it is new or has changed, or the cache is damaged."""
    return replace(_open_cached(file), segmentation=file.segmentation)


def _open_cached(file: VectorFile) -> WordArrays:
    convert = partial(_convert, file)
    try:
        name = _artifact_name(file)
        waiting = partial(
            logging.getLogger("tfcr").warning, "another process is converting %s; waiting for it", file.path.name
        )
        return read_artifact(SECTION, name, convert, _word_arrays, waiting=waiting)
    except OSError:  # a full or read-only disk
        return _word_arrays(make_in_memory(convert))


def _artifact_name(file: VectorFile) -> str:
    status = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in file.files]
    return f"{digest_of(str(file.path.resolve()))[:12]}-{digest_of(status, file.format)[:12]}"


def _word_arrays(artifact: Artifact) -> WordArrays:
    text, offsets = packed_strings(artifact.arrays, "words")
    vectors = get_array(artifact.arrays, "vectors", "f", (len(offsets) - 1, None))
    try:
        return WordArrays(vectors, text, offsets, LoadReport(**artifact.facts))
    except TypeError as error:
        raise DamagedError(f"its facts are not those of vectors ({error})") from None


def _convert(file: VectorFile, writer: ArtifactWriter) -> None:
    """Write words and vectors chunk by chunk, leaving out words that are repeated or not UTF-8."""
    seen: set[bytes] = set()
    lengths: list[int] = []
    n_read = not_utf8 = 0
    for chunk in file.read():
        n_read += len(chunk.words)
        kept = []
        for row, word in enumerate(chunk.words):
            if word in seen:
                continue
            if not _is_utf8(word):
                not_utf8 += 1
                continue
            seen.add(word)
            kept.append(row)
            lengths.append(len(word))
        vectors = chunk.vectors if len(kept) == len(chunk.words) else chunk.vectors[kept]
        writer.append("vectors", np.asarray(vectors, np.float32))
        writer.append("words.text", np.frombuffer(b"".join([chunk.words[row] for row in kept]), np.uint8))
    if not lengths:
        raise EmbeddingsError(f"{file.path} holds no vectors; expected at least one")
    writer.append("words.offsets", np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    report = LoadReport(n_read, not_utf8, n_read - not_utf8 - len(lengths))
    writer.facts |= asdict(report)
    _warn_left_out(file.path, report)


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _warn_left_out(path: Path, report: LoadReport) -> None:
    if report.not_utf8 or report.repeated:
        warnings.warn(
            f"{path.name}: of {report.read} vectors, {report.not_utf8} were left out because their word is not "
            f"UTF-8, and {report.repeated} because their word is repeated",
            TfcrWarning,
            stacklevel=2,
        )
