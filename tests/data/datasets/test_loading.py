"""Reading a dataset whole, as a sample, and row by row."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.datasets.files import pairs, write_replab
from tfcr.data import dataset_rows, load_dataset
from tfcr.errors import DataError


def test_missing_texts_and_labels_are_counted(tmp_path: Path) -> None:
    write_replab(tmp_path)
    corpus = load_dataset("replab", tmp_path)
    assert corpus.notes == ("1 of 3 rows have no text, or no label of the dataset: left out",)
    assert corpus.rows == [1, 2]


@given(n=st.integers(1, 40), most=st.integers(1, 50), seed=st.integers(0, 5))
def test_a_sample_is_drawn_in_one_pass(tmp_path_factory: pytest.TempPathFactory, n: int, most: int, seed: int) -> None:
    file = tmp_path_factory.mktemp("reviews") / "reviews.json"
    file.write_text("".join(json.dumps({"reviewText": f"text {i}", "overall": 1 + i % 5}) + "\n" for i in range(n)))
    whole = load_dataset("rev-book", file)
    drawn = load_dataset("rev-book", file, sample=most, seed=seed)
    assert len(whole) == n
    assert len(drawn) == min(n, most)
    assert drawn.rows == sorted(set(drawn.rows))
    assert pairs(drawn) == [pairs(whole)[row - 1] for row in drawn.rows]
    assert drawn.texts == load_dataset("rev-book", file, sample=most, seed=seed).texts
    assert any("drawn with seed" in note for note in drawn.notes) == (most < n)


def test_each_document_is_as_likely_to_be_drawn(tmp_path: Path) -> None:
    file = tmp_path / "reviews.json"
    file.write_text("".join(json.dumps({"reviewText": f"text {i}", "overall": 1}) + "\n" for i in range(10)))
    counts = [0] * 10
    for seed in range(400):
        for row in load_dataset("rev-book", file, sample=3, seed=seed).rows:
            counts[row - 1] += 1
    assert min(counts) > 80  # 120 expected, four standard deviations away
    assert max(counts) < 160


def test_rows_are_read_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "reviews.json.gz"
    good = json.dumps({"reviewText": "fine", "overall": 4}) + "\n"
    file.write_bytes(gzip.compress(good.encode() * 3 + b"bad\n"))
    rows = dataset_rows("rev-home", file)
    assert [next(rows).label for _ in range(3)] == ["4 stars"] * 3
    with pytest.raises(DataError, match="line 4: .*expected a JSON object with reviewText and overall"):
        next(rows)


ENTITIES = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY lol "lol">]><a><title>&lol;</title></a>'


TRUNCATED = gzip.compress(b'{"reviewText": "a", "overall": 1.0}\n' * 1000, mtime=0)[:-20]


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        ("rev-book", "reviews_Books.json.gz", TRUNCATED, "is truncated or damaged .*get the file again"),
        (
            "rev-book",
            "r.json",
            b'{"reviewText": "a"}\n',
            "line 1: no 'overall'; expected a JSON object with reviewText",
        ),
        ("rev-book", "r.json", b'["a"]\n', "line 1: .*; expected a JSON object with reviewText and overall"),
        (
            "rev-book",
            "r.json",
            b'{"reviewText": "a", "overall": 9}\n',
            "no document with a text and a label .1 without",
        ),
        ("rev-book", "notes.txt.gz", b"x", None),
        ("ns200", "n.xml", b"<all_news><title>a</title>", "n.xml is not valid XML, or is truncated .no element found"),
        ("ns200", "n.xml", b"no xml", "n.xml is not valid XML, or is truncated"),
        ("ns200", "n.xml", ENTITIES.encode(), "declares the entity 'lol'; expected plain XML"),
        ("dbpedia", "dbpedia_csv.tgz", b"<html>", "is truncated or not a tar archive .*get the file again"),
        ("dbpedia", "train.csv", b'x,"a","b"\n', "found the class 'x'; expected 1 to 99"),
        ("20ng", "20news-bydate.tar.gz", b"<html>", "is truncated or not a tar archive"),
        ("semeval", "twitter-2013train-A.txt", b"\n", "hold no document with a text and a label"),
        ("replab", "labels.tsv", b"tweet_id\tpolarity\n1\tPOSITIVE\n", "none has texts; expected a tab-separated file"),
        ("odp", "texts.tsv", b"12\tsome text\n", "none has labels; expected a tab-separated file of ids and labels"),
        ("davidson", "labeled_data.csv", b"tweet,class\na b,hate\nc,0\n", "found the class 'hate'; expected 0 to 2"),
        ("davidson", "labeled_data.csv", b"tweet,class\na b,3\nc,0\n", "found the class 3; expected 0 to 2"),
        ("hate", "hatespeech_text_label_vote.csv", b"text\tlabel\na\tb\n", "no document with a text and a label"),
    ],
)
def test_bad_files(name: str, file: str, content: bytes, message: str | None, tmp_path: Path) -> None:
    (tmp_path / file).write_bytes(content)
    with pytest.raises(
        DataError, match=message or "holds notes.txt.gz; expected a file such as reviews_Books"
    ) as caught:
        load_dataset(name, tmp_path)
    assert "\n" not in str(caught.value)
