"""Requests per second over HTTP, against a FastAPI application around scikit-learn in the same run.

    python benchmarks/serving.py [--seconds 1] [--turns 9]

Each contestant is a server process of its own on a loopback port, with one worker and uvicorn's default protocol: ours
is `tfcr serve`, the peers are FastAPI applications whose route calls a pipeline of TF-IDF and LinearSVC, of words (as
`fast` has them) or of words and bigrams (of which `best` has more). They take turns; the load is posts of 20ng, one per
request or 100, from one client or from eight at once. The median of the turns is kept. Models are trained once, on
17,000 posts, and kept in the folder named by TFCR_BENCH, or one for temporary files. Writes
benchmarks/results/serving.md and .json.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import joblib
import numpy as np
import uvicorn
from fastapi import FastAPI
from measuring import write_results
from pydantic import BaseModel
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tfcr import TfcrClassifier
from tfcr.data import load_dataset
from tfcr.system.files import data_folders

FOLDER = Path(os.environ.get("TFCR_BENCH") or Path(tempfile.gettempdir()) / f"tfcr-bench-{os.getuid()}") / "serving"
N_TRAIN = 17_000
GLOVE = "glove.6B.100d.subset.bin"
PEER = "FastAPI + TF-IDF + LinearSVC"
PEERS = {PEER: (1, 1), "the same, with bigrams": (1, 2)}
"""Name → n-grams; each model is kept under the second of these numbers."""
RIVALS = ("tfcr best", "tfcr fast")
LOADS = {"one post": (1, 1), "one post, 8 clients": (1, 8), "100 posts": (100, 1), "100 posts, 8 clients": (100, 8)}
"""Texts per request, and clients at once."""
WANTED = {"one post": 1.0, "one post, 8 clients": 1.0, "100 posts": 1.5, "100 posts, 8 clients": 1.5}
N_REQUESTS = 64
"""Different requests of a load, sent again and again."""


# the contestants -----------------------------------------------------------------------------------------------------


def peer_app(model: str) -> Any:
    """Return what people write: a FastAPI application around a scikit-learn pipeline."""

    class Batch(BaseModel):
        texts: list[str]

    class Labels(BaseModel):
        labels: list[str]

    pipeline = joblib.load(model)
    app = FastAPI()

    def predict(batch: Batch) -> Labels:
        return Labels(labels=pipeline.predict(batch.texts).tolist())

    # as annotations, not as names: the classes are local
    predict.__annotations__ = {"batch": Batch, "return": Labels}
    app.post("/predict")(predict)
    return app


def serve_peer(port: int, ngrams: int) -> None:
    uvicorn.run(peer_app(str(FOLDER / f"peer-{ngrams}.joblib")), port=port, log_level="warning", access_log=False)


def prepare() -> list[str]:
    """Train what is not there yet, and return texts to send."""
    corpus = load_dataset("20ng")
    order = np.random.default_rng(0).permutation(len(corpus))
    texts = [corpus.texts[number] for number in order]
    labels = np.array(corpus.labels)[order]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for preset in ("fast", "best"):
        if not (FOLDER / preset / "config.json").exists():
            vectors = next(path for folder in data_folders() if (path := folder / "embeddings" / GLOVE).exists())
            given: dict[str, Any] = {"embeddings": str(vectors)} if preset == "best" else {}
            model = TfcrClassifier.from_preset(preset, random_state=0, **given)
            model.fit(texts[:N_TRAIN], labels[:N_TRAIN]).save(FOLDER / preset)
    for ngrams in PEERS.values():
        place = FOLDER / f"peer-{ngrams[1]}.joblib"
        if not place.exists():  # bigrams of one document would make the peer slower
            words = TfidfVectorizer(sublinear_tf=True, ngram_range=ngrams, min_df=ngrams[1])
            joblib.dump(make_pipeline(words, LinearSVC()).fit(texts[:N_TRAIN], labels[:N_TRAIN]), place)
    return texts[N_TRAIN:]


def commands(port: int) -> dict[str, list[str]]:
    ours = [sys.executable, "-m", "tfcr", "serve", "--port", str(port)]
    return {
        "tfcr best": [*ours, str(FOLDER / "best")],
        "tfcr fast": [*ours, str(FOLDER / "fast")],
        **{name: [sys.executable, __file__, "--peer", str(port), str(n)] for name, (_, n) in PEERS.items()},
    }


@contextmanager
def running(name: str) -> Iterator[tuple[int, int]]:
    """Give the port and process number of a contestant, once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(commands(port)[name], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(60)


# the load ------------------------------------------------------------------------------------------------------------


@dataclass
class Turn:
    """What one turn gave: requests per second, seconds of each request, CPU seconds of the server per request."""

    rate: float
    latencies: list[float]
    cpu: float


def requests_of(texts: list[str], n_texts: int, port: int) -> list[bytes]:
    found = []
    for start in range(N_REQUESTS):
        some = [texts[(start * n_texts + number) % len(texts)] for number in range(n_texts)]
        body = json.dumps({"texts": some}).encode()
        head = (
            f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        found.append(head.encode() + body)
    return found


async def client(port: int, requests: list[bytes], first: int, until: float, latencies: list[float]) -> None:
    """Send requests one after the other on one connection, until the time is over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = first
    while time.perf_counter() < until:
        began = time.perf_counter()
        writer.write(requests[number % len(requests)])
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(head.decode())
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        latencies.append(time.perf_counter() - began)
        number += 1
    writer.close()


async def load(port: int, requests: list[bytes], clients: int, seconds: float) -> list[float]:
    latencies: list[float] = []
    until = time.perf_counter() + seconds
    await asyncio.gather(
        *(client(port, requests, number * N_REQUESTS // clients, until, latencies) for number in range(clients))
    )
    return latencies


def cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(texts: list[str], seconds: float, turns: int) -> dict[str, dict[str, list[Turn]]]:
    """Let the contestants take turns in each load, all servers running; return load → contestant → turns."""
    found: dict[str, dict[str, list[Turn]]] = {what: {name: [] for name in commands(0)} for what in LOADS}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(running(name)) for name in commands(0)}
        for what, (n_texts, clients) in LOADS.items():
            for turn in range(turns + 1):
                for name, (port, process) in servers.items():
                    requests = requests_of(texts, n_texts, port)
                    before, began = cpu_of(process), time.perf_counter()
                    latencies = asyncio.run(load(port, requests, clients, seconds))
                    rate = len(latencies) / (time.perf_counter() - began)
                    if turn:  # the first is to warm up
                        found[what][name].append(Turn(rate, latencies, (cpu_of(process) - before) / len(latencies)))
    return found


def table(found: dict[str, dict[str, list[Turn]]]) -> tuple[str, list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for what, contestants in found.items():
        rates = {name: median(turn.rate for turn in turns) for name, turns in contestants.items()}
        for name, turns in contestants.items():
            latencies = [one for turn in turns for one in turn.latencies]
            ratios = [f"{rates[name] / rates[peer]:.2f} ×" if name in RIVALS else "" for peer in PEERS]
            rows.append(
                {
                    "load": what,
                    "who": name,
                    "requests per second": round(rates[name], 1),
                    "p50, ms": round(1000 * float(np.percentile(latencies, 50)), 1),
                    "p99, ms": round(1000 * float(np.percentile(latencies, 99)), 1),
                    "server CPU, ms": round(1000 * median(turn.cpu for turn in turns), 2),
                    "to words": ratios[0],
                    "to words and bigrams": ratios[1],
                    "wanted": f"{WANTED[what]:g} ×" if name in RIVALS else "",
                }
            )
    lines = [f"| {' | '.join(rows[0])} |", f"|{'---|' * len(rows[0])}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row.values()))} |" for row in rows)]), rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", type=int, nargs=2, metavar=("PORT", "NGRAMS"))
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--turns", type=int, default=9)
    given = parser.parse_args()
    if given.peer:
        serve_peer(*given.peer)
        return
    markdown, rows = table(measure(prepare(), given.seconds, given.turns))
    print(markdown)
    write_results("serving", markdown, rows)


if __name__ == "__main__":
    main()
