"""The figures that a model keeps: complete, without texts, the same after saving, and checked when they are read."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import random_corpus
from tests.several import random_sets, several_corpus
from tfcr import TfcrClassifier, TrainedModel
from tfcr.data import Corpus
from tfcr.errors import ModelError
from tfcr.evaluation import Evaluation, Figures, train_and_measure
from tfcr.evaluation.figures import _READERS


@pytest.fixture(scope="module")
def trained() -> tuple[Corpus, TrainedModel]:
    corpus = random_corpus(90)
    corpus = replace(corpus, rows=[10 * number for number in range(1, 91)])
    model = TfcrClassifier.from_preset("fast", random_state=0)
    train_and_measure(model, corpus, folds=3)
    return corpus, model.model_


def figures_of(model: TrainedModel) -> Figures:
    return Figures.from_json(model.measured())


def test_training_keeps_the_figures_of_its_cross_validation(trained: tuple[Corpus, TrainedModel]) -> None:
    corpus, model = trained
    found = figures_of(model)
    assert len(found.fold_scores) == 3
    assert model.scores["macro-F1, mean of 3 folds"] == pytest.approx(found.macro_f1)
    assert model.scores["accuracy"] == found.accuracy
    confusion = np.array(found.confusion)
    assert confusion.sum() == found.documents == 90
    assert np.trace(confusion) / 90 == pytest.approx(found.accuracy)
    assert found.confusion_classes == ("class 0", "class 1", "class 2")
    assert [score.documents for score in found.classes] == [30, 30, 30]
    low, high = found.intervals["macro_f1_pooled"]
    assert low <= found.macro_f1_pooled <= high
    assert sum(found.calibration["sizes"]) == pytest.approx(1)
    assert found.decided["right"][-1] == pytest.approx(found.accuracy)
    assert 0 < found.unknown_words < 1 or found.unknown_words == 0
    assert len(found.hardest) == 90
    assert [one.documents for one in found.trust] == confusion.sum(axis=0).tolist()
    assert [one.right for one in found.trust] == [score.precision for score in found.classes]
    assert {row.row for row in found.hardest} == set(corpus.rows)
    chances = [row.probability for row in found.hardest]
    assert chances == sorted(chances)
    texts = json.dumps(model.measured())
    assert not any(text in texts for text in corpus.texts)


def test_figures_are_kept_by_saving_and_loading(trained: tuple[Corpus, TrainedModel], tmp_path: Path) -> None:
    _, model = trained
    model.save(tmp_path / "one")
    TrainedModel.load(tmp_path / "one").save(tmp_path / "two")
    assert figures_of(TrainedModel.load(tmp_path / "two")) == figures_of(model)
    replace(model, figures=None).save(tmp_path / "none")
    assert TrainedModel.load(tmp_path / "none").measured() is None


def test_several_labels_have_no_confusion() -> None:
    texts, labels = several_corpus(60)
    model = TfcrClassifier.from_preset("fast", random_state=0)
    train_and_measure(model, Corpus(texts, [tuple(own) for own in labels]), folds=2)
    found = figures_of(model.model_)
    assert (found.several, found.confusion, found.confusion_classes) == (True, (), ())
    assert (found.decided, found.hardest) == ({}, ())
    assert found.micro_f1 > found.most_frequent_class.micro_f1  # type: ignore[union-attr]
    assert "micro_f1" in found.intervals


def test_a_model_that_was_not_measured_has_none(corpus: Corpus) -> None:
    model = TfcrClassifier.from_preset("fast", random_state=0)
    train_and_measure(model, corpus, folds=0)
    assert model.model_.measured() is None


def test_numbers_of_rows_begin_at_one() -> None:
    labels = np.array(list("ab"))
    result = Evaluation(labels, labels, labels, np.array([[0.9, 0.1], [0.4, 0.6]]), np.zeros(2, np.int64), (1.0,))
    assert [row.row for row in Figures.of(result).hardest] == [2, 1]
    one = Evaluation(labels[:1], labels[:1], labels, np.array([[0.9, 0.1]]), np.zeros(1, np.int64), (1.0,))
    found = Figures.of(one)
    assert found.most_frequent_class is None
    assert Figures.from_json(json.loads(json.dumps(found.as_json()))) == found


def test_every_figure_has_a_reader() -> None:
    assert list(_READERS) == [field.name for field in fields(Figures)]


WRONG: dict[str, Any] = {
    "documents": -1,
    "several": 1,
    "fold_scores": 0.5,
    "macro_f1": "good",
    "std": None,
    "macro_f1_pooled": float("nan"),
    "micro_f1": True,
    "accuracy": 10**400,
    "intervals": {"accuracy": [0.1]},
    "most_frequent_class": {"label": "a"},
    "classes": [{}],
    "confusion_classes": [["a"]],
    "confusion": [[1], [2, 3]],
    "calibration_error": [],
    "calibration": [0.5],
    "decided": {"right": ["x"]},
    "hardest": [{"row": 1.5, "label": "a", "predicted": "a", "probability": 1}],
    "unknown_words": float("inf"),
    "trust": [{"label": "a"}],
}
"""A value for each figure that it cannot have."""


@pytest.mark.parametrize("name", _READERS)
def test_damaged_figures_are_refused(name: str, trained: tuple[Corpus, TrainedModel]) -> None:
    known = dict(trained[1].measured() or {})
    with pytest.raises(ModelError, match="the figures of the model are damaged"):
        Figures.from_json({**known, name: WRONG[name]})
    del known[name]
    if name == "trust":  # older models keep none
        assert Figures.from_json(known).trust == ()
        return
    with pytest.raises(ModelError, match=f"damaged: .*{name}"):
        Figures.from_json(known)
    with pytest.raises(ModelError, match="damaged"):
        Figures.from_json([known])


LISTS = ("decided", "right", "probabilities")
UNUSABLE: dict[str, dict[str, Any]] = {
    "no intervals": {"intervals": {}},
    "no bins": {"calibration": {}},
    "one bin": {"calibration": {"sizes": [1], "confidences": [1], "right": [1]}},
    "no curve": {"decided": {"right": [1]}},
    "an empty curve": {"decided": {name: [] for name in LISTS}},
    "lists of different lengths": {"decided": dict(zip(LISTS, ([1], [1, 1], [1]), strict=True))},
    "a huge score": {"accuracy": 1e308},
    "a huge count": {"confusion": [[10**400, 0, 0], [0, 1, 0], [0, 0, 1]]},
}
"""What reports could not be made of."""


@pytest.mark.parametrize("what", UNUSABLE)
def test_figures_that_no_report_can_show_are_refused(what: str, trained: tuple[Corpus, TrainedModel]) -> None:
    with pytest.raises(ModelError, match="the figures of the model are damaged"):
        Figures.from_json({**(trained[1].measured() or {}), **UNUSABLE[what]})


def test_figures_of_random_sets_are_finite() -> None:
    sets = random_sets(np.random.default_rng(0), 40, 4)
    result = Evaluation(sets, sets, sets.classes, np.full((40, 4), 0.5), np.zeros(40, np.int64), (1.0,))
    found = Figures.of(result, groups=list(range(40)))
    assert found.intervals["accuracy"] == (1, 1)
