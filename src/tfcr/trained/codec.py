"""Word tables, counts and classes as plain arrays and JSON, and back, with every check that a foreign file needs."""

from typing import Any

import numpy as np

from tfcr.errors import InputError, ModelError
from tfcr.features.blocks import AVERAGINGS
from tfcr.system.array_codec import (
    Arrays,
    get_array,
    get_indices,
    read_sparse,
    read_strings,
    write_sparse,
    write_strings,
)
from tfcr.text.class_counts import ClassCounts, Labels
from tfcr.text.labels import label_array
from tfcr.text.vocabulary import Vocabulary
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
    return label_array(np.array(stored["values"], dtype=kind))


def write_table(table: WordTable) -> Arrays:
    """Return a word table as arrays."""
    return {
        **write_strings("words", table.vocabulary.words),
        "bigrams": table.vocabulary.bigrams,
        **write_sparse("scores", table.scores),
        "outputs": table.outputs,
        "divisors": table.divisors,
        **write_sparse("divisor_weights", table.divisor_weights),
        "typical": table.typical,
        "frequencies": table.frequencies,
        "intercepts": table.intercepts,
    }


def read_table(arrays: Arrays, averagings: tuple[str, ...], n_outputs: int) -> WordTable:
    """Return the word table of some arrays; every number that will be used as an index is checked."""
    vocabulary = _read_vocabulary(arrays)
    n_columns = len(get_array(arrays, "outputs", "i", (None,)))
    n_terms, n_divisors = len(vocabulary), len(averagings)
    if not set(averagings) <= set(AVERAGINGS):
        raise ModelError(f"it averages by {', '.join(averagings)}; expected {', '.join(AVERAGINGS)}")
    return WordTable(
        vocabulary=vocabulary,
        scores=read_sparse(arrays, "scores", (n_terms, n_columns)),
        outputs=get_indices(arrays, "outputs", n_columns, n_outputs),
        divisors=get_indices(arrays, "divisors", n_columns, n_divisors),
        divisor_weights=read_sparse(arrays, "divisor_weights", (n_terms, n_divisors)),
        averagings=averagings,
        typical=get_array(arrays, "typical", "f", (n_divisors,)),
        frequencies=get_array(arrays, "frequencies", "f", (n_terms,)),
        intercepts=get_array(arrays, "intercepts", "f", (n_outputs,)),
    )


def _read_vocabulary(arrays: Arrays) -> Vocabulary:
    words = read_strings(arrays, "words")
    bigrams = get_array(arrays, "bigrams", "i", (None, 2))
    if len(bigrams) and (bigrams.min() < 0 or bigrams.max() >= len(words)):
        raise ModelError("the array 'bigrams' points outside of its words")
    return Vocabulary(words, bigrams.astype(np.int32))


def upgrade_table(arrays: Arrays, n_bigrams: object) -> Arrays:
    """Return a table of schema 1 or 2 as one of schema 3: the last words of its list were bigrams, "one two"."""
    terms = read_strings(arrays, "words")
    if type(n_bigrams) is not int or not 0 <= n_bigrams <= len(terms):
        raise ModelError(f"it says that {n_bigrams!r} of its {len(terms)} terms are bigrams")
    words, names = terms[: len(terms) - n_bigrams], terms[len(terms) - n_bigrams :]
    numbers = dict(zip(words, range(len(words)), strict=True))
    try:
        pairs = [(numbers[one], numbers[two]) for one, two in (name.split(" ") for name in names)]
    except (KeyError, ValueError):
        raise ModelError("it has bigrams that are not made of two of its words") from None
    renamed = {key.replace("masses", "divisor_weights"): array for key, array in arrays.items()}
    bigrams = np.array(pairs, np.int32).reshape(-1, 2)
    return {**renamed, **write_strings("words", words), "bigrams": bigrams}


def write_counts(counts: ClassCounts) -> Arrays:
    """Return counts as arrays; both matrices stay sparse."""
    return {
        **write_strings("words", counts.words),
        "word_occurrences": counts.word_occurrences,
        "word_documents": counts.word_documents,
        "class_occurrences": counts.class_occurrences,
        "class_documents": counts.class_documents,
        "totals": np.array([counts.n_occurrences, counts.n_documents]),
        **write_sparse("occurrences", counts.occurrences),
        **write_sparse("documents", counts.documents),
    }


def read_counts(arrays: Arrays, classes: Labels) -> ClassCounts:
    """Return the counts of some arrays."""
    words = read_strings(arrays, "words")
    totals = get_array(arrays, "totals", "f", (2,))
    return ClassCounts(
        words=words,
        classes=classes,
        occurrences=read_sparse(arrays, "occurrences", (len(words), len(classes))),
        documents=read_sparse(arrays, "documents", (len(words), len(classes))),
        word_occurrences=get_array(arrays, "word_occurrences", "f", (len(words),)),
        word_documents=get_array(arrays, "word_documents", "f", (len(words),)),
        class_occurrences=get_array(arrays, "class_occurrences", "f", (len(classes),)),
        class_documents=get_array(arrays, "class_documents", "f", (len(classes),)),
        n_occurrences=float(totals[0]),
        n_documents=float(totals[1]),
    )
