"""Artefacts: whole or absent, made once by one of several processes, in memory where there is no disk."""

import json
import os
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from tfcr.errors import DamagedError, TfcrWarning
from tfcr.system import seals
from tfcr.system.array_codec import read_sparse, read_strings, write_sparse, write_strings
from tfcr.system.artifacts import (
    Artifact,
    ArtifactWriter,
    digest_of,
    digest_of_strings,
    make_artifact,
    make_in_memory,
    open_artifact,
    read_artifact,
)
from tfcr.system.files import temporary_name

MATRIX = sp.csr_array(np.array([[0.0, 5], [7, 8]]))


def write_all(writer: ArtifactWriter) -> None:
    writer.write({**write_sparse("matrix", MATRIX), **write_strings("words", ["an", "öx"]), "flags": [True, False]})
    for start in range(0, 6, 2):
        writer.append("rows", np.arange(start, start + 2, dtype=np.float32)[:, None] * [1, 10])
    writer.append("nothing", np.zeros((0, 3), np.int16))
    writer.facts |= {"language": "en"}


def check(artifact: Artifact) -> None:
    assert artifact.facts == {"language": "en"}
    arrays = artifact.arrays
    np.testing.assert_array_equal(read_sparse(arrays, "matrix", (2, 2)).toarray(), MATRIX.toarray())
    assert read_strings(arrays, "words") == ["an", "öx"]
    assert arrays["flags"].tolist() == [True, False]
    assert arrays["rows"].tolist() == [[n, 10.0 * n] for n in range(6)]
    assert arrays["nothing"].shape == (0, 3)
    assert arrays["nothing"].dtype == np.int16


@pytest.fixture
def section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "things"


def test_an_artifact_is_made_once_and_mapped(section: Path) -> None:
    assert open_artifact("things", "one") is None
    check(make_artifact("things", "one", write_all))
    check(make_artifact("things", "one", lambda writer: pytest.fail("made twice")))
    found = open_artifact("things", "one")
    assert found is not None
    check(found)
    assert isinstance(found.arrays["rows"].base, np.memmap)
    assert not found.arrays["rows"].flags.writeable
    assert [path.name for path in section.iterdir()] == ["one"]
    assert section.stat().st_mode & 0o777 == section.parent.stat().st_mode & 0o777 == 0o700


def test_in_memory() -> None:
    check(make_in_memory(write_all))


def test_pieces_must_fit_together(section: Path) -> None:
    def write(writer: ArtifactWriter) -> None:
        writer.append("rows", np.zeros((1, 2)))
        writer.append("rows", np.zeros((1, 3)))

    with pytest.raises(ValueError, match="rows: found rows of float64"):
        make_artifact("things", "one", write)
    assert list(section.iterdir()) == []


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


def as_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def change_facts(folder: Path, name: str, value: Any) -> None:
    stored = json.loads((folder / "facts.json").read_text())
    stored["arrays"][name] = value
    (folder / "facts.json").write_text(json.dumps(stored))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "a file is shorter": lambda folder: cut(folder / "rows.raw"),
    "a file is longer": lambda folder: (folder / "rows.raw").write_bytes(b"x" * 1000),
    "a file is missing": lambda folder: (folder / "words.text.raw").unlink(),
    "an empty array is not": lambda folder: (folder / "nothing.raw").write_bytes(b"x"),
    "no facts": lambda folder: (folder / "facts.json").unlink(),
    "facts are cut": lambda folder: cut(folder / "facts.json"),
    "facts of another layout": lambda folder: (folder / "facts.json").write_text('{"arrays": ["rows"]}'),
    "another shape": lambda folder: change_facts(folder, "rows", ["<f8", [7, 2]]),
    "objects": lambda folder: change_facts(folder, "rows", ["|O", [6, 2]]),
    "no type": lambda folder: change_facts(folder, "rows", ["evil", [6, 2]]),
    "rows and columns change places": lambda folder: change_facts(folder, "rows", ["<f8", [2, 6]]),
    "another number": lambda folder: flip(folder / "rows.raw", 3),
    "another letter": lambda folder: flip(folder / "words.text.raw", 0),
    "deep facts": lambda folder: (folder / "facts.json").write_text("[" * 100_000),
    "a long number": lambda folder: change_facts(folder, "rows", "1" * 5000),
    "a file is a pipe": lambda folder: as_pipe(folder / "rows.raw"),
    "the facts are a pipe": lambda folder: as_pipe(folder / "facts.json"),
    "the seal is a pipe": lambda folder: as_pipe(folder / "seal.json"),
    "no JSON in the seal": lambda folder: (folder / "seal.json").write_text("["),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_artifact_is_made_again(damage: str, section: Path) -> None:
    make_artifact("things", "one", write_all)
    DAMAGES[damage](section / "one")
    with pytest.warns(TfcrWarning, match="the cache entry things/one is damaged .*; it is made again"):
        assert open_artifact("things", "one") is None
    with pytest.warns(TfcrWarning, match="it is made again"):
        check(make_artifact("things", "one", write_all))
    assert [path.name for path in section.iterdir()] == ["one"]


def test_what_cannot_be_read_is_made_again(section: Path) -> None:
    made: list[str] = []

    def make(writer: ArtifactWriter) -> None:
        made.append("made")
        writer.facts["number"] = len(made)

    def read(artifact: Artifact) -> int:
        if artifact.facts["number"] == 1:
            raise DamagedError("the first one is bad")
        return int(artifact.facts["number"])

    with pytest.warns(TfcrWarning, match="is damaged"):
        assert read_artifact("things", "one", make, read) == 2
    assert read_artifact("things", "one", make, read) == 2
    assert len(made) == 2


def test_an_entry_of_a_version_without_seals_is_made_again_quietly(section: Path) -> None:
    make_artifact("things", "one", write_all)
    (section / "one" / "seal.json").unlink()
    assert open_artifact("things", "one") is None
    check(make_artifact("things", "one", write_all))


def test_any_changed_byte_is_noticed(section: Path) -> None:
    """Each byte in turn: the entry is as it was, or absent."""
    make_artifact("things", "one", write_all)
    folder = section / "one"
    whole = {file.name: file.read_bytes() for file in folder.iterdir()}
    random = Random(0)
    for name, content in whole.items():
        for at in {random.randrange(len(content)) for _ in range(30)} if content else ():
            changed = bytearray(content)
            changed[at] = random.randrange(256)
            (folder / name).write_bytes(changed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TfcrWarning)
                found = open_artifact("things", "one")
            if found is not None:
                check(found)
            (folder / name).write_bytes(content)


def test_a_file_with_its_stamp_is_not_hashed(section: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_artifact("things", "one", write_all)
    hashed: list[str] = []
    real = seals.sum_of

    def counting(path: Path) -> str:
        hashed.append(path.name)
        return real(path)

    monkeypatch.setattr(seals, "sum_of", counting)
    assert open_artifact("things", "one") is not None
    assert hashed == []
    (section / "one" / "rows.raw").touch()
    for _ in range(2):  # the new stamp is noted
        found = open_artifact("things", "one")
        assert found is not None
        check(found)
    assert hashed == ["rows.raw"]


def test_a_lock_left_by_a_killed_process_is_removed(section: Path) -> None:
    make_artifact("things", "one", write_all)
    (section / ".one.lock").touch()
    make_artifact("things", "one", write_all)
    assert [path.name for path in section.iterdir()] == ["one"]


def test_one_that_fails_leaves_nothing_behind(section: Path) -> None:
    def fail(writer: ArtifactWriter) -> None:
        writer.append("rows", np.zeros(3))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_artifact("things", "one", fail)
    assert list(section.iterdir()) == []


def test_two_at_once_make_it_once(section: Path) -> None:
    made, waited = [], threading.Event()

    def make(writer: ArtifactWriter) -> None:
        made.append(1)
        waited.wait(10)
        write_all(writer)

    def work() -> None:
        check(make_artifact("things", "one", make, waiting=waited.set))

    both = [threading.Thread(target=work) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert waited.is_set()
    assert len(made) == 1
    assert [path.name for path in section.iterdir()] == ["one"]


def test_earlier_states_and_what_killed_processes_left_are_dropped(section: Path) -> None:
    section.mkdir(parents=True)
    left = section / temporary_name("a-1")
    left.mkdir()
    (left / "rows.raw").write_bytes(b"unfinished")
    (section / ".a-0.lock").touch()
    (section / ".a-9-of a user").mkdir()
    for name in ("a-1", "b-1", "a-2", "ab-1", "c"):
        make_artifact("things", name, write_all)
    assert sorted(path.name for path in section.iterdir()) == [".a-9-of a user", "a-2", "ab-1", "b-1", "c"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("size", [3, 1_000_000])  # noticed when the file is closed, and when it is written
def test_a_full_disk(size: int, section: Path) -> None:
    def write(writer: ArtifactWriter) -> None:
        if writer._folder is not None:
            (writer._folder / "rows.raw").symlink_to("/dev/full")
        writer.append("rows", np.zeros(size))

    with pytest.raises(OSError, match="No space left"):
        make_artifact("things", "one", write)
    assert list(section.iterdir()) == []
    assert len(make_in_memory(write).arrays["rows"]) == size


def test_digests_tell_apart() -> None:
    assert digest_of("a", ["b"]) != digest_of("a", "b")
    assert digest_of({"a": 1, "b": 2}) == digest_of({"b": 2, "a": 1})
    assert digest_of_strings(["ab"]) != digest_of_strings(["a", "b"])
    assert digest_of_strings(["\ud800"]) != digest_of_strings([""])
    # results of experiments are stored under these: they must never change
    assert digest_of("a", 1) == "e4f525cf5355386be46e704e2fe1a1c3"
    assert digest_of_strings(["a", "é"]) == "dbe152f80bbb24538dd5e55a5f57b37e"
