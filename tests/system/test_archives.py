"""Unpacking one file of an archive; tests/data/test_sources.py reads datasets from archives."""

import gzip
import os
import shutil
from pathlib import Path

import pytest

from tests.file_server import vectors_zip, visible
from tfcr.errors import DataError
from tfcr.system.archives import unpack_one


def test_unpacking_goes_where_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(vectors_zip("../../evil/v.txt"))
    inner = tmp_path / "inner"
    inner.mkdir()
    unpack_one(tmp_path / "a.zip", inner / "v.txt")
    assert visible(tmp_path) == ["a.zip", "inner"]
    assert visible(inner) == ["v.txt"]


@pytest.mark.parametrize("cut", [5, 60, 90])
def test_a_truncated_zip_leaves_nothing(cut: int, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(vectors_zip("v.txt")[:-cut])
    with pytest.raises(DataError, match="truncated or not a zip archive"):
        unpack_one(tmp_path / "a.zip", tmp_path / "v.txt")
    (tmp_path / "b.gz").write_bytes(gzip.compress(os.urandom(1000))[:-cut])
    with pytest.raises(DataError, match="b.gz is truncated or damaged"):
        unpack_one(tmp_path / "b.gz", tmp_path / "v.txt")
    assert visible(tmp_path) == ["a.zip", "b.gz"]


def test_no_space_to_unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.zip").write_bytes(vectors_zip("v.txt"))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1))
    with pytest.raises(DataError, match="make room and type the same command again"):
        unpack_one(tmp_path / "a.zip", tmp_path / "v.txt")
