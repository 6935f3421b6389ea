"""The examples of README and docs run, and what is generated is up to date."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import Run, run
from tfcr.data import DATASETS, READERS
from tfcr.data.writers import WRITERS
from tfcr.embeddings import PRETRAINED
from tfcr.embeddings.formats import FORMATS
from tfcr.experiment import PROFILES
from tfcr.experiment.results.tables import TABLE_FORMATS
from tfcr.features.blocks import AVERAGINGS, BLOCKS
from tfcr.features.parts import PARTS
from tfcr.heads import HEADS
from tfcr.presets import PRESETS
from tfcr.schemes import SCHEMES
from tfcr.text.tokenizers import TOKENIZERS

assert run  # the fixture

ROOT = Path(__file__).parents[1]
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(path: Path, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    return ["\n".join(line.removeprefix(indent) for line in code.split("\n")) for indent, code in found]


def tickets() -> tuple[list[str], list[str]]:
    topics = {
        "hardware": ["the printer does not print", "paper jam in the printer", "the screen of my computer is dark"],
        "accounts": ["please reset my password", "my password does not work", "i cannot log in to my account"],
        "network": ["the network is slow", "no internet in room 12", "the network is down again"],
    }
    texts, labels = [], []
    for number in range(60):
        label = list(topics)[number % 3]
        texts.append(f"{topics[label][number // 3 % 3]}, ticket {number}")
        labels.append(label)
    return texts, labels


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with the files that the examples use."""
    texts, labels = tickets()
    rows = [f'{n},Ticket,"{text}",{label}' for n, (text, label) in enumerate(zip(texts, labels, strict=True))]
    (tmp_path / "tickets.csv").write_text("\n".join(["id,subject,body,queue", *rows]) + "\n")
    (tmp_path / "new.csv").write_text("id,subject,body\n1,Help,the printer is broken\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "monday.csv").write_text("id,subject,body\n1,Help,the printer is broken\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", [path for path in DOCS if blocks(path, "python")], ids=lambda path: path.name)
def test_python_examples_run(path: Path, folder: Path) -> None:
    texts, labels = tickets()
    names: dict[str, Any] = {"texts": texts, "labels": labels}
    for code in blocks(path, "python"):
        exec(compile(code, str(path), "exec"), names)


@pytest.mark.parametrize("path", [path for path in DOCS if blocks(path, "sh")], ids=lambda path: path.name)
def test_shell_examples_run(path: Path, folder: Path, run: Run) -> None:
    for code in blocks(path, "sh"):
        for line in shell_lines(code):
            words = shlex.split(line, comments=True)
            if words[:1] == ["tfcr"] and not {"|", "<<", ">"} & set(words):
                # in this process: starting Python and importing scikit-learn takes two seconds per command
                result = run(*words[1:])
                assert result.status == 0, f"{line}\n{result.err}"
            else:
                run_by_bash(line, folder)


def shell_lines(code: str) -> list[str]:
    """Return the lines of a script that are not empty, a here-document as one of them."""
    return [line[0] for line in re.finditer(r"^(?:.*<<'(\w+)'\n(?:.*\n)*?\1$|.+$)", code, re.MULTILINE)]


def run_by_bash(code: str, folder: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["bash", "-euo", "pipefail", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert result.returncode == 0, f"{code}\n{result.stderr}"


@pytest.mark.parametrize("name", ["commands", "datasets", "formats"])
def test_what_is_generated_is_up_to_date(name: str) -> None:
    spec = importlib.util.spec_from_file_location(f"make_{name}", ROOT / "docs" / f"make_{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shown = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    assert shown == module.reference(), f"run: python docs/make_{name}.py"


@pytest.mark.parametrize("path", DOCS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\[[^\]\"]+\]\((?!https?:)([^)#]+)\)", path.read_text("utf-8")):
        assert (path.parent / target).exists(), target


GENERATED = {"commands.md"}  # takes its names from the tables, and so explains none of them


def tables() -> dict[str, Iterable[str]]:
    return {
        "AVERAGINGS": AVERAGINGS,
        "BLOCKS": BLOCKS,
        "DATASETS": DATASETS,
        "FORMATS": FORMATS,
        "HEADS": HEADS,
        "PARTS": PARTS,
        "PRESETS": PRESETS,
        "PRETRAINED": PRETRAINED,
        "PROFILES": PROFILES,
        "READERS": READERS,
        "SCHEMES": SCHEMES,
        "TABLE_FORMATS": TABLE_FORMATS,
        "TOKENIZERS": TOKENIZERS,
        "WRITERS": WRITERS,
    }


def is_named(name: str, text: str) -> bool:
    """Tell whether a text has a name in backticks, perhaps as a file's ending, or as a whole cell of a table."""
    return re.search(rf"`\.?{re.escape(name)}`|\|\s*{re.escape(name)}\s*\|", text) is not None


@pytest.mark.parametrize("table", tables())
def test_every_row_of_the_tables_is_in_the_docs(table: str) -> None:
    text = "\n".join(path.read_text("utf-8") for path in DOCS if path.name not in GENERATED)
    assert [name for name in tables()[table] if not is_named(name, text)] == []


def test_a_part_of_a_word_is_not_a_name() -> None:
    assert not is_named("cr", "cross-validation of | crisp | and `cr-log`")
    assert is_named("cr", "the scheme `cr`")
    assert is_named("cr", "| dataset | cr |")
