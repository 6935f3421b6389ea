"""benchmarks/accuracy.py on a tiny dataset: what is run, what is kept, what is printed."""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import random_corpus, random_vectors

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(importlib.import_module("measuring"), "RESULTS", tmp_path)
    monkeypatch.setattr(importlib.import_module("accuracy"), "warm_up", lambda: None)  # nothing here needs it
    return importlib.import_module


def test_a_fold_is_run_once_and_comes_into_the_tables(
    modules: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = random_corpus(90)
    source = str(tmp_path / "tiny.csv")
    pl.DataFrame({"text": corpus.texts, "label": corpus.labels}).write_csv(source)
    run = modules("accuracy").main
    given = ["--datasets", source, "--systems", "tfidf,tfidf-bigrams", "--results", str(tmp_path / "r.sqlite")]

    run([*given, "--folds", "1/3"])
    assert "tfidf-bigrams fold 1" in capsys.readouterr().err
    run([*given, "--folds", "2/3"])
    printed = capsys.readouterr()
    assert "fold 1" not in printed.err
    assert printed.err.count("fold 2") == 2
    assert "| tiny.csv | **1.0000** ± 0.0000 | 1.0000 ± 0.0000 |" in printed.out
    run([*given, "--folds", "2/3", "--size", "20", "--thin"])
    assert capsys.readouterr().err.count("fold 1") == 2  # another training part is another cell

    written = json.loads((tmp_path / "accuracy.json").read_text())["results"]
    assert [row["system"] for row in written] == ["tfidf", "tfidf-bigrams"]
    assert written[0]["seconds"]["train wall"] > 0
    assert (tmp_path / "accuracy-20-thin.md").exists()


def test_which_requests_are_made(modules: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    accuracy = modules("accuracy")
    monkeypatch.setattr(accuracy, "vector_file", Path)
    given = ["--datasets", "agnews,emoji", "--systems", "tfidf,best,best-w2v", "--size", "9", "--thin"]
    requests = list(accuracy.requests(accuracy.parse(given)))
    assert [(request.datasets[0].name, request.first_folds, request.folds) for request in requests] == [
        *[("agnews", 10, 10)] * 2,
        *[("emoji", 3, 10)] * 2,
    ]
    glove, in_domain, *_ = requests
    assert [system.name for system in glove.systems] == ["tfidf", "best"]
    assert glove.embeddings[0].source == "glove.6B.100d.subset.bin"
    assert ([system.name for system in in_domain.systems], in_domain.embeddings[0].source) == (["best"], "w2v")
    assert in_domain.word2vec.trained_on == "train"
    assert {(request.sizes, request.thin) for request in requests} == {((9,), 0.02)}
    for request in requests:
        request.check()


@pytest.mark.parametrize("name", ["tfidf", "tfidf-bigrams", "mean+lr"])
def test_every_peer_learns(name: str, modules: Any) -> None:
    corpus = random_corpus(90)
    system = modules("systems").SYSTEMS[name]
    model = system.make(random_vectors(corpus) if system.needs_vectors else None, 0)
    assert (model.fit(corpus.texts, np.array(corpus.labels)).predict(corpus.texts) == corpus.labels).mean() > 0.75
    assert json.loads(json.dumps(system.settings))["peer"]["choices"]


def test_every_system_has_its_own_settings(modules: Any) -> None:
    systems = modules("systems").SYSTEMS.values()
    assert len({json.dumps(system.settings) for system in systems}) == len(systems)


def test_the_inner_split(modules: Any) -> None:
    labels = np.repeat(["a", "b", "c", "d"], [100, 100, 100, 1])
    train, test = modules("systems").inner_split(labels)
    assert sorted([*train, *test]) == list(range(301))
    assert [int((labels[test] == label).sum()) for label in "abcd"] == [20, 20, 20, 0]
