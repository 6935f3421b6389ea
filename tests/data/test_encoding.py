"""Encodings are detected, the same in every format, and what is not sure is said."""

import os
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data.files import FILES, ROWS, pairs
from tfcr.data import encoding as encoding_module
from tfcr.data import read_corpus
from tfcr.data.encoding import DataFile, detect_encoding, lines
from tfcr.errors import DataError
from tfcr.system import archives


def test_encodings_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text, encoding, expected in [
        ("plain", "ascii", "utf-8"),
        ("größe", "utf-8", "utf-8"),
        ("größe – „x“", "cp1252", "cp1252"),
        ("gr\x81ße", "latin-1", "latin-1"),
        ("größe", "utf-16", "utf-16"),
        ("long enough to tell", "utf-16-le", "utf-16-le"),
    ]:
        path.write_bytes(text.encode(encoding))
        assert detect_encoding(DataFile(path).chunks).name == expected


def test_utf8_is_told_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "CHUNK", 3)
    (tmp_path / "a.csv").write_text("text,label\ngröße,x\nüü,y\n", "utf-8")
    assert pairs(tmp_path / "a.csv") == [("größe", "x"), ("üü", "y")]
    (tmp_path / "b.csv").write_bytes("text,label\ngröße,x\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"byte 13, in line 2, is not utf-8; give the file's encoding"):
        read_corpus(tmp_path / "b.csv", encoding="utf-8")


SENTENCES = {
    "cp1252": "Die Lieferung kam zu spät – das Gerät ist beschädigt. Größe und Farbe stimmen, „schöne“ Verarbeitung.",
    "latin-1": "Le café est très bon, la chambre est propre et spacieuse, à côté de la gare.",
    "cp1250": "Przesyłka przyszła za późno i była uszkodzona. Książka jest świetna, dziękuję. Polecam każdemu.",
    "cp1251": "Этот фильм мне очень понравился, рекомендую всем. Доставка опоздала на неделю.",
    "koi8-r": "Этот фильм мне очень понравился, рекомендую всем. Доставка опоздала на неделю.",
    "gbk": "这部电影非常好看，推荐给大家。快递太慢了，商品也有破损。",
    "big5": "這部電影非常好看，推薦給大家。快遞太慢了，商品也有破損。",
    "shift_jis": "この映画はとても面白かったです。配達が遅れて、商品が壊れていました。",
    "euc-kr": "이 영화는 정말 재미있었습니다. 배송이 늦었고 상품이 파손되었습니다.",
}


@pytest.mark.parametrize("encoding", SENTENCES)
@pytest.mark.parametrize("n_english", [0, 500])
def test_text_that_is_not_utf8_is_read_right(encoding: str, n_english: int, tmp_path: Path) -> None:
    rows = [("the printer does not print", "x")] * n_english + [(SENTENCES[encoding], "y"), ("fine", "x")]
    path = tmp_path / "a.csv"
    path.write_bytes(("text;label\n" + "".join(f"{text};{label}\n" for text, label in rows)).encode(encoding))
    corpus = read_corpus(path)
    assert corpus.texts == [text for text, _ in rows]
    assert "not sure" not in corpus.notes[0]


def test_a_guess_that_is_not_sure_says_what_to_type(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nfür,x\nna\xefve,y\n".encode("cp1252"))
    corpus = read_corpus(path)
    assert corpus.texts == ["für", "naïve"]
    assert "cp1252 (not sure: if texts look wrong, give --encoding NAME)" in corpus.notes[0]
    assert "not sure" not in read_corpus(path, encoding="cp1252").notes[0]


def test_folders_and_archives_have_the_same_detector_as_tables(tmp_path: Path) -> None:
    texts = ["It’s broken – again.", "“Good service”, she said.", "The café doesn’t open."]
    for number, text in enumerate(texts):
        file = tmp_path / "folder" / "ab"[number % 2] / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("cp1252"))
    with tarfile.open(tmp_path / "folder.tar", "w") as archive:
        archive.add(tmp_path / "folder", "top")
    (tmp_path / "a.csv").write_bytes(("text;label\n" + "".join(f"{text};a\n" for text in texts)).encode("cp1252"))
    for name in ("folder", "folder.tar", "a.csv"):
        assert sorted(read_corpus(tmp_path / name).texts) == sorted(texts)


def test_a_byte_that_the_guess_cannot_decode(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = f"{SENTENCES['cp1252']};x\n".encode("cp1252") * 1000
    path.write_bytes(b"text;label\n" + rows + b"stray \x81 byte;y\n")
    corpus = read_corpus(path)
    assert corpus.texts[-1] == "stray \x81 byte"
    assert "latin-1 (not sure" in corpus.notes[0]


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "fasttext", "parquet"])
def test_a_small_file_is_opened_once_or_twice(name: str, tmp_path: Path) -> None:
    path = FILES[name](tmp_path)
    opened: list[str] = []
    HOOKS.append(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    try:
        read_corpus(path)
    finally:
        HOOKS.clear()
    assert opened.count(str(path)) <= 2


HOOKS: list[Callable[[str, tuple[object, ...]], None]] = []
"""What the audit hook calls; a hook itself can never be removed."""
sys.addaudithook(lambda event, args: [hook(event, args) for hook in HOOKS] and None)


def test_a_large_file_is_read_again_for_each_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = FILES["csv"](tmp_path)
    monkeypatch.setattr(encoding_module, "SMALL_BYTES", 10)
    file = DataFile(path)
    assert b"".join(file.chunks()) == b"".join(file.chunks()) == path.read_bytes()
    assert file.head() == path.read_bytes()
    assert pairs(path) == ROWS


@pytest.mark.parametrize("encoding", ["utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be", "utf-8"])
def test_byte_order_marks(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes("\ufefftext,label\ngröße,a\nfilm,b\n".encode(encoding))
    assert read_corpus(path).texts == ["größe", "film"]


@pytest.mark.parametrize(
    "name", ["hex", "rot13", "zlib", "bz2", "base64", "uu", "quopri", "idna", "punycode", "undefined", "unicode_escape"]
)
def test_codecs_that_are_no_encodings_of_files(name: str, tmp_path: Path) -> None:
    for path in (FILES["csv"](tmp_path), FILES["folder"](tmp_path)):
        with pytest.raises(DataError, match=f"found the encoding '{name}', which no text file has; for example: utf-8"):
            read_corpus(path, encoding=name)


@pytest.mark.parametrize("name", ["x\0y", "é", "..", "aliases", "latin-l"])
def test_names_that_are_none(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="unknown encoding"):
        read_corpus(FILES["csv"](tmp_path), encoding=name)


@pytest.mark.parametrize("form", ["utf-16", "utf-32"])
@pytest.mark.parametrize("order", ["le", "be"])
def test_utf16_without_a_mark(form: str, order: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text,label\ngröße,x\nfilm,y\n".encode(f"{form}-{order}"))
    assert pairs(tmp_path / "a.csv", encoding=form) == [("größe", "x"), ("film", "y")]


def test_half_of_a_pair_in_utf7(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"text,label\n+2AA-,x\n")
    with pytest.raises(DataError, match="half of a surrogate pair"):
        read_corpus(tmp_path / "a.csv", encoding="utf-7")


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    label = os.fsdecode(b"caf\xe9")
    (tmp_path / label).mkdir()
    (tmp_path / label / os.fsdecode(b"\xff.txt")).write_text("good")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.txt").write_text("bad")
    assert pairs(tmp_path) == [("bad", "b"), ("good", "caf\\xe9")]
    file = tmp_path / os.fsdecode(b"\xe9.csv")
    file.write_text("text,label\na,x\nb,y\n")
    corpus = read_corpus(file)
    assert (corpus.name + "".join(corpus.notes)).isascii()
    file.write_text("")
    with pytest.raises(DataError, match=r"\\xe9.csv is empty"):
        read_corpus(file)


def test_a_long_line_is_read_in_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = ["a" * 10] * 5000
    assert list(lines([*parts, "\nb\n\n", "c"])) == ["a" * 50_000 + "\n", "b\n", "\n", "c"]
    monkeypatch.setattr(encoding_module, "HEAD_BYTES", 100)
    assert detect_encoding(lambda: iter(["größe".encode("cp1252") * 10] * 100)).name == "cp1252"
