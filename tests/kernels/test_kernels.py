"""Compiled code against the plain path: the same words, order and counts, whatever the text."""

import csv
import io
import itertools
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr import Embeddings
from tfcr.embeddings import store
from tfcr.features import blocks
from tfcr.features.blocks import AVERAGINGS, BLOCKS, document_vectors, make_blocks
from tfcr.kernels.actions import ALONE, END, KEEP, MORE, SKIP, SYMBOL
from tfcr.system.native import descend_once, last_row_end
from tfcr.system.packed_strings import encode_words
from tfcr.text import native_counts as bytecounts
from tfcr.text.documents import CountedDocuments, count_terms
from tfcr.text.native_counts import count_bytes
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.packed_table import pack
from tfcr.trained.word_table import WordTable

NAMES = [name for name, tokenizer in TOKENIZERS.items() if tokenizer.table]
TEXTS = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.text("aB_9é\u0301\u200dΣİ한,.'- \n\u2028😀\udc80", max_size=40),
        st.text("aé9, \u0301\u200b中々か\u3099ーｶﾞ𠀀กิ๑ខ្ម\u0f0bབ⼀한", max_size=40),
    ),
    max_size=8,
)


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


@pytest.mark.parametrize("name", NAMES)
def test_every_character_is_treated_as_by_the_plain_path(name: str) -> None:
    texts = [f"a{chr(code)}b{chr(code)}" for code in range(0x3000)] + [f"x{chr(c)}y" for c in range(0x3000, 0x30000, 7)]
    check(name, texts, None, 2)
    check(name, [f"中{chr(code)}文,{chr(code)}" for code in range(0x20100) if not 0x3500 < code < 0xFA00], None, 2)


def test_many_words_in_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecounts, "BATCH_CHARACTERS", 10_000)
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

    monkeypatch.setattr(bytecounts, "count_bytes", spy)
    count_terms(["word " * 300_000])
    count_terms(["word"])
    count_terms(["word " * 300_000], str.split)
    assert len(called) == 1


def test_the_kernel_and_the_tables_mean_the_same() -> None:
    actions = TOKENIZERS["words"].actions()
    assert [actions[ord(c)] for c in ("a", "_", " ", "\u0301")] == [KEEP, KEEP, END, MORE]
    assert TOKENIZERS["paper"].actions()[ord("_")] == SKIP
    actions = TOKENIZERS["symbols"].actions()
    assert [actions[ord(c)] for c in ("a", "!", "中", "\u3099", "\u200b")] == [KEEP, SYMBOL, ALONE, MORE, END]


def test_compiled_code_is_kept_for_its_user_alone(tmp_path: Path) -> None:
    code = "from tfcr.text.documents import count_terms; count_terms(['word ' * 300_000])"
    environment = {**os.environ, "TFCR_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    folder = tmp_path / "kernels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbc"))


def test_a_machine_without_a_cache_works(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    code = "from tfcr.text.documents import count_terms; print(count_terms(['word ' * 300_000]).matrix.sum())"
    environment = {**os.environ, "TFCR_CACHE": str(tmp_path / "file")}
    result = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True)
    assert result.stdout == "300000\n"


# document vectors ----------------------------------------------------------------------------------------------------

COUNTS = st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=6)


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("threads", [1, 3])
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


# rows ----------------------------------------------------------------------------------------------------------------


@given(text=st.text('ab",;\n', max_size=40), quoting=st.booleans())
def test_a_file_is_cut_where_a_row_ends(text: str, quoting: bool) -> None:
    def rows(part: str) -> list[list[str]]:
        how: Any = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
        return list(csv.reader(io.StringIO(part, newline=""), quoting=how))

    content = np.frombuffer(text.encode(), np.uint8)
    for kernel in (last_row_end, last_row_end.py_func):  # type: ignore[attr-defined]
        end = kernel(content, ord(","), quoting)
        assert rows(text[:end]) + rows(text[end:]) == rows(text)
        assert end > 0 or "\n" not in text or '"' in text


# scores --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("n_classes", [2, 3, 9])
@pytest.mark.parametrize("threads", [1, 3])
def test_scores_from_bytes_are_those_of_counted_documents(
    kind: str, averaging: str, n_classes: int, threads: int
) -> None:
    corpus = random_corpus(n_classes=n_classes)
    model = plain_classifier(embeddings=random_vectors(corpus), blocks=kind, averaging=averaging, head="ridge")
    table = model.fit(corpus.texts, corpus.labels).table_
    texts = [*corpus.texts, "", "unknown only", "w0_1 " * 5000, "Common1, w1_1 ümläut\u0301 w1_1"]
    counted = count_terms(texts, vocabulary=table.vocabulary)
    expected = table.decision(counted)
    tolerance = 1e-4 * max(1, abs(expected).max())
    fast, unknown = table._packed.score_texts(texts, TOKENIZERS["words"], threads)
    np.testing.assert_allclose(fast, expected, rtol=1e-4, atol=tolerance)
    np.testing.assert_allclose(unknown, counted.unknown_fractions())
    np.testing.assert_allclose(table._packed.score_counted(counted, threads), expected, rtol=1e-4, atol=tolerance)


def test_long_documents_lose_no_digits() -> None:
    corpus = random_corpus(n_classes=3)
    table = plain_classifier(embeddings=random_vectors(corpus)).fit(corpus.texts, corpus.labels).table_
    short = "w0_1 w1_2 common1 w2_3 common2 "
    expected = table.decision(count_terms([short], vocabulary=table.vocabulary))
    scores, _ = table._packed.score_texts([short * 400_000], TOKENIZERS["words"])
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)  # the average of a text and of its copies


def test_a_table_without_values_packs() -> None:
    nothing: Any = sp.csr_array((2, 1), dtype=np.float32)
    one = np.zeros(1, np.int64)
    frequencies = np.ones(2, np.float32)
    table = WordTable(
        Vocabulary(["a", "b"]), nothing, one, one, nothing, ("weights",), frequencies[:1], frequencies, np.array([0.5])
    )
    packed = pack(table)
    assert packed.score_texts(["a b", ""], TOKENIZERS["words"])[0].tolist() == [[0.5], [0.5]]


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
    pairs = sorted(itertools.product(range(n_outputs), range(n_divisors)), key=lambda _: random.uniform())
    outputs, divisors = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    scores = random.normal(size=(6, len(pairs))) * (random.uniform(size=(6, len(pairs))) < 0.5)
    masses = random.uniform(size=(6, n_divisors)) * (random.uniform(size=(6, n_divisors)) < 0.5)
    averagings = [random.choice(list(AVERAGINGS)) for _ in range(n_divisors)]
    intercepts = random.normal(size=n_outputs)
    vocabulary = Vocabulary(list("abcdef"))
    table = WordTable(
        vocabulary, sp.csr_array(scores), outputs, divisors, sp.csr_array(masses), tuple(averagings),
        np.zeros(n_divisors, np.float32), random.uniform(size=6).astype(np.float32), intercepts,
    )  # fmt: skip
    packed = pack(table)
    counts = np.array([[row.get(word, 0) for word in range(6)] for row in rows])
    lengths = counts.sum(axis=1) + 1
    expected = np.tile(intercepts, (len(rows), 1))
    for document, (column, (output, divisor)) in itertools.product(range(len(rows)), enumerate(pairs)):
        numbers = counts[document]
        damp = np.where(numbers > 0, 1 + np.log(np.maximum(numbers, 1)), 0)
        total, sums = {
            "weights": (numbers @ masses[:, divisor], numbers @ scores[:, column]),
            "length": (lengths[document], numbers @ scores[:, column]),
            "sum": (1, numbers @ scores[:, column]),
            "unit": (np.sqrt(damp**2 @ masses[:, divisor]), damp @ scores[:, column]),
        }[averagings[divisor]]
        if total > 0:
            expected[document, output] += sums / total
    found = packed.score_counted(CountedDocuments(vocabulary, sp.csr_array(counts), lengths))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * max(1, abs(expected).max()))


# coordinate descent --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [descend_once, descend_once.py_func], ids=["compiled", "plain"])  # type: ignore[attr-defined]
@given(n_documents=st.integers(1, 6), n_columns=st.integers(1, 5), n_outputs=st.integers(1, 4), seed=st.integers(0, 99))
def test_one_pass_of_the_descent_is_that_of_the_formula(
    kernel: Any, n_documents: int, n_columns: int, n_outputs: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_documents, n_columns)).astype(np.float32)
    signs = random.choice([-1, 1], (n_documents, n_outputs)).astype(np.float32)
    inverse = random.uniform(0.01, 10, (n_documents, n_outputs)).astype(np.float32)
    order = random.permutation(n_documents)
    B = np.zeros((n_outputs, n_columns))
    A = np.zeros((n_documents, n_outputs))
    for _ in range(2):  # min over a ≥ 0 of ½ (‖x‖² + inverse) a² + (sign · score - 1) a, one variable at a time
        for i in order:
            for k in range(n_outputs):
                gradient = signs[i, k] * (B[k] @ X[i]) - 1 + A[i, k] * inverse[i, k]
                moved = max(A[i, k] - gradient / (X[i] @ X[i] + inverse[i, k]), 0)
                B[k] += (moved - A[i, k]) * signs[i, k] * X[i]
                A[i, k] = moved
    coefficients = np.zeros((n_outputs, n_columns), np.float32)
    duals = np.zeros((n_documents, n_outputs), np.float32)
    active = np.ones((n_documents, n_outputs), np.bool_)
    limits, worst = np.full(n_outputs, np.inf, np.float32), np.zeros(n_outputs, np.float32)
    lengths = np.einsum("ij,ij->i", X, X)
    cut = n_outputs // 2
    for _ in range(2):
        for first, last in [(0, cut), (cut, n_outputs)]:
            kernel(X, order, first, last, signs, inverse, lengths, coefficients, duals, active, limits, worst)
    np.testing.assert_allclose(duals, A, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(coefficients, B, rtol=1e-3, atol=1e-3)


# lists of words ------------------------------------------------------------------------------------------------------


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
        patch.setattr(bytecounts, "BATCH_WORDS", 3)
        found = bytecounts.find_words(words, text, offsets)
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
