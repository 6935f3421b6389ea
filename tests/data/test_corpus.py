"""Rows that are used, left out and counted; several files; standard input."""

import io
from pathlib import Path

import pytest

from tests.data.files import FILES, ROWS, pairs
from tfcr.data import read_corpus
from tfcr.errors import DataError


def test_rows_left_out_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na b,x\n,x\nc d, \n  ,\na b,x\ne f,y\n")
    corpus = read_corpus(path)
    assert corpus.rows == [1, 5, 6]
    assert "1 of 6 rows have no text and are left out (row 2)" in corpus.notes
    assert "1 of 6 rows have no label and are left out (row 3)" in corpus.notes
    assert any(note.startswith("1 rows repeat the text and label") for note in corpus.notes)


def test_rows_without_anything_are_counted_once(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,x\n,\nb,\n,y\nb,y\n")
    assert [line for line in read_corpus(tmp_path / "a.csv").notes if "left out" in line] == [
        "1 of 5 rows have no text and are left out (row 4)",
        "1 of 5 rows have no label and are left out (row 3)",
        "1 of 5 rows have no text and no label and are left out (row 2)",
    ]


def test_labels_keep_their_type(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("text,label\na,1\nb,2\n")
    corpus = read_corpus(path)
    assert corpus.labels == [1, 2]
    assert any("the labels are numbers (1, 2)" in note for note in corpus.notes)
    path.write_text("text,label\na,01\nb,2\n")
    assert read_corpus(path).labels == ["01", "2"]
    (tmp_path / "n.jsonl").write_text('{"text": "a", "label": 1.5}\n{"text": "b", "label": 2.5}\n')
    assert read_corpus(tmp_path / "n.jsonl").labels == [1.5, 2.5]
    (tmp_path / "b.jsonl").write_text('{"text": "a", "label": true}\n{"text": "b", "label": false}\n')
    assert read_corpus(tmp_path / "b.jsonl").labels == [True, False]


def test_several_files_are_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,x\n")
    (tmp_path / "b.csv").write_text("label,text,more\ny,b,1\n")
    corpus = read_corpus(tmp_path / "a.csv", tmp_path / "b.csv")
    assert (corpus.texts, corpus.labels, corpus.rows) == (["a", "b"], ["x", "y"], [1, 2])


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("csv", "jsonl", "parquet", "fasttext"):
        content = FILES[name](tmp_path).read_bytes()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert pairs(Path("-")) == ROWS


def test_each_of_several_files_has_its_own_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,x\n")
    (tmp_path / "b.csv").write_text("n,tweet,class,who\n7,b,y,me\n")
    (tmp_path / "c.jsonl").write_text('{"body": "c", "topic": "z"}\n')
    corpus = read_corpus(tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.jsonl")
    assert (corpus.texts, corpus.labels, corpus.rows) == (["a", "b", "c"], ["x", "y", "z"], [1, 2, 3])
    assert (corpus.columns, corpus.label_column) == (("text",), "label")
    assert "text: tweet, label: class" in corpus.notes[0]


def test_a_file_without_the_columns_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,x\n")
    (tmp_path / "b.csv").write_text("one,two,three\n1,2,3\n")
    with pytest.raises(DataError, match=r"b.csv: which column holds the label\? .*; columns: one, two, three$"):
        read_corpus(tmp_path / "a.csv", tmp_path / "b.csv")
    with pytest.raises(DataError, match="b.csv: unknown column for --label 'label'; known: one, two, three"):
        read_corpus(tmp_path / "a.csv", tmp_path / "b.csv", label="label")


def test_labels_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,1\n")
    (tmp_path / "b.jsonl").write_text('{"text": "b", "label": 2}\n')
    assert read_corpus(tmp_path / "a.csv", tmp_path / "b.jsonl").labels == [1, 2]
    (tmp_path / "c.jsonl").write_text('{"text": "c", "label": true}\n')
    assert read_corpus(tmp_path / "c.jsonl", tmp_path / "c.jsonl").labels == [True, True]
