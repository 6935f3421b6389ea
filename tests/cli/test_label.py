"""``tfcr label`` in a process of its own: starting, stopping, resuming, wrong calls."""

import json
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import Run, environment
from tests.labelling.conftest import corpus

TEXTS, TRUTH = corpus(40)


class Labelling:
    """A running ``tfcr label``."""

    def __init__(self, process: "subprocess.Popen[str]", port: int, said: list[str]) -> None:
        self.process, self.port, self.said = process, port, said

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.address}{path}", timeout=60) as answer:
            return json.load(answer)

    def post(self, path: str, body: Any) -> Any:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.address}{path}", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


@contextmanager
def labelling(*arguments: object, port: int = 0) -> Iterator[Labelling]:
    """Run ``tfcr label``, and wait until it listens; it is killed at the end, if it has not ended."""
    command = [sys.executable, "-m", "tfcr", "label", *map(str, arguments), "--no-browser", "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=environment())
    assert process.stderr is not None
    stream, said = process.stderr, []
    for line in stream:
        said.append(line)
        if found := re.search(r"labelling at http://[^:]+:(\d+)", line):
            break
    else:
        raise AssertionError("".join(said))
    reader = threading.Thread(target=lambda: said.extend(stream), daemon=True)
    reader.start()
    try:
        yield Labelling(process, int(found[1]), said)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        reader.join(30)
        stream.close()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [f'{number},"{text}"' for number, text in enumerate(TEXTS)]
    (tmp_path / "data.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    return tmp_path / "data.csv"


def test_label_stop_and_train(data: Path, tmp_path: Path, run: Run) -> None:
    output = tmp_path / "answers.jsonl"
    with labelling(data, "--classes", "sport,politics", "--classes", "weather", "-o", output) as server:
        state = server.get("/label/state?tab=x")
        for _ in range(30):
            row = state["question"]["row"]
            state = server.post("/label/answer", {"tab": "x", "row": row, "label": TRUTH[row - 1]})
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(60) == 0
    said = "".join(server.said)
    assert "note: 40 texts, 0 of them with a label" in said
    assert f"30 answers are in {output}; next: tfcr train {output} -o model" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.jsonl", "data.csv"]
    result = run("train", output, "-o", tmp_path / "model", "--preset", "fast", "--no-cv", "--json")
    assert result.status == 0
    assert json.loads(result.out)["training"]["documents"] == 30
    with labelling(data, "--classes", "sport,politics,weather", "-o", output) as server:
        assert server.get("/label/state?tab=x")["answers"] == 30
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(60) == 130
    assert "to go on, type the same command again" in "".join(server.said)


def test_wrong_calls_get_one_line(data: Path, tmp_path: Path, run: Run) -> None:
    (tmp_path / "one.csv").write_text("id,text\n1,only one text\n")
    (tmp_path / "none.csv").write_text("id,name\n1,a\n2,b\n")
    (tmp_path / "labelled.csv").write_text("text,label\none text,a\nanother,b\n")
    (tmp_path / "other.jsonl").write_text('{"text": "a", "label": "b"}\n')
    (tmp_path / "folder.jsonl").mkdir()
    out, two = ("-o", tmp_path / "a.jsonl"), ("--classes", "a,b")
    calls: dict[tuple[object, ...], str] = {
        (data, *out): "found no class; expected at least two",
        (data, *out, "--classes", "a"): "found one class, 'a'; expected at least two",
        (data, *out, "--classes", "a,b,a"): "found the class 'a' twice",
        (data, *out, "--classes", "a,,b"): "found the class ''",
        (data, *two): "--output",
        (tmp_path / "nothing.csv", *out, *two): "does not exist",
        (tmp_path / "one.csv", *out, *two): "found 1 different texts; expected at least two",
        (tmp_path / "none.csv", *out, *two): "which column holds the text? Give --text NAME",
        (tmp_path / "labelled.csv", *out): "found a label for each of the 2 texts",
        (data, *two, "-o", tmp_path / "other.jsonl"): "found something else than an answer of tfcr label",
        (data, *two, "-o", tmp_path / "folder.jsonl"): "is a folder",
        (data, *two, "-o", tmp_path / "no" / "a.jsonl"): "does not exist; make it first",
        (data, *two, "-o", tmp_path / "a.csv"): "expected a file that ends in .jsonl",
        (data, *out, *two, "--host", "192.0.2.1"): "it is no address of this machine",
        (data, *out, *two, "--token", "short"): "expected at least 16",
    }
    for arguments, says in calls.items():
        result = run("label", *arguments, "--no-browser", "--port", "0")
        assert result.status == 2, arguments
        assert says in result.err, result.err
        assert result.err.count("\n") == 1 + result.err.count("note: "), result.err
    assert (tmp_path / "other.jsonl").read_text() == '{"text": "a", "label": "b"}\n'


def test_other_data_is_refused(data: Path, tmp_path: Path, run: Run) -> None:
    output = tmp_path / "answers.jsonl"
    with labelling(data, "--classes", "a,b", "-o", output) as server:
        state = server.get("/label/state")
        server.post("/label/answer", {"row": state["question"]["row"], "label": "a"})
        result = run("label", data, "--classes", "a,b", "-o", output, "--no-browser", "--port", "0")
        assert "another tfcr label is writing" in result.err
    data.write_text(data.read_text().replace("any", "some"))
    result = run("label", data, "--classes", "a,b", "-o", output, "--no-browser", "--port", "0")
    assert result.status == 2
    assert "has answers for other data" in result.err


def test_a_folder_that_may_not_be_written_to(data: Path, tmp_path: Path, run: Run, monkeypatch: Any) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("tfcr.labelling.answers.open_locked", refuse)
    result = run("label", data, "--classes", "a,b", "-o", tmp_path / "a.jsonl", "--no-browser", "--port", "0")
    assert result.status == 2
    assert "cannot write to the folder" in result.err


def test_the_browser_is_opened(data: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("tfcr.serving.server._run_here", lambda *_: None)
    result = run("label", data, "--classes", "a,b", "-o", tmp_path / "a.jsonl", "--port", "0", "--token", "generated")
    assert result.status == 0
    assert re.search(r"note: open in a browser: (.*)", result.err)[1] in opened  # type: ignore[index]
