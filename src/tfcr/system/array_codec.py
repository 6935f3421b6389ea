"""Strings and sparse matrices as named arrays, and back, with every check that a file from elsewhere needs.

Model files and artefacts both use it. The names of the arrays of one thing share a prefix::

    write_strings("words", ["an", "ox"]):      words.text      [97 110 111 120]  UTF-8 bytes
                                               words.offsets   [0 2 4]           where each word starts; the end
    write_sparse("scores", [[0, 5], [7, 8]]):  scores.data     [5 7 8]           row by row
                                               scores.indices  [1 0 1]           the column of each
                                               scores.indptr   [0 1 3]           where each row starts; the end
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import DamagedError, InputError
from tfcr.system.lazy import lazy_module
from tfcr.system.packed_strings import decode_words, encode_words

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = lazy_module("scipy.sparse")

Arrays = dict[str, NDArray[Any]]
ReadArrays = Mapping[str, NDArray[Any]]


def as_json(value: Any) -> Any:
    """Return a numpy scalar as a Python number, for ``json.dumps(…, default=as_json)``."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def get_array(arrays: ReadArrays, name: str, kinds: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return an array after checking its type and shape.

    Parameters
    ----------
    arrays
        All arrays of the file.
    name
        The array's name.
    kinds
        The letters of `numpy.dtype.kind` that are allowed, such as ``"f"`` or ``"iu"``.
    shape
        The length of each axis; None: any.
    """
    array = arrays.get(name)
    if array is None:
        raise DamagedError(f"the array {name!r} is missing")
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if array.dtype.kind not in kinds or not fits:
        raise DamagedError(
            f"the array {name!r} is of type {array.dtype} and shape {array.shape}; expected one of {kinds!r} {shape}"
        )
    return array


LARGEST = 1e30
"""Larger numbers are refused: sums of them would be infinite as float32."""


def get_numbers(
    arrays: ReadArrays, name: str, dtype: type[np.floating[Any]], shape: tuple[int | None, ...], least: float = -LARGEST
) -> NDArray[Any]:
    """Return an array of floats as this type, after checking that all are between `least` and LARGEST."""
    array = get_array(arrays, name, "f", shape)
    if array.size and not (float(array.min()) >= least and float(array.max()) <= LARGEST):  # NaN is neither
        raise DamagedError(f"the array {name!r} holds numbers that are not between {least:g} and {LARGEST:g}")
    return array.astype(dtype, copy=False)


def get_indices(arrays: ReadArrays, name: str, size: int, below: int) -> NDArray[np.int64]:
    """Return an array of `size` integers from 0 to `below` - 1."""
    array = get_array(arrays, name, "iu", (size,))
    if size and (array.min() < 0 or array.max() >= below):
        raise DamagedError(f"the array {name!r} holds indices out of range; expected 0 to {below - 1}")
    return array


def narrowed(numbers: NDArray[Any], dtype: type[Any], what: str) -> NDArray[Any]:
    """Return whole numbers as a smaller type; raise InputError if one does not fit, sooner than store another one."""
    most = np.iinfo(dtype).max
    if int(numbers.max(initial=0)) > most:
        raise InputError(
            f"found {what} up to number {int(numbers.max()):,}; expected at most {most:,}, the largest that a model "
            "holds: train with fewer classes, or with a larger min_count"
        )
    return numbers.astype(dtype)


def write_strings(name: str, strings: Sequence[str]) -> Arrays:
    """Return strings as two arrays."""
    text, offsets = encode_words(strings)
    return {f"{name}.text": text, f"{name}.offsets": offsets}


def read_strings(arrays: ReadArrays, name: str) -> list[str]:
    """Return the strings of `write_strings`."""
    try:
        return decode_words(*packed_strings(arrays, name))
    except UnicodeDecodeError:
        raise DamagedError(f"the strings {name!r} are not UTF-8") from None


def packed_strings(arrays: ReadArrays, name: str) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes and offsets of `write_strings`; offsets are checked, the bytes are not decoded."""
    text = get_array(arrays, f"{name}.text", "u", (None,))
    return text, get_bounds(arrays, f"{name}.offsets", None, len(text))


def write_sparse(name: str, matrix: sp.csr_array) -> Arrays:
    """Return a sparse matrix as three arrays."""
    return {
        f"{name}.data": matrix.data,
        f"{name}.indices": matrix.indices.astype(np.int32, copy=False),
        f"{name}.indptr": matrix.indptr.astype(np.int64, copy=False),
    }


def read_sparse(arrays: ReadArrays, name: str, shape: tuple[int, int], kinds: str = "f") -> sp.csr_array:
    """Return the matrix of `write_sparse`, of this shape; `kinds` as in `get_array`."""
    data = get_array(arrays, f"{name}.data", kinds, (None,))
    indices = get_indices(arrays, f"{name}.indices", len(data), shape[1])
    indptr = get_bounds(arrays, f"{name}.indptr", shape[0] + 1, len(data))
    _refuse_repeated(name, indices, indptr, shape)
    return sp.csr_array((data, indices, indptr), shape=shape)


def _refuse_repeated(name: str, indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]) -> None:
    """Raise DamagedError if a row names a column twice: scipy would add the two numbers, other code take one of them.

    With 10 columns, the rows [3, 7] [1, 1] have the keys 3, 7, 11, 11.
    """
    keys = np.repeat(np.arange(shape[0], dtype=np.int64) * shape[1], np.diff(indptr)) + indices
    if not (np.diff(keys) > 0).all() and not np.diff(np.sort(keys)).all():
        raise DamagedError(f"the array {name + '.indices'!r} names a column twice in a row")


def refuse_repeated_strings(name: str, strings: Sequence[str]) -> None:
    """Raise DamagedError if a list of words names one twice: it would have two numbers."""
    if len(set(strings)) != len(strings):
        seen: set[str] = set()
        twice = next(string for string in strings if string in seen or seen.add(string))  # type: ignore[func-returns-value]
        raise DamagedError(f"the strings {name!r} hold {twice!r} more than once")


def get_bounds(arrays: ReadArrays, name: str, size: int | None, end: int) -> NDArray[np.int64]:
    """Return where each of some stretches starts: rising from 0 to `end`, which is the end of the last one."""
    bounds = get_array(arrays, name, "iu", (size,))
    if not len(bounds) or bounds[0] != 0 or bounds[-1] != end or (bounds[1:] < bounds[:-1]).any():
        raise DamagedError(f"the array {name!r} does not rise from 0 to {end}")
    return bounds
