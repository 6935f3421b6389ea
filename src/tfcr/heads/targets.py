"""What a head learns to predict: signs and weights for each of its outputs, from one label per document or several.

Heads and stacking ask for signs, weights, loss and decisions; only this module knows whether a document has one label.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tfcr.decision import above, best_class, confusion_matrix, hits_of_members, macro_f1, output_classes
from tfcr.errors import InputError, shown
from tfcr.text.class_counts import Labels, weight_row
from tfcr.text.label_sets import GivenLabels, LabelSets, class_numbers

Decisions = NDArray[Any]
"""The winning class of each document, (n_documents,); of several labels, whether each class is assigned."""


@dataclass(frozen=True)
class Targets:
    """What a head learns to predict, one label per document.

    Attributes
    ----------
    labels
        The class of each document, as a position among the classes; (n_documents,).
    n_classes
        Two or more.
    sample_weight
        float64 (n_documents,).
    class_weight
        float64 (n_classes,).
    """

    labels: NDArray[Any]
    n_classes: int
    sample_weight: NDArray[np.float64]
    class_weight: NDArray[np.float64]
    several: ClassVar[bool] = False

    def rows(self, rows: NDArray[np.int64] | slice) -> "Targets":
        """Return the targets of some documents; class weights stay."""
        return replace(self, labels=self.labels[rows], sample_weight=self.sample_weight[rows])

    def without(self, rows: NDArray[np.int64]) -> "Targets":
        """Return the targets of all documents, some of which have the weight 0; class weights stay."""
        weights = self.sample_weight.copy()
        weights[rows] = 0
        return replace(self, sample_weight=weights)

    @property
    def n_outputs(self) -> int:
        """One output per class; of two classes, one in all."""
        return len(output_classes(self.n_classes))

    def signs(self, outputs: Sequence[int]) -> NDArray[np.float32]:
        """Return +1 for the documents of each output's class and -1 for the rest; (n_documents, n_outputs)."""
        positive = output_classes(self.n_classes)[list(outputs)]
        return np.where(self.labels[:, None] == positive, 1, -1).astype(np.float32)

    def one_vs_rest_weights(self, outputs: Sequence[int]) -> NDArray[np.float32]:
        """Return the weight of each document for each output; (n_documents, n_outputs).

        As in liblinear: with two classes, both have their class weight; with more, only the output's own class has,
        and the rest weigh 1.
        """
        if self.n_outputs == 1:
            return self.document_weights()[:, None].astype(np.float32)
        own = self.labels[:, None] == np.array(list(outputs))
        weights = np.where(own, self.class_weight[list(outputs)], 1.0)
        return (weights * self.sample_weight[:, None]).astype(np.float32)

    def document_weights(self) -> NDArray[np.float64]:
        """Return sample weight times class weight; (n_documents,)."""
        return np.asarray(self.sample_weight * self.class_weight[self.labels])

    def root_balanced_weights(self) -> NDArray[np.float64]:
        """Return sample weight times the root of the class weight, adding up to 1; (n_documents,).

        Held-out documents weigh as much when strengths and part weights are picked: with balanced weights, those of
        rare classes would decide alone, and with none they would not count.
        """
        weights = self.sample_weight * np.sqrt(self.class_weight[self.labels])
        return np.asarray(weights / weights.sum())

    def class_totals(self) -> NDArray[np.float64]:
        """Return the sum of the sample weights of each class; (n_classes,)."""
        return np.bincount(self.labels, self.sample_weight, self.n_classes).astype(np.float64)

    def constant_signs(self) -> NDArray[np.float64]:
        """Return +1 and -1 for outputs whose class every document or none has, else 0; (n_outputs,)."""
        return np.zeros(self.n_outputs)  # of two classes or more, each with a document

    def ahead(self, stacked: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far logits are ahead of that of the true class; (n_parts, n_documents, n_classes).

        The logits (2, 1, 4) of a document of class 0 are (0, -1, 2) ahead.
        """
        return np.asarray(stacked - stacked[:, np.arange(len(self.labels)), self.labels][:, :, None])

    def loss(self, part_weights: NDArray[np.float64], ahead: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the mean negative log-likelihood of the true classes, and its gradient by part weights.

        `ahead` is what the method of that name makes of the logits of each part.
        """
        # p is the part, n the document, k the class: the loss is Σ_n weight_n · log Σ_k exp(s_nk - s_n,true)
        weights = self.root_balanced_weights()
        probabilities, losses = _softmax(np.tensordot(part_weights, ahead, 1))
        return float(weights @ losses), np.einsum("pnk,nk->pn", ahead, probabilities) @ weights

    def slope_and_curvature(self, factor: float, ahead: NDArray[np.float64]) -> tuple[float, float]:
        """Return both derivatives of the loss by a factor of one part's logits; `ahead` is (n_documents, n_classes)."""
        weights, probabilities = self.root_balanced_weights(), _softmax(factor * ahead)[0]
        means = np.einsum("nk,nk->n", probabilities, ahead)
        squares = np.einsum("nk,nk,nk->n", probabilities, ahead, ahead)
        return float(weights @ means), float(weights @ (squares - means**2))

    def log_loss(self, logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the mean negative log-likelihood of the true classes, and its gradient by logits.

        Documents count by their sample weights alone; both arrays are (n_documents, n_classes).
        """
        weights = self.sample_weight / self.sample_weight.sum()
        own = np.arange(len(self.labels)), self.labels
        gradient, totals = _softmax(logits)
        losses = totals - logits[own]
        gradient[own] -= 1
        return float(weights @ losses), gradient * weights[:, None]

    def curvature(self, logits: NDArray[np.float64], along: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives of `log_loss` by a factor of `along`, and by a shift of each class.

        Factor and shifts are added to the logits; (1 + n_classes, 1 + n_classes).
        """
        weights, chances = self.sample_weight / self.sample_weight.sum(), _softmax(logits)[0]
        weighted = chances * weights[:, None]
        apart = weighted * (along - np.einsum("nk,nk->n", chances, along)[:, None])
        return _bordered(np.vdot(apart, along), apart.sum(axis=0), np.diag(weighted.sum(axis=0)) - chances.T @ weighted)

    def log_frequencies(self) -> NDArray[np.float64]:
        """Return the log frequency of each class, 0 in the mean; (n_classes,)."""
        found = np.log(self.class_totals())
        return np.asarray(found - found.mean())

    def decide(self, scores: NDArray[np.float64]) -> Decisions:
        """Return what scores decide for each document."""
        return best_class(scores)

    def macro_f1(self, decisions: Decisions) -> float:
        """Return the macro-F1 of decisions."""
        return macro_f1(confusion_matrix(self.labels, decisions, self.n_classes, self.sample_weight))


@dataclass(frozen=True)
class SeveralTargets(Targets):
    """What a head learns to predict, several labels per document: each class against the documents without it.

    `labels` is true where a document has a class; bool (n_documents, n_classes).
    """

    several: ClassVar[bool] = True

    @property
    def n_outputs(self) -> int:
        """One output per class, of two classes too."""
        return self.n_classes

    def signs(self, outputs: Sequence[int]) -> NDArray[np.float32]:
        """Return +1 for the documents that have each output's class and -1 for the rest; (n_documents, n_outputs)."""
        return np.where(self.labels[:, list(outputs)], 1, -1).astype(np.float32)

    def one_vs_rest_weights(self, outputs: Sequence[int]) -> NDArray[np.float32]:
        """Return the weight of each document for each output: its own class has its class weight, the rest weigh 1."""
        weights = np.where(self.labels[:, list(outputs)], self.class_weight[list(outputs)], 1.0)
        return (weights * self.sample_weight[:, None]).astype(np.float32)

    def document_weights(self) -> NDArray[np.float64]:
        """Return sample weight times the mean class weight of the document's labels, 1 if it has none."""
        sizes = self.labels.sum(axis=1)
        means = np.where(sizes > 0, self.labels @ self.class_weight / np.maximum(sizes, 1), 1.0)
        return np.asarray(self.sample_weight * means)

    def root_balanced_weights(self) -> NDArray[np.float64]:
        """Return sample weight times the root of the class weight, adding up to 1; (n_documents, n_classes)."""
        weights = np.where(self.labels, np.sqrt(self.class_weight), 1.0) * self.sample_weight[:, None]
        return np.asarray(weights / weights.sum())

    def class_totals(self) -> NDArray[np.float64]:
        """Return the sum of the sample weights of each class; (n_classes,)."""
        return np.asarray(self.sample_weight @ self.labels, np.float64)

    def constant_signs(self) -> NDArray[np.float64]:
        """Return +1 and -1 for outputs whose class every document or none has, else 0; (n_outputs,)."""
        used = self.labels[self.sample_weight > 0]
        return np.where(used.all(axis=0), 1.0, np.where(used.any(axis=0), 0.0, -1.0))

    def ahead(self, stacked: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far logits are on the wrong side of 0; (n_parts, n_documents, n_classes)."""
        return np.where(self.labels, -stacked, stacked)

    def loss(self, part_weights: NDArray[np.float64], ahead: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the mean one-vs-rest logistic loss of all classes, and its gradient by part weights."""
        # the loss is Σ_nk weight_nk · log(1 + exp(-sign_nk · s_nk))
        weights, summed = self.root_balanced_weights(), np.tensordot(part_weights, ahead, 1)
        loss = np.vdot(weights, np.logaddexp(0, summed))
        return float(loss), np.einsum("pnk,nk->p", ahead, weights * expit(summed))

    def slope_and_curvature(self, factor: float, ahead: NDArray[np.float64]) -> tuple[float, float]:
        """Return both derivatives of the loss by a factor of one part's logits; `ahead` is (n_documents, n_classes)."""
        weights, wrong = self.root_balanced_weights(), expit(factor * ahead)
        return float(np.sum(weights * wrong * ahead)), float(np.sum(weights * wrong * (1 - wrong) * ahead**2))

    def log_loss(self, logits: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the mean one-vs-rest logistic loss of a document, all its classes added up; its gradient by logits."""
        weights = self.sample_weight[:, None] / self.sample_weight.sum()
        signs = np.where(self.labels, 1.0, -1.0)
        margins = signs * logits
        return float(np.sum(weights * np.logaddexp(0, -margins))), -weights * signs * expit(-margins)

    def curvature(self, logits: NDArray[np.float64], along: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives of `log_loss` by a factor of `along`, and by a shift of each class."""
        chances = expit(logits)
        spread = chances * (1 - chances) * (self.sample_weight / self.sample_weight.sum())[:, None]
        apart = spread * along
        return _bordered(np.vdot(apart, along), apart.sum(axis=0), np.diag(spread.sum(axis=0)))

    def log_frequencies(self) -> NDArray[np.float64]:
        """Return the log odds of each class, as if half a document more had it and half a document had not."""
        totals, every = self.class_totals(), self.sample_weight.sum()
        return np.asarray(np.log((totals + 0.5) / (every - totals + 0.5)))

    def decide(self, scores: NDArray[np.float64]) -> Decisions:
        """Return which classes are assigned, at the natural threshold of 0."""
        return above(scores)

    def macro_f1(self, decisions: Decisions) -> float:
        """Return the macro-F1 of decisions."""
        return hits_of_members(self.labels, decisions, self.sample_weight).macro_f1()


def _bordered(corner: float, border: NDArray[np.float64], inside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a symmetric matrix with one more row and column.

    >>> _bordered(1.0, np.array([2.0, 3.0]), np.eye(2)).tolist()
    [[1.0, 2.0, 3.0], [2.0, 1.0, 0.0], [3.0, 0.0, 1.0]]
    """
    return np.block([[np.array([[corner]]), border[None, :]], [border[:, None], inside]])


def _softmax(summed: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return exp s_k / Σ_k exp s_k of each document, and log Σ_k exp s_k; scipy's functions take ten times as long."""
    largest = summed.max(axis=1)
    exponentials = np.exp(summed - largest[:, None])
    totals = exponentials.sum(axis=1)
    exponentials /= totals[:, None]
    return exponentials, largest + np.log(totals)


def make_targets(
    labels: GivenLabels,
    classes: Labels,
    sample_weight: NDArray[np.float64],
    class_weight: str | Mapping[Any, float] | None,
) -> Targets:
    """Turn labels into class positions or members, and work out the weight of each class."""
    kind = SeveralTargets if isinstance(labels, LabelSets) else Targets
    targets = kind(class_numbers(labels, classes), len(classes), sample_weight, np.ones(len(classes)))
    return replace(targets, class_weight=_class_weights(class_weight, classes, targets.class_totals()))


def check_class_weight(given: object) -> None:
    """Raise InputError for an invalid class_weight."""
    if given is not None and not isinstance(given, Mapping) and not (isinstance(given, str) and given == "balanced"):
        raise InputError(
            f"found class_weight={shown(given)}; expected 'balanced', None, or a dict from class to weight"
        )


def _class_weights(
    given: str | Mapping[Any, float] | None, classes: Labels, totals: NDArray[np.float64]
) -> NDArray[np.float64]:
    check_class_weight(given)
    if given is None:
        return np.ones(len(classes))
    if not isinstance(given, Mapping):  # a class that no document has needs no weight
        return np.asarray(totals.sum() / (len(classes) * np.where(totals > 0, totals, totals.sum())))
    unknown = [label for label in given if label not in set(classes.tolist())]
    if unknown:
        raise InputError(f"found class_weight for {unknown[0]!r}; expected one of the classes {classes.tolist()}")
    for label, weight in given.items():
        weight_row(f"class_weight[{label!r}]").check(weight)
    weights = np.array([float(given.get(label, 1.0)) for label in classes.tolist()])
    if not weights.any():
        raise InputError(f"found class_weight={shown(dict(given))}; expected some above 0")
    return weights
