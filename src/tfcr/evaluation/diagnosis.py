"""What to look at next: classes that are confused, confident mistakes, labels that are probably wrong.

Of one label per document; several labels have no pairs of classes that could be confused.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import ClassNumbers
from tfcr.evaluation.duplicates import Duplicates, find_duplicates
from tfcr.evaluation.scores import Evaluation
from tfcr.evaluation.words import MOST_MISTAKES, MistakeWords, Pulls, varied
from tfcr.text.documents import CountedDocuments
from tfcr.text.label_sets import AnyLabels

MOST_PAIRS = 20
SHOWN_WORDS = 5
"""Words that are listed each way."""
DOUBTFUL_ODDS = 9.0
"""A label is doubtful if another one is so many times as likely."""
SMALLEST = 1e-12
"""Probabilities below it count as this much: odds stay finite."""


class Word(NamedTuple):
    """A word, and what it adds to the score of one class more than to that of the other."""

    word: str
    adds: float


@dataclass(frozen=True)
class ConfusedPair:
    """Documents of one class that were assigned to another.

    Attributes
    ----------
    label, predicted
        The right class, and the predicted one.
    documents
        How many documents.
    fraction
        Of the documents of the right class.
    towards_predicted, towards_label
        The words that pull most to either class, with their mean pull in these documents.
    """

    label: Any
    predicted: Any
    documents: int
    fraction: float
    towards_predicted: tuple[Word, ...]
    towards_label: tuple[Word, ...]


@dataclass(frozen=True)
class Mistake:
    """A document with a wrong label of high probability; `document` is its position in the corpus that was tested."""

    document: int
    label: Any
    predicted: Any
    probability: float
    towards_predicted: tuple[Word, ...]
    towards_label: tuple[Word, ...]


@dataclass(frozen=True)
class LabelError:
    """A document whose label is probably wrong: `likelier` is `odds` times as likely as the given label."""

    document: int
    label: Any
    likelier: Any
    odds: float


@dataclass(frozen=True)
class Diagnosis:
    """What to look at next; of several labels per document, only near-duplicates."""

    pairs: tuple[ConfusedPair, ...]
    mistakes: tuple[Mistake, ...]
    label_errors: tuple[LabelError, ...]
    duplicates: Duplicates


def diagnose(
    result: Evaluation,
    documents: CountedDocuments,
    labels: AnyLabels | None = None,
    folds: NDArray[np.int64] | None = None,
) -> Diagnosis:
    """Return what to look at next.

    Parameters
    ----------
    result
        The predictions, with the words behind mistakes.
    documents
        The documents that were tested, counted; or all documents, if `labels` and `folds` are given.
    labels, folds
        The labels and folds of all documents: see `find_duplicates`.
    """
    duplicates = find_duplicates(
        documents, result.labels if labels is None else labels, result.folds if folds is None else folds, result
    )
    if result.several:
        return Diagnosis((), (), (), duplicates)
    return Diagnosis(
        tuple(confused_pairs(result)), tuple(confident_mistakes(result)), tuple(label_errors(result)), duplicates
    )


def confused_pairs(result: Evaluation, most: int = MOST_PAIRS) -> list[ConfusedPair]:
    """Return the pairs of classes with most mistakes, by their number."""
    labels, predicted = result.numbers(result.labels), result.numbers(result.predicted)
    wrong, classes, sizes = labels != predicted, result.classes.tolist(), np.bincount(labels)
    # not by the matrix, which is large if there are thousands of classes
    counts = Counter(zip(labels[wrong].tolist(), predicted[wrong].tolist(), strict=True))
    words = result.words or MistakeWords()
    return [
        ConfusedPair(
            classes[pair[0]], classes[pair[1]], count, count / int(sizes[pair[0]]), *both_ways(words.of_pair(pair))
        )
        for pair, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    ]


def confident_mistakes(result: Evaluation, most: int = MOST_MISTAKES) -> list[Mistake]:
    """Return the mistakes whose predicted label has the highest probability, of several pairs of classes."""
    labels, predicted = np.asarray(result.labels).tolist(), np.asarray(result.predicted).tolist()
    words = (result.words or MistakeWords()).mistakes
    confidences = result.confidences
    wrong = result.mistakes().tolist()
    places = varied([labels[at] for at in wrong], [predicted[at] for at in wrong], most)
    return [
        Mistake(at, labels[at], predicted[at], float(confidences[at]), *both_ways(words.get(at, {})))
        for at in (wrong[place] for place in places)
    ]


def both_ways(pulls: Pulls, most: int = SHOWN_WORDS) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """Return the words that pull most towards the predicted class, and those that pull most towards the right one.

    Examples
    --------
    >>> both_ways({"goal": 0.5, "film": -0.25, "the": 0.0})
    ((Word(word='goal', adds=0.5),), (Word(word='film', adds=0.25),))
    """
    ordered = sorted(pulls.items(), key=lambda item: (-item[1], item[0]))
    towards = tuple(Word(word, pull) for word, pull in ordered[:most] if pull > 0)
    away = tuple(Word(word, -pull) for word, pull in ordered[::-1][:most] if pull < 0)
    return towards, away


def label_errors(result: Evaluation) -> list[LabelError]:
    """Return the documents whose labels are probably wrong, the most doubtful first.

    A class that the classifier was not trained on, as in the newest part of a corpus, has probability 0, which tells
    nothing of its documents' labels.
    """
    given = result.numbers(result.labels)
    known = np.flatnonzero(result.probabilities[np.arange(len(given)), given])
    places, suggested, odds = likely_label_errors(given[known], result.probabilities[known])
    numbers = known[places]
    labels, likelier = np.asarray(result.labels)[numbers].tolist(), result.classes[suggested].tolist()
    return [LabelError(*row) for row in zip(numbers.tolist(), labels, likelier, odds.tolist(), strict=True)]


def likely_label_errors(
    labels: ClassNumbers, probabilities: NDArray[np.float64], least_odds: float = DOUBTFUL_ODDS
) -> tuple[NDArray[np.int64], ClassNumbers, NDArray[np.float64]]:
    """Return the documents whose label is far less likely than another, the most doubtful first.

    Confident learning (cleanlab) compares probabilities with the mean of each class. Where probabilities are
    calibrated, as ours are, the odds of the likeliest other label against the given one rank better: see
    ``benchmarks/label_errors.py``.

    Parameters
    ----------
    labels
        Class numbers as given; (n_documents,).
    probabilities
        By classifiers that were not trained on the document; (n_documents, n_classes).
    least_odds
        How many times as likely the other label must be.

    Returns
    -------
    documents, suggested, odds
        Their positions, the numbers of the likeliest other classes, and how many times as likely these are.

    Examples
    --------
    >>> documents, suggested, odds = likely_label_errors(np.array([0, 0]), np.array([[0.9, 0.1], [0.05, 0.95]]))
    >>> documents.tolist(), suggested.tolist(), odds.round(3).tolist()
    ([1], [1], [19.0])
    """
    documents = np.arange(len(labels))
    others = probabilities.copy()
    others[documents, labels] = -1
    suggested = others.argmax(axis=1)
    odds = others[documents, suggested] / np.maximum(probabilities[documents, labels], SMALLEST)
    found = np.flatnonzero(odds >= least_odds)
    order = found[np.argsort(-odds[found], kind="stable")]
    return order, suggested[order], odds[order]
