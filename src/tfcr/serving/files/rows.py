"""The rows of a classified upload: filtered and sorted, with what the person corrected.

Rows are filtered and sorted by a few narrow columns; texts are read only from the parts that have rows of the page.
"""

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import polars as pl

from tfcr.serving.files.folder import State, Upload, disk_errors
from tfcr.serving.problems import RequestError, one_of

PAGE = 50
"""Rows of one answer."""
SHOWN_CHARACTERS = 400
"""Of a text in a list of rows."""
MOST_HELD = 16
"""Uploads whose corrections a worker holds in memory."""

Label = str | list[str] | None
"""Of several labels, a list; None: as predicted."""


# corrections ---------------------------------------------------------------------------------------------------------


@dataclass
class Corrections:
    """What a person decided: the last label of each row that was decided, and how far the journal was read."""

    version: int = 0
    labels: dict[int, Label] = field(default_factory=dict)

    def read_on(self, upload: Upload) -> None:
        """Take up what was added to the journal since; all of it if it is no longer the journal that was read."""
        if not upload.journal.knows(self.version):
            self.version, self.labels = 0, {}
        records, self.version = upload.journal.since(self.version)
        for row, label in _decided(records):
            if label is None:
                self.labels.pop(row, None)
            else:
                self.labels[row] = label


def _decided(records: Sequence[Mapping[str, Any]]) -> list[tuple[int, Label]]:
    """Return rows and labels of records; those of another shape are left out, as a damaged file may have them."""
    found: list[tuple[int, Label]] = []
    for record in records:
        row, label = record.get("row"), record.get("label")
        is_list = isinstance(label, list) and all(isinstance(one, str) for one in label)
        if isinstance(row, int) and (label is None or isinstance(label, str) or is_list):
            found.append((row, label))
    return found


class Held:
    """The corrections of the uploads that were asked for last, so that a journal is read once and then read on."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, Corrections] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, upload: Upload) -> Corrections:
        """Return the corrections of an upload, as they are now."""
        with self._lock:
            found = self._held.pop(upload.id, None) or Corrections()
            found.read_on(upload)
            self._held[upload.id] = found
            if len(self._held) > MOST_HELD:
                self._held.popitem(last=False)
            return Corrections(found.version, dict(found.labels))

    def forget(self, upload: Upload) -> None:
        """Drop what is held of an upload."""
        with self._lock:
            self._held.pop(upload.id, None)


def check_correction(state: State, row: int, label: Label) -> None:
    """Raise RequestError for a row that has not been classified, or a class that the model does not have."""
    most = sum(state.get("parts", ()))
    if not 1 <= row <= most:
        raise RequestError(
            404, f"found row {row}", f"a row from 1 to {most:,}" if most else "a file that is classified"
        )
    several, classes = state["job"]["several"], [str(one) for one in state["job"]["classes"]]
    if label is None:
        return
    if isinstance(label, list) != several:
        raise RequestError(422, "found a label of another kind", "a list of classes" if several else "one class")
    given = label if isinstance(label, list) else [label]
    unknown = [one for one in given if one not in classes]
    if unknown:
        raise RequestError(
            404, f"found no class {unknown[0][:80]!r} in the model {state['job']['model']}", one_of(classes)
        )
    if len(set(given)) < len(given):
        raise RequestError(422, "found a class twice", "each class once")


# rows ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Query:
    """Which rows are wanted, and in which order.

    Attributes
    ----------
    show
        A name of SHOWN.
    label
        Only rows that have this class now; all if None.
    below
        Only rows whose probability is less.
    order
        A name of ORDERS.
    start
        How many rows to skip, if no row is named by what follows.
    after, before
        The number of a row: only rows that follow it in this order, or that precede it. It need not be among those that
        are shown: a row that was just corrected may have left them.
    """

    show: str = "all"
    label: str | None = None
    below: float | None = None
    order: str = "file"
    start: int = 0
    after: int | None = None
    before: int | None = None

    @property
    def named(self) -> int | None:
        """The row that the page begins after, or ends before."""
        return self.before if self.after is None else self.after


SHOWN: dict[str, pl.Expr] = {
    "all": pl.lit(True),
    "unsure": pl.col("unsure") & pl.col("corrected").is_null(),
    "changed": pl.col("corrected").is_not_null(),
    "unchanged": pl.col("corrected").is_null(),
    "differs": ~pl.col("agrees"),
}
"""Which rows a person may choose to see."""

ORDERS: dict[str, tuple[list[str], list[bool]]] = {
    "file": (["row"], [False]),
    "least": (["sureness", "row"], [False, False]),
    "most": (["sureness", "row"], [True, False]),
}
"""Columns to sort by, and whether from the largest down."""


class Rows:
    """The rows of an upload that are classified so far."""

    def __init__(self, upload: Upload, state: State, corrections: Corrections) -> None:
        self.state, self.corrections = state, corrections
        self.several = bool(state["job"]["several"])
        folder = upload.folder / f"parts-{state['attempt']}"
        self.paths = [folder / f"{at:05}.arrow" for at in range(len(state["parts"]))]

    def columns(self, chosen: pl.Expr) -> pl.DataFrame:
        """Return columns of all rows."""
        with disk_errors():
            return pl.scan_ipc(self.paths, glob=False).select(chosen).collect()

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows: what is filtered and sorted by, without texts."""
        kind: Any = pl.List(pl.String) if self.several else pl.String
        if not self.paths:
            names = ("row", "unsure", "agrees", "corrected", "sureness", "now")
            kinds = (pl.Int64, pl.Boolean, pl.Boolean, kind, pl.Float64, kind)
            return pl.DataFrame(schema=dict(zip(names, kinds, strict=True)))
        decided = self.corrections.labels
        corrected = pl.DataFrame(
            {"row": list(decided), "corrected": list(decided.values())}, schema={"row": pl.Int64, "corrected": kind}
        )
        found = self.columns(pl.col("label", "unsure", "agrees", "probability")).with_row_index("row", offset=1)
        found = found.with_columns(pl.col("row").cast(pl.Int64)).join(
            corrected, on="row", how="left", maintain_order="left"
        )
        probability = pl.col("probability")
        sureness = probability.list.min() if self.several else probability
        return found.with_columns(sureness.alias("sureness"), pl.coalesce("corrected", "label").alias("now"))

    def chosen(self, query: Query) -> pl.DataFrame:
        """Return the rows that a query asks for, in its order, all of them; and the row it names, `wanted` or not."""
        wanted = SHOWN[query.show]
        if query.label is not None:
            now = pl.col("now")
            wanted &= now.list.contains(query.label) if self.several else now == query.label
        if query.below is not None:
            wanted &= pl.col("sureness") < query.below
        found = self.frame.with_columns(wanted.fill_null(value=False).alias("wanted"))
        found = found.filter(pl.col("wanted") | pl.col("row").eq(query.named or 0))
        by, down = ORDERS[query.order]
        return found if by == ["row"] else found.sort(by, descending=down, nulls_last=True, maintain_order=True)

    def page(self, query: Query) -> dict[str, Any]:
        """Return one page of rows, as JSON has them, and how many there are in all."""
        found = self.chosen(query)
        numbers = found.filter("wanted")["row"]
        start, end = _ends(found, query)
        return {
            "total": len(numbers),
            "start": start,
            "version": self.corrections.version,
            "rows": self.described(numbers[start:end].to_list()),
            "counts": self.counts(),
        }

    def described(self, numbers: Sequence[int], most: int = SHOWN_CHARACTERS) -> list[dict[str, Any]]:
        """Return rows of these numbers, with texts of at most so many characters."""
        starts = [0, *accumulate(self.state["parts"])]
        of_part: dict[int, list[int]] = {}
        for number in numbers:
            of_part.setdefault(bisect_right(starts, number - 1) - 1, []).append(number)
        found: dict[int, dict[str, Any]] = {}
        with disk_errors():
            for part, wanted in of_part.items():
                rows = pl.read_ipc(self.paths[part])[[number - 1 - starts[part] for number in wanted]].to_dicts()
                found.update(zip(wanted, rows, strict=True))
        return [self._row(number, found[number], most) for number in numbers]

    def _row(self, number: int, row: Mapping[str, Any], most: int) -> dict[str, Any]:
        text = row["text"] or ""
        second = row.get("second")
        return {
            "row": number,
            "text": text[:most],
            "cut": len(text) > most,
            "has_text": row["text"] is not None,
            "label": row["label"],
            "probability": row["probability"],
            "second": None if second is None else str(second),
            "second_probability": row.get("second_probability"),
            "unsure": row["unsure"],
            "given": row["given"],
            "agrees": row["agrees"],
            "corrected": self.corrections.labels.get(number),
        }

    def counts(self) -> dict[str, Any]:
        """Return how many rows there are of each kind, and of each class now."""
        frame = self.frame
        labels = frame["now"].explode() if self.several else frame["now"]
        classes = {row[0]: row[1] for row in labels.drop_nulls().value_counts().iter_rows()}
        agrees = frame["agrees"].drop_nulls()
        return {
            "all": frame.height,
            **{name: frame.filter(shown).height for name, shown in SHOWN.items() if name != "all"},
            "agreeing": int(agrees.sum() or 0),
            "compared": len(agrees),
            "classes": classes,
        }


def _ends(found: pl.DataFrame, query: Query) -> tuple[int, int]:
    """Return where a page begins and ends among the wanted rows.

    If no row follows the one that is named, it is the last page; if none precedes it, or it does not exist, the first.
    """
    if query.named is None:
        return query.start, query.start + PAGE
    places = found["row"].eq(query.named).arg_true()
    if not len(places):
        return 0, PAGE
    earlier = int(found["wanted"][: places[0]].sum())
    if query.after is None:
        end = earlier or PAGE
        return max(0, end - PAGE), end
    start, total = earlier + int(found["wanted"][places[0]]), int(found["wanted"].sum())
    start = start if start < total else max(0, total - PAGE)
    return start, start + PAGE
