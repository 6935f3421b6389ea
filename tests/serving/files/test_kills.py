"""Servers in processes of their own, on full disks, and killed: what was acknowledged is there.

``KILLS=100 pytest tests/serving/files/test_kills.py`` kills more often than the 20 times of every day.
"""

import json
import os
import random
import signal
import socket
import sys
import threading
import time
from collections import defaultdict
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.serving.conftest import KEPT, Running, serving
from tests.serving.test_server import children, wait_for

KILLS = int(os.environ.get("KILLS", "20"))
ROWS, CLIENTS = 60, 3
CLASSES = ("class 0", "class 1", "class 2", None)


class Client:
    """Asks one server, on one connection."""

    def __init__(self, server: Running) -> None:
        self.connection = HTTPConnection("127.0.0.1", server.port, timeout=30)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
        self.connection.request(method, path, content, {"Content-Type": kind} if content is not None else {})
        answer = self.connection.getresponse()
        found = json.loads(answer.read())
        assert answer.status == 200, found
        return found

    def until(self, path: str, stage: str) -> Any:
        for _ in range(600):
            found = self.ask("GET", path)
            if found["stage"] == stage:
                return found
            time.sleep(0.05)
        raise AssertionError(found)

    def has_more(self, path: str, rows: int) -> bool:
        """Return whether more rows are classified."""
        return bool(self.ask("GET", path)["done"] > rows)

    def upload(self, rows: int) -> str:
        """Upload a file and have it read; return its path."""
        content = "text\n" + "".join(f"w{n % 3}_1 w{n % 3}_2 {n}\n" for n in range(rows))
        found = self.ask("POST", "/files?name=a.csv", content.encode(), "application/octet-stream")
        path = f"/files/{found['id']}"
        self.until(path, "ready")
        return path


class Corrector(threading.Thread):
    """Corrects rows of its own, as fast as it can, until the server is gone.

    `acknowledged` has the last label of each row that was acknowledged, `sent` what was sent and got no answer.
    """

    def __init__(self, server: Running, path: str, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.client, self.path, self.number = Client(server), path, number
        self.random = random.Random(seed)
        self.acknowledged: dict[int, str | None] = {}
        self.count = 0
        self.sent: dict[int, str | None] = {}

    def run(self) -> None:
        while True:
            row = 1 + self.number + CLIENTS * self.random.randrange(ROWS // CLIENTS)
            self.sent = {row: self.random.choice(CLASSES)}
            body = {"corrections": [{"row": row, "label": self.sent[row]}]}
            try:
                self.client.ask("POST", f"{self.path}/corrections", body)
            except (OSError, HTTPException):
                self.client.connection.close()
                return
            self.acknowledged |= self.sent
            self.count += 1


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another process")
def test_a_disk_that_takes_no_more_and_a_client_that_hangs_up(tmp_path: Path) -> None:
    import resource

    with serving(KEPT, "--work", tmp_path) as server, Client(server) as client:
        path = client.upload(ROWS)
        before = sorted(tmp_path.iterdir())
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            head = "POST /files HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
            connection.sendall(f"{head}Content-Length: 1000000\r\n\r\n".encode() + b"text\n" * 100_000)
            wait_for(lambda: len(list(tmp_path.iterdir())) > len(before))  # it is being written
        wait_for(lambda: sorted(tmp_path.iterdir()) == before)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (150_000, 150_000))
        client.connection.request("POST", "/files", b"text\n" * 100_000, {"Content-Type": "application/octet-stream"})
        answer = client.connection.getresponse()
        assert (answer.status, json.loads(answer.read())["error"]) == (507, "the disk of the server is full")
        assert sorted(tmp_path.iterdir()) == before
        client.ask("POST", f"{path}/classify", {"text": "text"})
        assert client.until(path, "done")["done"] == ROWS


@pytest.mark.slow
def test_every_acknowledged_correction_survives_kills(tmp_path: Path) -> None:
    rng = random.Random(1)
    path, total = "", 0
    allowed: dict[int, set[str | None]] = defaultdict(lambda: {None})

    for kill in range(KILLS + 1):
        with serving(KEPT, "--work", tmp_path) as server, Client(server) as client:
            if not path:
                path = client.upload(ROWS)
                client.ask("POST", f"{path}/classify", {"text": "text"})
                client.until(path, "done")
            rows = [row for start in (0, 50) for row in client.ask("GET", f"{path}/rows?start={start}")["rows"]]
            assert [row["row"] for row in rows] == list(range(1, ROWS + 1))
            for row in rows:
                assert row["corrected"] in allowed[row["row"]], (kill, row)
                allowed[row["row"]] = {row["corrected"]}
            if kill == KILLS:
                break
            correctors = [Corrector(server, path, number, rng.randrange(10**6)) for number in range(CLIENTS)]
            for one in correctors:
                one.start()
            time.sleep(rng.uniform(0, 0.15))
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(30)
            for one in correctors:
                one.join(30)
                total += one.count
                for row_number, label in one.acknowledged.items():
                    allowed[row_number] = {label}
                for row_number, label in one.sent.items():  # it may be there, and may not: nobody was told
                    allowed[row_number] = allowed[row_number] | {label}
    assert total > 2 * KILLS
    print(f"{KILLS} kills, {total} corrections acknowledged, all of them there")


@pytest.mark.slow
def test_a_job_is_resumed_after_kills(tmp_path: Path) -> None:
    rows, path, seen = 200_000, "", []
    for kill in range(4):
        with serving(KEPT, "--work", tmp_path) as server, Client(server) as client:
            path = path or client.upload(rows)
            found = client.ask("GET", path)
            seen.append(found["done"] or 0)
            if kill:
                assert (found["stage"], found["stopped"]) == ("classifying", True)
            client.ask("POST", f"{path}/classify", {"text": "text"})
            if kill == 3:
                client.until(path, "done")
                page = client.ask("GET", f"{path}/rows?start={rows - 1}")
                assert (page["total"], page["rows"][0]["text"]) == (
                    rows,
                    f"w{(rows - 1) % 3}_1 w{(rows - 1) % 3}_2 {rows - 1}",
                )
            else:
                wait_for(partial(client.has_more, path, seen[-1]))
                server.process.kill()
                server.process.wait(30)
    assert seen == sorted(seen)
    assert seen[-1] > 0


@pytest.mark.slow
def test_all_workers_know_how_far_a_job_is(tmp_path: Path) -> None:
    with serving(KEPT, "--work", tmp_path, "--workers", "2") as server:
        wait_for(lambda: sum(".counters" in Path(f"/proc/{one}/maps").read_text() for one in children(server)) == 2, 90)
        time.sleep(2)

        def once(method: str, path: str, body: Any = None) -> Any:
            """Ask on a connection of its own, so that both workers answer."""
            with Client(server) as client:
                return client.ask(method, path, body)

        with Client(server) as client:
            path = client.upload(300_000)
        once("POST", f"{path}/classify", {"text": "text"})
        stages: list[tuple[str, bool]] = []
        while not stages or stages[-1][0] != "done":
            found = once("GET", path)
            stages.append((found["stage"], found["stopped"]))
        assert set(stages) <= {("classifying", False), ("done", False)}
        for number in range(1, 21):
            once("POST", f"{path}/corrections", {"corrections": [{"row": number, "label": "class 1"}]})
            assert once("GET", f"{path}/rows?show=changed")["total"] == number
