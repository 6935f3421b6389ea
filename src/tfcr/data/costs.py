"""Costs of mistakes, read from a file."""

from pathlib import Path

import polars as pl

from tfcr.data.options import ReadOptions
from tfcr.data.readers import read_table
from tfcr.errors import DataError, shown

LARGEST_COST = 1e9


def read_costs(path: str | Path) -> dict[tuple[str, str], float]:
    """Return what mistakes cost: from a true and an assigned label to a number.

    Parameters
    ----------
    path
        A file of any format in READERS with three columns: the true label, the assigned one, and the cost, from 0 on. A
        first row whose cost has no digit is a header.
    """
    frame = read_table(Path(path), ReadOptions(header=False)).frame
    if frame.width != 3:
        raise DataError(
            f"{path} has {frame.width} columns; expected three: the true label, the assigned one, and what that costs"
        )
    costs: dict[tuple[str, str], float] = {}
    for number, cells in enumerate(frame.cast(pl.String, strict=False).iter_rows(), start=1):
        true, assigned, written = ((cell or "").strip() for cell in cells)
        cost = _number(written)
        if cost is None and number == 1 and not any(map(str.isdigit, written)):
            continue
        if not true or not assigned or cost is None:
            raise DataError(
                f"{path}, row {number}: found {shown(list(cells))}; expected a true label, an assigned one, and a "
                f"number from 0 to {LARGEST_COST:g}"
            )
        if costs.setdefault((true, assigned), cost) != cost:
            raise DataError(
                f"{path}, row {number}: {true!r} taken for {assigned!r} had another cost before; give it once"
            )
    if not costs:
        raise DataError(f"{path} has no row with a cost; expected a true label, an assigned one, and what that costs")
    return costs


def _number(text: str) -> float | None:
    """Return the cost that a cell tells, None if it is none."""
    try:
        cost = float(text)
    except ValueError:
        return None
    return cost if 0 <= cost <= LARGEST_COST else None
