"""A server that is killed at random moments: every answer that it acknowledged is on disk, once."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import environment
from tests.cli.test_label import Labelling
from tests.labelling.conftest import corpus
from tfcr.data import read_corpus

KILLS = int(os.environ.get("LABEL_KILLS", "20"))


class Person:
    """Answers, skips and undoes as fast as the server takes it, until that is killed.

    `known` is what was acknowledged: row → label; `pending` the row whose request may or may not have been obeyed.
    """

    def __init__(self, known: dict[int, str], chance: random.Random) -> None:
        self.known = known
        self.chance = chance
        self.acknowledged = 0
        self.pending: int | None = None

    def work(self, server: Any, truth: list[str]) -> None:
        try:
            state = server.get("/label/state?tab=x")
            while state["question"]:
                state = self.step(server, state, truth)
                self.acknowledged += 1
        except (OSError, HTTPException):  # it was killed
            pass

    def step(self, server: Any, state: Any, truth: list[str]) -> Any:
        row, what = state["question"]["row"], self.chance.random()
        if what < 0.1 and state["last"] in self.known:
            self.pending = state["last"]
            found = server.post("/label/undo", {"tab": "x", "row": self.pending})
            del self.known[self.pending]
        elif what < 0.2:
            self.pending = row
            found = server.post("/label/skip", {"tab": "x", "row": row})
        else:
            self.pending = row
            found = server.post("/label/answer", {"tab": "x", "row": row, "label": truth[row - 1]})
            self.known[row] = truth[row - 1]
        self.pending = None
        return found


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the server is forked")
def test_no_acknowledged_answer_is_lost(tmp_path: Path) -> None:
    texts, truth = corpus(4000)
    data, output = tmp_path / "texts", tmp_path / "answers.jsonl"
    data.write_text("\n".join(texts) + "\n")
    rows = {text: row for row, text in enumerate(texts, start=1)}
    chance = random.Random(0)
    known: dict[int, str] = {}
    acknowledged = 0
    with forking(data, output) as starts:
        for _ in range(KILLS):
            person, (server, process) = Person(known, chance), starts()
            thread = threading.Thread(target=person.work, args=(server, truth))
            thread.start()
            while not person.acknowledged and thread.is_alive() and chance.random() > 0.001:  # a few before any answer
                time.sleep(0.005)
            time.sleep(chance.expovariate(10))
            os.kill(process, signal.SIGKILL)
            thread.join(60)
            acknowledged += person.acknowledged
            compare(output, known, person.pending, rows)
    print(f"{KILLS} kills, {acknowledged} answers acknowledged, {len(known)} labels in the end")
    assert acknowledged > KILLS


@contextmanager
def forking(data: Path, output: Path) -> Iterator[Callable[[], tuple[Labelling, int]]]:
    """Give a function that starts a server, and returns it with the number of its process."""
    command = [sys.executable, "-m", "tests.serving.label.killed", str(data), str(output)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment()}
    with subprocess.Popen(command, cwd=Path(__file__).parents[3], **pipes) as parent:  # type: ignore[call-overload]

        def start() -> tuple[Labelling, int]:
            parent.stdin.write("start\n")
            parent.stdin.flush()
            port, process = map(int, parent.stdout.readline().split())
            return Labelling(parent, port, []), process

        yield start
        parent.stdin.close()


def compare(output: Path, known: dict[int, str], pending: int | None, rows: dict[str, int]) -> None:
    """Compare what `tfcr train` reads with what was acknowledged; `known` becomes what the file says of `pending`."""
    if not output.read_bytes().strip():
        assert known.keys() <= {pending}
        known.clear()
        return
    corpus = read_corpus(output)
    found = {rows[text]: label for text, label in zip(corpus.texts, corpus.labels, strict=True)}
    assert len(found) == len(corpus)  # none twice
    assert {row: label for row, label in found.items() if row != pending} == {
        row: label for row, label in known.items() if row != pending
    }
    known.clear()
    known.update(found)
