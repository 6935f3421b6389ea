"""Sparse products by compiled code against scipy."""

import numpy as np
import pytest
import scipy.sparse as sp

from tfcr.features import matrix
from tfcr.features.matrix import times, transposed_times


@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (40, 300), (0, 3)])
@pytest.mark.parametrize("n_outputs", [1, 3, 20])
def test_products_are_those_of_scipy(shape: tuple[int, int], n_outputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    sparse = sp.csr_array(sp.random_array(shape, density=0.3, rng=random, dtype=np.float32))
    dense = random.normal(size=(shape[1], n_outputs)).astype(np.float32)
    values = random.normal(size=(shape[0], n_outputs)).astype(np.float32)
    for least in (0, 10**9):  # by compiled code, and by scipy
        monkeypatch.setattr(matrix, "MIN_NATIVE_PRODUCTS", least)
        np.testing.assert_allclose(times(sparse, dense), sparse.toarray() @ dense, atol=1e-5)
        np.testing.assert_allclose(transposed_times(sparse, values), sparse.toarray().T @ values, atol=1e-5)


def test_float64_stays_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "MIN_NATIVE_PRODUCTS", 0)
    sparse, dense = sp.csr_array(np.eye(3)), np.eye(3)[:, :2]
    assert times(sparse, dense).dtype == np.float64  # type: ignore[arg-type]
    assert transposed_times(sparse, dense).dtype == np.float64  # type: ignore[arg-type]
