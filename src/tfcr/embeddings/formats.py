"""The vector files that tfcr reads and writes, one row each in FORMATS.

A reader yields the file in chunks, words as bytes and vectors as float32; its errors name the line or byte. To add a
format, write its functions and add a row.
"""

import io
import math
import mmap
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from safetensors.numpy import save as dump_tensors

from tfcr.errors import DamagedError, EmbeddingsError, TfcrError, in_one_line, look_up, unknown_name
from tfcr.system.array_codec import Arrays, packed_strings, write_strings
from tfcr.system.files import write_file, written_beside
from tfcr.system.limits import (
    UNREADABLE,
    is_folder,
    is_from_system,
    is_packed,
    is_there,
    limit,
    open_regular,
    open_unpacked,
    parse_json,
    read_regular,
)
from tfcr.text.pieces import SEGMENTATIONS

CHUNK_BYTES = 1 << 24
SAMPLE_BYTES = 1 << 16
"""How much of a file's beginning its format is detected from."""
WORD_LIST_ENDINGS = (".txt", ".words", ".vocab")


@dataclass(frozen=True)
class VectorChunk:
    """Some words of a vector file and their vectors, float32 of shape (n_words, dimensions)."""

    words: list[bytes]
    vectors: NDArray[np.float32]


@dataclass(frozen=True)
class Sample:
    """What a format is detected from: the file's path and its first bytes, decompressed."""

    path: Path
    head: bytes

    @property
    def header(self) -> tuple[int, int] | None:
        """The number of words and of dimensions, if the first line consists of these two."""
        fields = self.head.split(b"\n", 1)[0].split()
        if len(fields) == 2 and all(field.isdigit() and len(field) < 19 for field in fields):
            return int(fields[0]), int(fields[1])
        return None


def _no_files(path: Path) -> tuple[Path, ...]:
    return ()


def _no_segmentation(path: Path) -> None:
    return None


@dataclass(frozen=True)
class VectorFormat:
    """A kind of vector file.

    Attributes
    ----------
    matches
        Whether a file is of this format.
    read
        Yields its words and vectors; raises EmbeddingsError for a file that is truncated or damaged.
    write
        Writes words and vectors, float32 of shape (n_words, dimensions), atomically.
    what
        What it is called in messages.
    endings
        The file endings that stand for this format when vectors are saved.
    beside
        Other files that the vectors depend on, such as a word list.
    segmentation
        What a file says about its words: a name of SEGMENTATIONS if they are pieces of words, else None.
    write_pieces
        Writes pieces, their vectors and the name of the segmentation; None if the format has no place for the name.
    """

    matches: Callable[[Sample], bool]
    read: Callable[[Path], Iterator[VectorChunk]]
    write: Callable[[Path, Sequence[str], NDArray[np.float32]], None]
    what: str
    endings: tuple[str, ...]
    beside: Callable[[Path], tuple[Path, ...]] = _no_files
    segmentation: Callable[[Path], str | None] = _no_segmentation
    write_pieces: Callable[[Path, Sequence[str], NDArray[np.float32], str], None] | None = None


@dataclass(frozen=True)
class VectorFile:
    """A vector file and how to read it.

    Attributes
    ----------
    files
        The file itself, and the others that its vectors depend on.
    format
        The name of its format.
    read
        Yields its words and vectors.
    segmentation
        A name of SEGMENTATIONS if its words are pieces of words, else None.
    """

    files: tuple[Path, ...]
    format: str
    read: Callable[[], Iterator[VectorChunk]]
    segmentation: str | None = None

    @property
    def path(self) -> Path:
        """The file itself."""
        return self.files[0]


def vector_file(path: Path, format: str | None = None) -> VectorFile:
    """Return how to read a file: as a name of FORMATS, which is detected from its content if omitted."""
    name = format or detect_format(path)
    found = look_up(FORMATS, name, "vector format")
    with _naming(path):
        read = partial(read_named, path, found.read)
        return VectorFile((path, *found.beside(path)), name, read, found.segmentation(path))


def read_named(path: Path, read: Callable[[Path], Iterator["VectorChunk"]]) -> Iterator["VectorChunk"]:
    """Yield what `read` yields for a file; errors name the file."""
    with _naming(path):
        yield from read(path)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Raise EmbeddingsError, with the file's name, for what cannot be read."""
    try:
        yield
    except TfcrError:
        raise
    except (*UNREADABLE, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if is_from_system(error):
            raise EmbeddingsError(
                f"cannot read {getattr(error, 'filename', '') or path}: {in_one_line(error)}"
            ) from error
        raise EmbeddingsError(f"{path} is truncated or damaged ({in_one_line(error)}); get the file again") from error


def detect_format(path: Path) -> str:
    """Return the name of the file's format, detected from its content."""
    sample = Sample(path, _first_bytes(path))
    if not sample.head:
        raise EmbeddingsError(f"{path} is empty; expected a file of word vectors")
    for name, vector_format in FORMATS.items():
        if vector_format.matches(sample):
            return name
    known = "; ".join(vector_format.what for vector_format in FORMATS.values())
    raise EmbeddingsError(f"{path} has an unrecognised format; expected one of: {known}")


def format_for(path: Path) -> str:
    """Return the name of the format to save as, by the file's ending."""
    names = {ending: name for name, vector_format in FORMATS.items() for ending in vector_format.endings}
    if path.suffix not in names:
        known = ", ".join(f"{ending} ({name})" for ending, name in names.items())
        raise EmbeddingsError(f"found {path.name}; expected a file ending in one of {known}, or give format=…")
    return names[path.suffix]


def check_target(path: str) -> None:
    """Refuse a file that cannot be written, before any long work."""
    format_for(Path(path))
    if not is_folder(Path(path).parent):
        raise EmbeddingsError(
            f"the folder {Path(path).parent} does not exist; make it first: mkdir -p {Path(path).parent}"
        )


def _first_bytes(path: Path) -> bytes:
    with _naming(path), open_unpacked(path) as file:
        return file.read(SAMPLE_BYTES)


# text: GloVe (no header), word2vec and fastText (header) -------------------------------------------------------------


def _is_text_row(line: bytes, dimensions: int | None = None) -> bool:
    fields = line.rstrip().split(b" ")
    if len(fields) < 3 or (dimensions is not None and len(fields) != dimensions + 1):
        return False
    try:
        [float(field) for field in fields[1:]]
    except ValueError:
        return False
    return True


def _is_glove(sample: Sample) -> bool:
    row, newline, _ = sample.head.partition(b"\n")
    return sample.header is None and _is_text_row(row if newline else _without_last(sample, row))


def _without_last(sample: Sample, row: bytes) -> bytes:
    """Return a row that goes on beyond the sample without its last number, which may be cut off."""
    return row.rpartition(b" ")[0] if len(sample.head) >= SAMPLE_BYTES else row


def _is_word2vec_text(sample: Sample) -> bool:
    if sample.header is None:
        return False
    row, newline, _ = sample.head.partition(b"\n")[2].partition(b"\n")
    if not newline:
        row = _without_last(sample, row)
    return row == b"" or _is_text_row(row) or (len(row.split(b" ")) == 2 and _is_text_row(row + b" 0"))


def _read_glove(path: Path) -> Iterator[VectorChunk]:
    with open_unpacked(path) as file:
        yield from _TextChunks(path, file, dimensions=None, line=1, spaces_in_words=True).read()


def _read_word2vec_text(path: Path) -> Iterator[VectorChunk]:
    with open_unpacked(path) as file:
        promised, dimensions = _read_header(path, file)
        rows = 0
        for chunk in _TextChunks(path, file, dimensions=dimensions, line=2, spaces_in_words=False).read():
            rows += len(chunk.words)
            yield chunk
    if rows != promised:
        raise EmbeddingsError(
            f"{path} announces {promised} vectors in its first line and holds {rows} (to line {rows + 1}); "
            "it is truncated or damaged: get the file again"
        )


def _read_header(path: Path, file: IO[bytes]) -> tuple[int, int]:
    header = Sample(path, file.readline(200)).header
    if header is None or header[1] == 0:
        raise EmbeddingsError(f"{path}, line 1: expected the number of words and of dimensions, as in '400000 50'")
    _check_dimensions(path, header[1])
    return header


def _check_dimensions(path: Path, dimensions: int) -> None:
    if dimensions > limit("dimensions"):
        raise EmbeddingsError(
            f"{path} announces vectors of {dimensions:,} dimensions; expected at most {limit('dimensions'):,}: it is "
            "damaged, or no file of word vectors"
        )


class _TextChunks:
    """Reads rows of a word and its numbers: a whole chunk at once with polars, or line by line if polars cannot.

    The slow path handles words with spaces (as in GloVe's 840B file) and bytes that are not UTF-8, and finds the line
    to name in an error.
    """

    def __init__(
        self, path: Path, file: IO[bytes], *, dimensions: int | None, line: int, spaces_in_words: bool
    ) -> None:
        self.path = path
        self.file = file
        self.dimensions = dimensions
        self.line = line
        self.spaces_in_words = spaces_in_words

    def read(self) -> Iterator[VectorChunk]:
        for lines in self._whole_lines():
            if self.dimensions is None:
                self.dimensions = len(lines.split(b"\n", 1)[0].split()) - 1
                _check_dimensions(self.path, self.dimensions)
            self._check_lengths(lines, self.dimensions)
            chunk = self._read_fast(lines) or self._read_slowly(lines)
            self.line += lines.count(b"\n") + (not lines.endswith(b"\n"))
            yield chunk

    def _whole_lines(self) -> Iterator[bytes]:
        rest = b""
        while chunk := self.file.read(CHUNK_BYTES):
            whole, newline, part = (rest + chunk).rpartition(b"\n")
            if newline:
                yield whole + newline
            rest = part
            if len(rest) > limit("vector line"):
                raise EmbeddingsError(
                    f"{self.path} has a line of more than {limit('vector line'):,} bytes; expected a word and its "
                    "numbers in each line: it is damaged, or no file of word vectors"
                )
        if rest.strip():
            yield rest

    def _check_lengths(self, lines: bytes, dimensions: int) -> None:
        """Refuse a line far too long for its numbers, which would take parsers gigabytes."""
        most = limit("vector word") + limit("vector number") * dimensions
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n"))
        lengths = np.diff(np.concatenate([[-1], ends, [len(lines)]])) - 1
        if lengths.max() > most:
            raise EmbeddingsError(
                f"{self.path}, line {self.line + int(np.argmax(lengths))}: found {lengths.max():,} bytes; expected at "
                f"most {most:,} for a word and {dimensions} numbers"
            )

    def _read_fast(self, lines: bytes) -> VectorChunk | None:
        """Return the chunk, or None if a line needs the slow path."""
        assert self.dimensions is not None  # noqa: S101 - set by the first line
        names = [f"x{number}" for number in range(self.dimensions)]
        schema: dict[str, pl.DataType] = {"word": pl.String(), **dict.fromkeys(names, pl.Float32())}
        if lines[: lines.find(b"\n")].endswith(b" "):  # the C programs end each line with a space
            schema["end"] = pl.String()
        try:
            table = pl.read_csv(io.BytesIO(lines), separator=" ", has_header=False, quote_char=None, schema=schema)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            return None
        vectors = table.select(names).to_numpy()
        plain = table.height == lines.count(b"\n") + (not lines.endswith(b"\n"))
        plain = plain and ("end" not in schema or not (table["end"].fill_null("") != "").any())
        if not plain or table["word"].null_count() or not np.isfinite(vectors).all():
            return None
        return VectorChunk([word.encode() for word in table["word"]], np.ascontiguousarray(vectors, np.float32))

    def _read_slowly(self, lines: bytes) -> VectorChunk:
        words, rows = [], []
        for number, line in enumerate(lines.removesuffix(b"\n").split(b"\n"), start=self.line):
            if line.strip():
                word, row = self._read_line(number, line)
                words.append(word)
                rows.append(row)
        return VectorChunk(words, np.array(rows, np.float32).reshape(len(rows), -1))

    def _read_line(self, number: int, line: bytes) -> tuple[bytes, NDArray[np.float32]]:
        assert self.dimensions is not None  # noqa: S101
        fields = line.rstrip().rsplit(b" ", self.dimensions)
        where = f"{self.path}, line {number}"
        spaced = b" " in fields[0] and (not self.spaces_in_words or _is_decimal(fields[0].split(b" ")[-1]))
        if len(fields) != self.dimensions + 1 or spaced:
            found = len(line.split()) - 1
            raise EmbeddingsError(f"{where}: found {found} numbers after the word; expected {self.dimensions}")
        try:
            row = np.array([float(field) for field in fields[1:]], np.float32)
        except ValueError as error:
            raise EmbeddingsError(f"{where}: {error}; expected {self.dimensions} numbers after the word") from None
        if not np.isfinite(row).all():
            raise EmbeddingsError(f"{where}: the vector of {_shown(fields[0])} holds NaN or infinity; expected numbers")
        return fields[0], row


def _shown(word: bytes) -> str:
    return repr(word.decode("utf-8", "backslashreplace"))


def _is_decimal(field: bytes) -> bool:
    """Return whether a field is a number of a vector, such as -0.12 or 1e-05, and not a word such as 2012."""
    try:
        float(field)
    except ValueError:
        return False
    return b"." in field.strip(b".") or b"e" in field


# word2vec binary -------------------------------------------------------------------------------------------------


def _is_word2vec_binary(sample: Sample) -> bool:
    return sample.header is not None and not _is_word2vec_text(sample)


def _read_word2vec_binary(path: Path) -> Iterator[VectorChunk]:
    _refuse_packed(path)
    with open_regular(path) as file:
        promised, dimensions = _read_header(path, file)
        start = file.tell()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield from _binary_chunks(path, data, start, promised, dimensions)


def _refuse_packed(path: Path) -> None:
    """Refuse a file that cannot be memory-mapped."""
    if is_packed(path):
        raise EmbeddingsError(f"{path} is a gzipped binary file; decompress it first: gunzip {path.name}")


def _space_after_word(path: Path, data: mmap.mmap, position: int) -> int:
    end = position + limit("vector word")
    space = data.find(b" ", position, end)
    if space < 0 and end < len(data):
        raise EmbeddingsError(
            f"{path}, byte {position}: found no space within {limit('vector word'):,} bytes; expected a word, a space "
            "and its vector: it is damaged"
        )
    return space


def _binary_chunks(path: Path, data: mmap.mmap, position: int, promised: int, dimensions: int) -> Iterator[VectorChunk]:
    size = 4 * dimensions
    per_chunk = max(1, CHUNK_BYTES // size)
    for first in range(0, promised, per_chunk):
        words, starts, pieces = [], [], []
        for number in range(first, min(first + per_chunk, promised)):
            space = _space_after_word(path, data, position)
            if space < 0 or space + 1 + size > len(data):
                raise EmbeddingsError(
                    f"{path}, byte {position}: found the end of the file in vector {number + 1} of the {promised} "
                    "announced in its first line; it is truncated: get the file again"
                )
            words.append(data[position:space].lstrip(b"\n"))  # the C program writes a newline after each vector
            starts.append(position)
            pieces.append(data[space + 1 : space + 1 + size])
            position = space + 1 + size
        vectors = np.frombuffer(b"".join(pieces), np.dtype("<f4")).reshape(len(words), dimensions)
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            row = int(np.argmin(finite))
            raise EmbeddingsError(
                f"{path}, byte {starts[row]}: the vector of {_shown(words[row])} holds NaN or infinity; expected "
                "numbers"
            )
        yield VectorChunk(words, vectors)
    if data[position : position + 2].strip(b"\n"):
        raise EmbeddingsError(
            f"{path}, byte {position}: found more data after the {promised} vectors announced in the first line; "
            "it is damaged: get the file again"
        )


# numpy arrays with a list of words ---------------------------------------------------------------------------------


def _is_npy(sample: Sample) -> bool:
    return sample.head.startswith(b"\x93NUMPY")


def _read_npy(path: Path) -> Iterator[VectorChunk]:
    yield from array_chunks(path, _read_word_list(path))


def array_chunks(path: Path, words: list[bytes]) -> Iterator[VectorChunk]:
    """Read the vectors of `words` from a .npy."""
    return _row_chunks(path, words, _load_array(path))


def _row_chunks(path: Path, words: list[bytes], vectors: NDArray[Any]) -> Iterator[VectorChunk]:
    """Read the rows of a memory-mapped array, of any type that `_float32` takes."""
    if vectors.shape[1] == 0:
        raise EmbeddingsError(f"{path} holds vectors of no dimensions; expected one or more")
    _check_dimensions(path, vectors.shape[1])
    if len(words) != len(vectors):
        raise EmbeddingsError(
            f"{path} holds {len(vectors)} vectors and its word list {len(words)} words; expected the same number"
        )
    per_chunk = max(1, CHUNK_BYTES // (4 * vectors.shape[1]))
    for first in range(0, len(words), per_chunk):
        chunk = _float32(vectors[first : first + per_chunk])
        finite = np.isfinite(chunk).all(axis=1)
        if not finite.all():
            row = first + int(np.argmin(finite))
            raise EmbeddingsError(
                f"{path}, row {row + 1}: the vector of {_shown(words[row])} holds NaN or infinity; expected numbers"
            )
        yield VectorChunk(words[first : first + per_chunk], chunk)


_NPY_HEADER = {
    "descr": re.compile(r"""['"]descr['"]\s*:\s*['"]([<>=|]?[fiu][0-9]{1,2})['"]"""),
    "fortran_order": re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)"""),
    "shape": re.compile(r"""['"]shape['"]\s*:\s*\(\s*([0-9]{1,15})\s*,\s*([0-9]{1,15})\s*,?\s*\)"""),
}
"""The three entries of a .npy's header, a dict as Python prints it, if it is a two-dimensional array of numbers."""


def _load_array(path: Path) -> NDArray[Any]:
    """Open a two-dimensional .npy, memory-mapped.

    The header is matched, not evaluated as numpy does, so that a damaged or hostile one is refused in a known way. An
    array of objects, which needs pickle, has none that matches.
    """
    _refuse_packed(path)
    with open_regular(path) as file:
        magic = file.read(8)
        width = 2 if magic[6:7] == b"\x01" else 4
        size = int.from_bytes(file.read(width), "little")
        header = file.read(min(size, limit("array header"))).decode("utf-8", "replace")
        start, file_size = file.tell(), file.seek(0, io.SEEK_END)
    found = {key: pattern.search(header) for key, pattern in _NPY_HEADER.items()}
    if found["descr"] and found["fortran_order"] and not found["shape"]:
        raise EmbeddingsError(
            f"{path}: the header is {' '.join(header.split())[:200]!r}; expected an array of two dimensions, the shape "
            "(n_words, dimensions)"
        )
    if not magic.startswith(b"\x93NUMPY") or None in found.values() or start != 8 + width + size:
        raise EmbeddingsError(
            f"{path} is not a plain array of numbers of shape (n_words, dimensions): its header is "
            f"{' '.join(header.split())[:200]!r}; arrays of objects need pickle, which can run code, and are refused: "
            "save it again with numpy.save(path, array.astype('float32'))"
        )
    kind, order, shape = (match.groups() for match in found.values() if match)
    dtype, rows, columns = np.dtype(kind[0]), int(shape[0]), int(shape[1])
    _check_dimensions(path, columns)
    if start + dtype.itemsize * rows * columns > file_size:
        raise EmbeddingsError(f"{path} announces {rows:,} vectors and is too short for them; get the file again")
    if not rows * columns:  # nothing can be mapped of an empty array
        return np.zeros((rows, columns), dtype)
    return np.memmap(path, dtype, "r", start, (rows, columns), "F" if order[0] == "True" else "C")


def _float32(rows: NDArray[Any]) -> NDArray[np.float32]:
    r"""Return numbers of any type as float32; those too large become infinite, which is refused.

    A bfloat16, which numpy does not know and `_TENSOR_TYPES` calls V2, is the upper half of a float32:

    >>> _float32(np.array([b"\xc0\x3f"], "V2"))  # 1.5 as float32 is 3fc00000
    array([1.5], dtype=float32)
    """
    if rows.dtype == _BFLOAT16:
        return (np.ascontiguousarray(rows).view("<u2").astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        return np.require(rows, np.float32, ["C", "A"])  # tensors may begin at any byte


def _read_word_list(path: Path) -> list[bytes]:
    content = read_regular(_word_list_of(path), "word list")
    return content.removesuffix(b"\n").replace(b"\r\n", b"\n").split(b"\n")


def _word_list_of(path: Path) -> Path:
    """Return the file with the words of an array, in the same folder."""
    for ending in WORD_LIST_ENDINGS:
        beside = path.with_suffix(ending)
        if is_there(beside):
            return beside
    names = ", ".join(path.with_suffix(ending).name for ending in WORD_LIST_ENDINGS)
    raise EmbeddingsError(f"{path} has no word list beside it; expected {names}, with one word per line")


# safetensors --------------------------------------------------------------------------------------------------------

_BFLOAT16 = np.dtype("V2")
_TENSOR_TYPES = {
    "F16": np.dtype("<f2"),
    "BF16": _BFLOAT16,
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "U8": np.dtype("u1"),
    "I64": np.dtype("<i8"),
}
"""The types that vectors and words may have, by safetensors' names; tensors of other types are passed over."""
_TENSOR_NAMES = ("vectors", "embeddings")
_METADATA = "__metadata__"


def _is_safetensors(sample: Sample) -> bool:
    """Recognise the length of a JSON object and its beginning."""
    return sample.head[8:9] == b"{" and int.from_bytes(sample.head[:8], "little") <= limit("tensor header")


def _read_safetensors(path: Path) -> Iterator[VectorChunk]:
    tensors = _map_tensors(path)
    words = _tensor_words(path, tensors) if _has_words(tensors) else _read_word_list(path)
    yield from _row_chunks(path, words, _vector_tensor(path, tensors))


def tensor_chunks(path: Path, words: list[bytes], rows: list[int]) -> Iterator[VectorChunk]:
    """Read the vectors of `words` from these rows of a safetensors file."""
    vectors = _vector_tensor(path, _map_tensors(path))
    if rows and not 0 <= min(rows) <= max(rows) < len(vectors):
        raise EmbeddingsError(f"{path} holds {len(vectors)} vectors; expected {max(rows) + 1} or more")
    return _row_chunks(path, words, vectors[rows])


def _beside_safetensors(path: Path) -> tuple[Path, ...]:
    return () if _has_words(_map_tensors(path)) else (_word_list_of(path),)


def _map_tensors(path: Path) -> Arrays:
    """Return the tensors of a file, memory-mapped.

    The arrays are found by the file's header, since the library cannot give numpy a bfloat16: eight bytes with the
    header's length, the header in JSON, and the tensors, at offsets from the header's end.
    """
    with _header_of_tensors(path) as (header, start, size):
        tensors = {name: facts for name, facts in header.items() if name != _METADATA}
        if max((facts["data_offsets"][1] for facts in tensors.values()), default=0) != size:
            raise ValueError("tensors that do not end with the file")
        return {
            name: _map_tensor(path, _TENSOR_TYPES[facts["dtype"]], facts, start)
            for name, facts in tensors.items()
            if facts["dtype"] in _TENSOR_TYPES
        }


def _segmentation_of_tensors(path: Path) -> str | None:
    with _header_of_tensors(path) as (header, _, _):
        name = header.get(_METADATA, {}).get("segmentation")
    if name is None or (isinstance(name, str) and name in SEGMENTATIONS):
        return name
    raise EmbeddingsError(f"{path}: {unknown_name(name, SEGMENTATIONS, 'segmentation')}")


@contextmanager
def _header_of_tensors(path: Path) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Give the header, where the tensors begin, and the bytes from there on; refuse a header of other contents."""
    _refuse_packed(path)
    with open_regular(path) as file:
        size = int.from_bytes(file.read(8), "little")
        content = file.read(min(size, limit("tensor header")))
        start, file_size = file.tell(), file.seek(0, io.SEEK_END)
    try:
        if start != 8 + size:
            raise ValueError(f"a header of {size:,} bytes")
        yield dict(parse_json(content)), start, file_size - start
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise EmbeddingsError(
            f"{path} is truncated, damaged or no safetensors file ({in_one_line(error)}); get the file again"
        ) from None


def _map_tensor(path: Path, dtype: np.dtype[Any], facts: Any, start: int) -> NDArray[Any]:
    shape, (begin, end) = tuple(facts["shape"]), facts["data_offsets"]
    if not all(type(number) is int and 0 <= number < 1 << 62 for number in (*shape, begin, end)):
        raise ValueError(f"a tensor of shape {shape}")
    if end - begin != dtype.itemsize * math.prod(shape):
        raise ValueError(f"a tensor at the bytes {begin} to {end}")
    if 0 in shape or not shape:  # nothing can be mapped of an empty array, and we need none without rows
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", start + begin, shape)


def _vector_tensor(path: Path, tensors: Arrays) -> NDArray[Any]:
    """Return the tensor with the vectors: by its name, or because it is the only one that can be."""
    fitting = [name for name, array in tensors.items() if array.ndim == 2 and array.dtype.kind in "fV"]
    name = next((name for name in _TENSOR_NAMES if name in tensors), fitting[0] if len(fitting) == 1 else None)
    if name in fitting:
        return tensors[name]
    if name is not None:
        found = f"the tensor {name!r} of type {tensors[name].dtype} and shape {tensors[name].shape}"
    else:
        shown = ", ".join(fitting[:3]) + (", …" if len(fitting) > 3 else "")
        found = f"{len(fitting)} tensors that could be vectors" + (f" ({shown})" if fitting else "")
    raise EmbeddingsError(
        f"{path} holds {found}; expected one of floats, called {' or '.join(_TENSOR_NAMES)}, or alone, of shape "
        "(n_words, dimensions)"
    )


def _has_words(tensors: Arrays) -> bool:
    return "words.text" in tensors or "words.offsets" in tensors


def _tensor_words(path: Path, tensors: Arrays) -> list[bytes]:
    try:
        text, offsets = packed_strings(tensors, "words")
    except DamagedError as error:
        raise EmbeddingsError(
            f"{path} is damaged: {error}; expected the words in words.text (uint8) and words.offsets (int64)"
        ) from None
    content = text.tobytes()
    return [content[start:end] for start, end in pairwise(offsets.tolist())]


# writing -----------------------------------------------------------------------------------------------------------


def _write_glove(path: Path, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    _refuse_words_with("\n", words, "GloVe text")
    with written_beside(path) as file:
        _write_rows(file, words, vectors)


def _refuse_words_with(characters: str, words: Sequence[str], format_name: str) -> None:
    """Raise EmbeddingsError for a word that could not be read back."""
    held = next((word for word in words if any(character in word for character in characters)), None)
    if held is not None:
        raise EmbeddingsError(
            f"the word {held!r} holds white space, which {format_name} cannot store; save as .safetensors"
        )


def _write_word2vec_text(path: Path, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    _refuse_words_with(" \n", words, "word2vec text")
    with written_beside(path) as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        _write_rows(file, words, vectors)


def _write_rows(file: IO[bytes], words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    for word, vector in zip(words, vectors, strict=True):
        file.write(f"{word} {' '.join(map(str, vector.tolist()))}\n".encode())


def _write_word2vec_binary(path: Path, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    _refuse_words_with(" \n", words, "word2vec binary")
    with written_beside(path) as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode())
        for word, vector in zip(words, vectors, strict=True):
            file.write(word.encode() + b" " + vector.astype("<f4").tobytes() + b"\n")


def _write_npy(path: Path, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    beside = path.with_suffix(".txt")
    if is_there(beside) and not _is_word_list_of(path):
        raise EmbeddingsError(f"the word list of {path.name} would replace {beside}; choose another name")
    _refuse_words_with("\n\r", words, "a word list")
    write_file(beside, "".join(f"{word}\n" for word in words).encode())
    with written_beside(path) as file:
        np.save(file, np.asarray(vectors, np.float32), allow_pickle=False)


def _is_word_list_of(path: Path) -> bool:
    """Return whether the .txt beside a .npy is its word list, and not a file of the user's."""
    try:
        return len(_read_word_list(path)) == len(_load_array(path))
    except (EmbeddingsError, OSError):
        return False


def _write_safetensors(path: Path, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
    write_file(path, dump_tensors(_as_tensors(words, vectors)))


def _write_pieces_as_safetensors(
    path: Path, pieces: Sequence[str], vectors: NDArray[np.float32], segmentation: str
) -> None:
    write_file(path, dump_tensors(_as_tensors(pieces, vectors), {"segmentation": segmentation}))


def _as_tensors(words: Sequence[str], vectors: NDArray[np.float32]) -> Arrays:
    return {"vectors": np.ascontiguousarray(vectors, np.float32), **write_strings("words", words)}


FORMATS: dict[str, VectorFormat] = {
    "npy": VectorFormat(
        matches=_is_npy,
        read=_read_npy,
        write=_write_npy,
        what="a .npy with a word list beside it",
        endings=(".npy",),
        beside=lambda path: (_word_list_of(path),),
    ),
    "word2vec-text": VectorFormat(
        matches=_is_word2vec_text,
        read=_read_word2vec_text,
        write=_write_word2vec_text,
        what="word2vec text or fastText .vec, also .gz",
        endings=(".vec",),
    ),
    "word2vec-binary": VectorFormat(
        matches=_is_word2vec_binary,
        read=_read_word2vec_binary,
        write=_write_word2vec_binary,
        what="word2vec binary",
        endings=(".bin",),
    ),
    "safetensors": VectorFormat(
        matches=_is_safetensors,
        read=_read_safetensors,
        write=_write_safetensors,
        what="safetensors with the words in it, or a word list beside it",
        endings=(".safetensors",),
        beside=_beside_safetensors,
        segmentation=_segmentation_of_tensors,
        write_pieces=_write_pieces_as_safetensors,
    ),
    "glove": VectorFormat(
        matches=_is_glove, read=_read_glove, write=_write_glove, what="GloVe text, also .gz", endings=(".txt",)
    ),
}
"""In the order in which they are tried: the first that matches is the file's format."""
