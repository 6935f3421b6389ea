"""Run the command line in this process, and what the commands' tests share."""

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command

from tfcr import cli


class Result(NamedTuple):
    status: int
    out: str
    err: str


Run = Callable[..., Result]

COLUMNS = ("--text", "text", "--label", "label")
"""For a table with columns besides these."""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["tfcr", *map(str, arguments)])
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            with pytest.raises(SystemExit) as caught:
                cli.main()
        shown = capsys.readouterr()
        return Result(int(caught.value.code or 0), shown.out, shown.err)

    return command


def environment() -> dict[str, str]:
    """Return the environment for a command in its own process."""
    return {**os.environ, "PYTHONUNBUFFERED": "1"}


def bad_file(tmp_path: Path, name: str, content: bytes) -> Path:
    """Write a file, and return its path."""
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def leaves(path: str = "", command: Any = None) -> Iterator[tuple[str, Any]]:
    """Yield every command without subcommands: what a user types after tfcr, and typer's object."""
    command = command or get_command(cli.app)
    children = getattr(command, "commands", None)
    if children is None:
        yield path, command
        return
    for name, child in children.items():
        yield from leaves(f"{path} {name}".strip(), child)
