"""What commands print: results to standard output, progress and notes to standard error."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Event, Thread
from typing import Any

from tfcr.system.progress import Stages

BETWEEN_NOTES = 60.0
"""Seconds between two progress notes if standard error is no terminal."""
FILE_WIDTH = 120
"""Characters of a line if standard output is no terminal."""
MOST_CHARACTERS = 2000
"""Characters of a text that are looked at for one line."""


_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys rather than shows, those that turn the direction of writing among them."""

_kept = ["nothing was written; to start over, type the same command again"]


def if_stopped(text: str) -> None:
    """Set what Ctrl-C says from now on: what is kept, and how to go on."""
    _kept[0] = text


def say_stopped() -> None:
    """Say what is kept after Ctrl-C."""
    print(f"tfcr: stopped: {printable(_kept[0])}", file=sys.stderr, flush=True)


def printable(text: str) -> str:
    r"""Return a text with control characters as escapes: a label or a word must not command the terminal.

    >>> printable("red \x1b[31m")
    'red \\x1b[31m'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def note(text: str) -> None:
    """Print to standard error what the user may want to know."""
    _print_lines("note", text)


def warn(text: str) -> None:
    """Print to standard error what may make the result wrong or misleading."""
    _print_lines("warning", text)


def alarm(text: str) -> None:
    """Print to standard error why the exit status is 1: a bar that the user set is missed."""
    _print_lines("tfcr", text)


def _print_lines(kind: str, text: str) -> None:
    for line in text.splitlines():
        print(f"{kind}: {printable(line)}", file=sys.stderr, flush=True)


def print_json(data: Any) -> None:
    """Print a result as one line of JSON."""
    print(json.dumps(data, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def print_line(text: str) -> None:
    """Print a sentence with names that come from data."""
    print(printable(text))


def print_text(text: str, indent: int = 4) -> None:
    """Print a document in one line, cut to the width of the terminal."""
    from rich.cells import cell_len, set_cell_size

    line = " " * indent + printable(" ".join(text[:MOST_CHARACTERS].split()))
    print(line if cell_len(line) <= _width() else f"{set_cell_size(line, _width() - 1).rstrip()}…")


def _width() -> int:
    return get_terminal_size().columns if sys.stdout.isatty() else FILE_WIDTH


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "") -> None:
    """Print a table that fits the terminal; numbers are right-aligned."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else FILE_WIDTH, highlight=False)
    table = Table(
        title=Text(printable(title)) if title else None,
        title_justify="left",
        box=None,
        pad_edge=False,
        title_style="bold",
    )
    for number, name in enumerate(columns):
        numeric = all(isinstance(row[number], int | float) for row in rows)
        table.add_column(Text(printable(name)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(_cell(cell))) for cell in row))
    console.print(table)


def print_styled(text: Any) -> None:
    """Print a text of rich with its colours, as far as the terminal shows any."""
    from rich.console import Console

    Console(highlight=False, markup=False).print(text)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@contextmanager
def progress_bar(*, in_bytes: bool = False, hidden: bool = False) -> Iterator[Stages]:
    """Show the stages of a command on standard error: a moving bar, or one note per minute if it is no terminal."""
    stages = Stages()
    if hidden:
        yield stages
    elif sys.stderr.isatty():
        with _moving_bar(stages, in_bytes=in_bytes):
            yield stages
            stages.finish()
    else:
        with _notes_now_and_then(stages):
            yield stages


@contextmanager
def _moving_bar(stages: Stages, *, in_bytes: bool) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    class Bar(Progress):
        """Asks for the standing whenever it draws, so that it moves within a stage too."""

        def get_renderables(self) -> Any:
            for task in self.tasks:
                # rich shows a bar of unknown length as a moving light
                total = None if stages.seconds_left() is None else 1.0
                shown = standing(stages, in_bytes=in_bytes)
                self.update(task.id, description=stages.name, completed=stages.fraction(), total=total, standing=shown)
            return super().get_renderables()

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[standing]}"))
    # standard output stays what it is: its reader may be another program
    with Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        bar.add_task("", total=None, standing="")
        yield


@contextmanager
def _notes_now_and_then(stages: Stages) -> Iterator[None]:
    """Print a note per minute: a moving bar would fill a log file."""
    ended = Event()

    def tell() -> None:
        while not ended.wait(BETWEEN_NOTES):
            note(", ".join(filter(None, (stages.name, standing(stages)))))

    thread = Thread(target=tell, name="tell", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def standing(stages: Stages, *, in_bytes: bool = False) -> str:
    """Return the percentage done, the bytes if they count, and the time left, as far as they are known."""
    if stages.finished:
        return "100 %"
    left = stages.seconds_left()
    parts = [] if left is None else [f"{int(100 * stages.fraction())} %"]
    if in_bytes and stages.counted:
        done, total = stages.counted
        parts.append(f"{done / 1e6:,.1f} of {total / 1e6:,.1f} MB")
    return ", ".join([*parts, *([] if left is None else [time_left(left)])])


def time_left(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} s left"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"about {hours} h {minutes} min left" if hours else f"about {minutes} min left"
