"""Delimited text is written as it was read; no cell is a formula."""

import csv
import io
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.data import ReadOptions
from tfcr.data.dialect import QUOTINGS, delimited_rows, guarded, told_otherwise
from tfcr.data.options import Dialect
from tfcr.data.readers import read_table
from tfcr.errors import DataError, UnknownNameError

FILES: dict[str, tuple[bytes, Dialect]] = {
    "plain": (b"a,b\n1,x\n", Dialect()),
    "semicolons of Excel": ("\ufeffa;b\r\n1;ü\r\n".encode(), Dialect(";", "utf-8-sig", "needed", "\r\n")),
    "all quoted": (b'"a","b"\n"1","x"\n"",""\n', Dialect(quoting="all")),
    "all quoted below the header": (b'a,b\n"1","x"\n', Dialect(quoting="all")),
    "text quoted, numbers bare": (b'"a","b"\n1,"x, y"\n-2.5,"z"\n', Dialect(quoting="text")),
    "only numbers": (b"a,b\n1,2\n", Dialect()),
    "quoted where needed": (b'a,b\n1,"x, y"\n2,z\n', Dialect()),
    "cp1252 with tabs": ("a\tb\n1\tgrün und schön\n".encode("cp1252"), Dialect("\t", "cp1252")),
    "UTF-16": ("a,b\n1,ü\n".encode("utf-16"), Dialect(encoding="utf-16")),
}


@pytest.mark.parametrize("kind", FILES)
def test_detected_and_written_as_it_was(kind: str, tmp_path: Path) -> None:
    content, expected = FILES[kind]
    (tmp_path / "a.csv").write_bytes(content)
    table = read_table(tmp_path / "a.csv", ReadOptions())
    assert (table.format, table.dialect) == ("csv", expected)
    rows = delimited_rows(table.frame, expected, guard=True, header=True).decode().encode(expected.encoding)
    assert rows == (content if "below the header" not in kind else content.replace(b"a,b", b'"a","b"'))


def test_quotes_that_are_ordinary_characters(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('a\tb\n1\t5" disk\n')
    table = read_table(tmp_path / "a.tsv", ReadOptions(quoting=False))
    assert table.dialect == Dialect("\t", quoting="none")
    assert delimited_rows(table.frame, table.dialect, guard=True, header=True) == b'a\tb\n1\t5" disk\n'
    frame = pl.DataFrame({"a": ["one\ttwo"]})
    with pytest.raises(DataError, match=r"the cell 'one\\ttwo' without quotes.* give --output-quoting needed"):
        delimited_rows(frame, table.dialect, guard=True, header=True)
    lines = read_table(tmp_path / "a.tsv", ReadOptions(quoting=False, columns=2))
    assert lines.dialect is not None
    assert lines.dialect.quoting == "needed"


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8) | st.sampled_from(
    ["=1+1", "-5", '"', ",", "\n", "\r\n", " ", "'", "1,5", "+49 30", "\t=1", "@x", "-"]
)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=5), st.sampled_from([q for q in QUOTINGS if q != "none"]))
def test_any_cell_comes_back(rows: list[tuple[str, str]], quoting: str) -> None:
    frame = pl.DataFrame(rows, schema={"^a.*$": pl.String, "*": pl.String}, orient="row")
    written = delimited_rows(frame, Dialect(quoting=quoting), guard=False, header=True).decode()
    found = list(csv.reader(io.StringIO(written, newline=""), strict=True))
    assert found == [["^a.*$", "*"], *map(list, rows)]
    safe = csv.reader(io.StringIO(delimited_rows(frame, Dialect(), guard=True, header=False).decode(), newline=""))
    for cell in (cell for row in safe for cell in row):
        assert guarded(cell) == cell  # nothing is left to guard, and nothing is guarded twice


FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "＝1", "-", "+49 30 12", "=", "-x"]
ORDINARY = ["1", "-5", "+5", "-1.5e-3", "-12,5", "+3%", "-1.234,5", "a=b", "'=1", "", "x", "2024-05-31", "a@b.c"]


@pytest.mark.parametrize("cell", FORMULAS)
def test_formulas_become_text(cell: str) -> None:
    assert guarded(cell) == "'" + cell
    frame = pl.DataFrame({cell: [cell]})
    written = delimited_rows(frame, Dialect(), guard=True, header=True).decode()
    assert list(csv.reader(io.StringIO(written, newline=""))) == [["'" + cell]] * 2


@pytest.mark.parametrize("cell", ORDINARY)
def test_other_cells_are_left_alone(cell: str) -> None:
    assert guarded(cell) == cell
    frame = pl.DataFrame({"a": [cell]})
    written = delimited_rows(frame, Dialect(), guard=True, header=False)
    assert written == delimited_rows(frame, Dialect(), guard=False, header=False)


def test_what_the_user_wants_instead() -> None:
    found = told_otherwise(Dialect(), encoding="cp1252", separator=";", quoting="all")
    assert found == Dialect(";", "cp1252", "all")
    for encoding in ("no-such", "base64", "rot13", "a\0b"):
        with pytest.raises(DataError, match="unknown encoding"):
            told_otherwise(Dialect(), encoding=encoding, separator=None, quoting=None)
    with pytest.raises(UnknownNameError, match="unknown quoting 'some'; known: needed, text, all, none"):
        told_otherwise(Dialect(), encoding=None, separator=None, quoting="some")
