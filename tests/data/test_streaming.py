"""Files in pieces: the same rows as whole, whatever the size of a piece."""

import csv
import json
import re
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.files import FILES, ROWS, pairs
from tfcr.data import ReadOptions, delimited, streaming
from tfcr.data.encoding import DataFile
from tfcr.data.isolated_child import row_slices
from tfcr.data.readers import read_table, table_pieces
from tfcr.data.streaming import row_end, text_pieces
from tfcr.errors import DataError, TfcrWarning

CELLS = st.text(st.sampled_from('ab,"\n é'), max_size=8)


@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12), size=st.integers(1, 60))
def test_quoted_rows_are_never_cut(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], size: int
) -> None:
    path = tmp_path_factory.mktemp("rows") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("text", "label"), *rows])
    options = ReadOptions(separator=",")
    whole = read_table(path, options).frame
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "PIECE_BYTES", size)
        assert read_table(path, options).frame.equals(whole)
        pieces = list(text_pieces(DataFile(path), "utf-8", row_end(",", quoting=True)))
    assert b"".join(piece.content for piece in pieces) == path.read_bytes()
    assert [piece.is_last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert [piece.lines_before for piece in pieces[:2]] == [0, pieces[0].content.count(b"\n")][: len(pieces)]


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "fasttext", "parquet"])
def test_every_format_in_pieces(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = FILES[name](tmp_path)
    monkeypatch.setattr(streaming, "PIECE_BYTES", 20)
    assert len(list(table_pieces(path, ReadOptions()))) > 1
    assert pairs(path) == ROWS


def test_a_bad_row_is_named_by_its_line_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", 20)
    (tmp_path / "a.csv").write_text("text,label\n" + "good,x\n" * 20 + "bad,x,y\n")
    with pytest.raises(DataError, match="a.csv, line 22: found 3 columns; expected 2"):
        read_table(tmp_path / "a.csv", ReadOptions())
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n' * 20 + "bad\n")
    with pytest.raises(DataError, match="a.jsonl, line 21: Expecting value at character 1"):
        read_table(tmp_path / "a.jsonl", ReadOptions())


def test_a_json_list_and_a_long_row_are_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", 10)
    (tmp_path / "a.json").write_text(json.dumps([{"text": "a", "label": "x"}] * 20, indent=1))
    assert len(list(table_pieces(tmp_path / "a.json", ReadOptions()))) == 1
    (tmp_path / "a.csv").write_text(f"text,label\n{'word ' * 50},x\n")
    assert read_table(tmp_path / "a.csv", ReadOptions()).frame["text"].to_list() == ["word " * 50]


def test_columns_that_only_some_pieces_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", 30)
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": 1}\n' * 3 + '{"text": "b", "label": 2.5, "more": 1}\n')
    frame = read_table(tmp_path / "a.jsonl", ReadOptions()).frame
    assert frame["label"].to_list() == [1, 1, 1, 2.5]
    assert frame["more"].to_list() == [None, None, None, 1]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["{}", '"w"'], ["{}", "w"]),
        (['"w"', '{"a": 1}'], ["w", '{"a": 1}']),
        (["[1, null]", '"w"'], ["[1, null]", "w"]),
        (["1e22", "1.0", '"w"'], ["10000000000000000000000", "1", "w"]),
        (["true", "1"], ["true", "1"]),
        (["[1]", "2"], ["[1]", "2"]),
        (['{"a": [1]}', '{"a": {}}'], ['{"a": [1]}', '{"a": {}}']),
        (['"\\ud83d"', "1"], ["\ufffd", "1"]),
        (["1", "2.5"], [1, 2.5]),
    ],
)
def test_cells_of_several_types_become_the_same_in_pieces(
    cells: list[str], expected: list[object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_text("".join(f'{{"t": {cell}}}\n' for cell in cells))
    assert read_table(tmp_path / "a.jsonl", ReadOptions()).frame["t"].to_list() == expected
    monkeypatch.setattr(streaming, "PIECE_BYTES", 1)
    assert read_table(tmp_path / "a.jsonl", ReadOptions()).frame["t"].to_list() == expected


def test_slices_of_rows() -> None:
    assert row_slices(10, 100, 1000, 99) == [(0, 10)]
    assert row_slices(0, 100, 1000, 99) == []
    assert [start for start, _ in row_slices(10, 1000, 1000, 99)] == [0, 2, 4, 6, 8]
    assert row_slices(2, 8000, 1000, 99) == [(0, 1), (1, 1)]
    assert len(row_slices(100, 10, 1000, 7)) == 15


def test_a_file_of_blank_lines_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\n \n")
    with pytest.raises(DataError, match="a.csv is empty; expected labelled texts"):
        read_table(tmp_path / "a.csv", ReadOptions())
    pl.DataFrame({"text": []}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataError, match="a.parquet holds no rows; expected texts"):
        read_table(tmp_path / "a.parquet", ReadOptions())


# any file, any piece size ------------------------------------------------------------------------------------------

MESSY = {
    "csv": st.text(st.sampled_from('ab,"\n\r é'), max_size=60),
    "tsv": st.text(st.sampled_from('ab\t"\n\r '), max_size=60),
    "lines": st.text(st.sampled_from("ab\n\r \x0b\x85"), max_size=60),
    "fasttext": st.lists(st.sampled_from(["__label__x", " ", "a", "\n", "\n\n", "__label__y b"]), max_size=30).map(
        "".join
    ),
    "jsonl": st.lists(
        st.sampled_from(
            [
                '{"text": "a"}',
                '{"text": "b", "text": "c"}',
                '{"text": "\\ud83d"}',
                '{"text": {}}',
                '{"text": {"a": 1}}',
                '{"text": [1]}',
                '{"text": 1e22}',
                '{"text": 1.0}',
                '{"text": true, "label": 1}',
                "[1]",
                " ",
                "",
                "\r",
                "{}",
                "x",
                "null",
            ]
        ),
        max_size=12,
    ).map("\n".join),
}


def rows_or_error(path: Path, options: ReadOptions) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TfcrWarning)
        try:
            frame = read_table(path, options).frame
        except DataError as error:
            return re.sub(r"in pieces|number \d+|line \d+", "", str(error))
    return {name: list(map(str, cells)) for name, cells in frame.to_dict(as_series=False).items()}


@pytest.mark.parametrize("name", MESSY)
@settings(deadline=None)
@given(data=st.data())
def test_any_file_has_the_same_rows_in_pieces_of_any_size(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("messy") / "file"
    path.write_bytes(data.draw(MESSY[name], label="content").encode())
    quoting = data.draw(st.sampled_from([None, True, False]), label="quoting")
    options = ReadOptions(format=name, separator="," if name == "csv" else None, quoting=quoting)
    whole = rows_or_error(path, options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "PIECE_BYTES", data.draw(st.integers(1, 40), label="piece"))
        patch.setattr(delimited, "TALLY_BYTES", data.draw(st.integers(1, 40), label="tally"))
        assert rows_or_error(path, options) == whole


def test_a_row_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", 10)
    monkeypatch.setattr(streaming, "MOST_ROW_BYTES", 1 << 20)
    (tmp_path / "a.txt").write_text("a\n" + "word " * 300_000)
    with pytest.raises(DataError, match="a.txt, line 2: found a row of more than 1 MB; expected rows of texts"):
        read_table(tmp_path / "a.txt", ReadOptions(format="lines"))
    (tmp_path / "a.json").write_text(json.dumps([{"text": "word " * 300_000}]))
    with pytest.raises(DataError, match="a.json, line 1: .*, a JSON list; write one object per line: jq -c"):
        read_table(tmp_path / "a.json", ReadOptions())


def test_line_breaks_of_old_macs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"text,label\ra,x\rb,y\r")
    assert pairs(tmp_path / "a.csv") == [("a", "x"), ("b", "y")]
