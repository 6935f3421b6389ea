"""Training on files that do not fit into memory."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.heads.test_sharded import LABELS, TEXTS
from tfcr import TfcrClassifier
from tfcr.data import load_data
from tfcr.data.labelled_stream import labelled_stream
from tfcr.errors import DataError, InputError
from tfcr.evaluation.streams import fits_into_memory, train_stream
from tfcr.evaluation.validation import train_and_measure
from tfcr.heads import large

NAMES = np.array(["neg", "none", "pos"])[LABELS].tolist()


@pytest.fixture(autouse=True)
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfcr.counting.SHARD_DOCUMENTS", 64)
    monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", 150)
    monkeypatch.setattr(large, "HELD_OUT", 60)


@pytest.fixture
def data(tmp_path: Path) -> str:
    return write(tmp_path / "data.csv", zip(TEXTS, NAMES, strict=True))


def write(path: Path, rows: Any) -> str:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return str(path)


def test_files_are_trained_on_as_if_they_were_in_memory(data: str) -> None:
    notes: list[str] = []
    found, whole = (TfcrClassifier.from_preset("fast") for _ in range(2))
    scores = train_stream(found, labelled_stream([data]), folds=3, note=notes.append)
    train_and_measure(whole, load_data([data]), folds=0)
    ordered = np.sort(whole.decision_function(TEXTS), axis=1)
    sure = ordered[:, -1] - ordered[:, -2] > 0.01
    assert (found.predict(TEXTS) == whole.predict(TEXTS))[sure].all()
    assert list(scores)[:2] == ["macro-F1, mean of 3 folds", "accuracy"]
    assert 0.5 < scores["accuracy"] < 1
    assert any(note.startswith("cross-validated on a sample of 15") for note in notes)
    assert any("strengths were picked on a sample of 150 documents" in note for note in notes)
    training = found.training_
    assert (training["data"], training["columns"], training["label_column"]) == ("data.csv", ["text"], "label")
    assert training["documents_per_class"] == [Counter(NAMES)[name] for name in ("neg", "none", "pos")]
    assert found.model_.figures is not None


def test_rows_are_those_of_the_file(tmp_path: Path) -> None:
    """Rows without text, and classes that are left out, have numbers too."""
    skipped = [("", "pos")] * 5 + [("alone", "rare")]
    path = write(tmp_path / "data.csv", [*skipped, *zip(TEXTS, NAMES, strict=True)])
    found = TfcrClassifier.from_preset("fast")
    train_stream(found, labelled_stream([path]), folds=2, min_class_size=2)
    figures = found.model_.measured()
    assert figures is not None
    assert all(hard["row"] > len(skipped) for hard in figures["hardest"])
    labels = [*(label for _, label in skipped), *NAMES]
    assert [labels[hard["row"] - 1] for hard in figures["hardest"]] == [hard["label"] for hard in figures["hardest"]]


def test_small_classes_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", [*zip(TEXTS, NAMES, strict=True), ("alone", "rare"), ("again", "rare")])
    notes: list[str] = []
    found = TfcrClassifier.from_preset("fast")
    train_stream(found, labelled_stream([path]), folds=0, min_class_size=3, note=notes.append)
    assert found.classes_.tolist() == ["neg", "none", "pos"]
    assert notes[0] == "1 of 4 classes have fewer than 3 documents, 2 in all, and are left out"
    with pytest.raises(InputError, match="found no documents"):
        train_stream(found, labelled_stream([path]), folds=0, min_class_size=500)


def test_a_class_of_one_document_is_not_cross_validated(tmp_path: Path) -> None:
    path = write(tmp_path / "data.csv", [*zip(TEXTS, NAMES, strict=True), ("alone", "rare")])
    notes: list[str] = []
    assert train_stream(TfcrClassifier.from_preset("fast"), labelled_stream([path]), folds=2, note=notes.append) == {}
    assert any("a class has one document only" in note for note in notes)


def test_several_labels(tmp_path: Path) -> None:
    labels = ["a" if label == 0 else "b;c" for label in LABELS]
    path = write(tmp_path / "data.csv", zip(TEXTS, labels, strict=True))
    from tfcr.data import ReadOptions

    stream = labelled_stream([path], ReadOptions(label_separator=";"))
    found = TfcrClassifier.from_preset("fast")
    scores = train_stream(found, stream, folds=2)
    assert "micro-F1" in scores
    assert found.training_["label_separator"] == ";"
    with pytest.raises(DataError, match="found --min-class-size 100 with several labels"):
        train_stream(found, stream, folds=0, min_class_size=100)


def test_what_fits_is_held_in_memory(data: str) -> None:
    stream = labelled_stream([data])
    assert not fits_into_memory(stream, TfcrClassifier(max_memory="1KB"))
    assert fits_into_memory(stream, TfcrClassifier(max_memory="1GB"))
