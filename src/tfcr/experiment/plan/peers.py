"""Peers: what people use today, to be compared with on the same folds, one row each in PEERS.

They pick regularisation strength, class weights and the like on inner splits of their training documents, by macro-F1,
then train on all.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from tfcr.decision import macro_f1_of_labels
from tfcr.embeddings import Embeddings
from tfcr.experiment.plan.systems import System, TextSystem
from tfcr.text.class_counts import Labels
from tfcr.text.tokenizers import TOKENIZERS

HELD_OUT = 0.2
"""The fraction of each class that strengths are picked on."""
SPLITS, FEW_DOCUMENTS = 5, 2000
"""How many inner splits there are, and up to how many training documents."""

Rows = NDArray[np.int64]
Choice = TypeVar("Choice")
Weighted = tuple[str | None, float]
"""A choice: class weights, and C."""


@dataclass(frozen=True)
class Peer(TextSystem):
    """What people use today.

    Attributes
    ----------
    name
        The title of its column.
    estimator, parameters
        The class that fits and predicts, and what it is made with.
    needs_vectors
        Whether the class takes `embeddings`.
    packages, extra
        What must be installed, and the extra of tfcr that installs it, if one does.
    revision
        Raised when the code gives other results with the same parameters, so that this row is run again.
    """

    name: str
    estimator: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs_vectors: bool = False
    packages: tuple[str, ...] = ()
    extra: str = ""
    revision: int = 2

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameters, those by default included."""
        return {"peer": asdict(self.estimator(**self.parameters)), "name": self.name, "revision": self.revision}

    def make(self, embeddings: Embeddings | None, seed: int) -> Any:
        """Return the estimator."""
        return self.estimator(**self.parameters, **({"embeddings": embeddings} if self.needs_vectors else {}))


def is_installed(system: System) -> bool:
    """Return whether the packages are there that a peer needs."""
    return all(find_spec(package) for package in getattr(system, "packages", ()))


# picking -------------------------------------------------------------------------------------------------------------


def inner_split(labels: Labels, seed: int = 0) -> tuple[Rows, Rows]:
    """Return rows to train on and rows to pick by: a fifth of each class, but never its only document."""
    random = np.random.default_rng(seed)
    held = np.zeros(len(labels), np.bool_)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        held[rows[: min(len(rows) - 1, max(1, round(HELD_OUT * len(rows))))]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def inner_splits(labels: Labels) -> list[tuple[Rows, Rows]]:
    """Return one inner split, or several if there are few documents, where a single one picks by chance."""
    return [inner_split(labels, seed) for seed in range(SPLITS if len(labels) <= FEW_DOCUMENTS else 1)]


def pick(choices: Sequence[Choice], score: Callable[[Choice], float]) -> Choice:
    """Return the best choice, the first of equals."""
    return max(choices, key=score) if len(choices) > 1 else choices[0]


def pick_head(choices: Sequence[Choice], make: Callable[[Choice], Any], X: Any, labels: Labels) -> Choice:
    """Return the choice whose classifier does best on the inner splits."""
    parts = [(X[train], labels[train], X[test], labels[test]) for train, test in inner_splits(labels)]

    def score(choice: Choice) -> float:
        return fmean(
            macro_f1_of_labels(known, make(choice).fit(learned, of_learned).predict(asked))
            for learned, of_learned, asked, known in parts
        )

    return pick(choices, score)


# peers -----------------------------------------------------------------------------------------------------------


@dataclass
class TfidfSvm:
    """TF-IDF of words, or of words and bigrams, and a linear SVM; C and class weights are picked.

    If classes are uneven, balanced weights win by several points on some datasets and lose on others.
    """

    longest: int = 1
    choices: tuple[Weighted, ...] = (
        *product((None,), (0.3, 1.0, 3.0)),
        *product(("balanced",), (0.1, 0.3, 1.0)),
    )
    picking_tolerance: float = 0.1

    def fit(self, texts: Sequence[str], labels: Labels) -> "TfidfSvm":
        """Learn."""
        self._terms = self._vectorizer()
        X = self._terms.fit_transform(texts)  # it sees no labels, so that the inner split may share it
        # liblinear's own default, at half the cost: the same scores to a few hundredths of a point
        choices, head = self._worth_trying(labels), partial(self._linear, tol=self.picking_tolerance)
        self.picked = pick_head(choices, head, X, labels)
        self._head = self._linear(self.picked).fit(X, labels)
        return self

    def predict(self, texts: Sequence[str]) -> Labels:
        """Return the class of each text."""
        return np.asarray(self._head.predict(self._terms.transform(texts)))

    def _vectorizer(self) -> Any:
        return TfidfVectorizer(sublinear_tf=True, ngram_range=(1, self.longest))

    def _worth_trying(self, labels: Labels) -> Sequence[Weighted]:
        return self.choices

    def _linear(self, choice: Weighted, **given: Any) -> Any:
        weights, C = choice
        return LinearSVC(C=C, class_weight=weights, random_state=0, **given)


@dataclass
class FastText:
    """fastText on lower-cased words; epochs, learning rate and longest n-gram are picked.

    Each of its threads, at most ten, initialises a tenth of the word vectors. With fewer threads the rest holds what
    was in memory before: zeros, NaN, or the vectors of the last training, and scores fall. So it gets ten, though
    threads make two trainings differ a little.

    Bigrams are hashed into two million buckets, its default, or four for each word of the texts if that is less: on a
    thousand documents, filling two million takes nine tenths of the time.
    """

    choices: tuple[tuple[int, float, int], ...] = ((5, 0.1, 1), (5, 0.5, 1), (25, 0.5, 1), (5, 0.5, 2))
    threads: int = 10
    most_buckets: int = 2_000_000

    def fit(self, texts: Sequence[str], labels: Labels) -> "FastText":
        """Learn."""
        self._classes, numbers = np.unique(labels, return_inverse=True)
        lines = np.array(_lines(texts), dtype=object)
        splits = inner_splits(numbers)

        def score_on(choice: tuple[int, float, int], train: Rows, test: Rows) -> float:
            self._model = self._train(choice, lines[train].tolist(), numbers[train])
            return macro_f1_of_labels(numbers[test], self._numbers(lines[test].tolist()))

        def score(choice: tuple[int, float, int]) -> float:
            return fmean(score_on(choice, train, test) for train, test in splits)

        self.picked = pick(self.choices, score)
        self._model = self._train(self.picked, lines.tolist(), numbers)
        return self

    def predict(self, texts: Sequence[str]) -> Labels:
        """Return the class of each text."""
        return np.asarray(self._classes[self._numbers(_lines(texts))])

    def _numbers(self, lines: list[str]) -> Rows:
        found, _ = self._model.predict(lines)
        return np.array([int(labels[0].removeprefix("__label__")) if labels else 0 for labels in found])

    def _train(self, choice: tuple[int, float, int], lines: Sequence[str], numbers: Rows) -> Any:
        import fasttext  # noqa: PLC0415 - the tests of this file do without it

        epochs, rate, longest = choice
        buckets = min(self.most_buckets, 4 * sum(line.count(" ") + 1 for line in lines))
        given = {"epoch": epochs, "wordNgrams": longest, "bucket": buckets, "thread": self.threads, "verbose": 0}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.txt"
            path.write_text("".join(f"__label__{n} {line}\n" for n, line in zip(numbers, lines, strict=True)), "utf-8")
            for smaller in (1, 2, 4, 8):  # it dies of NaN where the rate is too large
                with suppress(RuntimeError):
                    return fasttext.train_supervised(str(path), lr=rate / smaller, **given)
        raise RuntimeError(f"fastText died of NaN even with a learning rate of {rate / 8}")


def _lines(texts: Sequence[str]) -> list[str]:
    words = TOKENIZERS["words"]
    return [" ".join(words(text)) for text in texts]


PEERS: dict[str, Peer] = {
    "tfidf-svm": Peer("tfidf-svm", TfidfSvm),
    "tfidf-bigrams-svm": Peer("tfidf-bigrams-svm", TfidfSvm, {"longest": 2}),
    "fasttext": Peer("fasttext", FastText, packages=("fasttext",), extra="bench", revision=3),
}
