"""Where files go, and one process at a time."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tfcr.system.files import cache_folder, locked, write_file, written_beside


def test_a_lock_that_is_removed_locks_nothing(tmp_path: Path) -> None:
    lock, through, leave, waits = tmp_path / "lock", threading.Event(), threading.Event(), threading.Event()

    def wait_and_enter() -> None:
        with locked(lock, waits.set):
            through.set()
            leave.wait(10)

    second = threading.Thread(target=wait_and_enter)
    with locked(lock):
        second.start()
        assert waits.wait(10)
        lock.unlink()
    assert through.wait(10)
    third_waits = threading.Event()

    def let_the_second_go() -> None:
        third_waits.set()
        leave.set()

    with locked(lock, let_the_second_go):
        assert third_waits.is_set()
    second.join()


def test_a_lock_is_left_in_place_or_removed(tmp_path: Path) -> None:
    with locked(tmp_path / "lock"):
        pass
    assert (tmp_path / "lock").exists()
    with locked(tmp_path / "lock", remove=True):
        assert (tmp_path / "lock").exists()
    assert not (tmp_path / "lock").exists()


def test_a_lock_is_freed_when_its_process_dies(tmp_path: Path) -> None:
    program = """
import sys, time
from pathlib import Path
from tfcr.system.files import cache_folder, locked, write_file, written_beside
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        waited: list[str] = []

        def kill() -> None:
            waited.append("waited")
            process.kill()

        with locked(tmp_path / "lock", kill):
            assert waited == ["waited"]


def test_the_cache_is_private_and_where_the_system_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "mine"))
    assert cache_folder("things") == tmp_path / "mine" / "things"
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o700
    monkeypatch.delenv("TFCR_CACHE")
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
        assert cache_folder("things") == tmp_path / "xdg" / "tfcr" / "things"
        assert (tmp_path / "xdg" / "tfcr").stat().st_mode & 0o777 == 0o700
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert cache_folder("things") == tmp_path / "home" / ".cache" / "tfcr" / "things"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_file(path, b"old")

    def fail() -> None:
        with written_beside(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
