"""Prepared corpora and vectors can be made again."""

from dataclasses import replace
from pathlib import Path

from tests.experiment.conftest import (
    stored,
)
from tfcr.experiment import (
    Request,
    Results,
    open_results,
    run_experiment,
)


def test_a_damaged_cache_is_made_again(request_: Request, results: Results, tmp_path: Path) -> None:
    from tfcr.system.files import cache_folder

    run_experiment(replace(request_, schemes=("tfcr",)), results)
    for file in cache_folder("experiments").rglob("*.npy"):
        file.write_bytes(file.read_bytes()[:-10])
    other = open_results(tmp_path / "other.sqlite", make=True)
    # memory-mapped files are not looked at again by a process that has them open
    from tfcr.experiment.run.corpora import open_corpus
    from tfcr.experiment.run.vectors import _open_aligned

    open_corpus.cache_clear()
    _open_aligned.cache_clear()
    run_experiment(replace(request_, schemes=("tfcr",)), other)
    assert stored(tmp_path / "other.sqlite") == stored(results.path)
    other.close()
