"""Damaged Parquet files and workbooks end in one line, and never end this process."""

import gzip
import io
import zipfile
from pathlib import Path

import polars as pl
import pytest

from tests.data.files import write_parquet, write_xlsx
from tfcr.data import ReadOptions, isolated, read_corpus
from tfcr.data.isolated import parse_isolated
from tfcr.data.readers import read_table
from tfcr.errors import DataError
from tfcr.system.limits import LIMITS


def test_a_parser_that_aborts_ends_only_its_own_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for body in ("import os; os.abort()", "raise SystemExit(3)", "import time; time.sleep(60)", "print('x' * 9)"):
        (tmp_path / "child.py").write_text(body)
        monkeypatch.setattr(isolated, "_PROGRAM", tmp_path / "child.py")
        monkeypatch.setattr(isolated, "_WAIT_SECONDS", 1.0)
        with pytest.raises(DataError, match="data.parquet cannot be read as Parquet: it is damaged, or needs too much"):
            read_corpus(write_parquet(tmp_path))


DAMAGED = sorted(Path(__file__).with_name("damaged").iterdir())
"""Small files that once made a parser panic: no Exception, and a traceback."""


@pytest.mark.parametrize("path", DAMAGED, ids=lambda path: path.name)
def test_a_panic_is_one_line(path: Path) -> None:
    with pytest.raises(
        DataError, match="cannot be read as Parquet: (rows 1 to 300: )?it is damaged; get the file again"
    ):
        read_table(path, ReadOptions())


def test_lying_sizes_of_parquet(tmp_path: Path) -> None:
    content = write_parquet(tmp_path).read_bytes()
    for damaged in (content[:-1], content[:4], b"PAR1" + bytes(99) + b"PAR1", content[:-8] + b"\xff\xff\xff\x7fPAR1"):
        (tmp_path / "a.parquet").write_bytes(damaged)
        with pytest.raises(DataError, match="a.parquet cannot be read as Parquet: .*; get the file again"):
            read_corpus(tmp_path / "a.parquet")


def test_parquet_that_unpacks_to_absurd_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    monkeypatch.setitem(LIMITS, "table unpacked", LIMITS["table unpacked"]._replace(value=1 << 20))
    monkeypatch.setitem(LIMITS, "unpacked ratio", LIMITS["unpacked ratio"]._replace(value=1))
    for frame in (pl.select(n=pl.repeat(1, 200_000)), pl.select(text=pl.repeat("word " * 99, 4000))):
        frame.write_parquet(path)
        with pytest.raises(DataError, match="cannot be read as Parquet: it unpacks to more than 1 MB"):
            read_table(path, ReadOptions())


def test_a_packed_parquet_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.parquet.gz").write_bytes(gzip.compress(write_parquet(tmp_path).read_bytes()))
    with pytest.raises(DataError, match="a.parquet.gz is compressed with gzip or bzip2; unpack it first: gunzip FILE"):
        read_corpus(tmp_path / "a.parquet.gz")


def test_a_workbook_that_unpacks_to_absurd_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_xlsx(tmp_path)
    monkeypatch.setitem(LIMITS, "table unpacked", LIMITS["table unpacked"]._replace(value=1000))
    with pytest.raises(DataError, match="cannot be read as an Excel workbook: it unpacks to more than"):
        read_corpus(path)


def test_a_workbook_with_one_cell_far_away(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(write_xlsx(tmp_path)) as old, zipfile.ZipFile(content, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b'r="B2"', b'r="XFD1048576"'))
    (tmp_path / "far.xlsx").write_bytes(content.getvalue())
    with pytest.raises(DataError, match="far.xlsx cannot be read as an Excel workbook"):
        read_corpus(tmp_path / "far.xlsx")


def test_a_reader_that_stops_early_leaves_no_process(tmp_path: Path) -> None:
    pieces = parse_isolated("parquet", write_parquet(tmp_path), piece_bytes=1, piece_rows=1)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]  # a process that was not waited for is a warning, and so an error
