"""How good the labels so far make a classifier: macro-F1 on new texts of the corpus, with an interval.

Texts that were chosen because a classifier was unsure of them are harder than others, so that a score on them would be
too low; and texts that it was trained on would make it too high. So only texts that were drawn at random count, each
predicted by a classifier that was trained on all answers but a fifth of these. No other text was chosen because of
their labels: see `choosing`.

Few texts are drawn, and a rare class may have two of them. What is known beyond them is which label the classifier
gives to every text of the corpus. The unknown is how often each of these labels is right, and what else it should have
been::

    label given    texts of the corpus    drawn at random    of these: sport, politics
    sport                 70 %                  21                   18         3
    politics              30 %                   9                    1         8

How often each label is right is drawn from a beta distribution: what the drawn texts say, and what those of the other
labels say of labels in general, as far as labels are alike (a hierarchical beta-binomial model: their mean and how
alike they are is drawn from a grid, by the likelihood of the counts). What wrong ones should have been is drawn from a
Dirichlet distribution. Each draw gives a macro-F1; the interval holds 95 % of them. A bootstrap of the drawn texts
would be too narrow: a class that is right in two of two texts is right in all resamples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from tfcr.labelling.learner import assigned_to, scores_of, train
from tfcr.labelling.pool import Pool

FOLDS = 5
DRAWS = 2_000
MOST_NUMBERS = 4_000_000
"""Numbers that are drawn at once; with many classes there are fewer draws."""
LEAST_DRAWS = 200
LEAST_SAMPLE = 10
"""Texts drawn at random before anything is said."""
MEANS = np.linspace(0.025, 0.975, 39)
"""How often labels may be right in the mean."""
ALIKE = 2.0 ** np.arange(-1, 6)
"""How alike labels may be: what is known of labels in general counts as so many texts of each."""
WRONG = 1.0
"""Texts that all classes together are worth which a wrong label should have been, before any is seen."""
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """An estimated macro-F1 with its 95 % interval, after so many answers, from so many texts drawn at random."""

    answers: int
    sample: int
    macro_f1: float
    low: float
    high: float


Counts = NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """What an estimate is made of.

    Attributes
    ----------
    counts
        Texts drawn at random, by the label that was predicted, a row, and the true one; (n_classes, n_classes). Of
        several labels: for each class, by whether it was predicted and whether it is true; (n_classes, 2, 2).
    shares
        The fraction of all texts that have each label by the classifier; (n_classes,).
    """

    counts: Counts
    shares: NDArray[np.float64]


def gather_evidence(
    pool: Pool,
    known: dict[int, Any],
    sample: Sequence[int],
    classes: Sequence[str],
    predicted: Sequence[Any],
) -> Evidence | None:
    """Return what the texts drawn at random say; None if no classifier can be trained without a fifth of them.

    Parameters
    ----------
    pool
        All texts.
    known
        The labels that are known, by position.
    sample
        Those of them that were drawn at random.
    classes
        All classes.
    predicted
        What the classifier that is to be judged predicts, for all texts or a fair sample of them.
    """
    places = {label: place for place, label in enumerate(classes)}
    found: dict[int, Any] = {}
    for fold in range(min(FOLDS, len(sample))):
        held_out = list(sample[fold::FOLDS])
        rest = {number: label for number, label in known.items() if number not in set(held_out)}
        model = train(pool, list(rest), list(rest.values()))
        if model is None:
            return None
        labels = assigned_to(model, scores_of(model, pool, np.array(held_out, np.int64)))
        found |= dict(zip(held_out, labels, strict=True))
    if any(isinstance(label, tuple) for label in known.values()):
        return _several_evidence(known, found, places, predicted)
    counts = np.zeros((len(places), len(places)))
    for number, label in found.items():
        counts[places[label], places[known[number]]] += 1
    shares = np.bincount([places[label] for label in predicted], minlength=len(places)) / len(predicted)
    return Evidence(counts, shares)


def _several_evidence(
    known: dict[int, Any], found: dict[int, Any], places: dict[str, int], predicted: Sequence[Any]
) -> Evidence:
    counts = np.zeros((len(places), 2, 2))
    for number, labels in found.items():
        for label, place in places.items():
            counts[place, int(label in labels), int(label in known[number])] += 1
    shares = np.zeros(len(places))
    for labels in predicted:
        shares[[places[label] for label in labels]] += 1
    return Evidence(counts, shares / len(predicted))


def estimate_macro_f1(evidence: Evidence, seed: int = 0) -> tuple[float, float, float]:
    """Return the estimated macro-F1, and the bounds of its interval."""
    draw = _draw_one_label if evidence.counts.ndim == 2 else _draw_several
    n_classes = len(evidence.shares)
    size = n_classes**2 if evidence.counts.ndim == 2 else n_classes
    n_draws = int(np.clip(MOST_NUMBERS // size, LEAST_DRAWS, DRAWS))
    drawn = draw(evidence, n_draws, np.random.default_rng(seed)).mean(axis=1)
    low, middle, high = np.quantile(drawn, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
    return float(middle), float(low), float(high)


def _draw_one_label(evidence: Evidence, n_draws: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return F1 of each class in each draw; (n_draws, n_classes)."""
    counts, shares = evidence.counts, evidence.shares
    n_classes, right = len(shares), np.diagonal(counts)
    precision = draw_fractions(right, counts.sum(axis=1) - right, n_draws, random)
    instead = np.where(np.eye(n_classes), 0, counts + WRONG / max(n_classes - 1, 1))
    gammas = random.standard_gamma(np.broadcast_to(instead, (n_draws, n_classes, n_classes)))
    gammas /= np.maximum(gammas.sum(axis=2, keepdims=True), 1e-300)
    missed = np.einsum("dj,djk->dk", shares * (1 - precision), gammas)
    hits = shares * precision
    return np.asarray(2 * hits / np.maximum(shares + hits + missed, 1e-12))


def _draw_several(evidence: Evidence, n_draws: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Return F1 of each class in each draw; each class is assigned or not, and true or not."""
    counts, shares = evidence.counts, evidence.shares
    missed, precision = (
        draw_fractions(some[:, 1], some[:, 0], n_draws, random) for some in (counts[:, 0], counts[:, 1])
    )
    hits = shares * precision
    return np.asarray(2 * hits / np.maximum(shares + hits + (1 - shares) * missed, 1e-12))


def draw_fractions(yes: Counts, no: Counts, n_draws: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Draw the fraction of each group, after so many yes and no in it; groups are as alike as they look.

    Groups of 8 and 1, 9 and 0, 0 and 0: the last is probably high too. Of 9 and 0, 0 and 8, 0 and 0, nothing is known
    of the last.

    Returns
    -------
    fractions
        (n_draws, n_groups).
    """
    mean, alike = (grid.ravel() for grid in np.meshgrid(MEANS, ALIKE))
    like_yes, like_no = mean * alike, (1 - mean) * alike
    # Jeffreys' prior of the mean
    log = -0.5 * (np.log(mean) + np.log(1 - mean))
    for of_yes, of_no in zip(yes.tolist(), no.tolist(), strict=True):
        log = log + betaln(of_yes + like_yes, of_no + like_no) - betaln(like_yes, like_no)
    chances = np.exp(log - log.max())
    drawn = random.choice(len(mean), n_draws, p=chances / chances.sum())[:, None]
    return np.asarray(random.beta(yes + like_yes[drawn], no + like_no[drawn]))
