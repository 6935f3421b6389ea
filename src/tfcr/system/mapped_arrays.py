"""Safetensors files as arrays that stay in the file: mapped into memory, and shared between processes.

A file begins with the size of its header (8 bytes), the header (JSON: type, shape and place of each array), and then
the arrays. The library reads them into memory; here they are views of the file, read where they are looked at.
"""

import json
import math
import mmap
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import DamagedError
from tfcr.system.limits import check_size, limit, open_regular, parse_json

_TYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "F16": "<f2", "U32": "<u4", "I32": "<i4",
    "F32": "<f4", "U64": "<u8", "I64": "<i8", "F64": "<f8",
}  # fmt: skip
_SIZE = 8  # bytes of the header's size

MAPPED_FROM = 1 << 20
"""Bytes from which on a file is mapped; reading a smaller one costs little."""


def map_file(path: Path, name: str) -> memoryview:
    """Return the content of a file, mapped if it is large; raise OSError if it is none, or larger than LIMITS[name].

    A file that is mapped must not be changed: the content would change with it, and end with the process if it is cut.
    """
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        check_size(path, size, name)
        if size >= max(1, MAPPED_FROM):  # an empty file cannot be mapped
            with suppress(OSError):  # some network and container file systems cannot map files
                return memoryview(_mapped(file.fileno()))
        return memoryview(file.read(size))


def _mapped(handle: int) -> mmap.mmap:
    """Map a file, without keeping it open where Python can: a process may have few files open."""
    if sys.version_info >= (3, 13) and sys.platform != "win32":
        return mmap.mmap(handle, 0, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(handle, 0, access=mmap.ACCESS_READ)


def arrays_of(content: memoryview) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file, as views of its content.

    Raises DamagedError, LookupError, TypeError or ValueError if it is no such file.
    """
    if len(content) < _SIZE:
        raise DamagedError(f"it has {len(content)} bytes; expected a safetensors file")
    size = int.from_bytes(content[:_SIZE], "little")
    if size > min(len(content) - _SIZE, limit("tensor header")):
        raise DamagedError(f"its header of {size} bytes is longer than the file")
    header = parse_json(bytes(content[_SIZE : _SIZE + size]))
    header.pop("__metadata__", None)
    body = content[_SIZE + size :]
    places = {name: _place(name, said, len(body)) for name, said in header.items()}
    end = 0
    for first, last in sorted((first, last) for _, _, first, last in places.values()):
        if first != end:
            raise DamagedError("its arrays overlap, or leave a gap")
        end = last
    if end != len(body):
        raise DamagedError(f"it has {len(body) - end} bytes after its last array")
    return {
        name: np.frombuffer(body[first:last], kind).reshape(shape)
        for name, (kind, shape, first, last) in places.items()
    }


_ORDER = ("U64", "I64", "F64", "F32", "U32", "I32", "F16", "U16", "I16", "I8", "U8", "BOOL")
"""Of arrays in a file, as the library writes them: large types first, so that all are aligned."""


def chunks_of(arrays: Mapping[str, NDArray[Any]]) -> Iterator[bytes | memoryview]:
    """Yield the content of a safetensors file in chunks: the bytes that the library writes.

    Arrays that are views of files, or not contiguous, need not fit into memory together.
    """
    kinds = {np.dtype(kind): name for name, kind in _TYPES.items()}
    ordered = sorted(arrays, key=lambda name: (_ORDER.index(kinds[arrays[name].dtype]), name))
    header, end = {}, 0
    for name in ordered:
        array = arrays[name]
        header[name] = {
            "dtype": kinds[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    written = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    written += b" " * (-len(written) % _SIZE)
    yield len(written).to_bytes(_SIZE, "little") + written
    for name in ordered:
        if arrays[name].nbytes:
            yield np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8).data


def _place(name: str, said: Any, size: int) -> tuple[str, tuple[int, ...], int, int]:
    """Return the type, the shape and the first and last byte of an array."""
    kind, shape, (first, last) = _TYPES[said["dtype"]], tuple(said["shape"]), said["data_offsets"]
    whole = all(type(number) is int and number >= 0 for number in (*shape, first, last))
    if not whole or not first <= last <= size or last - first != math.prod(shape) * np.dtype(kind).itemsize:
        raise DamagedError(f"the array {name!r} is not where its header says")
    return kind, shape, first, last
