"""Threads and memory."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tfcr.errors import InputError
from tfcr.system import hardware
from tfcr.system.hardware import (
    in_parallel,
    interruptible,
    memory_limit,
    n_processors,
    n_threads,
    one_blas_thread,
)


def test_limits_of_memory() -> None:
    assert memory_limit("4GB") == memory_limit("4 g") == memory_limit(4e9) == 4 * 10**9
    assert memory_limit("1.5M") == 1_500_000
    assert 10**8 < memory_limit() < 10**15
    for wrong in ("much", "-1GB", 0, ""):
        with pytest.raises(InputError, match="expected a number of bytes or a size such as '4GB'"):
            memory_limit(wrong)


def test_matrix_products_get_their_threads_back() -> None:
    from threadpoolctl import threadpool_info

    def threads() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = threads()
    one, two = one_blas_thread(), one_blas_thread()
    one.__enter__()
    two.__enter__()
    assert set(threads()) == {1}
    one.__exit__(None, None, None)
    assert set(threads()) == {1}
    two.__exit__(None, None, None)
    assert threads() == before


def test_a_container_may_have_less_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "limit").write_text("2000000\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(hardware, "_CONTAINER_LIMITS", (tmp_path / "none", tmp_path / "limit", tmp_path / "absent"))
    assert memory_limit() == 1_000_000


def test_the_number_of_threads_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, expected in (("3", 3), ("0", 1), ("", n_processors()), ("many", n_processors())):
        monkeypatch.setenv("TFCR_THREADS", given)
        assert n_threads() == expected


def test_results_come_in_order() -> None:
    def work(number: int) -> int:
        time.sleep(0.01 * (number == 0))
        return number * number

    assert in_parallel(work, range(10), threads=4) == [number * number for number in range(10)]


def test_one_thread_is_this_one() -> None:
    here = threading.current_thread()
    assert in_parallel(lambda number: (number, threading.current_thread()), range(2), threads=1) == [
        (0, here),
        (1, here),
    ]


def test_the_first_error_ends_all() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        if number == 0:
            raise KeyError("first")
        time.sleep(0.01)
        done.append(number)

    with pytest.raises(KeyError, match="first"):
        in_parallel(work, range(1000), threads=2)
    assert len(done) < 900


def test_another_thread_gives_its_result_or_error() -> None:
    assert interruptible(threading.current_thread) is not threading.main_thread()
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda number: 1 // number, 0)


MANY_ARRAYS = """
import sys
import numpy as np
from tfcr.system.hardware import map_large_arrays

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6

np.ones(30 << 20, np.uint8)  # freed at once: from now on, arrays of this size come from the heap
if sys.argv[1] == "mapped":
    map_large_arrays()
before = resident()
some, between = [], []
for _ in range(20):
    some.append(np.ones(10 << 20, np.uint8))
    between.append(np.ones(100_000, np.uint8))  # stays, and keeps what is freed below it
del some
print(resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no glibc")
def test_large_arrays_go_back_to_the_system_when_they_are_freed() -> None:
    def left(how: str) -> float:
        return float(subprocess.check_output([sys.executable, "-c", MANY_ARRAYS, how], text=True))

    # of three runs each: where the heap begins differs from run to run
    assert min(left("mapped") for _ in range(3)) < 20
    assert max(left("as usual") for _ in range(3)) > 100
