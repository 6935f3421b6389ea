"""Products of sparse rows with few dense columns, without the interpreter's lock, so that threads can share them."""

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled_for_sums


@compiled_for_sums
def add_times(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    dense: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Add X B to `out`, for X as CSR and B (n_columns, n_outputs)."""
    for document in range(len(starts) - 1):
        row = out[document]
        for place in range(starts[document], starts[document + 1]):
            value, added = values[place], dense[columns[place]]
            for output in range(dense.shape[1]):
                row[output] += value * added[output]


@compiled_for_sums
def add_transposed_times(
    starts: NDArray[np.int64],
    columns: NDArray[np.int32],
    values: NDArray[np.float32],
    dense: NDArray[np.float32],
    out: NDArray[np.float32],
) -> None:
    """Add Xᵀ V to `out`, for X as CSR and V (n_documents, n_outputs)."""
    for document in range(len(starts) - 1):
        added = dense[document]
        for place in range(starts[document], starts[document + 1]):
            value, row = values[place], out[columns[place]]
            for output in range(dense.shape[1]):
                row[output] += value * added[output]
