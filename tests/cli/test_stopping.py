"""Ctrl-C: one line that says what is kept and how to go on, status 130, nothing half-written, no process left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.runner import environment
from tests.conftest import random_corpus
from tests.file_server import CONTENT, Server

LONG: dict[str, tuple[Callable[[Path, Path, Path], list[object]], str]] = {
    "train": (
        lambda big, model, folder: ["train", big, "-o", folder / "new"],
        "no model was saved to {folder}/new; to start over, type the same command again",
    ),
    "predict": (
        lambda big, model, folder: ["predict", model, big, big, big, big, "-o", folder / "new.csv"],
        "{folder}/new.csv is not complete; to resume, type the same command with --resume",
    ),
    "evaluate": (
        lambda big, model, folder: ["evaluate", big],
        "nothing was written; to start over, type the same command again",
    ),
    "word2vec": (
        lambda big, model, folder: ["embeddings", "train", big, "-o", folder / "new.vec"],
        "{folder}/new.vec was not written; to start over, type the same command again",
    ),
}


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "big.csv"
    corpus = random_corpus(3000)
    rows = [f"{text},{label}\n" for text, label in zip(corpus.texts, corpus.labels, strict=True)]
    path.write_text("text,label\n" + "".join(rows * 60))
    return path


def start(*arguments: object, code: str = "", **settings: str) -> "subprocess.Popen[str]":
    """Start a command in a group of its own, as a terminal does."""
    program = ["-c", code] if code else ["-m", "tfcr"]
    return subprocess.Popen(
        [sys.executable, *program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment(), **settings},
        text=True,
        start_new_session=True,
    )


def stop(process: "subprocess.Popen[str]") -> list[str]:
    """Send Ctrl-C to the whole group, as a terminal does; return the lines that are no notes."""
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert out == ""
    assert _ends(process.pid)
    return [line for line in err.splitlines() if not line.startswith(("note: ", "warning: "))]


def _ends(group: int) -> bool:
    """Return whether all processes of a group end within seconds."""
    for _ in range(200):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("command", LONG)
def test_a_line_says_what_is_kept(command: str, big: Path, model: Path, tmp_path: Path) -> None:
    arguments, message = LONG[command]
    process = start(*arguments(big, model, tmp_path))
    assert process.stderr is not None
    assert "utf-8" in process.stderr.readline()  # the file is read: the long work begins
    assert stop(process) == [f"tfcr: stopped: {message.format(folder=tmp_path)}"]
    kept = {".new.csv.tfcr-part", ".new.csv.tfcr-journal"} if command == "predict" else set()
    assert {path.name for path in tmp_path.iterdir()} in (kept, set())  # nothing, if no row was written yet


@pytest.mark.parametrize("moment", ["starting", "running"])
def test_an_experiment_keeps_what_is_finished(moment: str, big: Path, tmp_path: Path) -> None:
    results = tmp_path / "r.sqlite"
    grid = ("--datasets", big, "--schemes", "tfcr,tfidf", "--heads", "svm", "--folds", 4, "--processes", 2)
    process = start("experiment", "run", *grid, "--results", results)
    assert process.stderr is not None
    if moment == "running":
        assert "note: " in process.stderr.readline()
    while not results.exists():
        time.sleep(0.01)
    [line] = stop(process)
    assert line == f"tfcr: stopped: finished folds are kept in {results}; to resume, type the same command again"


FETCH = """
import sys
from dataclasses import replace
from tfcr.data import DATASETS
from tfcr.system.download import Download
DATASETS["20ng"] = replace(DATASETS["20ng"], downloads=(Download(sys.argv.pop(), "20news-bydate.tar.gz"),))
from tfcr.cli import main
main()
"""


def test_a_download_is_kept(server: Server, tmp_path: Path) -> None:
    server.pause = 0.2
    settings = {"TFCR_CACHE": str(tmp_path), "TFCR_DATA": str(tmp_path / "no")}
    process = start("datasets", "fetch", "20ng", f"{server.url}/file", code=FETCH, **settings)
    while not (found := [path for path in tmp_path.rglob("*.part") if path.stat().st_size]):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    assert stop(process) == ["tfcr: stopped: what was downloaded is kept; to resume, type the same command again"]
    [part] = found
    assert 0 < part.stat().st_size < len(CONTENT)
    server.pause = 0.0
    process = start("datasets", "fetch", "20ng", f"{server.url}/file", code=FETCH, **settings)
    assert "resuming at" in process.communicate(timeout=60)[1]
