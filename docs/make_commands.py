"""Write docs/commands.md from the program itself: ``python docs/make_commands.py``."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from tfcr.cli import app

TARGET = Path(__file__).with_name("commands.md")
HEAD = """# Every command

Generated from the program by `python docs/make_commands.py`; a test checks that it is up to date.

Results go to standard output, progress and notes to standard error. `--json` prints JSON. The exit status is 0 when
done, 1 if a bar is missed that you set (`--min-macro-f1`), 2 if the input or the call is wrong (with one line that says
what to type next), 130 after Ctrl-C (with one line that says what is kept and how to go on).

On a terminal, long work shows one bar with the name of the stage, the percentage and the time left; elsewhere, one
line per minute. Both are estimates, corrected as the work goes on: the bar never goes backwards, and is full only at
the end.

`tfcr --install-completion` sets up completion in your shell.
"""


def reference() -> str:
    """Return the text of docs/commands.md."""
    return HEAD + "".join(_section(path, command) for path, command in _leaves("tfcr", get_command(app)))


def _leaves(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    children = getattr(command, "commands", None)
    if not children:
        yield path, command
        return
    for name, child in children.items():
        yield from _leaves(f"{path} {name}", child)


def _section(path: str, command: Any) -> str:
    says, _, example = command.help.partition("\b\n")
    lines = [f"\n## {path}\n", " ".join(says.split()), "", "```"]
    lines += [line.strip() for line in example.strip().split("\n")]
    lines += ["```"]
    for title, parameters in command.sections().items():
        rows = [_row(parameter) for parameter in parameters if parameter.name != "help"]
        if rows:
            lines += ["", f"| {title} | default | |", "|---|---|---|", *rows]
    return "\n".join(lines) + "\n"


def _row(parameter: Any) -> str:
    is_option = parameter.param_type_name == "option"
    name = ", ".join([*parameter.opts, *parameter.secondary_opts]) if is_option else str(parameter.metavar)
    default = "required" if parameter.required else _default(parameter)
    return f"| `{name}` | {default} | {parameter.help} |"


def _default(parameter: Any) -> str:
    shown = getattr(parameter, "show_default", True)
    value = shown if isinstance(shown, str) else parameter.default
    return "" if value is None or value is False else f"`{value}`"


if __name__ == "__main__":
    TARGET.write_text(reference(), "utf-8")
