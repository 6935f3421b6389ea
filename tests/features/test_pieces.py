"""Features of shards against the matrix of the same documents in memory."""

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.sparse as sp

from tests.text.test_shards import LABELS, TEXTS, sharded
from tfcr.features.blocks import Block, make_blocks
from tfcr.features.matrix import features_of_views
from tfcr.features.pieces import Layout, TermFeatures, make_layout, whole_piece
from tfcr.schemes import compute_weights
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import CountedDocuments, count_terms
from tfcr.text.shards import Piece

RANDOM = np.random.default_rng(0)
WEIGHTS = np.array([1.0, 2.0, 1.0, 0.5, 1.0, 0.0, 1.0])
DOCUMENTS = count_terms(TEXTS, "symbols", bigrams=True)
THREE = ["a", "b", "c", "a", "b", "c", "a"]


def class_blocks(kind: str, labels: Sequence[str]) -> list[Block]:
    counts = ClassCounts.from_documents(DOCUMENTS, labels)
    vectors = RANDOM.normal(size=(len(counts.words), 3)).astype(np.float32)
    names = [str(label) for label in counts.classes]
    weights = compute_weights("tfcr", counts)
    return make_blocks(kind, weights, vectors, names, "weights", counts.occurs())


def unit_blocks(n_terms: int, *vectors: object) -> list[Block]:
    weights = RANDOM.random(n_terms).astype(np.float32)
    return [Block("", weights, some, "unit") for some in vectors]  # type: ignore[arg-type]


def kinds() -> dict[str, list[Block]]:
    n_terms, n_words = len(DOCUMENTS.vocabulary), DOCUMENTS.vocabulary.n_words
    sparse = sp.csr_array(sp.random_array((n_terms, 5), density=0.4, rng=RANDOM, dtype=np.float32))
    dense = RANDOM.normal(size=(n_words, 4)).astype(np.float32)
    return {
        "words": unit_blocks(n_terms, None),
        "words and n-grams": unit_blocks(n_terms, None, sparse),
        "plain": unit_blocks(n_words, dense),
        "all": class_blocks("all", LABELS),
        "own": class_blocks("own", THREE),
    }


KINDS = kinds()


def documents_of(blocks: Sequence[Block]) -> CountedDocuments:
    return DOCUMENTS if len(blocks[0].weights) == len(DOCUMENTS.vocabulary) else DOCUMENTS.only_words()


@pytest.mark.parametrize("sizes", [(7,), (3, 4), (1,) * 7])
@pytest.mark.parametrize("kind", KINDS)
def test_products_with_shards_are_those_with_the_matrix(kind: str, sizes: Sequence[int]) -> None:
    """For each output: the scores of its view, and the sums over documents, of scaled features."""
    blocks, n_outputs = KINDS[kind], 3 if kind == "own" else 2
    documents = sharded(TEXTS, sizes)
    documents = documents if documents_of(blocks) is DOCUMENTS else documents.only_words()
    layout = make_layout(documents, blocks, WEIGHTS, n_outputs)
    views = [
        [number for number, block in enumerate(blocks) if block.output in (None, output)] for output in range(n_outputs)
    ]
    starts = np.cumsum([0, *(block.dimensions for block in blocks)])
    outputs = np.arange(n_outputs)
    coefficients = RANDOM.normal(size=layout.shape).astype(np.float32)
    if layout.sees is not None:
        coefficients *= layout.sees
    values = RANDOM.normal(size=(7, n_outputs)).astype(np.float32)
    found = [layout.features(piece) for piece in documents.map(lambda piece: piece)]
    scores = np.concatenate([some.times(layout.unscaled(coefficients, outputs)[columns]) for some, columns in found])
    sums = np.zeros(layout.shape, np.float32)
    for (some, columns), rows in zip(found, np.split(np.arange(7), documents.bounds[1:-1]), strict=True):
        sums[columns] += some.transposed_times(values[rows])
    sums = layout.scaled(sums, outputs)
    expected = features_of_views(documents_of(blocks), blocks, views, WEIGHTS, 10**9)
    for output, scaled in enumerate(expected):
        columns = np.concatenate([np.arange(starts[number], starts[number + 1]) for number in views[output]])
        columns = columns if scaled.columns is None else columns[scaled.columns]
        at = np.append(columns, layout.shape[0] - 1)
        assert layout.scales[output] == pytest.approx(scaled.scale, rel=1e-5)
        np.testing.assert_allclose(layout.means[columns], scaled.means, atol=1e-6)
        of_view = coefficients[at, output][:, None]
        np.testing.assert_allclose(scores[:, [output]], scaled.features.times(of_view), atol=1e-4)
        of_values = scaled.features.transposed_times(values[:, [output]])
        np.testing.assert_allclose(sums[at, output], of_values[:, 0], atol=1e-4)


@pytest.mark.parametrize("kind", ["words", "words and n-grams", "plain"])
def test_rows_are_those_that_products_go_through(kind: str) -> None:
    blocks = KINDS[kind]
    n_columns = sum(block.dimensions for block in blocks)
    layout = Layout(blocks, RANDOM.normal(size=n_columns), np.ones(2))
    features, columns = layout.features(whole_piece(documents_of(blocks)))
    assert isinstance(features, TermFeatures)
    matrix = features.take(np.arange(7))
    assert matrix.shape == features.shape == (7, n_columns + 1)
    np.testing.assert_array_equal(columns, np.arange(n_columns + 1))
    some = RANDOM.normal(size=(n_columns + 1, 2)).astype(np.float32)
    np.testing.assert_allclose(features.times(some), matrix @ some, atol=1e-4)
    values = RANDOM.normal(size=(7, 2)).astype(np.float32)
    np.testing.assert_allclose(features.transposed_times(values), matrix.T @ values, atol=1e-4)
    rows = np.array([5, 0])
    np.testing.assert_allclose(features.select(rows).times(some), matrix[rows] @ some, atol=1e-4)


def test_squares_of_words_are_exact() -> None:
    """Of one word per column, nothing is left out."""
    layout = Layout(KINDS["words"], np.zeros(len(DOCUMENTS.vocabulary)), np.ones(1))
    features, _ = layout.features(whole_piece(DOCUMENTS))
    assert isinstance(features, TermFeatures)
    values = RANDOM.random((7, 2)).astype(np.float32)
    matrix = features.take(np.arange(7))
    np.testing.assert_allclose(features.squares_times(values), (matrix * matrix).T @ values, atol=1e-5)


def test_a_piece_without_documents() -> None:
    piece = Piece(sp.csr_array(np.zeros((0, 2), np.int32)), np.zeros(0, np.int64), np.array([0, 1]))
    layout = Layout(KINDS["words"], np.zeros(len(DOCUMENTS.vocabulary)), np.ones(1))
    features, columns = layout.features(piece)
    assert features.times(np.ones((3, 1), np.float32)).shape == (0, 1)
    assert columns.tolist() == [0, 1, len(DOCUMENTS.vocabulary)]


@pytest.mark.parametrize("kind", ["all", "own"])
@pytest.mark.parametrize("rows", [3, 100])
def test_dense_features_are_kept_as_whole_numbers(kind: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is wrong by half a unit at most, and the largest of a column and chunk is 32,767 units."""
    monkeypatch.setattr("tfcr.features.matrix.ROWS", rows)
    monkeypatch.setattr("tfcr.features.pieces.ROWS", rows)
    blocks = KINDS[kind]
    layout = make_layout(sharded(TEXTS, (7,)).only_words(), blocks, WEIGHTS, 3)
    piece = whole_piece(documents_of(blocks))
    kept = layout.prepared(piece)
    assert kept["numbers"].dtype == np.int16
    assert layout.bytes_prepared == kept["numbers"].nbytes // len(TEXTS)
    assert np.abs(kept["numbers"]).max() == 32767
    whole = layout.features(piece).features.take(np.arange(7))
    found = [(rows, some.take(np.arange(some.shape[0]))) for rows, (some, _) in layout.in_chunks(kept)]
    assert len(found) == len(kept["units"]) == (3 if rows == 3 else 1)
    for (at, matrix), units in zip(found, kept["units"], strict=True):
        assert (np.abs(matrix - whole[at]) <= 0.51 * units).all()
    np.testing.assert_allclose(np.concatenate([matrix for _, matrix in found])[:, -1], 1, rtol=1e-6)
