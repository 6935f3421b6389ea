"""Safetensors files as views, against the library that wrote them; and files that lie."""

import errno
import json
import mmap
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from tfcr.errors import DamagedError
from tfcr.system import mapped_arrays
from tfcr.system.mapped_arrays import arrays_of, chunks_of, map_file

KINDS = ["?", "u1", "i1", "<u2", "<i2", "<f2", "<u4", "<i4", "<f4", "<u8", "<i8", "<f8"]


@pytest.mark.parametrize("mapped_from", [0, 1 << 20])
def test_arrays_of_every_type_are_those_of_the_library(
    mapped_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped_arrays, "MAPPED_FROM", mapped_from)
    random = np.random.default_rng(0)
    arrays = {f"array {kind}": random.integers(0, 2, (3, 5)).astype(kind) for kind in KINDS}
    arrays["nothing"] = np.zeros((0, 2))
    (tmp_path / "file").write_bytes(save(arrays, metadata={"some": "note"}))
    found = arrays_of(map_file(tmp_path / "file", "model file"))
    expected = load((tmp_path / "file").read_bytes())
    assert set(found) == set(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
        assert not found[name].flags.writeable
        assert found[name].flags.aligned


def test_chunks_are_what_the_library_writes() -> None:
    random = np.random.default_rng(0)
    arrays = {f"array {kind}": random.integers(0, 2, (3, 5)).astype(kind) for kind in reversed(KINDS)}
    arrays |= {f"another {kind}": random.integers(0, 2, 7).astype(kind) for kind in KINDS}
    arrays |= {"nothing": np.zeros((0, 2)), "é\n": np.arange(3), "zero": np.array(1.5)}
    assert b"".join(chunks_of(arrays)) == save(arrays)
    columns = np.arange(12).reshape(3, 4)[:, 1::2]
    assert np.array_equal(load(b"".join(chunks_of({"columns": columns})))["columns"], columns)


def with_header(header: Any, body: bytes = b"\0" * 8) -> memoryview:
    written = header if isinstance(header, bytes) else json.dumps(header).encode()
    return memoryview(len(written).to_bytes(8, "little") + written + body)


def row(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8], **changes}}


LIES: dict[str, memoryview] = {
    "empty": memoryview(b""),
    "a header longer than the file": memoryview((10**9).to_bytes(8, "little") + b"{}"),
    "beyond the end": with_header(row(shape=[4], data_offsets=[0, 16])),
    "another size": with_header(row(shape=[3])),
    "below 0": with_header(row(data_offsets=[-8, 0])),
    "a shape below 0": with_header(row(shape=[-1, -2])),
    "a shape of halves": with_header(row(shape=[2.0])),
    "a boolean": with_header(row(shape=[True], data_offsets=[0, 4])),
    "a gap": with_header(row(shape=[1], data_offsets=[4, 8])),
    "twice the same bytes": with_header({**row(), "b": row()["a"]}),
    "an unknown type": with_header(row(dtype="BF16", data_offsets=[0, 4])),
    "no JSON": with_header(b"{"),
    "no object": with_header([]),
    "no rows": with_header({"a": 1}),
    "bytes after the last array": with_header(row(), b"\0" * 9),
    "bytes and no array": with_header({}),
}


@pytest.mark.parametrize("kind", LIES)
def test_files_that_lie_are_refused(kind: str) -> None:
    with pytest.raises((DamagedError, LookupError, TypeError, ValueError, AttributeError)):
        arrays_of(LIES[kind])


@pytest.mark.parametrize("mapped_from", [0, 1 << 20])
def test_an_empty_file_is_read(mapped_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_arrays, "MAPPED_FROM", mapped_from)
    (tmp_path / "file").write_bytes(b"")
    assert bytes(map_file(tmp_path / "file", "model file")) == b""


def test_a_file_that_cannot_be_mapped_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENODEV, "No such device")

    monkeypatch.setattr(mapped_arrays, "MAPPED_FROM", 0)
    monkeypatch.setattr(mmap, "mmap", refuse)
    (tmp_path / "file").write_bytes(b"content")
    assert bytes(map_file(tmp_path / "file", "model file")) == b"content"


def test_a_mapped_file_is_a_view_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_arrays, "MAPPED_FROM", 7)
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "small").write_bytes(b"conten")
    assert isinstance(map_file(tmp_path / "file", "model file").obj, mmap.mmap)
    assert isinstance(map_file(tmp_path / "small", "model file").obj, bytes)


@pytest.mark.skipif(sys.platform != "linux", reason="counts open files in /proc")
@pytest.mark.parametrize("mapped_from", [0, 1 << 20])
def test_files_do_not_stay_open(mapped_from: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not mapped_from and sys.version_info < (3, 13):
        pytest.skip("Python keeps a mapped file open")
    monkeypatch.setattr(mapped_arrays, "MAPPED_FROM", mapped_from)
    (tmp_path / "file").write_bytes(b"content")
    before = len(list(Path("/proc/self/fd").iterdir()))
    kept = [map_file(tmp_path / "file", "model file") for _ in range(10)]
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert len(kept) == 10
