"""Our records as plain arrays and JSON, and back, with every check that a file from elsewhere needs."""

from typing import Any

import numpy as np

from tfcr.errors import InputError, ModelError
from tfcr.features.blocks import AVERAGINGS
from tfcr.system.array_codec import Arrays, read_strings
from tfcr.system.array_codec import get_array as _get
from tfcr.system.array_codec import get_indices as _indices
from tfcr.system.array_codec import read_sparse as _read_sparse
from tfcr.system.array_codec import write_sparse as _write_sparse
from tfcr.system.packed_strings import bigram_numbers, encode_words
from tfcr.text.class_counts import ClassCounts, Labels
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
    """Return the classes with the type they had."""
    kind = _LABEL_KINDS.get(stored["type"])
    if kind is None or not isinstance(stored["values"], list) or len(stored["values"]) < 2:
        raise ModelError("its classes cannot be read")
    return np.array(stored["values"], dtype=kind)


def write_table(table: WordTable) -> Arrays:
    """Return a word table as arrays."""
    text, offsets = encode_words(table.words)
    return {
        "words.text": text,
        "words.offsets": offsets,
        **_write_sparse("scores", table.scores),
        "outputs": table.outputs,
        "divisors": table.divisors,
        **_write_sparse("masses", table.masses),
        "typical": table.typical,
        "frequencies": table.frequencies,
        "intercepts": table.intercepts,
    }


def read_table(arrays: Arrays, averagings: tuple[str, ...], n_classes: int, n_bigrams: int = 0) -> WordTable:
    """Return the word table of some arrays; every number that will be used as an index is checked."""
    words = _read_words(arrays)
    _check_pairs(words, n_bigrams)
    n_outputs = 1 if n_classes == 2 else n_classes
    n_columns = len(_get(arrays, "outputs", "i", (None,)))
    n_divisors = len(averagings)
    if not set(averagings) <= set(AVERAGINGS):
        raise ModelError(f"it averages by {', '.join(averagings)}, and known are {', '.join(AVERAGINGS)}")
    return WordTable(
        words=words,
        scores=_read_sparse(arrays, "scores", (len(words), n_columns)),
        outputs=_indices(arrays, "outputs", n_columns, n_outputs),
        divisors=_indices(arrays, "divisors", n_columns, n_divisors),
        masses=_read_sparse(arrays, "masses", (len(words), n_divisors)),
        averagings=averagings,
        typical=_get(arrays, "typical", "f", (n_divisors,)),
        frequencies=_get(arrays, "frequencies", "f", (len(words),)),
        intercepts=_get(arrays, "intercepts", "f", (n_outputs,)),
        n_bigrams=n_bigrams,
    )


def _check_pairs(words: list[str], n_bigrams: object) -> None:
    if type(n_bigrams) is not int or not 0 <= n_bigrams <= len(words):
        raise ModelError(f"it says that {n_bigrams!r} of its {len(words)} terms are bigrams")
    try:
        bigram_numbers(words, n_bigrams)
    except InputError as error:
        raise ModelError(str(error)) from None


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


def _read_words(arrays: Arrays) -> list[str]:
    return read_strings(arrays, "words")
