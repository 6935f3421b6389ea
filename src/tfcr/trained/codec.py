"""Word tables and decisions as plain arrays and JSON, and back, with every check that a foreign file needs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import LINKS, RULES, Calibration, Decision
from tfcr.errors import DamagedError, ModelError, look_up, shown
from tfcr.features.blocks import AVERAGINGS
from tfcr.kernels.layout import ENTRY, VALUE
from tfcr.system.array_codec import (
    LARGEST,
    Arrays,
    get_array,
    get_bounds,
    get_indices,
    get_numbers,
)
from tfcr.text.class_counts import Labels
from tfcr.text.label_sets import FORMS
from tfcr.text.lexicon import MARGIN, BigramLexicon, Lexicon, number_bits
from tfcr.text.pieces import SEGMENTATIONS, Pieces
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.word_table import Entries, PieceTable, Rows, WordTable

SMALLEST = 1e-36
"""Smaller divisors are refused: float32 holds few digits of them."""

PIECES = "pieces{}"
"""What the names of a piece table's arrays begin with."""

_MAPPED = (".text", ".weights", ".values", "deviations")
"""Arrays that stay in the file: large ones, whose numbers are no indices. (Those of scales are bounded in use.)"""


def write_decision(decision: Decision) -> dict[str, Any]:
    """Return what a decision holds besides classes and link, as JSON."""
    known = decision.calibration
    return {
        "form": decision.form,
        "thresholds": _listed(decision.thresholds),
        "calibration": known and {"scale": known.scale, "offsets": known.offsets.tolist()},
        "rule": decision.rule,
        "least_probabilities": _listed(decision.least_probabilities),
        "costs": _listed(decision.costs),
    }


def _listed(array: NDArray[np.float64] | None) -> list[Any] | None:
    return None if array is None else array.tolist()


def read_decision(classes: Labels, link: str, stored: Mapping[str, Any] | None) -> Decision:
    """Return how scores become labels; older models hold nothing besides classes and link."""
    if len(classes) < 2:
        raise ModelError(f"it has {len(classes)} classes; expected two at least")
    look_up(LINKS, link, "link")
    if stored is None:
        decision = Decision(classes, link)
    else:
        thresholds = stored["thresholds"]
        limits = None if thresholds is None else np.array(thresholds, np.float64)
        decision = Decision(
            classes,
            link,
            stored["form"],
            limits,
            _read_calibration(classes, stored),
            stored["rule"],
            _read_positive(stored, "least_probabilities", classes.shape),
            _read_positive(stored, "costs", (len(classes), len(classes))),
        )
        if stored["form"] not in FORMS or not (limits is None or _are_numbers(limits, classes)):
            raise ModelError("its thresholds, or the form of its labels, cannot be read")
        if stored["rule"] not in RULES:
            raise ModelError(f"it picks labels by {shown(stored['rule'])}; known: {', '.join(RULES)}")
    if decision.several and (decision.least_probabilities is not None or decision.costs is not None):
        raise ModelError("it gives several labels, and has a precision or costs, which are of one")
    if decision.several != (link == "independent"):
        raise ModelError(f"it has the link {link!r}, which is not that of its labels")
    return decision


def _read_calibration(classes: Labels, stored: Mapping[str, Any]) -> Calibration | None:
    known = stored["calibration"]
    if known is None:
        return None
    found = Calibration(float(known["scale"]), np.array(known["offsets"], np.float64))
    if not 0 < found.scale <= LARGEST or not _are_numbers(found.offsets, classes):
        raise ModelError("its calibration cannot be read")
    return found


def _read_positive(stored: Mapping[str, Any], name: str, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Return numbers that are not below 0; None in models that have none, or were saved before there were any."""
    values = stored.get(name)
    if values is None:
        return None
    found = np.array(values, np.float64)
    if found.shape != shape or not ((found >= 0) & (found <= LARGEST)).all():
        raise ModelError(f"its {name.replace('_', ' ')} cannot be read")
    return found


def _are_numbers(values: NDArray[np.float64], classes: Labels) -> bool:
    """Return whether there is a number for each class, and none too large."""
    return values.shape == classes.shape and bool((np.abs(values) <= LARGEST).all())


def write_table(table: WordTable) -> Arrays:
    """Return a word table as arrays; they are written as they are read."""
    vocabulary = table.vocabulary
    return {
        **_write_lexicon("words", vocabulary.lexicon),
        "words.symbols": vocabulary.symbols if len(vocabulary.bigrams) else np.zeros(0, np.bool_),
        "bigrams": vocabulary.bigrams,
        "bigrams.slots": vocabulary.bigram_lexicon.slots,
        **_write_rows("word_rows", table.words),
        **_write_rows("bigram_rows", table.bigrams),
        **{f"entries.{name}": array for name, array in table.entries._asdict().items()},
        **{
            name: getattr(table, name)
            for name in ("scales", "starts", "outputs", "typical", "deviations", "intercepts")
        },
        **{
            key: array for number, some in enumerate(table.pieces) for key, array in _write_pieces(number, some).items()
        },
    }


def _write_lexicon(name: str, lexicon: Lexicon) -> Arrays:
    return {f"{name}.text": lexicon.arena, f"{name}.offsets": lexicon.offsets, f"{name}.slots": lexicon.slots}


def _write_rows(name: str, rows: Rows) -> Arrays:
    return {f"{name}.{part}": array for part, array in rows._asdict().items()}


def _write_pieces(number: int, table: PieceTable) -> Arrays:
    name = PIECES.format(number)
    return {**_write_lexicon(f"{name}.names", table.pieces.lexicon), **_write_rows(name, table.rows)}


def describe_pieces(table: WordTable) -> list[dict[str, Any]]:
    """Return what is not an array of a table's pieces, as JSON."""
    return [{"segmentation": some.pieces.segmentation} for some in table.pieces]


def read_table(
    arrays: Arrays, averagings: tuple[str, ...], n_outputs: int, pieces: Sequence[Mapping[str, Any]] = ()
) -> WordTable:
    """Return the word table of some arrays; every number that will be used as an index is copied, then checked.

    What stays mapped may change after the checks, if a program writes to the file: scores would be wrong, but nothing
    outside of the arrays is read. `pieces` is what `describe_pieces` gave.
    """
    arrays = {name: array if name.endswith(_MAPPED) else array.copy() for name, array in arrays.items()}
    if not averagings or not set(averagings) <= set(AVERAGINGS):
        raise ModelError(f"it averages by {', '.join(map(str, averagings))}; expected {', '.join(AVERAGINGS)}")
    vocabulary = _read_vocabulary(arrays)
    columns = _read_columns(arrays, len(averagings), n_outputs)
    is_norm = np.array([AVERAGINGS[name].sublinear for name in averagings])
    kind = "i" if get_array(arrays, "word_rows.values", "if", (None, None)).dtype == np.int8 else "f"
    checks = _Checks(arrays, columns, is_norm, kind)
    n_words, n_bigrams = vocabulary.n_words, len(vocabulary.bigrams)
    piece_tables = tuple(_read_pieces(number, said, checks) for number, said in enumerate(pieces))
    if len({some.group for some in piece_tables}) < len(piece_tables):
        raise ModelError("two lists of its pieces add to the same divisor")
    return WordTable(
        vocabulary=vocabulary,
        words=checks.rows("word_rows", n_words),
        bigrams=checks.rows("bigram_rows", n_bigrams),
        entries=checks.entries("entries", len(vocabulary)),
        scales=columns.scales,
        starts=columns.starts,
        outputs=columns.outputs,
        averagings=averagings,
        typical=get_numbers(arrays, "typical", np.float32, (len(averagings),)),
        deviations=_finite(arrays, "deviations", (len(vocabulary),), least=0),
        intercepts=get_numbers(arrays, "intercepts", np.float64, (n_outputs,)),
        pieces=piece_tables,
    )


class _ColumnArrays(NamedTuple):
    """The groups and columns of a table, as in WordTable."""

    scales: NDArray[np.float32]
    starts: NDArray[np.int32]
    outputs: NDArray[np.int32]

    @property
    def widths(self) -> NDArray[np.int64]:
        return np.diff(self.starts).astype(np.int64)


def _read_columns(arrays: Arrays, n_groups: int, n_outputs: int) -> _ColumnArrays:
    n_columns = len(_exactly(arrays, "outputs", np.int32, (None,)))
    _exactly(arrays, "starts", np.int32, (n_groups + 1,))
    if not 0 < n_columns <= n_outputs * n_groups:
        raise ModelError(f"it has {n_columns} columns; expected at most one per output and divisor")
    outputs = get_indices(arrays, "outputs", n_columns, n_outputs).astype(np.int32, copy=False)
    starts = get_bounds(arrays, "starts", n_groups + 1, n_columns).astype(np.int32, copy=False)
    scales = get_numbers(arrays, "scales", np.float32, (n_groups, None), least=0)
    if not scales.shape[1]:
        raise ModelError("the array 'scales' is empty")
    groups = np.repeat(np.arange(n_groups), np.diff(starts))
    if len(np.unique(groups * n_outputs + outputs)) < n_columns:
        raise ModelError("the array 'outputs' names an output twice in a group")
    return _ColumnArrays(scales, starts, outputs)


class _Checks(NamedTuple):
    """Reads the rows and entries of a table; numpy and compiled code must find the same in them, and nothing outside.

    `kind` is that of all values: ``"i"`` for int8, ``"f"`` for float32.
    """

    arrays: Arrays
    columns: _ColumnArrays
    is_norm: NDArray[np.bool_]
    kind: str

    def rows(self, name: str, n_rows: int) -> Rows:
        """Return rows of which each has a stretch for the same groups."""
        arrays, widths = self.arrays, self.columns.widths
        size = len(_exactly(arrays, f"{name}.groups", np.int32, (None,)))
        groups = get_indices(arrays, f"{name}.groups", size, len(widths)).astype(np.int32, copy=False)
        if len(np.unique(groups)) < size:
            raise ModelError(f"the array '{name}.groups' names a group twice")
        weights = _finite(arrays, f"{name}.weights", (n_rows, size), np.float32)
        self._check_weights(f"{name}.weights", weights, groups[None, :])
        values = self._values(f"{name}.values", (n_rows, int((1 + widths[groups]).sum())))
        ends = np.cumsum(1 + widths[groups])
        self._check_codes(f"{name}.values", values[:, ends - 1 - widths[groups]])
        return Rows(groups, weights, values)

    def entries(self, name: str, n_terms: int) -> Entries:
        """Return single stretches."""
        arrays = self.arrays
        size = len(_exactly(arrays, f"{name}.groups", np.uint16, (None,)))
        groups = get_indices(arrays, f"{name}.groups", size, len(self.is_norm)).astype(np.uint16, copy=False)
        weights = _finite(arrays, f"{name}.weights", (size,), np.float32)
        self._check_weights(f"{name}.weights", weights, groups)
        ends = np.cumsum(1 + self.columns.widths[groups])
        n_values = int(ends[-1]) if size else 0
        values = self._values(f"{name}.values", (n_values,))
        starts = np.concatenate([np.zeros(1, np.int64), ends])
        self._check_codes(f"{name}.values", values[starts[:-1]])
        places = _exactly(arrays, f"{name}.places", np.uint32, (None, 2))
        firsts = places[:, ENTRY].astype(np.int64)
        rise = len(places) and firsts[0] == 0 and firsts[-1] == size and (np.diff(firsts) >= 0).all()
        if not rise or len(places) > n_terms + 1 or (starts[firsts] != places[:, VALUE]).any():
            raise DamagedError(f"the array '{name}.places' does not say where the entries of each term are")
        repeated = np.diff(np.repeat(np.arange(len(firsts) - 1), np.diff(firsts)) * len(self.is_norm) + groups) <= 0
        if repeated.any():
            raise DamagedError(f"the array '{name}.groups' does not rise within each term")
        return Entries(places, groups, weights, values)

    def _values(self, name: str, shape: tuple[int, ...]) -> NDArray[Any]:
        if self.kind == "f":
            return _finite(self.arrays, name, shape, np.float32)
        return _exactly(self.arrays, name, np.int8, shape)

    def _check_codes(self, name: str, codes: NDArray[Any]) -> None:
        """Refuse what would be read as a scale that is not there."""
        if codes.size and not (codes.min() >= 0 and codes.max() < self.columns.scales.shape[1]):
            raise DamagedError(f"the array {name!r} holds numbers of scales out of range")

    def _check_weights(self, name: str, weights: NDArray[Any], groups: NDArray[Any]) -> None:
        """Refuse what would make plain and compiled code differ: a root of less than 0, a division by almost 0."""
        sizes = np.abs(weights)
        if ((weights < 0) & self.is_norm[groups]).any() or ((sizes > 0) & (sizes < SMALLEST)).any():
            raise DamagedError(f"the array {name!r} holds a square below 0, or a number below {SMALLEST:g}")


def _exactly(arrays: Arrays, name: str, dtype: type[np.integer[Any]], shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return an array of this type; whole numbers of another would be others after a conversion."""
    array = get_array(arrays, name, "iu", shape)
    if array.dtype != dtype:
        raise DamagedError(f"the array {name!r} is of type {array.dtype}; expected {np.dtype(dtype)}")
    return array


def _finite(
    arrays: Arrays, name: str, shape: tuple[int | None, ...], dtype: Any = None, least: float = -LARGEST
) -> NDArray[Any]:
    """Return numbers after checking them, of this type or as they are."""
    array = get_array(arrays, name, "f", shape)
    return get_numbers(arrays, name, dtype or array.dtype.type, shape, least)


def _read_vocabulary(arrays: Arrays) -> Vocabulary:
    lexicon = _read_lexicon(arrays, "words")
    bigrams = _exactly(arrays, "bigrams", np.int32, (None, 2))
    if len(bigrams) and (bigrams.min() < 0 or bigrams.max() >= len(lexicon)):
        raise ModelError("the array 'bigrams' points outside of its words")
    symbols = get_array(arrays, "words.symbols", "b", (len(lexicon) if len(bigrams) else 0,)).view(np.uint8) != 0
    slots = _exactly(arrays, "bigrams.slots", np.uint32, (None,))
    taken = slots[slots != 0] & np.uint32((1 << number_bits(len(bigrams))) - 1)
    _check_slots("bigrams.slots", slots, taken, len(bigrams))
    return Vocabulary.stored(lexicon, BigramLexicon(bigrams, slots).frozen(), symbols)


def _read_lexicon(arrays: Arrays, name: str) -> Lexicon:
    """Return a list of words and its hash table; one that lies finds fewer words, and nothing outside of the list."""
    text = _exactly(arrays, f"{name}.text", np.uint8, (None,))
    _exactly(arrays, f"{name}.offsets", np.uint32, (None,))
    end = len(text) - MARGIN
    offsets = get_bounds(arrays, f"{name}.offsets", None, end)
    try:
        text.tobytes().decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise DamagedError(f"the strings {name!r} are not UTF-8") from None
    if text[end:].any() or (text[offsets[:-1]] & 0xC0 == 0x80).any():  # a word may not begin within a character
        raise DamagedError(f"the strings {name!r} are not UTF-8")
    slots = _exactly(arrays, f"{name}.slots", np.uint64, (None, 2))
    taken = slots[:, 0][slots[:, 0] != 0] & np.uint64(0xFFFFFFFF)
    _check_slots(f"{name}.slots", slots, taken, len(offsets) - 1)
    return Lexicon(text, offsets.astype(np.uint32, copy=False), slots).frozen()


def _check_slots(name: str, slots: NDArray[Any], taken: NDArray[Any], size: int) -> None:
    """Refuse a hash table without an empty slot, where no search would end, or with numbers out of range."""
    if len(taken) >= len(slots) or (len(taken) and (taken.min() < 1 or taken.max() > size)):
        raise DamagedError(f"the array {name!r} holds numbers out of range, or no empty slot")


def _read_pieces(number: int, said: Mapping[str, Any], checks: _Checks) -> PieceTable:
    name = PIECES.format(number)
    look_up(SEGMENTATIONS, said["segmentation"], "segmentation")
    lexicon = _read_lexicon(checks.arrays, f"{name}.names")
    rows = checks.rows(name, len(lexicon))
    if len(rows.groups) != 1 or not checks.is_norm[rows.groups].all():
        raise ModelError("its pieces add to several divisors, or to one without L2 norm")
    return PieceTable(Pieces.stored(lexicon, said["segmentation"]), rows)
