"""Word tables, counts and classes as plain arrays and JSON, and back, with every check that a foreign file needs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from tfcr.errors import DamagedError, InputError, ModelError, look_up
from tfcr.features.blocks import AVERAGINGS
from tfcr.system.array_codec import (
    LARGEST,
    Arrays,
    get_array,
    get_indices,
    get_numbers,
    read_sparse,
    read_strings,
    refuse_repeated_strings,
    write_sparse,
    write_strings,
)
from tfcr.text.class_counts import ClassCounts, Labels
from tfcr.text.labels import LabelError, label_array
from tfcr.text.pieces import SEGMENTATIONS, Pieces
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.word_table import PieceTable, WordTable

SMALLEST = 1e-36
"""Smaller divisors are refused: float32 holds few digits of them."""

_PIECES = "pieces{}"
"""What the names of a piece table's arrays begin with."""

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
    if not isinstance(values, list) or len(values) < 2 or not all(type(label) in in_json for label in values):
        raise ModelError("its classes cannot be read")
    try:
        classes = label_array(np.array(values, dtype=in_numpy))
    except (LabelError, OverflowError):
        raise ModelError("its classes are too large, or no labels") from None
    if not (classes[:-1] < classes[1:]).all():
        raise ModelError("its classes are repeated or not sorted")
    return classes


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
        **{
            key: array for number, some in enumerate(table.pieces) for key, array in _write_pieces(number, some).items()
        },
    }


def _write_pieces(number: int, table: PieceTable) -> Arrays:
    name = _PIECES.format(number)
    return {
        **write_strings(f"{name}.names", table.pieces.names),
        f"{name}.scores": table.scores,
        f"{name}.columns": table.columns,
        f"{name}.divisor_weights": table.divisor_weights,
    }


def describe_pieces(table: WordTable) -> list[dict[str, Any]]:
    """Return what is not an array of a table's pieces, as JSON."""
    return [{"segmentation": some.pieces.segmentation, "divisor": some.divisor} for some in table.pieces]


def read_table(
    arrays: Arrays, averagings: tuple[str, ...], n_outputs: int, pieces: Sequence[Mapping[str, Any]] = ()
) -> WordTable:
    """Return the word table of some arrays; every number that will be used as an index is checked.

    `pieces` is what `describe_pieces` gave.
    """
    vocabulary = _read_vocabulary(arrays)
    n_columns = len(get_array(arrays, "outputs", "i", (None,)))
    n_terms, n_divisors = len(vocabulary), len(averagings)
    if not set(averagings) <= set(AVERAGINGS):
        raise ModelError(f"it averages by {', '.join(averagings)}; expected {', '.join(AVERAGINGS)}")
    if not 0 < n_columns <= n_outputs * n_divisors:
        raise ModelError(f"it has {n_columns} columns; expected at most one per output and divisor")
    table = WordTable(
        vocabulary=vocabulary,
        scores=_read_numbers(arrays, "scores", np.float32, (n_terms, n_columns)),
        outputs=get_indices(arrays, "outputs", n_columns, n_outputs),
        divisors=get_indices(arrays, "divisors", n_columns, n_divisors),
        divisor_weights=_read_numbers(arrays, "divisor_weights", np.float32, (n_terms, n_divisors)),
        averagings=averagings,
        typical=get_numbers(arrays, "typical", np.float32, (n_divisors,)),
        frequencies=get_numbers(arrays, "frequencies", np.float32, (n_terms,), least=0),
        intercepts=get_numbers(arrays, "intercepts", np.float64, (n_outputs,)),
        pieces=tuple(_read_pieces(arrays, number, said, averagings, n_columns) for number, said in enumerate(pieces)),
    )
    _check_divisors(table)
    return table


def _read_pieces(
    arrays: Arrays, number: int, said: Mapping[str, Any], averagings: tuple[str, ...], n_columns: int
) -> PieceTable:
    name = _PIECES.format(number)
    names = read_strings(arrays, f"{name}.names")
    refuse_repeated_strings(f"{name}.names", names)
    n_scores = len(get_array(arrays, f"{name}.columns", "i", (None,)))
    columns = get_indices(arrays, f"{name}.columns", n_scores, n_columns)
    divisor = said["divisor"]
    if type(divisor) is not int or not 0 <= divisor < len(averagings):
        raise ModelError(f"its pieces add to the divisor {divisor!r}; expected a number below {len(averagings)}")
    if not AVERAGINGS[averagings[divisor]].sublinear or len(set(columns.tolist())) < n_scores:
        raise ModelError("its pieces add to a divisor without L2 norm, or twice to a column")
    look_up(SEGMENTATIONS, said["segmentation"], "segmentation")
    return PieceTable(
        pieces=Pieces(names, said["segmentation"]),
        scores=get_numbers(arrays, f"{name}.scores", np.float32, (len(names), n_scores)),
        columns=columns,
        divisor=divisor,
        divisor_weights=get_numbers(arrays, f"{name}.divisor_weights", np.float32, (len(names),), least=0),
    )


def _check_divisors(table: WordTable) -> None:
    """Refuse what would make plain and compiled code differ: a root of less than 0, a division by almost 0."""
    is_norm = np.array([AVERAGINGS[name].sublinear for name in table.averagings])
    numbers, sizes = table.divisor_weights.data, np.abs(table.divisor_weights.data)
    if any(((some.divisor_weights > 0) & (some.divisor_weights < SMALLEST)).any() for some in table.pieces):
        raise DamagedError(f"the squares of its pieces hold a number below {SMALLEST:g}")
    if any(not np.isin(table.divisors[some.columns], some.divisor).all() for some in table.pieces):
        raise ModelError("its pieces add to columns of another divisor")
    if (numbers[is_norm[table.divisor_weights.indices]] < 0).any() or ((sizes > 0) & (sizes < SMALLEST)).any():
        raise DamagedError(f"the array 'divisor_weights.data' holds a square below 0, or a number below {SMALLEST:g}")


def _read_numbers(
    arrays: Arrays, name: str, dtype: type[np.floating[Any]], shape: tuple[int, int], least: float = -LARGEST
) -> sp.csr_array:
    """Return a sparse matrix whose numbers are checked, and of this type."""
    data = f"{name}.data"
    return read_sparse({**arrays, data: get_numbers(arrays, data, dtype, (None,), least)}, name, shape)


def _read_words(arrays: Arrays) -> list[str]:
    words = read_strings(arrays, "words")
    refuse_repeated_strings("words", words)
    return words


def _read_vocabulary(arrays: Arrays) -> Vocabulary:
    words = _read_words(arrays)
    bigrams = get_array(arrays, "bigrams", "i", (None, 2))
    if len(bigrams) and (bigrams.min() < 0 or bigrams.max() >= len(words)):
        raise ModelError("the array 'bigrams' points outside of its words")
    if len(np.unique(bigrams[:, 0].astype(np.int64) * len(words) + bigrams[:, 1])) != len(bigrams):
        raise ModelError("the array 'bigrams' holds a bigram more than once")
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
    words = _read_words(arrays)
    n_words, n_classes = len(words), len(classes)
    numbers = partial(get_numbers, arrays, dtype=np.float64, least=0)
    totals = numbers("totals", shape=(2,))
    return ClassCounts(
        words=words,
        classes=classes,
        occurrences=_read_numbers(arrays, "occurrences", np.float64, (n_words, n_classes), least=0),
        documents=_read_numbers(arrays, "documents", np.float64, (n_words, n_classes), least=0),
        word_occurrences=numbers("word_occurrences", shape=(n_words,)),
        word_documents=numbers("word_documents", shape=(n_words,)),
        class_occurrences=numbers("class_occurrences", shape=(n_classes,)),
        class_documents=numbers("class_documents", shape=(n_classes,)),
        n_occurrences=float(totals[0]),
        n_documents=float(totals[1]),
    )
