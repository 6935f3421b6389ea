"""The column of times that a corpus is split by: dates, times, years or seconds, as something that can be sorted."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any

import polars as pl

from tfcr.errors import DataError, shown

LARGEST = 1e30
"""No clock counts further."""


def _number(cell: Any) -> int | float | None:
    """Return a year or seconds: 2024 of 2024 and "2024", None of what is no number."""
    if isinstance(cell, str):
        try:
            cell = int(cell) if cell.strip().lstrip("+-").isdecimal() else float(cell)
        except ValueError:
            return None
    is_number = isinstance(cell, int | float) and not isinstance(cell, bool)
    return cell if is_number and abs(cell) <= LARGEST else None


def _moment(cell: Any) -> datetime | None:
    """Return a date or time as UTC without its zone; one that names no zone is taken as UTC."""
    if isinstance(cell, str):
        try:
            cell = datetime.fromisoformat(cell.strip())
        except ValueError:
            return None
    if isinstance(cell, datetime):
        try:
            return cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
        except OverflowError:  # before the year 1, or after 9999
            return None
    return datetime(cell.year, cell.month, cell.day) if isinstance(cell, date) else None


KINDS: dict[str, Callable[[Any], Any]] = {
    "numbers such as years or seconds since 1970": _number,
    "ISO dates or times such as 2024-05-31 or 2024-05-31T13:30:00Z": _moment,
}
"""What all cells of a column of times may be, and how one is read; None if it is not of this kind."""


def read_times(columns: Sequence[pl.Series], used: Sequence[int], name: str) -> list[Any]:
    """Return the time of each used row: all numbers, or all dates or times.

    Parameters
    ----------
    columns
        The column of times in each table.
    used
        The positions of the rows that count, over all tables.
    name
        Where they come from.

    Raises
    ------
    DataError
        If a cell is no time, naming the first such row.
    """
    cells = [cell for column in columns for cell in column.to_list()]
    found = [[read(cells[row]) for row in used] for read in KINDS.values()]
    best = min(found, key=lambda times: times.count(None))
    if None in best:
        row = used[best.index(None)]
        raise DataError(
            f"{name}: found {shown(cells[row])} in the column {columns[0].name!r}, row {row + 1}; expected "
            f"{', or '.join(KINDS)}, in all rows: give another column with --time"
        )
    is_date = all(isinstance(time, datetime) and time == datetime(time.year, time.month, time.day) for time in best)
    return [time.date() for time in best] if is_date else best
