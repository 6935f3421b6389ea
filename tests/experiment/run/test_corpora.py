"""Prepared corpora and vectors can be made again."""

import json
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
from tfcr.experiment.run.corpora import open_corpus, prepare_corpus, program_text, read_whole


def test_several_labels_per_document_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a", "label": ["x", "y"]}\n{"text": "b", "label": ["x"]}\n')
    plan = CorpusPlan(str(file), ReadOptions(), "words", 10, 0, 2)
    with pytest.raises(DataError, match="found several labels per document; an experiment"):
        read_whole(plan)


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("see https://a-b.org/c/?d=1#e now", "see  now"),
        ("see http://a.org:80/x now", "see :80/x now"),  # a port is not part of its pattern
        ("<http://a.org>, and ftp://b", "<>, and"),
        ("no://", "no://"),
        ("joined\u00a0words, and others\u00a0", " and others"),  # the end of a text is stripped first
        ("tabs\tand\nlines\r\n", "tabs\tand\nlines"),
    ],
)
def test_what_the_authors_program_counts(text: str, counted: str) -> None:
    assert program_text(text) == counted


def test_the_programs_counts_leave_out_what_it_does_not_count(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    texts = ["good film http://a.org/film", "good\u00a0film film", "plain", "bad http://b.org:80/film"]
    rows = [{"text": text, "label": "xy"[number % 2]} for number, text in enumerate(texts)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    plan = CorpusPlan(str(file), ReadOptions(), "paper", 10, 0, 2)
    corpus = open_corpus(prepare_corpus(plan).entry)
    film, good = (corpus.documents.vocabulary.words.index(word) for word in ("film", "good"))
    assert corpus.documents.matrix.toarray()[:, [film, good]].tolist() == [[1, 1], [2, 1], [0, 0], [0, 0]]
    assert corpus.program_counts.toarray()[:, [film, good]].tolist() == [[1, 1], [1, 0], [0, 0], [0, 0]]


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
