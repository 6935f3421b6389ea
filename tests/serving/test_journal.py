"""The journal of a page: what was acknowledged is there, whatever happened since."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.runner import environment
from tfcr.serving.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


def test_records_come_back_in_order(journal: Journal) -> None:
    assert (journal.records(), journal.position()) == ([], 0)
    first = journal.append({"row": 1, "label": "größer\n\u2028\ud800"})
    second = journal.append({"row": 2}, {"row": 3})
    assert first < second == journal.position() == journal.path.stat().st_size
    assert [record["row"] for record in journal.records()] == [1, 2, 3]
    assert journal.records()[0]["label"] == "größer\n\u2028\ud800"
    assert journal.since(first) == ([{"row": 2}, {"row": 3}], second)
    assert journal.since(second) == ([], second)
    assert Journal(journal.path).records() == journal.records()


def test_a_torn_tail_is_dropped_and_never_the_rest(journal: Journal) -> None:
    lines = [json.dumps({"row": row, "label": "ä" * row}).encode() + b"\n" for row in range(4)]
    for cut in range(len(lines[3])):  # as a kill in the middle of writing the last one leaves it
        journal.path.write_bytes(b"".join(lines[:3]) + lines[3][:cut])
        assert [record["row"] for record in journal.records()] == [0, 1, 2]
        assert journal.position() == len(b"".join(lines[:3]))
        journal.append({"row": 9})
        assert [record["row"] for record in journal.records()] == [0, 1, 2, 9]


def test_a_torn_line_longer_than_a_block(journal: Journal) -> None:
    journal.append({"row": 1})
    with journal.path.open("ab") as file:
        file.write(b'{"row": "' + b"x" * 20_000)
    journal.append({"row": 2})
    assert [record["row"] for record in journal.records()] == [1, 2]


@pytest.mark.parametrize("damage", [b"\0" * 40, b"[1]", b"{", b"[" * 100_000, b"\xff\xfe", b'"text"'])
def test_a_damaged_line_costs_only_itself(damage: bytes, journal: Journal) -> None:
    journal.append({"row": 1})
    with journal.path.open("ab") as file:
        file.write(damage + b"\n")
    journal.append({"row": 2})
    assert [record["row"] for record in journal.records()] == [1, 2]


@given(content=st.binary(max_size=200))
def test_any_bytes_can_be_read_and_added_to(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    journal = Journal(tmp_path_factory.mktemp("any") / "journal.jsonl")
    journal.path.write_bytes(content)
    before = journal.records()
    journal.append({"row": 1})
    assert journal.records() == [*before, {"row": 1}]


@pytest.mark.parametrize("written", [0, 5, 30])
def test_a_full_disk_leaves_the_journal_as_it_was(
    written: int, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.append({"row": 1})
    before, write = journal.path.read_bytes(), os.write

    def full(handle: int, content: Any) -> int:
        if not full_up:
            full_up.append(True)
            return write(handle, content[:written])
        raise OSError(errno.ENOSPC, "No space left on device")

    full_up: list[bool] = []
    monkeypatch.setattr("os.write", full)
    with pytest.raises(OSError, match="No space left"):
        journal.append({"row": 2, "label": "b"}, {"row": 3, "label": "c"})
    monkeypatch.undo()
    assert journal.path.read_bytes() == before
    journal.append({"row": 4})
    assert [record["row"] for record in journal.records()] == [1, 4]


def test_a_line_that_is_taken_back_is_never_read(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    first = journal.append({"row": 1})
    found: list[Any] = []
    reads = [threading.Thread(target=lambda: found.append(journal.since(first)))]
    reads.append(threading.Thread(target=lambda: found.append(journal.position())))

    def fails(handle: int) -> None:
        for thread in reads:  # others ask while the line is there, and not yet on disk
            thread.start()
        time.sleep(0.2)
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("os.fsync", fails)
    with pytest.raises(OSError, match="Input/output"):
        journal.append({"row": 2, "label": "refused"})
    monkeypatch.undo()
    for thread in reads:
        thread.join(10)
    assert sorted(found, key=str) == [([], first), first]


def test_a_position_where_no_line_ends_begins_anew(journal: Journal) -> None:
    journal.append({"row": 1})
    end = journal.append({"row": 2})
    for position in (end + 1, end + 10**15, end - 1, 1):
        assert not journal.knows(position)
        assert journal.since(position) == ([{"row": 1}, {"row": 2}], end)
    assert journal.knows(0)
    assert journal.knows(end)
    journal.path.unlink()
    assert (journal.knows(end), journal.knows(0), journal.since(end)) == (False, True, ([], 0))
    assert not journal.path.exists()  # reading makes none


LIMITED = """
import resource, sys
from pathlib import Path
from tfcr.serving.journal import Journal
journal = Journal(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
acknowledged = 0
try:
    while True:
        journal.append({"row": acknowledged})
        acknowledged += 1
except OSError as error:
    print(acknowledged, len(journal.records()), journal.path.stat().st_size == journal.position())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
def test_a_file_that_may_not_grow(journal: Journal) -> None:
    command = [sys.executable, "-c", LIMITED, str(journal.path)]
    found = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True).stdout.split()
    assert found[0] == found[1] == str(len(journal.records()))
    assert found[2] == "True"


def test_many_threads_lose_nothing(journal: Journal) -> None:
    def add(number: int) -> None:
        for row in range(20):
            Journal(journal.path).append({"thread": number, "row": row})

    threads = [threading.Thread(target=add, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = journal.records()
    assert len(found) == 100
    for number in range(5):
        assert [record["row"] for record in found if record["thread"] == number] == list(range(20))


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_is_not_followed(journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("kept\n")
    journal.path.symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic"):
        journal.append({"row": 1})
    assert (tmp_path / "other").read_text() == "kept\n"
