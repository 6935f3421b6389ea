"""How good predictions are: scores, and what always predicting the most frequent class would reach."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_fscore_support

from tfcr.decision import Reliability, hits_of_labels, macro_f1_of_labels, reliability
from tfcr.text.label_sets import AnyLabels, LabelSets, classes_of
from tfcr.trained.seen import Seen

FEW_DOCUMENTS = 20
"""With fewer documents per class, a bad score may be due to that."""


@dataclass(frozen=True)
class ClassScore:
    """Precision, recall and F1 of one class, and its number of documents."""

    label: Any
    precision: float
    recall: float
    f1: float
    documents: int


@dataclass(frozen=True)
class Evaluation:
    """What a classifier predicted for texts that it was not trained on.

    Attributes
    ----------
    labels, predicted
        For each document; of several labels per document, LabelSets over the same classes.
    classes
        Of the columns of probabilities.
    probabilities
        Of all classes, for each document; (n_documents, n_classes).
    folds
        The fold that each document was tested in; all 0 without cross-validation.
    fold_scores
        Macro-F1 of each fold.
    seen
        How many of the texts the model was trained on; None if it does not know, or after cross-validation.
    """

    labels: AnyLabels
    predicted: AnyLabels
    classes: NDArray[Any]
    probabilities: NDArray[np.float64]
    folds: NDArray[np.int64]
    fold_scores: tuple[float, ...]
    seen: Seen | None = None

    @property
    def macro_f1(self) -> float:
        """The mean over folds, the headline."""
        return float(np.mean(self.fold_scores))

    @property
    def std(self) -> float:
        """The standard deviation over folds."""
        return float(np.std(self.fold_scores))

    @property
    def pooled_macro_f1(self) -> float:
        """Macro-F1 of all predictions taken together."""
        return macro_f1_of_labels(self.labels, self.predicted)

    @property
    def several(self) -> bool:
        """Whether documents may have several labels."""
        return isinstance(self.labels, LabelSets)

    @property
    def micro_f1(self) -> float:
        """F1 of all labels taken together; of one label per document, the accuracy."""
        return hits_of_labels(self.labels, self.predicted).micro_f1()

    @property
    def accuracy(self) -> float:
        """The fraction of documents with the right label; of several, with all of the right labels and no other."""
        if isinstance(self.labels, LabelSets) and isinstance(self.predicted, LabelSets):
            return float(np.mean((self.labels.members == self.predicted.members).all(axis=1)))
        return float(np.mean(self.labels == self.predicted))

    @property
    def confidences(self) -> NDArray[np.float64]:
        """The probability of the predicted class, (n_documents,); of several labels, those of all classes."""
        if isinstance(self.predicted, LabelSets):
            return self.probabilities
        winners = np.searchsorted(self.classes, self.predicted)
        return np.asarray(self.probabilities[np.arange(len(winners)), winners])

    def reliability(self) -> Reliability:
        """Return how often the likeliest label was right, by its probability; of several labels, each label.

        The likeliest label is that of `predict_proba`, which need not be the one that was predicted.
        """
        if isinstance(self.labels, LabelSets):
            return reliability(self.probabilities.ravel(), self.labels.members.ravel())
        likeliest = self.probabilities.argmax(axis=1)
        return reliability(self.probabilities.max(axis=1), self.classes[likeliest] == self.labels)

    def per_class(self) -> list[ClassScore]:
        """Return precision, recall and F1 of each class, all predictions taken together."""
        if isinstance(self.labels, LabelSets) and isinstance(self.predicted, LabelSets):
            shown = np.flatnonzero(self.labels.members.any(axis=0))
            classes, truth, predicted = self.labels.classes[shown], self.labels.members, self.predicted.members
        else:
            classes, truth, predicted, shown = _class_numbers(self.labels, self.predicted)
        columns = precision_recall_fscore_support(truth, predicted, labels=shown, zero_division=0)
        rows = zip(classes.tolist(), *(column.tolist() for column in columns), strict=True)
        return [ClassScore(label, p, r, f1, int(n)) for label, p, r, f1, n in rows]


def _class_numbers(labels: Any, predicted: Any) -> tuple[NDArray[Any], ...]:
    """Return the classes of labels; labels and predicted ones as numbers; and the numbers of the classes.

    scikit-learn takes labels such as 0.5 for a regression.
    """
    classes = np.unique(labels)
    known, numbers = np.unique(np.concatenate([labels, predicted]), return_inverse=True)
    return classes, numbers[: len(labels)], numbers[len(labels) :], np.searchsorted(known, classes)


def majority_class(result: Evaluation) -> Evaluation | None:
    """Return the evaluation of always predicting the most frequent class; None if the documents have one class only.

    A classifier that is not better has learned nothing of use.
    """
    if len(classes_of(result.labels)) < 2:
        return None
    label, size = most_frequent_class(result.labels)
    predicted = _all_of_class(result.labels, label)
    folds = [result.folds == fold for fold in range(len(result.fold_scores))]
    scores = tuple(macro_f1_of_labels(result.labels[fold], predicted[fold]) for fold in folds)
    chances = np.tile(np.where(result.classes == label, size / len(predicted), 0.0), (len(predicted), 1))
    return Evaluation(result.labels, predicted, result.classes, chances, result.folds, scores)


def most_frequent_class(labels: AnyLabels) -> tuple[Any, int]:
    """Return the label of the most frequent class, and how many documents have it."""
    if isinstance(labels, LabelSets):
        classes, sizes = labels.classes, labels.members.sum(axis=0)
    else:
        classes, sizes = np.unique(labels, return_counts=True)
    largest = int(np.argmax(sizes))
    return classes.tolist()[largest], int(sizes[largest])


def _all_of_class(labels: AnyLabels, label: Any) -> AnyLabels:
    """Return as many labels, all of one class."""
    if isinstance(labels, LabelSets):
        return replace(labels, members=np.tile(labels.classes == label, (len(labels), 1)))
    return np.full_like(labels, label)


def compare_with_majority(result: Evaluation, *, balanced: bool = False) -> list[str]:
    """Return what to tell a user whose classifier is no better than always predicting the most frequent class.

    `balanced` is whether classes were given equal weight, which costs accuracy.
    """
    trivial = majority_class(result)
    if trivial is None:
        return []
    always = f"that of always predicting {most_frequent_class(result.labels)[0]!r}"
    if result.macro_f1 <= trivial.macro_f1:
        n_documents = len(result.labels)
        few = n_documents < FEW_DOCUMENTS * len(classes_of(result.labels))
        cause = (
            f"{n_documents} documents are few to learn from; label more"
            if few
            else "the texts tell nothing of the classes; are --text and --label the right columns?"
        )
        return [f"macro-F1 {result.macro_f1:.3f} is not above {trivial.macro_f1:.3f}, {always}: {cause}"]
    if result.accuracy <= trivial.accuracy:
        cause = (
            "; rare classes count as much as frequent ones: train with --class-weight none for accuracy"
            if balanced
            else ""
        )
        return [f"accuracy {result.accuracy:.3f} is not above {trivial.accuracy:.3f}, {always}{cause}"]
    return []
