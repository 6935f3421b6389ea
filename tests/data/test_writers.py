"""Every format that can be written is read back, whole and in pieces."""

from pathlib import Path

import polars as pl
import pytest

from tfcr.data import READERS, WRITERS, ReadOptions
from tfcr.data.readers import read_table
from tfcr.data.writers import check_target, frame_writer, write_frame
from tfcr.errors import DataError, UnknownNameError

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
    with pytest.raises(UnknownNameError, match="unknown format to write 'txt'; known: csv, tsv, jsonl, parquet"):
        check_target(str(tmp_path / "a.txt"))
    with pytest.raises(DataError, match="none does not exist; make it first: mkdir -p"):
        check_target(str(tmp_path / "none" / "a.csv"))


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
