"""The entry point: exit status, signals, pipes, and what each kind of bad input gets."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.runner import Run, bad_file, environment
from tests.conftest import random_corpus

REFUSED: dict[str, tuple[Callable[[Path], list[object]], str]] = {
    "missing file": (lambda t: ["evaluate", t / "no.csv"], "no.csv does not exist; expected a data file"),
    "empty file": (lambda t: ["evaluate", bad_file(t, "e.csv", b"")], "e.csv is empty"),
    "wrong column": (
        lambda t: ["evaluate", bad_file(t, "a.csv", b"text,label\na,x\n"), "--text", "txt"],
        "unknown column for --text 'txt'; known: text, label. Did you mean 'text'?",
    ),
    "unknown scheme": (
        lambda t: [
            "evaluate",
            bad_file(t, "a.csv", b"text,label\na,x\na,x\nb,y\nb,y\n"),
            "--scheme",
            "tf-cr",
            "-e",
            "w2v",
        ],
        "unknown scheme 'tf-cr'; known: none, tfidf",
    ),
    "unknown head": (
        lambda t: ["evaluate", bad_file(t, "a.csv", b"text,label\na,x\na,x\nb,y\nb,y\n"), "--head", "forest"],
        "unknown head 'forest'; known: lr, svm, ridge",
    ),
    "unknown tokenizer": (
        lambda t: ["words", bad_file(t, "a.csv", b"text,label\na,x\nb,y\n"), "--tokenizer", "letters"],
        "unknown tokenizer 'letters'; known: paper, words",
    ),
    "one class only": (
        lambda t: ["train", bad_file(t, "a.csv", b"text,label\na,x\nb,x\n"), "-o", t / "m"],
        "found one class only, 'x'",
    ),
    "not in the encoding": (
        lambda t: ["evaluate", bad_file(t, "a.csv", "text,label\ngröße,x\n".encode("cp1252")), "--encoding", "utf-8"],
        "a.csv: byte 13, in line 2, is not utf-8",
    ),
    "damaged vectors": (
        lambda t: [
            "evaluate",
            bad_file(t, "a.csv", b"text,label\na,x\na,x\nb,y\nb,y\n"),
            "-e",
            bad_file(t, "v.txt", b"a 1 2\nb 1\n"),
        ],
        "v.txt, line 2: found 1 numbers after the word; expected 2",
    ),
    "missing vectors": (
        lambda t: ["evaluate", bad_file(t, "a.csv", b"text,label\na,x\na,x\nb,y\nb,y\n"), "-e", "no.bin"],
        "no.bin does not exist",
    ),
    "no model": (lambda t: ["predict", t, bad_file(t, "a.csv", b"text\na\n")], "is not a model: it has no config.json"),
    "folder with other things": (
        lambda t: ["train", bad_file(t, "a.csv", b"text,label\na,x\nb,y\n"), "-o", t],
        "holds a.csv and no model; give a new or empty folder",
    ),
    "output of unknown kind": (
        lambda t: ["predict", t, bad_file(t, "a.csv", b"text\na\n"), "-o", t / "out.doc"],
        "unknown format to write 'doc'; known: csv, tsv, jsonl, parquet",
    ),
    "output nowhere": (
        lambda t: ["predict", t, bad_file(t, "a.csv", b"text\na\n"), "-o", t / "no" / "out.csv"],
        "does not exist; make it first: mkdir -p",
    ),
    "option that is none": (
        lambda t: ["train", "--txt", "x"],
        "No such option: --txt. Did you mean --text? See: tfcr train --help",
    ),
    "option of other commands": (
        lambda t: ["train", "--epochs", "3"],
        "No such option: --epochs, which is an option of tfcr embeddings train and tfcr experiment run; "
        "see: tfcr train --help",
    ),
    "option of no command": (
        lambda t: ["train", "--frobnicate"],
        "No such option: --frobnicate; see: tfcr train --help",
    ),
    "option missing": (lambda t: ["train", "x.csv"], "Missing option '--output' / '-o'; see: tfcr train --help"),
    "argument missing": (lambda t: ["predict"], "Missing argument 'MODEL'; see: tfcr predict --help"),
    "class weight": (
        lambda t: ["train", bad_file(t, "a.csv", b"text,label\na,x\nb,y\n"), "-o", t / "m", "--class-weight", "equal"],
        "found --class-weight equal; expected balanced or none",
    ),
    "vector file of unknown kind": (
        lambda t: ["embeddings", "train", t / "none.csv", "-o", t / "v.foo"],  # before anything is read
        "found v.foo; expected a file ending in one of .npy (npy)",
    ),
    "vectors nowhere": (
        lambda t: ["embeddings", "train", t / "none.csv", "-o", t / "no" / "v.vec"],
        "does not exist; make it first: mkdir -p",
    ),
    "command that is none": (lambda t: ["trian"], "No such command 'trian'. Did you mean 'train'? See: tfcr --help"),
    "command of a group": (
        lambda t: ["embeddings", "show"],
        "'show'; known: list, fetch, info, convert, train, distill; see: ",
    ),
    "number that is none": (lambda t: ["evaluate", "x", "--cv", "ten"], "Invalid value for '--cv'"),
    "no model folder": (lambda t: ["predict", t / "no", t / "a.csv"], "does not exist; expected a model's folder"),
    "seed": (lambda t: ["evaluate", "pydocs", "--seed", "-1"], "'--seed'"),
    "wrong case": (
        lambda t: ["words", bad_file(t, "a.csv", b"text,label\na,x\nb,y\n"), "--scheme", "TFCR"],
        "Did you mean 'tfcr'?",
    ),
    "quoting": (
        lambda t: ["evaluate", t / "a.csv", "--quoting", "single"],
        "found --quoting single; expected usual or none",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_in_one_line_with_status_2(kind: str, run: Run, tmp_path: Path) -> None:
    arguments, message = REFUSED[kind]
    result = run(*arguments(tmp_path))
    assert result.status == 2, result
    lines = [line for line in result.err.splitlines() if not line.startswith(("note: ", "warning: "))]
    assert len(lines) == 1, result.err
    assert lines[0].startswith("tfcr: ")
    assert message in lines[0]
    assert result.out == ""
    assert not (tmp_path / "m").exists()


def test_archives_that_are_dangerous(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tfcr.system.limits import LIMITS

    path = tmp_path / "evil.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("x/../../evil/1")
        member.size = 4
        archive.addfile(member, io.BytesIO(b"text"))
    result = run("evaluate", path)
    assert (result.status, "leads out of its folder" in result.err) == (2, True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["evil.tar.gz"]
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("x/1")
        member.size = 50_000_000
        archive.addfile(member, io.BytesIO(bytes(50_000_000)))
    monkeypatch.setitem(LIMITS, "unpacked harmless", LIMITS["unpacked harmless"]._replace(value=1_000_000))
    result = run("evaluate", path)
    assert (result.status, "unpacks to more than" in result.err) == (2, True)


def test_a_full_disk(run: Run, model: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "out.csv"
    target.write_text("precious")
    monkeypatch.setattr("os.fsync", full)
    result = run("predict", model, data, "-o", target)
    assert result.status == 2
    assert "No space left on device" in result.err
    assert target.read_text() == "precious"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    result = run("train", data, "-o", tmp_path / "m", "--no-cv", "--dimensions", 4)
    assert (result.status, "cannot write the model to" in result.err) == (2, True)


def test_ctrl_c_stops_with_130_and_leaves_nothing(tmp_path: Path) -> None:
    data = tmp_path / "big.csv"
    corpus = random_corpus(3000)
    rows = [f"{text},{label}\n" for text, label in zip(corpus.texts, corpus.labels, strict=True)]
    data.write_text("text,label\n" + "".join(rows * 10))
    command = [sys.executable, "-m", "tfcr.cli", "train", str(data), "-o", str(tmp_path / "model")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True)
    assert process.stderr is not None
    assert "rows" in process.stderr.readline()  # the file is read: the long work begins
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert time.monotonic() - began < 15  # a kernel that is being compiled is finished first
    assert "Traceback" not in err
    assert out == ""
    assert not (tmp_path / "model").exists()


def test_a_reader_that_goes_away(model: Path, data: Path) -> None:
    command = f"'{sys.executable}' -m tfcr.cli predict '{model}' '{data}' '{data}' | head -n 1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environment())
    assert result.stdout.startswith("text,label,who,predicted")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("command", "ending", "status", "message"),
    [
        ("predict {model} {data}", ">&-", 2, "tfcr: standard output is closed; send it to a file: > FILE"),
        ("words {model} --json", ">&-", 2, "tfcr: standard output is closed"),
        ("words {model}", "> /dev/full", 2, "No space left on device"),
        ("evaluate {model} {data}", "2>&-", 0, ""),
        ("evaluate {model} {data}", "2>&- >&-", 2, ""),
        ("predict {model} -", "<&-", 2, "tfcr: standard input is closed"),
        ("predict {model} {data}", "| head -0", 0, ""),
        ("words {model}", "| head -0", 0, ""),
        ("predict {model} {data} -o out.csv", ">&- <&- 2>&-", 0, ""),
    ],
)
def test_closed_streams(
    command: str, ending: str, status: int, message: str, model: Path, data: Path, tmp_path: Path
) -> None:
    typed = command.format(model=shlex.quote(str(model)), data=shlex.quote(str(data)))
    line = f"{shlex.quote(sys.executable)} -m tfcr.cli {typed} {ending}"
    result = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, check=False, env=environment(), cwd=tmp_path
    )
    assert result.returncode == status, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr
    if "-o" in command:
        assert len((tmp_path / "out.csv").read_text().splitlines()) == 121  # and no other file got its number


@pytest.mark.parametrize(
    ("output", "unbuffered"),
    [
        *((f"-o out.{ending}", "") for ending in ("xlsx", "parquet", "csv")),  # only standard output has no buffer
        *((output, unbuffered) for output in ("> rows.csv", "--json > rows.jsonl") for unbuffered in ("", "1")),
    ],
)
def test_a_disk_that_takes_only_a_part(output: str, unbuffered: str, model: Path, data: Path, tmp_path: Path) -> None:
    """Without a buffer, Python reports nothing when less is written than given."""
    typed = f"predict {shlex.quote(str(model))} {shlex.quote(str(data))} {output}"
    line = f"ulimit -f 2; {shlex.quote(sys.executable)} -m tfcr.cli {typed}"
    result = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        env={**environment(), "PYTHONUNBUFFERED": unbuffered},
        cwd=tmp_path,
    )
    assert result.returncode == 2, result.stderr
    assert result.stderr.splitlines()[-1].startswith("tfcr: cannot read or write")
    assert "File too large" in result.stderr
    assert "Traceback" not in result.stderr
    assert not [path.name for path in tmp_path.iterdir() if "out" in path.name]


def test_a_pipe_of_the_shell(model: Path, data: Path, tmp_path: Path) -> None:
    command = f"'{sys.executable}' -m tfcr.cli evaluate '{model}' <(cat '{data}') --json"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=environment())
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)
    os.mkfifo(tmp_path / "pipe.csv")
    command = f"'{sys.executable}' -m tfcr.cli predict '{model}' pipe.csv -o out.csv"
    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
        cwd=tmp_path,
        timeout=60,
    )
    assert result.returncode == 2
    assert "pipe.csv is a pipe; expected a file, or standard input: give - instead, and < pipe.csv" in result.stderr


def test_standard_input(data: Path) -> None:
    command = [sys.executable, "-m", "tfcr.cli", "words", "-", "--top", "2"]
    result = subprocess.run(command, input=data.read_bytes(), capture_output=True, check=True, env=environment())
    assert b"class 0" in result.stdout


def test_the_package_is_the_command_line_too() -> None:
    command = [sys.executable, "-m", "tfcr", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    assert result.stdout.startswith("tfcr ")
