"""Folds, and cross-fitted vectors against fits without the documents of a fold."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr import ClassCounts, WeightedEmbeddingVectorizer
from tfcr.errors import InputError
from tfcr.features.blocks import BLOCKS, Block, document_vectors
from tfcr.features.cross_fit import (
    _first_duplicates,
    check_cross_fit,
    cross_fit_blocks,
    make_blocks_from,
    stratified_folds,
)
from tfcr.text.documents import count_terms
from tfcr.text.shards import Documents

TEXTS = ["a b", "a c", "b b", "c a", "b c", "a", "c d", "d"]
LABELS = [0, 1, 0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("blocks", BLOCKS)
def test_cross_fitted_vectors_are_those_of_a_fit_on_the_other_folds(blocks: str) -> None:
    corpus = random_corpus(60)
    vectors = random_vectors(corpus)
    weights = np.random.default_rng(0).integers(0, 3, len(corpus)).astype(float)
    texts, labels = np.array(corpus.texts), np.array(corpus.labels)
    crossed = WeightedEmbeddingVectorizer(embeddings=vectors, blocks=blocks, cross_fit=4)
    found = crossed.fit_transform(texts.tolist(), labels, weights)
    used = np.flatnonzero(weights > 0)
    numbers = np.unique(labels[used], return_inverse=True)[1]
    plain = WeightedEmbeddingVectorizer(embeddings=vectors, blocks=blocks)
    documents = count_terms(texts[used].tolist(), vocabulary=crossed.vocabulary_)
    for fold in stratified_folds(documents, numbers, 4, 0):
        rest = np.setdiff1d(used, used[fold])
        plain.fit(texts[rest].tolist(), labels[rest], weights[rest])
        np.testing.assert_allclose(found[used[fold]], plain.transform(texts[used[fold]].tolist()), atol=1e-5)
    np.testing.assert_array_equal(crossed.transform(texts.tolist()), plain.fit(texts, labels, weights).transform(texts))
    assert not np.allclose(found, crossed.transform(texts.tolist()), atol=1e-3)
    never = weights == 0
    np.testing.assert_array_equal(found[never], crossed.transform(texts[never].tolist()))


def test_a_classifier_learns_from_cross_fitted_vectors() -> None:
    corpus = random_corpus(200, n_classes=2)
    vectors = random_vectors(corpus)
    given: dict[str, Any] = {"embeddings": vectors, "scheme": "tfidf", "averaging": "sum"}
    model = plain_classifier(**given, cross_fit=3, class_weight=None, C=0.5).fit(corpus.texts, corpus.labels)
    vectorizer = WeightedEmbeddingVectorizer(**given, cross_fit=3)
    training = vectorizer.fit_transform(corpus.texts, corpus.labels)
    centred = training - training.mean(axis=0)
    scale = np.sqrt((centred**2).sum(axis=1).mean())
    svc = LinearSVC(C=0.5, dual=False, tol=1e-8).fit(centred / scale, corpus.labels)
    asked = (vectorizer.transform(corpus.texts) - training.mean(axis=0)) / scale
    np.testing.assert_allclose(model.decision_function(corpus.texts), svc.decision_function(asked), atol=2e-3)


@pytest.mark.parametrize("blocks", BLOCKS)
def test_a_cross_fitted_model_explains_itself_with_parts_together(blocks: str) -> None:
    corpus = random_corpus(200)
    parts = ["words", "vectors"]
    given: dict[str, Any] = {
        "embeddings": random_vectors(corpus),
        "blocks": blocks,
        "parts": parts,
        "C": None,
        "random_state": 0,
    }
    model = plain_classifier(**given, cross_fit=5).fit(corpus.texts, corpus.labels)
    other = plain_classifier(**given).fit(corpus.texts, corpus.labels)
    assert not np.allclose(model.decision_function(corpus.texts), other.decision_function(corpus.texts), atol=1e-3)
    found = model.explain(corpus.texts[0])
    total = found.baseline + sum(word.contributions for word in found.words)
    np.testing.assert_allclose(total, model.decision_function(corpus.texts[:1])[0], atol=1e-4)


def test_the_only_document_of_a_class_is_cross_fitted_with_all() -> None:
    corpus = random_corpus(40)
    vectors = random_vectors(corpus)
    texts, labels = [*corpus.texts, "w0_1 common1"], [*corpus.labels, "once"]
    vectorizer = WeightedEmbeddingVectorizer(embeddings=vectors, cross_fit=5)
    found = vectorizer.fit_transform(texts, labels)
    np.testing.assert_array_equal(found[-1:], vectorizer.transform(texts[-1:]))
    documents = count_terms(texts[-1:], vocabulary=vectorizer.vocabulary_)
    expected = document_vectors(documents, vectorizer.blocks_)
    np.testing.assert_array_equal(found[-1:], expected)


@pytest.mark.parametrize("cross_fit", [1, -2, 2.5, True, "5"])
def test_what_is_no_number_of_folds_is_refused(cross_fit: object) -> None:
    with pytest.raises(InputError, match="expected a number of folds such as 5, or 0 for none"):
        plain_classifier(cross_fit=cross_fit).fit(TEXTS, LABELS)


def test_more_folds_than_documents_leave_out_one_of_a_class_at_a_time() -> None:
    folds = stratified_folds(count_terms(TEXTS), np.array(LABELS), 10**9, 0)  # empty ones take neither time nor memory
    left_out = [[LABELS[number] for number in fold if number != 3] for fold in folds]  # number 3 is a copy of number 1
    assert sorted(map(sorted, left_out)) == [[0], [0, 1], [0, 1], [0, 1]]


def test_cross_fitted_features_that_do_not_fit_are_refused() -> None:
    corpus = random_corpus(40)
    model = plain_classifier(embeddings=random_vectors(corpus), cross_fit=2, max_memory=100)
    with pytest.raises(InputError, match="found cross-fitted features of .* GB and max_memory"):
        model.fit(corpus.texts, corpus.labels)


def test_folds_are_shuffled_by_their_seed() -> None:
    documents = count_terms([f"word{number}" for number in range(40)])
    labels = np.arange(40) % 2
    folds = [stratified_folds(documents, labels, 4, seed) for seed in (0, 0, 1)]
    assert [fold.tolist() for fold in folds[0]] == [fold.tolist() for fold in folds[1]]
    assert [fold.tolist() for fold in folds[0]] != [fold.tolist() for fold in folds[2]]
    assert sorted(np.concatenate(folds[2]).tolist()) == list(range(40))
    assert all(np.bincount(labels[fold]).tolist() == [5, 5] for fold in folds[2])


def test_small_classes_do_not_all_fill_the_first_folds() -> None:
    documents = count_terms([f"word{number}" for number in range(8)])
    labels = np.repeat(np.arange(4), 2)
    assert [len(fold) for fold in stratified_folds(documents, labels, 4, 0)] == [2, 2, 2, 2]


def test_duplicates_are_of_one_class_and_the_same_counts() -> None:
    documents = count_terms(["a b", "b a", "a b b", "a b", "c", ""])
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert _first_duplicates(documents, labels).tolist() == [0, 0, 2, 3, 4, 5]
    folds = stratified_folds(documents, labels, 2, 0)
    assert any({0, 1} <= set(fold.tolist()) for fold in folds)


def test_a_class_of_one_document_however_often_repeated_is_in_no_fold() -> None:
    documents = count_terms(["a", "b", "c", "c", "c"])
    folds = stratified_folds(documents, np.array([0, 0, 1, 1, 1]), 2, 0)
    assert sorted(np.concatenate(folds).tolist()) == [0, 1]
    assert stratified_folds(count_terms(["a", "b"]), np.array([0, 1]), 5, 0) == []
    folds = stratified_folds(count_terms(["a", "b", "c", "d", "d"]), np.array([0, 1, 2, 2, 2]), 5, 0)
    assert sorted(fold.tolist() for fold in folds) == [[2], [3, 4]]  # no fold is empty


def class_weight_blocks(documents: Documents, counts: Callable[[], ClassCounts]) -> list[Block]:
    """Return a block per class whose weights are the occurrences of each word in it."""
    occurrences = counts().occurrences.toarray().astype(np.float32)
    return [Block(str(number), column, None, "sum") for number, column in enumerate(occurrences.T)]


def test_blocks_of_a_fold_come_from_the_other_folds() -> None:
    texts = ["a", "a a", "b", "b b", "c"]
    documents, labels = count_terms(texts), np.array([0, 0, 1, 1, 2])
    weights = np.array([1.0, 10.0, 100.0, 1000.0, 10_000.0])
    everything = make_blocks_from(class_weight_blocks, documents, labels, weights)
    assert [block.weights.tolist() for block in everything] == [[21, 0, 0], [0, 2100, 0], [0, 0, 10_000]]
    found = cross_fit_blocks(class_weight_blocks, everything, documents, labels, weights, 2)
    for rows, blocks in found[:-1]:
        rest = np.setdiff1d(np.arange(5), rows)
        expected = make_blocks_from(class_weight_blocks, documents.rows(rest), labels[rest], weights[rest])
        assert [block.weights.tolist() for block in blocks] == [block.weights.tolist() for block in expected]
    assert found[-1].rows.tolist() == [4]  # the only document of its class: with the blocks of all
    assert found[-1].blocks is everything
    assert sorted(np.concatenate([fold.rows for fold in found]).tolist()) == [0, 1, 2, 3, 4]
    folds = [fold.tolist() for fold in stratified_folds(documents, labels, 2, 0)]
    assert [fold.rows.tolist() for fold in found[:-1]] == folds
    no_loners = cross_fit_blocks(
        class_weight_blocks, everything[:2], documents.rows(np.arange(4)), labels[:4], weights[:4], 2, seed=1
    )
    assert len(no_loners) == 2


def test_the_seed_of_the_split_is_zero_unless_given() -> None:
    documents, labels = count_terms([f"word{number}" for number in range(30)]), np.arange(30) % 2
    for seed in ({}, {"seed": 0}, {"seed": 1}):
        found = cross_fit_blocks(class_weight_blocks, [], documents, labels, np.ones(30), 3, **seed)
        expected = stratified_folds(documents, labels, 3, seed.get("seed", 0))
        assert [fold.rows.tolist() for fold in found] == [fold.tolist() for fold in expected]


def test_documents_that_are_all_alone_in_their_classes_have_the_blocks_of_all() -> None:
    documents, labels = count_terms(["a", "b"]), np.array([0, 1])
    blocks = make_blocks_from(class_weight_blocks, documents, labels, np.ones(2))
    [only] = cross_fit_blocks(class_weight_blocks, blocks, documents, labels, np.ones(2), 5)
    assert only.rows.tolist() == [0, 1]
    assert only.blocks is blocks
    assert [block.name for block in only.select([1]).blocks] == ["1"]
    assert only.select([1, 0]).rows is only.rows


@pytest.mark.parametrize("cross_fit", [0, 2, 5, np.int64(3)])
def test_numbers_of_folds(cross_fit: int) -> None:
    check_cross_fit(cross_fit)


@pytest.mark.parametrize("cross_fit", [1, -1, 2.5, True, False, "5"])
def test_what_is_no_number_of_folds_is_named(cross_fit: Any) -> None:
    message = f"found cross_fit={cross_fit!r}; expected a number of folds such as 5, or 0 for none"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        check_cross_fit(cross_fit)
