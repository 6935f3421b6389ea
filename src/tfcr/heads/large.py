"""Fitting the parts of a score on any number of documents, in memory or in shards.

Few documents are fitted by `stacking`, which scores all of them out of fold. Of many documents, some are enough to
learn what is learned out of fold, and the same in memory and in shards:

- the strengths are picked on a sample;
- some documents of the sample are held out of the fit on all others: their scores tell the part weights, the class
  offset and the probabilities of the very classifier that is kept.

The sample are the documents with the smallest hashes of their counts, class by class: it does not depend on their
order, nor on how they are divided into shards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.features.blocks import Block
from tfcr.features.cross_fit import make_blocks_from, stratified_folds
from tfcr.features.pieces import Layout, whole_piece
from tfcr.heads.base import Examples, FittedHead, Head
from tfcr.heads.ridge import RidgeHead
from tfcr.heads.sharded import START, STEP, fit_sharded
from tfcr.heads.stacking import (
    FOLDS,
    HeldOut,
    OutOfFold,
    PartFit,
    PartToFit,
    Scores,
    Stacked,
    Steps,
    enough_folds,
    expected_picking,
    fit_parts,
    weigh_parts,
    weighted_sum,
    with_constants,
)
from tfcr.system.checkpoints import NO_CHECKPOINTS, Checkpoints
from tfcr.system.hardware import return_memory
from tfcr.system.progress import Tell
from tfcr.text.class_counts import ClassCounts
from tfcr.text.shards import ShardedDocuments

STRENGTH, FITTED = "strength", "fitted"
"""Names of checkpoints of a part."""
SAMPLE_DOCUMENTS = 100_000
"""Documents up to which all are used for everything."""
LEAST_SAMPLE = 20_000
"""Documents up to which that is so in any case; and in a sample, if there are more."""
SAMPLE_ENTRIES = 10_000_000
"""Sparse features that all documents of a larger sample have: some hundred megabytes while a part is fitted."""
HELD_OUT = 10_000
"""Documents that are held out: enough for a handful of part weights, an offset and the probabilities of some dozen
classes."""
TOLERANCE = 1e-4
"""Of the last fit: so small that it makes no difference whether documents lie in memory or in shards."""
LEAST_OF_CLASS = 50
"""Documents of a class that the sample has at the least, if there are so many."""


class Sample(NamedTuple):
    """Some of the documents, by ascending numbers; and which of these are held out of the fit, by their positions."""

    rows: NDArray[np.int64]
    held: NDArray[np.int64]


@dataclass(frozen=True)
class Fitted:
    """The sum of the fitted parts, and the size of the sample that strengths were picked on; None if it was not one."""

    stacked: Stacked
    sample: int | None = None
    held_out: int = 0


def fit_documents(
    parts: Sequence[PartToFit],
    examples: Examples,
    counts: ClassCounts,
    *,
    max_memory: int,
    start: FittedHead | None = None,
    seed: int = 0,
    hold_out: bool = False,
    tell: Tell = lambda name, fraction: None,
) -> Fitted:
    """Fit all parts and add them up; for the parameters see `fit_parts`. Documents may lie in shards."""
    documents = examples.documents
    words = int(documents.only_words().document_frequencies().sum())
    most = sample_size(len(documents), words * max(part.entries for part in parts))
    if len(documents) <= most:
        if isinstance(documents, ShardedDocuments):
            examples = examples.rows(np.arange(len(documents)))
        return Fitted(
            fit_parts(
                parts, examples, counts, max_memory=max_memory, start=start, seed=seed, hold_out=hold_out, tell=tell
            )
        )
    sample = draw_sample(examples, most)
    share = most / len(documents)
    steps = Steps(parts, [share * expected_picking(most, len(part.heads)) + 1 for part in parts], tell)
    if len(parts) == 1 and len(parts[0].heads) == 1 and not hold_out:
        fit = _LargeFit(examples, counts, replace_held(sample), max_memory, seed, steps)
        [part] = parts
        fitted, blocks = fit.fit(part, part.heads[0], start)
        whole = with_constants(fitted, examples.targets)
        return Fitted(Stacked(blocks, whole, {part.name: 1.0}, part.uses_bigrams))
    fit = _LargeFit(examples, counts, sample, max_memory, seed, steps)
    return Fitted(fit.stack(parts, hold_out=hold_out), most, len(sample.held))


def sample_size(n_documents: int, n_entries: float) -> int:
    """Return how many documents a sample may have; `n_entries` are the sparse features of all documents.

    >>> sample_size(10**7, 6 * 10**8), sample_size(10**7, 2 * 10**9), sample_size(10**7, 10**10)
    (100000, 50000, 20000)
    """
    entries = max(1.0, n_entries / max(1, n_documents))
    return int(min(SAMPLE_DOCUMENTS, max(LEAST_SAMPLE, SAMPLE_ENTRIES / entries)))


def draw_sample(examples: Examples, size: int) -> Sample:
    """Return the documents with the smallest hashes of each class, and of these the first to be held out.

    With the classes 0 0 0 0 1 1, hashes 3 1 2 4 6 5 and half of the documents to draw, class 0 has numbers 1 and 2 and
    class 1 number 5; copies of a document have one hash, and are drawn together.
    """
    targets = examples.targets
    labels = targets.labels if targets.labels.ndim == 1 else _first_label(targets.labels)
    keys = _mixed(examples.documents.only_words().content_keys(np.random.default_rng(0)))
    drawn, apart = [], []
    for number in np.unique(labels).tolist():  # one class after the other: of millions of documents, memory is scarce
        rows = np.flatnonzero(labels == number)
        most = min(len(rows), max(round(len(rows) * size / len(labels)), LEAST_OF_CLASS))
        held = min(len(rows) // 2, max(round(most * HELD_OUT / SAMPLE_DOCUMENTS), 1))
        first = np.argpartition(keys[rows], most - 1)[:most]
        ordered = rows[first[np.argsort(keys[rows[first]], kind="stable")]]
        drawn.append(ordered)
        apart.append(ordered[:held])
    rows = np.sort(np.concatenate(drawn))
    return Sample(rows, np.searchsorted(rows, np.sort(np.concatenate(apart))))


def _mixed(keys: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return keys that are as good as random, in place: a sum of few numbers tells how many they are (splitmix64)."""
    mixed = keys.view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _first_label(members: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the first class of each document, and one more for those without any."""
    return np.asarray(np.where(members.any(axis=1), members.argmax(axis=1), members.shape[1]))


def replace_held(sample: Sample) -> Sample:
    """Return the sample with no document held out."""
    return sample._replace(held=np.zeros(0, np.int64))


@dataclass(frozen=True)
class _LargeFit:
    """What the parts are fitted on: all documents but those held out, and the sample in memory."""

    examples: Examples
    counts: ClassCounts
    sample: Sample
    max_memory: int
    seed: int
    steps: Steps

    def stack(self, parts: Sequence[PartToFit], *, hold_out: bool) -> Stacked:
        """Pick the heads, fit the parts, and learn their weights."""
        drawn = self.examples.rows(self.sample.rows)
        heads = [self._pick_head(part, drawn) for part in parts]
        held = drawn.rows(self.sample.held)
        fits, blocks, scores = [], [], []
        for part, head in zip(parts, heads, strict=True):
            fitted, of_part = self.fit(part, head.with_tolerance(TOLERANCE))
            fits.append(fitted)
            blocks.append(of_part)
            scores.append(score_documents(fitted, of_part, part.select(held)))
        plan = weigh_parts(heads, scores, held.targets, self.examples.targets)
        used = np.flatnonzero(plan.weights).tolist()
        factors = plan.weights / plan.scales
        summed = sum(factors[number] * scores[number] for number in used) + plan.offsets
        fits = [fits[number] for number in used]
        return Stacked(
            blocks=[block for number in used for block in blocks[number]],
            fitted=with_constants(weighted_sum(fits, factors[used], plan.offsets), self.examples.targets),
            part_weights={part.name: float(weight) for part, weight in zip(parts, plan.weights, strict=True)},
            uses_bigrams=any(parts[number].uses_bigrams for number in used),
            thresholds=plan.thresholds,
            calibration=plan.calibration,
            held_out=HeldOut(summed, held.targets) if hold_out else None,
        )

    def _pick_head(self, part: PartToFit, drawn: Examples) -> Head:
        """Return the head with the least out-of-fold loss on the sample."""
        if len(part.heads) == 1:
            return part.heads[0]
        kept = self._checkpoints(part)
        known = kept.read(STRENGTH)
        if known is None:
            known = {"number": np.array([self._best_head(part, drawn)])}
            kept.write(STRENGTH, known)
        return part.heads[int(known["number"][0])]

    def _best_head(self, part: PartToFit, drawn: Examples) -> int:
        documents, targets = part.select(drawn)
        counts = ClassCounts.from_documents(documents, targets.labels, sample_weight=targets.sample_weight)
        folds = stratified_folds(drawn.documents.only_words(), targets.labels, FOLDS, self.seed)
        fit = PartFit(part, Examples(documents, targets), counts, self.max_memory, self.seed)
        begin = partial(self.steps.begin, share=len(self.sample.rows) / len(self.examples.documents))
        return OutOfFold(fit, enough_folds(folds, targets), begin).pick_head()

    def _checkpoints(self, part: PartToFit) -> Checkpoints:
        """Return where results of a part are kept, to be resumed from; only with documents in shards."""
        documents = self.examples.documents
        if not isinstance(documents, ShardedDocuments):
            return NO_CHECKPOINTS
        return documents.places.checkpoints.within(part.name)

    def fit(self, part: PartToFit, head: Head, start: FittedHead | None = None) -> tuple[FittedHead, list[Block]]:
        """Fit a part on all documents that are not held out; return it with its blocks."""
        self.steps.begin("fitting", part)
        return_memory()  # what picking has freed
        held = self.sample.rows[self.sample.held]
        documents, targets = part.select(self.examples)
        targets = targets.without(held)
        if part.supervised and len(held):  # class weights must not know the labels of documents held out
            blocks = make_blocks_from(part.make_blocks, documents, targets.labels, targets.sample_weight)
        else:
            blocks = part.make_blocks(documents, lambda: self.counts)
        if not isinstance(documents, ShardedDocuments):
            fit = PartFit(part, Examples(documents, targets), self.counts, self.max_memory, self.seed)
            if isinstance(head, RidgeHead):  # its strength is picked on the same documents as in shards
                head = RidgeHead(left_out=self.sample.rows)
            return fit.with_blocks(blocks).solve(head, start), list(blocks)
        if part.cross_fit:
            raise InputError(
                f"found cross_fit={part.cross_fit}, and documents that do not fit into memory; expected cross_fit=0, "
                "or a larger max_memory"
            )
        kept = self._checkpoints(part)
        fitted = _known_fit(kept)
        if fitted is None:
            drawn = Examples(documents, targets).rows(self.sample.rows)
            fitted = fit_sharded(
                head, Examples(documents, targets), blocks, drawn, self.max_memory, kept, self.steps.within
            )
            _keep_fit(kept, fitted)
        return fitted, list(blocks)


def _known_fit(kept: Checkpoints) -> FittedHead | None:
    """Return the fitted head of an earlier run; None if there is none."""
    known = kept.read(FITTED)
    if known is None:
        return None
    return FittedHead(known["coefficients"], known["intercepts"], known["means"], known["link"].tobytes().decode())


def _keep_fit(kept: Checkpoints, fitted: FittedHead) -> None:
    """Keep a fitted head, and forget the steps that led there."""
    arrays = {"coefficients": fitted.coefficients, "intercepts": fitted.intercepts, "means": fitted.means}
    kept.write(FITTED, {**arrays, "link": np.frombuffer(fitted.link.encode(), np.uint8)})
    kept.forget(START, STEP)


def score_documents(fitted: FittedHead, blocks: Sequence[Block], examples: Examples) -> Scores:
    """Return the scores of documents in memory; (n_documents, n_outputs)."""
    layout = Layout(blocks, fitted.means, np.ones(len(fitted.intercepts)))
    features, columns = layout.features(whole_piece(examples.documents))
    coefficients = np.vstack([fitted.coefficients, fitted.intercepts]).astype(np.float32)
    return features.times(coefficients[columns]).astype(np.float64)
