"""Features computed on demand against the same ones in memory."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import random_corpus, random_vectors
from tests.test_classifier import fitted
from tfcr.features.blocks import AVERAGINGS, BLOCKS, document_vectors, make_blocks
from tfcr.features.matrix import DenseFeatures, OnDemandFeatures, SparseFeatures, gram, scaled_features
from tfcr.text.documents import CountedDocuments
from tfcr.text.vocabulary import Vocabulary

COUNTS = st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=2, max_size=6)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("with_vectors", [True, False])
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
        expected = document_vectors(documents, blocks)
        np.testing.assert_allclose(held.features.matrix.toarray()[:, :-1] * held.scale, expected, rtol=1e-4, atol=1e-6)
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
