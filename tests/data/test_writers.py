"""Every format that can be written is read back, whole and in pieces."""

import errno
import gc
import io
import sys
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tfcr.data import READERS, WRITERS, ReadOptions
from tfcr.data.options import Dialect, Table
from tfcr.data.readers import read_table
from tfcr.data.writers import Style, check_target, frame_writer, style_like, write_frame
from tfcr.errors import DataError, MissingExtraError, UnknownNameError

FRAME = pl.DataFrame({"text": ['a "quoted", cell\nof two lines', "größe"], "label": ["x", None]})


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_written_is_read_back(name: str, tmp_path: Path) -> None:
    assert WRITERS[name].what
    assert f".{name}" in READERS[name].endings
    path = tmp_path / f"a.{name}"
    check_target(str(path))
    write_frame(FRAME, str(path), "csv")
    assert read_table(path, ReadOptions()).frame.equals(FRAME)


@pytest.mark.parametrize("name", WRITERS)
def test_tables_are_added(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{name}"
    with frame_writer(str(path), "csv") as write:
        write(FRAME)
        write(FRAME.select("text"))
        assert not path.exists()
    expected = pl.concat([FRAME, FRAME.select("text")], how="diagonal")
    assert read_table(path, ReadOptions()).frame.equals(expected)


@pytest.mark.parametrize("name", WRITERS)
def test_standard_output(name: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    write_frame(FRAME, None, name)
    path = tmp_path / f"a.{name}"
    path.write_bytes(capfdbinary.readouterr().out)
    assert read_table(path, ReadOptions()).frame.equals(FRAME)


def test_targets_that_cannot_be_written(tmp_path: Path) -> None:
    check_target(None)
    with pytest.raises(DataError, match=r"found - as the file to write, which has no ending; expected one of \.csv, "):
        check_target("-")
    with pytest.raises(UnknownNameError, match="unknown format to write 'txt'; known: csv, tsv, jsonl, parquet"):
        check_target(str(tmp_path / "a.txt"))
    with pytest.raises(DataError, match="none does not exist; make it first: mkdir -p"):
        check_target(str(tmp_path / "none" / "a.csv"))
    with pytest.raises(DataError, match="z does not exist; make it first: mkdir -p"):
        check_target(str(tmp_path / ("z" * 300) / "a.csv"))


def test_a_column_that_comes_late(tmp_path: Path) -> None:
    def write_both() -> None:
        with frame_writer(str(tmp_path / "a.csv"), "csv") as write:
            write(FRAME.select("text"))
            write(FRAME)

    with pytest.raises(DataError, match="found the column 'label' only after the first rows were written"):
        write_both()
    assert not list(tmp_path.iterdir())


def test_a_table_that_the_format_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot write such a table: .*; JSON lines hold anything: -o FILE.jsonl"):
        write_frame(pl.DataFrame({"text": [["nested"]]}), str(tmp_path / "a.csv"), "csv")


# Excel, and what is written like the input ---------------------------------------------------------------------------


def test_a_workbook_holds_text_and_numbers_but_no_formula(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    cells = ["=1+1", "https://a.b/", "007", "12", "-1.5", "1e5", "123456789012345678", "", None]
    frame = pl.DataFrame({"=name": cells, "p": [0.123456] * 8 + [None], "b": [True] * 9})
    write_frame(frame, str(path), "csv", Style(fixed=("p",)))
    sheet = zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    for text in ("=1+1", "007", "1e5", "123456789012345678"):
        assert f"<t>{text}</t>" in sheet
    assert all(f"<v>{number}</v>" in sheet for number in ("12", "-1.5", "0.1235"))
    found = read_table(path, ReadOptions()).frame
    assert found["=name"].to_list()[:7] == cells[:7]
    write_frame(pl.DataFrame({"a": ["12"]}), str(path), "csv", Style(numbers=False))
    assert b"<t>12</t>" in zipfile.ZipFile(path).read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"a": ["x" * 32_768]}), "found a cell of 32,768 characters in the column 'a'; .* -o FILE.csv"),
        (pl.DataFrame({"a": [[1]]}), "the column 'a' holds list"),
        (pl.DataFrame({"a": [{"b": 1}]}), "the column 'a' holds struct"),
    ],
)
def test_what_a_sheet_cannot_hold_leaves_nothing(frame: pl.DataFrame, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        write_frame(frame, str(tmp_path / "a.xlsx"), "csv")
    assert list(tmp_path.iterdir()) == []


def test_too_many_rows_for_a_sheet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tfcr.data.writers.MOST_ROWS", 3)
    write_frame(FRAME, str(tmp_path / "a.xlsx"), "csv")

    def write_both() -> None:
        with frame_writer(str(tmp_path / "b.xlsx"), "csv") as write:
            write(FRAME)
            write(FRAME)

    with pytest.raises(DataError, match="found more than 3 rows"):
        write_both()


def test_a_full_disk_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any, /) -> int:
            if self.tell() + len(data) > 1000:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    frame = pl.DataFrame({"a": [f"{number}-{number**9}" for number in range(500)]})
    with pytest.raises(Exception, match="No space left"), Full() as file:  # noqa: SIM117 - closed behind the writer
        with contextmanager(WRITERS["xlsx"].write_to)(file, Style()) as write:
            write(frame)
    gc.collect()
    assert not complaints


def test_the_extra_is_asked_for_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingExtraError, match="writing Excel workbooks needs the extra 'excel'"):
        check_target(str(tmp_path / "a.xlsx"))


def test_a_closed_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(DataError, match="standard output is closed; give a file"):
        write_frame(FRAME, None, "csv")


def test_a_character_that_the_encoding_lacks(tmp_path: Path) -> None:
    style = Style(Dialect(encoding="cp1252"))
    with pytest.raises(DataError, match="cannot write '💚' in cp1252, .* give --output-encoding utf-8"):
        write_frame(pl.DataFrame({"a": ["ü 💚"]}), str(tmp_path / "a.csv"), "csv", style)
    assert list(tmp_path.iterdir()) == []


SEMICOLONS, TABS = Dialect(";", "utf-8-sig", "all", "\r\n"), Dialect("\t", "cp1252")


@pytest.mark.parametrize(
    ("source", "dialect", "target", "name", "expected"),
    [
        ("csv", SEMICOLONS, "a.csv", "csv", SEMICOLONS),
        ("csv", SEMICOLONS, None, "csv", SEMICOLONS),
        ("csv", SEMICOLONS, "a.tsv", "tsv", replace(SEMICOLONS, separator="\t")),
        ("csv", TABS, "a.csv", "csv", TABS),
        ("tsv", TABS, "a.csv", "csv", replace(TABS, separator=",")),
        ("tsv", TABS, None, "tsv", TABS),
        ("jsonl", None, None, "jsonl", None),
        ("jsonl", None, "a.csv", "csv", Dialect()),
        ("parquet", None, None, "csv", Dialect()),
        ("xlsx", None, "a.tsv", "tsv", Dialect("\t")),
        ("csv", SEMICOLONS, "a.xlsx", "xlsx", None),
    ],
)
def test_the_style_of_the_input(
    source: str, dialect: Dialect | None, target: str | None, name: str, expected: Dialect | None
) -> None:
    found, style = style_like(Table(FRAME, "", source, dialect), target)
    assert (found, style.dialect, style.guard) == (name, expected, True)
    assert style.numbers is (source not in ("jsonl", "parquet"))
    assert style_like(Table(FRAME, "", source, dialect), None, json=True)[0] == "jsonl"
