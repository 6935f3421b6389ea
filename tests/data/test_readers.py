"""Every data format, and the message for each bad file."""

import gzip
import io
import os
import re
import sys
import zipfile
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from tests.data.files import FILES, ROWS, pairs, write_lines, write_sheets, write_xlsx
from tfcr.data import READERS, ReadOptions, read_corpus
from tfcr.data.encoding import DataFile
from tfcr.data.readers import REFUSED, detect_format, read_table
from tfcr.errors import DataError, MissingExtraError, UnknownNameError


@pytest.mark.parametrize("name", READERS)
def test_every_reader_reads_the_same(name: str, tmp_path: Path) -> None:
    options = {"label_files": (str(tmp_path / "labels.txt"),)} if name == "lines" else {}
    assert sorted(pairs(FILES[name](tmp_path), **options)) == sorted(ROWS)


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "xlsx", "fasttext"])
def test_gz_of_each(name: str, tmp_path: Path) -> None:
    path = FILES[name](tmp_path)
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert pairs(packed) == ROWS


def test_a_json_list_and_mixed_labels(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"text": "a", "label": "x"}, {"text": "b", "label": "y"}]')
    assert pairs(tmp_path / "a.json") == [("a", "x"), ("b", "y")]
    (tmp_path / "b.jsonl").write_text('{"text": "a", "label": 1}\n{"text": "b", "label": "y"}\n')
    assert [str(label) for _, label in pairs(tmp_path / "b.jsonl")] == ["1", "y"]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("missing.csv", None, {}, "does not exist; expected a data file"),
        ("a.xls", b"PK", {}, "is a spreadsheet; save it as .xlsx or CSV first"),
        ("a.xlsx", b"", {}, "a.xlsx is empty; expected labelled texts"),
        ("a.xlsx", b"PK", {}, "cannot be read as an Excel workbook: Cannot detect file format; open it, and save it"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), {}, "is encrypted; save it without"),
        ("a.csv", b"txt,label\na,b\n", {"text": ("text",)}, "unknown column for --text 'text'; known: txt, label"),
        ("a.csv", b"text,label\n", {}, "holds no rows"),
        ("a.csv", b"", {}, "is empty"),
        ("a", b"", {}, "is empty"),
        ("a.csv", b"text,label\n,x\n", {}, "no row has both a text and a label"),
        ("a.csv", b"text,label\na,x,c\nb,y\n", {}, r"line 2: found 3 columns; expected 2.*--columns 2"),
        ("a.csv", b"text,label\na,x\n", {"format": "excel"}, "unknown data format 'excel'; known: csv, tsv"),
        ("a.csv", b"text,label\na,x\n", {"encoding": "latin-l"}, "unknown encoding 'latin-l'"),
        (
            "a.csv",
            b"text,label\na,x\n",
            {"separator": "::"},
            r"expected one character \(.*\), or one of comma, semicolon",
        ),
        ("a.jsonl", b'{"text": ', {}, "line 1: .*expected one JSON object per line"),
        ("a.jsonl", b'{"text": "a", "label": "x"}\nbad\n', {}, "line 2: .*expected one JSON object per line"),
        ("a.json", b'["a"]', {}, "number 1: found str; expected JSON objects"),
        ("a.json", b'[{"a": ', {}, "cannot be read as JSON"),
        ("a.parquet", b"no parquet", {}, "cannot be read as Parquet"),
        ("a.tar.gz", b"no archive", {}, "truncated or not a tar archive"),
        ("a.csv.gz", gzip.compress(b"text,label\n" + bytes(1000), mtime=0)[:-9], {}, "is truncated or damaged"),
        ("a.txt", b"a\nb\n", {"label_files": ("nowhere",)}, "nowhere does not exist; expected a file of labels"),
        ("a.txt", b"a\nb\n", {"label_files": ("x", "y")}, "found 1 files and 2 files of labels"),
    ],
)
def test_bad_files(name: str, content: bytes | None, options: Any, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((DataError, UnknownNameError), match=message) as caught:
        read_corpus(tmp_path / name, **options)
    assert "\n" not in str(caught.value)


def test_cells_of_a_workbook_are_what_csv_would_have(tmp_path: Path) -> None:
    rows: list[list[Any]] = [
        [" text ", "whole", "part", "date", "moment", "time", "yes", "mixed", "whole", None, 2024],
        ["a", 1, 1.5, date(2024, 5, 31), datetime(2024, 5, 31, 13, 30), time(13, 30), True, 1, 1, "x", "y"],
        ["b", 12345678901, 2, None, None, None, False, "01", 2],
        [],
        ["d\ne", None, -1e-7],
    ]
    path = write_sheets(tmp_path / "a.xlsx", Tickets=rows)
    table = read_table(path, ReadOptions())
    assert table.frame.to_dict(as_series=False) == {
        "text": ["a", "b", None, "d\ne"],
        "whole": ["1", "12345678901", None, None],
        "part": ["1.5", "2", None, "-0.0000001"],
        "date": ["2024-05-31", None, None, None],
        "moment": ["2024-05-31 13:30:00", None, None, None],
        "time": ["13:30:00", None, None, None],
        "yes": ["true", "false", None, None],
        "mixed": ["1", "01", None, None],
        "whole (9)": ["1", "2", None, None],
        "10": ["x", None, None, None],
        "2024": ["y", None, None, None],
    }
    assert table.how == "Excel, sheet Tickets"
    assert pairs(path, label="whole") == [("a", 1), ("b", 12345678901)]


def test_a_workbook_without_header_and_with_several_sheets(tmp_path: Path) -> None:
    path = write_sheets(tmp_path / "a.xlsx", First=[["a", "x"], ["b", "y"]], Second=[["c", "z"]])
    corpus = read_corpus(path, header=False, text=("1",), label="2")
    assert (corpus.texts, corpus.labels) == (["a", "b"], ["x", "y"])
    assert "Excel, sheet First, the first of 2, 2 rows; text: 1, label: 2" in corpus.notes[0]


def test_workbooks_without_texts(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a.xlsx: the first sheet, One, is empty; expected labelled texts$"):
        read_corpus(write_sheets(tmp_path / "a.xlsx", One=[]))
    with pytest.raises(DataError, match="sheet, One, is empty; .*; others are Two, Three: give .* --sheet NAME"):
        read_corpus(write_sheets(tmp_path / "b.xlsx", One=[], Two=[["text", "label"], ["a", "x"]], Three=[]))
    with pytest.raises(DataError, match="c.xlsx holds no rows; expected texts"):
        read_corpus(write_sheets(tmp_path / "c.xlsx", One=[["text", "label"]]))


def test_a_damaged_workbook_gets_one_line(tmp_path: Path) -> None:
    content = write_xlsx(tmp_path).read_bytes()
    start = content.find(b"xl/worksheets/sheet1.xml") + 40
    cut, overwritten = content[:-100], content[:start] + bytes(20) + content[start + 20 :]
    for number, damaged in enumerate([cut, overwritten, without_sheets(content)]):
        (tmp_path / f"{number}.xlsx").write_bytes(damaged)
        with pytest.raises(DataError, match="cannot be read as an Excel workbook: .*; open it, and save") as caught:
            read_corpus(tmp_path / f"{number}.xlsx")
        assert "\n" not in str(caught.value)


def without_sheets(workbook: bytes) -> bytes:
    """Return a workbook whose list of sheets is empty."""
    kept = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook)) as old, zipfile.ZipFile(kept, "w") as new:
        for name in old.namelist():
            new.writestr(name, re.sub(rb"<sheet .*?/>", b"", old.read(name)))
    return kept.getvalue()


def test_a_workbook_needs_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    with pytest.raises(MissingExtraError, match=r"reading Excel workbooks needs .*: pip install 'tfcr\[excel\]'"):
        read_corpus(write_xlsx(tmp_path))


def test_labels_of_another_number_than_texts(tmp_path: Path) -> None:
    path = write_lines(tmp_path)
    (tmp_path / "labels.txt").write_text("one\n")
    with pytest.raises(DataError, match="holds 1 labels for 3 texts"):
        read_corpus(path, label_files=(str(tmp_path / "labels.txt"),))


def test_every_row_has_a_file_to_test_it() -> None:
    assert list(FILES) == list(READERS)


def test_every_ending_belongs_to_one_row() -> None:
    endings = [ending for reader in READERS.values() for ending in reader.endings] + list(REFUSED)
    assert len(endings) == len(set(endings))
    for name, reader in READERS.items():
        for ending in reader.endings:
            if ending != "/":
                assert detect_format(DataFile(Path(f"DATA{ending.upper()}")), ReadOptions()) == name


@pytest.mark.parametrize("name", [name for name, reader in READERS.items() if reader.begins(b"") is False])
def test_content_is_recognised_without_an_ending(name: str, tmp_path: Path) -> None:
    path = FILES[name](tmp_path)
    if path.is_file() and name not in ("tar", "lines"):
        bare = path.rename(tmp_path / "bare")
        assert sorted(pairs(bare)) == sorted(ROWS)


@pytest.mark.parametrize("ending", REFUSED)
def test_what_has_no_reader_is_refused_by_name(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"a{ending}").write_bytes(b"PK")
    with pytest.raises(DataError, match=f"a{ending} {REFUSED[ending]}"):
        read_corpus(tmp_path / f"a{ending}")


def test_texts_with_labels_in_another_file_are_lines_whatever_the_ending(tmp_path: Path) -> None:
    (tmp_path / "tweets.csv").write_text("so, so good\nbad\n")
    (tmp_path / "labels.txt").write_text("pos\nneg\n")
    corpus = read_corpus(tmp_path / "tweets.csv", label_files=(str(tmp_path / "labels.txt"),))
    assert (corpus.texts, corpus.labels) == (["so, so good", "bad"], ["pos", "neg"])


@pytest.mark.parametrize("name", READERS)
def test_what_is_no_file_is_refused_by_every_reader(name: str, tmp_path: Path) -> None:
    options = ReadOptions(format=name)
    with pytest.raises(DataError, match="x does not exist; expected a data file"):
        read_table(tmp_path / "x", options)
    with pytest.raises(DataError, match=f"{os.devnull} is a device; expected a data file or a folder"):
        read_table(Path(os.devnull), options)
    (tmp_path / "file").write_text("text,label\na,x\n")
    if len(READERS[name].places) > 1:
        return
    place = tmp_path / "file" if name == "folder" else tmp_path
    with pytest.raises(DataError, match=rf"is a f\w+; expected a f\w+ with --format {name}, or leave that out"):
        read_table(place, options)
