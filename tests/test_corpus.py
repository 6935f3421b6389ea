import io
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from tfcr.corpus import READERS, load_pydocs, read_corpus
from tfcr.errors import DataError

ROWS = [("good film", "pos"), ("bad\nfilm", "neg"), ("größe", "pos")]


def write_csv(folder: Path) -> Path:
    path = folder / "data.csv"
    path.write_text("id,text,label\n" + "".join(f'1,"{text}",{label}\n' for text, label in ROWS), "utf-8")
    return path


def write_jsonl(folder: Path) -> Path:
    path = folder / "data.jsonl"
    lines = [f'{{"text": "{text}", "label": "{label}"}}'.replace("\n", "\\n") for text, label in ROWS]
    path.write_text("\n".join(lines), "utf-8")
    return path


def write_folder(folder: Path) -> Path:
    for number, (text, label) in enumerate(ROWS):
        (folder / "data" / label).mkdir(parents=True, exist_ok=True)
        (folder / "data" / label / f"{number}.txt").write_text(text, "utf-8")
    (folder / "data" / "pos" / ".DS_Store").write_bytes(b"\xff")
    return folder / "data"


def write_tar(folder: Path) -> Path:
    with tarfile.open(folder / "data.tar.gz", "w:gz") as archive:
        archive.add(write_folder(folder), "top")
        link = tarfile.TarInfo("top/pos/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return folder / "data.tar.gz"


WRITERS = {"csv": write_csv, "jsonl": write_jsonl, "folder": write_folder, "tar": write_tar}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_reads_the_same(name: str, tmp_path: Path) -> None:
    corpus = read_corpus(WRITERS[name](tmp_path))
    assert sorted(zip(corpus.texts, corpus.labels, strict=True)) == sorted(ROWS)


def test_labels_that_are_numbers_stay_numbers(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("text,label\na,1\nb,2\n")
    assert read_corpus(tmp_path / "n.csv").labels == [1, 2]


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("text,label\ngröße,x\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin.csv: byte 13 is not utf-8; give the encoding"):
        read_corpus(path)
    assert read_corpus(path, encoding="latin-1").texts == ["größe"]
    with pytest.raises(DataError, match="unknown encoding 'latin-l'"):
        read_corpus(path, encoding="latin-l")


def test_a_byte_order_mark_is_no_part_of_a_column(tmp_path: Path) -> None:
    (tmp_path / "bom.csv").write_bytes("\ufefftext,label\na,x\n".encode())
    assert read_corpus(tmp_path / "bom.csv").texts == ["a"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "does not exist"),
        ("a.docx", b"x", "unknown data format 'docx'; known: csv, jsonl"),
        ("a.csv", b"txt,label\na,b\n", "unknown column 'text'; known: txt, label"),
        ("a.csv", b"text,label\n", "holds no documents"),
        ("a.csv", b"", "cannot be read as CSV"),
        ("a.jsonl", b'{"text": ', "cannot be read as JSON lines"),
        ("a.tar.gz", b"no archive", "truncated or no tar archive"),
    ],
)
def test_bad_files(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_corpus(tmp_path / name)


def test_a_truncated_archive(tmp_path: Path) -> None:
    path = tmp_path / "cut.tar.gz"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        member = tarfile.TarInfo("top/x/1")
        member.size = 100_000
        archive.addfile(member, io.BytesIO(bytes(range(256)) * 400))
    path.write_bytes(buffer.getvalue()[:-200])
    with pytest.raises(DataError, match="truncated or no tar archive"):
        read_corpus(path)


def test_pydocs_is_real_text_with_classes_of_some_size() -> None:
    corpus = load_pydocs()
    sizes = Counter(corpus.labels)
    assert len(sizes) >= 8
    assert min(sizes.values()) >= 100
    assert {"asyncio", "email", "tkinter"} <= set(sizes)
    assert all(len(text.split()) >= 5 for text in corpus.texts)
    again = load_pydocs()
    assert (corpus.texts, corpus.labels) == (again.texts, again.labels)
    assert len(load_pydocs(50)) > len(corpus)
