"""The runner: what is done is not done again, whatever happened to the run before."""

import multiprocessing
import signal
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.experiment.conftest import (
    plan_all,
    small_vectors,
    stored,
)
from tests.experiment.run.children import folds_in, kill_request, run_in_child
from tfcr.experiment import (
    DatasetChoice,
    Reporter,
    Request,
    Results,
    VectorsChoice,
    Word2Vec,
    open_results,
    run_experiment,
)
from tfcr.experiment.run.runner import RunProgress


def test_a_cell_is_never_run_twice(request_: Request, results: Results) -> None:
    first = run_experiment(request_, results)
    assert (first.cells, first.folds_before, first.folds_run) == (10, 0, 20)
    before = stored(results.path)
    again = run_experiment(request_, results)
    assert (again.cells, again.folds_before, again.folds_run) == (10, 20, 0)
    more = run_experiment(replace(request_, first_folds=3, schemes=("tfcr", "tfcr-log")), results)
    assert (more.folds_before, more.folds_run) == (4, 2 + 6)
    assert before.items() <= stored(results.path).items()
    renamed = DatasetChoice("other", request_.datasets[0].source)
    assert run_experiment(replace(request_, datasets=(renamed,)), results).folds_run == 0
    assert {cell.cell.dataset for cell in results.cells()} == {"other", "small"}


def test_other_data_vectors_and_seeds_are_other_cells(request_: Request, results: Results, tmp_path: Path) -> None:
    small = replace(request_, schemes=("none",), heads=("lr",), first_folds=1)
    run_experiment(small, results)
    changed = tmp_path / "changed.csv"
    changed.write_text(Path(small.datasets[0].source).read_text().replace("common1", "common2", 1))
    small_vectors(5).save(tmp_path / "v.vec")
    for other in (
        replace(small, datasets=(DatasetChoice("small", str(changed)),)),
        replace(small, embeddings=(VectorsChoice("file", str(tmp_path / "v.vec")),)),
        replace(small, seeds=(1,)),
        replace(small, folds=4),
        replace(small, sample=100),
        replace(small, profiles=("published",)),
        replace(small, sizes=(50,)),
    ):
        assert run_experiment(other, results).folds_run == 1, other


def test_sizes_that_are_too_large_are_left_out_with_a_note(request_: Request, results: Results) -> None:
    notes: list[str] = []
    asked = replace(request_, sizes=(30, 60, 120, 500, None), schemes=("tfcr",), heads=("lr",))
    run_experiment(asked, results, reporter=Reporter(notes.append))
    assert [cell.cell.settings.size for cell in results.cells()] == [30, 60, None]
    assert "small has 120 documents to train on: 1 larger training sizes (500 to 500) are left out" in notes
    assert [cell.folds[0].train_documents for cell in results.cells()] == [30, 60, 120]


def test_in_domain_vectors_and_what_they_saw(request_: Request, results: Results) -> None:
    in_domain = replace(
        request_,
        embeddings=(VectorsChoice("w2v", "w2v"),),
        schemes=("tfcr",),
        heads=("lr",),
        word2vec=Word2Vec(dimensions=4, epochs=1),
    )
    notes: list[str] = []
    run_experiment(in_domain, results, reporter=Reporter(notes.append))
    assert any("on the whole dataset's text without labels" in note for note in notes)
    apart = replace(in_domain, word2vec=Word2Vec(dimensions=4, epochs=1, trained_on="train"))
    notes.clear()
    run_experiment(apart, results, reporter=Reporter(notes.append))
    assert any("on the text of each training fold alone" in note for note in notes)
    whole, part = results.cells()
    assert whole.cell.key != part.cell.key
    assert whole.folds[0].coverage_words >= part.folds[0].coverage_words


def test_small_parts_may_lack_classes(request_: Request, results: Results) -> None:
    run_experiment(replace(request_, sizes=(1, 3), schemes=("tfcr",)), results)
    assert all(0 <= fold.macro_f1 < 1 for cell in results.cells() for fold in cell.folds)


# killed and resumed ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the results of `kill_request`, run at once."""
    path = tmp_path_factory.mktemp("undisturbed") / "r.sqlite"
    results = open_results(path, make=True)
    run_experiment(kill_request(data), results)
    results.close()
    return path


def children() -> Any:
    """Return a context whose children share one import of the library, and no thread of this process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.experiment.run.children"])
    return context


def test_a_killed_run_continues_where_it_stopped(data: Path, undisturbed: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed.sqlite"
    before = 0
    # before the first result; in the middle of a result, between its two statements; between result and claim
    for kill_after in (3, 31, 47):
        process = children().Process(target=run_in_child, args=(kill_request(data), killed, kill_after))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert 0 <= before <= folds_in(killed) < 30
        before = folds_in(killed)
    assert before > 0
    results = open_results(killed)
    outcome = run_experiment(kill_request(data), results)
    assert (outcome.folds_before, outcome.folds_run) == (before, 30 - before)
    assert stored(killed) == stored(undisturbed)
    assert results._rows("SELECT count(*) AS n FROM claims") == [{"n": 0}]
    assert results._rows("SELECT count(*) AS n, sum(done) AS done FROM results") == [{"n": 10, "done": 30}]
    results.close()


def test_two_runs_at_once(data: Path, undisturbed: Path, tmp_path: Path) -> None:
    target = tmp_path / "both.sqlite"
    context = children()
    start = context.Barrier(2)
    both = [context.Process(target=run_in_child, args=(kill_request(data), target, -1, start)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(timeout=120)
    assert [process.exitcode for process in both] == [0, 0]
    assert stored(target) == stored(undisturbed)  # and no fold twice
    results = open_results(target)
    runs = results._rows("SELECT run, count(*) AS folds FROM folds GROUP BY run")
    assert len(runs) == 2, "each of the two has run some"
    results.close()


def test_what_a_killed_run_had_claimed_of_a_group_is_run(request_: Request, results: Results) -> None:
    small = replace(request_, schemes=("none", "tfcr"), heads=("lr",), first_folds=1)
    [first, _] = plan_all(small)
    other = open_results(results.path)
    with other.running("another") as another:
        another.claim([(first.cell.key, 0)])

        def kill_it(progress: RunProgress) -> None:
            if progress.done == 1:
                with sqlite3.connect(results.path) as connection:
                    connection.execute("UPDATE runs SET pid = 4194399 WHERE id = ?", (another.id,))
                connection.close()

        assert run_experiment(small, results, reporter=Reporter(on_progress=kill_it)).folds_run == 2
    other.close()
