"""JSON with every quirk: depth, digits, halves of characters, lists in lines."""

import json
from pathlib import Path

import pytest

from tests.data.files import pairs
from tfcr.data import ReadOptions, read_corpus
from tfcr.data.readers import read_table
from tfcr.errors import DataError


@pytest.mark.parametrize("depth", [40, 500, 900, 5000, 100_000])
@pytest.mark.parametrize("ends", ["[]", ('{"a":', "}")])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_deep_json_is_refused(depth: int, ends: tuple[str, str], name: str, tmp_path: Path) -> None:
    line = '{"text": ' + ends[0] * depth + "1" + ends[1] * depth + ', "label": "x"}'
    (tmp_path / name).write_text(f"[{line}]" if name == "a.json" else '{"text": "a", "label": "x"}\n' + line)
    with pytest.raises(DataError, match=r"nested more than 32 deep; expected") as caught:
        read_corpus(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_many_brackets_in_a_text_are_not_depth(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "[{" * 99, "label": "x"}) + "\n")
    assert pairs(tmp_path / "a.jsonl") == [("[{" * 99, "x")]


@pytest.mark.parametrize("digits", [19, 20, 38, 39, 500, 5000])
def test_numbers_of_any_length(digits: int, tmp_path: Path) -> None:
    line = '{"id": 1%s, "text": "a", "label": "x"}\n' % ("0" * (digits - 1))
    (tmp_path / "a.jsonl").write_text('{"id": 2, "text": "b", "label": "y"}\n' + line)
    frame = read_table(tmp_path / "a.jsonl", ReadOptions()).frame
    assert [str(cell) for cell in frame["id"].to_list()] == ["2", "1" + "0" * (digits - 1)]


def test_halves_of_characters(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        r'{"text": "a \ud83d\ude00 \ud83d", "label": "x"}' "\n" r'{"text": "\\ud83d \\\ud83d", "label": "y"}' "\n"
    )
    assert pairs(tmp_path / "a.jsonl") == [("a 😀 �", "x"), ("\\ud83d \\�", "y")]


@pytest.mark.parametrize("line", ["[1]", "null", "1", '"x"', '[{"text": "b", "label": "y"}]'])
def test_lines_that_are_no_objects(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": "x"}\n' + line + "\n")
    with pytest.raises(DataError, match="a.jsonl, line 2: found .*; expected JSON objects"):
        read_corpus(tmp_path / "a.jsonl")


def test_empty_objects_are_rows_and_of_repeated_keys_the_first_counts(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{}\n{"text": "a", "text": "b", "n": 1}\n{"text": "c", "n": "x"}\n{}\n')
    assert read_table(tmp_path / "a.jsonl", ReadOptions()).frame["text"].to_list() == [None, "a", "c", None]
