"""Word tables, counts and classes as plain arrays and JSON, and back, with every check that a foreign file needs."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import InputError, ModelError
from tfcr.features.blocks import AVERAGINGS
from tfcr.system.packed_strings import decode_words, encode_words
from tfcr.text.class_counts import ClassCounts, Labels
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.format import Arrays
from tfcr.trained.word_table import WordTable

_LABEL_KINDS: dict[str, type] = {"text": str, "integer": np.int64, "number": np.float64, "boolean": np.bool_}


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
    kind = _LABEL_KINDS.get(stored["type"])
    if kind is None or not isinstance(stored["values"], list) or len(stored["values"]) < 2:
        raise ModelError("its classes cannot be read")
    return np.array(stored["values"], dtype=kind)


def write_table(table: WordTable) -> Arrays:
    """Return a word table as arrays."""
    text, offsets = encode_words(table.vocabulary.words)
    return {
        "words.text": text,
        "words.offsets": offsets,
        "bigrams": table.vocabulary.bigrams,
        **_write_sparse("scores", table.scores),
        "outputs": table.outputs,
        "divisors": table.divisors,
        **_write_sparse("divisor_weights", table.divisor_weights),
        "typical": table.typical,
        "frequencies": table.frequencies,
        "intercepts": table.intercepts,
    }


def read_table(arrays: Arrays, averagings: tuple[str, ...], n_outputs: int) -> WordTable:
    """Return the word table of some arrays; every number that will be used as an index is checked."""
    vocabulary = _read_vocabulary(arrays)
    n_columns = len(_get(arrays, "outputs", "i", (None,)))
    n_terms, n_divisors = len(vocabulary), len(averagings)
    if not set(averagings) <= set(AVERAGINGS):
        raise ModelError(f"it averages by {', '.join(averagings)}, and known are {', '.join(AVERAGINGS)}")
    return WordTable(
        vocabulary=vocabulary,
        scores=_read_sparse(arrays, "scores", (n_terms, n_columns)),
        outputs=_indices(arrays, "outputs", n_columns, n_outputs),
        divisors=_indices(arrays, "divisors", n_columns, n_divisors),
        divisor_weights=_read_sparse(arrays, "divisor_weights", (n_terms, n_divisors)),
        averagings=averagings,
        typical=_get(arrays, "typical", "f", (n_divisors,)),
        frequencies=_get(arrays, "frequencies", "f", (n_terms,)),
        intercepts=_get(arrays, "intercepts", "f", (n_outputs,)),
    )


def _read_vocabulary(arrays: Arrays) -> Vocabulary:
    words = _read_words(arrays)
    bigrams = _get(arrays, "bigrams", "i", (None, 2))
    if len(bigrams) and (bigrams.min() < 0 or bigrams.max() >= len(words)):
        raise ModelError("the array 'bigrams' points outside of its words")
    return Vocabulary(words, bigrams.astype(np.int32))


def upgrade_table(arrays: Arrays, n_bigrams: object) -> Arrays:
    """Return a table of schema 1 or 2 as one of schema 3: the last words of its list were bigrams, "one two"."""
    terms = _read_words(arrays)
    if type(n_bigrams) is not int or not 0 <= n_bigrams <= len(terms):
        raise ModelError(f"it says that {n_bigrams!r} of its {len(terms)} terms are bigrams")
    words, names = terms[: len(terms) - n_bigrams], terms[len(terms) - n_bigrams :]
    numbers = dict(zip(words, range(len(words)), strict=True))
    try:
        pairs = [(numbers[one], numbers[two]) for one, two in (name.split(" ") for name in names)]
    except (KeyError, ValueError):
        raise ModelError("it has bigrams that are not made of two of its words") from None
    text, offsets = encode_words(words)
    renamed = {key.replace("masses", "divisor_weights"): array for key, array in arrays.items()}
    bigrams = np.array(pairs, np.int32).reshape(-1, 2)
    return {**renamed, "words.text": text, "words.offsets": offsets, "bigrams": bigrams}


def write_counts(counts: ClassCounts) -> Arrays:
    """Return counts as arrays; both matrices stay sparse."""
    text, offsets = encode_words(counts.words)
    return {
        "words.text": text,
        "words.offsets": offsets,
        "word_occurrences": counts.word_occurrences,
        "word_documents": counts.word_documents,
        "class_occurrences": counts.class_occurrences,
        "class_documents": counts.class_documents,
        "totals": np.array([counts.n_occurrences, counts.n_documents]),
        **_write_sparse("occurrences", counts.occurrences),
        **_write_sparse("documents", counts.documents),
    }


def read_counts(arrays: Arrays, classes: Labels) -> ClassCounts:
    """Return the counts of some arrays."""
    words = _read_words(arrays)
    totals = _get(arrays, "totals", "f", (2,))
    return ClassCounts(
        words=words,
        classes=classes,
        occurrences=_read_sparse(arrays, "occurrences", (len(words), len(classes))),
        documents=_read_sparse(arrays, "documents", (len(words), len(classes))),
        word_occurrences=_get(arrays, "word_occurrences", "f", (len(words),)),
        word_documents=_get(arrays, "word_documents", "f", (len(words),)),
        class_occurrences=_get(arrays, "class_occurrences", "f", (len(classes),)),
        class_documents=_get(arrays, "class_documents", "f", (len(classes),)),
        n_occurrences=float(totals[0]),
        n_documents=float(totals[1]),
    )


def _get(arrays: Arrays, name: str, kind: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    array = arrays.get(name)
    if array is None:
        raise ModelError(f"the array {name!r} is missing")
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if array.dtype.kind != kind or not fits:
        raise ModelError(f"the array {name!r} is of type {array.dtype} and shape {array.shape}, not {kind} {shape}")
    return array


def _indices(arrays: Arrays, name: str, size: int, below: int) -> NDArray[np.int64]:
    array = _get(arrays, name, "i", (size,))
    if size and (array.min() < 0 or array.max() >= below):
        raise ModelError(f"the array {name!r} points outside of what it numbers")
    return array


def _read_words(arrays: Arrays) -> list[str]:
    text = _get(arrays, "words.text", "u", (None,))
    offsets = _get(arrays, "words.offsets", "i", (None,))
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(text) or (np.diff(offsets) < 0).any():
        raise ModelError("the list of its words cannot be read")
    try:
        return decode_words(text, offsets)
    except UnicodeDecodeError:
        raise ModelError("the list of its words is not UTF-8") from None


def _write_sparse(name: str, matrix: sp.csr_array) -> Arrays:
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices.astype(np.int32),
        f"{name}.indptr": matrix.indptr.astype(np.int64),
    }


def _read_sparse(arrays: Arrays, name: str, shape: tuple[int, int]) -> sp.csr_array:
    data = _get(arrays, f"{name}.data", "f", (None,))
    indices = _indices(arrays, f"{name}.indices", len(data), shape[1])
    indptr = _get(arrays, f"{name}.indptr", "i", (shape[0] + 1,))
    if indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
        raise ModelError(f"the rows of {name!r} cannot be read")
    return sp.csr_array((data, indices, indptr), shape=shape)
