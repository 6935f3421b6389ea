"""Features computed on demand against the same ones in memory."""

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.conftest import random_corpus, random_vectors
from tests.test_classifier import fitted
from tfcr.errors import InputError
from tfcr.features import matrix
from tfcr.features.blocks import AVERAGINGS, BLOCKS, Block, document_vectors, make_blocks
from tfcr.features.cross_fit import FoldBlocks
from tfcr.features.matrix import (
    DenseFeatures,
    OnDemandFeatures,
    SparseFeatures,
    chunks,
    gram,
    scaled_features,
)
from tfcr.text.documents import CountedDocuments
from tfcr.text.vocabulary import Vocabulary

COUNTS = st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=2, max_size=6)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("with_vectors", [True, False])
@settings(max_examples=10)  # for each of sixteen combinations
@given(rows=COUNTS, n_classes=st.integers(1, 3), seed=st.integers(0, 9))
def test_features_on_demand_multiply_as_those_in_memory(
    kind: str, averaging: str, with_vectors: bool, rows: list[list[int]], n_classes: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    weights = random.uniform(size=(5, n_classes)).astype(np.float32)
    weights[random.uniform(size=weights.shape) < 0.4] = 0
    vectors = random.normal(size=(5, 4)).astype(np.float32) if with_vectors else None
    names = [f"c{number}" for number in range(n_classes)]
    blocks = make_blocks(kind, weights, vectors, names, averaging, np.ones(5, np.bool_))
    counts = sp.csr_array(np.array(rows, np.int32))
    documents = CountedDocuments(Vocabulary(list("abcde")), counts, np.asarray(counts.sum(axis=1)) + 1)
    sample_weight = random.uniform(0.5, 2, len(rows))
    held = scaled_features(documents, blocks, sample_weight, max_memory=10**9)
    if AVERAGINGS[averaging].sublinear and kind == "all" and not with_vectors:  # words themselves: sparse, not centred
        assert isinstance(held.features, SparseFeatures)
        expected = np.zeros_like(document_vectors(documents, blocks))
        expected[:, held.columns] = held.features.matrix.toarray()[:, :-1] * held.scale
        np.testing.assert_allclose(expected, document_vectors(documents, blocks), rtol=1e-4, atol=1e-6)
        return
    computed = scaled_features(documents, blocks, sample_weight, max_memory=1)
    assert isinstance(held.features, DenseFeatures)
    assert isinstance(computed.features, OnDemandFeatures)
    assert held.features.shape == computed.features.shape
    np.testing.assert_allclose(computed.means, held.means, rtol=1e-4, atol=1e-5)
    assert computed.scale == pytest.approx(held.scale, rel=1e-3)
    n_columns = held.features.shape[1]
    B = random.normal(size=(n_columns, 3)).astype(np.float32)
    V = random.normal(size=(len(rows), 3)).astype(np.float32)
    some = np.array([len(rows) - 1, 0])
    for one, two in [
        (computed.features.times(B), held.features.times(B)),
        (computed.features.transposed_times(V), held.features.transposed_times(V)),
        (computed.features.take(some), held.features.take(some)),
        (gram(computed.features, V[:, 0], np.float64), gram(held.features, V[:, 0], np.float64)),
    ]:
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(held.features.matrix[:, -1], 1)


@pytest.mark.parametrize("head", ["svm", "lr", "ridge"])
@pytest.mark.parametrize("blocks", BLOCKS)
def test_little_memory_gives_the_same_model(head: str, blocks: str) -> None:
    corpus = random_corpus(n_classes=3)
    vectors = random_vectors(corpus)
    plain = fitted(corpus, vectors, head=head, blocks=blocks)
    frugal = fitted(corpus, vectors, head=head, blocks=blocks, max_memory=1)
    expected = plain.decision_function(corpus.texts)
    np.testing.assert_allclose(frugal.decision_function(corpus.texts), expected, atol=0.02 * abs(expected).max())


# by hand -----------------------------------------------------------------------------------------------------------

WEIGHTS: NDArray[np.float32] = np.array([1, 2, 3], np.float32)
VECTORS: NDArray[np.float32] = np.array([[1, 0], [0, 1], [2, 2]], np.float32)


def counted(rows: Any, lengths: Any = None) -> CountedDocuments:
    matrix = sp.csr_array(np.array(rows, np.int32))
    words = [f"w{number}" for number in range(matrix.shape[1])]
    return CountedDocuments(Vocabulary(words), matrix, np.asarray(matrix.sum(axis=1)) if lengths is None else lengths)


def test_rows_are_processed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "ROWS", 4)
    assert chunks(9) == [slice(0, 4), slice(4, 8), slice(8, 9)]
    assert chunks(8) == [slice(0, 4), slice(4, 8)]
    assert chunks(0) == []


def test_the_gram_matrix_is_a_sum_over_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    X, weights = random.normal(size=(600, 3)).astype(np.float32), random.uniform(size=600).astype(np.float32)
    expected = X.T.astype(np.float64) @ (X * weights[:, None])
    taken: list[int] = []

    class Recorded(DenseFeatures):
        def take(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
            taken.append(len(rows))
            return super().take(rows)

    def sizes(rows: int, operations: int) -> list[int]:
        taken.clear()
        monkeypatch.setattr(matrix, "ROWS", rows)
        monkeypatch.setattr(matrix, "GRAM_OPERATIONS", operations)
        found = gram(Recorded(X), weights, np.float64)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
        return list(taken)

    assert sizes(4096, 10**9) == [600]
    assert sizes(400, 10**9) == [400, 200]
    assert sizes(4096, 9 * 300) == [300, 300]  # so many multiplications at a time
    assert sizes(4096, 9) == [256, 256, 88]  # but at least 256 documents
    assert gram(DenseFeatures(X), weights, np.float32).dtype == np.float32


def test_features_in_memory_are_centred_and_scaled_by_hand() -> None:
    """The block of the third document is empty: it is left out of the mean, and becomes the mean."""
    documents = counted([[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    blocks = [Block("x", np.ones(3, np.float32), VECTORS, "weights")]
    sample_weight = np.array([1.0, 3.0, 2.0])
    for max_memory, factor in itertools.product((10**9, 1), (1, 1e-3)):
        found = scaled_features(documents, blocks, sample_weight * factor, max_memory)
        np.testing.assert_allclose(found.means, [1 / 4, 3 / 4], rtol=1e-6)
        centred = np.array([[3 / 4, -3 / 4], [-1 / 4, 1 / 4], [0, 0]])
        scale = np.sqrt((1 * 9 / 8 + 3 * 1 / 8) / 6)
        assert found.scale == pytest.approx(scale, rel=1e-6)
        expected = np.hstack([centred / scale, np.ones((3, 1))])
        np.testing.assert_allclose(found.features.take(np.arange(3)), expected, rtol=1e-5, atol=1e-6)
        assert found.features.take(np.arange(3)).dtype == np.float32
        assert found.features.shape == (3, 3)
        B = np.array([[1, 0], [0, 2], [3, 4]], np.float32)
        np.testing.assert_allclose(found.features.times(B), expected @ B, rtol=1e-5, atol=1e-5)
        V = np.array([[1], [2], [4]], np.float32)
        np.testing.assert_allclose(found.features.transposed_times(V), expected.T @ V, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("max_memory", [10**9, 1])
def test_features_on_demand_are_the_same_in_several_chunks(max_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    documents = counted(random.integers(0, 3, (7, 3)))
    blocks = [Block("x", np.array([1, 2, 0], np.float32), VECTORS, "weights"), Block("y", WEIGHTS, None, "length")]
    sample_weight = random.uniform(0.5, 2, 7)
    expected = scaled_features(documents, blocks, sample_weight, 10**9)
    monkeypatch.setattr(matrix, "ROWS", 2)
    found = scaled_features(documents, blocks, sample_weight, max_memory)
    assert found.scale == pytest.approx(expected.scale, rel=1e-6)
    everyone = np.arange(7)
    np.testing.assert_allclose(found.features.take(everyone), expected.features.take(everyone), rtol=1e-4, atol=1e-5)


def test_memory_decides_to_the_byte() -> None:
    documents = counted(np.ones((5, 3)))
    blocks = [Block("x", WEIGHTS, VECTORS, "sum")]
    needed = 4 * 5 * (2 + 1)
    assert isinstance(scaled_features(documents, blocks, np.ones(5), needed).features, DenseFeatures)
    assert isinstance(scaled_features(documents, blocks, np.ones(5), needed - 1).features, OnDemandFeatures)


def test_documents_that_are_all_equal_keep_their_scale() -> None:
    documents = counted(np.ones((5, 3)))
    for max_memory in (10**9, 1):
        found = scaled_features(documents, [Block("x", WEIGHTS, VECTORS * 1000, "sum")], np.ones(5), max_memory)
        assert found.scale == 1
        np.testing.assert_allclose(found.features.take(np.arange(5))[:, :-1], 0, atol=1e-3)


def test_a_block_that_is_empty_everywhere_has_no_mean() -> None:
    documents = counted([[1, 0, 0], [2, 0, 0]])
    blocks = [Block("x", np.array([0, 1, 1], np.float32), VECTORS, "weights"), Block("y", WEIGHTS, VECTORS, "sum")]
    for max_memory in (10**9, 1):
        found = scaled_features(documents, blocks, np.ones(2), max_memory)
        np.testing.assert_allclose(found.means, [0, 0, 1.5, 0], rtol=1e-6)


def test_sparse_features_are_scaled_and_not_centred() -> None:
    documents = counted([[1, 0, 3], [0, 2, 0]])
    blocks = [Block("x", WEIGHTS, None, "unit"), Block("y", WEIGHTS, sp.csr_array(VECTORS), "unit")]
    found = scaled_features(documents, blocks, np.array([1.0, 3.0]), 1)  # however little memory
    assert isinstance(found.features, SparseFeatures)
    assert found.features.matrix.dtype == np.float32
    assert found.features.matrix.indices.dtype == np.int32
    expected = document_vectors(documents, blocks)
    assert found.columns is not None
    assert sorted(found.columns.tolist()) == np.flatnonzero(expected.any(axis=0)).tolist()
    uses = (expected != 0).sum(axis=0)[found.columns]
    assert uses.tolist() == sorted(uses, reverse=True)  # common columns first
    assert found.means.tolist() == [0] * len(found.columns)
    assert found.scale == pytest.approx(np.sqrt(np.array([1, 3]) @ (expected**2).sum(axis=1) / 4), rel=1e-6)
    rows = np.hstack([expected[:, found.columns] / found.scale, np.ones((2, 1))])
    np.testing.assert_allclose(found.features.take(np.array([1, 0])), rows[::-1], rtol=1e-6)
    assert found.features.shape == rows.shape
    assert found.features.size == np.count_nonzero(rows)
    B, V = np.arange(2 * rows.shape[1], dtype=np.float32).reshape(-1, 2), np.array([[1, 2], [3, 4]], np.float32)
    np.testing.assert_allclose(found.features.times(B), rows @ B, rtol=1e-5)
    np.testing.assert_allclose(found.features.transposed_times(V), rows.T @ V, rtol=1e-5)
    assert found.features.times(B).dtype == found.features.transposed_times(V).dtype == np.float32
    mixed = [blocks[0], Block("z", WEIGHTS, VECTORS, "unit")]  # one of them is dense
    assert isinstance(scaled_features(documents, mixed, np.ones(2), 10**9).features, DenseFeatures)


def test_cross_fitted_features_that_do_not_fit_are_refused_with_their_size() -> None:
    documents = counted(np.ones((5, 3)))
    blocks = [Block("x", WEIGHTS, VECTORS, "sum")]
    folds = [FoldBlocks(np.array([0, 1]), blocks), FoldBlocks(np.array([2, 3, 4]), blocks)]
    message = (
        "found cross-fitted features of 0.0 GB and max_memory of 0.0 GB; "
        "expected them to fit: give a larger max_memory, blocks='own', or cross_fit=0"
    )
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        scaled_features(documents, blocks, np.ones(5), 1, folds)
    assert isinstance(scaled_features(documents, blocks, np.ones(5), 1, folds[:1]).features, OnDemandFeatures)
    wide = [Block("x", WEIGHTS, np.broadcast_to(np.float32(1), (3, 100_000_000)), "sum")]  # takes no memory
    folds = [FoldBlocks(np.array([0]), wide), FoldBlocks(np.array([1]), wide)]
    with pytest.raises(InputError, match=r"^found cross-fitted features of 2\.0 GB and max_memory of 1\.2 GB; "):
        scaled_features(documents, wide, np.ones(5), 1_200_000_000, folds)


def test_documents_of_a_fold_have_the_vectors_and_the_emptiness_of_its_blocks() -> None:
    documents = counted([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    one = [Block("x", np.array([1, 0, 1], np.float32), VECTORS, "weights")]
    two = [Block("x", np.array([0, 2, 1], np.float32), VECTORS, "weights")]
    folds = [FoldBlocks(np.array([3, 1]), one), FoldBlocks(np.array([0, 2]), two)]
    found = scaled_features(documents, one, np.ones(4), 10**9, folds)
    # 3: (w0 + w2) / 2; 1 and 0 are empty; 2: w2
    vectors = np.array([[0, 0], [0, 0], [2, 2], [1.5, 1]])
    np.testing.assert_allclose(found.means, vectors[2:].mean(axis=0), rtol=1e-6)
    centred = np.where([[False], [False], [True], [True]], vectors - found.means, 0)
    expected = centred / np.sqrt((centred**2).sum(axis=1).mean())
    np.testing.assert_allclose(found.features.take(np.arange(4))[:, :-1], expected, rtol=1e-5, atol=1e-6)


# views -------------------------------------------------------------------------------------------------------------


def three_views() -> tuple[CountedDocuments, list[Block], list[list[int]]]:
    random = np.random.default_rng(0)
    documents = counted(random.integers(0, 3, (8, 3)))
    own = [Block(f"c{k}", random.uniform(size=3).astype(np.float32), VECTORS, "weights", k) for k in range(3)]
    return documents, [*own, Block("(mean)", WEIGHTS, VECTORS[:, :1], "weights")], [[0, 3], [1, 3], [2, 3]]


@pytest.mark.parametrize(
    ("max_memory", "shared"),
    [
        (10**9, 3),  # all views together
        (2 * 2 * 4 * 8 * 3, 2),  # two views of three columns for eight documents, in half of the memory
        (2 * 2 * 4 * 8 * 3 - 1, 0),  # a single one is not worth it
    ],
)
@pytest.mark.parametrize("crossed", [False, True])
def test_views_share_the_vectors_of_their_blocks(
    max_memory: int, shared: int, crossed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents, blocks, views = three_views()
    folds: list[FoldBlocks] = []
    if crossed:
        other = [replace(block, weights=block.weights[::-1].copy()) for block in blocks]
        folds = [FoldBlocks(np.arange(0, 8, 2), blocks), FoldBlocks(np.arange(1, 8, 2), other)]
    sizes: list[int] = []
    from_shared = matrix._features_from_shared

    def recorded(documents: Any, blocks: Any, views: Any, sample_weight: Any, fold_blocks: Any) -> Any:
        sizes.append(len(views))
        return from_shared(documents, blocks, views, sample_weight, fold_blocks)

    monkeypatch.setattr(matrix, "_features_from_shared", recorded)
    sample_weight = np.arange(1.0, 9)
    found = list(matrix.features_of_views(documents, blocks, views, sample_weight, max_memory, folds))
    assert sizes == {3: [3], 2: [2, 1], 0: []}[shared]
    for view, scaled in zip(views, found, strict=True):
        seen = [fold.select(view) for fold in folds]
        expected = scaled_features(documents, [blocks[number] for number in view], sample_weight, 10**9, seen)
        assert scaled.scale == pytest.approx(expected.scale, rel=1e-6)
        np.testing.assert_allclose(scaled.means, expected.means, rtol=1e-6)
        everyone = np.arange(8)
        one, two = scaled.features.take(everyone), expected.features.take(everyone)
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


def test_one_view_or_sparse_blocks_share_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    documents, blocks, views = three_views()
    monkeypatch.setattr(matrix, "_features_from_shared", lambda *given: pytest.fail("shared"))
    assert len(list(matrix.features_of_views(documents, blocks, views[:1], np.ones(8), 10**9))) == 1
    words = Block("(words)", WEIGHTS, None, "unit")
    [one, two] = matrix.features_of_views(documents, [words, words], [[0], [1]], np.ones(8), 10**9)
    assert isinstance(one.features, SparseFeatures)
    assert isinstance(two.features, SparseFeatures)
    monkeypatch.setattr(matrix, "SHARED_BYTES", 2 * 4 * 8 * 3 - 1)
    assert len(list(matrix.features_of_views(documents, blocks, views, np.ones(8), 10**9))) == 3


# memory ------------------------------------------------------------------------------------------------------------


def test_the_columns_of_all_blocks_count_in_the_memory_needed() -> None:
    documents = counted(np.ones((5, 3)))
    blocks = [Block("x", WEIGHTS, VECTORS, "sum"), Block("y", WEIGHTS, None, "sum")]
    needed = 4 * 5 * (2 + 3 + 1)
    assert isinstance(scaled_features(documents, blocks, np.ones(5), needed).features, DenseFeatures)
    assert isinstance(scaled_features(documents, blocks, np.ones(5), needed - 1).features, OnDemandFeatures)


@pytest.mark.parametrize(
    ("blocks", "max_memory", "kind"),
    [
        ([Block("x", WEIGHTS, VECTORS, "weights")], 10**9, DenseFeatures),
        ([Block("x", WEIGHTS, VECTORS, "weights"), Block("y", WEIGHTS, None, "sum")], 1, OnDemandFeatures),
    ],
)
def test_features_and_their_products_are_float32(blocks: list[Block], max_memory: int, kind: type) -> None:
    """Twice the memory, or twice the time, would be the price of float64."""
    documents = counted([[1, 0, 0], [0, 1, 2], [1, 1, 1]])
    features = scaled_features(documents, blocks, np.array([1.0, 2.0, 3.0]), max_memory).features
    assert isinstance(features, kind)
    B, V = np.ones((features.shape[1], 2), np.float32), np.ones((3, 2), np.float32)
    found = [features.times(B), features.transposed_times(V), features.take(np.arange(3))]
    assert [array.dtype for array in found] == [np.float32] * 3
