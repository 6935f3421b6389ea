"""What all heads share: solutions, and which output sees which columns."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.features.blocks import Block, column_starts
from tfcr.features.cross_fit import FoldBlocks
from tfcr.features.matrix import Features, ScaledFeatures, features_of_views, is_sparse
from tfcr.heads.targets import Targets
from tfcr.system.hardware import check_fits, memory_limit
from tfcr.text.shards import Documents, in_memory

SOLVER_BYTES = 16
"""Memory for each coefficient: in float64, and what stacking or a solver holds beside it."""


class Examples(NamedTuple):
    """Counted documents to learn from, and their targets."""

    documents: Documents
    targets: Targets

    def rows(self, rows: NDArray[np.int64]) -> "Examples":
        """Return some of the examples."""
        return Examples(self.documents.rows(rows), self.targets.rows(rows))


@dataclass(frozen=True)
class Solution:
    """Coefficients (n_columns, n_outputs) and intercepts (n_outputs,) of linear scores; `link` is a name of LINKS.

    `duals` are the dual variables of the documents, if the head has any; float32 (n_documents, n_outputs).
    """

    coefficients: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    link: str
    duals: NDArray[np.float32] | None = None


class Head(Protocol):
    """A linear classifier on top of the features."""

    @property
    def has_strength(self) -> bool:
        """Whether the regularisation strength C means anything to it."""

    @property
    def takes_sparse(self) -> bool:
        """Whether it can learn from sparse features with as many columns as there are terms."""

    def outputs_together(self, features: Features) -> int | None:
        """Return how many outputs are best fitted together, if each is fitted by itself; None: all of them."""

    def solve(
        self,
        features: Features,
        targets: Targets,
        outputs: Sequence[int],
        start: Solution | None = None,
        duals: NDArray[np.float32] | None = None,
    ) -> Solution:
        """Fit these outputs; `start` is the solution of a similar problem, or `duals` its dual variables, if known."""

    def with_tolerance(self, tolerance: float) -> "Head":
        """Return the same head with another tolerance of its solver, or itself if it has none."""


@dataclass(frozen=True)
class FittedHead:
    """Coefficients for features as they are, neither centred nor scaled.

    Attributes
    ----------
    coefficients
        (n_columns, n_outputs), 0 where an output does not see a column; float64, or float32 if all blocks are sparse.
    intercepts
        float64 (n_outputs,): the scores of a document whose features are `means`.
    means
        The mean of each column over the training documents, without empty blocks; float64 (n_columns,).
    link
        A name of LINKS.
    duals
        The dual variables of the training documents, if the head has any; float32 (n_documents, n_outputs).
    """

    coefficients: NDArray[Any]
    intercepts: NDArray[np.float64]
    means: NDArray[np.float64]
    link: str
    duals: NDArray[np.float32] | None = None


def fit_head(
    head: Head,
    examples: Examples,
    blocks: Sequence[Block],
    max_memory: int | None = None,
    start: FittedHead | None = None,
    fold_blocks: Sequence[FoldBlocks] = (),
) -> FittedHead:
    """Fit each output on the blocks it sees; outputs that see the same blocks are fitted together.

    Parameters
    ----------
    head
        The classifier.
    examples, blocks, max_memory, fold_blocks
        See `Problem`.
    start
        The solution of a similar problem: another strength, fewer documents. It is ignored if its shape differs.
    """
    return Problem(examples, blocks, max_memory, fold_blocks).solve(head, start)


@dataclass(frozen=True)
class Problem:
    """What heads are fitted on; features that all outputs share are made once for several heads.

    Attributes
    ----------
    examples
        The training documents, counted over the terms of the blocks, and their targets.
    blocks
        What the features are.
    max_memory
        Bytes that features may take; larger ones are computed on demand.
    fold_blocks
        Where features are cross-fitted: the blocks of each fold; see `cross_fit_blocks`.
    """

    examples: Examples
    blocks: Sequence[Block]
    max_memory: int | None = None
    fold_blocks: Sequence[FoldBlocks] = ()

    def solve(
        self, head: Head, start: FittedHead | None = None, duals: NDArray[np.float32] | None = None
    ) -> FittedHead:
        """Fit a head; see `fit_head`. `duals` are dual variables to begin with; (n_documents, n_outputs)."""
        targets = self.examples.targets
        means, intercepts = np.zeros(self._n_columns), np.zeros(targets.n_outputs)
        # those of terms are many, and end up in a table of float32
        dtype = np.float32 if all(is_sparse(block) for block in self.blocks) else np.float64
        coefficients = np.zeros((self._n_columns, targets.n_outputs), dtype)
        if start is not None and start.coefficients.shape != coefficients.shape:
            start = None
        found = []
        for (outputs, seen), scaled in zip(self._views, self._features(), strict=True):
            columns = _columns_of(self.blocks, seen)
            columns = columns if scaled.columns is None else columns[scaled.columns]
            means[columns] = scaled.means
            for some in _groups(outputs, head.outputs_together(scaled.features)):
                place = np.ix_(columns, np.array(some))
                known = None if start is None else _scaled_start(start, place, some, scaled.scale)
                solution = _solve(head, scaled, targets, some, known, duals)
                found.append(solution.duals)
                coefficients[place] = solution.coefficients / scaled.scale
                intercepts[some] = solution.intercepts
        return FittedHead(coefficients, intercepts, means, solution.link, _side_by_side(found))

    def score_out_of_fold(
        self, head: Head, fold: NDArray[np.int64], duals: NDArray[np.float32] | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float32] | None]:
        """Fit a head without the documents of a fold, and return their scores and all dual variables.

        The features are made once, for all folds and all heads: the documents of the fold have the weight 0.
        """
        targets = self.examples.targets.without(fold)
        scores = np.empty((len(fold), targets.n_outputs))
        found = []
        for (outputs, _), scaled in zip(self._views, self._features(), strict=True):
            held_out = scaled.features.select(fold)
            for some in _groups(outputs, head.outputs_together(scaled.features)):
                solution = _solve(head, scaled, targets, some, None, duals)
                found.append(solution.duals)
                coefficients = np.vstack([solution.coefficients, solution.intercepts]).astype(np.float32)
                scores[:, some] = held_out.times(coefficients)
        return scores, _side_by_side(found)

    @cached_property
    def _n_columns(self) -> int:
        n_columns, n_outputs = column_starts(self.blocks)[-1], self.examples.targets.n_outputs
        check_fits(
            SOLVER_BYTES * n_columns * n_outputs,
            f"coefficients of {n_columns:,} features for {n_outputs:,} classes",
            "for vectors, use blocks='own' or fewer dimensions; for words, a larger min_count; or fewer classes",
        )
        return n_columns

    @cached_property
    def _views(self) -> list[tuple[list[int], list[int]]]:
        return _views(self.blocks, self.examples.targets.n_outputs)

    def _features(self) -> Iterable[ScaledFeatures]:
        """Return the features of each view: those of several views one after the other, since all would not fit."""
        return self._shared if len(self._views) == 1 else self._make_features()

    @cached_property
    def _shared(self) -> list[ScaledFeatures]:
        return list(self._make_features())

    def _make_features(self) -> Iterator[ScaledFeatures]:
        limit = memory_limit() if self.max_memory is None else self.max_memory
        seen_blocks = [seen for _, seen in self._views]
        documents, weights = in_memory(self.examples.documents), self.examples.targets.sample_weight
        return features_of_views(documents, self.blocks, seen_blocks, weights, limit, self.fold_blocks)


def _groups(outputs: list[int], size: int | None) -> list[list[int]]:
    """Return the outputs in groups of that size, the last of which may be smaller.

    >>> _groups([0, 1, 2, 3, 4], 2), _groups([0, 1, 2], None)
    ([[0, 1], [2, 3], [4]], [[0, 1, 2]])
    """
    size = size or len(outputs)
    return [outputs[first : first + size] for first in range(0, len(outputs), size)]


def _solve(
    head: Head,
    scaled: ScaledFeatures,
    targets: Targets,
    outputs: Sequence[int],
    start: Solution | None,
    duals: NDArray[np.float32] | None,
) -> Solution:
    """Fit some outputs; `duals` are those of all outputs."""
    solution = head.solve(scaled.features, targets, outputs, start, None if duals is None else duals[:, outputs])
    _check_finite(solution)
    return solution


def _side_by_side(duals: Sequence[NDArray[np.float32] | None]) -> NDArray[np.float32] | None:
    known = [some for some in duals if some is not None]
    return np.concatenate(known, axis=1) if len(known) == len(duals) else None


def _check_finite(solution: Solution) -> None:
    """Raise InputError for a solution that would give NaN for every text, without a word."""
    if not (np.isfinite(solution.coefficients).all() and np.isfinite(solution.intercepts).all()):
        raise InputError(
            "the head found no finite coefficients; expected sample weights, class weights and C that differ less: "
            "divide the weights by their mean"
        )


def _scaled_start(start: FittedHead, place: Any, outputs: list[int], scale: float) -> Solution:
    return Solution(start.coefficients[place] * scale, start.intercepts[outputs], start.link)


def _views(blocks: Sequence[Block], n_outputs: int) -> list[tuple[list[int], list[int]]]:
    """Return groups of outputs with the numbers of the blocks that they see.

    Blocks seen by the outputs 0, 1 and all of two outputs give ([0], [0, 2]) and ([1], [1, 2]).
    """
    if all(block.output is None for block in blocks):
        return [(list(range(n_outputs)), list(range(len(blocks))))]
    return [
        ([output], [number for number, block in enumerate(blocks) if block.output in (None, output)])
        for output in range(n_outputs)
    ]


def _columns_of(blocks: Sequence[Block], numbers: Sequence[int]) -> NDArray[np.int64]:
    starts = column_starts(blocks)
    return np.concatenate([np.arange(starts[number], starts[number + 1]) for number in numbers])
