"""Downloads against a real server on this machine, with all that can go wrong on the way."""

import errno
import gzip
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.data.datasets.files import write_newsgroups
from tfcr import Embeddings, cli
from tfcr.data import DATASETS, fetch_dataset, load_dataset
from tfcr.embeddings.pretrained import KNOWN_MODELS, fetch_known, is_ready
from tfcr.errors import DataError, DownloadError
from tfcr.system import download as module
from tfcr.system.archives import unpack_one
from tfcr.system.download import Download, download
from tfcr.system.files import locked

CONTENT = bytes(range(256)) * 4096  # one megabyte
HALF = len(CONTENT) // 2
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves its content at every path, as well or as badly as told."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reset()

    def reset(self) -> None:
        self.content = CONTENT
        self.etag: str | None = '"1"'
        self.cuts: list[int] = []  # after how many bytes the next answers end
        self.refusals: list[int] = []  # with what status the next requests are refused
        self.ranges = True
        self.shifts: list[int] = []  # by how many bytes the next parts are not those that were asked for
        self.kind = "application/gzip"
        self.length = True
        self.moved = ""
        self.pause = 0.0  # seconds between chunks
        self.asked: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def wanted(self, **facts: Any) -> Download:
        return Download(f"{self.url}/file", "data.bin", **facts)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    server: Server

    def do_GET(self) -> None:
        server = self.server
        server.asked.append(dict(self.headers.items()))
        if server.refusals:
            self.send_error(server.refusals.pop(0))
        elif server.moved and self.path == "/file":
            self.send_response(302)
            self.send_header("Location", server.moved)
            self.end_headers()
        else:
            self.send_content()

    def send_content(self) -> None:
        server, start = self.server, self.start_of_range()
        if start is not None and start >= len(server.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(server.content)}")
            self.end_headers()
            return
        self.send_response(200 if start is None else 206)
        self.send_header("Content-Type", server.kind)
        if server.etag:
            self.send_header("ETag", server.etag)
        if start is not None:
            last = len(server.content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(server.content)}")
        body = server.content[start or 0 :]
        if server.length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        end = server.cuts.pop(0) if server.cuts else len(body)
        step = 1 << 16
        for first in range(0, min(end, len(body)), step):
            self.wfile.write(body[first : min(first + step, end)])
            self.wfile.flush()
            time.sleep(server.pause)

    def start_of_range(self) -> int | None:
        asked = self.headers.get("Range")
        still_same = self.headers.get("If-Range") in (None, self.server.etag)
        if asked is None or not self.server.ranges or not still_same:
            return None
        shift = self.server.shifts.pop(0) if self.server.shifts else 0
        return int(asked.removeprefix("bytes=").removesuffix("-")) + shift

    def log_message(self, format: str, *arguments: object) -> None:
        pass

    def handle(self) -> None:
        try:
            super().handle()
        except ConnectionError:  # the client was killed
            self.close_connection = True


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def server(running: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    running.reset()
    return running


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_a_download_is_whole_and_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    path = download(
        server.wanted(size=len(CONTENT), sha256=SHA256), tmp_path / "new", progress=lambda *s: seen.append(s)
    )
    assert path.read_bytes() == CONTENT
    assert [file.name for file in path.parent.iterdir()] == ["data.bin"]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    download(server.wanted(), tmp_path / "new")
    assert len(server.asked) == 1  # it was there already
    server.content = b"newer"
    assert download(server.wanted(), tmp_path / "new", again=True).read_bytes() == b"newer"


def test_an_empty_file(server: Server, tmp_path: Path) -> None:
    server.content = b""
    assert download(server.wanted(), tmp_path).read_bytes() == b""


def test_a_cut_download_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    server.cuts = [HALF]
    told: list[str] = []
    assert download(server.wanted(sha256=SHA256), tmp_path, tell=told.append).read_bytes() == CONTENT
    assert [asked.get("Range") for asked in server.asked] == [None, f"bytes={HALF}-"]
    assert told == ["data.bin: the connection ended early after 524.3 kB; trying again"]


def test_a_server_that_ignores_ranges_is_asked_for_all(server: Server, tmp_path: Path) -> None:
    server.cuts, server.ranges = [HALF], False
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_another_part_than_was_asked_for_is_not_used(server: Server, tmp_path: Path) -> None:
    server.cuts, server.shifts = [HALF, 100], [7]
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT


def test_a_file_that_changes_meanwhile_is_got_anew(server: Server, tmp_path: Path) -> None:
    server.cuts = [HALF] * module.TRIES + [0] * module.TRIES
    server.ranges = False
    with pytest.raises(DownloadError, match="5 times in a row; 524.3 kB are kept: type the same command again"):
        download(server.wanted(), tmp_path)
    assert visible(tmp_path) == []
    server.reset()
    server.content, server.etag = b"other" * 1000, '"2"'
    assert download(server.wanted(), tmp_path).read_bytes() == b"other" * 1000
    assert server.asked[0]["If-Range"] == '"1"'


@pytest.mark.parametrize("size", [10, HALF, HALF + 1])
def test_a_file_that_changes_unmarked_is_got_anew(server: Server, size: int, tmp_path: Path) -> None:
    server.etag, server.cuts = None, [HALF] + [0] * module.TRIES
    with pytest.raises(DownloadError, match="kept"):
        download(server.wanted(), tmp_path)
    server.reset()
    server.etag, server.content = None, b"x" * size
    assert download(server.wanted(), tmp_path).read_bytes() == b"x" * size


def test_a_part_of_another_address_is_not_used(server: Server, tmp_path: Path) -> None:
    server.cuts = [HALF] + [0] * module.TRIES
    with pytest.raises(DownloadError, match="kept"):
        download(server.wanted(), tmp_path)
    server.reset()
    moved = Download(f"{server.url}/elsewhere", "data.bin")
    assert download(moved, tmp_path).read_bytes() == CONTENT
    assert "Range" not in server.asked[0]


def test_giving_up_after_nothing_came(server: Server, tmp_path: Path) -> None:
    server.refusals = [503] * module.TRIES
    with pytest.raises(DownloadError, match="the server answers 503 .*, 5 times in a row; try again later"):
        download(server.wanted(), tmp_path)
    server.refusals = [503, 429, 500]
    assert download(server.wanted(), tmp_path).read_bytes() == CONTENT


def test_no_server(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="no connection"):
        download(Download("http://127.0.0.1:9/file", "data.bin"), tmp_path)


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_a_refusal_is_not_tried_again(server: Server, status: int, tmp_path: Path) -> None:
    server.refusals = [status]
    with pytest.raises(DownloadError, match=f"/file: the server answers {status} .*; expected the file data.bin"):
        download(server.wanted(), tmp_path)
    assert len(server.asked) == 1
    assert visible(tmp_path) == []


def test_a_server_that_falls_silent(server: Server, tmp_path: Path) -> None:
    server.pause = 0.4
    with pytest.raises(DownloadError, match="timed out"):
        download(replace(server.wanted()), tmp_path, timeout=0.1)


def test_a_wrong_sum_is_not_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=f"found the SHA-256 sum {SHA256}; expected 000.*was not kept"):
        download(server.wanted(sha256="0" * 64), tmp_path)
    assert not [file for file in tmp_path.iterdir() if not file.name.endswith(".lock")]


def test_a_wrong_size_is_refused_before_it_comes(server: Server, tmp_path: Path) -> None:
    seen: list[int] = []
    with pytest.raises(DownloadError, match="offers 1,048,576 bytes; expected 7: it is another file"):
        download(server.wanted(size=7), tmp_path, progress=lambda done, _: seen.append(done))
    assert not seen
    server.length = False
    with pytest.raises(DownloadError, match="found 1,048,576 bytes; expected 7"):
        download(server.wanted(size=7), tmp_path)
    assert visible(tmp_path) == []


def test_a_web_page_is_no_file(server: Server, tmp_path: Path) -> None:
    server.kind = "text/html; charset=utf-8"
    with pytest.raises(DownloadError, match="the server sends a web page; expected the file data.bin"):
        download(server.wanted(), tmp_path)


def test_where_a_server_directs(server: Server, tmp_path: Path) -> None:
    server.moved = f"{server.url}/moved"
    assert download(server.wanted(), tmp_path).read_bytes() == CONTENT
    for place in ("file:///etc/hostname", "ftp://127.0.0.1/file"):
        server.moved = place
        with pytest.raises(DownloadError):
            download(server.wanted(), tmp_path, again=True)
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://x/y", "data.bin", "//x/y"])
def test_only_http(url: str, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="expected one that starts with https:// or http://"):
        download(Download(url, "x"), tmp_path)


def test_from_https_to_http_is_refused() -> None:
    from email.message import Message
    from http.client import HTTPMessage
    from urllib.request import Request

    headers: Message = HTTPMessage()
    with pytest.raises(DownloadError, match="expected an address that starts with https://"):
        module._SafeRedirects().redirect_request(
            Request("https://x/y"),
            io.BytesIO(),
            302,
            "Found",
            headers,  # type: ignore[arg-type]
            "http://x/y",
        )


def test_no_space_for_it(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(DownloadError, match=r"needs 1.0 MB more, and .* has 1.0 kB left; make room, or set TFCR_CACHE"):
        download(server.wanted(), tmp_path)
    assert visible(tmp_path) == []


def test_the_disk_is_full_half_way(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def until_full(path: Path, mode: str = "r", *rest: Any, **more: Any) -> IO[Any]:
        if mode == "ab" and path.suffix == ".part" and path.stat().st_size >= HALF:
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(path, mode, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", until_full)
        with pytest.raises(DownloadError, match="no space left in .* after 524.3 kB of data.bin; make room and type"):
            download(server.wanted(), tmp_path)
    assert visible(tmp_path) == []
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT
    assert server.asked[-1]["Range"] == f"bytes={HALF}-"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    cuts=st.lists(st.integers(0, 3000), max_size=8),
    ranges=st.booleans(),
    marked=st.booleans(),
    size=st.integers(0, 3000),
)
def test_whatever_is_cut_the_file_is_whole_or_not_there(
    server: Server,
    tmp_path_factory: pytest.TempPathFactory,
    cuts: list[int],
    ranges: bool,
    marked: bool,
    size: int,
) -> None:
    server.reset()
    server.content, server.cuts, server.ranges = CONTENT[:size], list(cuts), ranges
    server.etag = '"1"' if marked else None
    folder = tmp_path_factory.mktemp("cut")
    wanted = server.wanted(sha256=hashlib.sha256(CONTENT[:size]).hexdigest())
    for _ in range(9):
        try:
            assert download(wanted, folder).read_bytes() == CONTENT[:size]
        except DownloadError:
            assert visible(folder) == []
        else:
            break
    assert visible(folder) == ["data.bin"]


# processes -----------------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
from pathlib import Path
from tfcr.system.download import Download, download
print("ready", flush=True)
sys.stdin.readline()
url, folder, sha256 = sys.argv[1:]
download(Download(url, "data.bin", sha256=sha256), Path(folder), tell=lambda text: print(text, flush=True))
"""


def start(server: Server, folder: Path) -> "subprocess.Popen[str]":
    """Start a process that will download once it is told to."""
    command = [sys.executable, "-c", PROGRAM, f"{server.url}/file", str(folder), SHA256]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_killed_download_goes_on(server: Server, tmp_path: Path) -> None:
    server.pause = 0.05
    process = start(server, tmp_path)
    go(process)
    part = tmp_path / ".data.bin.part"
    wait_for(lambda: part.exists() and part.stat().st_size > 200_000)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = part.stat().st_size
    assert visible(tmp_path) == []
    server.pause = 0.0
    assert download(server.wanted(sha256=SHA256), tmp_path).read_bytes() == CONTENT
    assert server.asked[-1]["Range"] == f"bytes={kept}-"


def test_two_at_once_download_it_once(server: Server, tmp_path: Path) -> None:
    server.pause = 0.02
    both = [start(server, tmp_path), start(server, tmp_path)]
    for process in both:
        go(process)
    outputs = [process.communicate(timeout=60)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sorted(outputs) == ["", "another process is downloading data.bin; waiting for it\n"]
    assert len(server.asked) == 1
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


def test_the_second_goes_on_when_the_first_is_killed(server: Server, tmp_path: Path) -> None:
    server.pause = 0.05
    first, second = start(server, tmp_path), start(server, tmp_path)
    go(first)
    part = tmp_path / ".data.bin.part"
    wait_for(lambda: part.exists() and part.stat().st_size > 100_000)
    go(second)
    assert second.stdout is not None
    assert second.stdout.readline().startswith("another process")
    first.kill()
    first.communicate()
    server.pause = 0.0
    output = second.communicate(timeout=60)[0]
    assert output.startswith("data.bin: going on after")
    assert (tmp_path / "data.bin").read_bytes() == CONTENT


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


# datasets and vectors by name ----------------------------------------------------------------------------------------


@pytest.fixture
def newsgroups(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Serve a small 20 Newsgroups, and let the row of the table lead there."""
    monkeypatch.setenv("TFCR_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    expected = write_newsgroups(tmp_path)
    server.content = (tmp_path / "20news-bydate.tar.gz").read_bytes()
    file = Download(f"{server.url}/file", "20news-bydate.tar.gz", sha256=hashlib.sha256(server.content).hexdigest())
    monkeypatch.setitem(DATASETS, "20ng", replace(DATASETS["20ng"], downloads=(file,)))
    return expected


def test_a_dataset_is_fetched_once(server: Server, newsgroups: list[tuple[str, str]], tmp_path: Path) -> None:
    place = fetch_dataset("20ng")
    assert place.is_relative_to(tmp_path / "cache")
    corpus = load_dataset("20ng")
    assert list(zip(corpus.labels, corpus.texts, strict=True)) == newsgroups
    assert fetch_dataset("20ng") == place
    assert len(server.asked) == 1
    fetch_dataset("20ng", again=True)
    assert len(server.asked) == 2


def test_a_dataset_is_not_ready_before_all_is_there(server: Server, newsgroups: list[tuple[str, str]]) -> None:
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


def test_a_dataset_that_is_not_what_it_should_be(server: Server, newsgroups: list[tuple[str, str]]) -> None:
    server.content = b"no archive"
    file = replace(DATASETS["20ng"].downloads[0], sha256="")
    DATASETS["20ng"] = replace(DATASETS["20ng"], downloads=(file,))
    for _ in range(2):
        with pytest.raises(DataError, match="is truncated or no tar archive.*: tfcr datasets fetch 20ng --again"):
            fetch_dataset("20ng")
        with pytest.raises(DataError, match="not on this machine"):
            load_dataset("20ng")


def vectors_zip(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, "good 1 2\nfilm 3 4\n")
    return content.getvalue()


@pytest.fixture
def _own_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TFCR_DATA", str(tmp_path / "nowhere"))


def serve_vectors(server: Server, monkeypatch: pytest.MonkeyPatch, content: bytes, ending: str, *names: str) -> None:
    server.content = content
    file = Download(f"{server.url}/file", f"vectors{ending}", len(content), hashlib.sha256(content).hexdigest())
    for name in names:
        monkeypatch.setitem(KNOWN_MODELS, name, replace(KNOWN_MODELS[name], download=file))


@pytest.mark.usefixtures("_own_vectors")
def test_vectors_are_fetched_from_a_zip(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = vectors_zip("glove.6B.50d.txt", "glove.6B.100d.txt", "glove.6B.200d.txt")
    serve_vectors(server, monkeypatch, content, ".zip", "wglove-100", "wglove-200")
    assert not is_ready("wglove-100")
    fetch_known("wglove-100")
    assert Embeddings.load("wglove-100").words == ["good", "film"]
    assert not is_ready("wglove-200")
    fetch_known("wglove-200")  # from the same archive
    assert is_ready("wglove-200")
    assert len(server.asked) == 1


@pytest.mark.usefixtures("_own_vectors")
def test_vectors_are_fetched_from_a_gz(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Embeddings.from_arrays(["good", "film"], [[1, 2], [3, 4]]).save(tmp_path / "v.bin")
    serve_vectors(server, monkeypatch, gzip.compress((tmp_path / "v.bin").read_bytes()), ".bin.gz", "gw2v")
    file = fetch_known("gw2v")
    assert Embeddings.load("gw2v")["film"].tolist() == [3, 4]
    assert visible(file.parent) == ["GoogleNews-vectors-negative300.bin", "GoogleNews-vectors-negative300.bin.path"]


@pytest.mark.usefixtures("_own_vectors")
def test_vectors_are_fetched_once_by_two(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Embeddings.from_arrays(["good", "film"], [[1, 2], [3, 4]]).save(tmp_path / "v.bin")
    serve_vectors(server, monkeypatch, gzip.compress((tmp_path / "v.bin").read_bytes()), ".bin.gz", "gw2v")
    server.pause = 0.3
    told: list[str] = []
    both = [threading.Thread(target=fetch_known, args=("gw2v",), kwargs={"tell": told.append}) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert len(server.asked) == 1
    assert told == ["another process fetches gw2v; waiting"]
    assert Embeddings.load("gw2v")["good"].tolist() == [1, 2]


@pytest.mark.usefixtures("_own_vectors")
def test_vectors_of_ones_own_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        DownloadError, match="'tw2v' cannot be downloaded: get word2vec_twitter_model.bin from .*--path"
    ):
        fetch_known("tw2v")
    Embeddings.from_arrays(["good", "film"], [[1, 2], [3, 4]]).save(tmp_path / "mine.bin")
    fetch_known("tw2v", tmp_path / "mine.bin")
    assert Embeddings.load("tw2v").name == "tw2v"
    (tmp_path / "notes.txt").write_text("no vectors\n")
    with pytest.raises(Exception, match="is no vector file that tfcr knows"):
        fetch_known("tw2v", tmp_path / "notes.txt")
    assert is_ready("tw2v")


@pytest.mark.usefixtures("_own_vectors")
def test_a_zip_that_holds_other_things(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_vectors(server, monkeypatch, vectors_zip("other.txt"), ".zip", "cglove")
    with pytest.raises(DataError, match="vectors.zip holds 0 files called glove.840B.300d.txt; expected one.*--again"):
        fetch_known("cglove")
    assert not is_ready("cglove")


def test_unpacking_goes_where_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(vectors_zip("../../evil/v.txt"))
    inner = tmp_path / "inner"
    inner.mkdir()
    unpack_one(tmp_path / "a.zip", inner / "v.txt")
    assert visible(tmp_path) == ["a.zip", "inner"]
    assert visible(inner) == ["v.txt"]


@pytest.mark.parametrize("cut", [5, 60, 90])
def test_a_truncated_zip_leaves_nothing(cut: int, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(vectors_zip("v.txt")[:-cut])
    with pytest.raises(DataError, match="truncated or no zip archive"):
        unpack_one(tmp_path / "a.zip", tmp_path / "v.txt")
    (tmp_path / "b.gz").write_bytes(gzip.compress(os.urandom(1000))[:-cut])
    with pytest.raises(DataError, match="b.gz is truncated or damaged"):
        unpack_one(tmp_path / "b.gz", tmp_path / "v.txt")
    assert visible(tmp_path) == ["a.zip", "b.gz"]


def test_no_space_to_unpack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.zip").write_bytes(vectors_zip("v.txt"))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1))
    with pytest.raises(DataError, match="make room and type the same command again"):
        unpack_one(tmp_path / "a.zip", tmp_path / "v.txt")


# the command line ----------------------------------------------------------------------------------------------------


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def command(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["tfcr", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        shown = capsys.readouterr()
        return int(caught.value.code or 0), shown.out, shown.err

    return command


def test_fetching_from_the_shell(server: Server, newsgroups: list[tuple[str, str]], run: Run) -> None:
    server.refusals = [404]
    status, out, err = run("datasets", "fetch", "20ng")
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "the server answers 404 Not Found; expected the file 20news-bydate.tar.gz; or get it by hand" in err
    server.cuts = [20]
    status, out, err = run("datasets", "fetch", "20ng")
    assert status == 0
    assert "note: 20news-bydate.tar.gz: the connection ended early after 20 bytes; trying again" in err
    assert "20ng is ready in" in out
    assert "sci.space" in run("datasets", "info", "20ng")[1]
    assert json.loads(run("datasets", "info", "20ng", "--json")[1])["found"]["documents"] == 3
    assert json.loads(run("datasets", "fetch", "20ng", "--json")[1])["name"] == "20ng"
    states = {row["name"]: row["state"] for row in json.loads(run("datasets", "list", "--json")[1])}
    assert (states["20ng"], states["ns200"], states["hate"]) == ("ready", "can be downloaded", "must be asked for")
    assert "tfcr: 'hate' cannot be downloaded" in run("datasets", "fetch", "hate")[2]
    assert "unknown dataset 'hat'" in run("datasets", "fetch", "hat")[2]
    status, out, _ = run("embeddings", "fetch", "wglove-50", "--json")
    assert json.loads(out)["file"].endswith(".npy")
    assert "'tw2v' cannot be downloaded" in run("embeddings", "fetch", "tw2v")[2]


def test_path_on_the_command_line(run: Run, tmp_path: Path) -> None:
    write_newsgroups(tmp_path)
    archive = tmp_path / "20news-bydate.tar.gz"
    status, out, _ = run("words", "20ng", "--path", archive, "--top", 3)
    assert (status, "rec.autos" in out) == (0, True)
    status, out, _ = run("datasets", "info", "20ng", "--path", archive)
    assert "found: 3 documents, 2 classes" in out
    status, out, _ = run("embeddings", "train", "20ng", "--path", archive, "-o", tmp_path / "v.vec", "--min-count", 1)
    assert (status, "vectors of 100 dimensions" in out) == (0, True)
    status, _, err = run("words", archive, "--path", archive)
    assert (status, "expected it with a dataset's name" in err) == (2, True)
