"""The watchdog sees what it must see: hangs, memory, dead processes, panics and disagreements."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import ctypes, os, signal, sys, time
from tests.fuzz import workers
from tests.fuzz.cases import Case
from tests.fuzz.targets import TARGETS, DisagreementError, Target
from tfcr.errors import DataError

class PanicError(BaseException):
    pass

def fill(folder):
    held = []
    while True:
        held.append(b"x" * (1 << 24))

def fill_for_a_moment(folder):
    len(b"x" * (1 << 30))

def raises(error):
    def run(folder):
        raise error
    return run

runs = {
    "fine": lambda folder: None,
    "refused": raises(DataError("no")),
    "bug": raises(KeyError("x")),
    "panic": raises(PanicError("in Rust")),
    "disagreement": raises(DisagreementError("two ways")),
    "hang": lambda folder: time.sleep(99),
    "memory": fill,
    "memory for a moment": fill_for_a_moment,
    "abort": lambda folder: os.abort(),
    "segfault": lambda folder: ctypes.string_at(0),
    "exit": lambda folder: os._exit(3),
}
workers.MOST_SECONDS, workers.MOST_MEMORY, workers.warm_up = 4.0, 700 << 20, lambda: None
for name, run in runs.items():
    TARGETS[name] = Target(run, lambda folder: [])
with workers.workers(1, "0", []) as [worker]:
    for name in runs:
        print(name, workers.judge_apart(worker, Case(name, {"a/b": b"x"})).key, sep="|", flush=True)
"""

EXPECTED = {
    "fine": "fine",
    "refused": "refused",
    "bug": "KeyError at ",
    "panic": "PanicError at ",
    "disagreement": "DisagreementError at ",
    "hang": "more than 4 s at ",
    "memory": "more than 700 MB of memory at ",
    "memory for a moment": "more than 700 MB of memory ",
    "abort": "the process died (SIGABRT) at ",
    "segfault": "the process died (SIGSEGV) at ",
    "exit": "the process died (status 3) at ",
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    out = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    return dict(line.split("|") for line in out.stdout.splitlines())


@pytest.mark.parametrize("name", EXPECTED)
def test_verdict(name: str, verdicts: dict[str, str]) -> None:
    assert verdicts[name].startswith(EXPECTED[name])
