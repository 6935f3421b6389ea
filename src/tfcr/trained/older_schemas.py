"""Models of older schemas: read with every check that a foreign file needs, and turned into what is stored today.

schema 1, 2    bigrams are the last words of the list, "one two"; other names
schema 3       bigrams are pairs of word numbers
schema 4       the pieces of unseen words
schema 5       the word table as it is scored by: see `trained.codec`
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from tfcr.errors import DamagedError, ModelError, look_up
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
    write_strings,
)
from tfcr.text.pieces import SEGMENTATIONS, Pieces
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.codec import PIECES, SMALLEST
from tfcr.trained.packing import LoosePieces, LooseTable, pack
from tfcr.trained.word_table import WordTable

RENAMED = {"pairs": "bigrams", "signs": "symbols"}
"""Parts and tokenisers that models of schema 1 and 2 know by an older name."""


def upgraded_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return the config of an older schema as one of schema 3 or later."""
    if config["schema"] >= 3:
        return config
    settings, training = dict(config["settings"]), dict(config["training"])
    settings["parts"] = [RENAMED.get(part, part) for part in settings.get("parts", ["vectors"])]
    settings["tokenizer"] = RENAMED.get(settings["tokenizer"], settings["tokenizer"])
    training["part_weights"] = training.pop("shares", None) or {"vectors": 1.0}
    training["part_weights"] = {RENAMED.get(part, part): weight for part, weight in training["part_weights"].items()}
    return {**config, "settings": settings, "training": training}


def read_older_table(arrays: Arrays, config: Mapping[str, Any], n_outputs: int) -> WordTable:
    """Return the word table of a model of schema 1 to 4."""
    arrays = {name: array.copy() for name, array in arrays.items()}  # what is checked cannot change afterwards
    if config["schema"] < 3:
        arrays = upgrade_table(arrays, config.get("pairs", 0))
    return pack(read_loose_table(arrays, tuple(config["averagings"]), n_outputs, config.get("pieces", ())))


def read_loose_table(
    arrays: Arrays, averagings: tuple[str, ...], n_outputs: int, pieces: Sequence[Mapping[str, Any]] = ()
) -> LooseTable:
    """Return the sparse matrices of some arrays; every number that will be used as an index is checked.

    `pieces` is what the config says of them.
    """
    vocabulary = _read_vocabulary(arrays)
    n_columns = len(get_array(arrays, "outputs", "i", (None,)))
    n_terms, n_divisors = len(vocabulary), len(averagings)
    if not set(averagings) <= set(AVERAGINGS):
        raise ModelError(f"it averages by {', '.join(averagings)}; expected {', '.join(AVERAGINGS)}")
    if not 0 < n_columns <= n_outputs * n_divisors:
        raise ModelError(f"it has {n_columns} columns; expected at most one per output and divisor")
    table = LooseTable(
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
) -> LoosePieces:
    name = PIECES.format(number)
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
    return LoosePieces(
        pieces=Pieces(names, said["segmentation"]),
        scores=get_numbers(arrays, f"{name}.scores", np.float32, (len(names), n_scores)),
        columns=columns,
        divisor=divisor,
        divisor_weights=get_numbers(arrays, f"{name}.divisor_weights", np.float32, (len(names),), least=0),
    )


def _check_divisors(table: LooseTable) -> None:
    """Refuse what would make plain and compiled code differ: a root of less than 0, a division by almost 0."""
    is_norm = np.array([AVERAGINGS[name].sublinear for name in table.averagings])
    numbers, sizes = table.divisor_weights.data, np.abs(table.divisor_weights.data)
    if any(((some.divisor_weights > 0) & (some.divisor_weights < SMALLEST)).any() for some in table.pieces):
        raise DamagedError(f"the squares of its pieces hold a number below {SMALLEST:g}")
    if len({some.divisor for some in table.pieces}) < len(table.pieces):
        raise ModelError("two lists of its pieces add to the same divisor")
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


def _read_vocabulary(arrays: Arrays) -> Vocabulary:
    words = read_strings(arrays, "words")
    refuse_repeated_strings("words", words)
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
