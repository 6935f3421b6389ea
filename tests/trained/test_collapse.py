"""How the word table is put together: places of terms and columns, and values written there."""

from dataclasses import replace

import numpy as np

from tfcr.features.blocks import Block
from tfcr.trained.collapse import _chunks, _Layout, _SparseRows


def test_rows_are_filled_block_by_block_in_their_places() -> None:
    rows = _SparseRows(3, [(np.array([0, 2]), 2), (np.array([2]), 1)])
    assert rows.starts.tolist() == [0, 2, 2, 5]
    rows.fill(np.array([0, 2]), [1, 2], np.array([[1.0, 2.0], [3.0, 0.0]]))
    assert rows.next.tolist() == [2, 2, 4]
    rows.fill(np.array([2]), [0], np.array([[5.0]]))
    found = rows.matrix(3)
    assert found.toarray().tolist() == [[0, 1, 2], [0, 0, 0], [5, 3, 0]]
    assert found.nnz == 4  # no zeros
    assert found.dtype == np.float32
    assert found.has_sorted_indices
    assert np.shares_memory(found.data, rows.values)  # neither is copied
    assert np.shares_memory(found.indices, rows.columns)


def test_values_of_several_blocks_in_one_column_are_added_up() -> None:
    rows = _SparseRows(2, [(np.array([0, 1]), 1), (np.array([1]), 1)])
    rows.fill(np.array([0, 1]), [0], np.array([[1.0], [2.0]]))
    rows.fill(np.array([1]), [0], np.array([[3.0]]))
    assert rows.matrix(1).toarray().tolist() == [[1], [5]]


def test_columns_are_ordered_by_divisor_and_shared_by_blocks_of_one_divisor() -> None:
    weights = np.ones(2, np.float32)
    own = [Block(f"c{output}", weights.copy(), None, "weights", output) for output in range(2)]
    summed = Block("(sum)", weights, None, "sum")
    layout = _Layout.of([summed, *own, replace(summed, name="(again)")], 2)
    assert layout.divisors == [0, 1, 2, 0]
    assert layout.columns == [(0, 0), (1, 0), (0, 1), (1, 2)]
    assert layout.of_blocks == [[0, 1], [2], [3], [0, 1]]
    assert layout.averagings == ("sum", "weights", "weights")


def test_terms_come_in_chunks() -> None:
    terms = np.arange(5)
    assert [some.tolist() for some in _chunks(terms, 1)] == [[0, 1, 2, 3, 4]]
    assert [some.tolist() for some in _chunks(terms, 1 << 19)] == [[0, 1], [2, 3], [4]]
    assert list(_chunks(terms[:0], 3)) == []
