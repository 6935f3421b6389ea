"""Several labels per document: our presets against one-vs-rest TF-IDF + LinearSVC, on the same folds.

    python benchmarks/several_labels.py --folds 3

Two corpora. `davidson` is real: each tweet has the votes of three or more annotators, and a label is assigned if at
least a third of them gave it. `agnews` is made: two texts joined, with the labels of both.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tfcr import TfcrClassifier
from tfcr.data import load_data
from tfcr.data.datasets.fetch import dataset_place
from tfcr.errors import CorpusWarning, look_up
from tfcr.evaluation import splits
from tfcr.text.label_sets import LabelSets, find_label_sets

Indicator = NDArray[np.int64]
FOLDS = 10
VOTES = {"hate_speech": "hate", "offensive_language": "offensive", "neither": "neither"}
LEAST_VOTES = 1 / 3


@dataclass(frozen=True)
class Documents:
    """Texts, and which classes each has; (n_documents, n_classes)."""

    texts: list[str]
    labels: Indicator


def davidson(least: float = LEAST_VOTES) -> Documents:
    """Return the tweets with each label that at least this fraction of the annotators gave."""
    frame = pl.read_csv(dataset_place("davidson") / "labeled_data.csv")
    votes = frame.select(list(VOTES)).to_numpy()
    shares = votes / votes.sum(axis=1, keepdims=True)
    return Documents(frame["tweet"].to_list(), (shares >= least - 1e-9).astype(np.int64))


def joined_agnews(seed: int = 0) -> Documents:
    """Return pairs of texts, joined, with the labels of both."""
    corpus = load_data(["agnews"])
    order = np.random.default_rng(seed).permutation(len(corpus))
    half = len(order) // 2
    texts = [
        f"{corpus.texts[one]} {corpus.texts[two]}"
        for one, two in zip(order[:half], order[half : 2 * half], strict=True)
    ]
    classes = np.unique(corpus.labels)
    numbers = np.searchsorted(classes, corpus.labels)
    labels = np.zeros((half, len(classes)), np.int64)
    for part in (order[:half], order[half : 2 * half]):
        labels[np.arange(half), numbers[part]] = 1
    return Documents(texts, labels)


CORPORA: dict[str, Callable[[], Documents]] = {"davidson": davidson, "agnews": joined_agnews}
SYSTEMS: dict[str, Callable[[], Any]] = {
    "TF-IDF + LinearSVC": lambda: make_pipeline(
        TfidfVectorizer(sublinear_tf=True), OneVsRestClassifier(LinearSVC(random_state=0))
    ),
    "TF-IDF + balanced LinearSVC": lambda: make_pipeline(
        TfidfVectorizer(sublinear_tf=True), OneVsRestClassifier(LinearSVC(class_weight="balanced", random_state=0))
    ),
    "fast": lambda: TfcrClassifier.from_preset("fast", random_state=0),
    "best": lambda: TfcrClassifier.from_preset("best", random_state=0),
}


@dataclass(frozen=True)
class Score:
    """Micro- and macro-F1 of one fold, and the CPU seconds of training and prediction."""

    micro: float
    macro: float
    seconds: float


def score_folds(system: Callable[[], Any], documents: Documents, n_run: int, seed: int = 0) -> list[Score]:
    """Return the scores of the first of ten folds."""
    sets: LabelSets = find_label_sets(documents.labels)
    found = []
    for train, test in list(splits(sets, None, FOLDS, seed))[:n_run]:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CorpusWarning)
            model = system().fit([documents.texts[number] for number in train], documents.labels[train])
        predicted = model.predict([documents.texts[number] for number in test])
        seconds = time.process_time() - began
        micro, macro = (
            float(f1_score(documents.labels[test], predicted, average=average, zero_division=0))
            for average in ("micro", "macro")
        )
        found.append(Score(micro, macro, seconds))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row per corpus and system."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folds", type=int, default=FOLDS, help="how many of the ten folds to run")
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA), metavar="NAME")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), metavar="NAME")
    given = parser.parse_args(arguments)
    print("| corpus | system | micro-F1 | macro-F1 | CPU s per fold |\n|---|---|---|---|---|")
    for corpus in given.corpora:
        documents = look_up(CORPORA, corpus, "corpus")()
        for name in given.systems:
            scores = score_folds(look_up(SYSTEMS, name, "system"), documents, given.folds)
            micro, macro, seconds = (
                float(np.mean([getattr(score, part) for score in scores])) for part in ("micro", "macro", "seconds")
            )
            print(f"| {corpus} | {name} | {micro:.4f} | {macro:.4f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
