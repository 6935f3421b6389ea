"""The features of a fold the way a profile has them: counts, weights, document vectors; and training a head on them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from tfcr.decision import ClassNumbers, best_class
from tfcr.experiment.plan.folds import Indices, Split
from tfcr.experiment.plan.profiles import Profile
from tfcr.experiment.run.corpora import PreparedCorpus
from tfcr.experiment.run.vectors import WordVectors
from tfcr.features.blocks import (
    Block,
    as_floats,
    column_starts,
    document_vectors,
    empty_blocks,
    make_blocks,
    sublinear_counts,
)
from tfcr.features.matrix import DenseFeatures, Features, Matrix, OnDemandFeatures, scaled_features
from tfcr.heads import Head, make_targets
from tfcr.schemes import Scheme, compute_weights
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import CountedDocuments

# counts and weights ------------------------------------------------------------------------------------------------


def count_training(corpus: PreparedCorpus, train: Indices, profile: Profile) -> ClassCounts:
    """Count the words of the training documents by class, the way a profile counts."""
    matrix = COUNTED_TEXTS[profile.counted_text](corpus)[train]
    lengths = corpus.documents.lengths[train]
    documents = CountedDocuments(corpus.documents.vocabulary, COUNTINGS[profile.counting](matrix), lengths)
    return ClassCounts.from_documents(documents, corpus.classes[corpus.labels[train]])


def _once_per_document(matrix: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((np.ones(matrix.nnz, np.int32), matrix.indices, matrix.indptr), shape=matrix.shape)


COUNTED_TEXTS: dict[str, Callable[[PreparedCorpus], sp.csr_array]] = {
    "whole": lambda corpus: corpus.documents.matrix,
    "program": lambda corpus: corpus.program_counts,
}
COUNTINGS: dict[str, Callable[[sp.csr_array], sp.csr_array]] = {
    "occurrences": lambda matrix: matrix,
    "documents": _once_per_document,
}


def weigh(scheme: str | Scheme, counts: ClassCounts, vectors: WordVectors, profile: Profile) -> list[Block]:
    """Return a block for each class, or one for all, over all words of the corpus; unseen words have weight 0."""
    if scheme == "none" and profile.plain_mean == "with a vector":
        weights = vectors.found[:, None].astype(np.float32)
    else:
        seen = np.flatnonzero(counts.occurs())
        of_seen = compute_weights(scheme, counts.at_least(1))
        weights = np.zeros((len(counts.words), of_seen.shape[1]), np.float32)
        weights[seen] = of_seen
    names = [str(label) for label in counts.classes.tolist()]
    return make_blocks("all", weights, vectors.vectors, names, "weights", counts.occurs())


# features and heads ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoldFeatures:
    """The features of a fold.

    Attributes
    ----------
    train
        What a head learns from; the last column is 1.
    test
        The same columns of the test documents; (n_documents, n_columns).
    train_classes
        Class numbers of the training documents; a small training part may lack some classes.
    """

    train: Features
    test: Matrix
    train_classes: ClassNumbers

    @classmethod
    def of(
        cls, corpus: PreparedCorpus, split: Split, blocks: Sequence[Block], profile: Profile, max_memory: int
    ) -> "FoldFeatures":
        """Compute the features of training and test documents, the way a profile has them."""
        frequencies = TERM_FREQUENCIES[profile.term_frequency]
        seen, unseen = (_with_matrix(corpus.documents.rows(rows), frequencies) for rows in split)
        if profile.blocks == "label" and len(blocks) > 1:
            names = [block.name for block in blocks]
            labels = [names.index(label) for label in corpus.classes[corpus.labels[split.train]].tolist()]
            train, test = features_by_label(seen, unseen, blocks, np.array(labels))
        else:
            train, test = FEATURES[profile.features](seen, unseen, blocks, max_memory)
        return cls(train, test, corpus.labels[split.train])

    def predict(self, head: Head) -> ClassNumbers:
        """Train a head and return the class number of each test document."""
        known = np.unique(self.train_classes)
        if len(known) == 1:
            return np.full(len(self.test), known[0])
        targets = make_targets(self.train_classes, known, np.ones(len(self.train_classes)), "balanced")
        solution = head.solve(self.train, targets, range(targets.n_outputs))
        scores = self.test @ np.vstack([solution.coefficients, solution.intercepts]).astype(np.float32)
        return np.asarray(known[best_class(scores)], np.int64)


TERM_FREQUENCIES: dict[str, Callable[[sp.csr_array], sp.csr_array]] = {
    "count": lambda matrix: matrix,
    "log": sublinear_counts,
}


def _with_matrix(documents: CountedDocuments, change: Callable[[sp.csr_array], sp.csr_array]) -> CountedDocuments:
    return replace(documents, matrix=change(documents.matrix))


def features_scaled(
    train: CountedDocuments, test: CountedDocuments, blocks: Sequence[Block], max_memory: int
) -> tuple[Features, Matrix]:
    """Return features as TfcrClassifier has them: centred, divided by one scale, empty blocks set to the average."""
    scaled = scaled_features(train, blocks, np.ones(len(train)), max_memory)
    empty = empty_blocks(test, blocks)
    like_train = OnDemandFeatures(test, blocks, empty, scaled.means, scaled.scale)
    return scaled.features, like_train.take(np.arange(len(test)))


def features_raw(
    train: CountedDocuments, test: CountedDocuments, blocks: Sequence[Block], max_memory: int
) -> tuple[Features, Matrix]:
    """Return features as the author's program has them: unscaled, zeros for a block without any weight."""
    both = [_raw(part, blocks) for part in (train, test)]
    fits = 4 * np.prod(both[0].shape, dtype=np.int64) <= max_memory
    return DenseFeatures(_all_rows(both[0])) if fits else both[0], _all_rows(both[1])


def features_by_label(
    train: CountedDocuments, test: CountedDocuments, blocks: Sequence[Block], labels: ClassNumbers
) -> tuple[Features, Matrix]:
    """Return unscaled features by Ko's rule: one block, weighted for the label, or for the class that weighs most.

    The rule is for experiments only. A training document is weighted by its label, so that its vector is no function
    of its text, as cross-fitting, shards, word tables and saved models need it.

    Parameters
    ----------
    train, test
        Documents.
    blocks
        One for each class.
    labels
        The number of each training document's block.
    """
    return DenseFeatures(_by_block(train, blocks, labels)), _by_block(test, blocks, heaviest_class(test, blocks))


def heaviest_class(documents: CountedDocuments, blocks: Sequence[Block]) -> ClassNumbers:
    """Return the class with the largest sum of weights over the words of each document, the first of equal ones."""
    sums = as_floats(documents.matrix) @ np.stack([block.weights for block in blocks], axis=1)
    return np.asarray(np.argmax(sums, axis=1), np.int64)


def _by_block(documents: CountedDocuments, blocks: Sequence[Block], chosen: ClassNumbers) -> Matrix:
    """Return the block that was chosen for each document, then a column of ones."""
    matrix = np.ones((len(documents), blocks[0].dimensions + 1), np.float32)
    for number in np.unique(chosen).tolist():
        rows = np.flatnonzero(chosen == number)
        matrix[rows, :-1] = document_vectors(documents.rows(rows), [blocks[number]])
    return matrix


def _raw(documents: CountedDocuments, blocks: Sequence[Block]) -> OnDemandFeatures:
    none_empty = np.zeros((len(documents), len(blocks)), np.bool_)
    return OnDemandFeatures(documents, blocks, none_empty, np.zeros(column_starts(blocks)[-1]), 1.0)


def _all_rows(features: OnDemandFeatures) -> Matrix:
    return features.take(np.arange(features.shape[0]))


FEATURES: dict[str, Callable[..., tuple[Features, Matrix]]] = {"scaled": features_scaled, "raw": features_raw}
