"""Fit the parts of a score and learn the share of each, on documents that a fit has not seen.

The parts err differently: together they are better than each, if each gets the share that it deserves, down to none.
So documents are held out in turn, every part is fitted on the others, and the shares are those that make the summed
scores of the documents held out most likely. They are few, so that some thousand documents are enough to learn them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from tfcr.features.blocks import Block
from tfcr.features.cross_fit import BlocksOf, cross_fitted, make_blocks_from, spread_folds
from tfcr.features.matrix import score_blocks
from tfcr.heads import FittedHead, Head, Targets, fit_head
from tfcr.heads.newton import FAIR, ROUGH, NewtonHead
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import CountedDocuments

FOLDS = 5
ENOUGH_DOCUMENTS = 10_000
"""After so many documents are held out, no more are: the shares are known well enough."""
PICKING_DOCUMENTS = 2_500
"""So many documents held out, and at most two folds of them, are enough to pick the strength of a part."""
PULL = 1e-3
"""How strongly shares are drawn to 0, so that they stay finite where all is told apart."""
LEANING_FOLDS = 2
"""So many folds are enough where there is one part, and only how far to lean is learned from them."""
LEANINGS = np.linspace(-0.6, 0.6, 25)
"""How much scores may lean to frequent classes, in logarithms of their frequency; below 0, to rare ones."""
LEANING_COST = 0.005
"""What leaning by 1 must gain in macro-F1 on documents held out: where it gains little, it may be chance."""

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class PartToFit:
    """A part: what makes its blocks, the heads to pick one of, whether it sees pairs of words, folds to cross-fit."""

    name: str
    blocks: BlocksOf
    heads: Sequence[Head]
    uses_bigrams: bool = False
    cross_fit: int = 0
    seed: int = 0


@dataclass(frozen=True)
class Mixture:
    """What the parts add up to, the share of each in scores that vary alike, and whether pairs of words have a part."""

    blocks: list[Block]
    fitted: FittedHead
    shares: dict[str, float]
    uses_bigrams: bool


class Lesson(NamedTuple):
    """What is learned from: documents, and what they are to be taken for."""

    documents: CountedDocuments
    targets: Targets
    max_memory: int

    def seen_by(self, part: PartToFit) -> "Lesson":
        """Return it as a part sees it: with pairs of words, or without."""
        return self if part.uses_bigrams else self._replace(documents=self.documents.without_bigrams())


def fit_parts(
    parts: Sequence[PartToFit], lesson: Lesson, counts: ClassCounts, start: FittedHead | None = None, seed: int = 0
) -> Mixture:
    """Fit all parts and add them up; one part with one head is fitted as it is.

    Parameters
    ----------
    parts
        One or more.
    lesson
        The documents to learn from.
    counts
        Those of the same documents.
    start
        What was learned from a like problem; for one part only.
    seed
        For which documents are held out.
    """
    seen = [lesson.seen_by(part) for part in parts]
    if len(parts) == 1 and len(parts[0].heads) == 1:
        [part], [head] = parts, parts[0].heads
        made = part.blocks(seen[0].documents, lambda: counts)
        return Mixture(made, _fit(part, head, seen[0], made, start), {part.name: 1.0}, part.uses_bigrams)
    learned = _rehearse(parts, seen, seed)
    used = np.flatnonzero(learned.shares).tolist()
    blocks = {number: parts[number].blocks(seen[number].documents, lambda: counts) for number in used}
    fits = [_fit(parts[number], _within(learned.heads[number], FAIR), seen[number], blocks[number]) for number in used]
    together = _added_up(fits, (learned.shares / learned.spreads)[used], learned.offsets)
    named = {part.name: float(share) for part, share in zip(parts, learned.shares, strict=True)}
    uses_bigrams = any(parts[number].uses_bigrams for number in used)
    return Mixture([block for number in used for block in blocks[number]], together, named, uses_bigrams)


class _Learned(NamedTuple):
    """What documents held out tell: each part's head, its share and how much its scores vary; what each class gets."""

    heads: list[Head]
    shares: NDArray[np.float64]
    spreads: NDArray[np.float64]
    offsets: NDArray[np.float64]


def _rehearse(parts: Sequence[PartToFit], lessons: Sequence[Lesson], seed: int) -> _Learned:
    targets = lessons[0].targets
    folds = _held_out(lessons[0].documents, targets, seed)
    rehearsals = [_Rehearsal(part, lesson, folds) for part, lesson in zip(parts, lessons, strict=True)]
    picked = [rehearsal.pick_head() for rehearsal in rehearsals]
    heads = [part.heads[number] for part, number in zip(parts, picked, strict=True)]
    if not folds:
        return _Learned(heads, np.ones(len(parts)), np.ones(len(parts)), np.zeros(targets.n_outputs))
    n_folds = len(folds) if len(parts) > 1 else min(LEANING_FOLDS, len(folds))
    truth = targets.rows(np.concatenate(folds[:n_folds]))
    scores = [rehearsal.scores(number, n_folds) for rehearsal, number in zip(rehearsals, picked, strict=True)]
    spreads = np.array([_spread(part) for part in scores])
    scaled = [part / spread for part, spread in zip(scores, spreads, strict=True)]
    shares = learn_part_weights(scaled, truth)
    return _Learned(heads, shares, spreads, lean(np.tensordot(shares, np.stack(scaled), 1), truth, targets))


def _fit(
    part: PartToFit, head: Head, lesson: Lesson, blocks: Sequence[Block], start: FittedHead | None = None
) -> FittedHead:
    documents, targets = lesson.documents, lesson.targets
    known = documents, targets.labels, targets.sample_weight
    cuts = cross_fitted(part.blocks, blocks, *known, part.cross_fit, part.seed) if part.cross_fit else ()
    return fit_head(head, documents, blocks, targets, lesson.max_memory, start, cuts)


def _within(head: Head, tolerance: float) -> Head:
    return head.within(tolerance) if isinstance(head, NewtonHead) else head


def _added_up(fits: Sequence[FittedHead], factors: NDArray[np.float64], offsets: NDArray[np.float64]) -> FittedHead:
    """Return the sum of scores, each times its factor, and offsets, as one head over all their columns."""
    return FittedHead(
        coefficients=np.concatenate([fit.coefficients * factor for fit, factor in zip(fits, factors, strict=True)]),
        intercepts=np.sum([fit.intercepts * factor for fit, factor in zip(fits, factors, strict=True)], axis=0)
        + offsets,
        means=np.concatenate([fit.means for fit in fits]),
        link="multinomial",
    )


# documents held out ------------------------------------------------------------------------------------------------


def _held_out(documents: CountedDocuments, targets: Targets, seed: int) -> list[NDArray[np.int64]]:
    """Return the documents to hold out together, no more than are needed."""
    folds = spread_folds(documents, targets.labels, FOLDS, seed)
    enough = int(np.searchsorted(np.cumsum([len(some) for some in folds]), ENOUGH_DOCUMENTS)) + 1
    return folds[:enough]


@dataclass(frozen=True)
class _Rehearsal:
    """A part fitted without the documents of each fold and tried on these; no fit is done twice."""

    part: PartToFit
    lesson: Lesson
    folds: Sequence[NDArray[np.int64]]
    _known: dict[tuple[int, int], Scores] = field(default_factory=dict)

    def pick_head(self) -> int:
        """Return the number of the head that makes the documents held out most likely, at the best share for it.

        Heads stand in the order of their strength, and the loss has one valley: it is walked down from the middle.
        """
        at, last = len(self.part.heads) // 2, len(self.part.heads) - 1
        if not last or not self.folds:
            return at
        truth = self.lesson.targets.rows(np.concatenate(self.folds[: self.n_picking]))

        @cache
        def loss(head: int) -> float:
            scores = self.scores(head, self.n_picking)
            scaled = [scores / _spread(scores)]
            return _loss(learn_part_weights(scaled, truth), _per_class(scaled), truth)[0]

        while at > 0 and loss(at - 1) < loss(at):
            at -= 1
        while at < last and loss(at + 1) < loss(at):
            at += 1
        return at

    @property
    def n_picking(self) -> int:
        """How many folds are enough to pick a head by."""
        return 1 if len(self.folds[0]) >= PICKING_DOCUMENTS else min(2, len(self.folds))

    def scores(self, head: int, n_folds: int) -> Scores:
        """Return the scores of the documents held out, fold by fold; (n_documents, n_outputs)."""
        for fold in range(n_folds):
            if (head, fold) not in self._known:
                self._known[head, fold] = self._try(self.part.heads[head], self.folds[fold])
        return np.concatenate([self._known[head, fold] for fold in range(n_folds)])

    def _try(self, head: Head, fold: NDArray[np.int64]) -> Scores:
        rest = np.setdiff1d(np.arange(len(self.lesson.documents)), fold)
        seen = Lesson(self.lesson.documents.rows(rest), self.lesson.targets.rows(rest), self.lesson.max_memory)
        blocks = make_blocks_from(self.part.blocks, seen.documents, seen.targets.labels, seen.targets.sample_weight)
        fitted = _fit(self.part, _within(head, ROUGH), seen, blocks)
        asked = self.lesson.documents.rows(fold)
        return score_blocks(asked, blocks, fitted.coefficients, fitted.means, fitted.intercepts)


def _spread(scores: Scores) -> float:
    return max(float(scores.std()), 1e-12)


# shares ------------------------------------------------------------------------------------------------------------


def learn_part_weights(scores: Sequence[Scores], truth: Targets) -> NDArray[np.float64]:
    """Return the share of each part, 0 or more, that makes the classes most likely, each class counting the same.

    Parameters
    ----------
    scores
        Of each part, over documents that it was not fitted on; (n_documents, n_outputs).
    truth
        The classes of these documents.
    """
    stacked = _per_class(scores)
    found = minimize(
        _loss, np.ones(len(scores)), (stacked, truth), "L-BFGS-B", jac=True, bounds=[(0, None)] * len(scores)
    )
    shares: NDArray[np.float64] = found.x
    return shares if shares.any() else np.ones(len(scores))


def _per_class(scores: Sequence[Scores]) -> Scores:
    """Return scores as (n_parts, n_documents, n_classes); the one output of two classes is half for, half against."""
    stacked = np.stack(scores)
    return np.concatenate([-stacked / 2, stacked / 2], axis=2) if stacked.shape[2] == 1 else stacked


def _loss(shares: NDArray[np.float64], stacked: Scores, truth: Targets) -> tuple[float, NDArray[np.float64]]:
    """Return how unlikely the classes are by the softmax of the summed scores, and its slope along each share."""
    weights = truth.document_weights() / truth.document_weights().sum()
    own = stacked[:, np.arange(len(truth.labels)), truth.labels]
    summed = np.tensordot(shares, stacked, 1)
    likely = np.exp(summed - logsumexp(summed, axis=1, keepdims=True))
    loss = weights @ (logsumexp(summed, axis=1) - shares @ own) + PULL * shares @ shares
    slope = (np.einsum("pnk,nk->pn", stacked, likely) - own) @ weights + 2 * PULL * shares
    return float(loss), slope


# frequent and rare classes -----------------------------------------------------------------------------------------


def lean(scores: Scores, truth: Targets, training: Targets) -> NDArray[np.float64]:
    """Return what to add to each output so that frequent and rare classes are found alike, by macro-F1.

    One number is learned, how far to lean to frequent classes or to rare ones, where classes are to count the same.

    Parameters
    ----------
    scores
        Of documents held out; (n_documents, n_outputs).
    truth
        The classes of these.
    training
        Tells how frequent each class is.
    """
    frequency = np.log(np.bincount(training.labels, training.sample_weight, training.n_classes))
    frequency -= frequency.mean()
    if training.n_classes == 2:
        frequency = frequency[1:] - frequency[:1]
    counted = training.class_weight * np.bincount(training.labels, training.sample_weight, training.n_classes)
    if not np.allclose(counted, counted[0]):  # the user wants it otherwise
        return np.zeros_like(frequency)
    gains = [_macro_f1(scores + by * frequency, truth) - LEANING_COST * abs(by) for by in LEANINGS]
    return np.asarray(LEANINGS[int(np.argmax(gains))] * frequency)


def _macro_f1(scores: Scores, truth: Targets) -> float:
    found = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
    pairs = np.bincount(truth.labels * truth.n_classes + found, truth.sample_weight, truth.n_classes**2)
    table = pairs.reshape(truth.n_classes, -1)
    total = table.sum(axis=0) + table.sum(axis=1)
    return float(np.mean(2 * np.diag(table)[total > 0] / total[total > 0]))
