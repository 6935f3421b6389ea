"""Several labels per row: split from a cell, or read as a list; and flat, so that all rules for labels apply to them.

"refund; billing"  --split_cells-->  ("refund", "billing")  --FlatLabels-->  "refund", "billing"  --nest-->  a tuple
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tfcr.data.labels import label_cells, set_problem
from tfcr.errors import DataError


def holds_lists(column: pl.Series) -> bool:
    """Return whether the cells of a column are lists."""
    return column.dtype in (pl.List, pl.Array)


def list_cells(column: pl.Series, where: str) -> list[Any]:
    """Return the lists of a column as tuples of text, numbers or booleans; None where a cell is empty."""
    lists = column.cast(pl.List(column.dtype.inner)) if column.dtype == pl.Array else column  # type: ignore[attr-defined]
    sizes = lists.list.len().to_list()
    inner = iter(label_cells(lists.filter(lists.list.len() > 0).explode(), where))
    return [None if size is None else tuple(next(inner) for _ in range(size)) for size in sizes]


def as_tuples(cells: Sequence[Any]) -> list[Any]:
    """Return lists as tuples; other cells stay."""
    return [tuple(cell) if isinstance(cell, list) else cell for cell in cells]


def has_sets(cells: Sequence[Any]) -> bool:
    """Return whether some cells hold several labels."""
    return tuple in set(map(type, cells))


def split_cells(cells: Sequence[Any], separator: str, *, empty: tuple[()] | None) -> list[Any]:
    """Return the labels that a separator divides each cell into; `empty` for a cell without any.

    >>> split_cells(["refund; billing", "refund", None], ";", empty=())
    [('refund', 'billing'), ('refund',), ()]
    """
    return [
        empty
        if cell is None or (isinstance(cell, str) and not cell.strip())
        else tuple(part.strip() for part in cell.split(separator))
        if isinstance(cell, str)
        else (cell,)
        for cell in cells
    ]


def check_sets(sets: Sequence[Any], where: str, rows: Iterable[int] | None = None) -> None:
    """Raise DataError for a row with an empty label, or with a label twice; a row is a tuple, or None.

    `rows` are their numbers, if not 1, 2 and so on.
    """
    for number, labels in zip(range(1, len(sets) + 1) if rows is None else rows, sets, strict=True):
        if labels and (problem := set_problem(labels)):
            raise DataError(f"{where}, row {number}: {problem}")


@dataclass(frozen=True)
class FlatLabels:
    """Labels one after the other, and how many each row has; None: one each."""

    labels: list[Any]
    sizes: list[int] | None

    @classmethod
    def of(cls, rows: Sequence[Any]) -> "FlatLabels":
        """Return the labels of rows, all of which hold tuples, or none."""
        if not has_sets(rows[:1]):
            return cls(list(rows), None)
        return cls([label for row in rows for label in row], [len(row) for row in rows])

    def spread(self, numbers: Sequence[int] | None) -> Sequence[int] | None:
        """Return the number of each row for each of its labels; None if there are no numbers."""
        if numbers is None or self.sizes is None:
            return numbers
        return [number for number, size in zip(numbers, self.sizes, strict=True) for _ in range(size)]

    def nest(self, labels: Sequence[Any]) -> list[Any]:
        """Return rows of other labels, one for each of ours; in a tuple, those that are None or repeated are left out.

        >>> FlatLabels.of([("a", "b"), ("c",), ()]).nest(["x", "x", None])
        [('x',), (), ()]
        """
        if self.sizes is None:
            return list(labels)
        following = iter(labels)
        rows = ([next(following) for _ in range(size)] for size in self.sizes)
        return [tuple(dict.fromkeys(label for label in row if label is not None)) for row in rows]


def rows_left(before: Sequence[Any], after: Sequence[Any]) -> list[int]:
    """Return the positions of the rows that did not lose their label, or the last of their labels.

    >>> rows_left([("a", "b"), ("c",), ()], [("a",), (), ()]), rows_left(["a", "b"], [None, "b"])
    ([0, 2], [1])
    """
    rows = enumerate(zip(before, after, strict=True))
    return [number for number, (old, new) in rows if new is not None and (new != () or old == ())]
