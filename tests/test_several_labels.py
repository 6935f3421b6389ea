"""Several labels per document, from `fit` to saved models and evaluations."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support
from sklearn.model_selection import cross_val_score

from tests.conftest import random_vectors
from tests.several import WORDS, indicator, several_corpus
from tfcr import PRESETS, TfcrClassifier, TrainedModel, WeightedEmbeddingVectorizer, load
from tfcr.data import Corpus
from tfcr.errors import CorpusWarning, InputError, ModelError
from tfcr.evaluation import (
    Evaluation,
    cross_validate,
    evaluate,
    majority_class,
    most_frequent_class,
    plan_folds,
    splits,
    train_and_measure,
)
from tfcr.heads import HEADS
from tfcr.text.label_sets import LabelSets, find_label_sets

TEXTS, LISTS = several_corpus()
INDICATOR = indicator(LISTS)
CORPUS = Corpus(TEXTS, [tuple(own) for own in LISTS], name="corpus")


def words_classifier(**given: Any) -> TfcrClassifier:
    return TfcrClassifier(embeddings=None, parts=("words",), random_state=0, **given)


def right(model: TfcrClassifier) -> float:
    return float(np.mean(np.asarray(model.predict(TEXTS)) == INDICATOR))


def test_predict_answers_in_the_form_that_fit_was_given() -> None:
    of_lists, of_indicator = words_classifier().fit(TEXTS, LISTS), words_classifier().fit(TEXTS, INDICATOR)
    assert of_lists.predict(TEXTS[:30]) == LISTS[:30]
    assert of_lists.classes_.tolist() == sorted(WORDS)
    found = of_indicator.predict(TEXTS)
    assert (found.shape, found.dtype) == ((150, 3), np.int64)
    assert of_indicator.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(of_lists.decision_function(TEXTS), of_indicator.decision_function(TEXTS))


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_learns_several_labels(preset: str) -> None:
    given = {} if PRESETS[preset].get("embeddings", "") is None else {"embeddings": random_vectors(CORPUS_OF_WORDS)}
    assert right(TfcrClassifier.from_preset(preset, random_state=0, **given).fit(TEXTS, INDICATOR)) > 0.97


@pytest.mark.parametrize("head", [*HEADS, LogisticRegression()])
@pytest.mark.parametrize("blocks", ["own", "all"])
@pytest.mark.parametrize("cross_fit", [0, 3])
def test_every_head_learns_several_labels(head: Any, blocks: str, cross_fit: int) -> None:
    model = TfcrClassifier(
        embeddings=random_vectors(CORPUS_OF_WORDS), parts=("vectors",), head=head, blocks=blocks, cross_fit=cross_fit
    )
    assert right(model.fit(TEXTS, INDICATOR)) > 0.9


CORPUS_OF_WORDS = Corpus(TEXTS, ["x"] * len(TEXTS))


def test_probabilities_are_independent_and_scores_have_thresholds() -> None:
    model = words_classifier().fit(TEXTS, INDICATOR)
    scores, decision = model.decision_function(TEXTS), model.model_.decision
    assert decision.calibration is not None
    calibrated = decision.calibration.logits(scores)
    np.testing.assert_allclose(model.predict_proba(TEXTS), 1 / (1 + np.exp(-calibrated)))
    np.testing.assert_array_equal(model.predict(TEXTS) == 1, scores > decision.limits)
    assert (decision.link, decision.form, decision.several) == ("independent", "indicator", True)


def test_two_classes_have_an_output_each() -> None:
    model = words_classifier().fit(TEXTS, INDICATOR[:, :2])
    assert model.decision_function(TEXTS).shape == (150, 2)
    assert np.mean(model.predict(TEXTS) == INDICATOR[:, :2]) > 0.97


def test_classes_that_no_document_or_every_one_has_are_constant_and_named() -> None:
    labels = np.c_[INDICATOR, np.zeros(150, int), np.ones(150, int)]
    with pytest.warns(CorpusWarning) as warned:
        model = words_classifier().fit(TEXTS, labels)
    assert [str(warning.message).split(":")[0] for warning in warned] == [
        "every document has the class 4",
        "no document has the class 3",
    ]
    assert model.predict(["apple", "nothing"])[:, 3:].tolist() == [[0, 1], [0, 1]]
    assert model.explain("apple bus").contributions(3) == {"apple": 0, "bus": 0}


def test_one_class_is_refused() -> None:
    with pytest.raises(InputError, match="found one class only, 'a'; expected documents of at least two classes"):
        words_classifier().fit(["x", "y"], [["a"], []])


def test_it_works_in_scikit_learn() -> None:
    scores = cross_val_score(words_classifier(), np.array(TEXTS), INDICATOR, cv=3, scoring="f1_macro")
    assert scores.mean() > 0.9
    assert words_classifier().fit(TEXTS, INDICATOR).score(TEXTS, INDICATOR) > 0.9
    assert words_classifier().__sklearn_tags__().classifier_tags.multi_label


def test_document_vectors_of_several_labels() -> None:
    vectorizer = WeightedEmbeddingVectorizer(embeddings=random_vectors(CORPUS_OF_WORDS), cross_fit=3)
    found = vectorizer.fit_transform(TEXTS, LISTS)
    assert found.shape[0] == 150
    assert vectorizer.classes_.tolist() == sorted(WORDS)


# explanations, model files -------------------------------------------------------------------------------------------


def test_an_explanation_has_a_threshold_per_class_and_adds_up() -> None:
    model = words_classifier().fit(TEXTS, LISTS)
    found = model.explain("apple juice and a bus")
    assert found.label == ["fruit", "road"]
    assert found.thresholds is not None
    added = found.baseline + sum(word.contributions for word in found.words)
    np.testing.assert_allclose(added, found.scores)
    assert [label for label, margin in zip(found.classes, found.margins, strict=True) if margin > 0] == found.label
    assert found.nearest in found.label
    assert "fruit" in str(found)
    assert "assigned: the threshold is" in str(found)
    nothing = model.explain("it was")
    assert nothing.label == []
    assert "not assigned" in str(nothing)


@pytest.mark.parametrize("labels", [LISTS, INDICATOR])
def test_a_saved_model_comes_back_as_it_was(labels: Any, tmp_path: Path) -> None:
    model = words_classifier().fit(TEXTS, labels)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
    assert np.array_equal(np.array(again.predict(TEXTS), object), np.array(model.predict(TEXTS), object))
    assert again.model_.decision.form == model.model_.decision.form
    np.testing.assert_array_equal(again.model_.decision.limits, model.model_.decision.limits)
    assert "A text may have several labels" in (tmp_path / "model" / "README.md").read_text("utf-8")
    again.save(tmp_path / "again")
    assert (tmp_path / "again" / "config.json").read_bytes() == (tmp_path / "model" / "config.json").read_bytes()


REST = {"calibration": None, "rule": "macro-f1"}
BAD_DECISIONS: dict[str, Any] = {
    "no form": {"thresholds": None, **REST},
    "an unknown form": {"form": "tree", "thresholds": None, **REST},
    "one label": {"form": "label", "thresholds": None, **REST},
    "too few thresholds": {"form": "lists", "thresholds": [0.0], **REST},
    "text": {"form": "lists", "thresholds": ["a", "b", "c"], **REST},
    "not finite": {"form": "lists", "thresholds": [0, 0, float("nan")], **REST},
    "nothing": None,
    "an unknown rule": {"form": "lists", "thresholds": None, "calibration": None, "rule": "dice"},
    "a negative scale": {
        "form": "lists",
        "thresholds": None,
        "calibration": {"scale": -1, "offsets": [0, 0, 0]},
        "rule": "macro-f1",
    },
    "too few offsets": {
        "form": "lists",
        "thresholds": None,
        "calibration": {"scale": 1, "offsets": [0]},
        "rule": "macro-f1",
    },
    "too few least probabilities": {"form": "lists", "thresholds": None, **REST, "least_probabilities": [0.5]},
    "a negative cost": {"form": "lists", "thresholds": None, **REST, "costs": [[0, 1, 1], [1, 0, 1], [-1, 1, 0]]},
    "costs that are no square": {"form": "lists", "thresholds": None, **REST, "costs": [[0, 1, 1]]},
}


@pytest.mark.parametrize("kind", BAD_DECISIONS)
def test_a_damaged_decision_is_refused(kind: str, tmp_path: Path) -> None:
    words_classifier().fit(TEXTS, LISTS).save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    config = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(config | {"decision": BAD_DECISIONS[kind]}), "utf-8")
    with pytest.raises(ModelError, match="damaged"):
        TrainedModel.load(tmp_path / "model")


# evaluation ----------------------------------------------------------------------------------------------------------


def evaluation(truth: NDArray[Any], predicted: NDArray[Any]) -> Evaluation:
    sets = find_label_sets(truth)
    answered = replace(sets, members=predicted.astype(bool))
    return Evaluation(sets, answered, sets.classes, predicted.astype(float), np.zeros(len(truth), np.int64), (0.0,))


def test_scores_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    predicted = np.where(random.random(INDICATOR.shape) < 0.8, INDICATOR, 1 - INDICATOR)
    found = evaluation(INDICATOR, predicted)
    assert found.pooled_macro_f1 == pytest.approx(f1_score(INDICATOR, predicted, average="macro"))
    assert found.micro_f1 == pytest.approx(f1_score(INDICATOR, predicted, average="micro"))
    assert found.accuracy == accuracy_score(INDICATOR, predicted)
    expected = precision_recall_fscore_support(INDICATOR, predicted)
    for number, score in enumerate(found.per_class()):
        assert (score.precision, score.recall, score.f1, score.documents) == tuple(
            column[number] for column in expected
        )


def test_micro_f1_of_one_label_is_the_accuracy() -> None:
    labels, predicted = np.array(list("aabbc")), np.array(list("abbbc"))
    found = Evaluation(labels, predicted, np.unique(labels), np.ones((5, 3)), np.zeros(5, np.int64), (0.0,))
    assert found.micro_f1 == pytest.approx(found.accuracy)


def test_the_most_frequent_class_is_the_bar_to_pass() -> None:
    result = evaluation(np.array([[1, 0], [1, 1], [0, 0]]), np.zeros((3, 2), int))
    trivial = majority_class(result)
    assert trivial is not None
    assert most_frequent_class(result.labels) == (0, 2)
    assert isinstance(trivial.predicted, LabelSets)
    assert trivial.predicted.members.astype(int).tolist() == [[1, 0]] * 3
    assert trivial.pooled_macro_f1 == pytest.approx((4 / 5 + 0) / 2)


def test_cross_validation_tests_each_document_once() -> None:
    found = cross_validate(words_classifier(), CORPUS, folds=3)
    assert found.macro_f1 > 0.9
    assert found.several
    assert isinstance(found.predicted, LabelSets)
    assert found.predicted.members.shape == found.probabilities.shape == (150, 3)
    assert np.bincount(found.folds).tolist() == [50, 50, 50]


def test_folds_keep_groups_together_and_documents_without_labels() -> None:
    groups = [f"g{number % 20}" for number in range(150)]
    sets = find_label_sets(LISTS)
    tested = [test for _, test in splits(sets, groups, 4, 0)]
    assert sorted(np.concatenate(tested).tolist()) == list(range(150))
    found = [{groups[row] for row in test} for test in tested]
    assert sum(map(len, found)) == 20


def test_small_classes_are_left_out_with_the_documents_that_have_no_other() -> None:
    labels = [("a",), ("a", "b"), ("c",), (), ("a", "c"), ("c", "b")]
    corpus = Corpus(list("uvwxyz"), [*labels[:-1], ("c", "rare")])
    plan = plan_folds(corpus, 2)
    assert plan.corpus.labels == [("a",), ("a",), ("c",), (), ("a", "c"), ("c",)]
    assert list(plan.kept) == list(range(6))
    assert plan.notes[0].startswith("2 classes with fewer than 2 documents are left out: b (1), rare (1)")
    alone = plan_folds(replace(corpus, labels=[("b",), *corpus.labels[1:-1], ("rare",)]), 2)
    assert list(alone.kept) == [0, 1, 2, 3, 4]


def test_rare_classes_do_not_cost_folds() -> None:
    corpus = Corpus([str(n) for n in range(12)], [("a", "b") if n < 3 else ("a",) for n in range(12)])
    plan = plan_folds(corpus, 5)
    assert plan.folds == 5
    assert "1 classes have fewer documents than there are folds, 'b' has 3" in plan.notes[0]
    with pytest.raises(InputError, match="found 12 documents for 20 folds"):
        plan_folds(corpus, 20)


def test_training_is_measured_and_remembers_the_separator() -> None:
    model = words_classifier()
    scores, _ = train_and_measure(model, replace(CORPUS, label_separator=";"), folds=3)
    assert list(scores)[:3] == ["macro-F1, mean of 3 folds", "micro-F1", "accuracy"]
    assert model.training_["label_separator"] == ";"
    assert model.training_["documents_per_class"] == INDICATOR.sum(axis=0).tolist()


def test_a_model_is_evaluated_on_as_many_labels_as_it_gives() -> None:
    several, one = words_classifier().fit(TEXTS, LISTS).model_, words_classifier().fit(["a b", "c"], ["x", "y"]).model_
    some = CORPUS.take([number for number, own in enumerate(LISTS) if own == ["fruit"]])
    assert evaluate(several, some).accuracy > 0.9  # over all classes of the model, whether or not they occur
    with pytest.raises(InputError, match="found one label per document, 'x', and the model gives several"):
        evaluate(several, Corpus(["a"], ["x"], name="data"))
    with pytest.raises(InputError, match=r"found several labels per document, \['x', 'y'\], and the model gives one"):
        evaluate(one, Corpus(["a", "b"], [(), ("x", "y")], name="data"))
    with pytest.raises(InputError, match="found the label 'tree', which the model does not know"):
        evaluate(several, Corpus(["a"], [("tree", "fruit")], name="data"))
