"""Work on pieces gives the same results wherever they lie."""

from pathlib import Path

import numpy as np
import pytest

from tfcr.system.array_codec import Arrays
from tfcr.system.places import ByPiece, DiskPlaces, Kept, KeptOnDisk, MemoryPlaces, Places, local_places

PIECES: list[Arrays] = [{"numbers": np.arange(size)} for size in (3, 0, 5, 1)]


@pytest.fixture(params=["memory", "disk"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Places:
    return MemoryPlaces() if request.param == "memory" else DiskPlaces(tmp_path, threads=2)


def total(piece: Arrays, times: int = 1) -> int:
    return int(piece["numbers"].sum()) * times


def doubled(piece: Arrays) -> Arrays:
    return {"numbers": 2 * piece["numbers"]}


def joined(one: Arrays, two: Arrays, word: str) -> str:
    return f"{word} {len(one['numbers'])} {int(two['numbers'].sum())}"


def failing(piece: Arrays) -> None:
    if len(piece["numbers"]) == 5:
        raise ValueError("five")


def test_work_is_done_on_each_piece_in_order(places: Places) -> None:
    kept = places.keep(iter(PIECES))
    assert len(kept) == 4
    assert list(places.map(total, kept)) == [3, 0, 10, 0]
    assert list(places.map(total, kept, 3)) == [9, 0, 30, 0]


def test_what_is_made_of_pieces_stays_where_they_are(places: Places) -> None:
    kept = places.keep(PIECES)
    twice = places.transform(doubled, kept)
    assert list(places.map(total, twice)) == [6, 0, 20, 0]
    words = ByPiece(["a", "b", "c", "d"])
    assert list(places.map(joined, kept, twice, words)) == ["a 3 6", "b 0 0", "c 5 20", "d 1 0"]


def test_an_error_in_a_piece_is_raised(places: Places) -> None:
    with pytest.raises(ValueError, match="five"):
        list(places.map(failing, places.keep(PIECES)))


def test_a_different_number_of_pieces_is_refused(places: Places) -> None:
    kept = places.keep(PIECES)
    with pytest.raises(ValueError, match=r"found \[2, 4\] pieces"):
        list(places.map(joined, kept, kept, ByPiece(["a", "b"])))
    with pytest.raises(ValueError, match=r"found \[\] pieces"):
        list(places.map(total, {"numbers": np.arange(3)}))


def test_dropped_pieces_take_no_room(places: Places, tmp_path: Path) -> None:
    one, two = places.keep(PIECES), places.keep(PIECES)
    places.drop(one)
    assert list(places.map(total, two)) == [3, 0, 10, 0]
    places.drop(two)
    assert not list(tmp_path.iterdir())
    assert (len(one), len(two)) == (0, 0)


def test_results_do_not_wait_in_memory(tmp_path: Path) -> None:
    """Work runs at most a few pieces ahead of what is asked for."""
    places = DiskPlaces(tmp_path, threads=2)
    begun: list[int] = []
    kept = places.keep({"numbers": np.arange(number)} for number in range(20))
    results = places.map(lambda piece: begun.append(len(piece["numbers"])), kept)
    next(results)
    assert len(begun) <= 4
    results.close()  # type: ignore[attr-defined]


def test_a_full_disk_is_an_error_of_the_system(tmp_path: Path) -> None:
    places = DiskPlaces(tmp_path / "missing")
    with pytest.raises(OSError, match="shards cannot be written"):
        places.keep(PIECES)
    (tmp_path / "0.safetensors").write_bytes(b"no piece")
    with pytest.raises(OSError, match="shards cannot be read"):
        list(DiskPlaces(tmp_path).map(total, KeptOnDisk([tmp_path / "0.safetensors"])))


def test_local_places_leave_nothing_behind() -> None:
    with local_places() as places:
        kept: Kept = places.keep(PIECES)
        folder = places.folder
        assert len(list(folder.glob("*.safetensors"))) == len(kept)
    assert not folder.exists()
