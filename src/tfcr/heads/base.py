"""What all heads share: targets, probabilities, and which output sees which columns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tfcr.errors import InputError
from tfcr.features.blocks import Block, column_starts
from tfcr.features.cross_fit import Cut
from tfcr.features.matrix import Features, features_of_views
from tfcr.system.hardware import memory_limit
from tfcr.text.class_counts import Labels
from tfcr.text.documents import CountedDocuments


@dataclass(frozen=True)
class Targets:
    """What is to be learned.

    Attributes
    ----------
    labels
        The number of each document's class; (n_documents,).
    n_classes
        Two or more.
    sample_weight
        float64 (n_documents,).
    class_weight
        What an example of each class counts; float64 (n_classes,).
    """

    labels: NDArray[np.int64]
    n_classes: int
    sample_weight: NDArray[np.float64]
    class_weight: NDArray[np.float64]

    def rows(self, rows: NDArray[np.int64]) -> "Targets":
        """Return those of some of the documents; classes weigh the same."""
        return Targets(self.labels[rows], self.n_classes, self.sample_weight[rows], self.class_weight)

    @property
    def n_outputs(self) -> int:
        """One output for two classes, as in scikit-learn; else one for each class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def signs(self, outputs: Sequence[int]) -> NDArray[np.float32]:
        """Return +1 for the documents of each output's class and -1 for the rest; (n_documents, n_outputs)."""
        positive = [1] if self.n_classes == 2 else list(outputs)
        return np.where(self.labels[:, None] == np.array(positive), 1, -1).astype(np.float32)

    def one_vs_rest_weights(self, outputs: Sequence[int]) -> NDArray[np.float32]:
        """Return what each document counts for each output; (n_documents, n_outputs).

        As in liblinear: with two classes, each has its weight; with more, an output's own class has its weight and
        the rest count 1.
        """
        if self.n_classes == 2:
            return (self.sample_weight * self.class_weight[self.labels])[:, None].astype(np.float32)
        own = self.labels[:, None] == np.array(list(outputs))
        weights = np.where(own, self.class_weight[list(outputs)], 1.0)
        return (weights * self.sample_weight[:, None]).astype(np.float32)

    def document_weights(self) -> NDArray[np.float64]:
        """Return what each document counts where all outputs must share one weight; (n_documents,)."""
        return self.sample_weight * self.class_weight[self.labels]


def make_targets(
    labels: Labels,
    classes: Labels,
    sample_weight: NDArray[np.float64],
    class_weight: str | Mapping[Any, float] | None,
) -> Targets:
    """Turn labels into numbers and work out the weight of each class."""
    numbers = np.searchsorted(classes, labels)
    totals = np.bincount(numbers, sample_weight, minlength=len(classes)).astype(np.float64)
    return Targets(numbers, len(classes), sample_weight, _class_weights(class_weight, classes, totals))


def check_class_weight(given: object) -> None:
    """Refuse what can be no class_weight."""
    if given is not None and given != "balanced" and not isinstance(given, Mapping):
        raise InputError(f"found class_weight={given!r}; expected 'balanced', None, or a dict from class to weight")


def _class_weights(
    given: str | Mapping[Any, float] | None, classes: Labels, totals: NDArray[np.float64]
) -> NDArray[np.float64]:
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str) and given == "balanced":
        return np.asarray(totals.sum() / (len(classes) * totals))
    check_class_weight(given)
    assert isinstance(given, Mapping)  # noqa: S101 - checked just now
    unknown = [label for label in given if label not in set(classes.tolist())]
    if unknown:
        raise InputError(f"found class_weight for {unknown[0]!r}, which is no class; classes: {classes.tolist()}")
    weights = np.array([float(given.get(label, 1.0)) for label in classes.tolist()])
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError(f"found class_weight={dict(given)!r}; expected numbers of at least 0")
    return weights


# from scores to probabilities --------------------------------------------------------------------------------------


def _sigmoids(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """One-vs-rest logistic regression: each class's own probability, made to add up to 1."""
    if scores.shape[1] == 1:
        return np.concatenate([expit(-scores), expit(scores)], axis=1)
    each = expit(scores)
    total = each.sum(axis=1, keepdims=True)
    return np.where(total > 0, each / np.where(total > 0, total, 1), 1 / scores.shape[1])


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores that are no log-odds (svm, ridge): larger means likelier, and that is all. Not calibrated."""
    both = np.concatenate([-scores, scores], axis=1) if scores.shape[1] == 1 else scores
    return np.asarray(softmax(both, axis=1))


def _multinomial(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multinomial logistic regression."""
    return _sigmoids(scores) if scores.shape[1] == 1 else np.asarray(softmax(scores, axis=1))


LINKS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "sigmoid": _sigmoids,
    "softmax": _softmax,
    "multinomial": _multinomial,
}


@dataclass(frozen=True)
class Solution:
    """Coefficients (n_columns, n_outputs) and intercepts (n_outputs,) of linear scores.

    `link` tells how scores become probabilities: a name of LINKS.
    """

    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    link: str


class Head(Protocol):
    """A linear classifier."""

    def solve(
        self, features: Features, targets: Targets, outputs: Sequence[int], start: Solution | None = None
    ) -> Solution:
        """Fit these outputs; `start` is the solution of a like problem, if one is known."""


@dataclass(frozen=True)
class FittedHead:
    """What `fit_head` learned, for features as they are, neither centred nor scaled.

    Attributes
    ----------
    coefficients
        float64 (n_columns, n_outputs), 0 where an output does not see a column.
    intercepts
        float64 (n_outputs,): the score of a document whose features are `means`.
    means
        The average of each column over the training documents, empty blocks left out; float64 (n_columns,).
    link
        How scores become probabilities: a name of LINKS.
    """

    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    means: NDArray[np.float64]
    link: str


def fit_head(
    head: Head,
    documents: CountedDocuments,
    blocks: Sequence[Block],
    targets: Targets,
    max_memory: int | None = None,
    start: FittedHead | None = None,
    cuts: Sequence[Cut] = (),
) -> FittedHead:
    """Fit each output on the blocks it sees; outputs that see the same are fitted together.

    Parameters
    ----------
    head
        The classifier.
    documents
        The training documents, counted over the words of the blocks.
    blocks
        What the features are.
    targets
        What is to be learned.
    max_memory
        The bytes that features may take; if they took more, they are not held in memory.
    start
        What was learned from a like problem: other strength, fewer documents. One of another shape is not used.
    cuts
        What to make the documents' vectors with, if not with `blocks`: see `cross_fitted`.
    """
    limit = memory_limit() if max_memory is None else max_memory
    n_columns = column_starts(blocks)[-1]
    means, intercepts = np.zeros(n_columns), np.zeros(targets.n_outputs)
    coefficients = np.zeros((n_columns, targets.n_outputs))
    if start is not None and start.coefficients.shape != coefficients.shape:
        start = None
    views = _views(blocks, targets.n_outputs)
    features = features_of_views(documents, blocks, [seen for _, seen in views], targets.sample_weight, limit, cuts)
    for (outputs, seen), scaled in zip(views, features, strict=True):
        columns = _columns_of(blocks, seen)
        place = np.ix_(columns, np.array(outputs))
        known = None if start is None else _scaled_start(start, place, outputs, scaled.scale)
        solution = head.solve(scaled.features, targets, outputs, known)
        coefficients[place] = solution.coefficients / scaled.scale
        intercepts[outputs] = solution.intercepts
        means[columns] = scaled.means
    return FittedHead(coefficients, intercepts, means, solution.link)


def _scaled_start(start: FittedHead, place: Any, outputs: list[int], scale: float) -> Solution:
    return Solution(start.coefficients[place] * scale, start.intercepts[outputs], start.link)


def _views(blocks: Sequence[Block], n_outputs: int) -> list[tuple[list[int], list[int]]]:
    """Return groups of outputs with the numbers of the blocks that they see."""
    if all(block.output is None for block in blocks):
        return [(list(range(n_outputs)), list(range(len(blocks))))]
    return [
        ([output], [number for number, block in enumerate(blocks) if block.output in (None, output)])
        for output in range(n_outputs)
    ]


def _columns_of(blocks: Sequence[Block], numbers: Sequence[int]) -> NDArray[np.int64]:
    starts = column_starts(blocks)
    return np.concatenate([np.arange(starts[number], starts[number + 1]) for number in numbers])
