"""Where files go, and one process at a time."""

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tfcr.system import files
from tfcr.system.files import (
    cache_folder,
    check_writable,
    kernels_are_cached,
    locked,
    temporary_name,
    write_file,
    written_beside,
)


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
from tfcr.system.files import cache_folder, kernels_are_cached, locked, write_file, written_beside
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


WRITER = """
import sys, time
from pathlib import Path
from tfcr.system.files import folder_beside, written_beside
target = Path(sys.argv[1])
with written_beside(target) as file, folder_beside(target.with_name("folder")) as folder:
    file.write(b"half")
    file.flush()
    (folder / "half").write_bytes(b"half")
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_writes_is_kept(tmp_path: Path) -> None:
    mine = [".notes.tmp", ".a.csv-12345678.tmp", ".x.tfcr-tmp", "a.csv.1234abcd-1-1234abcd.tfcr-tmp"]
    for name in mine:
        (tmp_path / name).write_text("a user's own")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "out.csv")], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        write_file(tmp_path / "other.csv", b"whole")
        assert len(list(tmp_path.glob("*.tfcr-tmp"))) == 2 + 2  # its file and its folder, and two of the user's
        writer.kill()
        writer.wait()
        write_file(tmp_path / "other.csv", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*mine, "other.csv"])


def test_the_files_of_another_machine_are_removed_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_machine", lambda: "0" * 8)
    old, new = tmp_path / temporary_name("old"), tmp_path / temporary_name("new")
    monkeypatch.undo()
    for path in (old, new):
        path.write_bytes(b"half")
    long_ago = time.time() - files.ABANDONED - 10
    os.utime(old, (long_ago, long_ago))
    write_file(tmp_path / "a", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([new.name, "a"])


def test_where_nothing_can_be_locked_the_process_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_lock", lambda handle: None)
    own = tmp_path / temporary_name("own")
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    dead = own.with_name(own.name.replace(f"-{os.getpid()}-", f"-{int(ended.stdout)}-"))
    for path in (own, dead):
        path.write_bytes(b"half")
    write_file(tmp_path / "a", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([own.name, "a"])


def test_a_file_of_our_name_that_is_none_is_left_alone(tmp_path: Path) -> None:
    names = [temporary_name("pipe"), temporary_name("link")]
    os.mkfifo(tmp_path / names[0])
    (tmp_path / names[1]).symlink_to(tmp_path / "nowhere")
    write_file(tmp_path / "a", b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "a"])


def test_a_name_of_any_length_can_be_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "ö" * 127):
        write_file(tmp_path / name, b"whole")
        assert (tmp_path / name).read_bytes() == b"whole"


def test_who_could_not_read_the_old_file_cannot_read_the_new_one(tmp_path: Path) -> None:
    write_file(tmp_path / "a", b"old")
    (tmp_path / "a").chmod(0o600)
    write_file(tmp_path / "a", b"new")
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a file; give another name"):
        write_file(tmp_path / "pipe", b"content")
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_whether_a_file_can_be_written_is_told_in_advance(tmp_path: Path) -> None:
    check_writable(tmp_path / "new")
    (tmp_path / "old").write_bytes(b"old")
    check_writable(tmp_path / "old")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_bytes() == b"old"
    for path in (tmp_path / "none" / "file", tmp_path / "old" / "file", Path(os.devnull)):
        with pytest.raises(OSError, match=re.escape(str(path))):
            check_writable(path)


def test_a_path_that_is_not_utf8_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.touch()
    files.remember_path("odd", odd)
    assert files.find_data("odd") == odd.resolve()


@pytest.mark.parametrize("content", [b"", b"\0", b"\xff\xfe", b"a" * 100_000, b"/nowhere"])
def test_a_damaged_note_of_a_path_is_as_none(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    files.remember_path("odd", tmp_path)
    (tmp_path / "cache" / "data" / "odd.path").write_bytes(content)
    assert files.find_data("odd") is None


def test_compiled_code_counts_as_cached_if_the_cache_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("used", "unused", "empty"):
        kernels = tmp_path / name / "kernels"
        kernels.mkdir(parents=True, mode=0o700)
        if name != "empty":
            (kernels / "scores.some_kernel-1.py311.nbi").touch()
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "used"))
    assert kernels_are_cached("some_kernel")
    assert not kernels_are_cached("other_kernel")
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "unused"))
    with monkeypatch.context() as patch:
        patch.setattr(files, "kernel_cache", lambda: None)  # a folder that cannot be written to
        assert not kernels_are_cached("some_kernel")
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "empty"))
    assert not kernels_are_cached("some_kernel")
    monkeypatch.setattr(Path, "rglob", None)  # the answer is remembered
    assert not kernels_are_cached("some_kernel")
