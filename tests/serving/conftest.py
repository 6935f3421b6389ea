"""A small model to serve, clients in this process, and a server in a process of its own."""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.cli.runner import environment, run
from tfcr import TrainedModel
from tfcr.data import Corpus
from tfcr.serving import Limits, Settings, make_app, write_documents
from tfcr.trained.format import SCHEMA

__all__ = ["run"]

KEPT = Path(__file__).parents[1] / "models" / f"schema-{SCHEMA}"
TEXTS: list[str] = json.loads(KEPT.with_name(f"{KEPT.name}.json").read_text("utf-8"))["texts"]
TOKEN = "a-token-of-some-length"
Connect = Callable[..., TestClient]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a copy of a model's folder, that a test may replace."""
    shutil.copytree(KEPT, tmp_path / "tickets")
    return tmp_path / "tickets"


@pytest.fixture
def connect(folder: Path, tmp_path: Path) -> Iterator[Connect]:
    """Return a function that starts the application in this process, and gives a client of it."""
    opened: list[TestClient] = []

    def start(*folders: Path, limits: Limits | None = None, **options: Any) -> TestClient:
        given = {path.name: path for path in folders or (folder,)}
        (tmp_path / "work").mkdir(exist_ok=True)
        settings = Settings(given, limits=limits or Limits(), **{"work": tmp_path / "work", **options})
        client = TestClient(make_app(settings), base_url=settings.address, follow_redirects=False)
        client.__enter__()
        opened.append(client)
        return client

    yield start
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def client(connect: Connect) -> TestClient:
    return connect()


@pytest.fixture
def model() -> TrainedModel:
    return TrainedModel.load(KEPT)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Return a folder of documents to list: right ones, wrong ones, one of an unknown class, one without a label."""
    return write_some(tmp_path / "documents")


def write_some(folder: Path) -> Path:
    """Write documents for the kept model into a new folder."""
    folder.mkdir()
    texts = [f"w{number % 3}_1 w{number % 3}_2 common{number}" for number in range(60)]
    labels = [f"class {number % 3}" for number in range(60)]
    labels[0], labels[3] = "class 2", "another"
    rows = list(range(1, 61))
    corpus = Corpus(texts, labels, rows=rows, name="some.csv", unlabelled={61: "w1_1 <b>w1_2</b>"})
    write_documents(corpus, folder)
    return folder


def other_model(folder: Path) -> str:
    """Replace the model in a folder by one that scores otherwise; return its hash."""
    from tfcr.trained.format import config_hash

    found = TrainedModel.load(folder)
    turned = replace(found.table, intercepts=found.table.intercepts[::-1] + 1.0)
    replace(found, table=turned).save(folder)
    return config_hash(folder)


@dataclass
class Running:
    """A server in a process of its own."""

    process: "subprocess.Popen[str]"
    port: int
    lines: list[str]
    reader: threading.Thread

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self, how: int = signal.SIGTERM) -> tuple[int, str]:
        """Stop it; return its exit status and all that it said."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        status = self.process.wait(60)
        self.reader.join(60)
        return status, "".join(self.lines)


@contextmanager
def serving(*arguments: object, port: int = 0) -> Iterator[Running]:
    """Run ``tfcr serve``, by default on a free port, and wait until it listens."""
    command = [sys.executable, "-m", "tfcr", "serve", *map(str, arguments), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment())
    assert process.stderr is not None
    stream = process.stderr
    lines: list[str] = []
    for line in stream:
        lines.append(line)
        if found := re.search(r" at http://[^:]+:(\d+)", line):
            break
    else:
        process.wait(10)
        raise AssertionError("".join(lines))
    reader = threading.Thread(target=lambda: lines.extend(stream), daemon=True)
    reader.start()
    server = Running(process, int(found[1]), lines, reader)
    try:
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        reader.join(30)
        stream.close()


def raw(port: int, request: bytes, *, ends: bool = False, seconds: float = 30) -> bytes:
    """Send bytes, and return all that comes back until the server closes, or an answer is complete."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(request)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        found = b""
        while part := connection.recv(1 << 16):
            found += part
            head, _, body = found.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            if length and len(body) >= int(length[1]):
                break
        return found
