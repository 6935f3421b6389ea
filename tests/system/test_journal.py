"""A journal tells what a killed run has written, and nothing that it has not."""

from pathlib import Path

import pytest

from tfcr.errors import InputError
from tfcr.system.files import hidden_beside
from tfcr.system.journal import opened_journal


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    with opened_journal(path, {"model": "a"}, resume=True, what="out.csv") as opened:
        assert not opened.resumes
        opened.add("out.csv", 10, 100, state=[1])
        opened.add("out.csv", 20, 200, state=[2])
        opened.add("other.csv", 5, 50)
        opened.forget("other.csv")
        opened.forget("never.csv")
    return path


def test_the_last_record_counts(journal: Path) -> None:
    with opened_journal(journal, {"model": "a"}, resume=True, what="out.csv") as opened:
        assert opened.resumes
        assert opened.is_worth_resuming()
        assert opened.last("out.csv") == {"output": "out.csv", "rows": 20, "bytes": 200, "state": [2]}
        assert opened.last("other.csv") is None
        assert opened.last("never.csv") is None
        opened.remove()
    assert not journal.exists()


def test_a_line_without_an_end_was_never_written(journal: Path) -> None:
    journal.write_bytes(journal.read_bytes() + b'{"output": "out.csv", "rows": 30, "bytes": 300}')
    with opened_journal(journal, {"model": "a"}, resume=True, what="out.csv") as opened:
        assert (opened.last("out.csv") or {})["rows"] == 20
        opened.add("out.csv", 40, 400)
    with opened_journal(journal, {"model": "a"}, resume=True, what="out.csv") as opened:
        assert (opened.last("out.csv") or {})["rows"] == 40


def test_another_run_is_refused_or_begun_anew(journal: Path) -> None:
    before = journal.read_bytes()
    with (
        pytest.raises(InputError, match="found another model than that of the run that began to write out.csv"),
        opened_journal(journal, {"model": "b"}, resume=True, what="out.csv"),
    ):
        pass
    assert journal.read_bytes() == before
    with opened_journal(journal, {"model": "b"}, resume=False, what="out.csv") as opened:
        assert not opened.resumes
        assert opened.last("out.csv") is None


def test_a_journal_has_one_user(journal: Path) -> None:
    with (
        opened_journal(journal, {"model": "a"}, resume=True, what="out.csv"),
        pytest.raises(InputError, match="another tfcr predict is writing out.csv"),
        opened_journal(journal, {"model": "a"}, resume=True, what="out.csv"),
    ):
        pass


def test_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("kept")
    (tmp_path / "journal").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError), opened_journal(tmp_path / "journal", {}, resume=False, what="x"):  # noqa: PT011
        pass
    assert (tmp_path / "secret").read_text() == "kept"


def test_hidden_names_are_short_enough(tmp_path: Path) -> None:
    path = hidden_beside(tmp_path / ("ü" * 120 + ".csv"), ".tfcr-journal")
    path.write_text("")
    assert hidden_beside(tmp_path / "a.csv", ".tfcr-part").name == ".a.csv.tfcr-part"
    assert path != hidden_beside(tmp_path / ("ü" * 119 + "x.csv"), ".tfcr-journal")
