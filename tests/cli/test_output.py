"""What commands print: a progress bar on a terminal, notes elsewhere, and times in words."""

import io
import os
import pty
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.runner import Run, environment
from tests.conftest import plain_classifier
from tfcr import PRESETS
from tfcr.cli import output
from tfcr.cli.output import progress_bar, standing, time_left
from tfcr.system.progress import Stages


def on_a_terminal(*arguments: object) -> str:
    """Return all that a command writes to a terminal, without its colours and movements."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tfcr", *map(str, arguments)]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**environment(), "COLUMNS": "150"}) as process:
        os.close(theirs)
        written = io.BytesIO()
        while True:
            try:
                written.write(os.read(ours, 1 << 16))
            except OSError:  # the terminal's other side is closed
                break
    os.close(ours)
    assert process.returncode == 0, written.getvalue()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written.getvalue().decode())


def test_training_shows_one_bar_that_ends_at_the_end(data: Path, tmp_path: Path) -> None:
    shown = on_a_terminal("train", data, "-o", tmp_path / "model", "--cv", 2, "--dimensions", 4)
    percentages = [int(found) for found in re.findall(r"(\d+) %", shown)]
    assert percentages == sorted(percentages)
    assert percentages[-1] == 100
    assert percentages[-2] < 100
    assert re.search(r"saving .* 100 %", shown)  # the last stage, and no other
    assert "Saved to" in shown


def test_stages_have_names(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    seen: list[str] = []

    class Told(Stages):
        def begin(self, kind: str, name: str = "") -> None:
            super().begin(kind, name)
            seen.append(self.name)

        def tell(self, name: str, fraction: float) -> None:
            super().tell(name, fraction)
            seen.append(self.name)

    monkeypatch.setattr(output, "Stages", Told)
    assert run("train", data, "-o", tmp_path / "model", "--cv", 2, "--dimensions", 4).status == 0
    stages = list(dict.fromkeys(seen))
    assert stages[:4] == ["reading", "counting words", "training word2vec", "counting classes"]
    of_fold = [stage.removeprefix("fold 1 of 2: ") for stage in stages if stage.startswith("fold 1 of 2: ")]
    assert of_fold[:3] == ["picking C of ngrams", "picking C of plain", "stacking vectors"]
    assert of_fold[-2] in {f"fitting {part}" for part in PRESETS["best"]["parts"]}  # the last that has weight
    assert of_fold[-1] == "building the word table"
    assert [stage for stage in stages if stage.startswith("fold 2")]
    assert stages[-2:] == ["all documents: building the word table", "saving"]
    seen.clear()
    assert run("predict", tmp_path / "model", data, "-o", tmp_path / "out.csv").status == 0
    assert seen == ["reading", "predicting"]
    seen.clear()
    schemes = ("--scheme", "tfcr", "--scheme", "tfidf", "--preset", "paper")
    assert run("evaluate", data, "--cv", 2, "--dimensions", 4, *schemes).status == 0
    assert "tfidf, fold 2 of 2: fitting vectors" in seen
    assert list(dict.fromkeys(seen))[:4] == ["reading", "counting words", "training word2vec", "counting classes"]


def test_a_note_now_and_then_if_it_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "BETWEEN_NOTES", 0.01)
    told = threading.Event()
    lines: list[str] = []

    def note(text: str) -> None:
        lines.append(text)
        told.set()

    monkeypatch.setattr(output, "note", note)
    with progress_bar() as stages:
        stages.expect([("fit", 1000)])
        stages.begin("fit", "fold 1 of 5")
        assert told.wait(10)
    assert re.fullmatch(r"fold 1 of 5, \d %, about 17 min left", lines[0])
    assert capsys.readouterr().err == ""
    assert "tell" not in {thread.name for thread in threading.enumerate()}


def test_standing_in_words() -> None:
    now = 0.0
    stages = Stages(lambda: now)
    assert standing(stages) == ""
    stages.begin("downloading")
    now = 10.0
    stages.count(25_000_000, 100_000_000)
    assert standing(stages, in_bytes=True) == "25 %, 25.0 of 100.0 MB, about 30 s left"
    assert standing(stages) == "25 %, about 30 s left"
    stages.finish()
    assert standing(stages, in_bytes=True) == "100 %"


def test_the_time_left_in_words() -> None:
    assert [time_left(seconds) for seconds in (0.2, 20, 600, 7500)] == [
        "about 1 s left",
        "about 20 s left",
        "about 10 min left",
        "about 2 h 5 min left",
    ]


def test_labels_and_words_do_not_command_the_terminal(run: Run, tmp_path: Path) -> None:
    label = "red\x1b]0;owned\x07\x9b31m"
    plain_classifier(parts=["words"], embeddings=None).fit(["good", "bad"] * 3, [label, "b"] * 3).save(tmp_path / "m")
    (tmp_path / "data.csv").write_text(f"text,label\ngood,{label}\nbad,b\n")
    for command in (("explain", tmp_path / "m", "good \x1b[31m"), ("evaluate", tmp_path / "m", tmp_path / "data.csv")):
        result = run(*command)
        assert result.status == 0, result.err
        assert r"red\x1b]0;owned\x07\x9b31m" in result.out
        assert not set(result.out + result.err) & set("\x1b\x07\x9b")


def test_a_text_takes_one_line_that_fits(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "FILE_WIDTH", 20)
    for text in ("short\n\ntext", "\x1b[3mred\u202e", "a" * 16, "b" * 17, "中" * 20, "word " * 10_000, ""):
        output.print_text(text)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["    short text", r"    \x1b[3mred\u202e"]
    assert lines[2:4] == ["    " + "a" * 16, "    " + "b" * 15 + "…"]
    assert lines[4] == "    " + "中" * 7 + "…"  # each takes two columns
    assert lines[5:] == ["    word word word…", "    "]
