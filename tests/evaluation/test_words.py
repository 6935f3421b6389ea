"""The words behind mistakes are those of the explanation, and only as many as are needed are kept."""

from collections import Counter

import numpy as np
import pytest

from tests.evaluation.test_diagnosis import flipped_corpus
from tfcr import TfcrClassifier
from tfcr.evaluation import compare, evaluate, words
from tfcr.evaluation.words import MOST_EXPLAINED, MOST_MISTAKES, MOST_OF_PAIR, MistakeWords, _chosen


def test_words_are_those_of_the_explanation() -> None:
    corpus, _ = flipped_corpus()
    model = TfcrClassifier.from_preset("best", embeddings=None, parts=("ngrams",), random_state=0)
    trained = model.fit(corpus.texts[:90], corpus.labels[:90]).model_
    rest = corpus.take(range(90, 180))
    result = evaluate(trained, rest, explain=True)
    assert result.words is not None
    assert len(result.mistakes())
    for document in result.mistakes()[:MOST_MISTAKES].tolist():
        told = trained.explain(rest.texts[document])
        towards, away = told.contributions(result.predicted[document]), told.contributions(rest.labels[document])
        expected = {word: towards[word] - away[word] for word in towards}
        assert result.words.mistakes[document] == pytest.approx(expected, abs=1e-9)
    assert evaluate(trained, rest).words is None


def test_pairs_are_means_over_the_mistakes_that_are_explained() -> None:
    corpus, _ = flipped_corpus(20)
    trained = TfcrClassifier.from_preset("fast", random_state=0).fit(corpus.texts[:90], corpus.labels[:90]).model_
    rest = corpus.take(range(90, 180))
    result = evaluate(trained, rest, explain=True)
    assert result.words is not None
    numbers, predicted = result.numbers(result.labels), result.numbers(result.predicted)
    for pair in result.words.pairs:
        documents = np.flatnonzero((numbers == pair[0]) & (predicted == pair[1])).tolist()
        assert result.words.explained[pair] == len(documents)
        sums: Counter[str] = Counter()
        for document in documents:
            sums.update(result.words.mistakes[document])
        expected = {word: pull / len(documents) for word, pull in sums.items()}
        assert result.words.of_pair(pair) == pytest.approx(expected)


def test_the_words_of_all_folds_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "AT_ONCE", 1)  # one document at a time
    corpus, wrong = flipped_corpus(20)
    model = TfcrClassifier.from_preset("fast", random_state=0)
    result = compare({"fast": model}, corpus, folds=3, explain=True)["fast"]
    assert result.words is not None
    assert set(result.words.mistakes) >= set(wrong)
    assert sum(result.words.explained.values()) == len(result.mistakes())
    assert compare({"fast": model}, corpus, folds=3)["fast"].words is None


def test_only_some_mistakes_are_explained() -> None:
    labels = np.repeat(np.arange(60), 50)  # as many of each pair, the most confident first
    chosen = _chosen(labels, labels + 1)
    assert len(chosen) == MOST_EXPLAINED
    assert set(range(MOST_MISTAKES)) <= set(chosen.tolist())
    assert max(Counter(labels[chosen].tolist()).values()) == MOST_OF_PAIR
    frequent = np.append(np.arange(1000), np.full(30, 2000))
    assert Counter(frequent[_chosen(frequent, frequent + 1)].tolist())[2000] == MOST_OF_PAIR
    assert _chosen(labels[:0], labels[:0]).tolist() == []


def test_means_of_two_models() -> None:
    found = MistakeWords({3: {"a": 1.0}}, {(0, 1): {"a": 1.0, "b": -2.0}}, Counter([(0, 1)]))
    found.add(MistakeWords({5: {"c": 1.0}}, {(0, 1): {"a": 3.0}, (1, 0): {"c": 1.0}}, Counter([(0, 1), (1, 0)])))
    assert found.of_pair((0, 1)) == {"a": 2.0, "b": -1.0}
    assert found.of_pair((7, 8)) == {}
    assert list(found.mistakes) == [3, 5]
