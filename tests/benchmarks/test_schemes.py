"""The experiments of benchmarks/schemes.py: their formulas by hand or by others' code, and a run on a tiny dataset."""

import importlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.feature_selection import chi2
from sklearn.metrics import mutual_info_score

from tests.conftest import random_corpus
from tfcr import ClassCounts, Embeddings
from tfcr.features.parts import PARTS
from tfcr.schemes import compute_weights
from tfcr.text.documents import count_terms
from tfcr.text.vocabulary import Vocabulary

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
CORPUS = random_corpus(60)


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(importlib.import_module("measuring"), "RESULTS", tmp_path)
    return importlib.import_module("schemes")


def counted(texts: list[str], labels: list[str], more: tuple[str, ...] = ()) -> ClassCounts:
    documents = count_terms(texts)
    return ClassCounts.from_documents(documents.over(Vocabulary([*documents.vocabulary.words, *more])), labels)


def test_every_scheme_keeps_the_contract(module: Any) -> None:
    counts = counted(CORPUS.texts, CORPUS.labels, more=("neverseen",))
    for trial in module.TRIALS.values():
        for scheme in {trial.scheme, trial.second or trial.scheme}:
            weights = compute_weights(scheme, counts)
            assert weights[:-1].any()
            assert not weights[-1].any()


def test_chi_square_and_information_gain_as_scikit_learn_has_them(module: Any) -> None:
    documents = count_terms(CORPUS.texts)
    held = documents.matrix.toarray() > 0
    labels = np.array(CORPUS.labels)
    counts = counted(CORPUS.texts, CORPUS.labels)
    gain = [mutual_info_score(labels, column) for column in held.T]
    np.testing.assert_allclose(module.information_gain(counts)[:, 0], np.maximum(gain, 0), atol=1e-6)
    for number, label in enumerate(counts.classes):
        inside = labels == label
        gain = [mutual_info_score(inside, column) for column in held.T]
        np.testing.assert_allclose(module.information_gain_class(counts)[:, number], np.maximum(gain, 0), atol=1e-6)
        # theirs leaves out the documents without the word
        square = chi2(held, inside)[0] + chi2(~held, inside)[0]
        found = module.chi_square(counts)[:, number]
        varies = ~held.all(axis=0)
        np.testing.assert_allclose(found[varies], square[varies], rtol=1e-5, atol=1e-6)
        speaks_for = held[inside].mean(axis=0) > held[~inside].mean(axis=0)
        expected = np.where(speaks_for, np.sqrt(found), 0)
        np.testing.assert_allclose(module.chi_root(counts)[:, number], expected, rtol=1e-5, atol=1e-6)


def test_the_other_formulas_by_hand(module: Any) -> None:
    # "film" in two documents of a, one of b; "good" in one of a; "bad" in one of b, twice
    counts = counted(["film good", "film", "film bad bad"], ["a", "a", "b"])
    bad, film, good = range(3)

    def weights(name: str, **given: Any) -> Any:
        return getattr(module, name)(counts, **given)

    assert weights("relevance_frequency")[film] == pytest.approx([2, np.log2(2.5)])
    assert weights("relevance_frequency_log")[good] == pytest.approx([np.log2(3) * np.log(2), 0])
    assert weights("gravity_moment")[film] == pytest.approx([1 + 7 * 2 / 4])
    assert weights("gravity_moment_class")[film] == pytest.approx([1 + 7 * 2 / 4, 1 + 7 * 1 / 4])
    assert weights("gravity_moment_log")[film] == pytest.approx([2 / 4 * np.log(3), 1 / 4 * np.log(2)])
    assert weights("smooth_inverse_frequency", a=0.5)[film] == pytest.approx([0.5 / (0.5 + 3 / 6)])
    assert weights("smooth_inverse_frequency_class", a=0.5)[film] == pytest.approx([0.5 * 2 / 3, 0.5 * 1 / 3])
    assert weights("smoothed_tfcr", k=1)[film] == pytest.approx([3 / 5 * np.log(4), 2 / 5 * np.log(3)])
    assert weights("root_of", scheme="tfcr")[bad] == pytest.approx([0, np.sqrt(2 / 3)])
    # a prior of 6 tokens is one more of each word for each occurrence: "bad" 0 + 2 of 3 + 6 in a, 2 + 2 of 3 + 6 in b
    z = (np.log(4 / 5) - np.log(2 / 7)) / np.sqrt(1 / 4 + 1 / 2)
    assert weights("log_odds", prior=6)[bad] == pytest.approx([0, z])


def test_a_word_without_a_vector_gets_that_of_its_longest_prefix(module: Any) -> None:
    vectors = Embeddings.from_arrays(["print", "printer", "printing", "pine"], [[1, 0], [0, 1], [0, 3], [9, 9]])
    more = module.add_prefixes(vectors, ["printers", "printable", "pint", "print"])
    assert more["printers"].tolist() == [0, 1]
    assert more["printable"] == pytest.approx([1 / 3, 4 / 3])  # print, printer, printing
    assert more["print"].tolist() == [1, 0]
    assert more.rows(["pint"]).tolist() == [-1]  # "pin" is too short
    assert module.add_prefixes(vectors, ["print"]) is vectors


def test_a_killed_run_is_resumed(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "tiny.csv"
    pl.DataFrame({"text": CORPUS.texts, "label": CORPUS.labels}).write_csv(source)
    words = sorted(set(" ".join(CORPUS.texts).split()))
    vectors = Embeddings.from_arrays(words, np.random.default_rng(0).normal(size=(len(words), 4)))
    vectors.save(tmp_path / "vectors.bin")
    trials = ("tfcr-log", "log-odds", "vectors from prefixes", "tfcr-log beside tftrr")
    stage = module.Stage("Tiny", ("vectors",), {str(source): 2}, trials)
    monkeypatch.setattr(module, "vector_file", lambda name: tmp_path / "vectors.bin")
    monkeypatch.setattr(module, "STAGES", (stage,))
    before = set(PARTS)

    module.main()
    first = capsys.readouterr()
    assert first.err.count(" fold ") == 8
    assert set(PARTS) == before
    with sqlite3.connect(tmp_path / "schemes.sqlite") as connection:  # the last folds are lost
        connection.execute("DELETE FROM folds WHERE rowid IN (SELECT rowid FROM folds ORDER BY rowid DESC LIMIT 3)")
    connection.close()
    module.main()
    second = capsys.readouterr()
    assert second.err.count(" fold ") == 3
    assert second.out == first.out
    assert "| tfcr-log | " in first.out
    assert len(json.loads((tmp_path / "schemes.json").read_text())["results"]) == 8


@pytest.mark.parametrize(
    ("gains", "shown"),
    [
        ((0.11, 0.10, 0.11), "| 0.7067 ± 0.0818 | **+10.67 (0.001)** | +10.67 |"),
        # t = 0.03 / √((1/3 + 1/9) · 0.01²) = 4.5; of two trials, .046 counts as .092
        ((0.02, 0.04, 0.03), "| 0.6300 ± 0.0860 | +3.00 (0.046) | +3.00 |"),
    ],
)
def test_only_differences_that_stand_against_all_trials_are_bold(
    module: Any, gains: tuple[float, ...], shown: str
) -> None:
    stage = module.Stage("Some", ("vectors",), {"data": 3}, ("tfcr-log", "tftrr", "kld"))
    base = [0.5, 0.6, 0.7]
    folds = {"tfcr-log": base, "tftrr": [0.52, 0.6, 0.71], "kld": np.add(base, gains).tolist()}
    scores = {key: score for trial in folds for key, score in zip(stage.keys("data", trial), folds[trial], strict=True)}
    rows = module.table_of(stage, scores).splitlines()[4:]
    assert [row.split(" | ")[0] for row in rows] == ["| kld", "| tftrr", "| tfcr-log"]  # the best first
    assert shown in rows[0]
    assert "| 0.6100 ± 0.0779 | +1.00 (0.272) | +1.00 |" in rows[1]
