"""Systems: whatever learns from the documents of a training fold and predicts those of the test fold.

A weighting scheme of the paper with its head is a system (SchemeSystem), a preset of TfcrClassifier is one
(PresetSystem), and so is any estimator of texts that a caller wants to compare with (TextSystem). All of them run on
the same folds, by the same runner, into the same file of results.
"""

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from tfcr.classifier import TfcrClassifier
from tfcr.decision import ClassNumbers
from tfcr.embeddings import Embeddings
from tfcr.experiment.plan.own_schemes import OwnScheme
from tfcr.experiment.plan.profiles import Profile
from tfcr.heads import resolve_head
from tfcr.presets import PRESETS
from tfcr.text.class_counts import Labels

if TYPE_CHECKING:  # systems only call a fold's methods
    from tfcr.experiment.run.trial import Fold

PRESET_REVISION = 4
"""Raised when the same preset gives other results, so that old results are not taken for new ones."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Predictions:
    """The class number of each test document, and what else is worth keeping, such as what was picked; for JSON."""

    classes: ClassNumbers
    details: Mapping[str, Any] = field(default_factory=dict)


class System(Protocol):
    """Something to compare. Worker processes import it, so that its class must stand in a module."""

    @property
    def name(self) -> str:
        """The title of its column."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that its predictions depend on beside data and vectors, for JSON; the cell's key is a hash of it."""

    @property
    def needs_vectors(self) -> bool:
        """Whether it runs once for each of the request's embeddings."""

    @property
    def tokenizer(self) -> str:
        """The tokeniser of the counts that it shares with others; empty if it needs none."""

    def run(self, fold: "Fold") -> Predictions:
        """Fit on the training documents and predict the test documents."""


@dataclass(frozen=True)
class SchemeSystem:
    """A weighting scheme with a head, computed the way a profile reads the paper.

    Attributes
    ----------
    scheme
        One of the paper's names, a row of SCHEMES, or the name of `own`.
    head
        A name of HEADS.
    profile
        Profile.
    tokenizer
        A name of TOKENIZERS.
    own
        The user's own scheme.
    """

    scheme: str
    head: str
    profile: Profile
    tokenizer: str
    own: OwnScheme | None = None
    needs_vectors: bool = True

    @property
    def name(self) -> str:
        """The paper's name for the scheme, so that no cell has two names."""
        return self.scheme if self.own else self.profile.paper_name(self.scheme)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Tokeniser, scheme, head and profile."""
        return {
            "tokenizer": self.tokenizer,
            "scheme": self.own.digest + self.own.name if self.own else self.profile.scheme(self.scheme),
            "head": self.head,
            "profile": self.profile.settings(),
        }

    def run(self, fold: "Fold") -> Predictions:
        """Weight the vectors, average them, and train the head."""
        features = fold.features(self)
        return Predictions(features.predict(resolve_head(self.head, C=self.profile.C)))


class TextClassifier(Protocol):
    """An estimator of texts."""

    def fit(self, X: Sequence[str], y: Labels, /) -> Any:
        """Learn from texts and labels."""

    def predict(self, X: Sequence[str], /) -> Labels:
        """Return the class of each text."""


class TextSystem:
    """A system that is an estimator of texts; subclasses are dataclasses that say how to make it.

    The time and CPU time of `fit` and `predict` are kept in the details, with the estimator's attribute ``picked``.
    They do not include loading or training the vectors, which systems share; the seconds of the fold do.
    """

    needs_vectors: bool = False
    tokenizer: str = ""

    @abstractmethod
    def make(self, embeddings: Embeddings | None, seed: int) -> TextClassifier:
        """Return an estimator; `embeddings` are given if `needs_vectors`."""

    def run(self, fold: "Fold") -> Predictions:
        """Fit on the training texts and predict the test texts."""
        labels = fold.train_labels()
        if (labels == labels[0]).all():  # a small training part can hold a single class, which estimators refuse
            return Predictions(np.full(len(fold.split.test), fold.class_numbers(labels[:1])[0]))
        model = self.make(fold.embeddings() if self.needs_vectors else None, fold.seed)
        train, test = fold.train_texts(), fold.test_texts()
        _, training = timed(lambda: model.fit(train, labels))
        predicted, prediction = timed(lambda: model.predict(test))
        details = {"train": training, "predict": prediction, "picked": getattr(model, "picked", None)}
        return Predictions(fold.class_numbers(predicted), details)


def timed(run: Callable[[], Found]) -> tuple[Found, dict[str, float]]:
    """Return what a function returns, and its seconds: ``cpu`` of all threads, and ``wall``."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    return found, {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


@dataclass(frozen=True)
class PresetSystem(TextSystem):
    """A preset of TfcrClassifier; in-domain word2vec uses the preset's tokeniser."""

    name: str
    needs_vectors: bool
    tokenizer: str

    @property
    def settings(self) -> Mapping[str, Any]:
        """The preset's parameters, but for the vectors: those of the grid are used."""
        used = {name: value for name, value in PRESETS[self.name].items() if name != "embeddings" or value is None}
        return {"preset": {**used, "tokenizer": self.tokenizer}, "revision": PRESET_REVISION}

    def make(self, embeddings: Embeddings | None, seed: int) -> TextClassifier:
        """Return the classifier."""
        model: TextClassifier = TfcrClassifier.from_preset(
            self.name, tokenizer=self.tokenizer, embeddings=embeddings, random_state=seed
        )
        return model
