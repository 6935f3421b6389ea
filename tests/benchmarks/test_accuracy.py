"""The machinery of benchmarks/accuracy.py on a tiny dataset: folds, what is kept, what is printed."""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import random_corpus

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(importlib.import_module("measuring"), "RESULTS", tmp_path)
    monkeypatch.setattr(importlib.import_module("accuracy_folds"), "warm_up", lambda: None)  # nothing here needs it
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
    assert f"| {source} | **1.0000** ± 0.0000 | 1.0000 ± 0.0000 |" in printed.out
    run([*given, "--folds", "2/3", "--size", "20", "--thin"])
    assert capsys.readouterr().err.count("fold 1") == 2  # another training part is another cell

    written = json.loads((tmp_path / "accuracy.json").read_text())["results"]
    assert [row["system"] for row in written] == ["tfidf", "tfidf-bigrams"]
    assert written[0]["seconds"]["train wall"] > 0
    assert (tmp_path / "accuracy-20-thin.md").exists()


def test_training_parts_of_small_classes(modules: Any) -> None:
    labels = np.repeat(["a", "b", "c", "d"], [100, 100, 100, 1])
    kept = modules("accuracy_folds").thin_out(np.arange(300), labels[:300], seed=0, fold=0)
    assert [int((labels[kept] == label).sum()) for label in "abc"] == [100, 14, 2]  # 1, √.02, .02
    train, test = modules("systems").inner_split(labels)
    assert sorted([*train, *test]) == list(range(301))
    assert [int((labels[test] == label).sum()) for label in "abcd"] == [20, 20, 20, 0]
