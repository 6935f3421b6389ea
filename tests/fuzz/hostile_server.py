"""A web server that does what a script says: lie about lengths, drip, cut, redirect in circles, change the file.

A script is JSON, so that it can be mutated as any other file::

    {"wanted": {"size": 500, "sha256": null}, "part": {"content": "…", "etag": "a"},
     "files": {"a": "content of version a", "b": "…"},
     "answers": [{"status": 200, "file": "a", "headers": {"Content-Length": "auto", "ETag": "auto"}, "cut": 100}, …]}

Each connection gets the next answer, and the last one again and again. ``auto`` stands for the truth.
"""

import json
import socket
import threading
import time
from contextlib import suppress
from typing import Any

MOST_BYTES = 1 << 26
"""What an endless answer ends after, so that no disk fills up."""
MOST_SECONDS = 15.0


class HostileServer:
    """Listens on this machine; `play` sets what it does next."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.script: dict[str, Any] = {}
        self.asked = 0
        self.sent: list[bytes] = []
        self.turn = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/file"

    def play(self, script: dict[str, Any]) -> None:
        self.turn += 1
        self.script, self.asked, self.sent = script, 0, []

    def _accept(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self._serve, args=(connection, self.turn), daemon=True).start()

    def _serve(self, connection: socket.socket, turn: int) -> None:
        with connection, suppress(OSError):
            connection.settimeout(MOST_SECONDS)
            head = b""
            while b"\r\n\r\n" not in head and len(head) < 1 << 16:
                more = connection.recv(1 << 14)
                if not more:
                    return
                head += more
            answer = self._next_answer()
            if answer is not None and turn == self.turn:
                # a mutated script may hold anything anywhere: then the connection just ends
                with suppress(TypeError, ValueError, KeyError, AttributeError, IndexError, OverflowError):
                    self._send(connection, head.decode("latin-1"), answer, turn)

    def _next_answer(self) -> Any:
        answers = self.script.get("answers")
        if not isinstance(answers, list) or not answers:
            return None
        self.asked += 1
        return answers[min(self.asked, len(answers)) - 1]

    def _send(self, connection: socket.socket, request: str, answer: dict[str, Any], turn: int) -> None:
        if "raw" in answer:
            connection.sendall(str(answer["raw"]).encode("utf-8", "replace"))
            return
        name = str(answer.get("file", "a"))
        content = str(self.script["files"][name]).encode("utf-8", "replace")
        start = _start_of_range(request) if answer["status"] == 206 else 0
        start += int(answer.get("shift", 0))
        body = content[max(0, start) :]
        head = [f"HTTP/1.1 {answer['status']} Whatever"]
        truth = {
            "Content-Length": str(len(body)),
            "ETag": f'"{name}"',
            "Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}",
            "Location": self.url,
        }
        for key, value in answer.get("headers", {}).items():
            head.append(f"{key}: {truth.get(key, '') if value == 'auto' else value}")
        connection.sendall("\r\n".join([*head, "", ""]).encode("utf-8", "replace"))
        self._send_body(connection, body, answer, turn)

    def _send_body(self, connection: socket.socket, body: bytes, answer: dict[str, Any], turn: int) -> None:
        if answer.get("cut") is not None:
            body = body[: int(answer["cut"])]
        self.sent.append(body)
        drip, began = float(answer.get("drip", 0)), time.monotonic()
        if drip > 0:
            for place in range(len(body)):
                if turn != self.turn or time.monotonic() - began > MOST_SECONDS:
                    return
                connection.sendall(body[place : place + 1])
                time.sleep(min(drip, 5.0))
            return
        connection.sendall(body)
        sent = len(body)
        while answer.get("endless") and body and sent < MOST_BYTES and turn == self.turn:
            connection.sendall(body)
            sent += len(body)


def _start_of_range(request: str) -> int:
    for line in request.splitlines():
        if line.lower().startswith("range: bytes="):
            return int(line.partition("=")[2].partition("-")[0])
    return 0


def scripts() -> list[bytes]:
    """Return the scripts that mutations start from: an honest server, and the known kinds of dishonest ones."""
    long, other = "0123456789" * 60, "abcdefghij" * 60
    honest = {"Content-Length": "auto", "ETag": "auto", "Content-Type": "application/gzip"}
    ranged = {**honest, "Content-Range": "auto"}
    whole = {"status": 200, "file": "a", "headers": honest}
    rest = {"status": 206, "file": "a", "headers": ranged}
    without = {"status": 200, "file": "a", "headers": {"ETag": "auto"}}
    kinds: list[list[dict[str, Any]]] = [
        [whole],
        [{**whole, "cut": 100}, rest],
        [{**whole, "cut": 100}, {**rest, "file": "b"}],
        [{**whole, "cut": 100}, {**rest, "shift": 7}],
        [{**whole, "cut": 100}, {**rest, "headers": {**ranged, "Content-Range": "bytes 0-9/10"}}],
        [{**whole, "cut": 100}, {"status": 416, "headers": {"Content-Range": "bytes */600"}}, whole],
        [{**whole, "headers": {**honest, "Content-Length": "9999999999999"}}],
        [{**whole, "headers": {**honest, "Content-Length": "-5"}}],
        [{**whole, "headers": {**honest, "Content-Length": "10"}}],
        [without],
        [{**without, "endless": True}],
        [{**without, "drip": 0.05}],
        [{**whole, "drip": 0.3}],
        [{"status": 302, "headers": {"Location": "auto"}}],
        [{"status": 302, "headers": {"Location": "file:///etc/passwd"}}],
        [{"status": 302, "headers": {"Location": "http://[::1"}}],
        [{"status": 301, "headers": {}}],
        [{"status": 200, "file": "a", "headers": {"Transfer-Encoding": "chunked"}}],
        [{"status": 200, "file": "a", "headers": {"Content-Encoding": "gzip", **honest}}],
        [{"status": 200, "file": "a", "headers": {"Content-Type": "text/html", **honest}}],
        [{"status": 503, "headers": {"Retry-After": "99999"}}, whole],
        [{"status": 404, "headers": {}}],
        [{"status": 999999, "headers": {}}],
        [{"raw": "SSH-2.0-OpenSSH_9\r\n"}],
        [{"raw": ""}],
        [{"raw": "HTTP/1.1 200 OK\r\n" + "X: y\r\n" * 3000}],
        [{"raw": "HTTP/1.1 200 OK\r\nX: " + "y" * 100_000 + "\r\n\r\n"}],
    ]
    files = {"a": long, "b": other}
    sizes: list[Any] = [None, len(long)]
    return [
        json.dumps({"wanted": {"size": size}, "part": part, "files": files, "answers": answers}).encode()
        for answers in kinds
        for size in sizes
        for part in (None, {"content": long[:50], "etag": '"a"', "total": 600})
    ]
