"""Counting by compiled code against the plain path: the same words, order and counts, whatever the text."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tfcr import Embeddings
from tfcr.embeddings import store
from tfcr.system.packed_strings import encode_words
from tfcr.text import native_counts
from tfcr.text.documents import count_terms
from tfcr.text.lexicon import Lexicon
from tfcr.text.native_counts import Bigrams, ByteCounter, TermMerger, count_bytes, number_tokens
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.text.vocabulary import Vocabulary

NAMES = [name for name, tokenizer in TOKENIZERS.items() if tokenizer.table]
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.text("aB_9é\u0301\u200dΣİ한,.'- \n\u2028😀\udc80", max_size=40),
        st.text("aé9, \u0301\u200b中々か\u3099ーｶﾞ𠀀กิ๑ខ្ម\u0f0bབ⼀한", max_size=40),
    ),
    max_size=8,
)


WORDS = st.sampled_from(["a", "b", "c", "dd", "é", "!", "?!", "中", "が"])  # few, so that bigrams occur twice


@pytest.fixture(autouse=True, params=[0, native_counts.FEW_TEXTS], ids=["compiled", "plain"])
def prepared_by(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let compiled code, or Python, lower-case and normalise a few texts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_counts, "FEW_TEXTS", request.param)
        yield


TEXTS_OF_FEW_WORDS = st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=8)


def check(name: str, texts: list[str], vocabulary: list[str] | None, threads: int) -> None:
    words, matrix, lengths = count_bytes(texts, TOKENIZERS[name], vocabulary, threads)
    plain = count_terms(texts, name, None if vocabulary is None else Vocabulary(vocabulary))
    assert list(words) == list(plain.vocabulary.words)
    assert matrix.shape == plain.matrix.shape
    assert abs(matrix - plain.matrix).sum() == 0
    np.testing.assert_array_equal(lengths, plain.lengths)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threads", [1, 3])
@given(texts=TEXTS)
def test_counts_are_those_of_the_plain_path(name: str, threads: int, texts: list[str]) -> None:
    check(name, texts, None, threads)


@pytest.mark.parametrize("name", NAMES)
@given(texts=TEXTS, vocabulary=st.lists(st.text(max_size=4), unique=True, max_size=10))
def test_a_given_vocabulary_keeps_its_order(name: str, texts: list[str], vocabulary: list[str]) -> None:
    check(name, texts, vocabulary, 2)


def test_many_words_in_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_counts, "BATCH_CHARACTERS", 10_000)
    random = np.random.default_rng(0)
    texts = [" ".join(f"w{number}" for number in random.integers(0, 200_000, 50)) for _ in range(5_000)]
    check("words", texts, None, 2)


def test_huge_counts_and_one_endless_word() -> None:
    check("words", ["a " * 300_000, "b" * 1_000_000, ""], None, 1)


def test_large_texts_take_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []

    def spy(*given: Any) -> Any:
        called.append(1)
        return count_bytes(*given)

    monkeypatch.setattr(native_counts, "count_bytes", spy)
    count_terms(["word " * 300_000])
    count_terms(["word"])
    count_terms(["word " * 300_000], str.split)
    assert len(called) == 1


@given(TEXTS_OF_FEW_WORDS, st.integers(1, 2))
def test_compiled_code_finds_the_same_words(texts: list[str], threads: int) -> None:
    words, numbers, lengths = number_tokens(texts, TOKENIZERS["symbols"], threads)
    documents = [TOKENIZERS["symbols"](text) for text in texts]
    assert list(words) == sorted(set().union(*documents))
    assert [words[number] for number in numbers] == [token for tokens in documents for token in tokens]
    assert lengths.tolist() == list(map(len, documents))


@given(TEXTS_OF_FEW_WORDS, TEXTS_OF_FEW_WORDS)
def test_compiled_code_finds_the_same_terms(texts: list[str], others: list[str]) -> None:
    symbols = TOKENIZERS["symbols"]
    known = count_terms(texts, symbols, bigrams=True).vocabulary
    plain = count_terms(others, symbols, known)
    counter = ByteCounter(symbols, Lexicon.of(known.words), merging=False, keeping=True)
    bigrams = Bigrams.of(known, symbols)
    assert bigrams.lexicon is known.bigram_lexicon  # a stored one is not made again
    merger = TermMerger(bigrams)
    for _ in range(2):  # a second batch is counted as the first one is
        for batch in counter.count(others):
            merged = merger.merge(batch)
            matrix = sp.csr_array((merged.counts, merged.words, merged.starts), plain.matrix.shape)
            np.testing.assert_array_equal(matrix.toarray(), plain.matrix.toarray())
            assert batch.lengths.tolist() == plain.lengths.tolist()


def test_many_tokens_are_numbered_by_compiled_code_as_by_plain_code(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["so good!", "so good so", "x so, good y"] * 3
    plain = count_terms(texts, "symbols", bigrams=True)
    monkeypatch.setattr("tfcr.text.documents.MIN_NATIVE_CHARACTERS", 0)
    fast = count_terms(texts, "symbols", bigrams=True)
    assert fast.vocabulary.names == plain.vocabulary.names
    np.testing.assert_array_equal(fast.matrix.toarray(), plain.matrix.toarray())


def test_longer_documents_of_nothing_but_symbols_and_letters_fit() -> None:
    counter = ByteCounter(TOKENIZERS["symbols"], None)
    for size in (20_000, 39_000, 200_000):
        batch = counter.count_bytes(np.frombuffer(b"a." * size, np.uint8), np.array([0, 2 * size]))
        assert batch.lengths.tolist() == [2 * size]
        assert batch.counts.tolist() == [size, size]
        assert len(counter.sizes) >= 2 * size


@given(
    listed=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12), unique=True),
    asked=st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=8),
    data=st.data(),
)
def test_words_are_found_in_a_list_of_bytes(listed: list[str], asked: list[str], data: st.DataObject) -> None:
    known = data.draw(st.lists(st.sampled_from(listed), unique=True)) if listed else []
    words = list(dict.fromkeys([*asked, *known]))
    text, offsets = encode_words(listed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_counts, "BATCH_WORDS", 3)
        found = native_counts.find_words(words, text, offsets)
    assert found.tolist() == [listed.index(word) if word in listed else -1 for word in words]


def test_large_vector_files_are_looked_through_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"w{number}" for number in range(2000)]
    vectors = Embeddings.from_arrays(words, np.eye(2000, 3))
    plain = vectors.rows(["w7", "none", "w1999", "w0"])
    monkeypatch.setattr(store, "MANY_WORDS", 1000)
    large = Embeddings.from_arrays(words, np.eye(2000, 3))
    for _ in range(2):
        assert large.rows(["w7", "none", "w1999", "w0"]).tolist() == plain.tolist() == [7, -1, 1999, 0]
    assert large.rows(["w3"]).tolist() == [3]
    assert "_row_of" not in large.__dict__
