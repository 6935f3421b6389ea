"""Fit the parts of a score and learn the share of each, on documents that a fit has not seen.

The parts err differently: together they are better than each, if each gets the share that it deserves, down to none.
So documents are held out in turn, every part is fitted on the others, and the shares are those that make the summed
scores of the documents held out most likely. They are few, so that some thousand documents are enough to learn them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from tfcr.blocks import Block
from tfcr.counts import ClassCounts, DocumentWords
from tfcr.heads import FittedHead, Head, Targets, fit_head
from tfcr.heads.newton import NewtonHead
from tfcr.wordtable import collapse

FOLDS = 5
ENOUGH_DOCUMENTS = 10_000
"""After so many documents are held out, no more are: the shares are known well enough."""
PICKING_FOLDS = 2
"""Folds that the strength of each part is picked on."""
PULL = 1e-3
"""How strongly shares are drawn to 0, so that they stay finite where all is told apart."""

Scores = NDArray[np.float64]
BlocksOf = Callable[[DocumentWords, ClassCounts], list[Block]]


@dataclass(frozen=True)
class Contestant:
    """A part: what makes its blocks, the heads to pick one of, and whether it sees pairs of words."""

    name: str
    blocks: BlocksOf
    heads: Sequence[Head]
    of_pairs: bool = False


@dataclass(frozen=True)
class Mixture:
    """What the parts add up to, and the share of each; shares of scores that vary by 1 over documents not seen."""

    blocks: list[Block]
    fitted: FittedHead
    shares: dict[str, float]


class Lesson(NamedTuple):
    """What is learned from: documents, and what they are to be taken for."""

    documents: DocumentWords
    targets: Targets
    max_memory: int

    def seen_by(self, part: Contestant) -> "Lesson":
        """Return it as a part sees it: with pairs of words, or without."""
        return self if part.of_pairs else self._replace(documents=self.documents.without_pairs())


def fit_parts(
    parts: Sequence[Contestant], lesson: Lesson, counts: ClassCounts, start: FittedHead | None = None, seed: int = 0
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
    lessons = [lesson.seen_by(part) for part in parts]
    if len(parts) == 1 and len(parts[0].heads) == 1:
        made = parts[0].blocks(lessons[0].documents, counts)
        return Mixture(made, _fit(parts[0].heads[0], lessons[0], made, start), {parts[0].name: 1.0})
    folds = _held_out(lesson.targets, seed)[: None if len(parts) > 1 else PICKING_FOLDS]
    heads = [_pick_head(part, seen, folds[:PICKING_FOLDS]) for part, seen in zip(parts, lessons, strict=True)]
    truth = lesson.targets.rows(np.concatenate(folds))
    scores = [
        _out_of_fold(part.blocks, head, seen, folds) for part, head, seen in zip(parts, heads, lessons, strict=True)
    ]
    spreads = [max(float(part.std()), 1e-12) for part in scores]
    shares = learn_shares([part / spread for part, spread in zip(scores, spreads, strict=True)], truth)
    used = np.flatnonzero(shares).tolist()
    blocks = {number: parts[number].blocks(lessons[number].documents, counts) for number in used}
    fits = [_fit(heads[number], lessons[number], blocks[number], None) for number in used]
    together = _added_up(fits, [shares[number] / spreads[number] for number in used])
    named = {part.name: float(share) for part, share in zip(parts, shares, strict=True)}
    return Mixture([block for number in used for block in blocks[number]], together, named)


def _fit(head: Head, lesson: Lesson, blocks: Sequence[Block], start: FittedHead | None) -> FittedHead:
    return fit_head(head, lesson.documents, blocks, lesson.targets, lesson.max_memory, start)


def _added_up(fits: Sequence[FittedHead], factors: Sequence[float]) -> FittedHead:
    """Return the sum of scores, each times its factor, as one head over all their columns."""
    return FittedHead(
        coefficients=np.concatenate([fit.coefficients * factor for fit, factor in zip(fits, factors, strict=True)]),
        intercepts=np.sum([fit.intercepts * factor for fit, factor in zip(fits, factors, strict=True)], axis=0),
        means=np.concatenate([fit.means for fit in fits]),
        link="multinomial",
    )


# documents held out ------------------------------------------------------------------------------------------------


def _held_out(targets: Targets, seed: int) -> list[NDArray[np.int64]]:
    """Return the documents to hold out together, each class spread evenly; no class is held out as a whole.

    The only document of a class is never held out.
    """
    order = np.random.default_rng(seed).permutation(len(targets.labels))
    order = order[np.argsort(targets.labels[order], kind="stable")]
    sizes = np.bincount(targets.labels, minlength=targets.n_classes)
    within = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    fold = (within + targets.labels[order]) % FOLDS  # small classes do not all begin with the first fold
    fold[sizes[targets.labels[order]] < 2] = -1
    folds = [np.sort(order[fold == number]) for number in range(FOLDS)]
    enough = int(np.searchsorted(np.cumsum([len(some) for some in folds]), ENOUGH_DOCUMENTS)) + 1
    return [some for some in folds[: max(enough, PICKING_FOLDS)] if len(some)]


def _out_of_fold(blocks: BlocksOf, head: Head, lesson: Lesson, folds: Sequence[NDArray[np.int64]]) -> Scores:
    """Return the scores of the documents held out; (n_held_out, n_outputs)."""
    return np.concatenate(list(_scores_of_folds(blocks, head, lesson, folds)))


def _scores_of_folds(
    blocks: BlocksOf, head: Head, lesson: Lesson, folds: Sequence[NDArray[np.int64]]
) -> Iterator[Scores]:
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(lesson.documents)), fold)
        seen = Lesson(lesson.documents.rows(rest), lesson.targets.rows(rest), lesson.max_memory)
        weight = seen.targets.sample_weight
        words = seen.documents.without_pairs()
        counts = ClassCounts.from_documents(words, seen.targets.labels, sample_weight=weight)
        made = blocks(seen.documents, counts)
        fitted = _fit(head.rough() if isinstance(head, NewtonHead) else head, seen, made, None)
        yield collapse(seen.documents, weight, made, fitted).decision(lesson.documents.rows(fold))


def _pick_head(part: Contestant, lesson: Lesson, folds: Sequence[NDArray[np.int64]]) -> Head:
    """Return the head that makes the documents held out most likely, at the share that is best for it.

    Heads stand in the order of their strength, and the loss has one valley: it is walked down from the middle.
    """
    truth = lesson.targets.rows(np.concatenate(folds))

    @cache
    def loss(number: int) -> float:
        scores = _out_of_fold(part.blocks, part.heads[number], lesson, folds)
        scaled = [scores / max(float(scores.std()), 1e-12)]
        return _loss(learn_shares(scaled, truth), _per_class(scaled), truth)[0]

    at, last = len(part.heads) // 2, len(part.heads) - 1
    while at > 0 and loss(at - 1) < loss(at):
        at -= 1
    while at < last and loss(at + 1) < loss(at):
        at += 1
    return part.heads[at]


# shares ------------------------------------------------------------------------------------------------------------


def learn_shares(scores: Sequence[Scores], truth: Targets) -> NDArray[np.float64]:
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
