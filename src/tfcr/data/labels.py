"""The labels of a corpus: their types, spellings that differ by accident, and maps from labels to labels.

cells of a column  --label_cells-->  values  --typed_labels-->  labels of one type  --map_labels, merge_spellings-->
"""

import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tfcr.data.options import BadRow, ReadOptions
from tfcr.data.readers import read_table
from tfcr.errors import DataError, shown
from tfcr.text.labels import LabelError, by_label, distinct, fits_integer, label_array

SHOWN = 3
"""How many examples a note gives."""
CERTAIN_SEPARATORS = ";|"
LIKELY_SEPARATORS = ",/+&\n"
"""Characters between several labels in one cell; a likely one counts if all that it separates are labels too."""


# types ---------------------------------------------------------------------------------------------------------------


def _as_is(column: pl.Series) -> list[Any]:
    return column.to_list()


def _as_text(column: pl.Series) -> list[Any]:
    return column.cast(pl.String).to_list()


def _moments(column: pl.Series) -> list[Any]:
    """Return dates and times as text: 2024-05-31, 2024-05-31 13:30:00."""
    text = column.dt.to_string("iso") if column.dtype == pl.Duration else column.cast(pl.String)
    return text.str.replace(r"\.0+$", "").to_list()


_CELLS: tuple[tuple[Callable[[pl.DataType], bool], Callable[[pl.Series], list[Any]]], ...] = (
    (lambda dtype: dtype in (pl.String, pl.Boolean, pl.Null), _as_is),
    (lambda dtype: dtype.is_integer() or dtype.is_float(), _as_is),
    (lambda dtype: dtype in (pl.Categorical, pl.Enum) or dtype.is_decimal(), _as_text),
    (lambda dtype: dtype.is_temporal(), _moments),
)
"""How the cells of a column of labels or groups are read, by its type; other types hold no labels."""


def label_cells(column: pl.Series, where: str) -> list[Any]:
    """Return the cells of a column of labels or groups as text, numbers or booleans; None where a cell is empty.

    Parameters
    ----------
    column
        The column, of any type.
    where
        What errors call its file.
    """
    for fits, cells in _CELLS:
        if fits(column.dtype):
            return cells(column)
    example = next((cell for cell in column.to_list() if cell is not None), None)
    raise DataError(
        f"{where}: the column {column.name!r} holds {_what(example)}, such as {_short(example)}; expected labels as "
        "text or numbers: give another column with --label NAME"
    )


def _what(cell: object) -> str:
    return {"list": "lists", "dict": "objects", "bytes": "bytes"}.get(type(cell).__name__, type(cell).__name__)


def _short(cell: object) -> str:
    text = str(cell)
    return text if len(text) <= 60 else f"{text[:60]}…"


def typed_labels(labels: list[Any], *, typed: bool = False) -> list[Any]:
    """Return labels without surrounding blanks; as integers if all of them are written as such.

    Integers beyond 64 bits, which no model can hold, are kept as text.

    Parameters
    ----------
    labels
        None of them missing.
    typed
        Whether they come from a format with types, where "1" is text and stays text.
    """
    once = distinct(labels)
    if not typed and all(isinstance(label, str) and _is_whole(label) for label in once):
        return by_label(int, labels)
    if any(type(label) is int and not fits_integer(label) for label in once) and all(
        type(label) is int for label in once
    ):
        return by_label(str, labels)
    return by_label(lambda label: label.strip() if isinstance(label, str) else label, labels)


def _is_whole(label: str) -> bool:
    try:
        return str(int(label)) == label.strip() and fits_integer(int(label))
    except ValueError:
        return False


def unite_types(labels: list[Any], where: str) -> tuple[list[Any], list[str]]:
    """Return labels of several types as text, with a note; refuse them if two would become one.

    Integers and numbers with a decimal point are one type.

    Parameters
    ----------
    labels
        None of them missing.
    where
        What errors call their file.
    """
    kinds = {"number" if kind in (int, float) else kind.__name__ for kind in set(map(type, labels))}
    if len(kinds) == 1 or not kinds <= {"number", "str", "bool"}:  # others are refused later, by name
        return labels, []
    first: dict[str, Any] = {}
    for label in labels:
        other = first.setdefault(_written(label), label)
        if type(other) is not type(label):
            raise DataError(
                f"{where}: found the labels {json.dumps(other)} and {json.dumps(label)}, of different types; expected "
                "one type: write all labels as text, or all as numbers"
            )
    return list(map(_written, labels)), ["the labels are of several types; all are read as text"]


def check_one_type(labels: Sequence[Any], where: str) -> None:
    """Raise DataError unless a model can be trained on these labels and saved."""
    try:
        label_array(distinct(labels))
    except LabelError as error:
        remedy = ": write them all as text, in quotes" if error.as_text else ""
        raise DataError(f"{where}: {error}{remedy}; or is --label the wrong column?") from None


def label_problem(cell: Any, separator: str | None = None) -> str | None:
    """Return why a cell cannot be a label, nor several that a separator divides it into; None if it can.

    >>> label_problem({"a": 1})
    "found an object as label, {'a': 1}; expected text, a number or a boolean"
    >>> label_problem("a;a", ";")
    "found a label twice in ['a', 'a']; expected it once"
    """
    if isinstance(cell, tuple):
        return next(filter(None, map(label_problem, cell)), None) or set_problem(cell)
    if separator and isinstance(cell, str) and separator in cell:
        return label_problem(tuple(part.strip() for part in cell.split(separator)))
    if isinstance(cell, dict | list):
        kind = "an object" if isinstance(cell, dict) else "a list"
        return f"found {kind} as label, {shown(cell)}; expected text, a number or a boolean"
    if not isinstance(cell, str | float) or cell != cell:  # noqa: PLR0124 - NaN is missing
        return None
    try:
        label_array([cell.strip() if isinstance(cell, str) else cell])
    except LabelError as error:
        return str(error)
    return None


def bad_labels(cells: Sequence[Any], separator: str | None = None) -> Iterator[BadRow]:
    """Yield the rows whose cells cannot be labels."""
    known: dict[Any, str | None] = {}  # of text alone: 1, 1.0 and True are equal
    for row, cell in enumerate(cells):
        is_text = isinstance(cell, str) or (isinstance(cell, tuple) and all(isinstance(part, str) for part in cell))
        problem = known[cell] if is_text and cell in known else label_problem(cell, separator)
        if is_text:
            known[cell] = problem
        if problem:
            yield BadRow(row, problem)


def set_problem(labels: Sequence[Any]) -> str | None:
    """Return why labels cannot be those of one row: one of them is empty, or there twice; None if they can."""
    if any(label is None or (isinstance(label, str) and not label.strip()) for label in labels):
        return f"found an empty label among {shown(list(labels))}; expected a label before and after each separator"
    written = [label.strip() if isinstance(label, str) else label for label in labels]
    if len({(type(label), str(label)) for label in written}) < len(written):
        return f"found a label twice in {shown(list(labels))}; expected it once"
    return None


def bad_label_error(name: str, row: int, problem: str) -> DataError:
    """Return the error for a row, counted from 1, whose cell cannot be a label."""
    return DataError(
        f"{name}, row {row:,}: {problem}. Is --label the wrong column? To leave such rows out: --bad-rows skip"
    )


# spellings -----------------------------------------------------------------------------------------------------------


def spelling_key(label: str) -> str:
    r"""Return what spellings of one label have in common: no case, no extra blanks, one Unicode form.

    Examples
    --------
    >>> spelling_key("World") == spelling_key("  WORLD\u200b") == spelling_key("Ｗｏｒｌｄ")
    True
    """
    composed = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    visible = "".join(character for character in composed if unicodedata.category(character) != "Cf")
    return " ".join(visible.split())


def counted(labels: Iterable[Any], sizes: Iterable[int] | None = None) -> Counter[Any]:
    """Return how often each label occurs, in the order of first use; each of these so often as `sizes` says, or once.

    >>> counted(["a", "b", "a"], [2, 5, 1])
    Counter({'b': 5, 'a': 3})
    """
    if sizes is None:
        return Counter(labels)
    counts: Counter[Any] = Counter()
    for label, size in zip(labels, sizes, strict=True):
        counts[label] += size
    return counts


def _total(holds: Iterable[bool], sizes: Sequence[int] | None) -> int:
    """Return how many labels something holds for."""
    return sum(holds) if sizes is None else sum(size for is_so, size in zip(holds, sizes, strict=True) if is_so)


def _text_counts(labels: Iterable[Any]) -> Counter[str]:
    """Count the labels that are text; counting all of them first is quicker, and no text equals a number."""
    return Counter({label: size for label, size in Counter(labels).items() if isinstance(label, str)})


def spellings(labels: Iterable[Any], preferred: Iterable[str] = ()) -> list[Counter[str]]:
    """Return the labels that are spelled in several ways, each with its spellings and how often each occurs.

    Spellings in `preferred` count as well, even if they do not occur.
    """
    counts = _text_counts(labels)
    for label in preferred:
        counts[label] += 0
    by_key: dict[str, Counter[str]] = defaultdict(Counter)
    for label, size in counts.items():
        by_key[spelling_key(label)][label] = size
    return [group for group in by_key.values() if len(group) > 1]


def merge_spellings(
    labels: Sequence[Any], preferred: Iterable[Any] = (), sizes: Sequence[int] | None = None
) -> tuple[list[Any], list[str]]:
    """Return labels with one spelling each, and notes on what was merged.

    The most frequent spelling wins; of equally frequent ones, the first. A spelling in `preferred`, a model's classes,
    wins over all others. `sizes` is how often each of the labels occurs, if not once.
    """
    known = {spelling_key(label): label for label in preferred if isinstance(label, str)}
    chosen: dict[str, str] = {}
    found = spellings(counted(labels, sizes), known.values())
    for group in found:
        best = known.get(spelling_key(next(iter(group)))) or group.most_common(1)[0][0]
        chosen |= dict.fromkeys(group, best)
    merged = [chosen.get(label, label) if isinstance(label, str) else label for label in labels]
    n_changed = _total((old is not new and old != new for old, new in zip(labels, merged, strict=True)), sizes)
    notes = [f"{n_changed} labels are spelled as a more frequent label: {_listed(found)}"] if n_changed else []
    return merged, notes


def _listed(groups: Sequence[Counter[str]]) -> str:
    listed = [", ".join(f"{label!r} ({size})" for label, size in group.most_common(5)) for group in groups[:SHOWN]]
    return "; ".join(listed) + (f"; and {len(groups) - SHOWN} more" if len(groups) > SHOWN else "")


# maps ----------------------------------------------------------------------------------------------------------------


def read_label_map(source: str | Path | Mapping[Any, Any]) -> dict[str, str]:
    """Return a map from labels to labels; an empty one means that rows with the label are left out.

    Parameters
    ----------
    source
        A mapping, or a file of any format in READERS with two columns and no header: a label, and what it becomes.
    """
    if isinstance(source, Mapping):
        return {_written(label): _written(new) for label, new in source.items()}
    frame = read_table(Path(source), ReadOptions(header=False)).frame
    if frame.width != 2:
        raise DataError(
            f"{source} has {frame.width} columns; expected a map of labels with two: a label, and what it becomes"
        )
    known: dict[str, str] = {}
    for number, (label, new) in enumerate(frame.cast(pl.String, strict=False).iter_rows(), start=1):
        old, becomes = _written(label), _written(new)
        if not old:
            raise DataError(f"{source}, row {number}: found no label to map; expected a label, and what it becomes")
        if known.setdefault(old, becomes) != becomes:
            raise DataError(f"{source}, row {number}: {old!r} was mapped to {known[old]!r} before; give it once")
    return known


def map_labels(
    labels: Sequence[Any],
    known: Mapping[str, str],
    *,
    any_spelling: bool = False,
    several: bool = False,
    sizes: Sequence[int] | None = None,
) -> tuple[list[Any], list[str]]:
    """Return the labels that a map makes of these, None for those that it leaves out, and notes.

    Labels that the map does not name are kept. With `any_spelling`, it also names those that it spells otherwise.
    `several` is whether a row may have several of them; `sizes` is how often each of the labels occurs, if not once.
    """
    written = [_written(label) for label in labels]
    named = list(known)
    if any_spelling:
        known = _in_any_spelling(known, set(written))
    if not any(label in known for label in written):
        first = ", ".join(map(repr, named[:SHOWN]))
        raise DataError(
            f"none of the {len(named)} labels of the map ({first}) is in the data; its labels: "
            f"{', '.join(map(repr, sorted(set(written))[:SHOWN]))}"
        )
    mapped = [known.get(label, label) or None for label in written]
    changed = _total((new is not None and old != new for old, new in zip(written, mapped, strict=True)), sizes)
    dropped = _total((new is None for new in mapped), sizes)
    notes = [f"{changed} labels are replaced as the map says"] if changed else []
    notes += [f"{dropped} {'labels' if several else 'rows'} are left out, as the map says"] if dropped else []
    form = spelling_key if any_spelling else str
    occurring = set(map(form, set(written)))
    unused = [label for label in named[1:] if form(label) not in occurring]  # the first may be a header
    notes += [f"the map names labels that do not occur: {', '.join(map(repr, unused[:SHOWN]))}"] if unused else []
    return mapped, notes


def _in_any_spelling(known: Mapping[str, str], labels: Iterable[str]) -> dict[str, str]:
    """Return a map that also names the labels that it spells otherwise, unless its own spellings disagree."""
    becomes: dict[str, set[str]] = defaultdict(set)
    for label, new in known.items():
        becomes[spelling_key(label)].add(new)
    found = {label: becomes[key] for label in labels if (key := spelling_key(label)) in becomes}
    return {label: next(iter(new)) for label, new in found.items() if len(new) == 1} | dict(known)


def written_label(label: Any) -> str | None:
    """Return a label as it is written in a file."""
    return label if label is None or isinstance(label, str) else _written(label)


def _written(label: Any) -> str:
    if label is None:
        return ""
    return str(label).lower() if isinstance(label, bool) else str(label).strip()


# what a user should know ---------------------------------------------------------------------------------------------


def label_notes(labels: Iterable[Any], *, several: bool = False) -> list[str]:
    """Return what may be wrong with labels, one line each: spellings, several labels in a cell, numbers.

    `labels` may be a Counter; `several` is whether cells were read as several labels already.
    """
    notes = []
    once = distinct(list(labels))
    if found := spellings(labels):
        notes.append(
            "labels that differ in case, blanks or Unicode form only, each a class of its own: "
            f"{_listed(found)} (--merge-labels makes them one)"
        )
    if not several and (joined := several_labels(labels)):
        first = ", ".join(f"{label!r} ({size})" for label, size in joined.most_common(SHOWN))
        notes.append(
            f"{joined.total()} rows have what looks like several labels, {first}; each such combination is a class of "
            "its own (--label-separator reads them as several labels, --label-map FILE can map each to one)"
        )
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in once):
        values = sorted(set(once))
        first = ", ".join(map(str, values[:5])) + (", …" if len(values) > 5 else "")
        notes.append(f"the labels are numbers ({first}); each number is a class")
    elif any(map(_is_long_integer, once)):
        notes.append("some labels are integers beyond 64 bits; all labels are kept as text")
    return notes


def _is_long_integer(label: Any) -> bool:
    return isinstance(label, str) and label.removeprefix("-").isdecimal() and not (len(label) < 19 or _is_whole(label))


def several_labels(labels: Iterable[Any]) -> Counter[str]:
    """Return the labels that look like several in one cell, such as ``billing;refund``, and how often each occurs."""
    counts = _text_counts(labels)
    found: Counter[str] = Counter()
    for separator in CERTAIN_SEPARATORS + LIKELY_SEPARATORS:
        parts = {label: [part.strip() for part in label.split(separator)] for label in counts if separator in label}
        uses = Counter(part for of_label in parts.values() for part in set(of_label))
        for label, of_label in parts.items():
            is_known = all(part in counts or uses[part] > 1 for part in of_label)
            if len(set(of_label)) > 1 and all(of_label) and (separator in CERTAIN_SEPARATORS or is_known):
                found[label] = counts[label]
    return found
