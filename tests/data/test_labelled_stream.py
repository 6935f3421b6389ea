"""Labelled files in constant memory: exactly the texts and labels of whole files, whatever the size of a piece."""

import gzip
import io
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.files import FILES, ROWS, write_csv
from tfcr.data import ReadOptions, label_survey, load_data, streaming
from tfcr.data.labelled_stream import LabelledStream, labelled_stream
from tfcr.errors import DataError, InputError, TfcrError


def rows_of(stream: LabelledStream) -> list[tuple[int, str, Any]]:
    return [row for piece in stream for row in zip(piece.rows.tolist(), piece.texts, piece.labels, strict=True)]


def assert_same(sources: Sequence[Path], **options: Any) -> LabelledStream:
    """Compare a stream with the corpus of the same files; both may be refused."""
    given = ReadOptions(**options)
    names = list(map(str, sources))
    try:
        corpus = load_data(names, given)
    except TfcrError as error:
        with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
            rows_of(labelled_stream(names, given))
        raise
    stream = labelled_stream(names, given)
    expected = list(zip(corpus.rows, corpus.texts, corpus.labels, strict=True))
    found = rows_of(stream)
    assert found == expected
    assert [type(label) for *_, label in found] == [type(label) for label in corpus.labels]
    assert rows_of(stream) == expected  # again
    assert list(stream.texts()) == list(stream.texts()) == corpus.texts
    assert len(stream.texts()) == stream.n_rows == len(corpus)
    assert list(stream.class_sizes.items()) == list(corpus.class_sizes().items())
    assert stream.classes == sorted(corpus.class_sizes())
    assert (stream.columns, stream.label_column) == (corpus.columns, corpus.label_column)
    assert (stream.several, stream.label_separator) == (corpus.several, corpus.label_separator)
    assert list(stream.notes) == [note for note in corpus.notes if "repeat the text and label" not in note]
    assert stream.name == corpus.name
    assert stream.corpus() == corpus
    return stream


@pytest.mark.parametrize("size", [20, 1 << 26])
@pytest.mark.parametrize("name", list(FILES))
def test_every_format(name: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", size)
    path = FILES[name](tmp_path)
    options = {"label_files": (str(tmp_path / "labels.txt"),)} if name == "lines" else {}
    stream = assert_same([path], **options)
    assert sorted((text, label) for _, text, label in rows_of(stream)) == sorted(ROWS)
    if size == 20 and name not in ("xlsx", "folder", "tar"):
        assert len(list(stream)) > 1


TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "integers": ("text,label\na,1\nb,2\nc,1\n", {}),
    "one label is text, at the end": ("text,label\n" + "a,1\n" * 30 + "b,x\n", {}),
    "leading zero": ("text,label\na,1\nb,02\n", {}),
    "beyond 64 bits": (f"text,label\na,1\nb,{2**70}\n", {}),
    "blanks around": ("text,label\na, x \nb,x\nc,y\n", {}),
    "rows left out": ("text,label\na b,x\n,x\nc d, \n  ,\na b,x\ne f,y\n,z\n,\ng,\nh,\ni,\nj,\n", {}),
    "only a label without text": ("text,label\na,x\n,z\n\u3000,z\n", {}),
    "spellings": ("text,label\na,World\nb,world\nc,WORLD\nd,world\ne,x\n", {}),
    "merged": ("text,label\na,World\nb,world\nc,WORLD\nd,world\ne,x\n", {"merge_labels": True}),
    "merged, as a model": (
        "text,label\na,World\nb,world\nd,world\n",
        {"merge_labels": True, "default_classes": ("WORLD", "z")},
    ),
    "merged, a tie": ("text,label\n,b\na,B\nb,b\nc,x\n", {"merge_labels": True}),
    "mapped": ("text,label\na,x\nb,y\nc,z\nd,x\n", {"label_map": {"x": "1", "y": "2", "z": "", "w": "3"}}),
    "mapped and merged": (
        "text,label\na,x\nb,X\nc,z\nd,y\n",
        {"label_map": {"x": "new", "z": "New"}, "merge_labels": True},
    ),
    "several": ("text,label\na,x;y\nb,\nc,y; z\nd,x\n,x\n", {"label_separator": ";"}),
    "several, numbers": ("text,label\na,1;2\nb,\nc,3\n", {"label_separator": ";"}),
    "several, mapped": (
        "text,label\na,x;y\nb,\nc,y; z\nd,z\n",
        {"label_separator": ";", "label_map": {"y": "x", "z": ""}},
    ),
    "looks like several": ("text,label\na,x;y\nb,x\nc,y\n", {}),
    "of a model of several": ("text,label\na,x\nb,y\n", {"default_separator": ";", "several": True}),
    "shorter column": ("a,b\nlong text,x\nlonger text,y\n", {}),
    "shorter column, later": ("a,b\nx,a longer label\n" + "a much longer text,y\n" * 20, {}),
    "two columns of text": ("head,body,label\na,b,x\n,c,y\nd,,x\n,,y\n", {"text": ("head", "body")}),
    "quotes": ('text,label\n"a, b",x\n"c\nd",y\n', {}),
}


@pytest.mark.parametrize("size", [7, 40, 1 << 26])
@pytest.mark.parametrize("case", list(TABLES))
def test_tables(case: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", size)
    content, options = TABLES[case]
    path = tmp_path / "a.csv"
    path.write_text(content, "utf-8")
    assert_same([path], **options)


OBJECTS: dict[str, list[Any]] = {
    "numbers": [{"text": "a", "label": 1}, {"text": "b", "label": 2.5}, {"text": "c", "label": 1}],
    "text that looks like numbers": [{"text": "a", "label": "1"}, {"text": "b", "label": "02"}],
    "booleans": [{"text": "a", "label": True}, {"text": "b", "label": False}],
    "several types": [{"text": "a", "label": 1}, {"text": "b", "label": "x"}, {"text": "c", "label": True}],
    "lists": [{"text": "a", "label": ["x", "y"]}, {"text": "b", "label": []}, {"text": "c", "label": None}],
    "lists and text": [{"text": "a", "label": ["x", "y"]}, {"text": "b", "label": "x"}, {"text": "c"}],
    "no label at first": [{"text": "a"}, {"text": "b"}, {"text": "c", "label": "x"}, {"text": "d", "label": "y"}],
    "no text at first": [{"label": "x"}, {}, {"text": "c", "label": "x"}, {"text": "d", "label": "y"}, {}],
    "texts of several types": [
        {"text": 5, "label": "x"},
        {"text": 5.0, "label": "x"},
        {"text": ["a", 1.0], "label": "y"},
        {"text": "a", "label": "y"},
        {"text": {"a": 1}, "label": "y"},
    ],
    "texts that are numbers": [{"text": 5, "label": "x"}, {"text": 5.5, "label": "x"}],
    "half a pair": [{"text": "a", "label": "x"}, {"text": "b\ud83d", "label": "y"}],
    "long integers": [{"text": "a", "label": 2**70}, {"text": "b", "label": 1}],
}


@pytest.mark.parametrize("size", [7, 60, 1 << 26])
@pytest.mark.parametrize("case", list(OBJECTS))
def test_json(case: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", size)
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in OBJECTS[case]), "utf-8")
    assert_same([path])


def test_a_json_list_is_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(OBJECTS["several types"]), "utf-8")
    assert len(list(assert_same([path]))) == 1


def test_types_of_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PARQUET_ROWS", 2)
    path = tmp_path / "a.parquet"
    columns: dict[str, list[Any]] = {
        "numbers": [1, 2, None, 1, 2],
        "fractions": [1.5, float("nan"), 2.0, None, 1.5],
        "texts": ["1", "2", None, " ", "1"],
        "booleans": [True, False, None, True, True],
        "lists": [["x", "y"], [], None, ["x"], ["z"]],
    }
    pl.DataFrame(columns | {"text": ["a", "b", "c", "", "e"]}).with_columns(
        pl.col("texts").cast(pl.Categorical).alias("categories"),
        pl.Series("dates", ["2024-05-31", None, "2024-06-01", "2024-05-31", "2024-05-31"]).str.to_date(),
    ).write_parquet(path)
    for label in (*columns, "categories", "dates"):
        stream = assert_same([path], label=label)
        assert len(list(stream)) == 3


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "no label": ("text,label\na,\n,x\n", {}),
    "no column": ("a,b,c\n1,2,3\n", {}),
    "one column": ("text\na\n", {}),
    "unknown column": ("text,label\na,x\n", {"label": "class"}),
    "separator never occurs": ("text,label\na,x\nb,y\n", {"label_separator": ";"}),
    "empty label": ("text,label\na,x\nb,y\nc,x;;y\n", {"label_separator": ";"}),
    "label twice": ("text,label\na,x\nb,x\nc,y;y\n", {"label_separator": ";"}),
    "map that keeps nothing": ("text,label\na,x\n", {"label_map": {"x": ""}}),
    "map of other labels": ("text,label\na,x\n", {"label_map": {"z": "y"}}),
    "labels of several files": ("text,label\na,x\n", {"label_files": ("a", "b")}),
    "long label": ("text,label\na,x\nb," + "y" * 1200 + "\n", {}),
    "nothing": ("", {}),
    "too many columns": ("text,label\n" + "a,x\n" * 20 + "a,x,y\n", {}),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refused_with_the_same_words(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", 12)
    content, options = REFUSED[case]
    path = tmp_path / "a.csv"
    path.write_text(content, "utf-8")
    with pytest.raises(DataError):
        assert_same([path], **options)


def test_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", 20)
    (tmp_path / "a.csv").write_text("text,label\na,1\nb,\nc,2\n,\n")
    (tmp_path / "b.jsonl").write_text('{"tweet": "b", "class": "y"}\n{"tweet": "d", "class": "x"}\n')
    (tmp_path / "c.txt").write_text("__label__x good film\n__label__1 bad film\n")
    files = [tmp_path / "a.csv", tmp_path / "b.jsonl", tmp_path / "c.txt"]
    stream = assert_same(files)
    assert [(Path(piece.file).name, piece.first_row) for piece in stream if piece.texts][:2] == [
        ("a.csv", 1),
        ("a.csv", 3),
    ]
    (tmp_path / "c.txt").write_text("__label__x __label__y good film\n__label__1 bad film\n")
    assert assert_same(files).several
    with gzip.open(tmp_path / "d.csv.gz", "wt") as file:
        file.write("text,label\ne,1\n")
    assert_same([tmp_path / "a.csv", tmp_path / "d.csv.gz"])


CELLS = st.sampled_from(["", " ", "1", "2", "02", "x", "X", " x", "x;y", "true"])


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from(["", " ", "a", "b c"]), CELLS), min_size=1, max_size=8),
    merge=st.booleans(),
    separator=st.sampled_from([None, ";"]),
    size=st.integers(4, 30),
)
def test_any_table(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str]],
    merge: bool,
    separator: str | None,
    size: int,
) -> None:
    path = tmp_path_factory.mktemp("rows") / "a.csv"
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "PIECE_BYTES", size)
        with suppress(DataError):  # refused with the same words
            assert_same([path], merge_labels=merge, label_separator=separator)


# what it takes -------------------------------------------------------------------------------------------------------


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("one column\nonly\n")
    stream = labelled_stream([str(path)])
    assert stream.bytes == path.stat().st_size
    with pytest.raises(DataError, match="found one column"):
        stream.classes  # noqa: B018


def test_bytes_of_compressed_files_are_estimated(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        file.write("text,label\na,x\n")
    write_csv(tmp_path)
    sizes = [(tmp_path / name).stat().st_size for name in ("a.csv.gz", "data.csv")]
    stream = labelled_stream([str(tmp_path / "a.csv.gz"), str(tmp_path / "data.csv")])
    assert stream.bytes == 4 * sizes[0] + sizes[1]


def test_standard_input_is_read_once_and_kept_until_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"text,label\na,x\nb,y\n")))
    with labelled_stream(["-"]) as stream:
        place = stream._files[0].place
        assert [text for _, text, _ in rows_of(stream)] == list(stream.texts()) == ["a", "b"]
        assert stream.corpus().labels == ["x", "y"]
        assert stream.name == "standard input"
    assert not place.exists()


def test_datasets_are_in_memory_anyway(tmp_path: Path) -> None:
    from tests.data.datasets.files import write_founta

    expected = write_founta(tmp_path)
    stream = labelled_stream(["hate"], path=tmp_path)
    assert [(label, text) for _, text, label in rows_of(stream)] == expected
    assert stream.n_rows == len(expected) == sum(stream.class_sizes.values())
    assert stream.bytes > 0
    assert stream.classes == sorted({label for label, _ in expected})


def test_what_cannot_be_read_in_pieces_is_refused(tmp_path: Path) -> None:
    path = str(write_csv(tmp_path))
    with pytest.raises(InputError, match="found --group id, and data that is read in pieces; .*leave --group out"):
        labelled_stream([path], ReadOptions(group="id"))
    with pytest.raises(InputError, match="found --time id, and data that is read in pieces"):
        labelled_stream([path], ReadOptions(time="id"))
    with pytest.raises(InputError, match="texts without a label cannot be kept apart"):
        labelled_stream([path], ReadOptions(keep_unlabelled=True))


def test_texts_instead_of_labels_are_refused_before_they_fill_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_survey, "MOST_CELL_BYTES", 2000)
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "".join(f"a,label {number}\n" for number in range(9)))
    with pytest.raises(DataError, match="a.csv: found 4 different labels in the column 'label' .* the wrong column"):
        rows_of(labelled_stream([str(path)]))


# files that change ---------------------------------------------------------------------------------------------------


def test_a_file_that_changes_between_passes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,x\nb,y\n")
    stream = labelled_stream([str(path)])
    assert stream.n_rows == 2
    path.write_text("text,label\na,x\n")
    with pytest.raises(
        DataError, match=r"a.csv changed while it was read: it had 19 bytes, and has 15; expected a file"
    ):
        rows_of(stream)
    os.utime(path, ns=(0, 0))
    with pytest.raises(DataError, match="changed while it was read"):
        rows_of(stream)


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PIECE_BYTES", 20)
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "a,x\n" * 50)
    stream = labelled_stream([str(path)])
    assert stream.n_rows == 50
    pieces = iter(stream)
    next(pieces)
    os.truncate(path, 100)
    with pytest.raises(DataError, match="a.csv changed while it was read: it had 211 bytes, and has 100"):
        list(pieces)
    path.unlink()
    with pytest.raises(DataError, match="cannot read .*a.csv: No such file"):
        rows_of(stream)


def test_a_file_that_changes_unseen_is_noticed_by_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\na,x\nb,y\n")
    status = path.stat()
    stream = labelled_stream([str(path)])
    assert stream.n_rows == 2
    for content in ("text,label\na,x\nb,z\n", "text,label\na,x\nbby\n"[:15] + "bby\n"):
        path.write_text(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        with pytest.raises(DataError, match="changed while it was read"):
            rows_of(stream)
