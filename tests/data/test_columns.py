"""Which columns hold text and label."""

import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.data.files import pairs, write_csv
from tfcr.data import ReadOptions, read_corpus
from tfcr.data.columns import column_names
from tfcr.data.sources import load_texts
from tfcr.errors import DataError


def test_columns_are_found_when_plain(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,Tweet,Class\n1,hello there,x\n2,you too,y\n")
    assert pairs(path) == [("hello there", "x"), ("you too", "y")]
    path.write_text("kind,words\nx,hello there\ny,you too\n")
    assert pairs(path) == [("hello there", "x"), ("you too", "y")]
    path.write_text("a,b,c\nx,hello there,z\n")
    with pytest.raises(DataError, match=r"which column holds the label\? Give --label NAME; columns: a, b, c"):
        read_corpus(path)
    with pytest.raises(DataError, match=r"which column holds the text\? Give --text NAME; columns: a, b, c"):
        read_corpus(path, label="a")


def test_repeated_names_get_numbers_that_are_new(tmp_path: Path) -> None:
    frame = pl.DataFrame([["a (3)", "a", "a", "", "4", "a"]], orient="row")
    assert column_names(frame, header=True) == ["a (3)", "a", "a (3) (3)", "4", "4 (5)", "a (6)"]
    path = tmp_path / "a.csv"
    path.write_text("a (3),a,a\nx,hello,there\n")
    assert pairs(path, text=("3",), label="1") == [("there", "x")]


def test_very_many_columns(tmp_path: Path) -> None:
    width = 30_000
    frame = pl.DataFrame([["a"] * width], schema=[str(number) for number in range(width)], orient="row")
    began = time.process_time()
    names = column_names(frame, header=True)
    assert names[1] == "a (2)"
    assert time.process_time() - began < 1  # 6 s if each is compared with all before it
    path = tmp_path / "a.csv"
    path.write_text(",".join(names) + "\n" + "x," * (width - 1) + "x\n")
    with pytest.raises(DataError, match=r"columns: a, a \(2\), .*a \(60\), and 29,940 more$"):
        read_corpus(path)
    with pytest.raises(DataError, match=r"unknown column for --label 'label'; known: a, .* and 29,940 more\.$"):
        read_corpus(path, label="label")


def test_columns_by_number_name_or_any_case(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("A,B,C\nx,hello,there\n")
    assert pairs(path, text=("2", "c"), label="1") == [("hello\nthere", "x")]
    path.write_text("x,hello,there\n")
    assert pairs(path, text=("3",), label="1", header=False) == [("there", "x")]


def test_joined_columns_skip_what_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("subject,body,label\nhello,,x\n,there,y\n,,z\n")
    assert pairs(path, text=("subject", "body"), label="label") == [("hello", "x"), ("there", "y")]


def test_one_column_cannot_be_both(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the column 'text' is named for both text and label"):
        read_corpus(write_csv(tmp_path), text=("text",), label="text")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("a.xlsx", "If the texts are on another sheet, give --sheet NAME"), ("a.json", "Write one JSON object per text")],
)
def test_one_column_gets_a_hint_that_fits_the_format(name: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "a.json":
        path.write_text('{"data": [{"text": "good film", "label": "x"}]}')
    else:
        pl.DataFrame({"about": ["Export 2024"]}).write_excel(path)
    with pytest.raises(DataError, match=f"found one column, '(about|data)'; expected texts and labels. {hint}"):
        read_corpus(path)


def test_a_file_without_columns_is_told_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("good film\nbad film\n")
    with pytest.raises(DataError, match=r"found one column, 'good film'; .* give --format lines, and its labels with"):
        read_corpus(path)
    path.write_text("good film\nwell, so so\n")
    with pytest.raises(DataError, match="line 2: found 2 columns; expected 1.* give --format lines"):
        read_corpus(path)
    options = ReadOptions(default_text=("body",))
    path.write_text("good film\nbad film\n")
    with pytest.raises(
        DataError, match=r"there is no 'body'; .*For a file with one text per line, give --format lines"
    ):
        load_texts([str(path)], options)
    assert load_texts([str(path)], replace(options, format="lines"))[0] == ["good film", "bad film"]
