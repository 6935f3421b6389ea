"""Presets and systems of the caller's own run as cells."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from tests.experiment.conftest import (
    plan_all,
)
from tfcr import TfcrClassifier
from tfcr.data import read_corpus
from tfcr.decision import macro_f1_of_labels
from tfcr.embeddings import Embeddings
from tfcr.errors import InputError, TfcrError, TfcrWarning
from tfcr.experiment import (
    Request,
    Results,
    TextSystem,
    VectorsChoice,
    Word2Vec,
    run_experiment,
)
from tfcr.experiment.plan.folds import ClassSizes, cut_folds
from tfcr.experiment.results.summary import summarise
from tfcr.experiment.results.tables import (
    as_text,
)
from tfcr.experiment.run.trial import Fold
from tfcr.presets import PRESETS


@dataclass(frozen=True)
class MostFrequent(TextSystem):
    """Predicts the most frequent class."""

    name: str = "most frequent"
    settings: Mapping[str, Any] = field(default_factory=lambda: {"revision": 1})

    def make(self, embeddings: Embeddings | None, seed: int) -> Any:
        assert embeddings is None
        return DummyClassifier()


@dataclass(frozen=True)
class Covered(MostFrequent):
    """Looks at the vectors as well."""

    name: str = "covered"
    needs_vectors: bool = True

    def make(self, embeddings: Embeddings | None, seed: int) -> Any:
        assert embeddings is not None
        return DummyClassifier()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_the_librarys_classifier(preset: str, request_: Request, results: Results, data: Path) -> None:
    vectors = data.with_name("vectors.vec")
    run_experiment(replace(request_, schemes=(), systems=(preset,), first_folds=1), results)
    corpus = read_corpus(data)
    texts, labels = np.array(corpus.texts, object), np.array(corpus.labels)
    train, test = cut_folds(labels, None, 5, 0)[0]
    model = TfcrClassifier.from_preset(preset, random_state=0)
    if model.embeddings is not None:
        model.set_params(embeddings=str(vectors))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TfcrWarning)  # few tokens have vectors
        model.fit(texts[train], labels[train])
    [cell] = results.cells()
    assert (cell.cell.scheme, cell.cell.head, cell.cell.profile) == (preset, "", "")
    assert cell.cell.embedding == ("file" if model.embeddings is not None else "")
    [fold] = cell.folds
    assert fold.macro_f1 == pytest.approx(macro_f1_of_labels(labels[test], model.predict(texts[test])))
    assert bool(fold.coverage_words) == (model.embeddings is not None)
    assert 0 < fold.details["train"]["wall"] <= fold.seconds


def test_systems_of_ones_own_run_beside_schemes(request_: Request, results: Results) -> None:
    asked = replace(request_, schemes=("tfcr",), heads=("lr",), systems=("fast", MostFrequent(), Covered()))
    assert run_experiment(asked, results).folds_run == 4 * 2
    assert run_experiment(asked, results).folds_run == 0
    assert (
        run_experiment(replace(asked, class_sizes=ClassSizes(9), schemes=(), systems=("fast",)), results).folds_run == 2
    )
    [group] = [group for group in summarise(results.cells()) if group.place.profile]
    assert group.columns == ["tfcr", "covered", "fast", "most frequent"]
    row, fewer = group.rows.values()
    assert list(fewer) == ["fast"]  # other training documents: no repeat of the first
    assert row["most frequent"].mean < row["tfcr"].mean
    assert row["covered"].coverage_words == row["tfcr"].coverage_words > row["fast"].coverage_words == 0
    assert "most frequent" in as_text([group])


def test_a_training_part_of_one_class(request_: Request, results: Results) -> None:
    run_experiment(replace(request_, schemes=(), systems=("fast",), sizes=(1,)), results)
    assert all(0 < fold.macro_f1 < 0.3 for cell in results.cells() for fold in cell.folds)


def test_in_domain_vectors_of_a_preset(request_: Request, results: Results) -> None:
    in_domain = replace(request_, embeddings=(VectorsChoice("w2v", "w2v"),), schemes=(), systems=("paper",))
    for trained_on in ("dataset", "train"):
        run_experiment(replace(in_domain, word2vec=Word2Vec(4, epochs=1, trained_on=trained_on)), results)
    whole, part = results.cells()
    assert whole.folds[0].coverage_words >= part.folds[0].coverage_words > 0


def test_a_system_that_asks_for_vectors_must_say_so(request_: Request, results: Results) -> None:
    wrong = replace(Covered(), needs_vectors=False)
    object.__setattr__(wrong, "make", None)
    [planned] = plan_all(replace(request_, schemes=(), systems=(wrong,)))
    fold = Fold(planned.corpus.entry, planned.cell.settings, 0, None, 1000)
    with pytest.raises(InputError, match="expected needs_vectors = True"):
        fold.embeddings()


@dataclass(frozen=True)
class Stranger(MostFrequent):
    """Predicts what is no class, and keeps what is no plain number."""

    name: str = "stranger"
    label: str = "class 99"

    def make(self, embeddings: Embeddings | None, seed: int) -> Any:
        dummy = DummyClassifier()
        dummy.predict = lambda texts: np.array([self.label] * len(texts))
        dummy.picked = np.float32(0.5)
        return dummy


def test_a_label_that_is_no_class_is_refused(request_: Request, results: Results) -> None:
    with pytest.raises(
        InputError, match="found the predicted label 'class 99'; expected one of the classes class 0, class 1"
    ):
        run_experiment(replace(request_, schemes=(), systems=(Stranger(),)), results)


def test_numpy_numbers_are_kept_in_details(request_: Request, results: Results) -> None:
    run_experiment(replace(request_, schemes=(), systems=(Stranger(label="class 1"),), first_folds=1), results)
    [cell] = results.cells()
    assert cell.folds[0].details["picked"] == 0.5


def test_a_setting_of_a_system_does_not_replace_one_of_the_cell(request_: Request) -> None:
    with pytest.raises(InputError, match="found a system with the setting 'seed', which cells have themselves"):
        plan_all(replace(request_, schemes=(), systems=(MostFrequent(settings={"seed": 7}),), seeds=(0, 1)))


def test_presets_use_the_tokenizer_of_the_dataset(request_: Request) -> None:
    [own] = request_.datasets
    asked = replace(request_, schemes=(), systems=("fast",), datasets=(replace(own, tokenizer="whitespace"),))
    for request, tokenizer in ((asked, "whitespace"), (replace(asked, datasets=(own,)), "symbols")):
        [planned] = plan_all(request)
        assert planned.system.tokenizer == planned.cell.settings.system["preset"]["tokenizer"] == tokenizer


def test_names_that_are_refused(request_: Request) -> None:
    with pytest.raises(InputError, match="found 'fast' twice among the schemes and systems"):
        replace(request_, systems=("fast", "fast")).check()
    with pytest.raises(InputError, match="found 'tfcr' twice"):
        replace(request_, systems=(MostFrequent("tfcr"),)).check()
    with pytest.raises(TfcrError, match="unknown system 'good'; known: "):
        replace(request_, systems=("good",)).check()
    with pytest.raises(InputError, match="found no schemes"):
        replace(request_, schemes=()).check()
    with pytest.raises(InputError, match="found most=1; expected a whole number from 2 "):
        replace(request_, class_sizes=ClassSizes(1)).check()
    with pytest.raises(InputError, match="found zipf=-1; expected a number from 0 to 10"):
        replace(request_, class_sizes=ClassSizes(zipf=-1)).check()
