"""benchmarks/published_search.py on a tiny dataset: what is run, resumed, and how settings are ranked."""

import importlib
import sqlite3
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import random_corpus
from tfcr.experiment.plan.published import published_scores

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def search(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("published_search")


def test_settings_are_run_once_and_ranked_by_their_distance(
    search: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = random_corpus(60)
    pl.DataFrame({"text": corpus.texts, "label": corpus.labels}).write_csv(tmp_path / "tiny.csv")
    given = ["--datasets", f"20ng={tmp_path / 'tiny.csv'}", "--folds", "1/3", "--results", str(tmp_path / "s.sqlite")]
    given += ["--dimensions", "4", "--epochs", "1"]
    search.main([*given, "--lengths", "none,0.4"])
    printed = capsys.readouterr()
    assert printed.err.count("Word2Vec(dimensions=4") == 2
    rows = [line.split(" | ") for line in printed.out.splitlines()[2:]]
    assert len({len(row) for row in rows}) == 1
    assert rows[0][:3] == ["| published", "", "20ng"]
    assert len(rows) == 1 + 2 * len(search.READINGS)
    distances = [float(row[3].split(" of ")[0]) for row in rows[1:]]
    assert distances == sorted(distances)
    for row, distance in zip(rows[1:], distances, strict=True):
        differences = [
            abs(float(ours.strip(" |")) - float(theirs.strip(" |")))
            for ours, theirs in zip(row[4:], rows[0][4:], strict=True)
        ]
        assert sum(differences) == pytest.approx(distance, abs=0.006)  # of scores of three digits
    search.main([*given, "--table"])
    assert capsys.readouterr().out == printed.out
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        [[folds]] = connection.execute("SELECT count(*) FROM folds")
        assert folds == 2 * 2 * 6
    search.main([*given, "--lengths", "0.4"])
    with sqlite3.connect(tmp_path / "s.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM folds").fetchone() == (folds,)
    connection.close()


def test_the_distance_counts_all_ten_scores_or_none(search: Any) -> None:
    pairs = list(product(search.HEADS, ("none", "tfidf", "kld", "tftrr", "tfcr")))
    scores = {("20ng", head, scheme): published_scores()["w2v", head, "20ng", scheme] + 0.01 for head, scheme in pairs}
    assert search.distance(scores, "20ng") == pytest.approx(0.1)
    assert search.distance(scores, "semeval") is None
    assert search.distance(dict(list(scores.items())[:9]), "20ng") is None


def test_every_reading_is_a_scheme(search: Any) -> None:
    schemes = {search.tftrr_of_class.__name__, *search.SCHEMES}
    assert set(search.READINGS.values()) <= schemes
