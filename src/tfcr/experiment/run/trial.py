"""One fold of the cells that share a training part: counts once, features once a scheme, then each classifier."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.experiment.plan.cells import Planned
from tfcr.experiment.plan.folds import Places, Split, cut_folds, training_part
from tfcr.experiment.plan.profiles import Profile, resolve_profile
from tfcr.experiment.results.scoring import Confusion, confusion_of
from tfcr.experiment.run.corpora import PreparedCorpus, open_corpus
from tfcr.experiment.run.vectors import WordVectors, open_vectors
from tfcr.features.blocks import Block, column_starts, empty_blocks, make_blocks
from tfcr.features.matrix import DenseFeatures, Features, Matrix, OnDemandFeatures, scaled_features
from tfcr.heads import Head, make_targets, resolve_head
from tfcr.schemes import Scheme, compute_weights
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import CountedDocuments


@dataclass(frozen=True)
class FoldResult:
    """What one fold of one cell gave.

    Attributes
    ----------
    cell, fold
        Which one.
    confusion
        (n_classes, n_classes).
    train_documents, test_documents
        How many there were.
    coverage_words, coverage_tokens
        The share of the corpus's words, and running words, that have a vector.
    seconds
        As if the cell had been run alone: what cells share counts in each.
    details
        What else is worth keeping, such as what was picked; for JSON.
    """

    cell: str
    fold: int
    confusion: Confusion
    train_documents: int
    test_documents: int
    coverage_words: float
    coverage_tokens: float
    seconds: float
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFold:
    """The task of running one fold of cells that share everything but scheme and classifier."""

    cells: tuple[Planned, ...]
    fold: int
    max_memory: int

    def work(self) -> Iterator[FoldResult]:
        """Yield the result of each cell as soon as it is there."""
        first = self.cells[0]
        profile = resolve_profile(first.cell.profile)
        began = time.perf_counter()
        corpus = open_corpus(first.corpus.entry)
        split = _split(corpus, first, self.fold)
        vectors = open_vectors(first.vectors, corpus, split.train)
        counts = count_training(corpus, split.train, profile)
        counted = time.perf_counter() - began
        for _, group in groupby(self.cells, key=lambda planned: planned.cell.scheme):
            cells = tuple(group)
            began = time.perf_counter()
            blocks = weigh(_scheme(cells[0], profile), counts, vectors, profile)
            data = FoldData.of(corpus, split, blocks, profile, self.max_memory)
            shared = counted + time.perf_counter() - began
            for planned in cells:
                began = time.perf_counter()
                confusion = data.confusion(resolve_head(planned.cell.head, C=profile.C))
                yield FoldResult(
                    planned.cell.key,
                    self.fold,
                    confusion,
                    len(split.train),
                    len(split.test),
                    vectors.coverage_words,
                    vectors.coverage_tokens,
                    shared + time.perf_counter() - began,
                )


def _split(corpus: PreparedCorpus, planned: Planned, fold: int) -> Split:
    cell = planned.cell
    whole = cut_folds(corpus.labels, corpus.groups, cell.folds, cell.seed)[fold]
    return Split(training_part(whole.train, cell.size, cell.seed, fold), whole.test)


def _scheme(planned: Planned, profile: Profile) -> str | Scheme:
    return planned.own_scheme.load() if planned.own_scheme else profile.scheme(planned.cell.scheme)


# counts and weights ------------------------------------------------------------------------------------------------


def count_training(corpus: PreparedCorpus, train: Places, profile: Profile) -> ClassCounts:
    """Count the words of the training part by class, the way that a profile counts."""
    matrix = (corpus.documents.matrix if profile.count_urls else corpus.without_urls)[train]
    documents = CountedDocuments(corpus.documents.words, COUNTINGS[profile.counting](matrix), corpus.documents.lengths)
    return ClassCounts.from_documents(documents, corpus.classes[corpus.labels[train]])


def _once_a_document(matrix: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((np.ones(matrix.nnz, np.int32), matrix.indices, matrix.indptr), shape=matrix.shape)


COUNTINGS: dict[str, Callable[[sp.csr_array], sp.csr_array]] = {
    "occurrences": lambda matrix: matrix,
    "documents": _once_a_document,
}


def weigh(scheme: str | Scheme, counts: ClassCounts, vectors: WordVectors, profile: Profile) -> list[Block]:
    """Return a block for each class, or one for all, over all words of the corpus; unseen words weigh 0."""
    if scheme == "none" and profile.plain_mean == "with a vector":
        weights = vectors.found[:, None].astype(np.float32)
    else:
        seen = np.flatnonzero(counts.occurs())
        of_seen = compute_weights(scheme, counts.at_least(1))
        weights = np.zeros((len(counts.words), of_seen.shape[1]), np.float32)
        weights[seen] = of_seen
    names = [str(label) for label in counts.classes.tolist()]
    return make_blocks("all", weights, vectors.vectors, names, "weights", counts.occurs())


# features and classifiers ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoldData:
    """The features of a fold, and what is to be learned from them.

    Attributes
    ----------
    train
        What a head learns from; its last column is 1.
    test
        The same columns of the test documents; (n_documents, n_columns).
    train_labels, test_labels
        Numbers of classes.
    n_classes
        Of the whole corpus; a small training part may lack some.
    """

    train: Features
    test: Matrix
    train_labels: NDArray[np.int64]
    test_labels: NDArray[np.int64]
    n_classes: int

    @classmethod
    def of(
        cls, corpus: PreparedCorpus, split: Split, blocks: Sequence[Block], profile: Profile, max_memory: int
    ) -> "FoldData":
        """Compute the features of both parts, the way that a profile has them."""
        train, test = FEATURES[profile.features](
            corpus.documents.rows(split.train), corpus.documents.rows(split.test), blocks, max_memory
        )
        labels = corpus.labels
        return cls(train, test, labels[split.train], labels[split.test], len(corpus.classes))

    def confusion(self, head: Head) -> Confusion:
        """Train a classifier, predict the test documents, and count."""
        known = np.unique(self.train_labels)
        best = np.zeros(len(self.test_labels), np.int64)
        if len(known) > 1:
            targets = make_targets(self.train_labels, known, np.ones(len(self.train_labels)), "balanced")
            solution = head.solve(self.train, targets, range(targets.n_outputs))
            best = _best(self.test @ np.vstack([solution.coefficients, solution.intercepts]).astype(np.float32))
        return confusion_of(self.test_labels, known[best], self.n_classes)


def _best(scores: Matrix) -> NDArray[np.int64]:
    return (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)


def features_scaled(
    train: CountedDocuments, test: CountedDocuments, blocks: Sequence[Block], max_memory: int
) -> tuple[Features, Matrix]:
    """Return features as TfcrClassifier has them: centred, divided by one scale, empty blocks taken for the average."""
    scaled = scaled_features(train, blocks, np.ones(len(train)), max_memory)
    empty = empty_blocks(test.matrix, blocks)
    like_train = OnDemandFeatures(test, blocks, empty, scaled.means, scaled.scale)
    return scaled.features, like_train.take(np.arange(len(test)))


def features_raw(
    train: CountedDocuments, test: CountedDocuments, blocks: Sequence[Block], max_memory: int
) -> tuple[Features, Matrix]:
    """Return features as the author's program has them: as they are, a block without any weight being zeros."""
    both = [_raw(part, blocks) for part in (train, test)]
    fits = 4 * np.prod(both[0].shape, dtype=np.int64) <= max_memory
    return DenseFeatures(_all_rows(both[0])) if fits else both[0], _all_rows(both[1])


def _raw(documents: CountedDocuments, blocks: Sequence[Block]) -> OnDemandFeatures:
    nowhere = np.zeros((len(documents), len(blocks)), np.bool_)
    return OnDemandFeatures(documents, blocks, nowhere, np.zeros(column_starts(blocks)[-1]), 1.0)


def _all_rows(features: OnDemandFeatures) -> Matrix:
    return features.take(np.arange(features.shape[0]))


FEATURES: dict[str, Callable[..., tuple[Features, Matrix]]] = {"scaled": features_scaled, "raw": features_raw}
