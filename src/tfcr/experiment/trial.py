"""One fold of the cells that share a training part: counts once, features once a scheme, then each classifier."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from tfcr.blocks import Block, column_starts, document_vectors, empty_blocks, make_blocks
from tfcr.counts import ClassCounts, DocumentWords
from tfcr.experiment.cells import Planned
from tfcr.experiment.corpora import PreparedCorpus, open_corpus
from tfcr.experiment.folds import Places, Split, cut_folds, training_part
from tfcr.experiment.profiles import Profile, resolve_profile
from tfcr.experiment.scoring import Confusion, confusion_of
from tfcr.experiment.wordvectors import WordVectors, open_vectors
from tfcr.heads import Head, Targets, fit_head, make_targets, resolve_head
from tfcr.schemes import Scheme, compute_weights

Features = NDArray[np.float32]


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
    """

    cell: str
    fold: int
    confusion: Confusion
    train_documents: int
    test_documents: int
    coverage_words: float
    coverage_tokens: float
    seconds: float


@dataclass(frozen=True)
class RunFold:
    """The task of running one fold of cells that share everything but scheme and classifier."""

    cells: tuple[Planned, ...]
    fold: int
    threads: int

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
            data = FoldData.of(corpus, split, blocks, self.threads)
            shared = counted + time.perf_counter() - began
            for planned in cells:
                began = time.perf_counter()
                confusion = data.confusion(head_of(planned.cell.head, profile), profile)
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
    documents = DocumentWords(corpus.documents.words, COUNTINGS[profile.counting](matrix), corpus.documents.lengths)
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
    """The document vectors of a fold, and what is to be learned from them.

    Attributes
    ----------
    train, test
        Features, float32 (n_documents, n_columns).
    train_empty, test_empty
        Which blocks average nothing; (n_documents, n_blocks).
    blocks
        What the columns are.
    train_labels, test_labels
        Numbers of classes.
    n_classes
        Of the whole corpus; a small training part may lack some.
    """

    train: Features
    test: Features
    train_empty: NDArray[np.bool_]
    test_empty: NDArray[np.bool_]
    blocks: Sequence[Block]
    train_labels: NDArray[np.int64]
    test_labels: NDArray[np.int64]
    n_classes: int

    @classmethod
    def of(cls, corpus: PreparedCorpus, split: Split, blocks: Sequence[Block], threads: int) -> "FoldData":
        """Compute the document vectors of both parts."""
        parts = [corpus.documents.rows(places) for places in split]
        train, test = (document_vectors(part.matrix, part.lengths, blocks, threads) for part in parts)
        train_empty, test_empty = (empty_blocks(part.matrix, blocks) for part in parts)
        labels = corpus.labels
        return cls(
            train, test, train_empty, test_empty, blocks, labels[split.train], labels[split.test], len(corpus.classes)
        )

    def confusion(self, head: Head, profile: Profile) -> Confusion:
        """Train a classifier, predict the test documents, and count."""
        known = np.unique(self.train_labels)
        best = np.zeros(len(self.test_labels), np.int64)
        if len(known) > 1:
            targets = make_targets(self.train_labels, known, np.ones(len(self.train_labels)), "balanced")
            best = _best(FITS[profile.features](self, head, targets))
        return confusion_of(self.test_labels, known[best], self.n_classes)


PROGRAM_HEADS: dict[str, Callable[..., Any]] = {
    # Our solver would do, but on raw features takes longer to the same optimum.
    "liblinear-svm": partial(LinearSVC, class_weight="balanced", random_state=0),
}
"""Classifiers of the author's program for which there is no row in HEADS."""


def head_of(name: str, profile: Profile) -> Head:
    """Return the classifier that a name stands for in a profile."""
    row = profile.heads.get(name, name)
    return resolve_head(PROGRAM_HEADS[row](C=profile.C) if row in PROGRAM_HEADS else row, C=profile.C)


def _best(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    return (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)


def scores_on_scaled(data: FoldData, head: Head, targets: Targets) -> NDArray[np.float64]:
    """Train on centred and scaled features, as TfcrClassifier does, and return the scores of the test documents."""
    fitted = fit_head(head, data.train, data.blocks, targets, data.train_empty)
    centred = data.test - fitted.means.astype(np.float32)
    starts = column_starts(data.blocks)
    for number in range(len(data.blocks)):
        centred[data.test_empty[:, number], starts[number] : starts[number + 1]] = 0
    return np.asarray(centred @ fitted.coefficients.astype(np.float32) + fitted.intercepts)


def scores_on_raw(data: FoldData, head: Head, targets: Targets) -> NDArray[np.float64]:
    """Train on features as they are, as the author's program does, and return the scores of the test documents."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the program's author saw them, too
        solution = head.solve(_with_ones(data.train), targets, range(targets.n_outputs))
    return np.asarray(data.test @ solution.coefficients.astype(np.float32) + solution.intercepts)


def _with_ones(features: Features) -> Features:
    extended = np.ones((len(features), features.shape[1] + 1), np.float32)
    extended[:, :-1] = features
    return extended


FITS: dict[str, Callable[[FoldData, Head, Targets], NDArray[np.float64]]] = {
    "scaled": scores_on_scaled,
    "raw": scores_on_raw,
}
