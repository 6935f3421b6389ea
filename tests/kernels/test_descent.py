"""One pass of dual coordinate descent against its formula."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.system.native import descend_once


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
