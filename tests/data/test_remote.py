"""Files elsewhere: on a web server of this machine, and in fsspec's memory."""

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import polars as pl
import pytest

from tests.file_server import Server
from tfcr.data import ReadOptions, load_data, remote
from tfcr.data.labelled_stream import labelled_stream
from tfcr.data.sources import load_pieces
from tfcr.errors import DataError, MissingExtraError, TfcrError, UnknownNameError
from tfcr.predict_files import output_name
from tfcr.system import download
from tfcr.system.limits import LIMITS

CSV = b"text,label\na,x\nb,y\n"


@pytest.fixture
def memory() -> Iterator[Any]:
    """Give fsspec's file system in memory, which all tests share."""
    system = fsspec.filesystem("memory")
    yield system
    for path in list(system.store):
        del system.store[path]
    system.pseudo_dirs[:] = [""]


def test_files_of_other_places(memory: Any) -> None:
    memory.pipe({"/data/a.csv": CSV, "/data/b.csv.gz": gzip.compress(b"text,label\nc,x\n"), "/data/c.txt": b"no data"})
    assert load_data(["memory://data/a.csv"]).texts == ["a", "b"]
    corpus = load_data(["memory://data/*.csv*"])
    assert corpus.texts == ["a", "b", "c"]
    assert corpus.name == "memory:///data/a.csv, memory:///data/b.csv.gz"
    with labelled_stream(["memory://data/*.csv*"]) as stream:
        assert list(stream.texts()) == list(stream.texts()) == ["a", "b", "c"]
        assert stream.notes == corpus.notes
        assert stream.bytes > len(CSV)
    tables = [table.frame["text"].to_list() for table, _ in load_pieces(["memory://data/*.csv*"], ReadOptions())]
    assert tables == [["a", "b"], ["c"]]


def test_a_dataset_of_another_place(memory: Any, tmp_path: Path) -> None:
    for topic in ("x", "y"):
        pl.DataFrame({"text": [f"about {topic}"]}).write_parquet(tmp_path / "a.parquet")
        memory.pipe(f"/data/posts/topic={topic}/a.parquet", (tmp_path / "a.parquet").read_bytes())
    memory.pipe("/data/posts/_SUCCESS", b"")
    corpus = load_data(["memory://data/posts"])
    assert list(zip(corpus.texts, corpus.labels, strict=True)) == [("about x", "x"), ("about y", "y")]
    assert corpus.notes[0].startswith("memory://data/posts: Parquet, 2 files, 2 rows")
    memory.pipe("/data/b.csv", CSV)
    with pytest.raises(DataError, match=r"memory://data is a folder; .* or a glob: 'memory://data/\*.csv'"):
        load_data(["memory://data"])


def test_paths_that_lead_out_of_a_folder(memory: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe("/data/a.parquet", b"")
    monkeypatch.setattr(type(memory), "find", lambda self, path: ["/data/../../b.parquet"])
    with pytest.raises(DataError, match="memory://data holds the path ../../b.parquet; expected none that leads out"):
        remote.copied("memory://data", tmp_path)


def test_what_is_not_there(memory: Any) -> None:
    with pytest.raises(
        DataError, match="memory://data/a.csv does not exist; expected a data file, a glob, or a folder"
    ):
        load_data(["memory://data/a.csv"])
    with pytest.raises(DataError, match=r"memory://data/\*.csv matches no file"):
        load_data(["memory://data/*.csv"])
    with pytest.raises(UnknownNameError, match="unknown kind of address 'ftp'; known: https, http, s3, gs, memory"):
        load_data(["ftp://example.org/a.csv"])


def test_what_goes_wrong_elsewhere_is_one_line(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.pipe({"/data/a.csv": CSV, "/data/b.csv": CSV})
    monkeypatch.setitem(LIMITS, "download", LIMITS["download"]._replace(value=5))
    with pytest.raises(DataError, match="memory://data/a.csv holds more than 5 bytes; copy it to this machine"):
        load_data(["memory://data/a.csv"])
    monkeypatch.setitem(LIMITS, "dataset files", LIMITS["dataset files"]._replace(value=1))
    with pytest.raises(DataError, match=r"memory://data/\*.csv stands for 2 files; expected at most 1"):
        load_data(["memory://data/*.csv"])
    monkeypatch.undo()
    monkeypatch.setattr(type(memory), "size", lambda self, path: 100)
    with pytest.raises(DataError, match="memory://data/a.csv ended after 19 of 100 bytes; it may have changed"):
        load_data(["memory://data/a.csv"])

    def refuse(self: Any, path: str) -> bool:
        raise PermissionError("Access Denied\nfor all")

    monkeypatch.setattr(type(memory), "isdir", refuse)
    with pytest.raises(DataError, match="^cannot read memory://data/a.csv: Access Denied") as caught:
        load_data(["memory://data/a.csv"])
    assert "\n" not in str(caught.value)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    for address in ("s3://bucket/a.csv", "memory://a.csv"):
        with pytest.raises(MissingExtraError, match=r"pip install 'tfcr\[remote\]'"):
            load_data([address])


@pytest.mark.parametrize(("address", "package"), [("s3://bucket/a.csv", "tfcr.remote"), ("gs://bucket/a.csv", "gcsfs")])
def test_without_what_a_place_needs(address: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"Install something to access {name}")

    monkeypatch.setattr(fsspec, "filesystem", missing)
    with pytest.raises(TfcrError, match=f"reading {address[:5]}.*pip install '?{package}"):
        load_data([address])


def test_addresses_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "a b.csv").write_bytes(CSV)
    assert load_data([f"file://{tmp_path}/a%20b.csv"]).texts == ["a", "b"]
    assert load_data([f"file://{tmp_path}/*.csv"]).texts == ["a", "b"]
    with pytest.raises(DataError, match="/none.csv does not exist; expected a data file"):
        load_data([f"file://{tmp_path}/none.csv"])


# the web -------------------------------------------------------------------------------------------------------------


def test_the_web(server: Server) -> None:
    server.content, server.kind = CSV, "text/csv"
    address = f"{server.url}/data/a.csv?signature=secret"
    corpus = load_data([address])
    assert corpus.texts == ["a", "b"]
    assert corpus.name == f"{server.url}/data/a.csv"
    assert "secret" not in "".join(corpus.notes)
    with labelled_stream([address]) as stream:
        server.asked.clear()
        assert list(stream.texts()) == list(stream.texts()) == ["a", "b"]
        assert not server.asked  # it was copied before
    pieces = list(load_pieces([address, address], ReadOptions()))
    assert [table.frame["text"].to_list() for table, _ in pieces] == [["a", "b"]] * 2
    assert output_name(address) == "a.csv"


def test_a_download_is_resumed(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PAUSE", 0.0)
    server.content, server.cuts = CSV, [5, 5]
    assert load_data([f"{server.url}/a.csv"]).texts == ["a", "b"]
    assert [asked.get("Range") for asked in server.asked] == [None, "bytes=5-", "bytes=10-"]


def test_an_address_that_does_not_answer(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PAUSE", 0.0)
    server.refusals = [404]
    with pytest.raises(TfcrError, match="the server answers 404 Not Found; expected the file a.csv"):
        load_data([f"{server.url}/a.csv"])
    with pytest.raises(
        TfcrError, match=r"http://127.0.0.1:9/a.csv: no connection .* 5 times in a row; try again later"
    ):
        load_data(["http://127.0.0.1:9/a.csv"])


def test_nothing_is_left_behind(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    server.content = CSV
    load_data([f"{server.url}/a.csv"])
    list(labelled_stream([f"{server.url}/a.csv"]))
    assert not list(tmp_path.iterdir())
