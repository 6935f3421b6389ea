"""One fold: what its systems share, computed once, and the task of running them."""

import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np

from tfcr.decision import ClassNumbers, confusion_matrix, macro_f1
from tfcr.embeddings import Embeddings
from tfcr.errors import InputError
from tfcr.experiment.plan.cells import Planned, Settings
from tfcr.experiment.plan.folds import Split, class_part, cut_folds, training_part
from tfcr.experiment.plan.profiles import Profile, resolve_profile
from tfcr.experiment.plan.systems import SchemeSystem
from tfcr.experiment.plan.vectors import VectorsPlan
from tfcr.experiment.results.store import FoldResult
from tfcr.experiment.run.corpora import PreparedCorpus, open_corpus
from tfcr.experiment.run.features import FoldFeatures, count_training, weigh
from tfcr.experiment.run.vectors import WordVectors, coverage, open_embeddings, open_vectors
from tfcr.system.versions import recorded_versions
from tfcr.text.class_counts import ClassCounts, Labels

Value = TypeVar("Value")


@dataclass
class _Stretch:
    """A stretch of work under way: the shared values it uses, and the seconds it spent on making them."""

    uses: set[Hashable] = field(default_factory=set)
    elsewhere: float = 0.0


class SharedWork:
    """Values that are computed once and used by several systems, each of which is timed as if it ran alone.

    Counts take 1 s, features made from them 2 s, and a first head 5 s: it is reported with 8 s. A second head on the
    same features takes 4 s: it is reported with 7 s.
    """

    def __init__(self) -> None:
        self._values: dict[Hashable, Any] = {}
        self._seconds: dict[Hashable, float] = {}
        self._uses: dict[Hashable, set[Hashable]] = {}
        self._under_way: list[_Stretch] = []

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of this key, made now if it is not there."""
        if key not in self._values:
            self._values[key], stretch, self._seconds[key] = self._work(make)
            self._uses[key] = {key, *stretch.uses}
        if self._under_way:
            self._under_way[-1].uses |= self._uses[key]
        value: Value = self._values[key]
        return value

    def drop(self, key: Hashable) -> None:
        """Free the memory of a value; its seconds stay known."""
        self._values.pop(key, None)

    def run_alone(self, run: Callable[[], Value]) -> tuple[Value, float]:
        """Return what a function returns, and its seconds with those of all shared values that it used."""
        value, stretch, seconds = self._work(run)
        return value, seconds + sum(self._seconds[key] for key in stretch.uses)

    def _work(self, run: Callable[[], Value]) -> tuple[Value, _Stretch, float]:
        """Run a function, and return its own seconds, without those of shared values made meanwhile."""
        stretch = _Stretch()
        self._under_way.append(stretch)
        began = time.perf_counter()
        try:
            value = run()
        finally:
            self._under_way.pop()
        seconds = time.perf_counter() - began
        if self._under_way:
            self._under_way[-1].elsewhere += seconds
        return value, stretch, seconds - stretch.elsewhere


class Fold:
    """The documents of one fold, and what systems share of it: each is computed when first asked for.

    Parameters
    ----------
    corpus_entry
        Name of the prepared corpus.
    settings
        Of the cells that run on the fold: which documents are for training.
    number
        Of the fold, from 0.
    vectors
        Which vectors the words get, if any.
    max_memory
        What features may take, in bytes.
    """

    def __init__(
        self, corpus_entry: str, settings: Settings, number: int, vectors: VectorsPlan | None, max_memory: int
    ) -> None:
        self.number = number
        self.seed = settings.seed
        self.max_memory = max_memory
        self.work = SharedWork()
        self._corpus_entry = corpus_entry
        self._settings = settings
        self._vectors = vectors
        self._features: Hashable = None

    @property
    def corpus(self) -> PreparedCorpus:
        """The corpus, with the test documents."""
        return self.work.get("corpus", partial(open_corpus, self._corpus_entry))

    @property
    def split(self) -> Split:
        """Indices of training and test documents."""
        return self.work.get("split", self._split)

    def train_texts(self) -> list[str]:
        """Return the training texts."""
        return [self._texts()[row] for row in self.split.train.tolist()]

    def test_texts(self) -> list[str]:
        """Return the test texts."""
        return [self._texts()[row] for row in self.split.test.tolist()]

    def train_labels(self) -> Labels:
        """Return the labels of the training documents, as text."""
        labels: Labels = self.corpus.classes[self.corpus.labels[self.split.train]]
        return labels

    def class_numbers(self, labels: Labels) -> ClassNumbers:
        """Return the class number of each label."""
        unknown = np.setdiff1d(labels, self.corpus.classes)
        if len(unknown):
            known = ", ".join(self.corpus.classes.tolist())
            raise InputError(f"found the predicted label {str(unknown[0])!r}; expected one of the classes {known}")
        return np.searchsorted(self.corpus.classes, labels)

    def word_vectors(self) -> WordVectors:
        """Return a vector for each word of the corpus."""
        return self.work.get("vectors", lambda: open_vectors(self._vectors_plan(), self.corpus, self.split.train))

    def embeddings(self) -> Embeddings:
        """Return the same vectors as Embeddings, for systems with a vocabulary of their own."""
        return self.work.get("embeddings", lambda: open_embeddings(self._vectors_plan(), self.corpus, self.split.train))

    def counts(self, profile: Profile) -> ClassCounts:
        """Return the counts of the training documents by class, the way a profile counts."""
        return self.work.get(("counts", profile.name), lambda: count_training(self.corpus, self.split.train, profile))

    def features(self, system: SchemeSystem) -> FoldFeatures:
        """Return the features of a scheme. Only the last ones are kept: they can take gigabytes."""
        key = ("features", system.name, system.profile.name)
        if key not in self.work:
            self.work.drop(self._features)
            self._features = key
        return self.work.get(key, lambda: self._make_features(system))

    def coverage(self) -> tuple[float, float]:
        """Return the fraction of the corpus's words, and of its tokens, that have a vector."""
        if self._vectors is None:
            return 0.0, 0.0
        if "embeddings" in self.work:
            return coverage(self.corpus, self.embeddings().has_vector(self.corpus.documents.vocabulary.words))
        found = self.word_vectors()
        return found.coverage_words, found.coverage_tokens

    def _texts(self) -> list[str]:
        return self.work.get("texts", self.corpus.texts)

    def _split(self) -> Split:
        asked, labels = self._settings, self.corpus.labels
        train, test = cut_folds(labels, self.corpus.groups, asked.folds, asked.seed)[self.number]
        if asked.class_sizes is not None:
            train = class_part(train, labels, asked.class_sizes, asked.seed, self.number)
        return Split(training_part(train, asked.size, asked.seed, self.number), test)

    def _vectors_plan(self) -> VectorsPlan:
        if self._vectors is None:
            raise InputError("found a system that asks for vectors; expected needs_vectors = True in its class")
        return self._vectors

    def _make_features(self, system: SchemeSystem) -> FoldFeatures:
        profile = system.profile
        scheme = system.own.load() if system.own else profile.scheme(system.scheme)
        blocks = weigh(scheme, self.counts(profile), self.word_vectors(), profile)
        return FoldFeatures.of(self.corpus, self.split, blocks, profile, self.max_memory)


@dataclass(frozen=True)
class RunFold:
    """The task of running one fold of cells that share corpus, vectors, profile and training part."""

    cells: tuple[Planned, ...]
    fold: int
    max_memory: int

    def work(self) -> Iterator[tuple[str, FoldResult]]:
        """Yield the key of each cell and its result, as soon as it is there."""
        first = self.cells[0]
        fold = Fold(first.corpus.entry, first.cell.settings, self.fold, first.vectors, self.max_memory)
        for planned in self.cells:
            predicted, seconds = fold.work.run_alone(partial(planned.system.run, fold))
            classes = planned.cell.facts.classes
            confusion = confusion_matrix(fold.corpus.labels[fold.split.test], predicted.classes, len(classes))
            profile = planned.cell.profile
            counted = resolve_profile(profile).counted(classes) if profile else None
            coverage_words, coverage_tokens = fold.coverage()
            yield (
                planned.cell.key,
                FoldResult(
                    fold=self.fold,
                    macro_f1=macro_f1(confusion, counted),
                    confusion=confusion,
                    train_documents=len(fold.split.train),
                    test_documents=len(fold.split.test),
                    coverage_words=coverage_words,
                    coverage_tokens=coverage_tokens,
                    seconds=seconds,
                    versions=recorded_versions(),
                    details=predicted.details,
                ),
            )
