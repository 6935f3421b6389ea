"""Several parts in one score: each against scikit-learn, their weights, and the one table that they become."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from tests.conftest import plain_classifier, random_corpus
from tfcr import Embeddings, TfcrClassifier, load
from tfcr.errors import InputError, UnknownNameError
from tfcr.evaluation import compare, cross_validate
from tfcr.heads.base import Examples, Targets
from tfcr.heads.stacking import FOLDS, _macro_f1, learn_part_weights, stacking_folds, tune_class_offset
from tfcr.text.documents import CountedDocuments
from tfcr.text.vocabulary import Vocabulary


def targets(labels: Any) -> Targets:
    numbers = np.asarray(labels)
    n_classes = int(numbers.max()) + 1
    return Targets(numbers, n_classes, np.ones(len(numbers)), np.ones(n_classes))


def vectors_for(texts: list[str], seed: int = 0) -> Embeddings:
    words = sorted({word for text in texts for word in text.split()})
    return Embeddings.from_arrays(words, np.random.default_rng(seed).normal(size=(len(words), 5)))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_words_are_tf_idf_with_linear_svc(n_classes: int) -> None:
    corpus = random_corpus(200, n_classes=n_classes)
    texts, labels = list(corpus.texts), np.array(corpus.labels)
    model = plain_classifier(parts=["words"], embeddings=None, class_weight=None).fit(texts, labels)
    tfidf = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")
    svc = LinearSVC(dual=False, tol=1e-8).fit(tfidf.fit_transform(texts), labels)
    expected = svc.decision_function(tfidf.transform(texts))
    np.testing.assert_allclose(model.decision_function(texts), expected, atol=2e-2)
    np.testing.assert_array_equal(model.predict(texts), svc.predict(tfidf.transform(texts)))


@pytest.mark.parametrize("parts", [["words", "vectors"], ["bigrams"], ["words", "bigrams", "vectors"]])
@pytest.mark.parametrize("blocks", ["all", "own"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_the_words_add_adds_up_to_the_score(n_classes: int, blocks: str, parts: list[str], tmp_path: Path) -> None:
    corpus = random_corpus(150, n_classes=n_classes)
    texts = list(corpus.texts)
    model = plain_classifier(parts=parts, embeddings=vectors_for(texts), blocks=blocks, C=None)
    model.fit(texts, corpus.labels)
    for text in [*texts[:5], texts[0] * 3, "", "never seen"]:
        told = model.explain(text)
        added = told.baseline + sum((word.contributions for word in told.words), np.zeros(n_classes))
        np.testing.assert_allclose(added, told.scores, atol=1e-4)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(texts), model.decision_function(texts))
    assert again.part_weights_ == model.part_weights_


def test_a_part_that_knows_nothing_gets_no_weight() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 2000)
    knows = np.eye(3)[labels] + random.normal(size=(2000, 3))
    weights = learn_part_weights([knows, random.normal(size=(2000, 3))], targets(labels))
    assert weights[0] > 0.5
    assert weights[1] < 0.05 * weights[0]


def test_two_parts_that_err_differently_are_better_than_each() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 4, 4000)
    parts = [np.eye(4)[labels] + random.normal(size=(4000, 4)) for _ in range(2)]
    weights = learn_part_weights(parts, targets(labels))
    assert weights[0] == pytest.approx(weights[1], rel=0.1)
    together = weights[0] * parts[0] + weights[1] * parts[1]
    each = [np.mean(part.argmax(axis=1) == labels) for part in parts]
    assert np.mean(together.argmax(axis=1) == labels) > max(each) + 0.05


def test_the_class_offset_favours_rare_classes_where_that_helps() -> None:
    random = np.random.default_rng(2)
    labels = np.where(random.uniform(size=5000) < 0.1, 1, 0)
    training = Targets(labels, 2, np.ones(5000), 2500 / np.bincount(labels))
    scores = (np.where(labels, 1.0, -1.0) + random.normal(size=5000) - 2)[:, None]  # shy of the rare class
    offsets = tune_class_offset(scores, training, training)
    best = f1_score(labels, scores[:, 0] + offsets[0] > 0, average="macro")
    assert offsets[0] > 0
    assert best > f1_score(labels, scores[:, 0] > 0, average="macro") + 0.02
    assert _macro_f1(scores + offsets, training) == pytest.approx(best)
    alike = Targets(labels, 2, np.ones(5000), np.ones(2))
    assert tune_class_offset(scores, alike, alike).tolist() == [0]


def one_word_each(words: Any) -> CountedDocuments:
    """Return documents of one word, given by its number: those of the same word are copies."""
    matrix = sp.csr_array(np.eye(int(np.max(words)) + 1, dtype=np.int32)[words])
    vocabulary = Vocabulary([str(number) for number in range(matrix.shape[1])])
    return CountedDocuments(vocabulary, matrix, np.ones(len(words), np.int64))


DOCUMENTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), min_size=2, max_size=80)


@given(DOCUMENTS, st.integers(0, 9))
def test_every_class_stays_in_training_and_copies_together_whatever_is_held_out(
    given: list[tuple[int, int]], seed: int
) -> None:
    words = [word for _, word in given]
    numbers = np.unique([label for label, _ in given], return_inverse=True)[1]
    folds = stacking_folds(Examples(one_word_each(words), targets(numbers)), seed)
    seen = np.concatenate(folds) if folds else np.array([], np.int64)
    assert len(set(seen.tolist())) == len(seen)
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(numbers)), fold)
        assert set(numbers[rest]) == set(numbers)
        assert not {given[number] for number in fold} & {given[number] for number in rest}
    alone = np.bincount([label for label, _ in set(zip(numbers.tolist(), words, strict=True))]) == 1
    assert not alone[numbers[seen]].any()
    assert len(seen) == (~alone[numbers]).sum()


def test_folds_are_as_even_as_scikit_learns() -> None:
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    folds = stacking_folds(Examples(one_word_each(np.arange(100)), targets(labels)), 0)
    ours = [np.bincount(labels[fold]).tolist() for fold in folds]
    theirs = [np.bincount(labels[test]).tolist() for _, test in StratifiedKFold(FOLDS).split(labels, labels)]
    assert ours == theirs


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"parts": []}, r"found parts=\[\]; expected a list of one or more of vectors, words, bigrams"),
        ({"parts": "words"}, "found parts='words'; expected a list"),
        ({"embeddings": None}, "found embeddings=None and no part but 'vectors'"),
        ({"parts": ["words"], "head": "ridge"}, "found head='ridge' for words"),
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plain_classifier(**parameters).fit(["a b", "c d"], [0, 1])


def test_class_weights_of_the_user_s_own_get_no_offset() -> None:
    random = np.random.default_rng(3)
    labels = np.where(random.uniform(size=2000) < 0.1, 1, 0)
    scores = (np.where(labels, 1.0, -1.0) + random.normal(size=2000) - 2)[:, None]
    own = Targets(labels, 2, np.ones(2000), np.array([1.0, 20.0]))
    assert tune_class_offset(scores, own, own).tolist() == [0]


def test_models_of_different_parts_are_compared_each_on_what_it_needs() -> None:
    corpus = random_corpus(60)
    vectors = vectors_for(list(corpus.texts))
    models = {name: TfcrClassifier.from_preset(name, embeddings=vectors) for name in ("fast", "best")}
    found = compare(models, corpus, folds=2)
    alone = cross_validate(models["best"], corpus, folds=2)
    assert found["best"].fold_scores == alone.fold_scores


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown part 'word'; known: vectors, words, bigrams"):
        plain_classifier(parts=["word"]).fit(["a b", "c d"], [0, 1])


def test_a_class_of_one_document_is_learned() -> None:
    corpus = random_corpus(60)
    texts, labels = [*corpus.texts, "lonely words alone"], [*corpus.labels, "one"]
    model = plain_classifier(parts=["words", "vectors"], embeddings=vectors_for(texts), blocks="own").fit(texts, labels)
    assert model.predict(["lonely words alone"]).tolist() == ["one"]


def test_bigrams_are_tf_idf_of_bigrams_with_linear_svc() -> None:
    corpus = random_corpus(300)
    texts, labels = list(corpus.texts), np.array(corpus.labels)
    model = plain_classifier(parts=["bigrams"], embeddings=None, class_weight=None).fit(texts, labels)
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+").fit(texts)
    held = np.asarray((words.transform(texts) > 0).sum(axis=0)).ravel()
    kept = [term for term, number in words.vocabulary_.items() if " " not in term or held[number] >= 2]
    tfidf = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+", sublinear_tf=True, vocabulary=kept)
    svc = LinearSVC(dual=False, tol=1e-8).fit(tfidf.fit_transform(texts), labels)
    assert sorted(model.table_.vocabulary.names) == sorted(kept)
    expected = svc.decision_function(tfidf.transform(texts))
    np.testing.assert_allclose(model.decision_function(texts), expected, atol=2e-2)
