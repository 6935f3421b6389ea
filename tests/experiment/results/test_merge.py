"""Files of results join if they agree."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiment.conftest import Run, assert_refused, stored
from tfcr.errors import InputError, ResultsError
from tfcr.experiment import Request, open_results, run_experiment
from tfcr.experiment.results.merge import Merged, merge_results
from tfcr.experiment.results.summary import summarise
from tfcr.experiment.results.tables import as_text


def run_into(path: Path, request: Request, command: str = "") -> Path:
    results = open_results(path, make=True)
    run_experiment(request, results, command=command)
    results.close()
    return path


@pytest.fixture
def parts(request_: Request, tmp_path: Path) -> list[Path]:
    """Give the results of two jobs, which share one fold of one cell."""
    one = replace(request_, schemes=("none",), heads=("lr",), first_folds=1)
    two = replace(request_, schemes=("none", "tfcr"), heads=("lr",), first_folds=2)
    return [run_into(tmp_path / "one.sqlite", one, "first"), run_into(tmp_path / "two.sqlite", two, "second")]


def test_joined_files_are_as_if_one_run_had_written_them(parts: list[Path], request_: Request, tmp_path: Path) -> None:
    whole = run_into(tmp_path / "whole.sqlite", replace(request_, schemes=("none", "tfcr"), heads=("lr",)))
    for files in (parts, parts[::-1]):
        joined = tmp_path / f"joined-{files[0].stem}.sqlite"
        assert merge_results(files, joined) == Merged(2, 2, 4, 1)
        assert stored(joined) == stored(whole)
        opened, expected = open_results(joined), open_results(whole)
        assert as_text(summarise(opened.cells())) == as_text(summarise(expected.cells()))
        assert sorted(opened.commands()) == ["first", "second"]
        opened.close()
        expected.close()
    assert {path.name for path in tmp_path.iterdir()} >= {"joined-one.sqlite", "joined-two.sqlite"}


def test_joined_files_can_be_resumed(parts: list[Path], request_: Request, tmp_path: Path) -> None:
    merge_results(parts, tmp_path / "joined.sqlite")
    opened = open_results(tmp_path / "joined.sqlite", make=True)
    outcome = run_experiment(replace(request_, schemes=("none", "tfcr"), heads=("lr",), first_folds=3), opened)
    assert (outcome.folds_before, outcome.folds_run) == (4, 2)
    opened.close()


def test_a_file_can_be_added_to(parts: list[Path]) -> None:
    merge_results(parts, parts[0])
    assert len(stored(parts[0])) == 4
    assert merge_results([parts[0]], parts[0]) == Merged(1, 2, 4, 0)


def test_folds_that_differ_are_refused(parts: list[Path], tmp_path: Path) -> None:
    connection = sqlite3.connect(parts[0])
    [[confusion]] = connection.execute("SELECT confusion FROM folds")
    changed = json.loads(confusion)
    changed[0][0], changed[0][1] = changed[0][0] - 1, changed[0][1] + 1
    connection.execute("UPDATE folds SET confusion = ?, macro_f1 = 0.125", [json.dumps(changed)])
    connection.commit()
    connection.close()
    message = (
        r"one.sqlite and .*two.sqlite differ in fold 1 of small file lr none profile equations \(macro-F1 0.1250 and"
    )
    with pytest.raises(ResultsError, match=message):
        merge_results(parts, tmp_path / "joined.sqlite")
    assert not (tmp_path / "joined.sqlite").exists()


def test_files_that_cannot_be_joined(parts: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"found .*one.sqlite twice; expected each file"):
        merge_results([parts[0], tmp_path / "." / "one.sqlite"], tmp_path / "joined.sqlite")
    with pytest.raises(ResultsError, match=r"two.sqlite exists already; name it among the files"):
        merge_results(parts[:1], parts[1])
    with pytest.raises(ResultsError, match=r"no.sqlite does not exist"):
        merge_results([tmp_path / "no.sqlite"], tmp_path / "joined.sqlite")
    running = open_results(parts[0], make=True)
    with running.running("a run"), pytest.raises(ResultsError, match=r"one.sqlite is in use by a run"):
        merge_results(parts, parts[0])
    running.close()


def test_the_command(parts: list[Path], tmp_path: Path, run: Run) -> None:
    result = run("experiment", "merge", *map(str, parts), "-o", str(tmp_path / "joined.sqlite"))
    assert result.status == 0, result
    assert result.out.startswith("2 files: 2 cells, 4 folds, 1 of them held twice\n")
    result = run("experiment", "merge", str(parts[0]), "-o", str(tmp_path / "j.sqlite"), "--json")
    assert json.loads(result.out)["folds"] == 1
    assert_refused(run("experiment", "merge", str(parts[0]), "-o", str(parts[1])), "exists already")
