"""The words behind mistakes: which pulled a text towards the wrong label, and which towards the right one.

The pull of a word is what it adds to the score of the predicted class, less what it adds to that of the right one. What
words add is exact (`trained.word_table`), so that the pulls of a text and the baseline sum to the difference of scores.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import ClassNumbers, class_scores
from tfcr.trained.word_table import batch_of

if TYPE_CHECKING:
    from tfcr.text.documents import CountedDocuments
    from tfcr.trained.model import TrainedModel

MOST_MISTAKES = 20
"""Mistakes that are shown with their words: the most confident ones, of several pairs of classes."""
MOST_KEPT = 3 * MOST_MISTAKES
"""Mistakes of one model whose words are kept: which of them are shown is known when all folds are."""
IN_A_ROW = 5
"""Mistakes of one pair of classes that are shown before others get their turn."""
MOST_OF_PAIR, MOST_EXPLAINED = 20, 400
"""Mistakes of one model that are explained: so many of each pair of classes, and so many in all."""
MOST_WORDS = 200
"""Words that are kept of a pair of classes, or of a mistake: those that pull most."""
AT_ONCE = 1 << 22
"""Contributions that are computed together."""

Pulls = dict[str, float]


@dataclass
class MistakeWords:
    """The words behind the mistakes of one model, or of those of all folds.

    Attributes
    ----------
    mistakes
        Of the most confident mistakes: document → the pull of each word.
    pairs
        Right and predicted class, by number → the sum of each word's pull over the documents that are explained.
    explained
        How many documents of each pair these are.
    """

    mistakes: dict[int, Pulls] = field(default_factory=dict)
    pairs: dict[tuple[int, int], Pulls] = field(default_factory=dict)
    explained: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, other: MistakeWords) -> None:
        """Add the words of another model's mistakes."""
        self.mistakes |= other.mistakes
        self.explained.update(other.explained)
        for pair, pulls in other.pairs.items():
            known = self.pairs.setdefault(pair, {})
            for word, pull in pulls.items():
                known[word] = known.get(word, 0.0) + pull

    def of_pair(self, pair: tuple[int, int]) -> Pulls:
        """Return the mean pull of each word over the documents of a pair of classes that are explained."""
        return {word: pull / self.explained[pair] for word, pull in self.pairs.get(pair, {}).items()}


def explain_mistakes(
    model: TrainedModel,
    counted: Callable[[NDArray[np.int64]], CountedDocuments],
    labels: ClassNumbers,
    predicted: ClassNumbers,
    confidences: NDArray[np.float64],
    classes: NDArray[Any],
) -> MistakeWords:
    """Return the words behind the mistakes of one model.

    Parameters
    ----------
    model
        The model, for one label per text.
    counted
        Returns some of the documents, counted over the model's vocabulary.
    labels, predicted
        Class numbers; (n_documents,).
    confidences
        The probability of each predicted label; (n_documents,).
    classes
        The labels that numbers stand for; the model may lack some.
    """
    wrong = np.flatnonzero(labels != predicted)
    wrong = wrong[np.argsort(-confidences[wrong], kind="stable")]
    chosen = _chosen(labels[wrong], predicted[wrong])
    places = _places(model.classes, classes)
    found = MistakeWords()
    confident = set(wrong[varied(labels[wrong].tolist(), predicted[wrong].tolist(), MOST_KEPT)].tolist())
    for documents in _in_parts(wrong[chosen], len(classes)):
        towards, away = places[predicted[documents]], places[labels[documents]]
        for document, pulls in zip(documents.tolist(), _pulls(model, counted(documents), towards, away), strict=True):
            pair = int(labels[document]), int(predicted[document])
            found.add(MistakeWords({document: pulls} if document in confident else {}, {pair: pulls}, Counter([pair])))
    found.pairs = {pair: _strongest(pulls) for pair, pulls in found.pairs.items()}
    found.mistakes = {document: _strongest(pulls) for document, pulls in found.mistakes.items()}
    return found


def varied(labels: Sequence[Any], predicted: Sequence[Any], most: int) -> list[int]:
    """Return places of mistakes to show, in order: the first ones, but of no pair of classes more than its turn.

    Examples
    --------
    Six times the same pair, and then another one: the sixth waits.

    >>> varied("aaaaaab", "bbbbbba", 6)
    [0, 1, 2, 3, 4, 6]
    """
    nth: Counter[tuple[Any, Any]] = Counter()
    turns = []
    for place, pair in enumerate(zip(labels, predicted, strict=True)):
        turns.append((nth[pair] // IN_A_ROW, place))
        nth[pair] += 1
    return sorted(place for _, place in sorted(turns)[:most])


def _chosen(labels: ClassNumbers, predicted: ClassNumbers) -> NDArray[np.int64]:
    """Return which mistakes are explained: those to show, and then the first of each pair, frequent pairs first."""
    pairs = list(zip(labels.tolist(), predicted.tolist(), strict=True))
    sizes = Counter(pairs)
    nth: Counter[tuple[int, int]] = Counter()
    ranks = []
    shown = set(varied(labels.tolist(), predicted.tolist(), MOST_KEPT))
    for place, pair in enumerate(pairs):
        is_first = place in shown
        if is_first or nth[pair] < MOST_OF_PAIR:
            ranks.append((not is_first, -sizes[pair], place))
        nth[pair] += 1
    return np.array(sorted(place for *_, place in sorted(ranks)[:MOST_EXPLAINED]), np.int64)


def _places(known: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the position of each class among those of a model; one after the last if it is none of them."""
    numbers = {str(label): number for number, label in enumerate(known.tolist())}
    return np.array([numbers.get(str(label), len(known)) for label in classes.tolist()], np.int64)


def _in_parts(documents: NDArray[np.int64], n_classes: int) -> list[NDArray[np.int64]]:
    """Return documents some at a time, so that the contributions of all words to all classes fit into memory."""
    size = max(1, AT_ONCE // (1000 * n_classes))
    return [documents[start : start + size] for start in range(0, len(documents), size)]


def _pulls(
    model: TrainedModel, documents: CountedDocuments, towards: NDArray[np.int64], away: NDArray[np.int64]
) -> list[Pulls]:
    """Return the pull of each word of each document, towards one class and away from another."""
    batch = batch_of(documents)
    unseen = model.table.unseen_rows(documents.vocabulary.unseen)
    added = class_scores(model.table.contributions(batch, unseen))
    added = np.concatenate([added, np.zeros((len(added), 1))], axis=1)  # of a class that the model does not know
    of_document, entries = batch.documents(), np.arange(len(added))
    pulls = added[entries, towards[of_document]] - added[entries, away[of_document]]
    found: list[Pulls] = [{} for _ in range(len(documents))]
    for document, term, pull in zip(of_document.tolist(), batch.words.tolist(), pulls.tolist(), strict=True):
        word = documents.vocabulary.name(term)  # a tokeniser may give a word that is spelled like a bigram
        found[document][word] = found[document].get(word, 0.0) + pull
    return found


def _strongest(pulls: Pulls) -> Pulls:
    """Return the words that pull most, either way."""
    return dict(sorted(pulls.items(), key=lambda item: -abs(item[1]))[:MOST_WORDS])
