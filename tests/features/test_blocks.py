"""Blocks by hand: the worked example, every averaging, the blocks of `own`, what is empty."""

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import UnknownNameError
from tfcr.features import blocks as module
from tfcr.features.blocks import (
    AVERAGINGS,
    BLOCKS,
    Averaging,
    Block,
    as_floats,
    check_blocks,
    column_names,
    column_starts,
    divide,
    document_vectors,
    empty_blocks,
    is_centred,
    make_blocks,
    squared,
    sublinear_counts,
    weighted_counts,
)
from tfcr.text.documents import CountedDocuments
from tfcr.text.vocabulary import Vocabulary

FILM, GOOD = [0.0, 1.0], [1.0, 0.0]
VECTORS: NDArray[np.float32] = np.array([FILM, GOOD], np.float32)
WEIGHTS: NDArray[np.float32] = np.array([1, 2], np.float32)
LOG2, LOG3 = 1 + np.log(2), 1 + np.log(3)


def counted(rows: list[list[int]], lengths: list[int] | None = None) -> CountedDocuments:
    matrix = sp.csr_array(np.array(rows, np.int32))
    words = [f"w{number}" for number in range(matrix.shape[1])]
    return CountedDocuments(Vocabulary(words), matrix, np.array(lengths or np.array(rows).sum(axis=1)))


EXPECTED: dict[str, list[list[float]]] = {
    # good good film, with a token that is not known; then film film film; then nothing
    "weights": [[4 / 5, 1 / 5], [0, 1], [0, 0]],
    "length": [[4 / 4, 1 / 4], [0, 3 / 3], [0, 0]],
    "sum": [[4, 1], [0, 3], [0, 0]],
    "unit": [[2 * LOG2 / np.hypot(2 * LOG2, 1), 1 / np.hypot(2 * LOG2, 1)], [0, 1], [0, 0]],
}


def test_every_averaging_is_worked_by_hand_here() -> None:
    assert set(EXPECTED) == set(AVERAGINGS)


@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("native", [False, True])
def test_the_worked_example(averaging: str, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MIN_NATIVE_PRODUCTS", 0 if native else 10**9)
    documents = counted([[1, 2], [3, 0], [0, 0]], [4, 3, 5])
    found = document_vectors(documents, [Block("all", WEIGHTS, VECTORS, averaging)])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, EXPECTED[averaging], rtol=1e-6)
    once_more = weighted_counts(documents, Block("all", WEIGHTS, VECTORS, averaging))
    np.testing.assert_allclose((once_more @ VECTORS), EXPECTED[averaging], rtol=1e-6)
    identity = document_vectors(documents, [Block("all", WEIGHTS, None, averaging)])  # one dimension per word
    np.testing.assert_allclose(identity, np.array(EXPECTED[averaging])[:, ::-1], rtol=1e-6)
    sparse = document_vectors(documents, [Block("all", WEIGHTS, sp.csr_array(VECTORS), averaging)])
    np.testing.assert_allclose(sparse, EXPECTED[averaging], rtol=1e-6)


def test_blocks_stand_side_by_side_in_their_order() -> None:
    documents = counted([[1, 2], [3, 0]])
    blocks = [
        Block("one", WEIGHTS, VECTORS, "sum"),
        Block("two", WEIGHTS * 10, VECTORS, "sum"),  # computed together with the first
        Block("three", WEIGHTS, VECTORS, "length"),
        Block("four", WEIGHTS, np.array([[7], [0]], np.float32), "length"),
    ]
    expected = np.array([[4, 1, 40, 10, 4 / 3, 1 / 3, 7 / 3], [0, 3, 0, 30, 0, 1, 7]])
    np.testing.assert_allclose(document_vectors(documents, blocks), expected, rtol=1e-6)
    assert column_starts(blocks) == [0, 2, 4, 6, 7]
    assert module._ranges_of_like_blocks(blocks) == [(0, 2), (2, 3), (3, 4)]
    out = np.full((2, 7), np.nan, np.float32)
    assert document_vectors(documents, blocks, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_terms_without_weight_take_no_room() -> None:
    found = weighted_counts(counted([[1, 2], [3, 0]]), Block("x", np.array([0, 2], np.float32), None, "weights"))
    assert found.nnz == 1
    assert found.toarray().tolist() == [[0, 1], [0, 0]]
    documents = counted([[1, 2]])
    weighted_counts(documents, Block("x", np.array([0, 2], np.float32), None, "weights"))
    assert documents.matrix.toarray().tolist() == [[1, 2]]


def test_sublinear_counts_and_their_squares() -> None:
    counts = sp.csr_array(np.array([[0, 1, 3], [0.5, 0, 1.5]]))
    np.testing.assert_allclose(sublinear_counts(counts).toarray(), [[0, 1, LOG3], [0.5, 0, 1 + np.log(1.5)]], rtol=1e-6)
    assert sublinear_counts(counts).dtype == as_floats(counts).dtype == np.float32
    assert squared(counts).toarray().tolist() == [[0, 1, 9], [0.25, 0, 2.25]]
    assert as_floats(counts).toarray().tolist() == counts.toarray().tolist()


def test_division_by_zero_gives_zero_whatever_the_memory_held() -> None:
    dirty = [np.full((2, 2), 7, np.float32) for _ in range(50)]
    del dirty
    found = divide(np.ones((2, 2), np.float32), np.array([[2, 0], [0, 4]], np.float32))
    assert found.tolist() == [[0.5, 0], [0, 0.25]]


def test_divisors_of_several_blocks_at_once() -> None:
    counts = sp.csr_array(np.array([[1, 2], [3, 0]], np.float32))
    weights, lengths = np.array([[1, 5], [2, 0]], np.float32), np.array([4, 3])
    mixed = Averaging(weights=2, length=10, one=100)
    assert mixed.divisors(counts, weights, lengths).tolist() == [
        [2 * 5 + 140, 2 * 5 + 140],
        [2 * 3 + 130, 2 * 15 + 130],
    ]
    assert mixed.divisors(counts, sp.csr_array(weights), lengths).dtype == np.float32
    unit = AVERAGINGS["unit"]
    assert unit.divisor_weights(weights).tolist() == [[1, 25], [4, 0]]
    found = unit.divisors(counts, unit.divisor_weights(weights), lengths)
    np.testing.assert_allclose(found, np.sqrt([[1 + 16, 25], [9, 9 * 25]]), rtol=1e-6)
    assert unit.counts(counts)[1, 0] == pytest.approx(LOG3)
    assert AVERAGINGS["sum"].counts(counts) is counts
    assert AVERAGINGS["sum"].divisor_weights(weights) is weights


# kinds of blocks ---------------------------------------------------------------------------------------------------


def made(kind: str, weights: NDArray[np.float32], names: list[str], averaging: str = "sum") -> list[Block]:
    return make_blocks(kind, weights, VECTORS, names, averaging, np.array([True, False]))


def test_all_is_one_block_per_class_that_every_output_sees() -> None:
    found = made("all", np.array([[1, 2, 3], [4, 5, 6]], np.float32), ["x", "y", "z"])
    assert [(block.name, block.weights.tolist(), block.output) for block in found] == [
        ("x", [1, 4], None),
        ("y", [2, 5], None),
        ("z", [3, 6], None),
    ]
    assert all(block.vectors is VECTORS and block.averaging == "sum" for block in found)
    assert all(block.weights.flags.c_contiguous for block in found)
    [alone] = made("all", np.array([[1], [4]], np.float32), ["x", "y"])
    assert (alone.name, alone.weights.tolist()) == ("all", [1, 4])


def test_own_is_a_block_of_each_output_with_the_mean_and_its_mass() -> None:
    found = made("own", np.array([[1, 2, 5], [0, 0, 0]], np.float32), ["x", "y", "z"])
    assert [block.name for block in found] == ["x", "y", "z", "(mean)", "x", "y", "z"]
    assert [block.output for block in found] == [0, 1, 2, None, 0, 1, 2]
    assert [block.averaging for block in found] == ["sum"] * 3 + ["weights"] * 4
    assert found[3].weights.tolist() == [1, 0]  # the words seen in training
    assert found[3].weights.dtype == np.float32
    assert found[3].vectors is found[0].vectors is VECTORS
    assert [block.weights.tolist() for block in found[4:]] == [[8, 0]] * 3
    length = np.sqrt(np.mean([np.square(vector).sum() for vector in VECTORS if vector.any()]))
    masses = [block.vectors[:, 0] * 7 / length for block in found[4:] if isinstance(block.vectors, np.ndarray)]
    np.testing.assert_allclose(masses, [[1 / 8, 0], [2 / 8, 0], [5 / 8, 0]], rtol=1e-6)
    assert [block.column_names() for block in found[2:5]] == [["z__0", "z__1"], ["(mean)__0", "(mean)__1"], ["x__mass"]]


@pytest.mark.parametrize("scale", [0.01, 3.0])
def test_the_scale_of_vectors_scales_all_columns_of_own_blocks(scale: float) -> None:
    """So that it cancels where features are divided by one scale."""
    weights = np.array([[1, 2, 5], [4, 0, 1]], np.float32)
    known, documents = np.array([True, True]), counted([[1, 2], [3, 0]])
    one, other = (
        document_vectors(documents, make_blocks("own", weights, vectors, ["x", "y", "z"], "weights", known))
        for vectors in (VECTORS, VECTORS * np.float32(scale))
    )
    np.testing.assert_allclose(other, one * scale, rtol=1e-5)
    without = make_blocks("own", weights, np.zeros_like(VECTORS), ["x", "y", "z"], "weights", known)
    assert np.isfinite(document_vectors(documents, without)).all()


def test_two_classes_share_their_output_and_one_weight_has_no_mass() -> None:
    two = made("own", np.array([[1, 2], [4, 5]], np.float32), ["x", "y"])
    assert [block.name for block in two] == ["x", "y", "(mean)", "x", "y"]
    assert all(block.output is None for block in two)
    one = made("own", np.array([[1], [4]], np.float32), ["x", "y", "z"])
    assert [(block.name, block.output) for block in one] == [("all", None), ("(mean)", None)]


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_every_kind_of_blocks_keeps_the_contract(kind: str, averaging: str, n_classes: int) -> None:
    names = ["x", "y", "z"][:n_classes]
    blocks = made(kind, np.ones((2, n_classes), np.float32), names, averaging)
    documents = counted([[1, 2], [0, 0]])
    found = document_vectors(documents, blocks)
    assert found.shape == (2, column_starts(blocks)[-1]) == (2, len(column_names(blocks)))
    assert len(set(column_names(blocks))) == found.shape[1]
    assert (found[1] == 0).all()
    for block, start in zip(blocks, column_starts(blocks), strict=False):
        alone = document_vectors(documents, [block])
        np.testing.assert_array_equal(alone, found[:, start : start + block.dimensions])


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    check_blocks("own", "unit")
    with pytest.raises(UnknownNameError, match=r"^unknown averaging 'mean'; known: weights, length, sum, unit"):
        check_blocks("all", "mean")
    with pytest.raises(UnknownNameError, match=r"^unknown blocks 'each'; known: all, own"):
        check_blocks("each", "sum")
    with pytest.raises(UnknownNameError, match="unknown averaging 'mean'"):
        made("all", np.ones((2, 1), np.float32), ["x"], "mean")


def test_a_block_of_no_weight_is_empty_where_it_is_an_average_by_weights() -> None:
    documents = counted([[1, 2], [3, 0], [0, 0]])
    weights = np.array([0, 2], np.float32)
    blocks = [Block("x", weights, VECTORS, averaging) for averaging in AVERAGINGS]
    found = empty_blocks(documents, blocks)
    assert found.dtype == np.bool_
    assert dict(zip(AVERAGINGS, found.T.tolist(), strict=True)) == {
        "weights": [False, True, True],
        "length": [False] * 3,
        "sum": [False] * 3,
        "unit": [False] * 3,
    }
    assert [is_centred(block) for block in blocks] == [True, False, False, False]


def test_dimensions_and_names_of_columns() -> None:
    assert Block("x", WEIGHTS, None, "sum").dimensions == 2
    assert Block("x", WEIGHTS, np.ones((2, 5), np.float32), "sum").dimensions == 5
    assert Block("x", WEIGHTS, VECTORS, "sum").column_names() == ["x__0", "x__1"]
    assert column_names(
        [Block("x", WEIGHTS, VECTORS, "sum"), Block("y", WEIGHTS, None, "sum", suffixes=("a", "b"))]
    ) == [
        "x__0",
        "x__1",
        "y__a",
        "y__b",
    ]


def test_compiled_code_averages_from_its_size_on_and_on_the_threads_given(monkeypatch: pytest.MonkeyPatch) -> None:
    from tfcr.system import native

    asked: list[tuple[int, int | None]] = []

    def recorded(work: Callable[[int, int], None], size: int, threads: int | None) -> None:
        asked.append((size, threads))
        work(0, size)

    monkeypatch.setattr(native, "in_threads", recorded)
    documents = counted([[1, 2], [3, 0], [0, 0]])  # three counts, times four columns
    blocks = [Block("x", WEIGHTS, VECTORS, "sum"), Block("y", WEIGHTS, VECTORS, "sum")]
    monkeypatch.setattr(module, "MIN_NATIVE_PRODUCTS", 13)
    expected = document_vectors(documents, blocks, threads=5)
    assert asked == []
    monkeypatch.setattr(module, "MIN_NATIVE_PRODUCTS", 12)
    np.testing.assert_allclose(document_vectors(documents, blocks, threads=5), expected)
    assert asked == [(3, 5)]
