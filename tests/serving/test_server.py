"""Servers in processes of their own: signals, replaced models, workers, slow clients. All on loopback."""

import json
import re
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.runner import Run
from tests.serving.conftest import KEPT, TEXTS, TOKEN, Running, other_model, raw, serving
from tfcr import TfcrClassifier, TrainedModel
from tfcr.data import Corpus
from tfcr.serving import Settings
from tfcr.serving.server import open_socket, serve
from tfcr.system.files import remove_stale
from tfcr.trained.format import config_hash

HEADERS = {"Content-Type": "application/json"}


def post(connection: HTTPConnection, body: Any, path: str = "/predict") -> tuple[int, Any]:
    connection.request("POST", path, json.dumps(body), HEADERS)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def head(length: int, path: str = "/predict") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


class Clients:
    """Clients that ask on and on, each on a connection of its own, until they are told to stop or the server has gone.

    `answers` are complete answers, `unanswered` requests that were sent on a connection that was then closed.
    """

    def __init__(self, port: int, number: int, body: Any, seconds: float = 60) -> None:
        self.port, self.body = port, body
        self.answers: list[tuple[int, Any]] = []
        self.unanswered: list[str] = []
        self.until = time.monotonic() + seconds
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=self._ask, daemon=True) for _ in range(number)]
        for thread in self.threads:
            thread.start()

    def _ask(self) -> None:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.stopped.is_set() and time.monotonic() < self.until:
            try:
                self.answers.append(post(connection, self.body))
            except (OSError, HTTPException) as error:
                self.unanswered.append(type(error).__name__)
                break
        connection.close()

    def join(self) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join(90)
            assert not thread.is_alive()


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.02)


# the command ---------------------------------------------------------------------------------------------------------


def test_wrong_calls_get_one_line(run: Run, folder: Path, tmp_path: Path) -> None:
    with open_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        calls: dict[tuple[object, ...], str] = {
            (tmp_path / "none",): "does not exist",
            (tmp_path,): "has no config.json",
            (folder, "--port", port): f"cannot listen on 127.0.0.1, port {port}: another program listens there",
            (folder, "--host", "no such host"): "has no address",
            (folder, "--host", "192.0.2.1", "--port", 0): "it is no address of this machine",
            (folder, folder): "two folders of the name tickets",
            (folder, "--token", "short"): "expected at least 16",
            (folder, "--max-body", "much"): "found --max-body 'much'; expected a number of bytes or a size",
            (folder, "--timeout", "0"): "found timeout=0.0; expected a number from 0.1",
            (folder, "--workers", "0"): "--workers",
            (): "MODEL",
        }
        for arguments, says in calls.items():
            result = run("serve", *arguments)
            assert result.status == 2
            assert says in result.err, result.err
            assert result.err.count("\n") == 1 + result.err.count("note: ")


def test_a_port_that_may_not_be_used_gets_one_line(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: socket.socket, address: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("socket.socket.bind", refuse)
    result = run("serve", folder, "--port", "80")
    assert result.status == 2
    assert "you may not listen there; give a port of 1024 or more" in result.err


# one server ----------------------------------------------------------------------------------------------------------


def test_a_server_that_bad_clients_cannot_stop(folder: Path) -> None:
    with serving(folder, "--timeout", "1", "--queue", "2") as server:
        # half a request, and gone
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head(100) + b'{"te')
        # a body that never ends
        assert b" 408 " in raw(server.port, head(100) + b'{"te')
        # headers that never end
        assert raw(server.port, b"POST /predict HTTP/1.1\r\nHost: local") == b""
        # no request at all
        assert raw(server.port, b"") == b""
        # no HTTP
        assert b" 400 " in raw(server.port, b"\x16\x03\x01\x00\r\n\r\n")
        assert b" 400 " in raw(server.port, b"GET / HTTP/1.1\r\nX: " + b"x" * 100_000 + b"\r\n\r\n")
        # two lengths: what a proxy and we would read differently
        assert b" 400 " in raw(server.port, head(5)[:-2] + b"Content-Length: 6\r\n\r\nabcdef")
        # 50 MB, all of which it sends before it reads the answer
        answer = raw(server.port, head(50_000_000) + b" " * 50_000_000)
        assert b" 413 " in answer
        assert b'"error":"found a body of 50,000,000 bytes' in answer
        # a full queue: two clients that send slowly
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(2)]
        for one in slow:
            one.sendall(head(13) + b'{"text"')
        client = HTTPConnection("127.0.0.1", server.port)
        wait_for(lambda: post(client, {"text": "a"})[0] == 503, 5)
        client.request("POST", "/predict", b"{}", HEADERS)
        full = client.getresponse()
        if full.status == 503:  # unless both have been given up meanwhile
            assert full.headers["Retry-After"] == "1"
            assert "the queue is full" in json.loads(full.read())["error"]
        else:
            full.read()
        for one in slow:
            one.close()
        # and the next request is served as usual
        wait_for(lambda: post(client, {"text": "a"})[0] == 200)
        client.close()
        status, said = server.stop()
        assert status == 0
        assert "Traceback" not in said


def test_health_is_answered_while_others_are_scored(folder: Path) -> None:
    with serving(folder, "--max-body", "20MB", "--max-text", "10000000") as server:
        body = {"texts": ["w0_1 w1_2 unseen words " * 40_000] * 8}
        clients = Clients(server.port, 4, body, seconds=4)
        connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
        slowest = 0.0
        while time.monotonic() < clients.until - 1:
            began = time.monotonic()
            connection.request("GET", "/health")
            assert connection.getresponse().read()
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.05)
        clients.join()
        connection.close()
        assert {status for status, _ in clients.answers} == {200}
        assert slowest < 3


def test_sigterm_under_load_loses_no_accepted_request(folder: Path) -> None:
    with serving(folder) as server:
        body = {"texts": TEXTS * 140}
        clients = Clients(server.port, 8, body)
        slow = socket.create_connection(("127.0.0.1", server.port))  # accepted, and still sending at the signal
        content = json.dumps({"text": "w0_1"}).encode()
        slow.sendall(head(len(content)) + content[:5])
        wait_for(lambda: len(clients.answers) > 20)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        slow.sendall(content[5:])
        slow.settimeout(30)
        last = b"".join(iter(lambda: slow.recv(1 << 16), b""))
        slow.close()
        server.process.wait(60)  # a second signal, while it ends, would end it at once
        status, said = server.stop()
        clients.join()
    assert status == 0
    assert b" 200 " in last
    assert {code for code, _ in clients.answers} == {200}
    assert all(len(found["predictions"]) == len(body["texts"]) for _, found in clients.answers)
    counts = re.search(r"stopped: (\d+) requests accepted, (\d+) of them answered", said)
    assert counts is not None, said
    # all that was accepted was answered, and every answer has arrived; a connection that was closed had no answer due
    assert int(counts[1]) == int(counts[2]) == len(clients.answers) + 1
    assert "Traceback" not in said


def test_ctrl_c_ends_with_130_after_what_was_accepted(folder: Path) -> None:
    with serving(folder) as server:
        clients = Clients(server.port, 4, {"texts": TEXTS * 100})
        wait_for(lambda: len(clients.answers) > 5)
        status, said = server.stop(signal.SIGINT)
        clients.join()
    assert status == 130
    assert "tfcr: stopped: requests that were accepted have been answered" in said
    counts = re.search(r"stopped: (\d+) requests accepted, (\d+) of them answered", said)
    assert counts is not None
    assert int(counts[1]) == int(counts[2]) == len(clients.answers)
    assert "Traceback" not in said


def test_a_model_replaced_under_load_drops_no_request(folder: Path) -> None:
    old, before = config_hash(folder), TrainedModel.load(folder).predict_proba(TEXTS)
    with serving(folder) as server:
        clients = Clients(server.port, 4, {"texts": TEXTS, "probabilities": True})
        wait_for(lambda: len(clients.answers) > 20)
        new = other_model(folder)
        after = TrainedModel.load(folder).predict_proba(TEXTS)
        wait_for(lambda: clients.answers[-1][1]["model_hash"] == new)
        server.stop()
        clients.join()
    assert {status for status, _ in clients.answers} == {200}
    found = Counter(answer["model_hash"] for _, answer in clients.answers)
    assert set(found) == {old, new}
    expected = {old: before, new: after}
    for _, answer in clients.answers:  # each answer is wholly of the model that it names
        rows = [list(row["probabilities"].values()) for row in answer["predictions"]]
        np.testing.assert_allclose(rows, expected[answer["model_hash"]], atol=1e-9)


def test_a_killed_server_leaves_no_folder(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    with serving(folder) as server:
        server.stop(signal.SIGKILL)
    assert list((tmp_path / "temporary").iterdir()) == []


def test_what_killed_workers_shared_can_be_told_from_other_folders(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared: list[Path] = []

    def run(settings: Settings, listening: socket.socket) -> None:
        listening.close()
        assert settings.metrics is not None
        assert settings.metrics.is_dir()
        shared.append(settings.metrics)

    monkeypatch.setattr("tfcr.serving.server._run_workers", run)
    serve(Settings({"tickets": folder}, port=0, workers=2), lambda _: None)
    assert not shared[0].exists()
    shared[0].mkdir()  # as after a kill
    remove_stale(shared[0].parent)
    assert not shared[0].exists()


def test_the_token_in_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_TOKEN", TOKEN)
    with serving(folder, "--host", "127.0.0.1") as server:
        wait_for(lambda: any("/?token=" in line for line in server.lines))
        assert f"open in a browser: http://127.0.0.1:{server.port}/?token={TOKEN}\n" in "".join(server.lines)
        assert b" 401 " in raw(server.port, b"GET /model HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = raw(server.port, f"GET /?token={TOKEN} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert f"set-cookie: tfcr-{server.port}=".encode() in answer


# several workers -----------------------------------------------------------------------------------------------------


def children(server: Running) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == server.process.pid and b"spawn_main" in path.with_name("cmdline").read_bytes():
            found.append(int(path.parent.name))
    return found


@pytest.mark.slow
def test_workers_share_the_address_and_the_counters(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        # both have mapped their counters, and will listen in a moment: connections go to those that do
        wait_for(lambda: sum(".counters" in Path(f"/proc/{one}/maps").read_text() for one in children(server)) == 2, 90)
        time.sleep(2)
        clients = Clients(server.port, 12, {"texts": TEXTS * 50}, seconds=90)
        wait_for(lambda: len(clients.answers) > 200, 60)
        connection = HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        status, said = server.stop()
        clients.join()
    assert status == 0
    counted = re.search(r"^tfcr_answered_total (\d+)", text, re.MULTILINE)
    assert counted is not None
    assert int(counted[1]) >= 100 - 6
    assert {code for code, _ in clients.answers} == {200}
    counts = re.findall(r"stopped: (\d+) requests accepted, (\d+) of them answered", said)
    assert len(counts) == 2, said
    assert all(int(n) for n, _ in counts)  # none took all connections
    assert sum(int(n) for n, _ in counts) == sum(int(n) for _, n in counts) == len(clients.answers)
    assert "Traceback" not in said


@pytest.mark.slow
def test_workers_end_with_130_after_ctrl_c(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        assert b" 200 " in raw(server.port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", seconds=60)
        status, said = server.stop(signal.SIGINT)
    assert status == 130
    assert "Traceback" not in said


@pytest.mark.slow
def test_workers_end_when_their_supervisor_is_killed(folder: Path) -> None:
    with serving(folder, "--workers", "2") as server:
        assert b" 200 " in raw(server.port, b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", seconds=60)
        workers = children(server)
        server.process.kill()
        server.process.wait(30)
        wait_for(lambda: not any(Path(f"/proc/{worker}").exists() for worker in workers))
    assert len(workers) == 2


@pytest.mark.slow
def test_workers_share_the_memory_of_the_model(newsgroups: Corpus, tmp_path: Path) -> None:
    """Of the pages that a worker maps from the model's file, its proportional share (Pss) is half of what it uses."""
    texts, labels = newsgroups.texts[::4], newsgroups.labels[::4]
    TfcrClassifier.from_preset("fast").fit(texts, labels).save(tmp_path / "posts")
    with serving(tmp_path / "posts", "--workers", "2") as server:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=120)
        for _ in range(20):
            assert post(connection, {"texts": texts[:100]})[0] == 200
        wait_for(lambda: len(children(server)) == 2, 60)
        sizes = [mapped(worker, "table-") for worker in children(server)]
        connection.close()
        server.stop()
    for rss, pss in sizes:
        assert rss > 1_000  # kB
        assert pss < 0.75 * rss


def mapped(process: int, name: str) -> tuple[int, int]:
    """Return the kB in memory of files of that name that a process maps, in all and as its share."""
    rss = pss = 0
    is_ours = False
    for line in Path(f"/proc/{process}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            is_ours = name in line
        elif is_ours and line.startswith("Rss:"):
            rss += int(line.split()[1])
        elif is_ours and line.startswith("Pss:"):
            pss += int(line.split()[1])
    return rss, pss


# real texts, and many clients ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_500_real_texts_get_the_answers_of_python(newsgroups: Corpus, tmp_path: Path) -> None:
    trained = TfcrClassifier(random_state=0).fit(newsgroups.texts[1::20], newsgroups.labels[1::20])
    trained.save(tmp_path / "posts")
    model, texts = TrainedModel.load(tmp_path / "posts"), newsgroups.texts[::37][:500]
    assert len(texts) == 500
    chances = model.predict_proba(texts)
    labels, unknown = model.predict(texts).tolist(), model.score_texts(texts).unknown_fractions
    with serving(tmp_path / "posts") as server:
        connection = HTTPConnection("127.0.0.1", server.port, timeout=120)
        rows = []
        for start in range(0, 500, 100):
            asked = {"texts": texts[start : start + 100], "probabilities": True}
            rows += post(connection, asked)[1]["predictions"]
        single = [post(connection, {"text": text, "probabilities": True})[1]["predictions"][0] for text in texts]
        explained = [
            found
            for start in range(0, 500, 50)
            for found in post(connection, {"texts": texts[start : start + 50]}, "/explain")[1]["explanations"]
        ]
        connection.close()
    for found in (rows, single):
        assert [row["label"] for row in found] == labels
        np.testing.assert_allclose([list(row["probabilities"].values()) for row in found], chances, atol=1e-6)
        np.testing.assert_allclose([row["unknown_words"] for row in found], unknown, atol=1e-6)
    for text, found in zip(texts, explained, strict=True):
        expected = model.explain(text)
        assert found["label"] == expected.label
        for label, score in found["scores"].items():
            assert score == pytest.approx(expected.scores[expected.classes.tolist().index(label)], abs=1e-6)


@pytest.mark.slow
def test_50_clients_for_60_seconds_get_no_error_and_no_wrong_answer() -> None:
    model = TrainedModel.load(KEPT)
    expected = model.predict_proba(TEXTS)
    with serving(KEPT) as server:
        clients = Clients(server.port, 50, {"texts": TEXTS, "probabilities": True}, seconds=60)
        time.sleep(60)
        clients.join()
        server.stop()
    assert clients.unanswered == []
    assert len(clients.answers) > 1_000
    assert {status for status, _ in clients.answers} == {200}
    for _, answer in clients.answers:
        rows = [list(row["probabilities"].values()) for row in answer["predictions"]]
        np.testing.assert_allclose(rows, expected, atol=1e-9)
