"""Each value once."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tfcr.system.distinct import distinct


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint64])
@given(st.lists(st.integers(0, 9)))
def test_as_numpy_does(dtype: type, values: list[int]) -> None:
    found: NDArray[Any] = distinct(np.array(values, dtype))
    np.testing.assert_array_equal(found, np.unique(np.array(values, dtype)))
    assert found.dtype == dtype
