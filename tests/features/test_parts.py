"""The table of parts: each by hand, against scikit-learn, and against what it says it needs."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from tests.conftest import plain_classifier, random_corpus
from tfcr import ClassCounts
from tfcr.errors import InputError, UnknownNameError
from tfcr.features.matrix import SparseFeatures, scaled_features
from tfcr.features.parts import PARTS, PartSettings
from tfcr.text.documents import count_terms


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
        ({"parts": ["words"], "head": "ridge"}, "found head='ridge', which cannot use the sparse features of words"),
    ],
)
def test_parts_that_cannot_be_fitted_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plain_classifier(**parameters).fit(["a b", "c d"], [0, 1])


def settings(**changes: Any) -> PartSettings:
    given: dict[str, Any] = {
        "vectors": np.array([[1, 0], [0, 1], [1, 1]], np.float32),
        "class_names": ["x", "y"],
        "scheme": "tfcr",
        "blocks": "all",
        "averaging": "sum",
    }
    return PartSettings(**{**given, **changes})


def test_vectors_are_weighted_by_the_scheme() -> None:
    documents = count_terms(["a b", "c"])
    counts = ClassCounts.from_documents(documents, np.array([0, 1]))
    found = PARTS["vectors"].block_maker(settings())(documents, lambda: counts)
    assert [block.name for block in found] == ["x", "y"]
    assert [block.weights.tolist() for block in found] == [[0.5, 0.5, 0], [0, 0, 1]]
    assert all(block.averaging == "sum" for block in found)
    vectors = settings().vectors
    assert vectors is not None
    np.testing.assert_array_equal(found[0].vectors, vectors)
    own = PARTS["vectors"].block_maker(settings(blocks="own"))(documents, lambda: counts)
    assert "(mean)" in [block.name for block in own]


def test_the_mean_of_own_blocks_leaves_out_words_that_do_not_occur() -> None:
    documents = count_terms(["a b", "c"])
    counts = ClassCounts.from_documents(documents, np.array([0, 1]), sample_weight=np.array([1.0, 0.0]))
    own = PARTS["vectors"].block_maker(settings(blocks="own", scheme="none"))(documents, lambda: counts)
    assert [block.weights.tolist() for block in own if block.name == "(mean)"] == [[1, 1, 0]]


@pytest.mark.parametrize("part", ["words", "bigrams"])
def test_tf_idf_is_worked_by_hand(part: str) -> None:
    documents = count_terms(["so good so", "so good", "bad good so"], bigrams=True)
    names = documents.vocabulary.names
    assert names == ["bad", "good", "so", "good so", "so good"]

    def no_counts() -> ClassCounts:
        pytest.fail("TF-IDF does not look at labels")

    [block] = PARTS[part].block_maker(settings())(documents, no_counts)
    expected = [math.log(4 / (1 + n)) + 1 for n in (1, 3, 3, 2, 2)]
    np.testing.assert_allclose(block.weights, expected, rtol=1e-6)
    assert block.weights.dtype == np.float32
    assert (block.name, block.vectors, block.averaging, block.output) == ("(words)", None, "unit", None)
    [fewer] = PARTS[part].block_maker(settings())(documents.rows(np.array([0, 2])), no_counts)
    expected = [math.log(3 / 2) + 1, 1, 1, 1, 0]  # a bigram of one document has no weight
    np.testing.assert_allclose(fewer.weights, expected, rtol=1e-6)


@pytest.mark.parametrize("name", PARTS)
def test_every_part_says_what_it_needs(name: str) -> None:
    part = PARTS[name]
    corpus = random_corpus(20)
    documents = count_terms(corpus.texts, bigrams=part.uses_bigrams)
    numbers = np.unique(corpus.labels, return_inverse=True)[1]
    counts = ClassCounts.from_documents(documents.only_words(), numbers)
    vectors = np.ones((documents.vocabulary.n_words, 2), np.float32) if part.needs_vectors else None
    asked: list[int] = []

    def counted() -> ClassCounts:
        asked.append(1)
        return counts

    made = part.block_maker(settings(vectors=vectors, class_names=["x", "y", "z"]))(documents, counted)
    assert bool(asked) == part.supervised
    assert all(len(block.weights) == len(documents.vocabulary) for block in made)
    features = scaled_features(documents, made, np.ones(20), 10**9).features
    assert isinstance(features, SparseFeatures) == part.sparse
    assert list(part.strengths) == sorted(part.strengths)
    assert len(part.strengths) > 0
