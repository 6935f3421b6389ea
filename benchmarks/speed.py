"""Speed and memory against what people use today, on the shared datasets.

    python benchmarks/speed.py [ROW ...]

Rows: counting vectors svm lr fast predict loading training start. Peers are those of the extra `bench`. CPU time counts
all threads; contestants take turns, and the least of several turns is kept. Writes benchmarks/results/speed.md, .json.
"""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
import scipy.sparse as sp
from gensim.models import KeyedVectors
from measuring import HEADER, Contest, Seconds, in_new_process, take_turns, versions, write_results
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tfcr import ClassCounts, Embeddings, TfcrClassifier
from tfcr.data import load_dataset
from tfcr.features.matrix import DenseFeatures
from tfcr.heads import make_targets, resolve_head
from tfcr.heads.newton import logistic_loss, squared_hinge_loss
from tfcr.schemes import SCHEMES
from tfcr.system.files import data_folders
from tfcr.text.documents import count_terms
from tfcr.text.tokenizers import TOKENIZERS, word_pattern
from tfcr.transformers import WeightedEmbeddingVectorizer

GOOGLE_NEWS = "GoogleNews-vectors-negative300-bolukbasi.bin"
GLOVE = "glove.6B.100d.subset.bin"


def vector_file(name: str) -> str:
    return str(
        next(folder / "embeddings" / name for folder in data_folders() if (folder / "embeddings" / name).exists())
    )


# counting ------------------------------------------------------------------------------------------------------------


def counting() -> Iterator[Contest]:
    texts = [text for name in ("20ng", "semeval", "emoji") for text in load_dataset(name).texts]
    peer = CountVectorizer(token_pattern=word_pattern().pattern, lowercase=True)
    theirs = peer.fit_transform(texts)
    ours = count_terms(texts)
    assert list(ours.vocabulary.words) == peer.get_feature_names_out().tolist(), "other words"
    assert abs(ours.matrix - sp.csr_array(theirs)).sum() == 0, "other counts"
    seconds = take_turns({"tfcr": lambda: count_terms(texts), "CountVectorizer": lambda: peer.fit_transform(texts)})
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    yield Contest(
        f"tokenise and count, {len(texts):,} texts, {megabytes:.0f} MB (20ng, semeval, emoji), the same matrix",
        seconds,
        {"CountVectorizer": 8},
    )


# document vectors ----------------------------------------------------------------------------------------------------


def vectors() -> Iterator[Contest]:
    corpus = load_dataset("20ng")
    embeddings = Embeddings.load(vector_file(GOOGLE_NEWS))
    vectorizer = WeightedEmbeddingVectorizer(embeddings=embeddings, scheme="tfcr-log").fit(corpus.texts, corpus.labels)
    counts = ClassCounts.from_texts(corpus.texts, corpus.labels)
    weights = SCHEMES["tfcr-log"](counts)
    by_word = dict(zip(counts.words, weights.tolist(), strict=True))
    known = {word: embeddings[word] for word in counts.words if word in embeddings}
    texts = corpus.texts[:: len(corpus.texts) // 1000][:1000]
    tokens = [TOKENIZERS["words"](text) for text in texts]

    def loop() -> NDArray[np.float32]:
        rows = []
        for document in tokens:
            blocks = []
            for number in range(len(counts.classes)):
                total, block = 0.0, np.zeros(embeddings.dimensions, np.float32)
                for word in document:
                    weight = by_word[word][number]
                    total += weight
                    if word in known:
                        block += weight * known[word]
                blocks.append(block / total if total else block)
            rows.append(np.concatenate(blocks))
        return np.array(rows)

    documents = count_terms(texts, vocabulary=vectorizer.vocabulary_)
    np.testing.assert_allclose(vectorizer.vectors_of(documents), loop(), rtol=1e-3, atol=1e-4)
    ours = take_turns({"tfcr": lambda: vectorizer.vectors_of(documents)}, 9)
    theirs = take_turns({"a loop like the author's": loop}, 1)
    yield Contest(
        "document vectors, 1,000 posts of 20ng, 20 classes × 300 dimensions",
        {**ours, **theirs},
        {"a loop like the author's": 60},
    )


# heads ---------------------------------------------------------------------------------------------------------------


def features_file() -> Path:
    """Make 8,000 × 6,000 scaled features of 20ng, once."""
    path = Path(tempfile.gettempdir()) / f"tfcr-bench-{os.getuid()}" / "features.npz"
    if not path.exists():
        corpus = load_dataset("20ng")
        chosen = np.random.default_rng(0).permutation(len(corpus))[:8000]
        texts, labels = [corpus.texts[row] for row in chosen], np.array(corpus.labels)[chosen]
        vectorizer = WeightedEmbeddingVectorizer(embeddings=vector_file(GOOGLE_NEWS), scheme="tfcr-log")
        X = vectorizer.fit_transform(texts, labels)
        X -= X.mean(axis=0)
        X /= np.sqrt(np.einsum("ij,ij->i", X, X).mean())
        path.parent.mkdir(mode=0o700, exist_ok=True)
        np.savez(path, X=X, y=np.unique(labels, return_inverse=True)[1])
    return path


def fit_ours(name: str, X: NDArray[np.float32], y: NDArray[np.int64], C: float) -> NDArray[np.float64]:
    features = np.ones((X.shape[0], X.shape[1] + 1), np.float32)
    features[:, :-1] = X
    targets = make_targets(y, np.arange(20), np.ones(len(y)), "balanced")
    solution = resolve_head(name, C=C).solve(DenseFeatures(features), targets, list(range(20)))
    return np.vstack([solution.coefficients, solution.intercepts])


def fit_svc(X: NDArray[np.float32], y: NDArray[np.int64], C: float, dual: Any) -> NDArray[np.float64]:
    fitted = LinearSVC(C=C, class_weight="balanced", dual=dual).fit(X, y)
    return np.vstack([fitted.coef_.T, fitted.intercept_])


def fit_liblinear(X: NDArray[np.float32], y: NDArray[np.int64], C: float) -> NDArray[np.float64]:
    targets = make_targets(y, np.arange(20), np.ones(len(y)), "balanced")
    found = []
    for output in range(20):  # scikit-learn's liblinear refuses more than two classes
        fitted = LogisticRegression(C=C, solver="liblinear")
        weights = targets.one_vs_rest_weights([output])[:, 0]
        fitted.fit(X, targets.signs([output])[:, 0], sample_weight=weights)
        found.append(np.append(fitted.coef_[0], fitted.intercept_))
    return np.array(found).T


def objective(name: str, X: NDArray[np.float32], y: NDArray[np.int64], C: float, B: NDArray[np.float64]) -> float:
    targets = make_targets(y, np.arange(20), np.ones(len(y)), "balanced")
    scores: Any = X.astype(np.float64) @ B[:-1] + B[-1]
    loss = {"svm": squared_hinge_loss, "lr": logistic_loss}[name]
    weights: Any = C * targets.one_vs_rest_weights(range(20)).astype(np.float64)
    return float(loss(scores, targets.signs(range(20)), weights).value.sum() + 0.5 * (B**2).sum())


def heads(name: str, peers: dict[str, Callable[..., Any]], wanted: float, strengths: list[float]) -> Iterator[Contest]:
    stored = np.load(features_file())
    X, y = stored["X"], stored["y"]
    fit_ours(name, X[:2000], y[:2000], 1.0)  # compiled code is loaded
    for C in strengths:
        fits: dict[str, Callable[..., Any]] = {"tfcr": lambda X, y, C: fit_ours(name, X, y, C), **peers}
        found: dict[str, float] = {}
        turns = 2 if C == 1 and name == "svm" else 1
        least: dict[str, Seconds] = {}
        for _ in range(turns):
            for who, fit in fits.items():
                wall, cpu = time.perf_counter(), time.process_time()
                B = fit(X, y, C)
                seconds = Seconds(time.process_time() - cpu, time.perf_counter() - wall)
                found[who] = objective(name, X, y, C, B)
                known = least.get(who, seconds)
                least[who] = Seconds(min(known.cpu, seconds.cpu), min(known.wall, seconds.wall))
        shown = ", ".join(f"{who} {value:.2f}" for who, value in found.items())
        remark = f"`{name}`, C = {C:g}: objectives {shown}"
        limits = dict.fromkeys(peers, wanted) if C == 1 else {}
        yield Contest(f"`{name}`, 8,000 × 6,000, 20 classes, C = {C:g}", least, limits, remark=remark)


def svm() -> Iterator[Contest]:
    peers = {
        "LinearSVC": lambda X, y, C: fit_svc(X, y, C, "auto"),
        "LinearSVC(dual=True)": lambda X, y, C: fit_svc(X, y, C, True),
    }
    yield from heads("svm", peers, 8, [1.0])
    yield from heads("svm", {}, 8, [0.01, 10.0, 100.0, 1000.0])
    yield memory("svm", "svc")


def lr() -> Iterator[Contest]:
    yield from heads("lr", {"liblinear, class by class": fit_liblinear}, 15, [1.0])
    yield from heads("lr", {}, 15, [0.01, 100.0])


def memory(ours: str, peer: str) -> Contest:
    gigabytes = {who: in_new_process(__file__, "only", who)[1] for who in (ours, peer)}
    share = gigabytes[ours] / gigabytes[peer]
    remark = (
        f"`{ours}`, the same features, peak memory of the process, features included: {gigabytes[ours]:.2f} GB against "
        f"{gigabytes[peer]:.2f} GB with LinearSVC, {share:.0%} (wanted: at most 60 %)"
    )
    return Contest("", {}, remark=remark)


def fit_only(who: str) -> None:
    """Load the features and fit, for the peak memory of the process."""
    stored = np.load(features_file())
    X, y = stored["X"], stored["y"]
    if who == "svc":
        fit_svc(X, y, 1.0, "auto")
    else:
        fit_ours(who, X, y, 1.0)


# the preset fast -----------------------------------------------------------------------------------------------------


def fast() -> Iterator[Contest]:
    """Train on texts as they are; the peer at one strength, ours picking one."""
    for name in ("agnews", "davidson", "dbpedia", "semeval", "20ng"):
        corpus = load_dataset(name)
        labels = np.array(corpus.labels)
        words = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC(C=1.0))
        contestants: dict[str, Callable[[], Any]] = {
            "tfcr": partial(TfcrClassifier.from_preset("fast").fit, corpus.texts, labels),
            "TF-IDF + LinearSVC": partial(words.fit, corpus.texts, labels),
        }
        what = f"train, preset fast, {len(labels):,} texts of {name}"
        yield Contest(what, take_turns(contestants, 3), {"TF-IDF + LinearSVC": 0.5})


# prediction ----------------------------------------------------------------------------------------------------------


def one_line_each(texts: list[str]) -> list[str]:
    """Do what fastText wants done first: no line breaks, one case."""
    return [text.lower().replace("\n", " ") for text in texts]


def predict() -> Iterator[Contest]:
    corpus = load_dataset("20ng")
    order = np.random.default_rng(0).permutation(len(corpus))
    texts, labels = np.array(corpus.texts, dtype=object)[order], np.array(corpus.labels)[order]
    train, test = texts[:9000].tolist(), texts[9000:].tolist()
    words = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()).fit(train, labels[:9000])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        pairs = zip(labels[:9000], one_line_each(train), strict=True)
        path.write_text("".join(f"__label__{label} {line}\n" for label, line in pairs))
        trained = fasttext.train_supervised(str(path), epoch=25, lr=0.5, verbose=0, thread=10)
    glove = vector_file(GLOVE)
    settings: dict[str, tuple[dict[str, Any], float, float]] = {
        "weight-averaged": ({}, 1.5, 3),
        "own blocks": ({"blocks": "own"}, 2.5, 5),
        "summed": ({"averaging": "sum"}, 4, 8),
    }
    models = {
        name: TfcrClassifier.from_preset("paper", tokenizer="words", embeddings=glove, head="svm", **given).fit(
            train, labels[:9000]
        )
        for name, (given, _, _) in settings.items()
    }
    contestants: dict[str, Callable[[], Any]] = {name: partial(models[name].predict, test) for name in models}
    contestants["fastText"] = lambda: trained.predict(one_line_each(test))
    contestants["TF-IDF + LinearSVC"] = lambda: words.predict(test)
    seconds = take_turns(contestants, 9)
    for name, (_, by_fasttext, by_words) in settings.items():
        mine = {"tfcr": seconds[name], **{peer: seconds[peer] for peer in ("fastText", "TF-IDF + LinearSVC")}}
        wanted = {"fastText": by_fasttext, "TF-IDF + LinearSVC": by_words}
        what = f"predict, {len(test):,} posts of 20ng ({sum(map(len, test)) / 1e6:.0f} MB), 20 classes, {name}"
        yield Contest(what, mine, wanted, by="wall", remark=f"{name}: our threads share the work, the peers have one")


# loading vectors -----------------------------------------------------------------------------------------------------


def loading() -> Iterator[Contest]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "glove.6B.50d.txt"
        Embeddings.load("wglove-50").save(path, format="glove")
        os.environ["TFCR_CACHE"] = str(Path(folder) / "cache")

        def first() -> None:
            os.utime(path)  # a new file, as far as the cache can tell
            assert Embeddings.load(path)["the"].shape == (50,)

        def again() -> None:
            assert Embeddings.load(path).vectors.shape == (400_000, 50)

        def with_words() -> None:
            assert Embeddings.load(path)["the"].shape == (50,)

        def gensim() -> None:
            KeyedVectors.load_word2vec_format(str(path), no_header=True)

        theirs = take_turns({"gensim": gensim}, 1)
        size = f"{path.stat().st_size / 1e6:.0f} MB"
        for what, run, wanted in (
            ("first time", first, 10),
            ("cached", again, 100),
            ("cached, and a word", with_words, 0),
        ):
            mine = take_turns({"tfcr": run}, 3)
            limits = {"gensim": float(wanted)} if wanted else {}
            yield Contest(f"load GloVe text, 400,000 × 50, {size}, {what}", {**mine, **theirs}, limits, by="wall")


# a whole training, and the start of the program ----------------------------------------------------------------------


def training() -> Iterator[Contest]:
    with tempfile.TemporaryDirectory() as folder:
        runner = Path(folder) / "run.py"
        runner.write_text("from tfcr.cli import app\napp(standalone_mode=False)\n")
        for preset in ("paper", "best"):
            asked = ("train", "emoji", "--preset", preset, "-e")
            rest = (vector_file(GOOGLE_NEWS), "-o", f"{folder}/{preset}", "--no-cv")
            _, peak, seconds = in_new_process(str(runner), *asked, *rest)
            remark = f"`tfcr {' '.join(asked)} {GOOGLE_NEWS}`: peak memory {peak:.2f} GB (wanted: under 4 GB)"
            what = f"`tfcr train --preset {preset}`, emoji: 100,000 documents, 20 classes × 300 dimensions"
            yield Contest(what, {"tfcr": seconds}, remark=remark)


def start() -> Iterator[Contest]:
    def run(*command: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, *command], check=True, capture_output=True)

    contestants = {"tfcr --help": run("-m", "tfcr.cli", "--help"), "import numpy": run("-c", "import numpy")}
    yield Contest("start of the program", take_turns(contestants, 9), {"import numpy": 1 / 3}, by="wall")


ROWS = {
    "counting": counting,
    "vectors": vectors,
    "svm": svm,
    "lr": lr,
    "fast": fast,
    "predict": predict,
    "loading": loading,
    "training": training,
    "start": start,
}


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")  # liblinear says that it did not converge
    lines, contests = [HEADER], []
    print(HEADER)
    for name in names:
        for contest in ROWS[name]():
            contests.append(contest)
            lines += contest.rows()
            print("\n".join(contest.rows()) or contest.remark, flush=True)
    remarks = [f"- {contest.remark}" for contest in contests if contest.remark]
    shown = ", ".join(f"{name} {number}" for name, number in versions().items())
    markdown = "\n".join([*lines, "", *remarks, "", f"Versions: {shown}."])
    write_results("speed", markdown, contests)
    print("\n".join(["", *remarks]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["only"]:
        fit_only(sys.argv[2])
    else:
        main(sys.argv[1:] or list(ROWS))
