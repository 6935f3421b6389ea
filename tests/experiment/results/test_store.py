"""The file of results: claims, and files that are not right."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiment.conftest import (
    Run,
    assert_refused,
    stored,
)
from tfcr.errors import ResultsError
from tfcr.experiment import (
    Request,
    Results,
    open_results,
    run_experiment,
)


def test_a_claim_holds_while_its_run_lives(results: Results, request_: Request, tmp_path: Path) -> None:
    with results.running("one") as one:
        assert one.claim([("cell", 0), ("cell", 1)]) == [("cell", 0), ("cell", 1)]
        other = open_results(results.path)
        with other.running("two") as two:
            assert two.claim([("cell", 1), ("cell", 2)]) == [("cell", 2)]
            assert other.under_way() == 3
            with sqlite3.connect(results.path) as connection:  # its process is gone
                connection.execute("UPDATE runs SET pid = 4194399 WHERE id = ?", (one.id,))
            connection.close()
            assert two.claim([("cell", 1)]) == [("cell", 1)]
        other.close()


def test_a_run_does_not_take_itself_for_dead(results: Results) -> None:
    with results.running("asleep") as asleep:
        asleep.claim([("cell", 0)])
        with sqlite3.connect(results.path) as connection:  # the machine slept, and there was no beat since
            connection.execute("UPDATE runs SET seen = 0")
        connection.close()
        assert asleep.claim([("cell", 0)]) == []


def test_files_of_results_that_are_refused(tmp_path: Path) -> None:
    open_results(tmp_path / "new.sqlite", make=True).close()
    with sqlite3.connect(tmp_path / "new.sqlite") as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    (tmp_path / "text.sqlite").write_text(
        "no database at all, but long enough to have a header of a hundred bytes " * 3
    )
    for name, message in {
        "new.sqlite": "holds results of version 9, and this tfcr knows version 2",
        "other.sqlite": "is not a file of tfcr results",
        "text.sqlite": "file is not a database",
        "none.sqlite": "does not exist; expected a file of results",
        ".": "cannot be a file of results",
    }.items():
        with pytest.raises(ResultsError, match=message):
            open_results(tmp_path / name)
    for name in ("new.sqlite", "other.sqlite", "text.sqlite", "no/where.sqlite"):
        with pytest.raises(ResultsError):
            open_results(tmp_path / name, make=True)


def test_a_damaged_file_of_results(request_: Request, results: Results, run: Run) -> None:
    run_experiment(request_, results)
    results.close()
    content = bytearray(results.path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    results.path.write_bytes(content)
    for command in ("table", "status", "report"):
        assert_refused(run("experiment", command, "--results", results.path), "r.sqlite cannot be read: .*malformed")


def test_a_full_disk_loses_nothing(request_: Request, results: Results) -> None:
    run_experiment(replace(request_, schemes=("tfcr",)), results)
    before = stored(results.path)
    pages = results._connection.execute("PRAGMA page_count").fetchone()[0]
    results._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ResultsError, match="cannot write to .*database or disk is full; what was finished is kept"):
        run_experiment(replace(request_, folds=4, first_folds=None), results)
    results._connection.execute("PRAGMA max_page_count = 1000000")
    assert before.items() <= stored(results.path).items()
    run_experiment(request_, results)


def test_a_cell_of_another_kind_is_refused(results: Results, request_: Request) -> None:
    run_experiment(replace(request_, schemes=("tfcr",), heads=("lr",), first_folds=1), results)
    results._connection.execute("UPDATE cells SET facts = '{}'")
    with pytest.raises(ResultsError, match="holds a cell that this tfcr cannot read .*begin another file: --results"):
        results.cells()
