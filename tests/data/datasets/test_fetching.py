"""Datasets by name, fetched from a server on this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.file_server import Server
from tfcr.data import DATASETS, fetch_dataset, load_dataset
from tfcr.errors import DataError, DownloadError
from tfcr.system import download as module


def test_a_dataset_is_fetched_once(server: Server, small_newsgroups: list[tuple[str, str]], tmp_path: Path) -> None:
    place = fetch_dataset("20ng")
    assert place.is_relative_to(tmp_path / "cache")
    corpus = load_dataset("20ng")
    assert list(zip(corpus.labels, corpus.texts, strict=True)) == small_newsgroups
    assert fetch_dataset("20ng") == place
    assert len(server.asked) == 1
    fetch_dataset("20ng", again=True)
    assert len(server.asked) == 2


def test_a_dataset_is_not_ready_before_all_is_there(server: Server, small_newsgroups: list[tuple[str, str]]) -> None:
    server.cuts = [10] + [0] * module.TRIES
    with pytest.raises(DownloadError, match="or get it by hand from http://qwone.com.*tfcr datasets fetch 20ng --path"):
        fetch_dataset("20ng")
    with pytest.raises(DataError, match="not on this machine .*type tfcr datasets fetch 20ng"):
        load_dataset("20ng")
    fetch_dataset("20ng")
    assert len(load_dataset("20ng")) == 3


def test_a_dataset_of_several_files(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    files = tuple(replace(file, url=f"{server.url}/{file.name}") for file in DATASETS["agnews"].downloads)
    monkeypatch.setitem(DATASETS, "agnews", replace(DATASETS["agnews"], downloads=files))
    server.content = b'"1","World","1"\n'  # for both: the classes' names are odd, and that is all
    server.kind = "text/plain"
    fetch_dataset("agnews")
    assert load_dataset("agnews").texts == ["World\n1"]


def test_a_dataset_that_is_not_what_it_should_be(server: Server, small_newsgroups: list[tuple[str, str]]) -> None:
    server.content = b"no archive"
    file = replace(DATASETS["20ng"].downloads[0], sha256="")
    DATASETS["20ng"] = replace(DATASETS["20ng"], downloads=(file,))
    for _ in range(2):
        with pytest.raises(DataError, match="is truncated or not a tar archive.*: tfcr datasets fetch 20ng --again"):
            fetch_dataset("20ng")
        with pytest.raises(DataError, match="not on this machine"):
            load_dataset("20ng")


def test_a_download_that_was_damaged_on_disk_is_noticed(
    small_newsgroups: list[tuple[str, str]], tmp_path: Path
) -> None:
    place = fetch_dataset("20ng")
    file = next(path for path in place.iterdir() if not path.name.startswith("."))
    file.touch()
    assert len(load_dataset("20ng")) == len(small_newsgroups)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(
        DataError, match="is not what was written; to download it again: tfcr datasets fetch 20ng --again"
    ):
        load_dataset("20ng")
    fetch_dataset("20ng", again=True)
    assert len(load_dataset("20ng")) == len(small_newsgroups)
