"""Each part against scikit-learn."""

from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from tests.conftest import plain_classifier, random_corpus
from tfcr.errors import InputError, UnknownNameError


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


def test_bigrams_are_tf_idf_of_bigrams_with_linear_svc() -> None:
    corpus = random_corpus(300)
    texts, labels = list(corpus.texts), np.array(corpus.labels)
    model = plain_classifier(parts=["bigrams"], embeddings=None, class_weight=None).fit(texts, labels)
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+").fit(texts)
    documents = np.asarray((words.transform(texts) > 0).sum(axis=0)).ravel()
    kept = [term for term, number in words.vocabulary_.items() if " " not in term or documents[number] >= 2]
    tfidf = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+", sublinear_tf=True, vocabulary=kept)
    svc = LinearSVC(dual=False, tol=1e-8).fit(tfidf.fit_transform(texts), labels)
    assert sorted(model.table_.vocabulary.names) == sorted(kept)
    expected = svc.decision_function(tfidf.transform(texts))
    np.testing.assert_allclose(model.decision_function(texts), expected, atol=2e-2)


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown part 'word'; known: vectors, words, bigrams"):
        plain_classifier(parts=["word"]).fit(["a b", "c d"], [0, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"parts": []}, r"found parts=\[\]; expected a list of one or more of vectors, words, bigrams"),
        ({"parts": "words"}, "found parts='words'; expected a list"),
        ({"embeddings": None}, "found embeddings=None and no part but 'vectors'"),
        ({"parts": ["words"], "head": "ridge"}, "found head='ridge' for words"),
    ],
)
def test_parts_that_cannot_be_fitted_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plain_classifier(**parameters).fit(["a b", "c d"], [0, 1])
