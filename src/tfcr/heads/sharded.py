"""Heads fitted on documents that lie in shards: the same optimum as in memory, by sums over shards.

Each pass reads every shard once. A sample in memory, solved first, gives a start close to the optimum: its objective is
that of all documents, if each of the sample stands for as many as there are. Of few columns, it also gives about the
Hessian, which makes conjugate gradients short.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from tfcr.errors import InputError
from tfcr.features.blocks import Block
from tfcr.features.matrix import Matrix, gram
from tfcr.features.pieces import Layout, make_layout, whole_piece
from tfcr.heads.base import Examples, FittedHead, Head, Solution, fit_head
from tfcr.heads.newton import (
    MAX_SINGLE,
    LossFunction,
    NewtonHead,
    Vector,
    conjugate_gradients,
    dots,
    minimise_sums,
    squared_hinge_loss,
)
from tfcr.heads.ridge import RidgeHead, solve_gram
from tfcr.heads.sharded_descent import can_descend, descend_shards
from tfcr.heads.targets import Targets
from tfcr.system.array_codec import Arrays
from tfcr.system.checkpoints import NO_CHECKPOINTS, Checkpoints
from tfcr.system.hardware import one_blas_thread, return_memory
from tfcr.system.places import ByPiece, Kept
from tfcr.text.shards import Documents, Piece, ShardedDocuments

START, STEP = "start", "step"
"""Names of checkpoints: where Newton's method starts, and its last step."""
HESSIAN_DOCUMENTS = 20_000
"""Documents of the sample that tell about the Hessian well enough to make conjugate gradients short."""
DIAGONAL = np.float32(0.01)
"""How much of the diagonal of the Hessian goes into its approximation, where there are many columns; the rest is 1, as
in liblinear (Hsia, Chiang and Lin, 2018). On 200,000 documents of 20 classes: 30 products; 37 without it, 61 with a
tenth."""
HESSIAN_COLUMNS = 2_000
"""Columns that an output sees up to which the Hessian of the sample is worth its cost."""


def fit_sharded(
    head: Head,
    examples: Examples,
    blocks: Sequence[Block],
    sample: Examples,
    max_memory: int | None = None,
    checkpoints: Checkpoints = NO_CHECKPOINTS,
    tell: Callable[[float], None] = lambda done: None,
) -> FittedHead:
    """Fit a head on documents in shards.

    Parameters
    ----------
    head
        One that needs no more than sums: ``svm``, ``lr`` or ``ridge``.
    examples, blocks
        The documents, a ShardedDocuments, and what their features are.
    sample
        Some of them, in memory.
    max_memory
        Bytes that the features of the sample may take.
    checkpoints
        Take the coefficients of each step of Newton's method; those of an earlier run are gone on from.
    tell
        Called with about how much of the way to the optimum is done, by `descend_shards`.
    """
    documents, targets = sharded(examples.documents), examples.targets
    layout = make_layout(documents, blocks, targets.sample_weight, targets.n_outputs)
    if isinstance(head, NewtonHead):
        solution = _solve_newton(head, examples, layout, sample, max_memory, checkpoints, tell)
    elif isinstance(head, RidgeHead):
        solution = _solve_ridge(documents, targets, layout, sample)
    else:
        raise InputError(
            "found a scikit-learn head, and documents that do not fit into memory; expected 'svm', 'lr' or 'ridge', or "
            "a larger max_memory"
        )
    return FittedHead(
        layout.unscaled(np.vstack([solution.coefficients, solution.intercepts]), _every(layout))[:-1],
        solution.intercepts,
        layout.means,
        solution.link,
    )


def sharded(documents: Documents) -> ShardedDocuments:
    """Return documents that must lie in shards."""
    if not isinstance(documents, ShardedDocuments):
        raise TypeError(f"found {type(documents).__name__}; expected ShardedDocuments")
    return documents


def by_piece(targets: Targets, documents: ShardedDocuments) -> list[Targets]:
    """Return the targets of the documents of each piece."""
    return [targets.rows(slice(*bounds)) for bounds in pairwise(documents.bounds.tolist())]


def _every(layout: Layout) -> NDArray[np.int64]:
    return np.arange(layout.shape[1])


def _fit_sample(
    head: NewtonHead, examples: Examples, sample: Examples, blocks: Sequence[Block], max_memory: int | None
) -> FittedHead:
    """Fit a head on the sample, each document of which stands for many."""
    return fit_head(replace(head, C=min(head.C * _times_as_many(examples, sample), 1e9)), sample, blocks, max_memory)


def _times_as_many(examples: Examples, sample: Examples) -> float:
    """Return how many documents each of the sample stands for."""
    return float(examples.targets.sample_weight.sum() / sample.targets.sample_weight.sum())


# Newton's method -----------------------------------------------------------------------------------------------------


def _solve_newton(
    head: NewtonHead,
    examples: Examples,
    layout: Layout,
    sample: Examples,
    max_memory: int | None,
    checkpoints: Checkpoints,
    tell: Callable[[float], None],
) -> Solution:
    documents, targets = sharded(examples.documents), examples.targets
    _check_single(head, targets)
    known = _known_step(checkpoints, START)
    start, finished = known or _start(head, examples, layout, sample, max_memory, tell)
    if known is None:
        _keep_step(checkpoints, START, start, finished)
    if finished.all():
        return Solution(start[:-1].astype(np.float64), start[-1].astype(np.float64), head.link)
    return_memory()  # what the descent, or the fit of the sample, has freed
    sums = ShardedSums(head.loss, head.C, documents, targets, layout)
    sums.hessian = _SampleHessian.of(head, layout, sample, start, _times_as_many(Examples(documents, targets), sample))
    start, finished = _known_step(checkpoints, STEP) or (start, finished)
    try:
        found = minimise_sums(
            sums, start, finished, head.tolerance, lambda *state: _keep_step(checkpoints, STEP, *state)
        ).astype(np.float64)
    finally:
        sums.drop()
    return Solution(found[:-1], found[-1], head.link)


def _start(
    head: NewtonHead,
    examples: Examples,
    layout: Layout,
    sample: Examples,
    max_memory: int | None,
    tell: Callable[[float], None],
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return coefficients of scaled features to start from, and which outputs have converged already."""
    documents = sharded(examples.documents)
    if head.loss is squared_hinge_loss and can_descend(documents, layout):
        return descend_shards(documents, layout, by_piece(examples.targets, documents), head.C, head.tolerance, tell)
    first = _fit_sample(head, examples, sample, layout.blocks, max_memory)
    start = np.vstack([first.coefficients, first.intercepts]).astype(np.float32)
    start[:-1] *= layout.scales.astype(np.float32)
    return start, np.zeros(layout.shape[1], np.bool_)


def _known_step(checkpoints: Checkpoints, name: str) -> tuple[Matrix, NDArray[np.bool_]] | None:
    """Return the coefficients that an earlier run has kept, and which outputs have converged."""
    known = checkpoints.read(name)
    return None if known is None else (known["coefficients"], known["finished"])


def _keep_step(checkpoints: Checkpoints, name: str, coefficients: Matrix, finished: NDArray[np.bool_]) -> None:
    checkpoints.write(name, {"coefficients": coefficients, "finished": finished})


def _check_single(head: NewtonHead, targets: Targets) -> None:
    largest = float(head.C * targets.sample_weight.max() * max(1.0, targets.class_weight.max()))
    if largest > MAX_SINGLE:
        raise InputError(
            f"found {largest:.2g} for C times sample weight times class weight, and documents that do not fit into "
            f"memory; expected at most {MAX_SINGLE:g}: give a smaller C, smaller weights, or a larger max_memory"
        )


class ShardedSums:
    """The sums of Newton's method over shards; the scores of documents stay where these are."""

    hessian: "_SampleHessian | None" = None

    def __init__(
        self, loss: LossFunction, C: float, documents: ShardedDocuments, targets: Targets, layout: Layout
    ) -> None:
        self.documents, self.layout = documents, layout
        self.losses = ByPiece([_PieceLoss(loss, C, part) for part in by_piece(targets, documents)])
        self.scores: Kept | None = None
        self.score_step: Kept | None = None
        self.outputs = np.arange(layout.shape[1])
        has_room = len(documents) * layout.bytes_prepared <= documents.places.room()
        self.prepared = documents.transform(_prepared, layout) if has_room else None
        self.diagonal: Matrix | None = None

    def begin(self, coefficients: Matrix) -> None:
        """Score all documents."""
        self.scores = self._times(coefficients, np.arange(self.layout.shape[1]))

    def slopes(self, outputs: NDArray[np.int64]) -> tuple[Vector, Matrix]:
        """Return the loss of some outputs, and its gradient."""
        self.outputs = outputs
        value, sums = np.zeros(len(outputs)), self._no_sums()
        diagonal = self._no_sums() if self.hessian is None else None
        for found, columns, added, squares in self._map(
            _slopes_of, self.losses, self.scores, outputs, diagonal is not None
        ):
            value += found
            sums[columns] += added
            if diagonal is not None:
                diagonal[columns] += squares
        if diagonal is not None:  # scaled twice, since features enter it squared
            self.diagonal = 1 + DIAGONAL * self.layout.scaled(self.layout.scaled(diagonal, outputs), outputs)
        return value, self.layout.scaled(sums, outputs)

    def newton_step(self, gradient: Matrix, coefficients: Matrix) -> Matrix:
        """Solve each output's equations by conjugate gradients."""
        known, outputs, diagonal = self.hessian, self.outputs, self.diagonal
        if known is None:
            return conjugate_gradients(self._curved, -gradient, lambda residual: residual / diagonal)
        return conjugate_gradients(self._curved, -gradient, lambda residual: known.solve(residual, outputs))

    def _curved(self, direction: Matrix) -> Matrix:
        """Return the Hessian of each output times its direction."""
        given = self.layout.unscaled(direction, self.outputs)
        sums = self._no_sums()
        for columns, added in self._map(_curved_of, self.losses, self.scores, self.outputs, given):
            sums[columns] += added
        return direction + self.layout.scaled(sums, self.outputs)

    def look_along(self, step: Matrix) -> None:
        """Work out the scores along a step."""
        self.score_step = self._times(step, self.outputs)

    def along(self, sizes: Matrix) -> tuple[Vector, Vector]:
        """Return the loss and its slope at a fraction of the step."""
        work = self.documents.places.map(_along, self.losses, self.scores, self.score_step, self.outputs, sizes)
        value, slope = np.sum([np.stack(found) for found in work], axis=0)
        return value, slope

    def move(self, sizes: Matrix) -> None:
        """Take a fraction of the step."""
        places = self.documents.places
        moved = places.transform(_moved, self.scores, self.score_step, self.outputs, sizes)
        self._drop_scores()
        self.scores = moved

    def drop(self) -> None:
        """Forget all that was kept of documents."""
        self._drop_scores()
        if self.prepared is not None:
            self.documents.places.drop(self.prepared)

    def _drop_scores(self) -> None:
        self.documents.places.drop(*(kept for kept in (self.scores, self.score_step) if kept is not None))
        self.scores = self.score_step = None

    def _times(self, coefficients: Matrix, outputs: NDArray[np.int64]) -> Kept:
        given = self.layout.unscaled(coefficients, outputs)
        if self.prepared is None:
            return self.documents.transform(_scores_of, self.layout, given)
        return self.documents.places.transform(_scores_of, self.prepared, self.layout, given)

    def _map(self, work: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Yield what `work` makes of each piece, the layout and more arguments."""
        if self.prepared is None:
            return self.documents.map(work, self.layout, *arguments)
        return self.documents.places.map(work, self.prepared, self.layout, *arguments)

    def _no_sums(self) -> Matrix:
        return np.zeros((self.layout.shape[0], len(self.outputs)), np.float32)


@dataclass(frozen=True)
class _PieceLoss:
    """The loss of the documents of a piece."""

    loss: LossFunction
    C: float
    targets: Targets

    def at(self, scores: Matrix, outputs: NDArray[np.int64]) -> Any:
        """Return the loss of some outputs at their scores; (n_documents, n_outputs)."""
        some = outputs.tolist()
        weights = np.float32(self.C) * self.targets.one_vs_rest_weights(some)
        return self.loss(scores, self.targets.signs(some), weights)


def _prepared(piece: Piece, layout: Layout) -> Arrays:
    return layout.prepared(piece)


def _scores_of(piece: Piece | Arrays, layout: Layout, coefficients: Matrix) -> Arrays:
    found = [features.times(coefficients[columns]) for _, (features, columns) in layout.in_chunks(piece)]
    return {"scores": np.concatenate([np.zeros((0, coefficients.shape[1]), np.float32), *found])}


def _slopes_of(
    piece: Piece | Arrays,
    layout: Layout,
    loss: _PieceLoss,
    scores: Arrays,
    outputs: NDArray[np.int64],
    diagonal: bool,
) -> tuple[Vector, NDArray[np.int64], Matrix, Matrix | None]:
    """Return the loss of a piece, its gradient by the columns that the piece has, and the diagonal of its Hessian."""
    found = loss.at(scores["scores"][:, outputs], outputs)
    sums: Any = 0
    squares: Any = 0
    for rows, (features, at) in layout.in_chunks(piece):
        columns, sums = at, sums + features.transposed_times(found.slope[rows])
        if diagonal:
            squares = squares + features.squares_times(found.curvature[rows])
    return found.value, columns, sums, squares if diagonal else None


def _curved_of(
    piece: Piece | Arrays,
    layout: Layout,
    loss: _PieceLoss,
    scores: Arrays,
    outputs: NDArray[np.int64],
    direction: Matrix,
) -> tuple[NDArray[np.int64], Matrix]:
    """Return what a piece adds to the Hessian times a direction."""
    curvature = loss.at(scores["scores"][:, outputs], outputs).curvature
    sums: Any = 0
    for rows, (features, columns) in layout.in_chunks(piece):
        sums = sums + features.transposed_times(curvature[rows] * features.times(direction[columns]))
    return columns, sums


def _along(
    loss: _PieceLoss, scores: Arrays, step: Arrays, outputs: NDArray[np.int64], sizes: Matrix
) -> tuple[Vector, Vector]:
    there = loss.at(scores["scores"][:, outputs] + sizes * step["scores"], outputs)
    return there.value, dots(there.slope, step["scores"])


def _moved(scores: Arrays, step: Arrays, outputs: NDArray[np.int64], sizes: Matrix) -> Arrays:
    moved = scores["scores"].copy()
    moved[:, outputs] += sizes * step["scores"]
    return {"scores": moved}


@dataclass(frozen=True)
class _SampleHessian:
    """About the Hessian of each output, from a sample: its Cholesky factor, over the columns that the output sees."""

    factors: list[tuple[NDArray[np.int64], Matrix]]

    @classmethod
    def of(
        cls, head: NewtonHead, layout: Layout, sample: Examples, start: Matrix, times_as_many: float
    ) -> "_SampleHessian | None":
        """Return the Hessians at the start; None if there are so many columns that they are not worth their cost."""
        n_outputs = layout.shape[1]
        sees = np.ones(layout.shape, np.bool_) if layout.sees is None else layout.sees
        if sees.sum(axis=0).max() > HESSIAN_COLUMNS:
            return None
        rows = np.flatnonzero(sample.targets.sample_weight > 0)
        times_as_many *= len(rows) / min(len(rows), HESSIAN_DOCUMENTS)
        some = sample.rows(rows[:HESSIAN_DOCUMENTS])
        features = layout.features(whole_piece(some.documents)).features
        every = np.arange(n_outputs)
        scores = features.times(layout.unscaled(start, every))
        curvature = _PieceLoss(head.loss, head.C * times_as_many, some.targets).at(scores, every).curvature
        matrix = features.take(np.arange(len(some.documents)))
        factors = []
        for output in range(n_outputs):
            columns = np.flatnonzero(sees[:, output])
            seen = matrix[:, columns].astype(np.float64)
            seen[:, :-1] /= layout.scales[output]
            hessian = seen.T @ (seen * curvature[:, [output]])
            hessian[np.diag_indices_from(hessian)] += 1
            factors.append((columns, cho_factor(hessian, lower=True, check_finite=False)[0]))
        return cls(factors)

    def solve(self, right: Matrix, outputs: NDArray[np.int64]) -> Matrix:
        """Return about the inverse Hessian of each output times its column."""
        found = right.copy()
        for number, output in enumerate(outputs.tolist()):
            columns, factor = self.factors[output]
            found[columns, number] = cho_solve((factor, True), right[columns, number], check_finite=False)
        return found


# least squares -------------------------------------------------------------------------------------------------------


def _solve_ridge(documents: ShardedDocuments, targets: Targets, layout: Layout, sample: Examples) -> Solution:
    """Fit each group of outputs that see the same columns, by the Gram matrix of all documents."""
    n_columns, n_outputs = layout.shape
    moments, products = np.zeros((n_columns, n_outputs)), np.zeros((n_columns, n_columns))
    for added, more in documents.map(_gram_of, layout, ByPiece(by_piece(targets, documents))):
        products += added
        moments += more
    features = layout.features(whole_piece(sample.documents)).features
    found = np.zeros((n_columns, n_outputs))
    for columns, outputs in _views(layout):
        divisors = np.append(np.repeat(layout.scales[outputs[0]], len(columns) - 1), 1.0)
        some = _ScaledColumns(features, columns, divisors)
        place = np.ix_(columns, np.array(outputs))
        found[place] = solve_gram(
            products[np.ix_(columns, columns)] / np.outer(divisors, divisors),
            moments[place] / divisors[:, None],
            some,
            sample.targets,
            outputs,
        )
    return Solution(found[:-1], found[-1], "softmax")


def _views(layout: Layout) -> list[tuple[NDArray[np.int64], list[int]]]:
    """Return groups of outputs, with the columns that they see."""
    if layout.sees is None:
        return [(np.arange(layout.shape[0]), list(range(layout.shape[1])))]
    return [(np.flatnonzero(layout.sees[:, output]), [output]) for output in range(layout.shape[1])]


def _gram_of(piece: Piece, layout: Layout, targets: Targets) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    weights = targets.document_weights().astype(np.float32)
    signed = targets.signs(list(range(targets.n_outputs))) * weights[:, None]
    products, moments = np.zeros((layout.shape[0],) * 2), np.zeros(layout.shape)
    with one_blas_thread():
        for rows, (features, _) in layout.in_chunks(piece):
            products += gram(features, weights[rows], np.float64)
            moments += features.transposed_times(signed[rows])
    return products, moments


@dataclass(frozen=True)
class _ScaledColumns:
    """Some columns of features, divided by their scales."""

    features: Any
    columns: NDArray[np.int64]
    divisors: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        return self.features.shape[0], len(self.columns)

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some rows."""
        return np.asarray(self.features.take(rows)[:, self.columns] / self.divisors.astype(np.float32))
