"""Rows that cannot be read in the middle of a file: named, or left out and counted, whole and in pieces alike."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tfcr.data import ReadOptions, load_data, streaming
from tfcr.data.labelled_stream import labelled_stream
from tfcr.data.options import BAD_ROWS
from tfcr.data.sources import load_pieces, load_texts
from tfcr.errors import DataError, TfcrWarning, UnknownNameError

GOOD = [(f"text ä {number}", f"c{number % 2}") for number in range(30)]
BAD_AT = 17
"""How many good rows stand before the bad one."""


def _csv(bad: bytes) -> bytes:
    lines = [f"{text},{label}\n".encode() for text, label in GOOD]
    return b"text,label\n" + b"".join(lines[:BAD_AT]) + bad + b"\n" + b"".join(lines[BAD_AT:])


def _jsonl(bad: bytes) -> bytes:
    lines = [json.dumps({"text": text, "label": label}, ensure_ascii=False).encode() + b"\n" for text, label in GOOD]
    return b"".join(lines[:BAD_AT]) + bad + b"\n" + b"".join(lines[BAD_AT:])


def _fasttext(bad: bytes) -> bytes:
    lines = [f"__label__{label} {text}\n".encode() for text, label in GOOD]
    return b"".join(lines[:BAD_AT]) + bad + b"\n" + b"".join(lines[BAD_AT:])


CASES: dict[str, tuple[str, Callable[[bytes], bytes], bytes, str, str]] = {
    "too many cells": ("a.csv", _csv, b"a,b,c", "line 19: found 3 columns; expected 2", "row 18: line 19: found 3 col"),
    "bytes of CSV": (
        "a.csv",
        _csv,
        b"a\xff,x",
        "in line 19, is not utf-8",
        "row 18: line 19: found bytes that are not",
    ),
    "bytes in quotes": (
        "a.csv",
        _csv,
        b'"a\n\xff",x',
        "line 20, is not utf-8",
        "row 18: line 20: found bytes that are",
    ),
    "half an object": ("a.jsonl", _jsonl, b'{"text": "a", "la', "line 18: Unterminated", "row 18: line 18: Unterm"),
    "no object": ("a.jsonl", _jsonl, b"[1, 2]", "line 18: found list; expected JSON", "row 18: line 18: found list"),
    "bytes of JSON": (
        "a.jsonl",
        _jsonl,
        b'{"text": "\xff", "label": "x"}',
        "in line 18, is not utf-8",
        "row 18: line 18: found bytes that are not",
    ),
    "deep": (
        "a.jsonl",
        _jsonl,
        b'{"text": ' + b"[" * 40 + b"]" * 40 + b"}",
        "line 18: found lists",
        "row 18: line 18:",
    ),
    "an object as label": (
        "a.jsonl",
        _jsonl,
        b'{"text": "a", "label": {"a": 1}}',
        "row 18: found an object as label",
        "row 18: found an object as label",
    ),
    "a long label": (
        "a.csv",
        _csv,
        b"a," + b"y" * 1200,
        "row 18: found a label of 1,200 characters",
        "row 18: found a label of 1,200 characters",
    ),
    "bytes of fastText": (
        "a.txt",
        _fasttext,
        b"__label__x a\xff",
        "in line 18, is not utf-8",
        "row 18: line 18: found bytes that are not",
    ),
}


@pytest.fixture(params=[60, 1 << 26])
def _piece_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", request.param)


@pytest.mark.usefixtures("_piece_size")
@pytest.mark.parametrize("case", list(CASES))
def test_a_bad_row_in_the_middle(case: str, tmp_path: Path) -> None:
    name, write, bad, stopped, note = CASES[case]
    path = tmp_path / name
    path.write_bytes(write(bad))
    for read in (lambda: load_data([str(path)]), lambda: list(labelled_stream([str(path)]))):
        with pytest.raises(DataError, match=rf"{name}.*{stopped}.*: --bad-rows skip$"):
            read()
    options = ReadOptions(bad_rows="skip")
    corpus = load_data([str(path)], options)
    assert list(zip(corpus.texts, corpus.labels, strict=True)) == GOOD
    assert corpus.rows == [*range(1, BAD_AT + 1), *range(BAD_AT + 2, len(GOOD) + 2)]
    stream = labelled_stream([str(path)], on_bad_row="skip")
    for _ in range(2):
        found = [row for piece in stream for row in zip(piece.rows.tolist(), piece.texts, piece.labels, strict=True)]
        assert found == list(zip(corpus.rows, corpus.texts, corpus.labels, strict=True))
    assert stream.notes == corpus.notes
    assert f"1 row of {path} could not be read and is left out, {note}" in corpus.notes[0]
    assert "have no text" not in "".join(corpus.notes)
    assert stream.n_rows == len(GOOD)
    assert stream.survey.n_left_out == 1


@pytest.mark.usefixtures("_piece_size")
def test_many_bad_rows_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        *["no"] * 4,
        *['{"text": "a", "label": "x"}', "{", '{"text": "b", "label": []}'] * 3,
        '{"text": "c"}',
        "no",
    ]
    path.write_text("\n".join(lines))
    options = ReadOptions(bad_rows="skip", several=True)
    corpus = load_data([str(path)], options)
    stream = labelled_stream([str(path)], options)
    assert [text for piece in stream for text in piece.texts] == corpus.texts == ["a", "b"] * 3
    assert (
        f"8 rows of {path} could not be read and are left out, the first is row 1: line 1: Expecting" in stream.notes[0]
    )
    assert "1 of 15 rows have no label and are left out (row 14)" in stream.notes
    assert stream.notes[0] == corpus.notes[0]


def test_bad_rows_keep_their_place_for_predictions(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,x\nb,y,z\nc,y\n")
    options = ReadOptions(bad_rows="skip")
    with pytest.warns(
        TfcrWarning, match="1 row of .*a.csv could not be read and is empty, row 2: line 3: found 3 colu"
    ):
        tables = [table.frame for table, _ in load_pieces([str(path)], options)]
    assert [frame["text"].to_list() for frame in tables] == [["a", None, "c"]]
    with pytest.warns(TfcrWarning, match="1 row of"):
        assert load_texts([str(path)], options)[0] == ["a", "c"]


@pytest.mark.usefixtures("_piece_size")
@pytest.mark.parametrize(
    ("content", "options", "what"),
    [
        ("text,label\na,x;y\nb,x;;y\nc,\n", {"label_separator": ";"}, "found an empty label among"),
        ("text,label\na,x;y\nb,y; y\nc,\n", {"label_separator": ";"}, "found a label twice in"),
        ("text,label\na,x;y\nb,y;y\nc,\n", {"default_separator": ";", "several": True}, "found a label twice in"),
        ("__label__x __label__y a\n__label__x __label__x b\nc\n", {"format": "fasttext"}, "found a label twice in"),
    ],
)
def test_bad_sets_of_labels(content: str, options: dict[str, Any], what: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(content)
    for read in (lambda: load_data([str(path)], ReadOptions(**options)), lambda: _rows(path, options)):
        with pytest.raises(DataError, match=f"a.txt, row 2: {what} .*--bad-rows skip$"):
            read()
    corpus = load_data([str(path)], ReadOptions(bad_rows="skip", **options))
    assert list(zip(corpus.texts, corpus.labels, strict=True)) == [("a", ("x", "y")), ("c", ())]
    assert f"1 row of {path} could not be read and is left out, row 2: {what}" in corpus.notes[0]
    assert _rows(path, {**options, "bad_rows": "skip"}) == list(zip(corpus.texts, corpus.labels, strict=True))


def _rows(path: Path, options: dict[str, Any]) -> list[tuple[str, Any]]:
    stream = labelled_stream([str(path)], ReadOptions(**options))
    return [row for piece in stream for row in zip(piece.texts, piece.labels, strict=True)]


def test_the_names_of_columns_must_be_readable(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"t\xffext,label\n" + "ä,x\n".encode() * 20)
    with pytest.raises(
        DataError, match="line 1: found bytes that are not utf-8, in the names of its columns; give --enc"
    ):
        load_data([str(path)], ReadOptions(bad_rows="skip"))


def test_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nä,x\n".encode("cp1252") + b"\x81,x\n" + "ö,y\n".encode("cp1252"))
    options: dict[str, Any] = {"encoding": "cp1252"}
    with pytest.raises(DataError, match="in line 3, is not cp1252; .*--bad-rows skip"):
        load_data([str(path)], ReadOptions(**options))
    assert load_data([str(path)], ReadOptions(bad_rows="skip", **options)).texts == ["ä", "ö"]


def test_a_file_with_few_lines_in_utf8_is_read_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nä,x\n".encode() + "ö,y\nüber,z\n".encode("cp1252"))
    assert "cp1252" in load_data([str(path)]).notes[0]


def test_unknown_way() -> None:
    with pytest.raises(UnknownNameError, match=f"'drop'; known: {', '.join(BAD_ROWS)}"):
        ReadOptions(bad_rows="drop")
