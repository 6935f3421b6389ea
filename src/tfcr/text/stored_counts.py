"""Class counts as arrays, in a model or in a file of their own, and back, with every check that a foreign file needs.

A file of counts is one safetensors file, the same bytes for the same counts::

    settings                  JSON: format, schema, tokeniser, classes with their type
    words.text, …             the words, packed; the counts, sparse, in as few bytes as they need
    sha256                    the hash of all other arrays, by which a damaged file is noticed
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import DamagedError, DataError, InputError, in_one_line, shown
from tfcr.system.array_codec import (
    Arrays,
    get_array,
    get_numbers,
    read_sparse,
    read_strings,
    refuse_repeated_strings,
    write_sparse,
    write_strings,
)
from tfcr.system.files import check_writable, written_beside
from tfcr.system.limits import open_regular, parse_json, read_regular
from tfcr.system.mapped_arrays import arrays_of
from tfcr.text.class_counts import ClassCounts, Labels
from tfcr.text.labels import LabelError, label_array

if TYPE_CHECKING:
    import scipy.sparse as sp

FORMAT, SCHEMA = "tfcr-counts", 1
_SETTINGS, _HASH = "settings", "sha256"
_KNOWN_BY = (f'"{_SETTINGS}"'.encode(), b'"class_documents"')
_HEADER_BYTES = 1 << 13
"""A file's first bytes, which name all of its arrays."""


# classes -----------------------------------------------------------------------------------------------------------

_LABEL_KINDS: dict[str, tuple[tuple[type, ...], Any]] = {
    "text": ((str,), str),
    "integer": ((int,), np.int64),
    "number": ((int, float), np.float64),
    "boolean": ((bool,), np.bool_),
}
"""The types of labels: what JSON holds, and what numpy holds them as."""


def write_classes(classes: Labels) -> dict[str, Any]:
    """Return the classes and their type as JSON."""
    kinds = {"U": "text", "i": "integer", "u": "integer", "f": "number", "b": "boolean"}
    values = classes.tolist()
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in values):
        return {"type": "text", "values": values}
    if classes.dtype.kind not in kinds:
        raise InputError(f"found labels of type {classes.dtype}; a saved model takes text, numbers or booleans")
    return {"type": kinds[classes.dtype.kind], "values": values}


def read_classes(stored: dict[str, Any]) -> Labels:
    """Return the classes with their type."""
    in_json, in_numpy = _LABEL_KINDS.get(stored["type"], ((), None))
    values = stored["values"]
    if in_numpy is None or not isinstance(values, list) or not all(type(label) in in_json for label in values):
        raise DamagedError("its classes cannot be read")
    try:
        classes = label_array(np.array(values, dtype=in_numpy))
    except (LabelError, OverflowError):
        raise DamagedError("its classes are too large, or no labels") from None
    if not (classes[:-1] < classes[1:]).all():
        raise DamagedError("its classes are repeated or not sorted")
    return classes


# arrays ------------------------------------------------------------------------------------------------------------


def write_counts(counts: ClassCounts) -> Arrays:
    """Return counts as arrays; both matrices stay sparse, and whole numbers take as few bytes as they need."""
    whole = {
        **write_strings("words", counts.words),
        "word_occurrences": counts.word_occurrences,
        "word_documents": counts.word_documents,
        "class_occurrences": counts.class_occurrences,
        "class_documents": counts.class_documents,
        "totals": np.array([counts.n_occurrences, counts.n_documents]),
        **write_sparse("occurrences", counts.occurrences),
        **write_sparse("documents", counts.documents),
    }
    places = "indices", "indptr"
    if all(np.array_equal(whole[f"documents.{name}"], whole[f"occurrences.{name}"]) for name in places):
        whole = {name: array for name, array in whole.items() if name not in _OF_DOCUMENTS}
    return {name: _smallest(array) for name, array in whole.items()}


_OF_DOCUMENTS = {"documents.indices": "occurrences.indices", "documents.indptr": "occurrences.indptr"}
"""Arrays that are left out if they are the same as another: a word occurs in a class if it does in its documents."""


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers that are not negative as the smallest type that holds them, and others as they are."""
    if array.dtype.kind == "f" and not ((array >= 0) & (array < 2**32) & (array == np.floor(array))).all():
        return array
    for kind in (np.uint8, np.uint16, np.uint32):
        if int(array.max(initial=0)) <= np.iinfo(kind).max:
            return array.astype(kind)
    return array


def read_counts(arrays: Arrays, classes: Labels, tokenizer: str | None = None) -> ClassCounts:
    """Return the counts of some arrays; classes and tokeniser are stored elsewhere."""
    arrays = {**{name: arrays[same] for name, same in _OF_DOCUMENTS.items() if same in arrays}, **arrays}
    words = read_strings(arrays, "words")
    refuse_repeated_strings("words", words)
    n_words, n_classes = len(words), len(classes)
    totals = _counts(arrays, "totals", (2,))
    return ClassCounts(
        words=words,
        classes=classes,
        occurrences=_count_matrix(arrays, "occurrences", (n_words, n_classes)),
        documents=_count_matrix(arrays, "documents", (n_words, n_classes)),
        word_occurrences=_counts(arrays, "word_occurrences", (n_words,)),
        word_documents=_counts(arrays, "word_documents", (n_words,)),
        class_occurrences=_counts(arrays, "class_occurrences", (n_classes,)),
        class_documents=_counts(arrays, "class_documents", (n_classes,)),
        n_occurrences=float(totals[0]),
        n_documents=float(totals[1]),
        tokenizer=tokenizer,
    )


def _counts(arrays: Arrays, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """Return counts as float64, whole numbers or not."""
    found = get_array(arrays, name, "uf", shape).astype(np.float64)
    return get_numbers({name: found}, name, np.float64, shape, least=0)


def _count_matrix(arrays: Arrays, name: str, shape: tuple[int, int]) -> sp.csr_array:
    counts = {f"{name}.data": _counts(arrays, f"{name}.data", (None,))}
    for part in ("indices", "indptr"):
        counts[f"{name}.{part}"] = get_array(arrays, f"{name}.{part}", "iu", (None,)).astype(np.int64)
    return read_sparse(counts, name, shape)


# files -------------------------------------------------------------------------------------------------------------


def save_counts(counts: ClassCounts, path: str | os.PathLike[str]) -> None:
    """Write a file of counts beside, and rename it."""
    from safetensors.numpy import save as dump_tensors  # noqa: PLC0415 - only needed here

    settings = {
        "format": FORMAT,
        "schema": SCHEMA,
        "tokenizer": counts.tokenizer,
        "classes": write_classes(counts.classes),
    }
    arrays = {**write_counts(counts), _SETTINGS: np.frombuffer(json.dumps(settings).encode("ascii"), np.uint8)}
    content = dump_tensors({name: np.ascontiguousarray(array) for name, array in _with_hash(arrays).items()})
    try:
        with written_beside(Path(path)) as file:
            file.write(content)
    except OSError as error:
        raise DataError(f"cannot write the counts to {path}: {error.strerror or error}") from error


def check_target(path: str | os.PathLike[str]) -> None:
    """Raise DataError, before any long work, if counts cannot be saved to this file."""
    try:
        check_writable(Path(path))
    except OSError as error:
        raise DataError(f"cannot write the counts to {path}: {error.strerror or error}") from error


def load_counts(path: str | os.PathLike[str]) -> ClassCounts:
    """Return the counts of a file; raise DataError if it is damaged, foreign, or newer than this tfcr."""
    try:
        content = read_regular(Path(path), "model file")
    except FileNotFoundError:
        raise DataError(f"{path} does not exist; expected a file of counts: tfcr counts make DATA -o {path}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    if not _looks_like_counts(content):
        raise DataError(f"{path} is not a file of counts; expected one that tfcr counts make or save() wrote")
    try:
        return _read_file(arrays_of(memoryview(content)))
    except (DamagedError, LookupError, TypeError, ValueError, AttributeError, OverflowError, MemoryError) as error:
        if isinstance(error, _NewerError):
            raise DataError(f"{path} {error}") from None
        raise DataError(f"{path} is damaged: {in_one_line(error)}; make it again: tfcr counts make") from None


def is_counts_file(path: str | os.PathLike[str]) -> bool:
    """Return whether this looks like a file of counts, by its first bytes."""
    try:
        with open_regular(Path(path)) as file:
            return _looks_like_counts(file.read(_HEADER_BYTES))
    except (OSError, ValueError):
        return False


def total_of_files(paths: Iterable[str]) -> ClassCounts:
    """Return the sum of files of counts, which are read one after the other; the same whatever their order."""
    where: list[str] = []

    def loaded() -> Iterator[ClassCounts]:
        for path in paths:
            where[:] = [path]
            yield load_counts(path)

    try:
        return ClassCounts.total(loaded())
    except InputError as error:  # which knows no files
        raise InputError(f"{where[0]}: {error}" if where else str(error)) from None


class _NewerError(DamagedError):
    """A later tfcr wrote the file."""


def _looks_like_counts(content: bytes) -> bool:
    return all(name in content[:_HEADER_BYTES] for name in _KNOWN_BY)


def _read_file(arrays: Arrays) -> ClassCounts:
    settings = parse_json(get_array(arrays, _SETTINGS, "u", (None,)).astype(np.uint8).tobytes())
    schema = settings["schema"]
    if settings["format"] != FORMAT or type(schema) is not int or schema < 1:
        raise DamagedError("its settings lack the format or the schema")
    if schema > SCHEMA:
        raise _NewerError(
            f"is of schema {schema}, and this tfcr reads up to {SCHEMA}; update it with: pip install --upgrade tfcr"
        )
    given = arrays.pop(_HASH, np.zeros(0, np.uint8))
    if not np.array_equal(_with_hash(arrays)[_HASH], given):
        raise DamagedError("it is not what was saved")
    tokenizer = settings["tokenizer"]
    if not isinstance(tokenizer, str | None):
        raise DamagedError(f"its tokenizer is {shown(tokenizer)}; expected a name")
    return read_counts(arrays, read_classes(settings["classes"]), tokenizer)


def _with_hash(arrays: Arrays) -> Arrays:
    """Return the arrays and the SHA-256 of their names, types, shapes and bytes."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.data if array.size else b"")
    return {**arrays, _HASH: np.frombuffer(digest.digest(), np.uint8)}
