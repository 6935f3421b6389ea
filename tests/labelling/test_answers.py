import json
from pathlib import Path

import pytest

from tests.labelling.conftest import full_disk
from tfcr.data import read_corpus
from tfcr.errors import DataError, InputError
from tfcr.labelling import AnswersFile, Pool
from tfcr.labelling.answers import Answer, opened_answers

TEXTS = ["paper jam", 'quotes " and\nlines', "half \ud800", "slow network", "größer 😀"]
ANSWERS = {
    3: Answer("network", "spread"),
    0: Answer("hardware", "random", checked=True),
    1: Answer(None, "unsure"),
    2: Answer("hardware", "given"),
}


@pytest.fixture
def pool() -> Pool:
    return Pool.of(TEXTS, rows=[1, 2, 5, 7, 8])


def test_answers_are_read_as_they_were_written(pool: Pool, tmp_path: Path) -> None:
    file = AnswersFile(tmp_path / "a.jsonl", pool)
    assert file.read() == {}
    file.write(ANSWERS)
    found = AnswersFile(tmp_path / "a.jsonl", pool).read()
    assert found == ANSWERS
    assert list(found) == list(ANSWERS)
    file.write({3: Answer(("a", "b"), "random"), 0: Answer((), "random")})
    assert file.read() == {3: Answer(("a", "b"), "random"), 0: Answer((), "random")}


def test_train_reads_them(pool: Pool, tmp_path: Path) -> None:
    AnswersFile(tmp_path / "a.jsonl", pool).write({**ANSWERS, 4: Answer("network", "unsure")})
    corpus = read_corpus(tmp_path / "a.jsonl")
    assert corpus.texts == ["slow network", "paper jam", "half \ufffd", "größer 😀"]
    assert corpus.labels == ["network", "hardware", "hardware", "network"]


def test_a_full_disk_leaves_the_file_as_it_was(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = AnswersFile(tmp_path / "a.jsonl", pool)
    file.write(ANSWERS)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full_disk)
        with pytest.raises(OSError, match="No space left"):
            file.write({**ANSWERS, 4: Answer("network", "unsure")})
    assert file.read() == ANSWERS
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    file.write({**ANSWERS, 4: Answer("network", "unsure")})
    assert len(file.read()) == 5


LINE = {"text": "paper jam", "label": "x", "row": 1, "chosen": "random", "corpus": "…"}
WRONG = {
    "something else": [b"text,label", b'{"text": "a", "label": "b"}', b"[1]", b"\xff\xfe", b'{"text": "a", "la'],
    "other data": [json.dumps({**LINE, "corpus": "0" * 16}).encode()],
}


@pytest.mark.parametrize(("says", "content"), [(says, line) for says, lines in WRONG.items() for line in lines])
def test_another_file_is_refused_and_left_alone(says: str, content: bytes, pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(content + b"\n")
    with pytest.raises(DataError, match=says):
        AnswersFile(tmp_path / "a.jsonl", pool).read()
    assert (tmp_path / "a.jsonl").read_bytes() == content + b"\n"


@pytest.mark.parametrize("change", [{"row": 3}, {"row": "1"}, {"label": 5}, {"label": ["a", 1]}, {"row": True}])
def test_a_changed_line_is_refused(change: dict[str, object], pool: Pool, tmp_path: Path) -> None:
    line = {**LINE, "corpus": pool.fingerprint, **change}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(DataError, match="line 1: found"):
        AnswersFile(tmp_path / "a.jsonl", pool).read()


def test_one_process_at_a_time(pool: Pool, tmp_path: Path) -> None:
    with opened_answers(tmp_path / "a.jsonl", pool):
        with pytest.raises(InputError, match="another tfcr label"), opened_answers(tmp_path / "a.jsonl", pool):
            pass
        with opened_answers(tmp_path / "b.jsonl", pool):
            pass
    with opened_answers(tmp_path / "a.jsonl", pool):
        pass
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_are_refused(pool: Pool, tmp_path: Path) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    for name, says in {"a.csv": "ends in", "folder.jsonl": "is a folder", "none/a.jsonl": "does not exist"}.items():
        with pytest.raises((InputError, DataError), match=says), opened_answers(tmp_path / name, pool):
            pass
