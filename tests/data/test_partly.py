from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tfcr.data.options import ReadOptions
from tfcr.data.partly import load_partly_labelled
from tfcr.errors import DataError


def read(path: Path, **options: object) -> tuple[list[str], list[object], list[int]]:
    found = load_partly_labelled([str(path)], ReadOptions(**options))  # type: ignore[arg-type]
    return found.texts, found.labels, found.rows


def test_rows_without_a_label_are_kept_and_without_a_text_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text,label\n1,one,a\n2,two,\n3,,b\n4,four,a\n")
    assert read(path) == (["one", "two", "four"], ["a", None, "a"], [1, 2, 4])
    assert "1 of 4 rows have no text" in load_partly_labelled([str(path)]).notes[-1]


def test_a_column_of_labels_need_not_be_there(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,one\n2,two\n")
    assert read(tmp_path / "a.csv") == (["one", "two"], [None, None], [1, 2])
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    assert read(tmp_path / "a.txt", format="lines") == (["one", "two"], [None, None], [1, 2])


def test_the_columns_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b,queue\none,1,x\ntwo,2,\n")
    assert read(path, text=("a", "b"), label="queue") == (["one\n1", "two\n2"], ["x", None], [1, 2])
    with pytest.raises(DataError, match="which column holds the text"):
        read(path)
    with pytest.raises(DataError, match="unknown column"):
        read(path, label="none")


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "xlsx"])
def test_numbers_are_labels_as_they_are_written(ending: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"text": ["one", "two", "three"], "label": [0, None, 1]})
    path = tmp_path / f"a.{ending}"
    write: dict[str, Any] = {"jsonl": frame.write_ndjson, "parquet": frame.write_parquet, "xlsx": frame.write_excel}
    write[ending](path)
    assert read(path) == (["one", "two", "three"], ["0", None, "1"], [1, 2, 3])


def test_several_labels(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"text": "one", "labels": ["a", "b"]}\n{"text": "two", "labels": null}\n{"text": "three", "labels": ["b"]}\n'
    )
    assert read(tmp_path / "a.jsonl")[1] == [("a", "b"), None, ("b",)]
    (tmp_path / "a.csv").write_text("text,label\none,a;b\ntwo,\nthree,b\n")
    assert read(tmp_path / "a.csv", label_separator=";")[1] == [("a", "b"), None, ("b",)]


def test_labels_are_mapped_and_merged(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\none,Spam\ntwo,spam\nthree,ham\nfour,\nfive,spam\n")
    assert read(path, merge_labels=True)[1] == ["spam", "spam", "ham", None, "spam"]
    assert read(path, label_map={"ham": "", "Spam": "x"})[1] == ["x", "spam", None, None, "spam"]


def test_a_file_without_any_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,\n2,\n")
    with pytest.raises(DataError, match="no row has a text"):
        read(tmp_path / "a.csv")
