"""The figures of a cross-validation in a model's folder."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from tests.conftest import plain_classifier, random_corpus
from tfcr import TrainedModel, load
from tfcr.errors import ModelError, TfcrWarning
from tfcr.evaluation import train_and_measure


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    model = plain_classifier(parts=["words"], embeddings=None)
    train_and_measure(model, random_corpus(60), folds=2)
    model.save(tmp_path / "model")
    return tmp_path / "model"


def replaced(folder: Path, content: bytes) -> None:
    """Put other figures into a model's folder, with the right hash."""
    config = json.loads((folder / "config.json").read_text())
    (folder / config["files"]["figures"]).unlink()
    config["files"]["figures"] = f"figures-{hashlib.sha256(content).hexdigest()[:16]}.safetensors"
    (folder / config["files"]["figures"]).write_bytes(content)
    (folder / "config.json").write_text(json.dumps(config))


def test_they_are_a_file_of_their_own_that_prediction_does_not_read(saved: Path) -> None:
    [file] = saved.glob("figures-*.safetensors")
    model = TrainedModel.load(saved)
    file.write_bytes(b"damaged")
    assert len(model.predict(["w0_1"])) == 1
    assert len(TrainedModel.load(saved).predict(["w0_1"])) == 1
    with pytest.raises(ModelError, match="is not what was saved"):
        model.measured()


def test_an_estimator_keeps_them(saved: Path, tmp_path: Path) -> None:
    load(saved).save(tmp_path / "again")
    [one], [two] = (list(folder.glob("figures-*")) for folder in (saved, tmp_path / "again"))
    assert one.name == two.name


def test_losing_them_is_reported(saved: Path, tmp_path: Path) -> None:
    model = TrainedModel.load(saved)
    next(saved.glob("figures-*")).unlink()
    with pytest.warns(TfcrWarning, match="which held the figures of the model's cross-validation; it is saved without"):
        model.save(tmp_path / "again")
    assert TrainedModel.load(tmp_path / "again").measured() is None


DAMAGED = {
    "no array": save({"other": np.zeros(3, np.uint8)}),
    "floats": save({"json": np.zeros(3)}),
    "no JSON": save({"json": np.frombuffer(b"{", np.uint8)}),
    "no UTF-8": save({"json": np.frombuffer(b"\xff", np.uint8)}),
    "a list": save({"json": np.frombuffer(b"[1]", np.uint8)}),
    "deep": save({"json": np.frombuffer(b"[" * 100_000, np.uint8)}),
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_figures_are_refused(kind: str, saved: Path) -> None:
    replaced(saved, DAMAGED[kind])
    with pytest.raises(ModelError, match="is damaged: "):
        TrainedModel.load(saved).measured()
