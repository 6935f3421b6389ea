"""CPU time of two versions of the library: our side of the speed benchmark, old and new taking turns.

    python benchmarks/old_and_new.py OLD/src [NEW/src] [--rows counting,svm] [--samples 9]

Rows: counting vectors svm lr fast-agnews fast-davidson best-agnews predict-weights predict-own predict-sum predict-best
loading first-prediction loading-model import help demo read-agnews read-davidson; read-X and pieces-X of generated
files X (plain quoted mixed tabs jsonl parquet small-csv small-parquet); file to file: predict-csv predict-quoted
predict-jsonl predict-parquet predict-one predict-one-parquet evaluate-200.

A row is measured in processes that import the library from one of the two source trees, which take turns. A process
prepares its data, runs the row once to load compiled code and then measures it three times, so that nine samples are
three processes; the rows of a fresh process are measured once in each. The least of all samples counts. Ratios above
1.15 are flagged, and the exit status is then 1. Rows use public names, or names that are looked up in both trees.
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
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

SLOWER = 1.15
"""New time divided by old time above which a row is flagged."""
GLOVE = "glove.6B.100d.subset.bin"
GOOGLE_NEWS = "GoogleNews-vectors-negative300-bolukbasi.bin"
TURNS = 3
"""Measurements within one process; a fresh process has one."""
Work = Callable[[], Any]


# names of both trees -------------------------------------------------------------------------------------------------


def look_for(*places: str) -> Any:
    """Return the first of these that exists, each a ``module:name``: names have moved between the trees."""
    for place in places:
        module, name = place.split(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise SystemExit(f"found none of {', '.join(places)}; add its new place to benchmarks/old_and_new.py")


@cache
def corpus(name: str) -> Any:
    return look_for("tfcr.data:load_dataset", "tfcr.corpus:load_dataset", "tfcr.corpus.named:load_dataset")(name)


def vector_file(name: str) -> str:
    folders = look_for("tfcr.system.files:data_folders", "tfcr.files:data_folders")()
    return str(next(path for folder in folders if (path := folder / "embeddings" / name).exists()))


def classifier(preset: str, **parameters: Any) -> Any:
    return look_for("tfcr:TfcrClassifier").from_preset(preset, **parameters)


def newsgroups() -> tuple[list[str], Any, list[str]]:
    """Return 9,000 posts to train on, their labels, and the other posts."""
    order = np.random.default_rng(0).permutation(len(corpus("20ng")))
    texts, labels = np.array(corpus("20ng").texts, dtype=object)[order], np.array(corpus("20ng").labels)[order]
    return texts[:9000].tolist(), labels[:9000], texts[9000:].tolist()


# rows: prepare, and return what is measured --------------------------------------------------------------------------


def counting() -> Work:
    count = look_for("tfcr.text.documents:count_terms", "tfcr.documents:count_words")
    texts = [text for name in ("20ng", "semeval", "emoji") for text in corpus(name).texts]
    return lambda: count(texts)


def document_vectors() -> Work:
    vectorizer = look_for("tfcr:WeightedEmbeddingVectorizer")(
        embeddings=vector_file(GOOGLE_NEWS), scheme="tfcr-log", tokenizer="words"
    )
    texts = corpus("20ng").texts
    vectorizer.fit(texts, corpus("20ng").labels)
    some = texts[:: len(texts) // 1000][:1000]
    return lambda: vectorizer.transform(some)


def head(name: str) -> Work:
    make_targets = look_for("tfcr.heads:make_targets", "tfcr.heads.base:make_targets")
    resolve_head = look_for("tfcr.heads:resolve_head", "tfcr.heads.base:resolve_head")
    dense = look_for("tfcr.features.matrix:DenseFeatures", "tfcr.features:HeldFeatures")
    stored = np.load(os.environ["TFCR_BENCH_FEATURES"])
    X, classes = stored["X"], stored["classes"]
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
    embeddings = look_for("tfcr:Embeddings")
    path = vector_file(GLOVE)
    embeddings.load(path)
    return lambda: embeddings.load(path)["the"]


def first_prediction() -> Work:
    """Load a model and predict one text; nothing was run before in this process."""
    load = look_for("tfcr:load")
    return lambda: load(os.environ["TFCR_BENCH_MODEL"]).predict(["is the printer of the space shuttle broken"])


def command(*arguments: str) -> Work:
    """Run the program; its time is that of a child process."""
    return run_python("-m", "tfcr.cli", *arguments)


def run_python(*arguments: str) -> Work:
    return lambda: subprocess.run(
        [sys.executable, *arguments], check=True, capture_output=True, stdin=subprocess.DEVNULL
    )


def save_features() -> Work:
    """Keep the scaled features of 8,000 posts, 20 classes × 100 dimensions, and a last column of 1."""
    train, labels, _ = newsgroups()
    vectorizer = look_for("tfcr:WeightedEmbeddingVectorizer")(embeddings=vector_file(GLOVE), scheme="tfcr-log")
    features = vectorizer.fit_transform(train[:8000], labels[:8000])
    features -= features.mean(axis=0)
    features /= np.sqrt(np.einsum("ij,ij->i", features, features).mean())
    X = np.ones((len(features), features.shape[1] + 1), np.float32)
    X[:, :-1] = features
    classes = np.unique(labels[:8000], return_inverse=True)[1]
    return lambda: np.savez(os.environ["TFCR_BENCH_FEATURES"], X=X, classes=classes)


def save_model() -> Work:
    """Keep a model of each tree's own."""
    texts, labels = corpus("davidson").texts[:5000], np.array(corpus("davidson").labels)[:5000]
    model = classifier("fast", random_state=0).fit(texts, labels)
    return lambda: model.save(os.environ["TFCR_BENCH_MODEL"])


# files to read and to predict ----------------------------------------------------------------------------------------

N_ROWS, N_SHORT = 200_000, 180_000
FILES = {
    "plain": "plain.csv",
    "quoted": "quoted.csv",
    "mixed": "mixed.csv",
    "tabs": "tabs.tsv",
    "jsonl": "rows.jsonl",
    "parquet": "rows.parquet",
    "small-csv": "small.csv",
    "small-parquet": "small.parquet",
}
"""Generated: no quotes; each cell in quotes; some cells in quotes, with separators and line breaks; and so on."""


def data_file(name: str) -> Path:
    return Path(os.environ["TFCR_BENCH_FILES"]) / name


def save_files() -> Work:
    """Write rows that look like tweets, with an id, a date, a class and a text; the same for both trees."""
    import polars as pl  # noqa: PLC0415 - only here

    random = np.random.default_rng(0)
    letters = np.array(list("aaabcdeeeefghiiklmnnooprssttuuvwyéñ"))
    words = ["".join(random.choice(letters, size)) for size in random.integers(2, 11, 20_000)]
    words += [f"#{word}" for word in words[:500]] + ["😀", "@user", "...", "https://t.co/abc123"] * 20

    def table(n_rows: int, most: int) -> pl.DataFrame:
        sizes = random.integers(1, most, n_rows)
        picks = np.minimum(random.zipf(1.3, sizes.sum()) - 1, len(words) - 1)
        ends = np.cumsum(sizes)
        texts = [
            " ".join([words[pick] for pick in picks[end - size : end]]) for end, size in zip(ends, sizes, strict=True)
        ]
        return pl.DataFrame(
            {
                "id": np.arange(n_rows) + 10**9,
                "date": ["2024-05-31"] * n_rows,
                "label": random.choice(["positive", "neutral", "negative"], n_rows),
                "text": texts,
            }
        )

    def save() -> None:
        if data_file("").exists():
            return
        data_file("").mkdir()
        rows, short = table(N_ROWS, 30), table(N_SHORT, 12)
        marks = np.array([", and ", "\n", ' ""so"" '.replace('""', '"'), " "])[random.integers(0, 4, N_ROWS)]
        mixed = rows.with_columns(
            text=pl.concat_str(pl.Series(marks).alias("mark"), rows["text"]).str.strip_chars(" ,")
        )
        mixed = mixed.with_columns(text=pl.concat_str(rows["text"].str.slice(0, 20), mixed["text"]))
        rows.write_csv(data_file("plain.csv"))
        rows.write_csv(data_file("quoted.csv"), quote_style="always")
        mixed.write_csv(data_file("mixed.csv"))
        rows.write_csv(data_file("tabs.tsv"), separator="\t")
        rows.write_ndjson(data_file("rows.jsonl"))
        rows.write_parquet(data_file("rows.parquet"))
        short.write_csv(data_file("short.csv"))
        short.write_csv(data_file("short-quoted.csv"), quote_style="always")
        short.write_ndjson(data_file("short.jsonl"))
        short.write_parquet(data_file("short.parquet"))
        for name, n_rows in (("one", 1), ("small", 200)):
            short.head(n_rows).write_csv(data_file(f"{name}.csv"))
            short.head(n_rows).write_parquet(data_file(f"{name}.parquet"))

    return save


def reading(file: str) -> Work:
    read = look_for("tfcr.data:read_corpus", "tfcr.data.corpus:read_corpus")
    return lambda: read(data_file(FILES[file]), text=("text",), label="label")


def reading_pieces(file: str) -> Work:
    pieces, options = look_for("tfcr.data.readers:table_pieces"), look_for("tfcr.data.options:ReadOptions")()
    return lambda: [table.frame.height for table in pieces(data_file(FILES[file]), options)]


def reading_dataset(name: str) -> Work:
    load = look_for("tfcr.data:load_dataset", "tfcr.corpus:load_dataset", "tfcr.corpus.named:load_dataset")
    return lambda: load(name)


def predicting_file(file: str, ending: str) -> Work:
    target = Path(os.environ["TFCR_BENCH_MODEL"]).with_name(f"predicted.{ending}")
    options = ("--text", "text", "-o", str(target))
    return command("predict", os.environ["TFCR_BENCH_MODEL"], str(data_file(file)), *options)


def loading_model() -> Work:
    load = look_for("tfcr:load")
    return lambda: load(os.environ["TFCR_BENCH_MODEL"])


WORDS = {"tokenizer": "words"}
ROWS: dict[str, Callable[[], Work]] = {
    "counting": counting,
    "vectors": document_vectors,
    "svm": lambda: head("svm"),
    "lr": lambda: head("lr"),
    "fast-agnews": lambda: training("fast", "agnews"),
    "fast-davidson": lambda: training("fast", "davidson"),
    "best-agnews": lambda: training("best", "agnews"),
    "predict-weights": lambda: predicting("paper", **WORDS),
    "predict-own": lambda: predicting("paper", blocks="own", **WORDS),
    "predict-sum": lambda: predicting("paper", averaging="sum", **WORDS),
    "predict-best": lambda: predicting("best"),
    "loading": loading,
    "first-prediction": first_prediction,
    "loading-model": loading_model,
    "import": lambda: run_python("-c", "import tfcr"),
    "help": lambda: command("--help"),
    "demo": lambda: command("demo"),
    "read-agnews": lambda: reading_dataset("agnews"),
    "read-davidson": lambda: reading_dataset("davidson"),
    **{f"read-{file}": partial(reading, file) for file in FILES},
    **{f"pieces-{file}": partial(reading_pieces, file) for file in FILES},
    "predict-csv": lambda: predicting_file("short.csv", "csv"),
    "predict-quoted": lambda: predicting_file("short-quoted.csv", "csv"),
    "predict-jsonl": lambda: predicting_file("short.jsonl", "jsonl"),
    "predict-parquet": lambda: predicting_file("short.parquet", "parquet"),
    "predict-one": lambda: predicting_file("one.csv", "csv"),
    "predict-one-parquet": lambda: predicting_file("one.parquet", "parquet"),
    "evaluate-200": lambda: command("evaluate", str(data_file("small.csv")), "--text", "text", "--label", "label"),
}
READ_FILES = {row for row in ROWS if row.startswith(("read-", "pieces-"))}
COMMANDS = {"import", "help", "demo", "evaluate-200"} | {
    f"predict-{name}" for name in ("csv", "quoted", "jsonl", "parquet", "one", "one-parquet")
}
PREPARATIONS: dict[str, tuple[Callable[[], Work], set[str]]] = {
    "save-features": (save_features, {"svm", "lr"}),
    "save-model": (save_model, {"first-prediction", "loading-model"} | COMMANDS - {"import", "help", "demo"}),
    "save-files": (save_files, READ_FILES | COMMANDS - {"import", "help", "demo"}),
}
"""What is made beforehand, and the rows that need it."""
FRESH = {"first-prediction", *COMMANDS, *PREPARATIONS}
"""Rows that are run once, in a fresh process."""


# measuring -----------------------------------------------------------------------------------------------------------


def measure(row: str) -> float:
    """Return the CPU seconds of a row, those of child processes included."""
    warnings.simplefilter("ignore")
    work = PREPARATIONS[row][0]() if row in PREPARATIONS else ROWS[row]()
    if row not in FRESH:
        work()
    seconds = []
    for _ in range(1 if row in FRESH else TURNS):
        before = cpu_seconds()
        work()
        seconds.append(cpu_seconds() - before)
    return min(seconds)


def cpu_seconds() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def sample(row: str, source: Path, folder: Path) -> float:
    """Measure a row in a process that imports the library from `source`; the folder is that of the tree alone."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(source.resolve()),
        "TFCR_CACHE": str(folder),  # the trees must not share files that they wrote
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "TFCR_BENCH_MODEL": str(folder / "model"),
        "TFCR_BENCH_FILES": str(folder.parent / "files"),
        "TFCR_BENCH_FEATURES": str(folder.parent / "features.npz"),
    }
    done = subprocess.run(
        [sys.executable, __file__, "--measure", row], check=False, capture_output=True, text=True, env=environment
    )
    if done.returncode:
        raise SystemExit(f"{row} with {source} failed:\n{done.stderr}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def compare(row: str, trees: list[tuple[Path, Path]], samples: int) -> str:
    """Return a row of the table."""
    if row in FRESH:
        for tree in trees:
            sample(row, *tree)  # code is compiled, and files are in the cache
    seconds: list[list[float]] = [[], []]
    for turn in range(samples if row in FRESH else -(-samples // TURNS)):
        for number in (0, 1) if turn % 2 == 0 else (1, 0):  # neither tree always comes second
            seconds[number].append(sample(row, *trees[number]))
    old, new = map(min, seconds)
    flag = "slower" if new / old > SLOWER else ""
    return f"| {row} | {old:.3f} | {new:.3f} | {new / old:.2f} | {flag} |"


def main(old: Path, new: Path, rows: list[str], samples: int) -> int:
    for source in (old, new):
        if not (source / "tfcr" / "__init__.py").exists():
            raise SystemExit(f"found no tfcr in {source}; expected the folder src of a checkout")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        trees = [(source, Path(folder) / name) for source, name in ((old, "old"), (new, "new"))]
        for preparation, (_, needed_by) in PREPARATIONS.items():
            if needed_by & set(rows):
                for tree in trees:
                    sample(preparation, *tree)
        print("| row | old, CPU s | new, CPU s | new / old | |\n|---|---|---|---|---|", flush=True)
        for row in rows:
            lines.append(compare(row, trees, samples))
            print(lines[-1], flush=True)
    return int(any("slower" in line for line in lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, nargs="?")
    parser.add_argument("new", type=Path, nargs="?", default=Path(__file__).parents[1] / "src")
    parser.add_argument("--rows", type=lambda text: text.split(","), default=list(ROWS), help=", ".join(ROWS))
    parser.add_argument("--samples", type=int, default=9)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(asked.measure)))
    elif asked.old is None:
        parser.error("give the folder src of an old checkout")
    else:
        sys.exit(main(asked.old, asked.new, asked.rows, asked.samples))
