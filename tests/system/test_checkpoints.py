"""Results under names, beside an output that is not complete yet."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tfcr.errors import ClusterError, InputError
from tfcr.system.array_files import UNFINISHED, array_length, read_piece, write_piece
from tfcr.system.checkpoints import (
    NO_CHECKPOINTS,
    Checkpoints,
    checkpoint_folder,
    checkpoints_beside,
    remove_checkpoints,
)
from tfcr.system.places import DiskPlaces, local_places

MADE_FROM = {"data": [1, "two"], "options": {"C": 1.0}}


def begin(output: Path, *names: str, error: BaseException | None = None, notes: list[str] | None = None) -> None:
    """Keep results, and be stopped or fail."""
    given = notes if notes is not None else []
    with suppress(KeyboardInterrupt), checkpoints_beside(output, MADE_FROM, given.append) as kept:
        assert kept is not None
        for name in names:
            kept.write(name, {"name": np.frombuffer(name.encode(), np.uint8)})
        raise error or KeyboardInterrupt


def test_results_are_found_under_their_names(tmp_path: Path) -> None:
    kept = Checkpoints(tmp_path)
    part = kept.within("words")
    kept.write("step", {"numbers": np.arange(3)})
    part.write("step", {"numbers": np.arange(6).reshape(2, 3).T})  # not as it lies in memory
    part.write_json("measured", {"scores": [1.5, None]})
    assert np.array_equal((kept.read("step") or {})["numbers"], [0, 1, 2])
    assert np.array_equal((part.read("step") or {})["numbers"], [[0, 3], [1, 4], [2, 5]])
    assert part.read_json("measured") == {"scores": [1.5, None]}
    assert kept.names() == ["step", "words.measured", "words.step"]
    assert part.names() == ["measured", "step"]
    part.forget("step", "unknown")
    assert part.read("step") is None
    assert kept.read("step") is not None


def test_without_a_folder_nothing_is_kept() -> None:
    NO_CHECKPOINTS.write("step", {"numbers": np.arange(3)})
    NO_CHECKPOINTS.forget("step")
    assert NO_CHECKPOINTS.read("step") is None
    assert NO_CHECKPOINTS.names() == []


def test_what_is_half_written_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Checkpoints(tmp_path)
    kept.write("step", {"numbers": np.arange(3)})

    def fail(path: Path, piece: Any) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("tfcr.system.array_files.write_piece", fail)
    with pytest.raises(OSError, match="No space"):
        kept.write("step", {"numbers": np.arange(4)})
    assert len((kept.read("step") or {})["numbers"]) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["step.safetensors"]
    (tmp_path / "step.safetensors").write_bytes(b"of a disk that lost what it had")
    assert kept.read("step") is None


def test_the_same_job_is_resumed_and_another_starts_over(tmp_path: Path) -> None:
    output, notes = tmp_path / "model", list[str]()
    begin(output, "one")
    begin(output, "two")
    folder = checkpoint_folder(output)
    (folder / "scratch" / "left").mkdir(parents=True)
    (folder / f"three.safetensors{UNFINISHED}").touch()
    with checkpoints_beside(output, MADE_FROM, notes.append) as kept:
        assert kept is not None
        assert kept.names() == ["one", "two"]
        assert list((folder / "scratch").iterdir()) == []
        assert list(folder.glob(f"*{UNFINISHED}")) == []
    assert not folder.exists()
    assert notes == []
    begin(output, "one")
    with checkpoints_beside(output, {**MADE_FROM, "options": {}}, notes.append) as kept:
        assert kept is not None
        assert kept.names() == []
    assert notes == ["training starts over: options changed since it was stopped"]
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_record_starts_over(tmp_path: Path) -> None:
    begin(tmp_path / "model", "one")
    (checkpoint_folder(tmp_path / "model") / "made-from.json").write_bytes(b"{")
    notes: list[str] = []
    with checkpoints_beside(tmp_path / "model", MADE_FROM, notes.append) as kept:
        assert kept is not None
        assert kept.names() == []
    assert notes == ["training starts over: its record changed since it was stopped"]


@pytest.mark.parametrize(
    ("error", "stays"),
    [(OSError(28, "full"), True), (MemoryError(), True), (ClusterError("lost"), True), (InputError("wrong"), False)],
)
def test_what_would_fail_again_is_not_kept(error: Exception, stays: bool, tmp_path: Path) -> None:
    notes: list[str] = []
    with pytest.raises(type(error)):
        begin(tmp_path / "model", "one", error=error, notes=notes)
    folder = checkpoint_folder(tmp_path / "model")
    assert folder.exists() == stays
    expected = [f"what is done so far is kept in {folder}: to resume, type the same command again"]
    assert notes == (expected if stays else [])
    remove_checkpoints(tmp_path / "model")
    assert not folder.exists()


def test_nothing_done_is_nothing_kept(tmp_path: Path) -> None:
    begin(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be locked there")
def test_one_process_at_a_time(tmp_path: Path) -> None:
    with checkpoints_beside(tmp_path / "model", MADE_FROM) as kept:
        assert kept is not None
        kept.write("one", {"numbers": np.arange(3)})
        with (
            pytest.raises(InputError, match="another process trains"),
            checkpoints_beside(tmp_path / "model", MADE_FROM),
        ):
            pass
        remove_checkpoints(tmp_path / "model")
        assert kept.read("one") is not None


def test_what_others_wrote_is_not_deleted(tmp_path: Path) -> None:
    folder = checkpoint_folder(tmp_path / "model")
    folder.mkdir()
    (folder / "mine.txt").touch()
    with (
        pytest.raises(InputError, match=r"holds mine\.txt, which tfcr did not write"),
        checkpoints_beside(tmp_path / "model", MADE_FROM),
    ):
        pass
    remove_checkpoints(tmp_path / "model")
    assert (folder / "mine.txt").exists()


def test_a_place_that_cannot_be_written_to_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with checkpoints_beside(tmp_path / "file" / "model", MADE_FROM) as kept:
        assert kept is None


def test_pieces_that_are_preserved_are_found(tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    with local_places(Checkpoints(tmp_path)) as places:
        assert isinstance(places, DiskPlaces)
        made = places.make(lambda number: {"numbers": np.arange(number)}, [1, 2], name="shard")
        again = places.make(lambda number: {"numbers": np.zeros(0)}, [1, 2], name="shard")
        assert made == again
        assert array_length(made.files[1], "numbers") == 2
        assert places.preserved("piece") is None
        kept = places.keep([{"numbers": np.arange(3)}, {"numbers": np.arange(4)}])
        assert places.preserve(kept, "piece")
        assert places.preserved("piece") == kept
        assert [len(read_piece(file)["numbers"]) for file in kept.files] == [3, 4]
        places.drop(kept)
    with local_places() as places:
        assert not places.preserve(places.keep([{"numbers": np.arange(3)}]), "piece")


def test_arrays_with_gaps_are_written_as_they_are(tmp_path: Path) -> None:
    numbers = np.arange(12).reshape(3, 4)
    write_piece(tmp_path / "piece", {"columns": numbers[:, ::2]})
    assert np.array_equal(read_piece(tmp_path / "piece")["columns"], numbers[:, ::2])
