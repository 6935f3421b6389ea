"""The table of limits, and opening files that are none."""

import lzma
import os
from pathlib import Path

import pytest

from tfcr.system.limits import (
    LIMITS,
    is_file,
    is_folder,
    is_pipe,
    is_there,
    open_regular,
    open_unpacked,
    parse_json,
    read_regular,
)


def test_every_limit_says_what_it_counts() -> None:
    for row in LIMITS.values():
        assert row.value > 0
        assert row.unit
        assert row.what


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name, what in {"pipe": "a pipe", "device": "a device", ".": "a folder"}.items():
        for open_ in (open_regular, open_unpacked):
            with pytest.raises(OSError, match=f"it is {what}; expected a file"):
                open_(tmp_path / name)


@pytest.mark.parametrize("name", ["none", "z" * 300, "a/" * 3000, "loop", "long", "file/none", "a\0b"])
def test_nothing_is_at_a_path_that_leads_nowhere(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "long").symlink_to("z" * 300)
    for test in (is_there, is_file, is_folder, is_pipe):
        assert not test(tmp_path / name)


def test_what_is_at_a_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe")
    tests = (is_there, is_file, is_folder, is_pipe)
    assert [test(tmp_path / "file") for test in tests] == [True, True, False, False]
    assert [test(tmp_path) for test in tests] == [True, False, True, False]
    assert [test(tmp_path / "pipe") for test in tests] == [True, False, False, True]


def test_a_path_that_may_not_be_asked_about_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **options: bool) -> object:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", refuse)
    assert is_there(tmp_path)
    assert not is_file(tmp_path)


def test_a_file_larger_than_its_limit(tmp_path: Path) -> None:
    with (tmp_path / "config.json").open("wb") as file:
        file.truncate(LIMITS["settings"].value + 1)  # a hole: it takes no space
    with pytest.raises(OSError, match="it holds 67.1 MB; expected at most 67.1 MB"):
        read_regular(tmp_path / "config.json", "settings")


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000, "", "\xff", b"\xff"])
def test_json_that_is_none(content: str | bytes) -> None:
    with pytest.raises(ValueError, match="."):
        parse_json(content)


def test_xz_in_several_streams_and_cut(tmp_path: Path) -> None:
    whole = lzma.compress(b"one") + bytes(4) + lzma.compress(b"two" * 100_000)
    (tmp_path / "a.xz").write_bytes(whole)
    with open_unpacked(tmp_path / "a.xz") as file:
        assert file.read() == b"one" + b"two" * 100_000
    for cut in (1, 20, 70):
        (tmp_path / "a.xz").write_bytes(whole[:-cut])
        with open_unpacked(tmp_path / "a.xz") as file, pytest.raises(OSError, match="."):
            file.read()
