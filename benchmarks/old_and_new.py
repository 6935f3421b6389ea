"""CPU time of two versions of the library: our side of the speed benchmark, old and new taking turns.

    python benchmarks/old_and_new.py OLD/src [NEW/src] [--rows counting,svm] [--samples 9]

Each sample is a process of its own that imports the library from one of the two source trees, prepares its data, runs
the row once to load compiled code (except the rows of a fresh process) and measures the second time. The least of the
samples counts. Ratios above 1.15 are flagged, and the exit status is then 1. Rows use public names, or names that are
looked up in both trees.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

SLOWER = 1.15
"""New time divided by old time above which a row is flagged."""
GLOVE = "glove.6B.100d.subset.bin"
GOOGLE_NEWS = "GoogleNews-vectors-negative300-bolukbasi.bin"
Work = Callable[[], Any]


# names of both trees -------------------------------------------------------------------------------------------------


def look_for(name: str, *modules: str) -> Any:
    """Return a name from the first of these modules that has it: modules have moved between the trees."""
    for module in modules:
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise SystemExit(f"found {name} in none of {', '.join(modules)}; add its module to benchmarks/old_and_new.py")


@cache
def corpus(name: str) -> Any:
    return look_for("load_dataset", "tfcr.data")(name)


def vector_file(name: str) -> str:
    folders = look_for("data_folders", "tfcr.system.files", "tfcr.storage")()
    return str(next(path for folder in folders if (path := folder / "embeddings" / name).exists()))


def classifier(preset: str, **parameters: Any) -> Any:
    return look_for("TfcrClassifier", "tfcr").from_preset(preset, **parameters)


def newsgroups() -> tuple[list[str], Any, list[str]]:
    """Return 9,000 posts to train on, their labels, and the other posts."""
    order = np.random.default_rng(0).permutation(len(corpus("20ng")))
    texts, labels = np.array(corpus("20ng").texts, dtype=object)[order], np.array(corpus("20ng").labels)[order]
    return texts[:9000].tolist(), labels[:9000], texts[9000:].tolist()


# rows: prepare, and return what is measured --------------------------------------------------------------------------


def counting() -> Work:
    count_words = look_for("count_words", "tfcr.text.documents", "tfcr.documents")
    texts = [text for name in ("20ng", "semeval", "emoji") for text in corpus(name).texts]
    return lambda: count_words(texts)


def document_vectors() -> Work:
    vectorizer = look_for("WeightedEmbeddingVectorizer", "tfcr")(
        embeddings=vector_file(GOOGLE_NEWS), scheme="tfcr-log", tokenizer="words"
    )
    texts = corpus("20ng").texts
    vectorizer.fit(texts, corpus("20ng").labels)
    some = texts[:: len(texts) // 1000][:1000]
    return lambda: vectorizer.transform(some)


def head(name: str) -> Work:
    heads = ("tfcr.heads", "tfcr.heads.base")
    make_targets, resolve_head = look_for("make_targets", *heads), look_for("resolve_head", *heads)
    dense = look_for("DenseFeatures", "tfcr.features.matrix", "tfcr.features", "tfcr.matrices")
    random = np.random.default_rng(0)
    classes = random.integers(0, 20, 8000)
    X = random.normal(size=(8000, 1501)).astype(np.float32)
    X += 0.5 * random.normal(size=(20, 1501)).astype(np.float32)[classes]
    X /= np.sqrt(np.einsum("ij,ij->i", X, X).mean())
    X[:, -1] = 1
    targets = make_targets(classes, np.arange(20), np.ones(len(classes)), "balanced")
    return lambda: resolve_head(name, C=1.0).solve(dense(X), targets, list(range(20)))


def training(preset: str, dataset: str) -> Work:
    texts, labels = corpus(dataset).texts, np.array(corpus(dataset).labels)
    given = {"embeddings": vector_file(GLOVE)} if preset == "best" else {}
    return lambda: classifier(preset, random_state=0, **given).fit(texts, labels)


def predicting(preset: str, **parameters: Any) -> Work:
    train, labels, test = newsgroups()
    model = classifier(preset, embeddings=vector_file(GLOVE), random_state=0, **parameters).fit(train, labels)
    return lambda: model.predict(test)


def loading() -> Work:
    embeddings = look_for("Embeddings", "tfcr")
    path = vector_file(GLOVE)
    embeddings.load(path)
    return lambda: embeddings.load(path)["the"]


def first_prediction() -> Work:
    """Load a model and predict one text; nothing was run before in this process."""
    load = look_for("load", "tfcr")
    return lambda: load(os.environ["TFCR_BENCH_MODEL"]).predict(["is the printer of the space shuttle broken"])


def command(*arguments: str) -> Work:
    """Run the program; its time is that of a child process."""
    return lambda: subprocess.run(
        [sys.executable, "-m", "tfcr.cli", *arguments], check=True, capture_output=True, stdin=subprocess.DEVNULL
    )


WORDS = {"tokenizer": "words"}
ROWS: dict[str, Callable[[], Work]] = {
    "counting": counting,
    "document vectors": document_vectors,
    "head svm": lambda: head("svm"),
    "head lr": lambda: head("lr"),
    "train fast, agnews": lambda: training("fast", "agnews"),
    "train fast, davidson": lambda: training("fast", "davidson"),
    "train best, agnews": lambda: training("best", "agnews"),
    "predict 20ng, weight-averaged": lambda: predicting("paper", **WORDS),
    "predict 20ng, own blocks": lambda: predicting("paper", blocks="own", **WORDS),
    "predict 20ng, summed": lambda: predicting("paper", averaging="sum", **WORDS),
    "predict 20ng, best": lambda: predicting("best"),
    "loading vectors, cached": loading,
    "first prediction": first_prediction,
    "tfcr --help": lambda: command("--help"),
    "tfcr demo": lambda: command("demo"),
}
FRESH = {"first prediction", "tfcr --help", "tfcr demo"}
"""Rows that are about a fresh process: nothing is run before."""


# measuring -----------------------------------------------------------------------------------------------------------


def measure(row: str) -> float:
    """Return the CPU seconds of a row, those of child processes included."""
    warnings.simplefilter("ignore")
    work = ROWS[row]()
    if row not in FRESH:
        work()
    before = cpu_seconds()
    work()
    return cpu_seconds() - before


def cpu_seconds() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def sample(row: str, source: Path, folder: Path) -> float:
    """Measure a row in a process that imports the library from `source`."""
    cache = folder / source.resolve().parent.name
    environment = {
        **os.environ,
        "PYTHONPATH": str(source.resolve()),
        "TFCR_CACHE": str(cache),  # the trees must not share files that they wrote
        "NUMBA_CACHE_DIR": str(cache / "numba"),
        "TFCR_BENCH_MODEL": str(cache / "model"),
    }
    done = subprocess.run(
        [sys.executable, __file__, "--measure", row], check=False, capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise SystemExit(f"{row} with {source} failed:\n{done.stderr}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def prepare(source: Path, folder: Path) -> None:
    """Train the model of the row `first prediction`, and fill the caches."""
    sample("save a model", source, folder)


def save_model() -> Work:
    texts, labels = corpus("davidson").texts[:5000], np.array(corpus("davidson").labels)[:5000]
    model = classifier("fast", random_state=0).fit(texts, labels)
    return lambda: model.save(os.environ["TFCR_BENCH_MODEL"])


def compare(row: str, sources: list[Path], samples: int, folder: Path) -> str:
    """Return a row of the table."""
    seconds: list[list[float]] = [[], []]
    for turn in range(samples):
        for number in (0, 1) if turn % 2 == 0 else (1, 0):  # neither tree always comes second
            seconds[number].append(sample(row, sources[number], folder))
    old, new = map(min, seconds)
    flag = "slower" if new / old > SLOWER else ""
    return f"| {row} | {old:.3f} | {new:.3f} | {new / old:.2f} | {flag} |"


def main(old: Path, new: Path, rows: list[str], samples: int) -> int:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for number, source in enumerate((old, new)):
            if not (source / "tfcr" / "__init__.py").exists():
                raise SystemExit(f"found no tfcr in {source}; expected the folder src of a checkout")
            if "first prediction" in rows:
                prepare(source, Path(folder) / str(number))
        print("| row | old, CPU s | new, CPU s | new / old | |\n|---|---|---|---|---|", flush=True)
        for row in rows:
            lines.append(compare(row, [old, new], samples, Path(folder)))
            print(lines[-1], flush=True)
    return int(any("slower" in line for line in lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, nargs="?")
    parser.add_argument("new", type=Path, nargs="?", default=Path(__file__).parents[1] / "src")
    parser.add_argument("--rows", type=lambda text: text.split(","), default=list(ROWS), help="; ".join(ROWS))
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.measure)))
    elif asked.old is None:
        parser.error("give the folder src of an old checkout")
    else:
        sys.exit(main(asked.old, asked.new, asked.rows, asked.samples))
