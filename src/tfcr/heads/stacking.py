"""Stacking: fit the parts of a score, and learn the weight of each from out-of-fold scores.

The parts err differently: together they are better than each alone, if each gets the weight it deserves, down to 0. So
each part is fitted without the documents of a fold and scores these, fold by fold. The part weights are those that
make the true classes most likely under the weighted sum of out-of-fold scores. There are few of them, so that some
thousand documents are enough.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from tfcr.decision import Calibration, ClassHits, above, hits_of_members, logits, output_offsets
from tfcr.features.blocks import Block
from tfcr.features.cross_fit import BlockMaker, FoldBlocks, cross_fit_blocks, make_blocks_from, stratified_folds
from tfcr.heads import Examples, FittedHead, Head, Problem, Targets
from tfcr.heads.calibration import fit_calibration
from tfcr.heads.targets import Decisions
from tfcr.system.progress import Tell
from tfcr.text.class_counts import ClassCounts

FOLDS = 5
MAX_OUT_OF_FOLD = 2_000
"""Stop after this many out-of-fold documents, fewer of skewed classes: a handful of part weights and a class offset are
known well enough."""
PICKING_DOCUMENTS = 2_000
"""Out-of-fold documents that are enough to pick the strength of a part."""
OFFSET_FOLDS = 2
"""Folds that are used if there is one part, and only the class offset is learned."""
PICKING_TOLERANCE = 1e-2
"""Tolerance of the solver for out-of-fold scores: enough to compare strengths and to learn part weights."""
PART_TOLERANCE = 1e-3
"""Tolerance for one of several parts: a smaller one is slower and no more accurate on new documents."""
PENALTY = 1e-3
"""L2 penalty on the temperature of scores, so that it stays finite where classes are separable."""
SMALLEST_TEMPERATURE, MAX_TEMPERATURES = 1e-3, 100
"""The least factor of scores, and how many are tried to find the best."""
SHRINKAGE = 0.5
"""Evidence for equal part weights, in documents: a few documents out of fold must not silence a part."""
SMALLEST_WEIGHT = 0.02
"""A part with a smaller fraction of all weight is left out: it costs more than it gives."""
OFFSETS = np.linspace(-0.6, 0.6, 25)
"""Class offsets that are tried, in units of the log frequency of classes; negative ones favour rare classes."""
CERTAIN = 10.0
"""The score of a class that every document has, its negative if none has it: a probability of .99995."""
SWEEPS = 5
"""How often the threshold of each class is tuned, given those of the others."""
RESAMPLES = 50
"""Bootstrap samples that tell the standard error of a difference in macro-F1."""

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class PartToFit:
    """A part, with the heads to pick one of, ordered by strength.

    `supervised`, `cost` and `entries` are those of the Part, and `cross_fit` is the number of folds for cross-fitting.
    """

    name: str
    make_blocks: BlockMaker
    heads: Sequence[Head]
    uses_bigrams: bool = False
    supervised: bool = False
    cross_fit: int = 0
    cost: float = 1.0
    entries: float = 1.0

    def select(self, examples: Examples) -> Examples:
        """Return the examples as this part sees them, with bigrams or without."""
        return examples if self.uses_bigrams else examples._replace(documents=examples.documents.only_words())


@dataclass(frozen=True)
class Stacked:
    """The sum of the fitted parts, and the weight of each part in scores of equal standard deviation.

    `thresholds` are the scores above which each class is assigned if documents have several; None if none were tuned.
    `calibration` makes probabilities of scores; None if there were no out-of-fold scores. `held_out` are such scores
    of all documents, if they were asked for and there can be any.
    """

    blocks: list[Block]
    fitted: FittedHead
    part_weights: dict[str, float]
    uses_bigrams: bool
    thresholds: NDArray[np.float64] | None = None
    calibration: Calibration | None = None
    held_out: "HeldOut | None" = None


class HeldOut(NamedTuple):
    """Scores of documents by classifiers that did not see them, and their targets; (n_documents, n_outputs)."""

    scores: Scores
    truth: Targets


def fit_parts(
    parts: Sequence[PartToFit],
    examples: Examples,
    counts: ClassCounts,
    *,
    max_memory: int,
    start: FittedHead | None = None,
    seed: int = 0,
    hold_out: bool = False,
    tell: Tell = lambda name, fraction: None,
) -> Stacked:
    """Fit all parts and add them up; a single part with a single head is fitted without stacking.

    Parameters
    ----------
    parts
        One or more.
    examples
        The training documents and their targets.
    counts
        The class counts of the same documents.
    max_memory
        Bytes that the features of a part may take.
    start
        The solution of a similar problem; for a single part only.
    seed
        Of the split into folds.
    hold_out
        Whether out-of-fold scores of all documents are wanted; there is stacking then in any case.
    tell
        Called before each fit.
    """
    expected = [
        expected_fits(len(examples.documents), len(parts), len(part.heads), hold_out=hold_out) for part in parts
    ]
    steps = Steps(parts, expected, tell)
    if len(parts) == 1 and len(parts[0].heads) == 1 and not hold_out:
        [part], [head] = parts, parts[0].heads
        fit = PartFit(part, part.select(examples), counts, max_memory, seed)
        steps.begin("fitting", part)
        fitted = with_constants(fit.fit(head, start), examples.targets)
        return Stacked([*fit.problem.blocks], fitted, {part.name: 1.0}, part.uses_bigrams)
    fits = [PartFit(part, part.select(examples), counts, max_memory, seed) for part in parts]
    plan = _learn_stacking(fits, examples, seed, steps, hold_out=hold_out)
    used = np.flatnonzero(plan.weights).tolist()
    left = {number: fits[number] for number in reversed(used)}
    del fits  # the features of a part are large, and not needed once it is fitted
    fitted_parts: list[FittedHead] = []
    blocks: list[Block] = []
    while left:
        number, fit = left.popitem()
        steps.begin("fitting", parts[number])
        fitted_parts.append(fit.fit(plan.heads[number].with_tolerance(PART_TOLERANCE)))
        blocks += fit.problem.blocks
        del fit
    summed = weighted_sum(fitted_parts, (plan.weights / plan.scales)[used], plan.offsets)
    return Stacked(
        blocks=blocks,
        fitted=with_constants(summed, examples.targets),
        part_weights={part.name: float(weight) for part, weight in zip(parts, plan.weights, strict=True)},
        uses_bigrams=any(parts[number].uses_bigrams for number in used),
        thresholds=plan.thresholds,
        calibration=plan.calibration,
        held_out=plan.held_out,
    )


def expected_fits(n_documents: int, n_parts: int, n_heads: int, *, hold_out: bool = False) -> float:
    """Return about how many fits of a part there will be, out of fold and the last; see `fit_parts`.

    A fit without a fold counts as one, the last as FOLDS / (FOLDS - 1): it sees all documents.
    """
    last = FOLDS / (FOLDS - 1)
    if n_parts == 1 and n_heads == 1 and not hold_out:
        return last
    enough, picking = _enough_folds(n_documents), _picking_folds(n_documents, n_heads)
    n_folds = FOLDS if hold_out else max(picking, enough if n_parts > 1 else min(enough, OFFSET_FOLDS))
    return expected_picking(n_documents, n_heads) + (n_folds - picking) + last


def expected_picking(n_documents: int, n_heads: int) -> float:
    """Return about how many fits there will be to pick one of a part's heads."""
    tried = min(n_heads, 3)  # the search descends from the middle, and sees both neighbours
    return tried * _picking_folds(n_documents, n_heads)


def _enough_folds(n_documents: int) -> int:
    return min(FOLDS, -(-MAX_OUT_OF_FOLD // max(n_documents // FOLDS, 1)))


def _picking_folds(n_documents: int, n_heads: int) -> int:
    fold = max(n_documents // FOLDS, 1)
    return min(_enough_folds(n_documents), -(-PICKING_DOCUMENTS // fold)) if n_heads > 1 else 0


class Steps:
    """Tells what is fitted next, and the fraction of the expected work that is done.

    Parameters
    ----------
    parts, expected
        The parts, and about how many fits of each there will be.
    tell
        Called with what is done next, and that fraction.
    """

    def __init__(self, parts: Sequence[PartToFit], expected: Sequence[float], tell: Tell) -> None:
        self.tell = tell
        self.total = sum(part.cost * fits for part, fits in zip(parts, expected, strict=True))
        self.name = ""
        self.done = self.next = self.told = 0.0

    def begin(self, doing: str, part: PartToFit, share: float = 1.0) -> None:
        """Tell that a part is fitted next, on this share of the documents."""
        self.done += self.next
        self.next = part.cost * share
        self.name = f"{doing} {part.name}"
        self.within(0.0)

    def within(self, fraction: float) -> None:
        """Tell how much of the fit is done; it never goes backwards."""
        self.told = min(max(self.told, (self.done + fraction * self.next) / self.total), 1.0)
        self.tell(self.name, self.told)


@dataclass(frozen=True)
class PartFit:
    """A part together with what it is fitted on."""

    part: PartToFit
    examples: Examples
    counts: ClassCounts
    max_memory: int
    seed: int

    @cached_property
    def known(self) -> "_KnownDuals":
        """Where the next fit begins."""
        return _KnownDuals()

    @cached_property
    def problem(self) -> Problem:
        """What heads are fitted on, made of all documents."""
        documents = self.examples.documents
        return self.with_blocks(self.part.make_blocks(documents, lambda: self.counts))

    def with_blocks(self, blocks: Sequence[Block]) -> Problem:
        """Return what heads are fitted on, with these blocks of all documents."""
        documents = self.examples.documents
        folds = self._cross_fit(blocks, np.arange(len(documents))) if self.part.cross_fit else ()
        return Problem(self.examples, blocks, self.max_memory, folds)

    def fit(self, head: Head, start: FittedHead | None = None) -> FittedHead:
        """Fit a head on all documents."""
        return self.problem.solve(head, start, self.known.nearest(head) if start is None else None)

    def without(self, fold: NDArray[np.int64]) -> "_Fold":
        """Return the part without the documents of a fold, to be fitted and to score these.

        If its blocks depend on labels, they are made without those of the fold; otherwise all folds share them.
        """
        return _Fold(self._problem_without(fold) if self.part.supervised else self.problem, fold, self.known)

    def _problem_without(self, fold: NDArray[np.int64]) -> Problem:
        documents, targets = self.examples
        rest = np.setdiff1d(np.arange(len(documents)), fold)
        labels, weights = targets.labels[rest], targets.sample_weight[rest]
        blocks = make_blocks_from(self.part.make_blocks, documents.rows(rest), labels, weights)
        folds = [*self._cross_fit(blocks, rest), FoldBlocks(fold, blocks)] if self.part.cross_fit else ()
        return Problem(Examples(documents, targets.without(fold)), blocks, self.max_memory, folds)

    def _cross_fit(self, blocks: Sequence[Block], rows: NDArray[np.int64]) -> list[FoldBlocks]:
        """Return some documents fold by fold, with the blocks that the others of them give."""
        documents, targets = self.examples.rows(rows)
        made = cross_fit_blocks(
            self.part.make_blocks, blocks, documents, targets.labels, targets.sample_weight,
            self.part.cross_fit, self.seed,
        )  # fmt: skip
        return [FoldBlocks(rows[fold.rows], fold.blocks) for fold in made]


class _KnownDuals:
    """The dual variables of a part's fits, where the next one begins: most of its documents are the same."""

    def __init__(self) -> None:
        self.of_heads: dict[Head, NDArray[np.float32]] = {}
        self.last: NDArray[np.float32] | None = None

    def nearest(self, head: Head) -> NDArray[np.float32] | None:
        """Return those of the last fit of the same head, or of any."""
        return self.of_heads.get(_at_any_tolerance(head), self.last)

    def remember(self, head: Head, duals: NDArray[np.float32] | None, fold: NDArray[np.int64]) -> None:
        """Keep those of a fit without a fold, and for the fold those of the fit before."""
        before = self.nearest(head)
        if duals is not None and before is not None:
            duals[fold] = before[fold]
        if duals is not None:
            self.of_heads[_at_any_tolerance(head)] = duals
        self.last = duals


def _at_any_tolerance(head: Head) -> Head:
    return head.with_tolerance(PICKING_TOLERANCE)


@dataclass(frozen=True)
class _Fold:
    """The documents of a fold, and the problem that the others make."""

    problem: Problem
    rows: NDArray[np.int64]
    known: _KnownDuals

    def scores(self, head: Head) -> Scores:
        """Fit a head without the fold, and return the scores of its documents; (n_documents, n_outputs)."""
        scores, duals = self.problem.score_out_of_fold(head, self.rows, self.known.nearest(head))
        self.known.remember(head, duals, self.rows)
        return scores


def weighted_sum(fits: list[FittedHead], factors: NDArray[np.float64], offsets: NDArray[np.float64]) -> FittedHead:
    """Return the sum of scores, each times its factor, plus offsets, as one head over all columns; `fits` is emptied.

    Coefficients are float32 if those of one part are: of many terms and classes, a second copy would not fit.
    """
    bounds = [0, *np.cumsum([len(fit.means) for fit in fits]).tolist()]
    dtype = min((fit.coefficients.dtype for fit in fits), key=lambda dtype: dtype.itemsize)
    means = np.concatenate([fit.means for fit in fits])
    intercepts = np.sum([fit.intercepts * factor for fit, factor in zip(fits, factors, strict=True)], axis=0)
    coefficients = np.empty((bounds[-1], len(intercepts)), dtype) if len(fits) > 1 else fits[0].coefficients
    for (start, end), factor in zip(pairwise(bounds), factors.tolist(), strict=True):
        part = fits.pop(0).coefficients
        np.multiply(part, factor, out=coefficients[start:end], casting="same_kind")
        del part
    return FittedHead(coefficients, intercepts + offsets, means, "multinomial")


def with_constants(fitted: FittedHead, targets: Targets) -> FittedHead:
    """Return a head that always assigns the classes that every document has, and never those that none has."""
    signs = targets.constant_signs()
    if not signs.any():
        return fitted
    coefficients = np.where(signs == 0, fitted.coefficients, 0)
    intercepts = np.where(signs == 0, fitted.intercepts, CERTAIN * signs)
    return replace(fitted, coefficients=coefficients, intercepts=intercepts)


# out-of-fold scores ------------------------------------------------------------------------------------------------


class Stacking(NamedTuple):
    """The result of stacking: picked heads, part weights, scales and offsets.

    Attributes
    ----------
    heads
        The head picked for each part.
    weights, scales
        The weight of each part, and the standard deviation that its scores are divided by; (n_parts,).
    offsets
        What to add to each output; (n_outputs,).
    thresholds
        Of several labels: the score above which each class is assigned; (n_classes,).
    calibration
        What makes probabilities of the sum; None without out-of-fold scores.
    held_out
        The sum for all documents, out of fold, if it was asked for.
    """

    heads: list[Head]
    weights: NDArray[np.float64]
    scales: NDArray[np.float64]
    offsets: NDArray[np.float64]
    thresholds: NDArray[np.float64] | None = None
    calibration: Calibration | None = None
    held_out: HeldOut | None = None


def _learn_stacking(
    fits: Sequence[PartFit], examples: Examples, seed: int, steps: Steps, *, hold_out: bool
) -> Stacking:
    targets = examples.targets
    every_fold = stratified_folds(examples.documents.only_words(), targets.labels, FOLDS, seed)
    folds = enough_folds(every_fold, targets)
    out_of_fold = [OutOfFold(fit, folds, steps.begin) for fit in fits]
    picked = [part.pick_head() for part in out_of_fold]
    heads = [fit.part.heads[number] for fit, number in zip(fits, picked, strict=True)]
    no_offsets = np.zeros(targets.n_outputs)
    if not folds:
        return Stacking(heads, np.ones(len(fits)), np.ones(len(fits)), no_offsets)
    n_folds = len(folds) if len(fits) > 1 else max(min(OFFSET_FOLDS, len(folds)), out_of_fold[0].n_known(picked[0]))
    truth = targets.rows(np.concatenate(folds[:n_folds]))
    scores = [part.scores(number, n_folds) for part, number in zip(out_of_fold, picked, strict=True)]
    n_documents = len(targets.labels)
    plan = weigh_parts(heads, scores, truth, targets, n_documents / (n_documents - len(folds[0])))
    if not hold_out:
        return plan
    held_out = [
        weight / scale * replace(part, folds=every_fold).scores(number, len(every_fold))
        for part, number, weight, scale in zip(out_of_fold, picked, plan.weights, plan.scales, strict=True)
        if weight
    ]
    truth = targets.rows(np.concatenate(every_fold))
    return plan._replace(held_out=HeldOut(np.sum(held_out, axis=0) + plan.offsets, truth))


def weigh_parts(
    heads: list[Head], scores: Sequence[Scores], truth: Targets, training: Targets, more: float = 1.0
) -> Stacking:
    """Learn the weight of each part, class offset or thresholds, and the calibration, from scores out of fold.

    Parameters
    ----------
    heads
        The head of each part.
    scores
        Of each part, for documents that it was not trained on; (n_documents, n_outputs).
    truth
        The targets of these documents.
    training
        Those of all training documents.
    more
        How many times as many documents the final classifier is trained on.
    """
    scales = np.array([standard_deviation(part) for part in scores])
    scaled = [part / scale for part, scale in zip(scores, scales, strict=True)]
    weights = not_worse_than_one(learn_part_weights(scaled, truth), scaled, truth)
    summed = np.tensordot(weights, np.stack(scaled), 1)
    offsets = np.zeros(training.n_outputs) if training.several else tune_class_offset(summed, truth, training)
    summed += offsets
    return Stacking(
        heads=heads,
        weights=weights,
        scales=scales,
        offsets=offsets,
        thresholds=tune_thresholds(summed, truth, training) if training.several else None,
        calibration=fit_calibration(summed, truth, training, more),
    )


def enough_folds(folds: Sequence[NDArray[np.int64]], targets: Targets) -> Sequence[NDArray[np.int64]]:
    """Return as many of the folds as stacking needs."""
    # folds of 1,500 documents: 1,500 and 3,000 in all; the second reaches 2,000, so two are enough
    counted = np.cumsum([len(fold) for fold in folds]) * balance(targets.class_totals())
    return folds[: int(np.searchsorted(counted, MAX_OUT_OF_FOLD)) + 1]


def balance(class_totals: NDArray[np.float64]) -> float:
    """Return how much less skewed classes tell about macro-F1 than as many documents of classes of equal size.

    Its variance is the mean of the classes' variances, each as 1 / documents of the class: K² / (n · Σ 1 / n_k).

    >>> balance(np.array([50.0, 50.0])), round(balance(np.array([90.0, 10.0])), 2)
    (1.0, 0.36)
    """
    sizes = class_totals[class_totals > 0]  # of several labels, a class may have no document
    return float(len(sizes) ** 2 / (sizes.sum() * (1 / sizes).sum()))


@dataclass(frozen=True)
class OutOfFold:
    """The out-of-fold scores of a part with each of its heads; no fit is done twice."""

    fit: PartFit
    folds: Sequence[NDArray[np.int64]]
    begin: Callable[[str, PartToFit], None] = lambda doing, part: None
    _known: dict[tuple[int, int], Scores] = field(default_factory=dict)

    def pick_head(self) -> int:
        """Return the number of the head with the least out-of-fold loss, at the best part weight for it.

        Heads are ordered by strength, and the loss has one minimum: the search descends from the middle.
        """
        at, last = len(self.fit.part.heads) // 2, len(self.fit.part.heads) - 1
        if not last or not self.folds:
            return at
        truth = self.fit.examples.targets.rows(np.concatenate(self.folds[: self.n_picking]))
        problems = [self.fit.without(fold) for fold in self.folds[: self.n_picking]]  # features serve all strengths

        @cache
        def loss(head: int) -> float:
            for number, problem in enumerate(problems):
                self._score(head, number, "picking C of", problem)
            scores = self.scores(head, self.n_picking)
            return least_loss(scores / standard_deviation(scores), truth)

        while at > 0 and loss(at - 1) < loss(at):
            at -= 1
        while at < last and loss(at + 1) < loss(at):
            at += 1
        return at

    @property
    def n_picking(self) -> int:
        """The number of folds used to pick a head."""
        sizes = np.cumsum([len(fold) for fold in self.folds])
        return min(len(sizes), int(np.searchsorted(sizes, PICKING_DOCUMENTS)) + 1)

    def n_known(self, head: int) -> int:
        """Return the number of folds whose scores with a head are known."""
        return sum(known == head for known, _ in self._known)

    def scores(self, head: int, n_folds: int) -> Scores:
        """Return the scores of the first folds' documents, fold by fold; (n_documents, n_outputs)."""
        return np.concatenate([self._score(head, fold, "stacking") for fold in range(n_folds)])

    def _score(self, head: int, fold: int, doing: str, problem: _Fold | None = None) -> Scores:
        if (head, fold) not in self._known:
            self.begin(doing, self.fit.part)
            rough = self.fit.part.heads[head].with_tolerance(PICKING_TOLERANCE)
            self._known[head, fold] = (problem or self.fit.without(self.folds[fold])).scores(rough)
        return self._known[head, fold]


def standard_deviation(scores: Scores) -> float:
    """Return the standard deviation of scores, above 0."""
    return max(float(scores.std()), 1e-12)


# part weights ------------------------------------------------------------------------------------------------------


def learn_part_weights(scores: Sequence[Scores], truth: Targets) -> NDArray[np.float64]:
    """Return the weight of each part, at least 0, that makes the true classes most likely.

    Equal weights are assumed until documents speak for others: the squared distance from them, relative to their size,
    costs as much as SHRINKAGE documents. Their size is what the mean of the parts deserves, or the best part alone: a
    part that misleads must not make all weights small. A part whose weight is almost 0 is left out.

    Parameters
    ----------
    scores
        The out-of-fold scores of each part; (n_documents, n_outputs).
    truth
        The classes of these documents; the roots of class weights count.
    """
    stacked = logits(np.stack(scores))
    size = max(_temperature(some, truth) for some in (stacked.mean(axis=0), *stacked))
    equal = np.full(len(scores), size / len(scores))
    weights = _shrunk_weights(stacked, truth, equal)
    kept = weights >= SMALLEST_WEIGHT * weights.sum()
    if not kept.all():
        weights = np.zeros(len(scores))
        weights[kept] = _shrunk_weights(stacked[kept], truth, equal[kept])
    return weights


def least_loss(scores: Scores, truth: Targets) -> float:
    """Return the loss of out-of-fold scores at their best temperature."""
    alone = logits(scores)
    return truth.loss(np.array([_temperature(alone, truth)]), truth.ahead(alone[None]))[0]


def _temperature(summed: Scores, truth: Targets) -> float:
    """Return the factor, above 0, that makes the true classes most likely under one part's logits.

    The penalised loss is convex: Newton's method finds its minimum, within the factors known to be too small and too
    large.
    """
    [ahead] = truth.ahead(summed[None])
    factor, low, high = 1.0, SMALLEST_TEMPERATURE, np.inf
    for _ in range(MAX_TEMPERATURES):
        slope, curvature = truth.slope_and_curvature(factor, ahead)
        slope, curvature = slope + 2 * PENALTY * factor, curvature + 2 * PENALTY
        low, high = (low, factor) if slope > 0 else (factor, high)
        moved = float(np.clip(factor - slope / curvature, max(factor / 4, SMALLEST_TEMPERATURE), factor * 4))
        if not low <= moved <= high:
            moved = (low + high) / 2
        if abs(moved - factor) <= 1e-6 * factor:
            return moved
        factor = moved
    return factor


def _shrunk_weights(stacked: Scores, truth: Targets, equal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights with the least loss, plus the cost of their distance from equal ones."""
    cost = SHRINKAGE / len(truth.labels)
    ahead = truth.ahead(stacked)

    def penalised(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = truth.loss(weights, ahead)
        distance = weights / equal - 1
        return loss + cost * float(distance @ distance), gradient + 2 * cost * distance / equal

    found = minimize(penalised, equal, method="L-BFGS-B", jac=True, bounds=[(0, None)] * len(equal))
    return np.asarray(found.x if found.x.any() else equal)


def not_worse_than_one(weights: NDArray[np.float64], scores: Sequence[Scores], truth: Targets) -> NDArray[np.float64]:
    """Return the part weights, or those of a single part that alone has a higher macro-F1 out of fold beyond chance."""
    summed = truth.decide(np.tensordot(weights, np.stack(scores), 1))
    alone = [truth.decide(part) for part in scores]
    best = int(np.argmax([truth.macro_f1(decisions) for decisions in alone]))
    if len(scores) == 1 or not _gains(alone[best], summed, truth):
        return weights
    return np.where(np.arange(len(weights)) == best, _temperature(logits(scores[best]), truth), 0.0)


# class offset, and thresholds of several labels --------------------------------------------------------------------


def _is_balanced(training: Targets) -> bool:
    """Return whether all classes have the same weight in all; else the user wants something else than macro-F1."""
    totals = training.class_totals()
    balanced = (training.class_weight * totals)[totals > 0]
    return bool(np.allclose(balanced, balanced[0]))


def tune_class_offset(scores: Scores, truth: Targets, training: Targets) -> NDArray[np.float64]:
    """Return what to add to each output to raise macro-F1, where classes are balanced.

    One number is tuned: a multiple of the classes' log frequency, which favours frequent or rare classes. It stays 0
    unless it gains more macro-F1 than one standard error.

    Parameters
    ----------
    scores
        Out-of-fold scores; (n_documents, n_outputs).
    truth
        The classes of these documents.
    training
        The targets of all training documents, for the frequency of each class.
    """
    totals = training.class_totals()
    log_frequency = output_offsets(np.log(totals) - np.log(totals).mean())
    if not _is_balanced(training):
        return np.zeros_like(log_frequency)
    offsets = sorted(OFFSETS, key=abs)  # of several that are as good, the smallest
    winners = [truth.decide(scores + offset * log_frequency) for offset in offsets]
    best = int(np.argmax([truth.macro_f1(some) for some in winners]))
    if not _gains(winners[best], truth.decide(scores), truth):
        return np.zeros_like(log_frequency)
    return np.asarray(offsets[best] * log_frequency)


def _gains(one: Decisions, other: Decisions, truth: Targets) -> bool:
    """Return whether one set of decisions has a higher macro-F1, by more than a standard error of the difference."""
    if np.array_equal(one, other):
        return False
    random = np.random.default_rng(0)
    n_documents = len(truth.labels)
    differences = []
    for _ in range(RESAMPLES):
        drawn = random.integers(n_documents, size=n_documents)
        some = truth.rows(drawn)
        differences.append(some.macro_f1(one[drawn]) - some.macro_f1(other[drawn]))
    return truth.macro_f1(one) - truth.macro_f1(other) > float(np.std(differences))


def tune_thresholds(scores: Scores, truth: Targets, training: Targets) -> NDArray[np.float64]:
    """Return the score of each class above which it is assigned, where classes are balanced; (n_classes,).

    Each class has the threshold of its largest F1, and so of the largest macro-F1, among those that cost no micro-F1:
    else rare classes would be assigned far too often. It stays 0 unless it gains more macro-F1 than one standard error.

    Parameters
    ----------
    scores
        Out-of-fold scores; (n_documents, n_classes).
    truth
        The classes of these documents, several each.
    training
        The targets of all training documents.
    """
    thresholds = np.zeros(truth.n_outputs)
    if not _is_balanced(training):
        return thresholds
    varying = np.flatnonzero(truth.constant_signs() == 0).tolist()
    natural = above(scores)
    least_micro = hits_of_members(truth.labels, natural, truth.sample_weight).micro_f1()
    for _ in range(SWEEPS):
        before = thresholds.copy()
        for number in varying:
            hits = hits_of_members(truth.labels, above(scores - thresholds), truth.sample_weight)
            found = _best_threshold(scores[:, number], truth, number, hits, least_micro)
            thresholds[number] = thresholds[number] if found is None else found
        if np.array_equal(thresholds, before):
            break
    tuned = above(scores - thresholds)
    for number in varying:
        other = tuned.copy()
        other[:, number] = natural[:, number]
        if not _gains(tuned, other, truth):
            thresholds[number] = 0
    return thresholds


def _best_threshold(scores: Scores, truth: Targets, number: int, hits: ClassHits, least_micro: float) -> float | None:
    """Return the threshold of one class with the largest F1, half-way between two scores; None if none is allowed.

    Scores of 3, 2, 1 for documents of the class, another, the class: with the first one assigned, F1 is 2/3, with two
    1/2, with all 4/5; the threshold is below all three.

    Parameters
    ----------
    scores
        Of this class; (n_documents,).
    truth, number
        The classes of the documents, and the number of this one.
    hits
        Those of all classes, at their present thresholds.
    least_micro
        What micro-F1 must not fall below.
    """
    weights = truth.sample_weight
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    right, assigned = np.cumsum((weights * truth.labels[:, number])[order]), np.cumsum(weights[order])
    others = np.arange(len(hits.right)) != number
    micro = 2 * (hits.right[others].sum() + right) / (hits.true.sum() + hits.assigned[others].sum() + assigned)
    ends = np.append(ranked[:-1] > ranked[1:], True)  # equal scores are assigned together
    allowed = ends & (micro >= least_micro * (1 - 1e-12))
    if not allowed.any():
        return None
    last = int(np.argmax(np.where(allowed, 2 * right / (hits.true[number] + assigned), -1)))
    following = ranked[last + 1] if last + 1 < len(ranked) else ranked[last] - 1
    return float((ranked[last] + following) / 2)
