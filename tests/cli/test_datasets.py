"""``tfcr datasets``."""

import json
from pathlib import Path

import pytest

from tests.cli.runner import Run

# pydocs imports the whole standard library, which takes seconds: here a dataset of two rows stands in for it.
ROWS = "3,Wall St.,Stocks rose\n2,Cup final,They won\n"


@pytest.fixture(autouse=True)
def nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TFCR_DATA", str(tmp_path / "data"))


def test_list(run: Run) -> None:
    assert "pydocs" in run("datasets", "list").out
    rows = json.loads(run("datasets", "list", "--json").out)
    assert (rows[0]["name"], rows[0]["state"]) == ("pydocs", "ready")


def test_info_and_fetch_count_and_check_the_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text(ROWS)
    shown = run("datasets", "info", "agnews", "--path", tmp_path)
    assert shown.status == 0, shown.err
    assert "found: 2 documents, 2 classes" in shown.out
    facts = json.loads(run("datasets", "info", "agnews", "--path", tmp_path, "--json").out)
    assert sum(facts["found"]["classes"].values()) == 2
    assert facts["state"] == "ready"
    assert "agnews is ready" in run("datasets", "fetch", "agnews", "--path", tmp_path).out


def test_info_of_a_dataset_that_is_not_here(run: Run) -> None:
    facts = json.loads(run("datasets", "info", "agnews", "--json").out)
    assert facts["found"] is None
    assert "tfcr datasets fetch agnews" in facts["how to get it"]
