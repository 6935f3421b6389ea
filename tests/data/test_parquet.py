"""Parquet files, datasets in folders, and damaged rows."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tfcr.data import ReadOptions, load_data, parquet, streaming
from tfcr.data.labelled_stream import labelled_stream
from tfcr.data.sources import files_in_folders, load_pieces
from tfcr.errors import DataError
from tfcr.system.limits import LIMITS


def write(path: Path, **columns: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(columns).write_parquet(path)
    return path


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Make a dataset as Spark writes it."""
    write(tmp_path / "posts/topic=sports/part-0.parquet", text=["a goal", "a match"], n=[1, 2])
    write(tmp_path / "posts/topic=sports/part-1.parquet", text=["a team"], n=[3])
    write(tmp_path / "posts/topic=the%20arts/part-0.parquet", text=["a song"], n=[4.5])
    write(tmp_path / "posts/topic=__HIVE_DEFAULT_PARTITION__/part-0.parquet", text=["unknown"])
    (tmp_path / "posts/_SUCCESS").write_bytes(b"")
    (tmp_path / "posts/topic=sports/.part-0.parquet.crc").write_bytes(b"crc")
    return tmp_path / "posts"


def test_folders_name_columns(dataset: Path) -> None:
    corpus = load_data([str(dataset)])
    assert list(zip(corpus.texts, corpus.labels, strict=True)) == [
        ("a goal", "sports"),
        ("a match", "sports"),
        ("a team", "sports"),
        ("a song", "the arts"),
    ]
    assert corpus.notes[0] == f"{dataset}: Parquet, 4 files, 5 rows; text: text, label: topic"
    stream = labelled_stream([str(dataset)])
    assert [(text, label) for piece in stream for text, label in zip(piece.texts, piece.labels, strict=True)] == list(
        zip(corpus.texts, corpus.labels, strict=True)
    )
    assert stream.notes == corpus.notes
    assert stream.bytes > 4 * sum(path.stat().st_size for path in dataset.rglob("*.parquet")) - 1


def test_a_dataset_is_predicted_as_one_table(dataset: Path) -> None:
    assert files_in_folders([str(dataset)]) == [str(dataset)]
    frames = [table.frame for table, _ in load_pieces([str(dataset)], ReadOptions())]
    assert {tuple(frame.schema.items()) for frame in frames} == {
        (("text", pl.String()), ("n", pl.Float64()), ("topic", pl.String()))
    }
    assert pl.concat(frames)["n"].to_list() == [None, 1.0, 2.0, 3.0, 4.5]


def test_numbers_of_folders_are_numbers(tmp_path: Path) -> None:
    for number in (2, 10):
        write(tmp_path / f"posts/stars={number}/a.pq", text=[f"text {number}"])
    assert load_data([str(tmp_path / "posts")]).labels == [10, 2]
    write(tmp_path / "posts/stars=02/a.pq", text=["text"])
    assert load_data([str(tmp_path / "posts")]).labels == ["02", "10", "2"]


def test_a_flat_folder(tmp_path: Path) -> None:
    for number in range(2):
        write(tmp_path / f"posts/{number}.parquet", text=[f"text {number}"], label=[number])
    assert load_data([str(tmp_path / "posts")]).labels == [0, 1]
    assert files_in_folders([str(tmp_path / "posts")]) == [
        str(tmp_path / f"posts/{number}.parquet") for number in range(2)
    ]


def test_a_folder_with_other_files_is_one_of_classes(tmp_path: Path) -> None:
    write(tmp_path / "posts/a/0.parquet", text=["a"])
    (tmp_path / "posts/a/1.txt").write_text("a text")
    assert not parquet.is_parquet_folder(tmp_path / "posts")
    (tmp_path / "empty").mkdir()
    assert not parquet.is_parquet_folder(tmp_path / "empty")


def test_datasets_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "posts/stars=1/a.parquet", text=["a"])
    write(tmp_path / "posts/b.parquet", text=["b"])
    with pytest.raises(DataError, match="posts: some of its folders are called stars=…, and not all files lie in one"):
        load_data([str(tmp_path / "posts")])
    write(tmp_path / "mixed/a.parquet", text=["a"], label=["x"])
    write(tmp_path / "mixed/b.parquet", text=["a"], label=[["x"]])
    with pytest.raises(DataError, match="mixed cannot be read as Parquet: columns of its files have different types"):
        load_data([str(tmp_path / "mixed")])
    (tmp_path / "mixed/b.parquet").write_bytes(b"PAR1 no Parquet, but long enough PAR1")
    with pytest.raises(DataError, match="b.parquet cannot be read as Parquet: it does not begin and end"):
        load_data([str(tmp_path / "mixed")])
    monkeypatch.setitem(LIMITS, "dataset files", LIMITS["dataset files"]._replace(value=1))
    with pytest.raises(DataError, match="posts holds more than 1 files; expected fewer, larger ones"):
        load_data([str(tmp_path / "posts")])


def _damage(path: Path, value: bytes) -> None:
    """Overwrite what is stored of a text."""
    content = path.read_bytes()
    position = content.index(value)
    path.write_bytes(content[: position - 30] + b"\xff" * 30 + content[position:])


def test_damaged_rows_are_named_or_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "PARQUET_ROWS", 10)
    texts = [f"text number {number}" for number in range(40)]
    frame = pl.DataFrame({"text": texts, "label": ["x", "y"] * 20})
    path = tmp_path / "a.parquet"
    frame.write_parquet(path, compression="uncompressed", row_group_size=10, statistics=False)
    _damage(path, b"text number 20")
    with pytest.raises(DataError, match=r"a.parquet cannot be read as Parquet: rows 21 to 30: .*--bad-rows skip"):
        load_data([str(path)])
    corpus = load_data([str(path)], ReadOptions(bad_rows="skip"))
    assert corpus.texts == texts[:20] + texts[30:]
    assert "10 rows of " in corpus.notes[0]
    assert "could not be read and are left out, the first is row 21: rows 21 to 30: " in corpus.notes[0]
    stream = labelled_stream([str(path)], on_bad_row="skip")
    assert list(stream.texts()) == corpus.texts
    assert stream.notes == corpus.notes
