"""Delimited text with every quirk that exports have."""

import csv
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.files import pairs
from tfcr.data import read_corpus
from tfcr.data.delimited import SEPARATORS, detect_separator


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_exports_are_read_with_no_option(separator: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    rows = [
        ["Id", "Text", "Label"],
        ["1", f"Größe „5{separator} 6“, \n„zwei Zeilen“", "ja"],
        ["2", 'er sagte "so"', "nein"],
    ]
    lines = [separator.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    path.write_bytes("\r\n".join(lines).encode(encoding))
    assert pairs(path) == [(rows[1][1], "ja"), (rows[2][1], "nein")]
    assert SEPARATORS[separator] in read_corpus(path).notes[0]


def test_line_breaks_in_cells_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,label\n"one, two\nthree",x\nb,y\n')
    assert "line breaks inside quoted cells (if that is wrong: --quoting none)" in read_corpus(path).notes[0]


def test_stray_quotes_do_not_swallow_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text,label\n1,a 5" screen,x\n2,b,y\n3,"c ""q"" d\ne",z\n')
    assert pairs(path) == [('a 5" screen', "x"), ("b", "y"), ('c "q" d\ne', "z")]


def test_no_quoting_and_a_last_column_that_takes_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text('1\tneutral\t"opens a quote\n2\tpositive\tand closes none"\t\n3\tnegative\n')
    found = pairs(path, format="tsv", quoting=False, header=False, label="2", text=("3",))
    assert found == [('"opens a quote', "neutral"), ('and closes none"', "positive")]
    path.write_text("2,one, two, three\n5,four\n")
    assert pairs(path, header=False, columns=2, separator=",", label="1", text=("2",)) == [
        ("one, two, three", 2),
        ("four", 5),
    ]


def test_control_characters_emoji_and_long_texts_survive(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    long = "word " * 2_000_000
    path.write_text(f"text,label\na\x00b\x1fc,x\n💚 u\u0308ber,y\n{long},z\n", "utf-8")
    assert pairs(path) == [("a\x00b\x1fc", "x"), ("💚 u\u0308ber", "y"), (long, "z")]


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from("xy")), min_size=1))
def test_whatever_csv_writes_is_read_back(rows: list[tuple[str, str]]) -> None:

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("text", "label"), *rows])
        expected = [(text, label) for text, label in rows if text.strip()]
        if expected:
            assert pairs(path, separator=",", encoding="utf-8") == expected


def test_the_header_outvotes_a_comma_in_every_text() -> None:
    assert detect_separator("text;label\n" + "fine, thanks;x\n" * 9) == ";"
    assert detect_separator("one column\nfine, thanks\nwell, well\n") == ","
