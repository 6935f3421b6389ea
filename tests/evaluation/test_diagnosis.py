"""Confused pairs, confident mistakes and label errors, on corpora where they are known."""

from dataclasses import replace

import numpy as np
import pytest

from tests.conftest import random_corpus
from tests.several import random_sets
from tfcr import TfcrClassifier
from tfcr.data import Corpus
from tfcr.evaluation import Evaluation, compare, diagnose, evaluate
from tfcr.evaluation.diagnosis import confident_mistakes, confused_pairs, label_errors, likely_label_errors
from tfcr.evaluation.words import MOST_MISTAKES
from tfcr.text.documents import count_terms


def flipped_corpus(n_flipped: int = 6) -> tuple[Corpus, list[int]]:
    """Return texts of which some have a wrong label, and which."""
    corpus = random_corpus(180)
    flipped = np.random.default_rng(0).choice(len(corpus), n_flipped, replace=False).tolist()
    others = {"class 0": "class 1", "class 1": "class 2", "class 2": "class 0"}
    labels = [others[label] if place in flipped else label for place, label in enumerate(corpus.labels)]
    return replace(corpus, labels=labels), sorted(flipped)


@pytest.fixture(scope="module")
def flipped() -> tuple[Corpus, list[int], Evaluation]:
    corpus, wrong = flipped_corpus()
    model = TfcrClassifier.from_preset("fast", random_state=0)
    return corpus, wrong, compare({"fast": model}, corpus, folds=3, explain=True)["fast"]


def test_flipped_labels_are_found(flipped: tuple[Corpus, list[int], Evaluation]) -> None:
    corpus, wrong, result = flipped
    found = label_errors(result)
    assert sorted(error.document for error in found) == wrong
    original = random_corpus(180)
    for error in found:
        assert error.label == corpus.labels[error.document]
        assert error.likelier == original.labels[error.document]
        assert error.odds >= 9
    assert [error.odds for error in found] == sorted((error.odds for error in found), reverse=True)


def test_confident_mistakes_come_with_the_words_that_caused_them(
    flipped: tuple[Corpus, list[int], Evaluation],
) -> None:
    corpus, wrong, result = flipped
    found = confident_mistakes(result)
    assert len(found) <= MOST_MISTAKES
    assert {mistake.document for mistake in found[: len(wrong)]} == set(wrong)
    for mistake in found[: len(wrong)]:
        own = f"w{mistake.predicted[-1]}_"  # the words of the class that the text is of
        assert mistake.towards_predicted[0].word.startswith(own)
        assert mistake.towards_predicted[0].word in corpus.texts[mistake.document]
        assert mistake.probability > 0.5
        assert [word.adds for word in mistake.towards_label] == sorted(
            (word.adds for word in mistake.towards_label), reverse=True
        )


def test_confused_pairs_add_up_to_the_mistakes(flipped: tuple[Corpus, list[int], Evaluation]) -> None:
    _, _, result = flipped
    pairs = confused_pairs(result)
    assert sum(pair.documents for pair in pairs) == len(result.mistakes())
    assert [pair.documents for pair in pairs] == sorted((pair.documents for pair in pairs), reverse=True)
    for pair in pairs:
        both = (result.labels == pair.label) & (result.predicted == pair.predicted)
        assert pair.documents == np.sum(both)
        assert pair.fraction == pytest.approx(pair.documents / np.sum(result.labels == pair.label))
        assert pair.towards_predicted
    assert len(confused_pairs(result, most=1)) == 1


def test_a_class_that_the_model_does_not_know_pulls_nowhere() -> None:
    corpus = random_corpus(120)
    trained = TfcrClassifier.from_preset("fast", random_state=0).fit(corpus.texts[:60], corpus.labels[:60]).model_
    rest = Corpus(corpus.texts[60:62], ["new", corpus.labels[61]])
    result = evaluate(trained, rest, explain=True, new_classes=True)
    assert result.classes.tolist()[-1] == "new"
    [mistake] = confident_mistakes(result)
    told = trained.explain(rest.texts[0]).contributions()
    assert mistake.towards_predicted[0].adds == pytest.approx(next(iter(told.values())))
    assert label_errors(result) == []


def test_doubt_needs_odds() -> None:
    chances = np.array([[0.5, 0.5, 0.0], [0.1, 0.9, 0.0], [0.11, 0.88, 0.01], [0.0, 0.2, 0.8]])
    documents, suggested, odds = likely_label_errors(np.array([0, 0, 0, 0]), chances)
    assert documents.tolist() == [3, 1]
    assert suggested.tolist() == [2, 1]
    assert odds[1] == pytest.approx(9)
    assert likely_label_errors(np.array([0]), np.array([[1.0]]))[0].tolist() == []


def test_several_labels_have_near_duplicates_only() -> None:
    random = np.random.default_rng(0)
    sets = random_sets(random, 6, 3)
    sets.members[:2] = [[1, 0, 0], [0, 1, 0]]
    result = Evaluation(sets, sets, sets.classes, np.full((6, 3), 0.5), np.zeros(6, np.int64), (1.0,))
    found = diagnose(result, count_terms(["one text", "text one", "b", "c", "d", "e"], "words"))
    assert (found.pairs, found.mistakes, found.label_errors) == ((), (), ())
    [group] = found.duplicates.contradictory
    assert group.documents == (0, 1)


def test_only_classes_that_were_trained_on_have_label_errors() -> None:
    labels, predicted = np.array(["a", "b", "new"]), np.array(["b", "b", "b"])
    chances = np.array([[0.01, 0.99, 0.0], [0.1, 0.9, 0.0], [0.01, 0.99, 0.0]])
    result = Evaluation(labels, predicted, np.array(["a", "b", "new"]), chances, np.zeros(3, np.int64), (0.3,))
    assert [error.document for error in label_errors(result)] == [0]
