"""A web server on this machine for the tests of downloads, with all that can go wrong on the way."""

import hashlib
import io
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tfcr.data import DATASETS
from tfcr.system import download as module
from tfcr.system.download import Download

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
        self.step = 1 << 16  # bytes of a chunk
        self.silence = 0.0  # seconds before the first chunk
        self.may_send = threading.Event()  # what the first chunk waits for
        self.may_send.set()
        self.keeps_promises = True  # whether If-Range is heeded
        self.modified: str | None = None
        self.before = b""  # raw bytes sent before each answer
        self.endless = b""  # raw bytes sent after the content, until the client goes
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
        self.wfile.write(server.before)
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
        if server.modified:
            self.send_header("Last-Modified", server.modified)
        if start is not None:
            last = len(server.content) - 1
            self.send_header("Content-Range", f"bytes {start}-{last}/{len(server.content)}")
        body = server.content[start or 0 :]
        if server.length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        end = server.cuts.pop(0) if server.cuts else len(body)
        step = server.step
        time.sleep(server.silence)
        server.may_send.wait(60)
        for first in range(0, min(end, len(body)), step):
            self.wfile.write(body[first : min(first + step, end)])
            self.wfile.flush()
            time.sleep(server.pause)
        while server.endless:
            self.wfile.write(server.endless)

    def start_of_range(self) -> int | None:
        asked = self.headers.get("Range")
        marks = (None, self.server.etag, self.server.modified)
        still_same = self.headers.get("If-Range") in marks or not self.server.keeps_promises
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


def vectors_zip(*names: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, "good 1 2\nfilm 3 4\n")
    return content.getvalue()


@pytest.fixture
def small_newsgroups(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Serve a small 20 Newsgroups, and let the row of the table lead there."""
    monkeypatch.setenv("TFCR_DATA", str(tmp_path / "nowhere"))
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
    from tests.data.datasets.files import write_newsgroups

    expected = write_newsgroups(tmp_path)
    server.content = (tmp_path / "20news-bydate.tar.gz").read_bytes()
    file = Download(f"{server.url}/file", "20news-bydate.tar.gz", sha256=hashlib.sha256(server.content).hexdigest())
    monkeypatch.setitem(DATASETS, "20ng", replace(DATASETS["20ng"], downloads=(file,)))
    return expected
