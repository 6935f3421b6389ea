"""The file of results: claims, and files that are not right."""

import json
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
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
from tfcr.experiment.results.summary import summarise


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
        "z" * 300: "does not exist; expected a file of results",
        ".": "cannot be a file of results",
    }.items():
        with pytest.raises(ResultsError, match=message):
            open_results(tmp_path / name)
    for name in ("new.sqlite", "other.sqlite", "text.sqlite", "no/where.sqlite", "z" * 300):
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


DEEP = "[" * 100_000
WRONG_ROWS: dict[str, tuple[str, Any]] = {
    "text for a score": ("folds.macro_f1", "much"),
    "an infinite score": ("folds.macro_f1", float("inf")),
    "bytes for a score": ("folds.macro_f1", b"\x00\xff"),
    "a confusion that is no JSON": ("folds.confusion", "[[1,"),
    "a deep confusion": ("folds.confusion", DEEP),
    "a ragged confusion": ("folds.confusion", "[[1, 2], [3]]"),
    "a confusion of text": ("folds.confusion", '[["a"]]'),
    "a confusion of NaN": ("folds.confusion", "[[NaN]]"),
    "a confusion of another size": ("folds.confusion", "[[1]]"),
    "a huge number": ("folds.confusion", f"[[{'9' * 5000}]]"),
    "details that are a list": ("folds.details", "[]"),
    "no training documents": ("folds.train_documents", 0),
    "settings that are a list": ("cells.settings", "[]"),
    "settings without keys": ("cells.settings", "{}"),
    "deep settings": ("cells.settings", DEEP),
    "facts that are a number": ("cells.facts", "3"),
    "facts that are null": ("cells.facts", "null"),
    "bytes for facts": ("cells.facts", b"{}"),
    "a wanted text": ("cells.wanted", "all"),
    "an unknown profile": ("cells.profile", "nonsense"),
    "a scheme of bytes": ("cells.scheme", b"tfcr"),
}


@pytest.mark.parametrize("kind", WRONG_ROWS)
def test_rows_that_are_not_what_they_should_be(kind: str, finished: Path, run: Run, tmp_path: Path) -> None:
    place, value = WRONG_ROWS[kind]
    table, column = place.split(".")
    path = tmp_path / "r.sqlite"
    path.write_bytes(finished.read_bytes())
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
    connection.close()
    message = f"r.sqlite holds a {table[:-1]} that this tfcr cannot read .*begin another file: --results FILE"
    for command in ("table", "status", "report"):
        assert_refused(run("experiment", command, "--results", path), message if "size" not in kind else "holds a fold")


@pytest.mark.parametrize(
    ("name", "value"), [("seed", "0"), ("folds", None), ("size", 1.5), ("word2vec", {"dimension": 3}), ("data", 3)]
)
def test_settings_of_other_types(name: str, value: Any, finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(finished.read_bytes())
    with sqlite3.connect(path) as connection:
        [stored_settings] = connection.execute("SELECT settings FROM cells LIMIT 1").fetchone()
        changed = json.dumps({**json.loads(stored_settings), name: value})
        connection.execute("UPDATE cells SET settings = ?", (changed,))
    connection.close()
    opened = open_results(path)
    with pytest.raises(ResultsError, match="holds a cell that this tfcr cannot read"):
        opened.cells()
    opened.close()


@pytest.mark.parametrize("statement", ["CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM folds; END", "VIEW"])
def test_a_file_with_triggers_or_views_for_tables_is_not_ours(statement: str, finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(finished.read_bytes())
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x AS command FROM n"
    with sqlite3.connect(path) as connection:
        if statement == "VIEW":
            connection.execute("DROP TABLE runs")
        connection.execute(f"CREATE VIEW runs AS {endless}" if statement == "VIEW" else statement)
    connection.close()
    with pytest.raises(ResultsError, match="is not a file of tfcr results"):
        open_results(path)


def test_runs_that_are_not_what_they_should_be_are_dead(finished: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(finished.read_bytes())
    with sqlite3.connect(path) as connection:
        for number, (pid, seen) in enumerate([("x", 1e12), (2**40, 1e12), (1, "now"), (-1, 1e12)]):
            connection.execute("INSERT INTO runs VALUES (?, 'c', 'h', ?, 'b', ?)", (f"r{number}", pid, seen))
            connection.execute("INSERT INTO claims VALUES ('c', ?, ?)", (number, f"r{number}"))
    connection.close()
    opened = open_results(path)
    assert opened.under_way() == 0
    opened.close()


@pytest.mark.parametrize("seed", range(20))
def test_truncated_and_changed_files(seed: int, finished: Path, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    content = bytearray(finished.read_bytes())
    for place in random.integers(0, len(content), 30).tolist():
        content[place] = int(random.integers(256))
    path = tmp_path / "r.sqlite"
    path.write_bytes(content[: int(random.integers(len(content)))] if seed % 2 else content)
    with suppress(ResultsError):
        opened = open_results(path)
        try:
            summarise(opened.cells())
            opened.under_way()
        finally:
            opened.close()
