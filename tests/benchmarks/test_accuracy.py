"""benchmarks/accuracy.py on a tiny dataset: what is run, what is kept, what is printed."""

import importlib
import json
import lzma
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from tests.conftest import random_corpus, random_vectors
from tests.experiment.conftest import cell_of, changed_cell
from tfcr.data import Corpus
from tfcr.experiment import ClassSizes
from tfcr.experiment.results.statistics import corrected_resampled_t, holm
from tfcr.experiment.results.store import CellResult

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(importlib.import_module("measuring"), "RESULTS", tmp_path)
    monkeypatch.setattr(importlib.import_module("accuracy"), "warm_up", lambda: None)  # nothing here needs it
    monkeypatch.setattr(importlib.import_module("accuracy"), "KEPT", tmp_path / "folds.sqlite.xz")
    return importlib.import_module


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    corpus = random_corpus(90)
    source = tmp_path / "tiny.csv"
    pl.DataFrame({"text": corpus.texts, "label": corpus.labels}).write_csv(source)
    return str(source)


def test_a_fold_is_run_once_and_comes_into_the_tables(
    modules: Any, tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = modules("accuracy").main
    given = ["--datasets", tiny, "--systems", "tfidf,tfidf-bigrams"]

    run([*given, "--folds", "1/3"])
    assert "tfidf-bigrams fold 1" in capsys.readouterr().err
    run([*given, "--folds", "2/3"])
    printed = capsys.readouterr()
    assert "fold 1" not in printed.err
    assert printed.err.count("fold 2") == 2
    assert "| tiny.csv | 60 | 3 | **1.0000** ± 0.0000 | 1.0000 ± 0.0000 |" in printed.out
    run([*given, "--folds", "2/3", "--size", "20"])
    assert capsys.readouterr().err.count("fold 1") == 2  # another training part is another cell
    run([*given, "--folds", "1/3", "--per-class", "5,10,70"])
    assert capsys.readouterr().err.count("fold 1") == 6  # 70 are as many as the smallest class has: 20

    run(["--table"])
    printed = capsys.readouterr()
    assert printed.err == ""
    first = [line.split(" | ")[:2] for line in printed.out.splitlines() if line.startswith("| tiny.csv")]
    rows = [["| tiny.csv, 10 per class", "30"], ["| tiny.csv, 20 documents", "20"], ["| tiny.csv", "60"]]
    curve = [["| tiny.csv", "5"], ["| tiny.csv", "10"], ["| tiny.csv", "20"]]
    assert first == rows + curve + rows * 2  # scores, the learning curve, seconds of training and of prediction
    written = json.loads((tmp_path / "accuracy.json").read_text())["results"]
    assert len(written) == 5 * 2
    assert written[0]["seconds"]["train wall"] > 0


def test_folds_of_peers_are_kept_and_not_run_again(
    modules: Any, tiny: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    accuracy = modules("accuracy")
    given = ["--datasets", tiny, "--systems", "tfidf,fast", "--folds", "1/3"]
    accuracy.main([*given, "--keep"])
    assert capsys.readouterr().err.count("fold 1") == 2
    (tmp_path / "accuracy.sqlite").unlink()
    accuracy.main(given)
    printed = capsys.readouterr()
    assert "tfidf fold 1" not in printed.err
    assert "fast fold 1" in printed.err  # depends on our code
    assert "| tiny.csv | 60 | 3 |" in printed.out
    (tmp_path / "accuracy.sqlite").unlink()
    accuracy.main(["--table"])
    printed = capsys.readouterr()
    assert "fold 1" not in printed.err
    assert "| row | training documents | classes | tfidf | fast |" in printed.out
    accuracy.main(["--datasets", tiny, "--systems", "fast", "--folds", "2/3", "--keep"])  # adds a fold
    assert "fast fold 1" in capsys.readouterr().err
    (tmp_path / "kept.sqlite").write_bytes(lzma.decompress((tmp_path / "folds.sqlite.xz").read_bytes()))
    kept = sqlite3.connect(tmp_path / "kept.sqlite")
    assert set(kept.execute("SELECT scheme FROM cells")) == {("tfidf",), ("fast",)}
    assert kept.execute("SELECT * FROM runs").fetchall() == []  # they name the machine
    for [facts] in kept.execute("SELECT facts FROM cells").fetchall():
        assert json.loads(facts)["source"] == "tiny.csv"  # without its folder
    assert len(kept.execute("SELECT * FROM folds").fetchall()) == 3
    (tmp_path / "accuracy.sqlite").unlink()
    accuracy.main(["--datasets", tiny, "--systems", "fast", "--folds", "1/3", "--keep"])  # leaves the second as it is
    (tmp_path / "kept.sqlite").write_bytes(lzma.decompress((tmp_path / "folds.sqlite.xz").read_bytes()))
    kept = sqlite3.connect(tmp_path / "kept.sqlite")
    assert kept.execute("SELECT wanted FROM cells WHERE scheme = 'fast'").fetchall() == [(2,)]


def test_which_requests_are_made(modules: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    accuracy = modules("accuracy")
    monkeypatch.setattr(accuracy, "vector_file", Path)
    given = ["--datasets", "agnews,emoji", "--systems", "tfidf,best,best-w2v"]
    requests = list(accuracy.requests(accuracy.parse(given)))
    assert [(request.datasets[0].name, request.first_folds, request.folds) for request in requests] == [
        *[("agnews", 10, 10)] * 2,
        *[("emoji", 3, 10)] * 2,
    ]
    default, in_domain, *_ = requests
    assert [system.name for system in default.systems] == ["tfidf", "best"]
    assert not any(system.needs_vectors for system in default.systems)  # "auto" finds its own
    assert ([system.name for system in in_domain.systems], in_domain.embeddings[0].source) == (["best"], "w2v")
    assert in_domain.word2vec.trained_on == "train"
    [glove] = accuracy.requests(accuracy.parse(["--datasets", "agnews", "--systems", "paper"]))
    assert glove.embeddings[0].source == "glove.6B.100d.subset.bin"
    given = ["--datasets", "agnews,emoji", "--systems", "tfidf", "--size", "9", "--zipf", "1"]
    requests = list(accuracy.requests(accuracy.parse(given)))
    assert {(request.sizes, request.class_sizes, request.first_folds) for request in requests} == {
        ((9,), ClassSizes(zipf=1), 10)
    }
    for request in requests:
        request.check()


def test_named_rows(modules: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    accuracy = modules("accuracy")
    monkeypatch.setattr(accuracy, "_smallest", lambda source, folds: 1500)
    monkeypatch.setattr(accuracy, "many_classes", lambda: accuracy.parse_dataset("many-class"))
    asked = accuracy.parse(["--rows", ",".join(accuracy.ROWS), "--systems", "tfidf"])
    requests = list(accuracy.requests(asked))
    assert {request.datasets[0].name for request in requests} == {*accuracy.DATASETS, "many-class"}
    assert {request.sizes for request in requests} == {(None,), (1000,), (5000,)}
    curve = [request for request in requests if request.datasets[0].name == "agnews" and request.first_folds == 3]
    assert [request.class_sizes.most for request in curve][-3:] == [500, 1000, 1500]  # never more than there are
    for request in requests:
        request.check()
    some = accuracy.parse(["--rows", "few,skewed", "--datasets", "emoji,agnews", "--systems", "tfidf"])
    found = [(one.datasets[0].name, one.class_sizes) for one in accuracy.requests(some)]
    assert found == [("emoji", ClassSizes(10)), ("agnews", ClassSizes(10)), ("emoji", ClassSizes(zipf=1))]
    with pytest.raises(SystemExit):
        accuracy.parse(["--rows", "few", "--size", "7"])
    assert "expected one of both" in capsys.readouterr().err


PEERS = ["tfidf", "tfidf-bigrams", "tfidf-chars", "tfidf-chars-lr", "mean+lr"]


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_peer_learns(name: str, n_classes: int, modules: Any) -> None:
    corpus = random_corpus(90, n_classes)
    system = modules("systems").SYSTEMS[name]
    model = system.make(random_vectors(corpus) if system.needs_vectors else None, 0)
    assert (model.fit(corpus.texts, np.array(corpus.labels)).predict(corpus.texts) == corpus.labels).mean() > 0.75
    assert json.loads(json.dumps(system.settings))["peer"]["choices"]


def test_every_system_has_its_own_settings(modules: Any) -> None:
    systems = modules("systems").SYSTEMS.values()
    assert len({json.dumps(system.settings) for system in systems}) == len(systems)


def test_balanced_weights_are_tried_if_classes_are_uneven(modules: Any) -> None:
    systems = modules("systems")
    choices = [(None, 1.0), ("balanced", 1.0)]
    assert systems.worth_trying(choices, np.repeat(["a", "b"], [30, 33])) == choices[:1]
    assert systems.worth_trying(choices, np.repeat(["a", "b"], [30, 34])) == choices


def test_one_against_the_rest_weighs_classes_as_linear_svc_does(modules: Any) -> None:
    random = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], [200, 40, 10])
    X = random.normal(size=(250, 2)) + np.array([[0, 0], [1, 0], [0, 1]])[np.searchsorted(["a", "b", "c"], labels)]
    plain, balanced = (
        modules("systems").OneVsRestLogistic(weights, 1.0).fit(X, labels) for weights in (None, "balanced")
    )
    assert (plain.predict(X) == "c").sum() < (balanced.predict(X) == "c").sum()
    assert (plain.predict(X) == labels).mean() > 0.8
    weight = np.where(labels == "c", 250 / (3 * 10), 1)  # of the class itself; the rest is not weighed
    alone = LogisticRegression(solver="liblinear", dual=True, max_iter=1000, random_state=0)
    np.testing.assert_allclose(balanced._coef[:, 2], alone.fit(X, labels == "c", weight).coef_[0], rtol=1e-3)


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
@pytest.mark.parametrize("n_classes", [2, 3, 8, 11])
def test_descent_finds_the_optimum_of_liblinear(n_classes: int, C: float, modules: Any) -> None:
    random = np.random.default_rng(n_classes)
    X = sp.csr_array(sp.random_array((300, 200), density=0.1, rng=random))
    labels = random.integers(n_classes, size=300)
    model = modules("systems").OneVsRestLogistic(None, C).fit(X, labels)
    for name in range(n_classes):
        peer = LogisticRegression(C=C, solver="liblinear", tol=1e-8, max_iter=10_000).fit(X, labels == name)
        np.testing.assert_allclose(model._coef[:, name], peer.coef_[0], rtol=1e-3, atol=1e-3 * abs(peer.coef_).max())
        np.testing.assert_allclose(model._intercept[name], peer.intercept_[0], rtol=1e-3, atol=1e-3)


def test_merged_columns_give_the_same_predictions(modules: Any) -> None:
    random = np.random.default_rng(0)
    some = sp.random_array((200, 40), density=0.1, rng=random).toarray()
    X = np.hstack([some, 3 * some[:, :20], np.eye(200), 2 * np.eye(200), 0.5 * np.eye(200)])
    labels, new = random.integers(3, size=200), random.random((50, X.shape[1]))
    assert modules("merged_columns")._by_frequency(np.array([2, 9, 5])).tolist() == [2, 0, 1]
    merging = modules("merged_columns").MergedColumns().fit(sp.csr_matrix(X))
    merged = merging.transform(sp.csr_matrix(X))
    assert merged.shape[1] <= 40 + 200
    np.testing.assert_allclose((merged @ merged.T).toarray(), X @ X.T, atol=1e-12)
    one, two = (
        LinearSVC(tol=1e-8, max_iter=100_000).fit(features, labels).decision_function(asked)
        for features, asked in ((X, new), (merged, merging.transform(sp.csr_matrix(new))))
    )
    np.testing.assert_allclose(one, two, atol=1e-5)


# encoders ------------------------------------------------------------------------------------------------------------


def count_letters(texts: list[str]) -> Any:
    return np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32)


@pytest.fixture
def encoded(modules: Any, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Replace an encoder by one that counts letters; return the batches that it was given."""
    encoders, batches = modules("encoders"), []

    def load() -> Any:
        def encode(texts: list[str]) -> Any:
            batches.append(texts)
            return count_letters(texts)

        return encode

    monkeypatch.setitem(encoders.ENCODERS, "wordllama", load)
    return batches


def test_a_text_is_encoded_once(modules: Any, encoded: list[list[str]]) -> None:
    kept = modules("encoders").encoder("wordllama")
    texts = ["aab", "", "b", "aab", *("c" * n for n in range(3, 40))]
    first = np.array([[0.8**0.5, 0.2**0.5, 0], [0, 0, 0], [0, 1, 0]])
    np.testing.assert_allclose(kept.vectors(texts)[:3], first, rtol=1e-6)
    _warming, *batches = encoded
    assert [len(batch) for batch in batches] == [32, 8]
    assert batches[0][:2] == ["", "b"]  # by length, each once
    encoded.clear()
    np.testing.assert_array_equal(kept.vectors(texts), kept.vectors([*texts, "cba"])[:-1])
    assert encoded == [["cba"]]
    assert kept.seconds(texts) >= kept.seconds(texts[4:]) > 0


def test_encoding_counts_in_the_times_of_a_peer(
    modules: Any, encoded: list[list[str]], tiny: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(modules("encoders").Encoded, "seconds", lambda self, texts: 1000.0 * len(texts))
    given = ["--datasets", tiny, "--systems", "wordllama+lr", "--folds", "1/3"]
    modules("accuracy").main(given)
    [written] = json.loads((tmp_path / "accuracy.json").read_text())["results"]
    assert 60_000 < written["seconds"]["train cpu"] < 60_100
    assert 30_000 < written["seconds"]["predict wall"] < 30_100
    assert written["picked"]["0"][0] is None


def test_a_missing_encoder(modules: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(importlib.import_module("sys").modules, "wordllama", None)
    with pytest.raises(ImportError, match="pip install 'tfcr\\[bench-encoders\\]'"):
        modules("encoders").load_wordllama()
    accuracy = modules("accuracy")
    monkeypatch.setattr(accuracy, "is_installed", lambda system: system.name != "wordllama+lr")
    assert "wordllama+lr" not in accuracy.wanted_systems(accuracy.parse([]))
    assert "left out: wordllama+lr;" in capsys.readouterr().err


# tables --------------------------------------------------------------------------------------------------------------


def scored(dataset: str, system: str, scores: list[float], sizes: ClassSizes | None = None) -> CellResult:
    cell = cell_of(dataset, system, scores)
    settings = replace(cell.cell.settings, class_sizes=sizes)
    return changed_cell(cell, key=f"{system} {sizes}", head="", profile="", settings=settings)


def test_tests_are_corrected_over_the_rows_that_count(modules: Any) -> None:
    tables = modules("accuracy_tables")
    few, curve = ClassSizes(10), ClassSizes(20)
    ours = [scored("one", "best", [0.8, 0.82, 0.83]), scored("one", "best", [0.7, 0.7, 0.75], few)]
    theirs = [scored("one", "tfidf", [0.7, 0.71, 0.74]), scored("one", "tfidf", [0.7, 0.72, 0.7], few)]
    points = [scored("one", name, [0.5, 0.6, 0.6], curve) for name in ("best", "tfidf")]
    scores = tables.collect([*ours, *theirs, *points, cell_of("one", "tfcr", [0.9])])
    assert [row.name for row in scores] == ["one, 10 per class", "one, 20 per class", "one"]
    found = list(tables.compare_rows(scores, "best", "tfidf").values())
    p = [
        corrected_resampled_t(*both, 1 / 9)[1] for both in (([7, 7, 7.5], [7, 7.2, 7]), ([8, 8.2, 8.3], [7, 7.1, 7.4]))
    ]
    assert [one.p for one in found] == pytest.approx(holm(p))
    assert [one.points for one in found] == pytest.approx([1, 10])
    assert [one.is_significant for one in found] == [False, True]
    # each of these rows has 180 training documents in the made-up folds
    assert list(tables.average_rows(scores)) == ["best | tfidf | +5.50 (2) | +5.50 (2) |  | 1 | 0"]
    assert next(iter(tables.mean_rows(scores))) == "all rows | 2 | 0.7117 | 0.7667"
    assert list(tables.curve_rows(scores))[1].startswith("one | 20 | **0.5667** ± 0.0471 (3 of 10 folds)")


def test_a_single_fold_is_not_tested(modules: Any) -> None:
    tables = modules("accuracy_tables")
    scores = tables.collect([scored("one", "best", [0.8, 0.9]), scored("one", "tfidf", [0.7])])
    [found] = tables.compare_rows(scores, "best", "tfidf").values()
    assert (found.shown(), found.p) == ("+10.00", None)
    apart = changed_cell(scored("two", "best", [0.8]), key="two")
    assert tables.compare(apart, CellResult(apart.cell, 10, ())) is None


def test_cpu_per_thousand_documents(modules: Any) -> None:
    tables = modules("accuracy_tables")
    cell = scored("one", "best", [0.8, 0.9])
    times = {"train": {"cpu": 9.0, "wall": 1.0}, "predict": {"cpu": 0.5, "wall": 1.0}}
    timed = CellResult(cell.cell, 10, (replace(cell.folds[0], details=times), cell.folds[1]))
    assert tables.cpu_per_thousand(timed, "train") == pytest.approx(50)  # 180 documents
    assert tables.cpu_per_thousand(timed, "predict") == pytest.approx(25)  # 20 documents


# many classes --------------------------------------------------------------------------------------------------------


def test_classes_of_several_corpora_are_joined(modules: Any) -> None:
    join = modules("many_classes").join
    corpora = {"one": Corpus([f"text {n}" for n in range(9)], ["a"] * 6 + ["b"] * 3), "two": Corpus(["x", "y"], [1, 1])}
    joined = join(corpora, most=4)
    assert joined["label"].to_list() == ["one/a"] * 4 + ["one/b"] * 3 + ["two/1"] * 2
    assert set(joined["text"][:4]) < set(corpora["one"].texts[:6])
    assert joined.equals(join(corpora, most=4))


@pytest.mark.slow
def test_over_a_hundred_classes(modules: Any, shared_data: Path) -> None:
    made = modules("many_classes").many_classes()
    sizes = pl.read_parquet(made.source)["label"].value_counts()["count"]
    assert len(sizes) > 100
    assert 30 <= sizes.min() <= sizes.max() == 150  # type: ignore[operator]
    assert modules("many_classes").many_classes() == made
