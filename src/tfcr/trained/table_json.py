"""A trained model as one JSON document that others can read and classify by; docs/export.md describes it.

Its arrays are those of the word table, as base64. Its tokeniser is a table too, what to do with each character, so that
a reader needs no rules of its own, and no other version of Unicode can split a text otherwise than Python did.
"""

import json
import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.features.blocks import AVERAGINGS
from tfcr.kernels.layout import ENTRY
from tfcr.text.tokenizers import TOKENIZERS, AnyTokenizer, Tokenizer, tokenizer_name
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.codec import write_decision
from tfcr.trained.model import TrainedModel
from tfcr.trained.word_table import PieceTable, Rows, WordTable

FORMAT, VERSION = "tfcr-table", 1

_TYPES = {"int8": "int8", "uint8": "uint8", "uint16": "<u2", "uint32": "<u4", "float32": "<f4"}
"""Types of numbers, by the name that the document has for them; in little-endian order. And bfloat16, below."""


def table_json(model: TrainedModel) -> str:
    """Return a model as a JSON document; raise InputError if its tokeniser cannot run elsewhere."""
    written = json.dumps(as_document(model), ensure_ascii=False, separators=(",", ":"))
    try:
        written.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, in a word or a label
        return json.dumps(as_document(model), separators=(",", ":"))
    return written


def as_document(model: TrainedModel) -> dict[str, Any]:
    """Return a model as what JSON holds."""
    table, vocabulary = model.table, model.table.vocabulary
    return {
        "format": FORMAT,
        "version": VERSION,
        "classes": [str(label) for label in model.classes.tolist()],
        "link": model.decision.link,
        "decision": write_decision(model.decision),
        "tokenizer": _tokenizer(model.tokenizer),
        "intercepts": table.intercepts.tolist(),
        "starts": table.starts.tolist(),
        "outputs": table.outputs.tolist(),
        "divisors": [_divisor(name) for name in table.averagings],
        "scales": numbers(table.scales),
        "words": {"terms": _joined(vocabulary.words, " "), **_rows(table.words)},
        "bigrams": {
            "terms": numbers(_smallest(vocabulary.bigrams)),
            "skip_symbols": not _holds_symbols(vocabulary),
            **_rows(table.bigrams),
        },
        "entries": {
            "sizes": numbers(_smallest(np.diff(table.entries.places[:, ENTRY].astype(np.int64)))),
            "groups": numbers(_smallest(table.entries.groups)),
            "weights": numbers(table.entries.weights),
            "values": numbers(table.entries.values),
        },
        "pieces": [_pieces(some) for some in table.pieces],
    }


def _holds_symbols(vocabulary: Vocabulary) -> bool:
    return bool(len(vocabulary.bigrams)) and vocabulary.bigrams_hold_symbols


def _divisor(averaging: str) -> dict[str, Any]:
    row = AVERAGINGS[averaging]
    return {"weights": row.weights, "length": row.length, "one": row.one, "sublinear": row.sublinear}


def _rows(rows: Rows) -> dict[str, Any]:
    return {"groups": rows.groups.tolist(), "weights": numbers(rows.weights), "values": numbers(rows.values)}


def _pieces(table: PieceTable) -> dict[str, Any]:
    """Return the pieces of words; a space stands at the edges of words, and a line break between pieces."""
    terms = _joined(table.pieces.names, "\n")
    return {"segmentation": table.pieces.segmentation, "terms": terms, **_rows(table.rows)}


def _joined(terms: Iterable[str], separator: str) -> str:
    """Return terms as one text; one that holds the separator is empty, as no token of a text can be the same."""
    return separator.join("" if separator in term else term for term in terms)


# numbers -----------------------------------------------------------------------------------------------------------


def numbers(array: NDArray[Any]) -> dict[str, str]:
    """Return an array as the name of its type, and its bytes in base64.

    bfloat16 is the upper half of a float32, if the lower half is 0 throughout.

    >>> numbers(np.array([1, -2], np.int8))
    {'type': 'int8', 'data': 'Af4='}
    >>> numbers(np.array([1.5], np.float32))
    {'type': 'bfloat16', 'data': 'wD8='}
    """
    kind = array.dtype.name
    found = np.ascontiguousarray(array, _TYPES[kind])
    if kind == "float32" and is_short(found):
        kind, found = "bfloat16", (found.view("<u4") >> 16).astype("<u2")
    return {"type": kind, "data": b64encode(found.tobytes()).decode()}


def is_short(array: NDArray[np.float32]) -> bool:
    """Return whether the lower half of every float32 is 0."""
    return not (array.astype(np.float32).view(np.uint32) & 0xFFFF).any()


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as the smallest type that holds them."""
    largest = int(array.max(initial=0))
    return array.astype(next(kind for kind in (np.uint8, np.uint16, np.uint32) if largest <= np.iinfo(kind).max))


# tokenisers --------------------------------------------------------------------------------------------------------


def check_exportable(tokenizer: AnyTokenizer) -> None:
    """Raise InputError if no table of characters defines the tokens: a dictionary or a function cannot be exported."""
    if not isinstance(tokenizer, Tokenizer) or tokenizer.table is None:
        possible = ", ".join(name for name, row in TOKENIZERS.items() if row.table is not None)
        raise InputError(
            f"found a model with the tokenizer {tokenizer_name(tokenizer)!r}, which cannot run in a page; expected one "
            f"of {possible}: train the model again with --tokenizer words"
        )


def _tokenizer(tokenizer: AnyTokenizer) -> Mapping[str, Any]:
    check_exportable(tokenizer)
    assert isinstance(tokenizer, Tokenizer)  # noqa: S101 - for mypy: checked above
    return _tokenizer_named(tokenizer.name)


@cache
def _tokenizer_named(name: str) -> Mapping[str, Any]:
    tokenizer, categories = TOKENIZERS[name], _categories()
    return {
        "name": name,
        "lower": tokenizer.lower,
        "symbols": tokenizer.symbols,
        "unicode": unicodedata.unidata_version,
        "actions": runs(tokenizer.actions()),
        "marks": runs(categories == _MARK),
        "unassigned": runs(categories == _UNASSIGNED),
    }


_MARK, _UNASSIGNED = 1, 2


@cache
def _categories() -> NDArray[np.uint8]:
    """Return which code points are marks, and which Python's version of Unicode has not assigned."""
    kinds = {"M": _MARK, "Cn": _UNASSIGNED}
    found = (unicodedata.category(chr(code)) for code in range(0x110000))
    return np.fromiter((kinds.get(name) or kinds.get(name[0], 0) for name in found), np.uint8, 0x110000)


def runs(array: NDArray[Any]) -> list[int]:
    """Return the runs of equal values of an array over all code points: a length and a value, one after the other.

    >>> runs(np.array([4, 4, 4, 0, 7, 7]))
    [3, 4, 1, 0, 2, 7]
    """
    starts = np.flatnonzero(np.diff(array.astype(np.int64), prepend=-1))
    sizes = np.diff(starts, append=len(array))
    found: list[int] = np.stack([sizes, array[starts].astype(np.int64)], axis=1).ravel().tolist()
    return found


# sizes -------------------------------------------------------------------------------------------------------------

OF_BASE64 = 4 / 3
"""Characters per byte."""


def term_bytes(table: WordTable) -> NDArray[np.float64]:
    """Return about how many bytes each term takes in the document; (n_terms,)."""
    n_words, vocabulary = table.vocabulary.n_words, table.vocabulary
    found = np.full(len(vocabulary), _row_bytes(table.bigrams) + OF_BASE64 * 2 * vocabulary.bigrams.itemsize / 2)
    found[:n_words] = 1 + _row_bytes(table.words) + np.fromiter(map(_text_bytes, vocabulary.words), np.float64, n_words)
    per_entry = 1 + _weight_bytes(table.entries.weights) + table.entries.values.itemsize
    places = table.entries.places[:, ENTRY].astype(np.int64)
    of_values = np.diff(table.entries.places.astype(np.int64)[:, 1]) * table.entries.values.itemsize
    found[: len(places) - 1] += OF_BASE64 * (
        1 + np.diff(places) * (per_entry - table.entries.values.itemsize) + of_values
    )
    return found


def piece_bytes(table: PieceTable) -> NDArray[np.float64]:
    """Return about how many bytes each piece takes; (n_pieces,)."""
    names = table.pieces.names
    return 2 + _row_bytes(table.rows) + np.fromiter(map(_text_bytes, names), np.float64, len(names))


def _row_bytes(rows: Rows) -> float:
    one: int = rows.values.shape[1] * rows.values.itemsize + rows.weights.shape[1] * _weight_bytes(rows.weights)
    return OF_BASE64 * one


def _weight_bytes(weights: NDArray[np.float32]) -> int:
    return 2 if is_short(weights) else 4


def _text_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
