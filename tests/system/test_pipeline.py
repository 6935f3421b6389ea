"""Stages that overlap keep the order, pass errors on, and leave no thread behind."""

import threading
import time
from collections.abc import Generator, Iterator

import pytest

from tfcr.system.pipeline import AHEAD, read_ahead, write_behind


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def numbers(end: int, made: list[int], closed: list[bool], *, fails_at: int = -1) -> Generator[int]:
    try:
        for number in range(end):
            if number == fails_at:
                raise ValueError("cannot read")
            made.append(number)
            yield number
    finally:
        closed.append(True)


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("end", [0, 1, 50])
def test_all_items_in_their_order(end: int, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_THREADS", threads)
    made: list[int] = []
    closed: list[bool] = []
    written: list[int] = []
    with read_ahead(numbers(end, made, closed)) as items, write_behind(written.append) as write:
        for item in items:
            write(item)
    assert written == made == list(range(end))
    assert closed == [True]


def test_what_waits_is_bounded() -> None:
    made: list[int] = []
    with read_ahead(numbers(1000, made, [])) as items:
        next(items)
        time.sleep(0.1)
        assert len(made) <= AHEAD + 2  # one is taken, one waits for room


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("taken", [0, 1, 5])
def test_a_body_that_fails_stops_both(taken: int, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_THREADS", threads)
    made: list[int] = []
    closed: list[bool] = []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012, SIM117
        with read_ahead(numbers(10**9, made, closed)) as items, write_behind(lambda item: None) as write:
            for _ in range(taken):
                write(next(items))
            raise KeyboardInterrupt
    assert closed == [True] * bool(made)  # what was never begun has nothing to close


@pytest.mark.parametrize("threads", ["1", "2"])
def test_an_error_of_reading_comes_after_the_items_before_it(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_THREADS", threads)
    found: list[int] = []
    with pytest.raises(ValueError, match="cannot read"), read_ahead(numbers(9, [], [], fails_at=5)) as items:
        found.extend(items)
    assert found == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("n_items", [1, 50])
def test_an_error_of_writing_is_raised(n_items: int, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_THREADS", threads)
    written: list[int] = []

    def fail(item: int) -> None:
        written.append(item)
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"), write_behind(fail) as write:  # noqa: PT012
        for number in range(n_items):
            write(number)
    assert written == [0]
