"""Labels of files: types, spellings, several in one cell, and maps."""

import datetime
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tfcr.data import load_data, read_corpus
from tfcr.data.datasets import pydocs
from tfcr.data.datasets.pydocs import LEAST_DOCUMENTS
from tfcr.data.labels import merge_spellings, several_labels
from tfcr.data.options import ReadOptions
from tfcr.errors import DataError


def json_file(folder: Path, *labels: str) -> Path:
    """Write JSON lines with these labels, as JSON."""
    path = folder / "a.jsonl"
    path.write_text("".join(f'{{"text": "t{n}", "label": {label}}}\n' for n, label in enumerate(labels)), "utf-8")
    return path


def csv_file(folder: Path, *labels: str, name: str = "a.csv") -> Path:
    path = folder / name
    pl.DataFrame({"text": [f"t{n}" for n in range(len(labels))], "label": labels}).write_csv(path)
    return path


# types ---------------------------------------------------------------------------------------------------------------

KEPT: dict[str, tuple[tuple[str, ...], list[Any]]] = {
    "integers": (("1", "2"), [1, 2]),
    "numbers as text": (('"1"', '"2"'), ["1", "2"]),
    "integers and numbers": (("1", "2.5"), [1, 2.5]),
    "beyond 64 bits": (("9223372036854775808", "9223372036854775809"), ["9223372036854775808", "9223372036854775809"]),
    "45 digits": ((str(10**45), str(10**45 + 1)), [str(10**45), str(10**45 + 1)]),
    "several types that stay apart": (("1", '"y"', "true"), ["1", "y", "true"]),
    "booleans": (("true", "false"), [True, False]),
    "none": (('"a"', "null", "NaN"), ["a"]),
}


@pytest.mark.parametrize("kind", KEPT)
def test_labels_of_json_keep_their_type(kind: str, tmp_path: Path) -> None:
    written, expected = KEPT[kind]
    found = read_corpus(json_file(tmp_path, *written)).labels
    assert found == expected
    assert list(map(type, found)) == list(map(type, expected))


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "number and text": (("1", '"1"'), r'a.jsonl: found the labels 1 and "1", of different types; expected one type'),
    "boolean and text": (("true", '"true"'), 'found the labels true and "true"'),
    "integers that would be rounded": (("9007199254740993", "0.5"), "which would round it"),
    "lists of objects": (('[{"a": 1}]', '["a"]'), "row 1: found an object as label"),
    "lists of lists": (('[["a"]]', '[["b"]]'), "row 1: found a list as label"),
    "objects": (('{"a": 1}', '{"a": 2}'), "holds objects"),
    "objects and text": (('{"a": 1}', '"a"'), "row 1: found an object as label"),
    "halves of a surrogate pair": (('"a\\ud800"', '"a\\ud801"'), "half of a surrogate pair"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_labels_of_json_never_merge(kind: str, tmp_path: Path) -> None:
    written, message = REFUSED[kind]
    with pytest.raises(DataError, match=message):
        read_corpus(json_file(tmp_path, *written))


def test_long_integers_of_csv_stay_text(tmp_path: Path) -> None:
    corpus = read_corpus(csv_file(tmp_path, str(2**63), str(2**63 + 1)))
    assert corpus.labels == [str(2**63), str(2**63 + 1)]
    assert "some labels are integers beyond 64 bits; all labels are kept as text" in corpus.notes
    assert read_corpus(csv_file(tmp_path, str(2**63 - 1), "1")).labels == [2**63 - 1, 1]


DAY = datetime.datetime(2024, 5, 31, 13, 30)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([DAY.date(), DAY.date()], "2024-05-31"),
        ([DAY, DAY], "2024-05-31 13:30:00"),
        ([DAY.time(), DAY.time()], "13:30:00"),
        ([datetime.timedelta(1), None], "P1D"),
        (pl.Series(["x", "y"], dtype=pl.Categorical), "x"),
        (pl.Series(["1.50", "2"]).cast(pl.Decimal(5, 2)), "1.50"),
        (pl.Series([1, 2], dtype=pl.UInt8), 1),
        (pl.Series([2**64 - 1, 2], dtype=pl.UInt64), str(2**64 - 1)),
    ],
)
def test_labels_of_parquet(values: Any, expected: Any, tmp_path: Path) -> None:
    pl.DataFrame({"text": ["a", "b"], "label": values}).write_parquet(tmp_path / "a.parquet")
    assert read_corpus(tmp_path / "a.parquet").labels[0] == expected


@pytest.mark.parametrize("values", [[["a"], ["b"]], [{"a": 1}, {"a": 2}], [b"\xff", b"b"]])
@pytest.mark.parametrize("column", ["text", "label", "who"])
def test_columns_that_hold_no_text(column: str, values: Any, tmp_path: Path) -> None:
    table = {"text": ["long text", "text"], "label": ["x", "y"], "who": ["a", "b"]} | {column: values}
    pl.DataFrame(table).write_parquet(tmp_path / "a.parquet")
    if column == "label" and isinstance(values[0], list):
        values = [[value] for value in values]  # a list of labels is fine, a list of lists is not
        pl.DataFrame(table | {column: values}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=f"the column '{column}' holds"):
        read_corpus(tmp_path / "a.parquet", group="who")


def test_half_of_a_surrogate_pair_in_a_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "cut \\ud83d", "label": "x", "k\\ud800": 1}\n{"text": "\\ud83d\\ude00", "label": "y"}\n')
    assert read_corpus(path, text=("text",)).texts == ["cut \ufffd", "😀"]


# spellings -----------------------------------------------------------------------------------------------------------

SPELLINGS = ["World", "World", "WORLD", " world", "Wo\u200brld", "Ｗorld", "Café", "Cafe\u0301", "Sports"]


def test_spellings_are_reported_and_merged_only_on_demand(tmp_path: Path) -> None:
    path = csv_file(tmp_path, *SPELLINGS)
    corpus = read_corpus(path)
    assert len(set(corpus.labels)) == 8
    found = next(line for line in corpus.notes if "--merge-labels" in line)
    assert "'World' (2), 'WORLD' (1), 'world' (1)" in found
    merged = read_corpus(path, merge_labels=True)
    assert Counter(merged.labels) == {"World": 6, "Café": 2, "Sports": 1}
    assert not any("--merge-labels" in line for line in merged.notes)
    assert any(line.startswith("5 labels are spelled as a more frequent label: ") for line in merged.notes)


def test_a_models_spelling_wins() -> None:
    assert merge_spellings(["WORLD", "WORLD", "x"], ["World", "x"])[0] == ["World", "World", "x"]
    assert merge_spellings([1, 2, True], ["a"]) == ([1, 2, True], [])


def test_cells_that_look_like_several_labels(tmp_path: Path) -> None:
    corpus = read_corpus(csv_file(tmp_path, "billing;refund", "billing;refund", "billing", "a|b"))
    expected = "3 rows have what looks like several labels, 'billing;refund' (2), 'a|b' (1)"
    assert any(line.startswith(expected) for line in corpus.notes)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["a,b", "a", "b"], {"a,b"}),
        (["a/b", "b/c", "a/c"], {"a/b", "b/c", "a/c"}),
        (["New York, USA", "Boston, USA"], set()),
        (["R&D", "sales"], set()),
        (["alt.atheism", "sci.med", "C++", "a;", ";"], set()),
        ([1, 2, True], set()),
    ],
)
def test_what_looks_like_several_labels(labels: list[Any], expected: set[str]) -> None:
    assert set(several_labels(labels)) == expected


# maps ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["map.csv", "map.tsv", "map.jsonl"])
def test_labels_are_mapped(name: str, tmp_path: Path) -> None:
    rows = [("from", "to"), ("a", "one"), ("b", "one"), ("drop", "")]
    if name.endswith("jsonl"):
        (tmp_path / name).write_text("".join(json.dumps({"from": old, "to": new}) + "\n" for old, new in rows))
    else:
        (tmp_path / name).write_text("".join(("," if ".csv" in name else "\t").join(row) + "\n" for row in rows))
    corpus = read_corpus(csv_file(tmp_path, "a", "b", "c", "drop", name="data.csv"), label_map=tmp_path / name)
    assert (corpus.labels, corpus.texts, corpus.rows) == (["one", "one", "c"], ["t0", "t1", "t2"], [1, 2, 3])
    assert "1 rows are left out, as the map says" in corpus.notes
    assert not any("do not occur" in line for line in corpus.notes)


def test_maps_of_numbers_and_in_python(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "1", "2", "3")
    assert read_corpus(path, label_map={1: "good", "2": "bad"}).labels == ["good", "bad", "3"]
    assert read_corpus(path, label_map={"1": "2"}).labels == [2, 2, 3]
    assert read_corpus(json_file(tmp_path, "true", "false"), label_map={"true": "yes"}).labels == ["yes", "false"]
    corpus = read_corpus(path, label_map={"1": "X", "2": "x"}, merge_labels=True)
    assert corpus.labels == ["X", "X", "3"]


def test_a_map_names_every_spelling_if_spellings_are_merged(tmp_path: Path) -> None:
    path = csv_file(tmp_path, "SciTech", "scitech", " SCITECH", "World", "Drop", "drop")
    known = {"Scitech": "Tech", "drop": "", "nowhere": "x"}
    corpus = read_corpus(path, label_map=known, merge_labels=True)
    assert corpus.labels == ["Tech", "Tech", "Tech", "World"]
    assert "the map names labels that do not occur: 'nowhere'" in corpus.notes
    assert read_corpus(path, label_map={"SciTech": "Tech"}).labels[:3] == ["Tech", "scitech", "SCITECH"]
    disagreeing = read_corpus(path, label_map={"SciTech": "a", "scitech": "b"}, merge_labels=True)
    assert disagreeing.labels[:3] == ["a", "b", "SCITECH"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,c\n", "map.csv has 3 columns; expected a map of labels with two"),
        ("a,b\na,c\n", "map.csv, row 2: 'a' was mapped to 'b' before; give it once"),
        (",b\n", "map.csv, row 1: found no label to map"),
        ("A,b\n", "none of the 1 labels of the map .'A'. is in the data; its labels: 'a', 'b'"),
        ("a,\nb,\n", "leaves out every row"),
        ("", "map.csv is empty"),
    ],
)
def test_bad_maps(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "map.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_corpus(csv_file(tmp_path, "a", "b"), label_map=tmp_path / "map.csv")


def test_datasets_by_name_are_mapped_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path))
    # reading the whole standard library takes seconds
    monkeypatch.setattr(pydocs, "_docstrings", lambda: [(label, f"text {label}") for label in "abc" * LEAST_DOCUMENTS])
    assert set(load_data(["pydocs"]).labels) == {"a", "b", "c"}
    labels = set(load_data(["pydocs"], ReadOptions(label_map={"a": "renamed", "b": ""})).labels)
    assert labels == {"renamed", "c"}
