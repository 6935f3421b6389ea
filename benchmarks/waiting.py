"""What a user waits for, against scikit-learn in the same run.

    python benchmarks/waiting.py [ROW ...]

Rows: one-post one-short-text first-answer shell batch files counting size training. What a user starts is a fresh
process here, imports included; contestants take turns, and the least of several turns is kept. Models are trained once,
on 17,000 posts of 20ng, and kept in the folder named by TFCR_BENCH, or one for temporary files. Writes
benchmarks/results/waiting.md and .json.
"""

import csv
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from typing import Any

import joblib
import numpy as np
import polars as pl
from many_classes import many_classes
from measuring import HEADER, Contest, Seconds, in_new_process, take_turns, versions, write_results
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tfcr import ClassCounts, TfcrClassifier, TrainedModel
from tfcr.data import load_dataset
from tfcr.system.files import data_folders
from tfcr.text.tokenizers import word_pattern

FOLDER = Path(os.environ.get("TFCR_BENCH") or Path(tempfile.gettempdir()) / f"tfcr-bench-{os.getuid()}" / "waiting")
GLOVE = "glove.6B.100d.subset.bin"
N_TRAIN, N_BATCH, N_SINGLE, SHORT = 17_000, 2_000, 200, 12
PEERS = {"fast": "TF-IDF + LinearSVC", "best": "TF-IDF of words and bigrams + LinearSVC"}
ONE_TEXT = "the graphics card does not print"


def split() -> tuple[list[str], Any, list[str]]:
    """Return the texts and labels to train on, and texts to predict."""
    corpus = load_dataset("20ng")
    order = np.random.default_rng(0).permutation(len(corpus))
    texts = [corpus.texts[number] for number in order]
    new = texts[N_TRAIN:]
    return texts[:N_TRAIN], np.array(corpus.labels)[order][:N_TRAIN], (new + new)[:N_BATCH]


def prepare() -> list[str]:
    """Train what is not there yet, and return texts to predict."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts, labels, new = split()
    (FOLDER / "new.pickle").write_bytes(pickle.dumps(new))
    (FOLDER / "one.csv").write_text(f"text\n{ONE_TEXT}\n")
    ngrams = {"fast": (1, 1), "best": (1, 2)}
    for preset in PEERS:
        if not (FOLDER / preset / "config.json").exists():
            vectors = next(path for folder in data_folders() if (path := folder / "embeddings" / GLOVE).exists())
            given: dict[str, Any] = {"embeddings": str(vectors)} if preset == "best" else {}
            TfcrClassifier.from_preset(preset, random_state=0, **given).fit(texts, labels).save(FOLDER / preset)
        if not (FOLDER / f"{preset}.joblib").exists():
            rarest = {"fast": 1, "best": 2}[preset]  # bigrams of one document would make the peer slower
            words = TfidfVectorizer(sublinear_tf=True, ngram_range=ngrams[preset], min_df=rarest)
            joblib.dump(make_pipeline(words, LinearSVC()).fit(texts, labels), FOLDER / f"{preset}.joblib")
    return new


# one text at a time --------------------------------------------------------------------------------------------------


def singly(what: str, texts: list[str], wanted: float) -> Iterator[Contest]:
    """Predict one text after the other, models in memory; the median of all. Compiled code takes over when it pays."""
    for preset, peer in PEERS.items():
        model = TrainedModel.load(FOLDER / preset)
        contestants = {f"tfcr {preset}": model, peer: joblib.load(FOLDER / f"{preset}.joblib")}
        best: dict[str, Seconds] = {}
        each(model.predict, texts[:20])
        first = each(model.predict, texts[20:120])  # by numpy: compiled code has not been loaded
        for _ in range(4):
            for name, one in contestants.items():
                seconds = each(one.predict, texts)
                known = best.get(name, seconds)
                best[name] = Seconds(min(known.cpu, seconds.cpu), min(known.wall, seconds.wall))
        best[f"tfcr {preset}, the first texts"] = first
        thousand = {name: Seconds(1000 * seconds.cpu, 1000 * seconds.wall) for name, seconds in best.items()}
        yield Contest(f"predict {what}, model in memory, `{preset}` (1,000 times)", thousand, {peer: wanted})


def each(predict: Callable[[list[str]], Any], texts: list[str]) -> Seconds:
    found = []
    for text in texts:
        wall, cpu = time.perf_counter(), time.process_time()
        predict([text])
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return Seconds(median(cpu for cpu, _ in found), median(wall for _, wall in found))


def one_post() -> Iterator[Contest]:
    yield from singly("one post", prepare()[:N_SINGLE], 1)


def one_short_text() -> Iterator[Contest]:
    texts = [" ".join(text.split()[-SHORT:]) for text in prepare()[:N_SINGLE]]
    yield from singly(f"one text of {SHORT} words", texts, 2)


# fresh processes -----------------------------------------------------------------------------------------------------

OF_PEER = "import joblib; joblib.load(r'{folder}/{preset}.joblib').predict({texts})"
OF_ESTIMATOR = "from tfcr import load; load(r'{folder}/{preset}').predict({texts})"
OF_MODEL = "from tfcr import TrainedModel; TrainedModel.load(r'{folder}/{preset}').predict({texts})"
BATCH = "__import__('pickle').load(open(r'{folder}/new.pickle', 'rb'))"


def started(*command: str) -> Callable[[], Any]:
    # modules are compiled once, as an installer does, wherever the source is
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run([sys.executable, *command], check=True, capture_output=True, env=environment)


def code(of: str, preset: str, texts: str) -> Callable[[], Any]:
    return started("-c", of.format(folder=FOLDER, preset=preset, texts=texts.format(folder=FOLDER)))


def in_fresh_processes(contestants: dict[str, Callable[[], Any]], turns: int = 5) -> dict[str, Seconds]:
    """Let processes take turns; their CPU time is that of this process's children."""
    best: dict[str, Seconds] = {}
    for _ in range(turns):
        for name, run in contestants.items():
            before, wall = getrusage(RUSAGE_CHILDREN), time.perf_counter()
            run()
            after = getrusage(RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            seconds = Seconds(cpu, time.perf_counter() - wall)
            known = best.get(name, seconds)
            best[name] = Seconds(min(known.cpu, seconds.cpu), min(known.wall, seconds.wall))
    return best


def first_answer() -> Iterator[Contest]:
    prepare()
    one = f"['{ONE_TEXT}']"
    seconds = in_fresh_processes(
        {
            "TrainedModel.load": code(OF_MODEL, "best", one),
            "load": code(OF_ESTIMATOR, "best", one),
            "joblib + scikit-learn": code(OF_PEER, "best", one),
        }
    )
    peer = {"joblib + scikit-learn": seconds["joblib + scikit-learn"]}
    for name, wanted in (("TrainedModel.load", 2.0), ("load", 1.0)):
        what = f"load `best` and predict one text, a fresh process, `{name}`"
        yield Contest(what, {name: seconds[name], **peer}, {"joblib + scikit-learn": wanted})


def shell() -> Iterator[Contest]:
    prepare()
    model = str(FOLDER / "best")
    tfcr = partial(started, "-m", "tfcr.cli")
    contestants = {
        "tfcr explain": tfcr("explain", model, ONE_TEXT),
        "tfcr predict": tfcr("predict", model, str(FOLDER / "one.csv")),
        "tfcr words": tfcr("words", model),
        "import numpy": started("-c", "import numpy"),
    }
    seconds = in_fresh_processes(contestants, 7)
    for name, wanted in (("tfcr explain", 0.2), ("tfcr predict", 0.2), ("tfcr words", 0.0)):
        limits = {"import numpy": wanted} if wanted else {}
        yield Contest(f"`{name}`, `best`", {name: seconds[name], "import numpy": seconds["import numpy"]}, limits)


def batch() -> Iterator[Contest]:
    prepare()
    for preset, peer in PEERS.items():
        contestants = {f"tfcr {preset}": code(OF_MODEL, preset, BATCH), peer: code(OF_PEER, preset, BATCH)}
        wanted = {peer: 2.0} if preset == "best" else {}
        what = f"load `{preset}` and predict {N_BATCH:,} posts, a fresh process"
        yield Contest(what, in_fresh_processes(contestants), wanted)


# from file to file ---------------------------------------------------------------------------------------------------

TWEETS = ("emoji", "semeval", "davidson")
PEER_OF_FILES = """
import sys, joblib, pandas
folder, preset = sys.argv[1:]
table = pandas.read_csv(f"{folder}/tweets.csv")
table["predicted"] = joblib.load(f"{folder}/tweets-{preset}.joblib").predict(table["text"])
table.to_csv(f"{folder}/peer.csv", index=False)
"""
PEAK = "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"


def prepare_tweets() -> int:
    """Write a file of all tweets and train on those of one set, unless it is done; return the number of tweets."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    corpora = {name: load_dataset(name) for name in TWEETS}
    texts = [" ".join(text.split()) or "-" for corpus in corpora.values() for text in corpus.texts]
    with (FOLDER / "tweets.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "text"), *enumerate(texts)])
    known = corpora["semeval"]
    for preset, ngrams, rarest in (("fast", (1, 1), 1), ("best", (1, 2), 2)):
        if not (FOLDER / f"tweets-{preset}" / "config.json").exists():
            vectors = next(path for folder in data_folders() if (path := folder / "embeddings" / GLOVE).exists())
            given: dict[str, Any] = {"embeddings": str(vectors)} if preset == "best" else {}
            model = TfcrClassifier.from_preset(preset, random_state=0, **given).fit(known.texts, known.labels)
            model.save(FOLDER / f"tweets-{preset}")
            words = TfidfVectorizer(sublinear_tf=True, ngram_range=ngrams, min_df=rarest)
            peer = make_pipeline(words, LinearSVC()).fit(known.texts, known.labels)
            joblib.dump(peer, FOLDER / f"tweets-{preset}.joblib")
    return len(texts)


def files() -> Iterator[Contest]:
    """Predict a file of tweets and write a file, in fresh processes, with their peak memory."""
    n_tweets = prepare_tweets()
    for preset, wanted in (("fast", 4.0), ("best", 3.0)):
        arguments = ["predict", f"{FOLDER}/tweets-{preset}", f"{FOLDER}/tweets.csv", "-o", f"{FOLDER}/tfcr.csv"]
        ours = (
            f"import sys; from tfcr.cli import app; sys.argv = {['tfcr', *arguments]!r}; app(standalone_mode=False)\n"
        )
        name, peer = f"tfcr predict, {preset}", f"pandas + {PEERS[preset]}"
        contestants = {name: started("-c", ours + PEAK), peer: started("-c", PEER_OF_FILES + PEAK, str(FOLDER), preset)}
        peaks = {who: int(run().stdout) / 1e3 for who, run in contestants.items()}
        told = ", ".join(f"{who} {peak:.0f} MB" for who, peak in peaks.items())
        what = f"{n_tweets:,} tweets from file to file, a fresh process, `{preset}`"
        yield Contest(what, in_fresh_processes(contestants, 3), {peer: wanted}, remark=f"peak memory: {told}")


# counting, and what a model takes on disk ----------------------------------------------------------------------------


def counting() -> Iterator[Contest]:
    corpus = load_dataset("emoji")
    peer = CountVectorizer(token_pattern=word_pattern().pattern)
    seconds = take_turns(
        {
            "ClassCounts.from_texts": lambda: ClassCounts.from_texts(corpus.texts, corpus.labels),
            "CountVectorizer": lambda: peer.fit_transform(corpus.texts),
        }
    )
    yield Contest(f"count {len(corpus):,} tweets by class", seconds, {"CountVectorizer": 8})


def size() -> Iterator[Contest]:
    prepare()
    sizes = {
        preset: sum(file.stat().st_size for file in (FOLDER / preset).iterdir()) / 1e6
        for preset in PEERS
    }  # fmt: skip
    peers = {preset: (FOLDER / f"{preset}.joblib").stat().st_size / 1e6 for preset in PEERS}
    told = "; ".join(f"`{name}` {sizes[name]:.0f} MB, its peer {peers[name]:.0f} MB" for name in PEERS)
    yield Contest("", {}, remark=f"on disk, 20ng: {told} (wanted: `best` at most 60 MB)")


# training ------------------------------------------------------------------------------------------------------------

TRAIN_ONCE = str(Path(__file__).with_name("train_once.py"))
N_TINY, N_DOZENS, PER_CLASS, CUT = 459, 77, 160, 12
N_WORD_CLASSES, PER_WORD = 500, 20


def cut_texts(corpus: pl.DataFrame, n_classes: int | None = None) -> tuple[list[str], Any]:
    """Return PER_CLASS stretches of CUT words for each of some classes: short texts in many classes."""
    random = np.random.default_rng(0)
    by_class = dict(corpus.group_by("label", maintain_order=True).agg("text").iter_rows())
    texts, labels = [], []
    for label in random.permutation(sorted(by_class))[:n_classes].tolist():
        for number in range(PER_CLASS):
            words = by_class[label][number % len(by_class[label])].split()
            start = int(random.integers(max(1, len(words) - CUT + 1)))
            texts.append(" ".join(words[start : start + CUT]))
            labels.append(label)
    order = random.permutation(len(texts))
    return [texts[number] for number in order], np.array(labels)[order]


def texts_by_word() -> tuple[list[str], Any]:
    """Return 500 classes, PER_WORD documents each: those that hold a word of medium frequency."""
    holding: dict[str, list[str]] = {}
    for text in [*load_dataset("dbpedia").texts, *load_dataset("agnews").texts]:
        for word in sorted({word for word in text.lower().split() if word.isalpha()}):
            holding.setdefault(word, []).append(text)
    chosen = [word for word in sorted(holding) if 20 <= len(holding[word]) <= 100]
    chosen = np.random.default_rng(0).permutation(chosen)[:N_WORD_CLASSES].tolist()
    texts = [text for word in chosen for text in holding[word][:PER_WORD]]
    return texts, np.repeat(chosen, PER_WORD)


def training() -> Iterator[Contest]:
    """Train in fresh processes, imports included; peaks of memory are those of the processes."""
    posts, groups, _ = split()
    tweets = load_dataset("semeval")
    many = pl.read_parquet(many_classes().source)
    few = tweets.texts[:N_TINY], np.array(tweets.labels)[:N_TINY]
    dozens, hundred = cut_texts(many, N_DOZENS), cut_texts(many)
    both = {"best": "bigrams", "fast": "words"}
    yield from trained(f"{N_TINY} tweets", few, both, {"fast": 2.0}, 5)
    yield from trained(
        f"{len(dozens[0]):,} short texts in {N_DOZENS} classes", dozens, both, {"best": 1.0, "fast": 2.0}
    )
    what = f"{len(hundred[0]):,} short texts in over a hundred classes"
    yield from trained(what, hundred, both, {"best": 1.0, "fast": 2.0})
    yield from trained(f"{len(posts):,} posts", (posts, groups), both, {"best": 2.0, "fast": 2.0}, 1)
    yield from trained(f"{N_WORD_CLASSES} classes, {PER_WORD} documents each", texts_by_word(), {"best": ""}, {}, 1)


def trained(
    what: str, data: tuple[list[str], Any], peers: dict[str, str], wanted: dict[str, float], turns: int = 2
) -> Iterator[Contest]:
    """Let each preset and its peer take turns."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / "training.pickle"
    file.write_bytes(pickle.dumps(data))
    for preset, peer in peers.items():
        seconds: dict[str, Seconds] = {}
        peaks: dict[str, float] = {}
        for _ in range(turns):
            for who in filter(None, (preset, peer)):
                _, peaks[who], took = in_new_process(TRAIN_ONCE, who, str(file))
                known = seconds.get(who, took)
                seconds[who] = Seconds(min(known.cpu, took.cpu), min(known.wall, took.wall))
        title = f"train `{preset}` on {what}, a fresh process"
        remark = f"{title}: peak memory {', '.join(f'{who} {peak:.2f} GB' for who, peak in peaks.items())}"
        yield Contest(title, seconds, {peer: wanted[preset]} if preset in wanted else {}, remark=remark)


ROWS = {
    "one-post": one_post,
    "one-short-text": one_short_text,
    "first-answer": first_answer,
    "shell": shell,
    "batch": batch,
    "files": files,
    "counting": counting,
    "size": size,
    "training": training,
}


def main(names: list[str]) -> None:
    lines, contests = [HEADER], []
    print(HEADER)
    for name in names:
        for contest in ROWS[name]():
            contests.append(contest)
            lines += contest.rows()
            print("\n".join(contest.rows()) or contest.remark, flush=True)
    remarks = [f"- {contest.remark}" for contest in contests if contest.remark]
    shown = ", ".join(f"{name} {number}" for name, number in versions().items())
    write_results("waiting", "\n".join([*lines, "", *remarks, "", f"Versions: {shown}."]), contests)


if __name__ == "__main__":
    main(sys.argv[1:] or list(ROWS))
