"""Word tables made of sparse matrices, against the formula."""

import itertools
import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import random_corpus, random_vectors
from tfcr import TfcrClassifier
from tfcr.errors import InputError
from tfcr.features.blocks import AVERAGINGS
from tfcr.text.documents import CountedDocuments
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained import packing
from tfcr.trained.packing import LooseTable, loosen, pack
from tfcr.trained.rounding import round_table


def test_a_table_without_values_packs() -> None:
    nothing: Any = sp.csr_array((2, 1), dtype=np.float32)
    one = np.zeros(1, np.int64)
    frequencies = np.ones(2, np.float32)
    loose = LooseTable(
        Vocabulary(["a", "b"]), nothing, one, one, nothing, ("weights",), frequencies[:1], frequencies, np.array([0.5])
    )
    table = pack(loose)
    assert table.score_texts(["a b", ""], TOKENIZERS["words"])[0].tolist() == [[0.5], [0.5]]
    assert table.native.score_texts(["a b", ""], TOKENIZERS["words"])[0].tolist() == [[0.5], [0.5]]


@given(
    rows=st.lists(st.dictionaries(st.integers(0, 5), st.integers(1, 10**6)), min_size=1, max_size=5),
    n_divisors=st.integers(1, 3),
    n_outputs=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_any_packed_table_scores_as_the_formula_says(
    rows: list[dict[int, int]], n_divisors: int, n_outputs: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    columns = sorted(itertools.product(range(n_outputs), range(n_divisors)), key=lambda _: random.uniform())
    outputs, divisors = np.array([column[0] for column in columns]), np.array([column[1] for column in columns])
    scores = random.normal(size=(6, len(columns))).astype(np.float32) * (random.uniform(size=(6, len(columns))) < 0.5)
    weights = random.uniform(size=(6, n_divisors)).astype(np.float32) * (random.uniform(size=(6, n_divisors)) < 0.5)
    averagings = [random.choice(list(AVERAGINGS)) for _ in range(n_divisors)]
    intercepts = random.normal(size=n_outputs)
    vocabulary = Vocabulary(list("abcdef"))
    loose = LooseTable(
        vocabulary, sp.csr_array(scores), outputs, divisors, sp.csr_array(weights), tuple(averagings),
        np.zeros(n_divisors, np.float32), random.uniform(size=6).astype(np.float32), intercepts,
    )  # fmt: skip
    table = pack(loose)
    counts = np.array([[row.get(word, 0) for word in range(6)] for row in rows])
    lengths = counts.sum(axis=1) + 1
    expected = np.tile(intercepts, (len(rows), 1))
    for document, (number, (output, divisor)) in itertools.product(range(len(rows)), enumerate(columns)):
        numbers = counts[document]
        sublinear = np.where(numbers > 0, 1 + np.log(np.maximum(numbers, 1)), 0)
        total, sums = {
            "weights": (numbers @ weights[:, divisor], numbers @ scores[:, number]),
            "length": (lengths[document], numbers @ scores[:, number]),
            "sum": (1, numbers @ scores[:, number]),
            "unit": (np.sqrt(sublinear**2 @ weights[:, divisor]), sublinear @ scores[:, number]),
        }[averagings[divisor]]
        if total > 0:
            expected[document, output] += sums / total
    documents = table.recount(CountedDocuments(vocabulary, sp.csr_array(counts), lengths))
    near = {"rtol": 1e-6, "atol": 1e-6 * max(1, abs(expected).max())}
    np.testing.assert_allclose(table.decision(documents), expected, **near)
    np.testing.assert_allclose(table.native.score_counted(documents), expected, **near)


def test_more_divisors_than_can_be_numbered_are_refused() -> None:
    n_groups = packing.MOST_GROUPS + 1
    numbers: Any = np.arange(n_groups)
    scores = sp.csr_array((np.ones(1, np.float32), ([0], [n_groups - 1])), (2, n_groups))
    frequencies = np.ones(2, np.float32)
    loose = LooseTable(
        Vocabulary(["a", "b"]), scores, numbers, numbers, scores, ("weights",) * n_groups,
        np.ones(n_groups, np.float32), frequencies, np.zeros(n_groups),
    )  # fmt: skip
    with pytest.raises(InputError, match="found 65,537 divisors.*expected at most 65,536"):
        pack(loose)


def test_many_divisors_take_no_room_where_terms_do_not_add_to_them() -> None:
    n_terms, n_groups = 20_000, 3_000
    random = np.random.default_rng(0)
    terms, groups = np.arange(n_terms), random.integers(n_groups, size=n_terms)
    values = random.uniform(0.5, 1, n_terms).astype(np.float32)
    matrix = sp.csr_array((values, (terms, groups)), (n_terms, n_groups))
    numbers: Any = np.arange(n_groups)
    loose = LooseTable(
        Vocabulary([f"w{number}" for number in range(n_terms)]), matrix, numbers, numbers, matrix,
        ("weights",) * n_groups, np.ones(n_groups, np.float32), np.ones(n_terms, np.float32), np.zeros(n_groups),
    )  # fmt: skip
    tracemalloc.start()
    try:
        table = pack(loose)
        round_table(table, at_least=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n_terms * n_groups / 4  # a byte for each term and group would be four times that
    assert table.entries.groups.tolist() == groups.tolist()
    np.testing.assert_array_equal(table.entries.weights, values)
    np.testing.assert_array_equal(table.entries.values.reshape(-1, 2)[:, 1], values)


def test_chunks_of_any_size_make_the_same_table(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    scores = random.normal(size=(8, 12)).astype(np.float32) * (random.uniform(size=(8, 12)) < 0.2)
    weights = random.uniform(size=(8, 4)).astype(np.float32) * (random.uniform(size=(8, 4)) < 0.3)
    vocabulary = Vocabulary(list("abcde"), np.array([[0, 1], [2, 2], [4, 0]], np.int32))
    loose = LooseTable(
        vocabulary, sp.csr_array(scores), np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3), sp.csr_array(weights),
        ("weights",) * 4, np.ones(4, np.float32), random.uniform(size=8).astype(np.float32), np.zeros(3),
    )  # fmt: skip
    whole = pack(loose)
    assert len(whole.words.groups)
    assert len(whole.entries.groups)
    for size in (0, 1, 5):
        monkeypatch.setattr(packing, "CHUNK", size)
        found = pack(loose)
        for name in ("words", "bigrams", "entries"):
            for one, other in zip(getattr(found, name), getattr(whole, name), strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("preset", ["fast", "best", "paper"])
@pytest.mark.parametrize("rounded", [False, True])
def test_a_table_is_loosened_and_packed_as_it_was(preset: str, rounded: bool) -> None:
    corpus = random_corpus(60)
    given = {} if preset == "fast" else {"embeddings": random_vectors(corpus)}
    model = TfcrClassifier.from_preset(preset, random_state=0, **given).set_params(tokenizer="words")
    table = model.fit(corpus.texts, corpus.labels).table_
    table = round_table(table, 0) if rounded else table
    texts = [*corpus.texts, "common1 common2 unseen"]
    again = pack(loosen(table)).score_texts(texts, TOKENIZERS["words"]).scores
    np.testing.assert_allclose(again, table.score_texts(texts, TOKENIZERS["words"]).scores, rtol=1e-4, atol=1e-5)
