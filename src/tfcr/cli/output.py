"""What commands print: results to standard output, progress and notes to standard error."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tfcr.system.progress import Progress


def note(text: str) -> None:
    """Print a note to standard error."""
    for line in text.splitlines():
        print(f"note: {line}", file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """Print a result as one line of JSON."""
    print(json.dumps(data, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "") -> None:
    """Print a table that fits the terminal; numbers are right-aligned."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    table = Table(title=title or None, title_justify="left", box=None, pad_edge=False, title_style="bold")
    for number, name in enumerate(columns):
        numeric = all(isinstance(row[number], int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(cell)) for cell in row))
    console.print(table)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@contextmanager
def progress_bar(what: str, *, in_bytes: bool = False) -> Iterator[Progress]:
    """Show a progress bar on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar

    shown = sys.stderr.isatty()  # a moving bar would fill a log file
    amounts = (DownloadColumn(), TransferSpeedColumn()) if in_bytes else (MofNCompleteColumn(),)
    columns = (TextColumn("{task.description}"), BarColumn(), *amounts, TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
