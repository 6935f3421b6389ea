"""What the accuracy benchmark compares, one row each in SYSTEMS: what people use today, and our presets.

Peers pick their regularisation strength on an inner split of their training documents, by macro-F1, then train on all.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from tfcr import PRESETS, Embeddings
from tfcr.decision import macro_f1_of_labels
from tfcr.experiment import System, TextSystem, resolve_system
from tfcr.system.files import data_folders
from tfcr.text.class_counts import Labels
from tfcr.text.documents import count_terms
from tfcr.text.tokenizers import TOKENIZERS

GLOVE = "glove.6B.100d.subset.bin"
HELD_OUT = 0.2
"""The fraction of each class that strengths are picked on."""

Rows = NDArray[np.int64]
Choice = TypeVar("Choice")


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
    revision
        Raised when the code gives other results with the same parameters, so that this row is run again.
    """

    name: str
    estimator: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs_vectors: bool = False
    revision: int = 1

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameters, those by default included."""
        return {"peer": asdict(self.estimator(**self.parameters)), "name": self.name, "revision": self.revision}

    def make(self, embeddings: Embeddings | None, seed: int) -> Any:
        """Return the estimator."""
        return self.estimator(**self.parameters, **({"embeddings": embeddings} if self.needs_vectors else {}))


def vector_file(name: str) -> Path:
    """Return where a file of vectors is."""
    return next(path for folder in data_folders() if (path := folder / "embeddings" / name).exists())


# picking -------------------------------------------------------------------------------------------------------------


def inner_split(labels: Labels, seed: int = 0) -> tuple[Rows, Rows]:
    """Return rows to train on and rows to pick by: a fifth of each class, but never its only document."""
    random = np.random.default_rng(seed)
    held = np.zeros(len(labels), np.bool_)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        held[rows[: min(len(rows) - 1, max(1, round(HELD_OUT * len(rows))))]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def pick(choices: Sequence[Choice], score: Callable[[Choice], float]) -> Choice:
    """Return the best choice, the first of equals."""
    return max(choices, key=score)


def pick_head(choices: Sequence[Choice], make: Callable[[Choice], Any], X: Any, labels: Labels) -> Choice:
    """Return the choice whose classifier does best on the inner split."""
    train, test = inner_split(labels)
    known, learned, asked = labels[test], X[train], X[test]

    def score(choice: Choice) -> float:
        return macro_f1_of_labels(known, make(choice).fit(learned, labels[train]).predict(asked))

    return pick(choices, score)


# peers ---------------------------------------------------------------------------------------------------------------


@dataclass
class TfidfSvm:
    """TF-IDF of words, or of words and bigrams, and a linear SVM; C and class weights are picked.

    If classes are uneven, balanced weights win by several points on some datasets and lose on others.
    """

    longest: int = 1
    choices: tuple[tuple[str | None, float], ...] = (
        *product((None,), (0.3, 1.0, 3.0)),
        *product(("balanced",), (0.1, 0.3, 1.0)),
    )
    picking_tolerance: float = 0.1

    def fit(self, texts: Sequence[str], labels: Labels) -> "TfidfSvm":
        """Learn."""
        self._words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, self.longest))
        X = self._words.fit_transform(texts)  # it sees no labels, so that the inner split may share it
        # liblinear's own default, at half the cost: the same scores to a few hundredths of a point
        self.picked = pick_head(self.choices, partial(self._svm, tol=self.picking_tolerance), X, labels)
        self._head = self._svm(self.picked).fit(X, labels)
        return self

    def predict(self, texts: Sequence[str]) -> Labels:
        """Return the class of each text."""
        return np.asarray(self._head.predict(self._words.transform(texts)))

    @staticmethod
    def _svm(choice: tuple[str | None, float], **given: Any) -> Any:
        weights, C = choice
        return LinearSVC(C=C, class_weight=weights, random_state=0, **given)


@dataclass
class MeanLogistic:
    """The mean of the words' vectors, standardised, and logistic regression."""

    embeddings: Embeddings | None = None
    choices: tuple[tuple[str | None, float], ...] = tuple(product((None, "balanced"), (0.03, 0.3)))

    def fit(self, texts: Sequence[str], labels: Labels) -> "MeanLogistic":
        """Learn."""
        self._scale = StandardScaler()
        X = self._scale.fit_transform(self._means(texts))
        self.picked = pick_head(self.choices, self._logistic, X, labels)
        self._head = self._logistic(self.picked).fit(X, labels)
        return self

    def predict(self, texts: Sequence[str]) -> Labels:
        """Return the class of each text."""
        return np.asarray(self._head.predict(self._scale.transform(self._means(texts))))

    def _means(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.embeddings is None:
            raise ValueError("found no embeddings")
        documents = count_terms(texts)
        found = self.embeddings.rows(documents.vocabulary.words) >= 0
        sums = documents.matrix @ self.embeddings.of_words(documents.vocabulary.words)
        return np.asarray(sums / np.maximum(documents.matrix @ found.astype(np.float32), 1)[:, None], np.float32)

    @staticmethod
    def _logistic(choice: tuple[str | None, float]) -> Any:
        weights, C = choice
        return LogisticRegression(C=C, class_weight=weights, max_iter=1000)


@dataclass
class FastText:
    """fastText on lower-cased words; epochs, learning rate and longest n-gram are picked.

    Each of its threads, at most ten, initialises a tenth of the word vectors. With fewer threads the rest holds what
    was in memory before: zeros, NaN, or the vectors of the last training, and scores fall. So it gets ten, though
    threads make two trainings differ a little.
    """

    choices: tuple[tuple[int, float, int], ...] = ((5, 0.1, 1), (5, 0.5, 1), (25, 0.5, 1), (5, 0.5, 2))
    threads: int = 10

    def fit(self, texts: Sequence[str], labels: Labels) -> "FastText":
        """Learn."""
        self._classes, numbers = np.unique(labels, return_inverse=True)
        lines = np.array(_lines(texts), dtype=object)
        train, test = inner_split(numbers)

        def score(choice: tuple[int, float, int]) -> float:
            self._model = self._train(choice, lines[train].tolist(), numbers[train])
            return macro_f1_of_labels(numbers[test], self._numbers(lines[test].tolist()))

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
        given = {"epoch": epochs, "wordNgrams": longest, "thread": self.threads, "verbose": 0}
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


# the table -----------------------------------------------------------------------------------------------------------


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        Peer("tfidf", TfidfSvm),
        Peer("tfidf-bigrams", TfidfSvm, {"longest": 2}),
        Peer("mean+lr", MeanLogistic, needs_vectors=True),
        Peer("fasttext", FastText),
        *map(resolve_system, PRESETS),
    )
}
