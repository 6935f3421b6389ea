"""Help: every command, its sections, and the names in them."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.runner import Run, environment, leaves
from tfcr.cli.help import TABLES, names_of

TITLES = [
    "Arguments",
    "Input",
    "Model",
    "Evaluation",
    "Cluster",
    "Grid",
    "In-domain word2vec",
    "Address",
    "Limits",
    "Uploaded files",
    "Output",
    "Other",
]
COMMANDS = dict(leaves())


def test_no_arguments_and_the_version(run: Run) -> None:
    result = run()
    assert result.status == 2
    assert "\n  train " in result.err
    assert run("--version").out.startswith("tfcr ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_and_its_options_in_groups(name: str, run: Run) -> None:
    shown = run(*name.split(), "--help")
    assert shown.status == 0
    assert f" tfcr {name}" in shown.out.partition("\n\n")[2]  # below the usage line
    assert "{" not in shown.out.partition("\n\n")[2]  # a placeholder that no table fills
    titles = [line.removesuffix(":") for line in shown.out.splitlines() if line.endswith(":") and line[0] != " "]
    assert titles == [title for title in TITLES if title in titles]
    others = [parameter.opts[0] for parameter in COMMANDS[name].sections()["Other"]]
    assert set(others) <= {"--help", "--processes"}


def test_the_list_of_commands_is_not_cut_short(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for group in ([], ["embeddings"], ["datasets"], ["experiment"]):
        assert "..." not in run(*group, "--help").out.partition("Commands:")[2]


def test_the_options_of_train_are_in_titled_groups(run: Run) -> None:
    shown = run("train", "--help").out
    places = [shown.index(f"\n{title}:\n") for title in ("Input", "Model", "Evaluation", "Output")]
    assert places == sorted(places)
    found = [shown.index(f"\n  {option} ") for option in ("--format", "--scheme", "--cv", "-o,")]
    assert sorted(places + found) == [place for pair in zip(places, found, strict=True) for place in pair]


@pytest.mark.parametrize("placeholder", TABLES)
def test_names_in_help_are_those_of_the_table(placeholder: str) -> None:
    path, table = TABLES[placeholder]
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    assert names_of(placeholder) == tuple(getattr(import_module(f"tfcr.{module}"), table))


HEAVY = {"numpy", "scipy", "polars", "sklearn", "numba", "gensim", "rich", "pydantic"}


def heavy_imports(*arguments: object) -> tuple[str, set[str]]:
    """Return what a command prints in a fresh process, and which of HEAVY it imports."""
    code = f"""
import sys
from tfcr import cli
sys.argv = ["tfcr", *{list(map(str, arguments))!r}]
try:
    cli.main()
except SystemExit:
    print(*({HEAVY!r} & set(sys.modules)))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    *printed, last = result.stdout.splitlines()
    return "\n".join(printed), set(last.split())


def test_help_imports_nothing_heavy() -> None:
    printed, imported = heavy_imports("train", "--help")
    assert "tfcr-log" in printed.replace("-\n", "-")
    assert imported == set()


def test_commands_of_a_model_import_what_they_use(model: Path, data: Path) -> None:
    assert heavy_imports("explain", model, "w0_1")[1] <= {"numpy", "rich"}
    assert heavy_imports("words", model)[1] <= {"numpy", "rich"}
    assert heavy_imports("predict", model, data, "--text", "text")[1] <= {"numpy", "polars", "rich"}


def test_typed_numbers_are_converted_and_checked(run: Run, model: Path) -> None:
    assert run("explain", model, "w0_1 w0_2", "--top", "1").out.count("more words") == 1
    assert run("explain", model, "w0_1", "--top", "two").status == 2
    assert run("explain", model, "w0_1", "--top", "0").status == 2
