"""Hashes of the training texts: small, in no order, read when needed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from tests.conftest import plain_classifier, random_corpus
from tests.trained.test_format import KEPT_MODELS
from tfcr import TfcrClassifier, TrainedModel, load
from tfcr.errors import ModelError
from tfcr.trained import seen
from tfcr.trained.format import _digest, read_data
from tfcr.trained.seen import Seen, TrainingTexts

CORPUS = random_corpus(60)


@pytest.fixture
def model() -> TfcrClassifier:
    return plain_classifier(parts=["words"], embeddings=None).fit(CORPUS.texts, CORPUS.labels)


def test_order_leaves_no_trace_and_duplicates_count() -> None:
    one, two = TrainingTexts.of(["a", "b", "a\ud800"]), TrainingTexts.of(["a\ud800", "b", "b", "a"])
    assert one.hashes.tolist() == two.hashes.tolist()
    assert one.count(["a", " a\n", "A", "c", "a\ud800"]) == Seen(3, True)
    assert TrainingTexts.of([]).count(["a"]) == Seen(0, True)


def test_of_a_large_corpus_a_sample_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "MOST_KEPT", 1000)
    known = TrainingTexts.of(map(str, range(10_000)))
    assert (len(known.hashes), known.distinct) == (1000, 10_000)
    found = known.count([str(number) for number in range(5_000, 15_000)])
    assert not found.is_exact
    assert abs(found.texts - 5_000) < 500
    assert known.count(list(map(str, range(10_000)))) == Seen(10_000, False)
    assert known.count(["other"]) == Seen(0, False)


def test_they_are_saved_and_read_only_when_asked_for(
    model: TfcrClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.save(tmp_path / "a")
    read: list[object] = []

    def counted(folder: Path, file: str) -> Any:
        read.append(file)
        return read_data(folder, file)

    monkeypatch.setattr(seen, "read_data", counted)
    again = load(tmp_path / "a")
    again.predict(CORPUS.texts)
    assert read == []
    texts = again.model_.training_texts()
    assert texts is not None
    assert texts.count(CORPUS.texts) == Seen(60, True)
    assert len(read) == 1
    again.save(tmp_path / "b")
    names = [sorted(path.name for path in (tmp_path / folder).glob("*.safetensors")) for folder in "ab"]
    assert names[0] == names[1]  # the same bytes


def test_models_without_them(model: TfcrClassifier, tmp_path: Path) -> None:
    for schema in (1, 2, 3):
        assert TrainedModel.load(KEPT_MODELS / f"schema-{schema}").training_texts() is None
    model.save(tmp_path / "m")
    loaded = TrainedModel.load(tmp_path / "m")
    model.fit(CORPUS.texts[:30], CORPUS.labels[:30]).save(tmp_path / "m")
    assert loaded.training_texts() is None  # the file is gone: the model was replaced
    loaded.save(tmp_path / "n", hashes=False, counts=False)
    assert TrainedModel.load(tmp_path / "n").training_texts() is None


@pytest.mark.parametrize(
    "arrays",
    [
        {"hashes": np.array([1.5]), "distinct": np.array([1])},
        {"hashes": np.array([1], np.uint64)},
        {"hashes": np.zeros(0, np.uint64), "distinct": np.array([5])},
        {"hashes": np.array([1, 2], np.uint64), "distinct": np.array([1])},
        {"hashes": np.array([[1]], np.uint64), "distinct": np.array([1])},
    ],
)
def test_damaged_ones(arrays: dict[str, Any], model: TfcrClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    content = save(arrays)
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["files"]["seen"] = f"seen-{_digest(content)}.safetensors"
    (tmp_path / "m" / config["files"]["seen"]).write_bytes(content)
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    loaded = TrainedModel.load(tmp_path / "m")
    with pytest.raises(ModelError, match="m is damaged"):
        loaded.training_texts()
    config["files"]["seen"] = "../../etc/passwd"
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="names the file"):
        TrainedModel.load(tmp_path / "m").training_texts()
