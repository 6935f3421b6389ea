"""Strings and sparse matrices as arrays: back as they were, and nothing bad gets through."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from tfcr.errors import DamagedError, InputError
from tfcr.system.array_codec import (
    get_array,
    get_indices,
    narrowed,
    read_sparse,
    read_strings,
    write_sparse,
    write_strings,
)


@given(st.lists(st.text(st.characters(exclude_categories=())), max_size=10))
def test_strings_come_back(strings: list[str]) -> None:
    assert read_strings(write_strings("s", strings), "s") == strings


@given(
    st_numpy.arrays(np.float32, st.tuples(st.integers(0, 5), st.integers(1, 5)), elements=st.sampled_from([0, 1, 0.5]))
)
def test_matrices_come_back(dense: np.ndarray) -> None:
    matrix = read_sparse(write_sparse("m", sp.csr_array(dense)), "m", dense.shape)
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix.toarray(), dense)


def good() -> dict[str, Any]:
    matrix = sp.csr_array(np.array([[0.0, 5], [7, 8]]))
    arrays = {**write_strings("s", ["an", "ox"]), **write_sparse("m", matrix), "i": np.array([0, 2, 1])}
    return {name: array.copy() for name, array in arrays.items()}


def read_all(arrays: dict[str, Any]) -> None:
    read_strings(arrays, "s")
    read_sparse(arrays, "m", (2, 2))
    get_indices(arrays, "i", 3, 3)
    get_array(arrays, "i", "iu", (None,))


def put(name: str, place: int, value: int) -> Callable[[dict[str, Any]], Any]:
    return lambda arrays: arrays[name].__setitem__(place, value)


def replace(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], Any]:
    return lambda arrays: arrays.update({name: change(arrays[name])})


BAD: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "missing": (lambda arrays: arrays.pop("m.data"), "the array 'm.data' is missing"),
    "another type": (replace("m.data", lambda a: a.astype(int)), "'m.data' is of type int64"),
    "another number of axes": (replace("i", lambda a: a[:, None]), r"'i' is of type int64 and shape \(3, 1\)"),
    "another length": (replace("i", lambda a: a[:2]), r"expected one of 'iu' \(3,\)"),
    "index too large": (put("i", 0, 3), "'i' holds indices out of range; expected 0 to 2"),
    "index below 0": (put("i", 0, -1), "'i' holds indices out of range"),
    "column too large": (put("m.indices", 0, 2), "'m.indices' holds indices out of range"),
    "rows that fall": (put("m.indptr", 1, 4), "'m.indptr' does not rise from 0 to 3"),
    "rows that start late": (put("m.indptr", 0, 1), "'m.indptr' does not rise"),
    "rows that end early": (put("m.indptr", 2, 2), "'m.indptr' does not rise"),
    "too few rows": (replace("m.indptr", lambda a: a[:2]), "'m.indptr' is of type"),
    "no offsets": (replace("s.offsets", lambda a: a[:0]), "'s.offsets' does not rise"),
    "offsets that fall": (put("s.offsets", 1, 5), "'s.offsets' does not rise from 0 to 4"),
    "text is longer": (replace("s.text", lambda a: np.append(a, a)), "'s.offsets' does not rise from 0 to 8"),
    "no UTF-8": (put("s.text", 0, 255), "the strings 's' are not UTF-8"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_arrays_are_named(kind: str) -> None:
    arrays = good()
    read_all(arrays)
    change, message = BAD[kind]
    change(arrays)
    with pytest.raises(DamagedError, match=message):
        read_all(arrays)


def test_numbers_that_do_not_fit_a_smaller_type_are_refused() -> None:
    assert narrowed(np.array([0, 255]), np.uint8, "things").dtype == np.uint8
    assert len(narrowed(np.zeros(0, np.int64), np.uint8, "things")) == 0
    with pytest.raises(InputError, match="^found things up to number 256; expected at most 255"):
        narrowed(np.array([0, 256]), np.uint8, "things")
