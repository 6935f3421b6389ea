"""Document vectors by compiled code against those by scipy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcr.features import blocks
from tfcr.features.blocks import AVERAGINGS, BLOCKS, document_vectors, make_blocks
from tfcr.text.documents import CountedDocuments
from tfcr.text.vocabulary import Vocabulary

COUNTS = st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=6)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("threads", [1, 3])
@settings(max_examples=10)  # for each of 32 combinations
@given(rows=COUNTS, seed=st.integers(0, 9))
def test_document_vectors_are_those_of_the_plain_path(
    kind: str, averaging: str, n_classes: int, threads: int, rows: list[list[int]], seed: int
) -> None:
    random = np.random.default_rng(seed)
    weights = random.uniform(size=(5, n_classes)).astype(np.float32)
    weights[random.uniform(size=weights.shape) < 0.4] = 0
    vectors = random.normal(size=(5, 4)).astype(np.float32)
    made = make_blocks(kind, weights, vectors, [f"c{n}" for n in range(n_classes)], averaging, np.ones(5, np.bool_))
    counts = sp.csr_array(np.array(rows, np.int32) * random.choice([1, 1_000_000]))
    documents = CountedDocuments(Vocabulary(list("abcde")), counts, np.asarray(counts.sum(axis=1)) + 1)
    plain = document_vectors(documents, made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "MIN_NATIVE_PRODUCTS", 0)
        fast = document_vectors(documents, made, threads)
    np.testing.assert_allclose(fast, plain, rtol=1e-4, atol=1e-5 * max(1, abs(plain).max()))
