"""Several labels per row, in every format."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tfcr.data import load_data, read_corpus
from tfcr.data.options import ReadOptions
from tfcr.data.several import FlatLabels
from tfcr.errors import DataError, InputError

ROWS = [("one text", ["b", "a"]), ("two", []), ("three", ["a"])]
EXPECTED = [("b", "a"), (), ("a",)]


def write_csv(folder: Path, *cells: str, separator: str = ",") -> Path:
    path = folder / "a.csv"
    rows = [f"text {number}{separator}{cell}" for number, cell in enumerate(cells)]
    path.write_text(f"text{separator}label\n" + "\n".join(rows) + "\n", "utf-8")
    return path


def write_json(folder: Path, *labels: Any, name: str = "a.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps({"text": f"text {n}", "labels": some}) + "\n" for n, some in enumerate(labels)))
    return path


def test_cells_of_delimited_text_are_split(tmp_path: Path) -> None:
    corpus = read_corpus(write_csv(tmp_path, "b; a", "", "a"), label_separator=";")
    assert corpus.labels == EXPECTED
    assert corpus.several
    assert corpus.label_separator == ";"
    assert corpus.class_sizes() == {"a": 2, "b": 1}
    assert "several labels per row, 1.00 in the mean; 1 have none, and count as documents of no class" in corpus.notes
    assert read_corpus(write_csv(tmp_path, "1;2", "2", separator="\t"), label_separator=";").labels == [(1, 2), (2,)]


def test_workbooks_and_files_of_labels_are_split(tmp_path: Path) -> None:
    pl.DataFrame({"text": ["one", "two"], "label": ["b|a", "a"]}).write_excel(tmp_path / "a.xlsx")
    assert read_corpus(tmp_path / "a.xlsx", label_separator="|").labels == [("b", "a"), ("a",)]
    (tmp_path / "texts.txt").write_text("one\ntwo\n")
    (tmp_path / "labels.txt").write_text("b, a\na\n")
    found = read_corpus(tmp_path / "texts.txt", label_files=(str(tmp_path / "labels.txt"),), label_separator=",")
    assert found.labels == [("b", "a"), ("a",)]


def test_lists_of_json_and_parquet(tmp_path: Path) -> None:
    assert read_corpus(write_json(tmp_path, *(own for _, own in ROWS))).labels == EXPECTED
    assert read_corpus(write_json(tmp_path, ["b", "a"], None, "a")).labels == [("b", "a"), ("a",)]  # None is missing
    assert read_corpus(write_json(tmp_path, [1, 2], [2])).labels == [(1, 2), (2,)]
    pl.DataFrame({"text": [text for text, _ in ROWS], "labels": [own for _, own in ROWS]}).write_parquet(
        tmp_path / "a.parquet"
    )
    assert read_corpus(tmp_path / "a.parquet").labels == EXPECTED
    fixed = pl.Series("labels", [["b", "a"], ["a", "c"]], pl.Array(pl.Categorical, 2))
    pl.DataFrame({"text": ["one text", "two"]}).with_columns(fixed).write_parquet(tmp_path / "a.parquet")
    assert read_corpus(tmp_path / "a.parquet").labels == [("b", "a"), ("a", "c")]


def test_marks_of_fasttext(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("__label__b __label__a one text\ntwo\n__label__a three\n")
    assert read_corpus(path).labels == EXPECTED
    assert read_corpus(path).texts == ["one text", "two", "three"]
    path.write_text("__label__b one\n__label__a two\n")
    assert read_corpus(path).labels == ["b", "a"]  # one each
    assert read_corpus(path, several=True).labels == [("b",), ("a",)]  # for a model that gives several


def test_files_of_lists_and_of_labels_together(tmp_path: Path) -> None:
    lists, plain = write_json(tmp_path, ["b", "a"]), write_json(tmp_path, "a", name="b.jsonl")
    assert read_corpus(lists, plain).labels == [("b", "a"), ("a",)]


def test_the_separator_of_a_model_need_not_occur(tmp_path: Path) -> None:
    path = write_csv(tmp_path, "a", "b")
    assert read_corpus(path, default_separator=";", several=True).labels == [("a",), ("b",)]
    assert read_corpus(path, default_separator=";").labels == ["a", "b"]


def test_labels_are_mapped_and_merged_one_by_one(tmp_path: Path) -> None:
    path = write_csv(tmp_path, "b;a", "c", "A;a;d", "")
    corpus = read_corpus(path, label_separator=";", merge_labels=True, label_map={"b": "x", "c": "", "d": "x"})
    assert corpus.labels == [("x", "a"), ("a", "x"), ()]
    assert corpus.rows == [1, 3, 4]
    assert "1 labels are left out, as the map says" in corpus.notes
    with pytest.raises(DataError, match="leaves out every row"):
        read_corpus(write_csv(tmp_path, "a;b"), label_separator=";", label_map={"a": "", "b": ""})


BAD: dict[str, tuple[tuple[str, ...], dict[str, Any], str]] = {
    "never": (
        ("a", "b"),
        {"label_separator": "|"},
        r"a.csv: the label separator '\|' never occurs in the column 'label'",
    ),
    "between": (("a;;b", "b"), {"label_separator": ";"}, r"row 1: found an empty label among \['a', '', 'b'\]"),
    "at the end": (("a", "a;b;"), {"label_separator": ";"}, "row 2: found an empty label"),
    "twice": (("a;b", "b; b"), {"label_separator": ";"}, r"row 2: found a label twice in \['b', 'b'\]"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_cells(kind: str, tmp_path: Path) -> None:
    cells, options, message = BAD[kind]
    with pytest.raises(DataError, match=message):
        read_corpus(write_csv(tmp_path, *cells), **options)


def test_bad_lists(tmp_path: Path) -> None:
    for labels, message in (
        ([["a"], ["a", ""]], "row 2: found an empty label"),
        ([["a"], ["a", None]], "row 2: found an empty label"),
        ([["a", "a"], ["b"]], "row 1: found a label twice"),
        ([[], []], "no row has a label"),
    ):
        with pytest.raises(DataError, match=message):
            read_corpus(write_json(tmp_path, *labels))
    with pytest.raises(DataError, match="found --label-separator ';', and lists of labels; leave it out"):
        read_corpus(write_json(tmp_path, ["a"], ["b"]), label_separator=";")
    (tmp_path / "a.txt").write_text("__label__b __label__a one text\n")
    with pytest.raises(DataError, match="and a mark before each label; leave it out"):
        read_corpus(tmp_path / "a.txt", label_separator=";")
    with pytest.raises(InputError, match="found an empty label separator"):
        ReadOptions(label_separator="")
    with pytest.raises(InputError, match="found --label-separator with the dataset 'pydocs'"):
        load_data(["pydocs"], ReadOptions(label_separator=";"))


def test_a_note_names_the_option(tmp_path: Path) -> None:
    notes = read_corpus(write_csv(tmp_path, "b;a", "a")).notes
    assert any("--label-separator reads them as several labels" in note for note in notes)


def test_flat_labels_of_one_each_stay_rows() -> None:
    flat = FlatLabels.of(["a", "b"])
    assert (flat.labels, flat.nest([None, "x"])) == (["a", "b"], [None, "x"])
