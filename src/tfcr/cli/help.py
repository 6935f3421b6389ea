"""Help texts: options in titled sections, and the names that an option accepts taken from their table.

A help text writes ``{schemes}`` where the names of SCHEMES belong. Importing the tables takes two seconds, because
scikit-learn and polars come with them; the names are therefore read from the source, and only when help is shown.
"""

import ast
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cache, partial
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

input_option = partial(typer.Option, rich_help_panel="Input")
model_option = partial(typer.Option, rich_help_panel="Model")
evaluation_option = partial(typer.Option, rich_help_panel="Evaluation")
output_option = partial(typer.Option, rich_help_panel="Output")

TABLES = {
    "averagings": ("features/blocks.py", "AVERAGINGS"),
    "blocks": ("features/blocks.py", "BLOCKS"),
    "encoders": ("embeddings/distill.py", "ENCODERS"),
    "heads": ("heads/__init__.py", "HEADS"),
    "parts": ("features/parts.py", "PARTS"),
    "pictures": ("report/drawing.py", "PICTURE_FORMATS"),
    "presets": ("presets.py", "PRESETS"),
    "peers": ("experiment/plan/peers.py", "PEERS"),
    "profiles": ("experiment/plan/profiles.py", "PROFILES"),
    "quotings": ("data/dialect.py", "QUOTINGS"),
    "readers": ("data/readers.py", "READERS"),
    "schemes": ("schemes.py", "SCHEMES"),
    "tables": ("experiment/results/tables.py", "TABLE_FORMATS"),
    "tokenizers": ("text/tokenizers.py", "TOKENIZERS"),
    "writers": ("data/writers.py", "WRITERS"),
}
"""Where each placeholder's names are: the source file, and the dict in it."""


MOST_COMMANDS = 3
"""How many commands a message names."""
CLOSE = 0.75
"""How similar an option must be to be suggested: --ouput is to --output, --epochs is not to --blocks."""


class Plain:
    """Takes the values of a parameter as they are, if they have its type already; typer converts others.

    typer converts all of them with pydantic, which takes as long to load as numpy; but most are text, or not given.
    """

    def __init__(self, converter: Callable[[], Any]) -> None:
        self.converter = converter

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value to call the command with; typer calls this."""
        kind, many = param.type_descriptor.annotation, param.multiple or param.nargs == -1
        if value is None or (kind in (str, int) and type(value) is kind):
            return () if many and value is None else value
        if kind == list[str] and isinstance(value, list | tuple) and set(map(type, value)) <= {str}:
            return list(value)
        return self.converter().coerce(value, param=param, ctx=ctx)


class _Quick:
    """A command or a group of them whose parameters load pydantic only if it is needed."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, --help too; typer calls this."""
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in found:
            if not hasattr(parameter, "plain"):  # --help is the same one each time
                parameter.plain = Plain(parameter.get_runtime_param)
                parameter.get_runtime_param = partial(getattr, parameter, "plain")
        return found


class Group(_Quick, TyperGroup):
    """A group of commands."""


class Command(_Quick, TyperCommand):
    """A command whose help lists its options by section, in plain text."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then each section with its options."""
        for title, parameters in self.sections().items():
            with formatter.section(title):
                formatter.write_dl([_record(parameter, ctx) for parameter in parameters])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return the completions, which show the help of options too."""
        self.sections()
        return super().shell_complete(ctx, incomplete)

    def sections(self) -> dict[str, list[Any]]:
        """Return the parameters by the title of their section, with the names in their help filled in."""
        found: dict[str, list[Any]] = {}
        parameters: list[Any] = self.get_params(typer.Context(self))
        for parameter in parameters:
            parameter.help = fill_names(parameter.help or "")
            is_argument = parameter.param_type_name == "argument"
            title = "Arguments" if is_argument else parameter.rich_help_panel or "Other"
            found.setdefault(title, []).append(parameter)
        order = [
            "Arguments",
            "Input",
            "Model",
            "Evaluation",
            "Cluster",
            "Address",
            "Limits",
        ]  # then the command's own sections, and Output and Other
        last = ["Output", "Other"]
        titles = [*order, *(title for title in found if title not in {*order, *last}), *last]
        return {title: found[title] for title in titles if title in found}


def _record(parameter: Any, ctx: Any) -> tuple[str, str]:
    name, text = parameter.get_help_record(ctx)
    text = re.sub(r"\[default: \((.*?)\)", r"[default: \1", text)  # typer puts a default in words into brackets
    return parameter.metavar if parameter.param_type_name == "argument" else name, text


def fill_names(text: str) -> str:
    """Put the names of a table in place of its placeholder."""
    return re.sub(r"\{(\w+)\}", lambda found: ", ".join(names_of(found[1])), text)


@cache
def names_of(placeholder: str) -> tuple[str, ...]:
    """Return the keys of one of TABLES, without importing its module."""
    path, name = TABLES[placeholder]
    source = Path(__file__).parents[1].joinpath(path).read_text("utf-8")
    for statement in ast.parse(source).body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.Dict(keys=keys)) if found == name:
                return tuple(str(key.value) for key in keys if isinstance(key, ast.Constant))
    raise LookupError(f"{path} has no dict {name}; correct its place in TABLES")


def wrong_call(error: Any) -> str:
    """Return what is wrong with what the user typed, with the option that was probably meant, and where to look."""
    context = getattr(error, "ctx", None)
    message = str(error.format_message()).rstrip(".")
    name = getattr(error, "option_name", None)
    if context is None or not hasattr(context, "command"):
        return message
    if name is not None and hasattr(error, "possibilities"):  # no such option
        message = f"{error.message}{_meant(name, context)}"
    if message.startswith("No such command") and not message.endswith("?"):
        message = f"{message}; known: {', '.join(context.command.commands)}"
    return f"{message}{' See' if message.endswith('?') else '; see'}: {_typed(context)} --help"


def _typed(context: Any) -> str:
    """Return the words of a command, as a user types them: tfcr embeddings train."""
    return f"{_typed(context.parent)} {context.info_name}" if context.parent else "tfcr"


def _meant(option: str, context: Any) -> str:
    """Return a hint at an option of similar spelling, or at the commands that have this one."""
    known = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
    close = get_close_matches(option.strip("-"), [name.strip("-") for name in known], n=1, cutoff=CLOSE)
    if close:
        return f". Did you mean --{close[0]}?"
    others = [path for path, command in leaves(context.find_root().command, "tfcr") if option in _options(command)]
    if len(others) > MOST_COMMANDS:
        others = [*others[:MOST_COMMANDS], "others"]
    *most, last = others or [""]
    named = f"{', '.join(most)} and {last}" if most else last
    return f", which is an option of {named}" if named else ""


def leaves(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield every command below one, with what a user types for it."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, child in command.commands.items():
        yield from leaves(child, f"{path} {name}")


def _options(command: Any) -> list[str]:
    return [name for parameter in command.params for name in parameter.opts]
