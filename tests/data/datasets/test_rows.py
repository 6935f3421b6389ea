"""What the readers of datasets share."""

from pathlib import Path

from tests.data.datasets.files import pairs
from tfcr.data import load_dataset


def test_halves_of_characters_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "reviews.json").write_text('{"reviewText": "so \\ud83d\\ude00 \\ud83d", "overall": 5}\n')
    (tmp_path / "twitter-2013train-A.txt").write_text("1\tpositive\tso \\ud83d\\ude00 \\ude00\n")
    assert load_dataset("rev-book", tmp_path).texts == ["so \U0001f600 \ufffd"]
    assert load_dataset("semeval", tmp_path).texts == ["so \U0001f600 \ufffd"]


def test_bytes_that_are_not_utf8_do_not_stop_the_reading(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_bytes(b"\xef\xbb\xbfstars,text\n5,caf\xe9\n")
    assert pairs(load_dataset("rev-rest", tmp_path)) == [("5 stars", "caf\ufffd")]
