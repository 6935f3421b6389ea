"""The classifier that learns while people label: the preset ``fast``, on texts that are counted once."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.classifier import TfcrClassifier
from tfcr.errors import InputError, TfcrWarning
from tfcr.labelling.choosing import Numbers
from tfcr.labelling.pool import Pool
from tfcr.text.class_counts import check_targets
from tfcr.trained.model import TrainedModel

PRESET = "fast"


def train(pool: Pool, numbers: Sequence[int] | Numbers, labels: Sequence[Any]) -> TrainedModel | None:
    """Return a classifier trained on some texts of the pool; None if their labels cannot be learned from.

    Parameters
    ----------
    pool
        All texts.
    numbers
        The positions of the texts that have labels.
    labels
        Their labels: text, or tuples of several.
    """
    if not len(numbers):
        return None
    given = [list(label) if isinstance(label, tuple) else label for label in labels]
    classifier = TfcrClassifier.from_preset(PRESET)
    with warnings.catch_warnings():  # of single classes and empty texts, which is no wonder with few answers
        warnings.simplefilter("ignore", TfcrWarning)
        try:
            targets = check_targets(given, len(given))
            documents = pool.documents.rows(np.asarray(numbers, np.int64))
            return classifier.fit_counted(documents, targets, np.ones(len(given)), None).model_
        except InputError:  # one class only, or texts without words
            return None


def scores_of(model: TrainedModel, pool: Pool, numbers: Numbers) -> NDArray[np.float64]:
    """Return the scores of some texts of the pool; (n_texts, n_outputs)."""
    return model.score_counted(pool.documents.rows(numbers))


def surenesses(model: TrainedModel, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how sure a model is of each text; (n_texts,).

    That is how far the best class is ahead of the second; of several labels, how far the closest class is from its
    threshold. Scores are those that labels are picked by, in which rare classes count as much as frequent ones.
    """
    margins = model.decision.margins(scores)
    if model.decision.several:
        return np.asarray(np.abs(margins).min(axis=1))
    two = np.partition(margins, -2, axis=1)
    return np.asarray(two[:, -1] - two[:, -2])


def assigned_to(model: TrainedModel, scores: NDArray[np.float64]) -> list[Any]:
    """Return the label of each text, or a tuple of several."""
    found = model.decision.labels(scores)
    return [tuple(labels) for labels in found] if model.decision.several else found.tolist()
