"""Files that are not what their names say get a line that says what they are."""

import gzip
import tarfile
from pathlib import Path

import pytest

from tests.data.files import write_parquet, write_tar, write_xlsx
from tfcr.data import read_corpus
from tfcr.data.foreign import FOREIGN, foreign_format
from tfcr.errors import DataError

HEADS = {
    "an OpenDocument file": b"PK\x03\x04....mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
    "a Word document": b"PK\x03\x04....word/document.xml",
    "a zip archive": b"PK\x03\x04....a.txt",
    "a file of an old Office program": b"\xd0\xcf\x11\xe0" + bytes(99),
    "a PDF document": b"%PDF-1.7\n",
    "a document in rich text": b"{\\rtf1\n",
    "an HTML page": b"\n <!-- saved -->\n<HTML><table><tr>",
    "an XML file": b'\xef\xbb\xbf<?xml version="1.0"?>',
    "compressed twice": gzip.compress(gzip.compress(b"text,label\n")),
    "compressed with Zstandard": b"\x28\xb5\x2f\xfd....",
    "an archive": b"7z\xbc\xaf\x27\x1c",
    "an Arrow or Feather file": b"ARROW1\x00\x00",
    "an ORC file": b"ORC\x03",
    "an Avro file": b"Obj\x01",
    "an HDF5 file": b"\x89HDF\r\n\x1a\n",
    "an SQLite database": b"SQLite format 3\x00",
    "an array of numpy": b"\x93NUMPY\x01\x00",
    "a pickle": b"\x80\x04\x95....",
    "an image": b"\x89PNG\r\n\x1a\n",
    "a program": b"\x7fELF\x02",
}


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".txt", ".tsv", ".xls"])
@pytest.mark.parametrize("what", HEADS)
def test_every_kind_is_told(what: str, ending: str, tmp_path: Path) -> None:
    (tmp_path / f"a{ending}").write_bytes(HEADS[what])
    with pytest.raises(DataError, match=f"a{ending} is {what}.*whatever its name; "):
        read_corpus(tmp_path / f"a{ending}")


def test_formats_that_have_a_reader_say_how_to_get_it(tmp_path: Path) -> None:
    for path, name in ((write_xlsx(tmp_path), "xlsx"), (write_parquet(tmp_path), "parquet")):
        file = path.rename(tmp_path / f"{name}.csv")
        with pytest.raises(DataError, match=f"whatever its name; rename it to .{name}, or give --format {name}"):
            read_corpus(file)
        assert len(read_corpus(file, format=name)) == 3
    with (
        tarfile.open(write_tar(tmp_path)) as archive,
        tarfile.open(tmp_path / "tar.csv", "w", format=tarfile.GNU_FORMAT) as bare,
    ):
        for entry in archive:
            bare.addfile(entry, archive.extractfile(entry) if entry.isfile() else None)
    with pytest.raises(DataError, match="is a tar archive, whatever its name; rename it to .tar, or give --format tar"):
        read_corpus(tmp_path / "tar.csv")


def test_text_named_as_a_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "a.xls").write_text("text,label\na,x\n")
    with pytest.raises(DataError, match="a.xls is text, whatever its name; rename it to .csv, or give --format csv"):
        read_corpus(tmp_path / "a.xls")


def test_texts_are_not_taken_for_other_files() -> None:
    for text in (
        "text,label",
        "PK is short",
        "ORCID,text",
        "Objective,x",
        "BZhang,y",
        "<b>bold</b>,x",
        '{"a": 1}',
        "%PDF",
    ):
        assert not foreign_format(text.encode())
    assert all(row.what and row.advice for row in FOREIGN)
