"""Arguments of work on their way to other processes: large arrays apart, each once, wherever it occurs.

What is sent is pickled, but for arrays from LARGE bytes on; those are named instead, and go by themselves::

    Layout(blocks=[Block(vectors=V), Block(vectors=V)])    ->   a few bytes, and [V]

So the word vectors of all blocks, parts and passes are one array that each worker receives once. Only processes of one
cluster, which trust each other, exchange what is pickled here; nothing of it is ever read from a file.
"""

import io
import pickle
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 16
"""Bytes from which an array goes by itself."""
LOOKED_AT = 1 << 12
"""Elements of an array that tell whether somebody has changed it since it was sent."""


class Packed(NamedTuple):
    """An object as bytes, and the large arrays in it."""

    content: bytes
    arrays: list[Any]


class _Packer(cloudpickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.arrays: dict[int, NDArray[Any]] = {}

    def persistent_id(self, found: Any) -> int | None:
        """Return the number of a large array; pickle calls this for each object."""
        if type(found) is not np.ndarray or found.nbytes < LARGE or found.dtype.hasobject:
            return None
        self.arrays.setdefault(id(found), found)
        return list(self.arrays).index(id(found))


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, arrays: Sequence[Any]) -> None:
        super().__init__(file)
        self.arrays = arrays

    def persistent_load(self, number: Any) -> Any:
        """Return an array by its number; pickle calls this."""
        return self.arrays[number]


def pack(found: Any) -> Packed:
    """Return an object as bytes, and its large arrays."""
    file = io.BytesIO()
    packer = _Packer(file)
    packer.dump(found)
    return Packed(file.getvalue(), list(packer.arrays.values()))


def unpack(content: bytes, arrays: Sequence[Any]) -> Any:
    """Return the object that `pack` took."""
    return _Unpacker(io.BytesIO(content), arrays).load()


class Sent:
    """What was sent of each array, as long as the array lives and is not changed."""

    def __init__(self, send: Callable[[Any], Any]) -> None:
        self.send = send
        self._sent: dict[int, tuple[weakref.ref[Any], bytes, Any]] = {}

    def of(self, array: NDArray[Any]) -> Any:
        """Return what `send` returned for an array, now or before."""
        key, looks = id(array), _looks(array)
        known = self._sent.get(key)
        if known is None or known[0]() is not array or known[1] != looks:
            gone = weakref.ref(array, lambda ref: self._forget(key, ref))
            known = self._sent[key] = gone, looks, self.send(array)
        return known[2]

    def _forget(self, key: int, gone: "weakref.ref[Any]") -> None:
        if key in self._sent and self._sent[key][0] is gone:
            del self._sent[key]

    def clear(self) -> None:
        """Forget everything."""
        self._sent.clear()


def _looks(array: NDArray[Any]) -> bytes:
    """Return some elements, evenly spaced: who changes an array in place changes all of it, or nearly so."""
    flat = array.reshape(-1) if array.flags.c_contiguous else array.T.reshape(-1)
    return np.ascontiguousarray(flat[:: max(1, len(flat) // LOOKED_AT)]).tobytes()
