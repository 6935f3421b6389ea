"""Prepared corpora and vectors can be made again."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiment.conftest import (
    stored,
)
from tfcr.data import ReadOptions
from tfcr.errors import DataError
from tfcr.experiment import (
    Request,
    Results,
    open_results,
    run_experiment,
)
from tfcr.experiment.plan.corpora import CorpusPlan
from tfcr.experiment.run.corpora import read_whole


def test_several_labels_per_document_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a", "label": ["x", "y"]}\n{"text": "b", "label": ["x"]}\n')
    plan = CorpusPlan(str(file), ReadOptions(), "words", 10, 0, 2)
    with pytest.raises(DataError, match="found several labels per document; an experiment"):
        read_whole(plan)


def flip_a_bit(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.filterwarnings("ignore:the cache entry experiments:tfcr.TfcrWarning")
@pytest.mark.parametrize("damage", [lambda content: content[:-1], flip_a_bit])
@pytest.mark.parametrize("kind", ["*.raw", "facts.json", "seal.json"])
def test_a_damaged_cache_is_made_again(
    kind: str, damage: Callable[[bytes], bytes], request_: Request, results: Results, tmp_path: Path
) -> None:
    from tfcr.system.files import cache_folder

    run_experiment(replace(request_, schemes=("tfcr",)), results)
    files = [file for file in cache_folder("experiments").rglob(kind) if file.stat().st_size]
    assert files
    for file in files:
        file.write_bytes(damage(file.read_bytes()))
    other = open_results(tmp_path / "other.sqlite", make=True)
    # memory-mapped files are not looked at again by a process that has them open
    from tfcr.experiment.run.corpora import open_corpus
    from tfcr.experiment.run.vectors import _open_aligned

    open_corpus.cache_clear()
    _open_aligned.cache_clear()
    run_experiment(replace(request_, schemes=("tfcr",)), other)
    assert stored(tmp_path / "other.sqlite") == stored(results.path)
    other.close()
