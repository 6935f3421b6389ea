import sqlite3
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from distributed import Client

from tests.cli.runner import Run, run  # noqa: F401 - a fixture
from tests.cluster.conftest import cluster_corpus
from tfcr.data.resumable import TableFile
from tfcr.heads import large


@pytest.fixture
def table(tmp_path: Path) -> Path:
    corpus = cluster_corpus(240)
    path = tmp_path / "texts.csv"
    pl.DataFrame({"text": corpus.texts, "label": corpus.labels}).write_csv(path)
    return path


@pytest.fixture
def address(client: Client) -> str:
    return str(client.scheduler.address)


@pytest.mark.slow
def test_train_and_predict_give_what_they_give_here(run: Run, table: Path, address: str) -> None:  # noqa: F811
    folder = table.parent
    for name, more in (("here", ()), ("there", ("--dask", address))):
        trained = run("train", table, "--preset", "fast", "--cv", "3", "-o", folder / name, *more)
        assert trained.status == 0, trained.err
        assert run("predict", folder / name, table, "-o", folder / f"{name}.csv", *more).status == 0
    assert (folder / "here.csv").read_text() == (folder / "there.csv").read_text()


@pytest.mark.slow
def test_files_are_predicted_by_workers(run: Run, table: Path, address: str) -> None:  # noqa: F811
    """Each file by itself: what fails is named, the others are complete, and a second run takes up what is left."""
    folder = table.parent
    assert run("train", table, "--preset", "fast", "--no-cv", "-o", folder / "model").status == 0
    files = [folder / f"{name}.csv" for name in "abc"]
    for number, file in enumerate(files):
        pl.read_csv(table).slice(80 * number, 80).write_csv(file)
    right = files[1].read_text()
    files[1].write_text("other\n1\n")
    asked = ("predict", folder / "model", *files, "-o")
    here = run(*asked, f"{folder}/here/")
    there = run(*asked, f"{folder}/there/", "--dask", address)
    assert (here.status, there.status) == (2, 2)
    assert here.err.replace("/here/", "/there/") == there.err
    files[1].write_text(right)
    resumed = run(*asked, f"{folder}/there/", "--dask", address, "--resume")
    assert resumed.status == 0, resumed.err
    assert f"{folder}/there/a.csv: 80 rows, complete already" in resumed.err
    assert run(*asked, f"{folder}/here/", "--resume").status == 0
    for file in files:
        assert (folder / "there" / file.name).read_text() == (folder / "here" / file.name).read_text()
    assert sorted(path.name for path in (folder / "there").iterdir()) == ["a.csv", "b.csv", "c.csv"]


@pytest.mark.slow
def test_predict_is_resumed_on_a_cluster(
    run: Run,  # noqa: F811
    table: Path,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = table.parent
    monkeypatch.setattr("tfcr.predict_files.ROWS", 50)
    assert run("train", table, "--preset", "fast", "--no-cv", "-o", folder / "model").status == 0
    assert run("predict", folder / "model", table, "-o", folder / "here.csv").status == 0
    add, calls = TableFile.add, []

    def failing(self: TableFile, *given: Any) -> None:
        calls.append(given)
        if len(calls) == 4:
            raise KeyboardInterrupt
        add(self, *given)

    asked = ("predict", folder / "model", table, "-o", folder / "there.csv", "--dask", address)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TableFile, "add", failing)
        patched.setattr("os._exit", sys.exit)  # which would end this process, too
        assert run(*asked).status == 130
    resumed = run(*asked, "--resume")
    assert resumed.status == 0, resumed.err
    assert "resuming after 150 rows" in resumed.err
    assert (folder / "here.csv").read_text() == (folder / "there.csv").read_text()


@pytest.mark.slow
def test_training_that_was_stopped_resumes_what_the_driver_knows(
    run: Run,  # noqa: F811
    table: Path,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", 100)
    monkeypatch.setattr(large, "LEAST_SAMPLE", 100)
    folder = table.parent
    asked = ("train", table, "--preset", "fast", "--cv", "2", "--dask", address, "-o")
    assert run(*asked, folder / "whole").status == 0

    def stop(*given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tfcr.heads.large.weigh_parts", stop)
        patched.setattr("os._exit", sys.exit)
        stopped = run(*asked, folder / "model")
    assert stopped.status == 130
    assert "to resume, type the same command again" in stopped.err
    resumed = run(*asked, folder / "model")
    assert resumed.status == 0, resumed.err
    assert "resuming training: a strength is picked for lexical; fitted: lexical" in resumed.err
    for name in ("whole", "model"):
        assert run("predict", folder / name, table, "-o", folder / f"{name}.csv").status == 0
    assert (folder / "whole.csv").read_text() == (folder / "model.csv").read_text()


@pytest.mark.slow
def test_evaluate_gives_the_same_scores(run: Run, table: Path, address: str) -> None:  # noqa: F811
    asked = ("evaluate", table, "--preset", "fast", "--cv", "3", "--json")
    here, there = run(*asked), run(*asked, "--dask", address)
    assert there.status == 0, there.err
    assert here.out == there.out


@pytest.mark.slow
def test_an_experiment_gives_the_same_results(run: Run, table: Path, address: str) -> None:  # noqa: F811
    asked = (
        "experiment",
        "run",
        "--datasets",
        f"d={table}",
        "--schemes",
        "tfcr,none",
        "--heads",
        "svm",
        "--folds",
        "2",
    )
    found = []
    for name, more in (("here", ("--processes", "1")), ("there", ("--dask", address))):
        path = table.parent / f"{name}.sqlite"
        ran = run(*asked, "--dimensions", "5", "--results", path, *more)
        assert ran.status == 0, ran.err
        found.append(rows_of(path))
    assert found[0] == found[1]
    assert len(found[0]) == 4


def rows_of(path: Path) -> list[tuple[object, ...]]:
    """Return the results, without times."""
    connection = sqlite3.connect(path)
    try:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(folds)")]
        kept = [name for name in columns if not any(part in name for part in ("seconds", "finished", "run"))]
        return sorted(connection.execute(f"SELECT {', '.join(kept)} FROM folds").fetchall(), key=str)
    finally:
        connection.close()


def test_dask_along_with_processes_is_refused(run: Run) -> None:  # noqa: F811
    refused = run("experiment", "run", "--dask", "local", "--processes", "2", "--datasets", "pydocs")
    assert refused.status == 2
    assert "found --dask along with --processes" in refused.err


def test_no_scheduler_is_one_line(run: Run, table: Path, tmp_path: Path) -> None:  # noqa: F811
    refused = run("train", table, "-o", tmp_path / "model", "--dask", "nonsense")
    assert refused.status == 2
    assert refused.err.count("\n") == 1
    assert "found no Dask scheduler at nonsense" in refused.err
    assert not (tmp_path / "model").exists()
