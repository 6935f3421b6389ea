"""Every data format, every quirk that exports have, and what each bad file is told."""

import gzip
import io
import json
import tarfile
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.data import DATASETS, READERS, load_dataset, load_pydocs, read_corpus
from tfcr.data.delimited import SEPARATORS
from tfcr.data.encoding import detect_encoding
from tfcr.errors import DataError, UnknownNameError
from tfcr.system import archives

ROWS = [("good film", "pos"), ("bad film", "neg"), ("größe", "pos")]


def write_csv(folder: Path) -> Path:
    path = folder / "data.csv"
    path.write_text("id,text,label\n" + "".join(f'1,"{text}",{label}\n' for text, label in ROWS), "utf-8")
    return path


def write_tsv(folder: Path) -> Path:
    path = folder / "data.tsv"
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in ROWS), "utf-8")
    return path


def write_jsonl(folder: Path) -> Path:
    path = folder / "data.jsonl"
    path.write_text("\n".join(json.dumps({"text": text, "label": label}) for text, label in ROWS), "utf-8")
    return path


def write_parquet(folder: Path) -> Path:
    pl.DataFrame(ROWS, schema=["text", "label"], orient="row").write_parquet(folder / "data.parquet")
    return folder / "data.parquet"


def write_fasttext(folder: Path) -> Path:
    path = folder / "data.txt"
    path.write_text("".join(f"__label__{label} {text}\n" for text, label in ROWS), "utf-8")
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
        link.type, link.linkname = tarfile.SYMTYPE, "0.txt"
        archive.addfile(link)
    return folder / "data.tar.gz"


def write_lines(folder: Path) -> Path:
    (folder / "labels.txt").write_text("".join(f"{label}\n" for _, label in ROWS))
    (folder / "texts.txt").write_text("".join(f"{text}\n" for text, _ in ROWS), "utf-8")
    return folder / "texts.txt"


WRITERS = {
    "csv": write_csv,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
    "fasttext": write_fasttext,
    "lines": write_lines,
    "folder": write_folder,
    "tar": write_tar,
}


def pairs(*paths: Path, **options: Any) -> list[tuple[str, Any]]:
    corpus = read_corpus(*paths, **options)
    return list(zip(corpus.texts, corpus.labels, strict=True))


@pytest.mark.parametrize("name", READERS)
def test_every_reader_reads_the_same(name: str, tmp_path: Path) -> None:
    options = {"label_files": (str(tmp_path / "labels.txt"),)} if name == "lines" else {}
    assert sorted(pairs(WRITERS[name](tmp_path), **options)) == sorted(ROWS)


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl", "fasttext"])
def test_gz_of_each(name: str, tmp_path: Path) -> None:
    path = WRITERS[name](tmp_path)
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert pairs(packed) == ROWS


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_exports_are_read_with_no_option(separator: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    rows = [
        ["Id", "Text", "Label"],
        ["1", f"Größe „5{separator} 6“, \n„zwei Zeilen“", "ja"],
        ["2", 'er sagte "so"', "nein"],
    ]
    lines = [separator.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    path.write_bytes("\r\n".join(lines).encode(encoding))
    assert pairs(path) == [(rows[1][1], "ja"), (rows[2][1], "nein")]
    assert SEPARATORS[separator] in read_corpus(path).notes[0]


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
        assert detect_encoding(path) == expected


def test_utf8_is_told_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "CHUNK", 3)
    (tmp_path / "a.csv").write_text("text,label\ngröße,x\nüü,y\n", "utf-8")
    assert pairs(tmp_path / "a.csv") == [("größe", "x"), ("üü", "y")]
    (tmp_path / "b.csv").write_bytes("text,label\ngröße,x\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"byte 13, in line 2, is not utf-8; give the file's encoding"):
        read_corpus(tmp_path / "b.csv", encoding="utf-8")


def test_columns_are_found_when_plain(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,Tweet,Class\n1,hello there,x\n2,you too,y\n")
    assert pairs(path) == [("hello there", "x"), ("you too", "y")]
    path.write_text("kind,words\nx,hello there\ny,you too\n")
    assert pairs(path) == [("hello there", "x"), ("you too", "y")]
    path.write_text("a,b,c\nx,hello there,z\n")
    with pytest.raises(DataError, match=r"which column holds the label\? Give --label NAME; columns: a, b, c"):
        read_corpus(path)
    with pytest.raises(DataError, match=r"which column holds the text\? Give --text NAME; columns: a, b, c"):
        read_corpus(path, label="a")


def test_columns_by_number_name_or_any_case(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("A,B,C\nx,hello,there\n")
    assert pairs(path, text=("2", "c"), label="1") == [("hello\nthere", "x")]
    path.write_text("x,hello,there\n")
    assert pairs(path, text=("3",), label="1", header=False) == [("there", "x")]


def test_joined_columns_skip_what_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("subject,body,label\nhello,,x\n,there,y\n,,z\n")
    assert pairs(path, text=("subject", "body"), label="label") == [("hello", "x"), ("there", "y")]


def test_rows_left_out_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na b,x\n,x\nc d, \n  ,\na b,x\ne f,y\n")
    corpus = read_corpus(path)
    assert corpus.rows == [1, 5, 6]
    assert "2 of 6 rows have no text and are left out (row 2, 4)" in corpus.notes
    assert "2 of 6 rows have no label and are left out (row 3, 4)" in corpus.notes
    assert any(note.startswith("1 rows repeat the text and label") for note in corpus.notes)


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


def test_a_json_list_and_mixed_labels(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"text": "a", "label": "x"}, {"text": "b", "label": "y"}]')
    assert pairs(tmp_path / "a.json") == [("a", "x"), ("b", "y")]
    (tmp_path / "b.jsonl").write_text('{"text": "a", "label": 1}\n{"text": "b", "label": "y"}\n')
    assert [str(label) for _, label in pairs(tmp_path / "b.jsonl")] == ["1", "y"]


def test_one_column_cannot_be_both(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the column 'text' is named for both text and label"):
        read_corpus(write_csv(tmp_path), text=("text",), label="text")


def test_line_breaks_in_cells_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,label\n"never closed,x\nb,y\nc,x\n"closed,z"\nd,y\n')
    assert "line breaks inside quoted cells (if that is wrong: --quoting none)" in read_corpus(path).notes[0]


def test_several_files_are_one(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\na,x\n")
    (tmp_path / "b.csv").write_text("label,text,more\ny,b,1\n")
    corpus = read_corpus(tmp_path / "a.csv", tmp_path / "b.csv")
    assert (corpus.texts, corpus.labels, corpus.rows) == (["a", "b"], ["x", "y"], [1, 2])


def test_stray_quotes_do_not_swallow_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text,label\n1,a 5" screen,x\n2,b,y\n3,"c ""q"" d\ne",z\n')
    assert pairs(path) == [('a 5" screen', "x"), ("b", "y"), ('c "q" d\ne', "z")]


def test_no_quoting_and_a_last_column_that_takes_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text('1\tneutral\t"opens a quote\n2\tpositive\tand closes none"\t\n3\tnegative\n')
    found = pairs(path, format="tsv", quoting=False, header=False, label="2", text=("3",))
    assert found == [('"opens a quote', "neutral"), ('and closes none"', "positive")]
    path.write_text("2,one, two, three\n5,four\n")
    assert pairs(path, header=False, columns=2, separator=",", label="1", text=("2",)) == [
        ("one, two, three", 2),
        ("four", 5),
    ]


def test_control_characters_emoji_and_long_texts_survive(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    long = "word " * 2_000_000
    path.write_text(f"text,label\na\x00b\x1fc,x\n💚 u\u0308ber,y\n{long},z\n", "utf-8")
    assert pairs(path) == [("a\x00b\x1fc", "x"), ("💚 u\u0308ber", "y"), (long, "z")]


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from("xy")), min_size=1))
def test_whatever_csv_writes_is_read_back(rows: list[tuple[str, str]]) -> None:
    import csv
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([("text", "label"), *rows])
        expected = [(text, label) for text, label in rows if text.strip()]
        if expected:
            assert pairs(path, separator=",", encoding="utf-8") == expected


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("missing.csv", None, {}, "does not exist; expected a data file"),
        ("a.xlsx", b"PK", {}, "is a spreadsheet; save it as CSV first"),
        ("a.csv", b"txt,label\na,b\n", {"text": ("text",)}, "unknown column for --text 'text'; known: txt, label"),
        ("a.csv", b"text,label\n", {}, "holds no rows"),
        ("a.csv", b"", {}, "is empty"),
        ("a", b"", {}, "is empty"),
        ("a.csv", b"text,label\n,x\n", {}, "no row has both a text and a label"),
        ("a.csv", b"text,label\na,x,c\nb,y\n", {}, r"line 2: found 3 columns; expected 2.*--columns 2"),
        ("a.csv", b"text,label\na,x\n", {"format": "excel"}, "unknown data format 'excel'; known: csv, tsv"),
        ("a.csv", b"text,label\na,x\n", {"encoding": "latin-l"}, "unknown encoding 'latin-l'"),
        ("a.csv", b"text,label\na,x\n", {"separator": "::"}, "expected one character, or one of comma, semicolon"),
        ("a.jsonl", b'{"text": ', {}, "line 1: .*expected a JSON object a line"),
        ("a.jsonl", b'{"text": "a", "label": "x"}\nbad\n', {}, "line 2: .*expected a JSON object a line"),
        ("a.json", b'["a"]', {}, "number 1: found str; expected JSON objects"),
        ("a.json", b'[{"a": ', {}, "cannot be read as JSON"),
        ("a.parquet", b"no parquet", {}, "cannot be read as Parquet"),
        ("a.tar.gz", b"no archive", {}, "truncated or not a tar archive"),
        ("a.csv.gz", gzip.compress(b"text,label\n" + bytes(1000), mtime=0)[:-9], {}, "is truncated or damaged"),
        ("a.txt", b"__label__x __label__y text\n", {}, "line 1: found 2 labels; expected one"),
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


def test_labels_of_another_number_than_texts(tmp_path: Path) -> None:
    path = write_lines(tmp_path)
    (tmp_path / "labels.txt").write_text("one\n")
    with pytest.raises(DataError, match="holds 1 labels for 3 texts"):
        read_corpus(path, label_files=(str(tmp_path / "labels.txt"),))


def write_archive(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_archives_not_to_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = write_archive(tmp_path / "outside.tar.gz", {"top/x/../../../evil/1": b"text"})
    with pytest.raises(DataError, match="which leads out of its folder"):
        read_corpus(outside)
    monkeypatch.setattr(archives, "MOST_HARMLESS", 10_000)
    bomb = write_archive(tmp_path / "bomb.tar.gz", {f"top/x/{n}": bytes(1_000_000) for n in range(3)})
    with pytest.raises(DataError, match="unpacks to more than"):
        read_corpus(bomb)


@pytest.mark.parametrize(
    ("kind", "target", "refused"),
    [
        (tarfile.SYMTYPE, "/etc/passwd", True),
        (tarfile.SYMTYPE, "../../../etc/passwd", True),
        (tarfile.LNKTYPE, "../outside", True),
        (tarfile.SYMTYPE, "../y/1", False),
        (tarfile.LNKTYPE, "top/y/1", False),
    ],
)
def test_links_in_archives(kind: bytes, target: str, refused: bool, tmp_path: Path) -> None:
    path = tmp_path / "links.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("top/y/1", "top/x/2"):
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"text"))
        link = tarfile.TarInfo("top/x/link")
        link.type, link.linkname = kind, target
        archive.addfile(link)
    if refused:
        with pytest.raises(DataError, match="holds the link 'top/x/link' to .*, which leads out of its folder"):
            read_corpus(path)
    else:
        assert [label for _, label in pairs(path)] == ["x", "y"]


@pytest.mark.parametrize("name", ["/etc/evil", "../evil", "a/../../evil", "C:/evil", "a\\..\\..\\evil", "//host/evil"])
def test_names_that_lead_out_of_a_zip(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("fine.txt", "text")
        archive.writestr(name, "text")
    with pytest.raises(DataError, match="which leads out of its folder; it is not to be trusted"):
        list(archives.members(tmp_path / "a.zip"))


def test_a_zip_with_a_link_or_a_password(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="holds the link 'link' to '/etc/passwd', which leads out"):
        list(archives.members(tmp_path / "a.zip"))
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("secret.txt", "text")
    locked = bytearray((tmp_path / "b.zip").read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(header) + flags] |= 1
    (tmp_path / "b.zip").write_bytes(locked)
    with pytest.raises(DataError, match="b.zip: secret.txt is truncated or damaged .*password"):
        [b"".join(member.chunks()) for member in archives.members(tmp_path / "b.zip")]


def test_a_truncated_archive(tmp_path: Path) -> None:
    path = write_archive(tmp_path / "cut.tar.gz", {"top/x/1": bytes(range(256)) * 400})
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match="cut.tar.gz: top/x/1 is truncated or damaged .*; get the file again"):
        read_corpus(path)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("csv", "jsonl", "parquet", "fasttext"):
        content = WRITERS[name](tmp_path).read_bytes()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert pairs(Path("-")) == ROWS


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


def test_datasets_that_are_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    with pytest.raises(DataError, match="the files of the dataset '20ng' are not on this machine .*set TFCR_DATA"):
        load_dataset("20ng")
    with pytest.raises(UnknownNameError, match="unknown dataset '20gn'; known: pydocs, replab.*Did you mean '20ng'"):
        load_dataset("20gn")


SHARED = {name: DATASETS[name].documents for name in ("20ng", "davidson", "agnews", "emoji", "thucnews")}
SHARED |= {"semeval": 61_853, "dbpedia": 14_000}  # the one has more than the paper says, the other is a part


@pytest.mark.parametrize("name", SHARED)
def test_datasets_are_read_whole(name: str, shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_DATA", str(shared_data))
    corpus = load_dataset(name)
    assert (len(corpus), len(set(corpus.labels))) == (SHARED[name], DATASETS[name].classes)
    assert all(isinstance(label, str) for label in corpus.labels)
