"""The word table by hand, against the features it stands for, and in chunks."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from tests.features.scoring import score_blocks
from tests.trained.tables import column_groups, matrices_of
from tfcr.errors import InputError
from tfcr.features.blocks import AVERAGINGS, BLOCKS, Block, make_blocks
from tfcr.heads.base import FittedHead
from tfcr.text.documents import CountedDocuments, count_terms
from tfcr.text.terms import Batch
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained import word_table
from tfcr.trained.collapse import collapse
from tfcr.trained.packing import LooseTable, pack
from tfcr.trained.word_table import Rows, WordTable, batch_of


def sparse(rows: Any) -> sp.csr_array:
    return sp.csr_array(np.array(rows, np.float32))


@pytest.fixture
def loose() -> LooseTable:
    """Return the worked example of the docstring, with a second output that divides by the length."""
    return LooseTable(
        vocabulary=Vocabulary(["film", "good"]),
        scores=sparse([[0.1, 0.5, -1], [0.6, 0, 0]]),
        outputs=np.array([0, 0, 1]),
        divisors=np.array([0, 1, 2]),
        divisor_weights=sparse([[1, 1, 0], [2, 0, 0]]),
        averagings=("weights", "weights", "length"),
        typical=np.array([4, 0.5, 10], np.float32),
        frequencies=np.array([0.25, 4], np.float32),
        intercepts=np.array([0.25, 2.0]),
    )


@pytest.fixture
def table(loose: LooseTable) -> WordTable:
    return pack(loose)


def decide(table: WordTable, documents: CountedDocuments) -> NDArray[np.float64]:
    return table.decision(table.recount(documents))


def contributions(table: WordTable, document: CountedDocuments) -> dict[str, list[float]]:
    """Return what each term of a document adds, by its name."""
    batch = batch_of(table.recount(document))
    found = table.contributions(batch, table.unseen_rows([]))
    assert found.dtype == np.float64
    return {table.vocabulary.name(term): row for term, row in zip(batch.words.tolist(), found.tolist(), strict=True)}


def counted(rows: Any, lengths: Any, words: str = "film good") -> CountedDocuments:
    matrix = sp.csr_array(np.array(rows, np.int32))
    return CountedDocuments(Vocabulary(words.split()), matrix, np.array(lengths))


def test_contributions_of_several_documents_are_those_of_each(table: WordTable) -> None:
    documents = counted([[1, 2], [0, 0], [0, 1], [3, 0]], [3, 4, 1, 5])
    found = table.contributions(batch_of(documents), table.unseen_rows([]))
    alone = [table.contributions(batch_of(documents.rows(np.array([row]))), table.unseen_rows([])) for row in range(4)]
    np.testing.assert_allclose(found, np.concatenate(alone))
    sums = np.array([part.sum(axis=0) for part in alone]) + table.intercepts
    np.testing.assert_allclose(sums, table.decision(documents))


def test_scores_of_the_worked_example(table: WordTable) -> None:
    """Three documents: good good film; nothing known; good alone, so that the second divisor is 0."""
    expected = [[0.25 + 1.3 / 5 + 0.5, 2 - 1 / 4], [0.25, 2], [0.25 + 0.6 / 2, 2]]
    found = decide(table, counted([[1, 2], [0, 0], [0, 1]], [4, 7, 1]))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    texts = ["Good, good film indeed", "x", "good"]
    scores, unknown = table.score_texts(texts, TOKENIZERS["words"])
    np.testing.assert_allclose(scores, expected, rtol=1e-6)
    np.testing.assert_allclose(unknown, [1 / 4, 1, 0])


def test_chunks_and_compiled_code_give_the_same_scores(table: WordTable, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    documents = counted(random.integers(0, 3, (7, 2)), random.integers(6, 9, 7))
    expected = decide(table, documents)
    sizes: list[int] = []
    compute_sums = WordTable._sums

    def counted_sums(table: WordTable, batch: Batch, unseen: Rows) -> Any:
        sizes.append(len(batch.lengths))
        return compute_sums(table, batch, unseen)

    monkeypatch.setattr(WordTable, "_sums", counted_sums)
    monkeypatch.setattr(word_table, "CHUNK_BYTES", 16 * 3 * 2)  # two documents at a time
    np.testing.assert_allclose(decide(table, documents), expected, rtol=1e-12)
    assert sizes == [2, 2, 2, 1]
    sizes.clear()
    monkeypatch.setattr(word_table, "CHUNK_BYTES", 1)  # one is the least
    np.testing.assert_allclose(decide(table, documents), expected, rtol=1e-12)
    assert sizes == [1] * 7
    sizes.clear()
    monkeypatch.undo()
    monkeypatch.setattr(WordTable, "_sums", counted_sums)
    monkeypatch.setattr(word_table, "CHUNK_ENTRIES", 3)  # counts, of which a document has up to two
    np.testing.assert_allclose(decide(table, documents), expected, rtol=1e-12)
    assert sum(sizes) == 7
    assert 1 < len(sizes) < 7
    monkeypatch.setattr(word_table, "MIN_NATIVE_ENTRIES", 1)
    np.testing.assert_allclose(decide(table, documents), expected, rtol=1e-6)
    assert "_native" in table.__dict__
    assert "_native" not in replace(table).__dict__


def test_large_texts_are_scored_by_compiled_code(table: WordTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfcr.text.documents.MIN_NATIVE_CHARACTERS", 1)
    scores, unknown = table.score_texts(["good film word " * 2, "good"], TOKENIZERS["words"])
    assert "_native" in table.__dict__
    np.testing.assert_allclose(scores, [[0.25 + 0.7 / 3 + 0.5, 2 - 1 / 3], [0.25 + 0.6 / 2, 2]], rtol=1e-6)
    np.testing.assert_allclose(unknown, [1 / 3, 0], rtol=1e-6)
    with pytest.raises(InputError, match="found a single string"):
        table.score_texts("good", TOKENIZERS["words"])


def test_contributions_are_worked_by_hand(table: WordTable) -> None:
    found = contributions(table, counted([[1, 2]], [4]))
    np.testing.assert_allclose(found["film"], [0.1 / 5 + 0.5, -1 / 4], rtol=1e-6)
    np.testing.assert_allclose(found["good"], [1.2 / 5, 0], rtol=1e-6)
    dirty = [np.full((1, 3), 7.0) for _ in range(50)]
    del dirty
    found = contributions(table, counted([[0, 1]], [1]))  # the second divisor is 0, whatever the memory held
    assert list(found) == ["good"]
    np.testing.assert_allclose(found["good"], [0.6 / 2, 0], rtol=1e-6)


def test_influence_is_one_occurrence_in_a_typical_document_times_the_root_of_the_frequency(table: WordTable) -> None:
    assert list(table.vocabulary.words) == ["good", "film"]  # common ones first
    expected = [[0.6 / 4 * 2, 0], [(0.1 / 4 + 0.5 / 0.5) * 0.5, -1 / 10 * 0.5]]
    np.testing.assert_allclose(table.influences(), expected, rtol=1e-6)
    never = replace(table, typical=np.array([4, 0, 10], np.float32))  # no training document had that divisor
    np.testing.assert_allclose(never.influences()[1], [(0.1 / 4 + 0.5) * 0.5, -0.05], rtol=1e-6)


def test_counts_enter_sublinearly_where_the_averaging_says_so(loose: LooseTable) -> None:
    mixed = pack(replace(loose, averagings=("weights", "unit", "sum"), divisor_weights=sparse([[1, 4, 0], [2, 1, 0]])))
    film, good = 1 + np.log(3), 1.0  # the L2 norm is the root of film² · 4 + good² · 1
    norm = np.sqrt(film**2 * 4 + good**2)
    expected = [0.25 + (3 * 0.1 + 0.6) / 5 + film * 0.5 / norm, 2 - 3]
    np.testing.assert_allclose(decide(mixed, counted([[3, 1]], [9])), [expected], rtol=1e-6)
    found = contributions(mixed, counted([[3, 1]], [9]))
    np.testing.assert_allclose(np.sum(list(found.values()), axis=0) + mixed.intercepts, expected, rtol=1e-6)
    np.testing.assert_allclose(found["film"], [3 * 0.1 / 5 + film * 0.5 / norm, -3], rtol=1e-6)


def test_what_can_be_derived_is_not_pickled(table: WordTable) -> None:
    small = len(pickle.dumps(table))
    decide(table, counted([[1, 2]], [4]))
    assert table.native is table.native
    assert len(pickle.dumps(table)) == small
    again = pickle.loads(pickle.dumps(table))
    assert set(again.__dict__) == set(replace(table).__dict__)
    np.testing.assert_array_equal(again.influences(), table.influences())


# collapsing a fitted head ------------------------------------------------------------------------------------------


def fitted_head(n_columns: int, n_outputs: int, blocks: list[Block], seed: int = 0) -> FittedHead:
    """Return a head with random coefficients, 0 where an output does not see a column."""
    random = np.random.default_rng(seed)
    coefficients = random.normal(size=(n_columns, n_outputs))
    start = 0
    for block in blocks:
        if block.output is not None:
            coefficients[start : start + block.dimensions, np.arange(n_outputs) != block.output] = 0
        start += block.dimensions
    return FittedHead(coefficients, random.normal(size=n_outputs), random.normal(size=n_columns), "softmax")


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("with_vectors", [True, False])
def test_the_table_scores_as_the_blocks_do(kind: str, averaging: str, n_classes: int, with_vectors: bool) -> None:
    random = np.random.default_rng(1)
    counts = random.integers(0, 3, (8, 5))
    counts[0] = 0
    documents = counted(counts, counts.sum(axis=1) + 1, "a b c d e")
    weights = random.uniform(size=(5, n_classes)).astype(np.float32)
    weights[random.uniform(size=weights.shape) < 0.4] = 0
    vectors = random.normal(size=(5, 4)).astype(np.float32) if with_vectors else None
    names = [f"c{number}" for number in range(n_classes)]
    blocks = make_blocks(kind, weights, vectors, names, averaging, np.ones(5, np.bool_))
    n_columns = sum(block.dimensions for block in blocks)
    fitted = fitted_head(n_columns, 1 if n_classes < 3 else 3, blocks)
    table = collapse(documents, np.ones(8), blocks, fitted)
    expected = score_blocks(documents, blocks, fitted)
    np.testing.assert_allclose(decide(table, documents), expected, rtol=1e-4, atol=1e-4)
    assert table.words.values.dtype == table.entries.weights.dtype == np.float32


def two_blocks(averaging: str) -> tuple[list[Block], FittedHead]:
    weights = np.array([1, 2], np.float32)
    vectors = np.array([[1, 0], [0, 1]], np.float32)
    blocks = [
        Block("both", weights, vectors, averaging),
        Block("same weights", weights, np.array([[3], [4]], np.float32), averaging, output=1),
    ]
    coefficients = np.array([[1.0, 10.0], [2.0, 20.0], [0.0, 100.0]])
    return blocks, FittedHead(coefficients, np.array([0.5, 0.25]), np.array([0.1, 0.2, 0.3]), "sigmoid")


def test_an_average_by_weights_is_centred_in_the_table() -> None:
    blocks, fitted = two_blocks("weights")
    documents = counted([[1, 0], [3, 1]], [1, 5], "a b")
    table = collapse(documents, np.array([1.0, 3.0]), blocks, fitted)
    assert table.intercepts.tolist() == [0.5, 0.25]
    assert table.outputs.tolist() == [0, 1]  # the second block adds to a column that is there
    assert column_groups(table).tolist() == [0, 0]  # and has the same divisor
    assert table.averagings == ("weights",)
    assert matrices_of(table).divisor_weights.toarray().tolist() == [[1], [2]]
    # a: 1 · (1 - .5), and 1 · (10 - 5) + 1 · (300 - 30); b: 2 · (2 - .5), and 2 · (20 - 5) + 2 · (400 - 30)
    np.testing.assert_allclose(matrices_of(table).scores.toarray(), [[0.5, 275.0], [3.0, 770.0]], rtol=1e-6)
    np.testing.assert_allclose(table.typical, [(1 * 1 + 3 * 5) / 4])
    assert table.typical.dtype == table.deviations.dtype == np.float32
    np.testing.assert_allclose(table.deviations, np.sqrt([(1 * 1 + 3 * 3) / 4, 3 / 4]))
    assert list(table.vocabulary.words) == ["a", "b"]


def test_a_sum_is_centred_in_the_intercept() -> None:
    blocks, fitted = two_blocks("sum")
    table = collapse(counted([[1, 0], [3, 1]], [1, 5], "a b"), np.ones(2), blocks, fitted)
    np.testing.assert_allclose(table.intercepts, [0.5 - 0.5, 0.25 - 5 - 30])
    np.testing.assert_allclose(matrices_of(table).scores.toarray(), [[1, 310], [4, 840]], rtol=1e-6)
    assert fitted.intercepts.tolist() == [0.5, 0.25]
    assert table.typical.tolist() == [1]


def test_blocks_of_other_weights_have_divisors_of_their_own() -> None:
    one, two = np.array([1, 2], np.float32), np.array([5, 0], np.float32)
    identity: NDArray[np.float32] = np.eye(2, dtype=np.float32)
    documents = counted([[1, 1]], [3], "a b")

    def divisors(averaging: str) -> list[list[float]]:
        blocks = [Block("one", one, identity, averaging), Block("two", two, identity, averaging)]
        fitted = FittedHead(np.ones((4, 1)), np.zeros(1), np.zeros(4), "sigmoid")
        table = collapse(documents, np.ones(1), blocks, fitted)
        assert column_groups(table).tolist() == list(range(matrices_of(table).divisor_weights.shape[1]))
        rows: list[list[float]] = matrices_of(table).divisor_weights.toarray().tolist()
        return rows

    assert divisors("weights") == [[1, 5], [2, 0]]
    assert divisors("unit") == [[1, 25], [4, 0]]
    assert divisors("length") == [[1], [2]]  # the length is the same whatever the weights


def test_outputs_that_do_not_see_a_block_have_no_column_of_it() -> None:
    names, vectors = ["x", "y", "z"], np.eye(2, dtype=np.float32)
    blocks = make_blocks("own", np.ones((2, 3), np.float32), vectors, names, "sum", np.ones(2, np.bool_))
    blocks = [replace(block, averaging="weights") for block in blocks]  # each with a divisor of its own
    table = collapse(counted([[1, 1]], [2]), np.ones(1), blocks, fitted_head(11, 3, blocks))
    own, mean, mass = [(0, 0), (1, 1), (2, 2)], [(0, 3), (1, 3), (2, 3)], [(0, 4), (1, 4), (2, 4)]
    assert list(zip(table.outputs.tolist(), column_groups(table).tolist(), strict=True)) == own + mean + mass


def test_a_table_knows_bigrams_of_its_vocabulary() -> None:
    documents = count_terms(["so good", "so good", "so bad"], bigrams=True)
    weights = np.ones(len(documents.vocabulary), np.float32)
    fitted = FittedHead(np.arange(len(weights), dtype=float)[:, None], np.zeros(1), np.zeros(len(weights)), "sigmoid")
    table = collapse(documents, np.ones(3), [Block("(words)", weights, None, "sum")], fitted)
    numbers = {name: number for number, name in enumerate(documents.vocabulary.names)}
    scores, _ = table.score_texts(["so good"], TOKENIZERS["words"])
    assert scores[0, 0] == numbers["so"] + numbers["good"] + numbers["so good"]


# what is passed on -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("native", [False, True])
def test_texts_are_split_by_the_tokenizer_given(
    table: WordTable, native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfcr.text.documents.MIN_NATIVE_CHARACTERS", 1 if native else 10**9)
    texts = ["Good good-film", "good"]
    by_words, _ = table.score_texts(texts, TOKENIZERS["words"])
    by_spaces, unknown = table.score_texts(texts, TOKENIZERS["whitespace"])  # which keeps capitals and hyphens
    assert ("_native" in table.__dict__) == native
    np.testing.assert_allclose(by_words[0], [0.25 + 1.3 / 5 + 0.5, 2 - 1 / 3], rtol=1e-6)
    np.testing.assert_allclose(by_spaces, [[0.25, 2], [0.25 + 0.6 / 2, 2]], rtol=1e-6)
    assert unknown.tolist() == [1, 0]


def test_many_counts_are_scored_by_compiled_code_on_the_threads_given(
    table: WordTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = table.recount(counted([[1, 2], [0, 1]], [3, 1]))  # three counts
    asked: list[Any] = []

    class Native:
        def score_counted(self, *given: Any) -> Any:
            asked.append(given)
            return np.zeros((2, 2))

    table.__dict__["_native"] = Native()
    monkeypatch.setattr(word_table, "MIN_NATIVE_ENTRIES", 4)
    assert table.decision(documents, 7).any()
    assert asked == []
    monkeypatch.setattr(word_table, "MIN_NATIVE_ENTRIES", 3)
    assert not table.decision(documents, 7).any()
    assert asked == [(documents, 7)]


def test_a_column_whose_divisor_is_zero_adds_nothing_whatever_the_memory_held(
    table: WordTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What numpy leaves out of a division keeps what was there before."""
    divide = np.divide

    def into_dirty_memory(sums: Any, divisors: Any, out: Any = None, **rest: Any) -> Any:
        return divide(sums, divisors, out=np.full_like(sums, 7) if out is None else out, **rest)

    monkeypatch.setattr(np, "divide", into_dirty_memory)
    np.testing.assert_allclose(decide(table, counted([[0, 0]], [7])), [[0.25, 2]], rtol=1e-6)
    found = contributions(table, counted([[0, 1]], [1]))
    np.testing.assert_allclose(found["good"], [0.6 / 2, 0], rtol=1e-6)
