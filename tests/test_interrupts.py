"""Ctrl-C, read-only caches, and two processes at once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

JOBS = {
    "count": """
texts = ["some words of text number %d, and more of them" % n for n in range(400_000)] * 3
from tfcr.text.documents import count_terms
print("ready", flush=True)
while True:
    count_terms(texts)
""",
    "train": """
import numpy as np
from tfcr.heads import make_targets, resolve_head
from tfcr.features.matrix import DenseFeatures
X = np.random.default_rng(0).normal(size=(12_000, 3_000)).astype(np.float32) / 50
y = np.arange(12_000) % 20
targets = make_targets(y, np.arange(20), np.ones(12_000), "balanced")
print("ready", flush=True)
while True:
    resolve_head("svm", C=100.0).solve(DenseFeatures(X), targets, list(range(20)))
""",
    "ridge": """
import numpy as np
from tfcr.heads import make_targets, resolve_head
from tfcr.features.matrix import DenseFeatures
X = np.random.default_rng(0).normal(size=(3_000, 3_000)).astype(np.float32) / 50
targets = make_targets(np.arange(3_000) % 20, np.arange(20), np.ones(3_000), "balanced")
print("ready", flush=True)
while True:
    resolve_head("ridge", C=1.0).solve(DenseFeatures(X), targets, list(range(20)))
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS)
def test_ctrl_c_stops_compiled_code_soon(job: str, tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", JOBS[job]], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    for _ in range(3):  # at whatever moment
        time.sleep(2)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    began = time.perf_counter()
    _, errors = process.communicate(timeout=60)
    assert time.perf_counter() - began < 20  # a second or two where the machine has nothing else to do
    assert b"KeyboardInterrupt" in errors


TRAIN = """
import sys
from tfcr import Embeddings, TfcrClassifier
import numpy as np
random = np.random.default_rng(1)
words = ["w%d" % n for n in range(3000)]
chosen = random.integers(0, 3000, (30_000, 15))
texts = [" ".join(words[n] for n in row) for row in chosen.tolist()]
labels = ["c%d" % (row[0] % 12) for row in chosen]
vectors = Embeddings.from_arrays(words, random.normal(size=(3000, 50)))
model = TfcrClassifier.from_preset("paper", embeddings=vectors).fit(texts, labels)
print(int((model.predict(texts) == np.array(labels)).sum()))
"""

WITH_PIECES = """
model = TfcrClassifier(parts=["ngrams", "plain"], embeddings=vectors, C=1.0).fit(texts, labels)
print(model.predict([*texts, "unseen words!"])[-1])
"""


def start(code: str, cache: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "TFCR_CACHE": str(cache)}
    return subprocess.Popen(
        [sys.executable, *code.split("|")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.slow
def test_two_processes_fill_the_cache_of_compiled_code_at_once(tmp_path: Path) -> None:
    found = [process.communicate(timeout=300) for process in [start(f"-c|{TRAIN}", tmp_path) for _ in range(2)]]
    assert found[0][0] == found[1][0] != ""
    assert all("compiling fast code" in errors for _, errors in found)
    again, errors = start(f"-c|{TRAIN}", tmp_path).communicate(timeout=300)
    assert again == found[0][0]
    assert errors == ""


@pytest.mark.slow
def test_a_warm_cache_is_all_that_is_needed(tmp_path: Path) -> None:
    out, errors = start("-m|tfcr.cli|warmup", tmp_path).communicate(timeout=300)
    assert "stored in" in out
    assert "note: compiling fast code, which takes some seconds, and only the first time" in errors
    out, errors = start(f"-c|{TRAIN}{WITH_PIECES}", tmp_path).communicate(timeout=300)
    assert out
    assert errors == ""  # nothing was left to compile
