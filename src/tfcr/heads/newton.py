"""Logistic regression and the SVM with squared hinge loss, for all outputs at once.

    minimise over each column of B:   ½ ‖B_k‖² + C · Σ_i weight_ik · loss(sign_ik · (X B)_ik)

These are liblinear's objectives; the last column of X is 1, so that the intercept is regularised as there. Newton's
method solves each step's equations by conjugate gradients, whose products with X serve all outputs together as plain
matrix products. If they converge slowly, they are preconditioned by the Cholesky factor of one matrix close to all
outputs' Hessians, the scaled Gram matrix of X. If X has few columns, or an output few support vectors, as an SVM at a
large C has, its step is solved exactly: by the Hessian itself, or by the kernel matrix of the support vectors.

All is float32, which is enough up to C · weight = MAX_SINGLE. Beyond, the term ½ ‖B_k‖² drowns in rounding errors of
the loss, and the same steps are taken in float64.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tfcr.errors import InputError
from tfcr.features.matrix import DenseFeatures, Features, SparseFeatures, gram, in_float64
from tfcr.heads.base import Solution
from tfcr.heads.targets import Targets
from tfcr.system import parameters
from tfcr.system.hardware import in_parallel, n_threads, one_blas_thread

Matrix = NDArray[Any]
"""float32, or float64 where weights are extreme."""
Vector = NDArray[np.float64]

MIN_NATIVE_SIZE: dict[type[Features], int] = {DenseFeatures: 5_000_000, SparseFeatures: 300_000}
"""Feature values × outputs below which the SVM does not start with compiled code, which takes time to load."""
OUTPUTS_PER_THREAD = 16
"""Outputs of sparse features that a thread fits before the next ones are begun: two lanes of the kernels."""
TOLERANCE = 1e-4
"""An output has converged when a step promises to lower its objective by less than this fraction."""
MAX_NEWTON_STEPS = 100
MAX_CG_STEPS = 100
PATIENT_CG_STEPS = 25
"""After this many steps without convergence, the Gram matrix is worth its cost."""
MAX_GRAM_COLUMNS = 8192
"""With more columns, the Gram matrix would cost more time and memory than it saves."""
EXACT_STEPS = 400
"""An exact step is taken if its kernel matrix costs less than this many products of X with a vector."""
HESSIAN_STEPS = 100
"""The same for the Hessian: with few columns, conjugate gradients need fewer products."""
MAX_KERNEL_BYTES = 1 << 30
"""Memory for the kernel matrices of all threads together."""
MIN_THREADED = 20_000_000
"""Multiplications of a product with X below which a second thread takes more time than it saves."""
SMALL_KERNEL = 200
"""Up to this many support vectors, starting threads takes longer than they save."""
RESIDUAL = 0.1
"""Residual of a Newton step's equations, relative to the gradient."""
STRENGTH = parameters.number("C", 1e-9, 1e9)
"""What C may be: far beyond both ends, the solution does not change any more, and rounding errors are all there is."""
MAX_SINGLE = 1e5
"""Largest C · weight for which float32 is enough."""
MAX_WEIGHT = 1e12
"""Largest C · sample weight · class weight that is solved at all."""


class Loss(NamedTuple):
    """The loss summed over documents, (n_outputs,); its first and second derivative, (n_documents, n_outputs)."""

    value: Vector
    slope: Matrix
    curvature: Matrix


LossFunction = Callable[[Matrix, Matrix, Matrix], Loss]


def logistic_loss(scores: Matrix, signs: Matrix, weights: Matrix) -> Loss:
    """Return weight · log(1 + exp(-sign · score))."""
    margins = signs * scores
    values = np.logaddexp(0, -margins)
    wrong = np.exp(-margins - values)  # 1 / (1 + exp(margin)), without overflow
    return Loss(
        np.einsum("ij,ij->j", weights, values, dtype=np.float64),
        -weights * signs * wrong,
        weights * wrong * (1 - wrong),
    )


def squared_hinge_loss(scores: Matrix, signs: Matrix, weights: Matrix) -> Loss:
    """Return weight · max(0, 1 - sign · score)²."""
    short = np.maximum(0, 1 - signs * scores)
    return Loss(
        np.einsum("ij,ij,ij->j", weights, short, short, dtype=np.float64),
        -2 * weights * signs * short,
        2 * weights * (short > 0),
    )


@dataclass(frozen=True)
class NewtonHead:
    """One-vs-rest linear classifier; C is the inverse regularisation strength, `tolerance` relative to the optimum."""

    loss: LossFunction
    link: str
    C: float = 1.0
    tolerance: float = TOLERANCE
    has_strength: ClassVar[bool] = True
    takes_sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        STRENGTH.check(self.C)

    def with_tolerance(self, tolerance: float) -> "NewtonHead":
        """Return the same head with another tolerance."""
        return replace(self, tolerance=tolerance)

    def outputs_together(self, features: Features) -> int | None:
        """Return a few outputs for each thread if descent solves them; all, if they share matrix products.

        Descent visits all documents for eight outputs, then for the next eight: with the coefficients of a few alone,
        those of common columns stay in the processor's cache, and memory does not grow with the number of classes.
        """
        by_descent = self.loss is squared_hinge_loss and isinstance(features, SparseFeatures)
        return OUTPUTS_PER_THREAD * n_threads() if by_descent else None

    def solve(
        self,
        features: Features,
        targets: Targets,
        outputs: Sequence[int],
        start: Solution | None = None,
        duals: NDArray[np.float32] | None = None,
    ) -> Solution:
        """Fit the outputs."""
        signs = targets.signs(outputs)
        weights = np.float32(self.C) * targets.one_vs_rest_weights(outputs)
        largest = _check_weights(weights)
        if start is None:
            begin, finished, duals = self._first_guess(features, signs, weights, targets.n_outputs, duals)
        else:
            duals = None
            begin = np.vstack([start.coefficients, start.intercepts]).astype(np.float32)
            finished = np.zeros(len(outputs), np.bool_)
        if largest > MAX_SINGLE:
            features, weights, begin = (
                in_float64(features, largest),
                weights.astype(np.float64),
                begin.astype(np.float64),
            )
        n_documents, n_columns = features.shape
        small = n_documents * n_columns * len(outputs) < MIN_THREADED
        with one_blas_thread() if small else nullcontext():
            solution = minimise(self.loss, features, signs, weights, begin, finished, self.tolerance)
        solution = solution.astype(np.float64)
        return Solution(solution[:-1], solution[-1], self.link, duals)

    def _first_guess(
        self, features: Features, signs: Matrix, weights: Matrix, of_outputs: int, duals: NDArray[np.float32] | None
    ) -> tuple[Matrix, NDArray[np.bool_], NDArray[np.float32] | None]:
        """Return coefficients to start from, which outputs have converged already, and the dual variables, if any.

        These outputs are some of the `of_outputs` that will be fitted in all.
        """
        n_outputs = signs.shape[1]
        if (
            self.loss is squared_hinge_loss
            and isinstance(features, DenseFeatures | SparseFeatures)
            and features.size * of_outputs >= MIN_NATIVE_SIZE[type(features)]
        ):
            from tfcr.heads.dual_descent import descend  # noqa: PLC0415 - numba loads slowly

            return descend(features, signs, weights, self.tolerance, duals)
        return np.zeros((features.shape[1], n_outputs), np.float32), np.zeros(n_outputs, np.bool_), None


def _check_weights(weights: Matrix) -> float:
    """Return the largest C · weight; raise InputError if even float64 cannot solve a problem with it."""
    largest = float(weights.max(initial=0))
    if not largest <= MAX_WEIGHT:
        raise InputError(
            f"found {largest:.2g} for C times sample weight times class weight; expected at most {MAX_WEIGHT:g}: "
            "give a smaller C, or weights that differ less (class_weight='balanced' multiplies them for rare classes)"
        )
    return largest


def minimise(
    loss: LossFunction,
    features: Features,
    signs: Matrix,
    weights: Matrix,
    start: Matrix,
    finished: NDArray[np.bool_],
    tolerance: float = TOLERANCE,
) -> Matrix:
    """Return the coefficients of all outputs at their optimum; those that are `finished` stay."""
    return minimise_sums(_SumsInMemory(loss, features, signs, weights), start, finished, tolerance)


class Sums(Protocol):
    """The sums over documents that Newton's method asks for, for documents that lie anywhere.

    `begin` is called once; then, in each step, the others in this order: `slopes`, `newton_step`, `look_along`,
    `along` once or more often, and `move`. All arrays are of the outputs given to `slopes`.
    """

    def begin(self, coefficients: Matrix) -> None:
        """Begin with these coefficients of all outputs; (n_columns, n_outputs)."""

    def slopes(self, outputs: NDArray[np.int64]) -> tuple[Vector, Matrix]:
        """Return the loss of some outputs, and its gradient; (n_columns, n_outputs)."""

    def newton_step(self, gradient: Matrix, coefficients: Matrix) -> Matrix:
        """Return the step of each output, given the gradient of its whole objective."""

    def look_along(self, step: Matrix) -> None:
        """Prepare for sizes of a step: scores along it are linear, so that `along` needs no product with X."""

    def along(self, sizes: Matrix) -> tuple[Vector, Vector]:
        """Return the loss and its slope at a fraction of the step."""

    def move(self, sizes: Matrix) -> None:
        """Take a fraction of the step."""


class _SumsInMemory:
    """Sums over features in memory, or at least scores in memory."""

    def __init__(self, loss: LossFunction, features: Features, signs: Matrix, weights: Matrix) -> None:
        self.loss, self.features, self.signs, self.weights = loss, features, signs, weights
        self.hessian = _Hessian(features)

    def begin(self, coefficients: Matrix) -> None:
        self.scores = self.features.times(coefficients)

    def slopes(self, outputs: NDArray[np.int64]) -> tuple[Vector, Matrix]:
        # copies of the columns of outputs that have not converged
        self.outputs = outputs
        self.active = self.scores[:, outputs], self.signs[:, outputs], self.weights[:, outputs]
        self.current = self.loss(*self.active)
        return self.current.value, self.features.transposed_times(self.current.slope)

    def newton_step(self, gradient: Matrix, coefficients: Matrix) -> Matrix:
        return self.hessian.newton_step(self.current, gradient, coefficients, self.active[0])

    def look_along(self, step: Matrix) -> None:
        self.score_step = self.features.times(step)

    def along(self, sizes: Matrix) -> tuple[Vector, Vector]:
        scores, signs, weights = self.active
        there = self.loss(scores + sizes * self.score_step, signs, weights)
        return there.value, dots(there.slope, self.score_step)

    def move(self, sizes: Matrix) -> None:
        self.scores[:, self.outputs] += sizes * self.score_step


def minimise_sums(
    sums: Sums,
    start: Matrix,
    finished: NDArray[np.bool_],
    tolerance: float,
    after_step: Callable[[Matrix, NDArray[np.bool_]], None] = lambda coefficients, finished: None,
) -> Matrix:
    """Return the coefficients of all outputs at their optimum, by sums over documents.

    `after_step` gets the coefficients after each step, and which outputs have converged: from there, another call goes
    on, if this one is stopped.
    """
    active = np.flatnonzero(~finished)
    if not len(active):
        return start
    coefficients = start.copy()
    sums.begin(coefficients)
    for _ in range(MAX_NEWTON_STEPS):
        if not len(active):
            break
        # gradient and Newton step of all outputs together: every product with X is one matrix product
        active_coefficients = coefficients[:, active]
        value, slopes = sums.slopes(active)
        objective = value + 0.5 * dots(active_coefficients, active_coefficients)
        gradient = slopes + active_coefficients
        step = sums.newton_step(gradient, active_coefficients)
        sums.look_along(step)
        descent = dots(gradient, step)

        def along(sizes: Matrix) -> tuple[Vector, Vector]:
            moved = active_coefficients + sizes * step  # noqa: B023 - called at once
            value, slope = sums.along(sizes)
            return value + 0.5 * dots(moved, moved), dots(moved, step) + slope  # noqa: B023

        sizes = _step_sizes(along, objective, descent)  # 0 where float32 allows no further descent
        coefficients[:, active] += sizes * step
        sums.move(sizes)
        active = active[(sizes > 0) & (-0.5 * descent > tolerance * objective)]
        after_step(coefficients, ~np.isin(np.arange(len(finished)), active))
    return coefficients


def _step_sizes(along: Callable[[Matrix], tuple[Vector, Vector]], objective: Vector, descent: Vector) -> Matrix:
    """Return the step size of each output: 1, or where its objective starts to rise, found by bisection.

    `along` gives the objective and its slope at given sizes. An output whose objective cannot fall any further in
    float32 gets size 0.
    """
    # bisection, for all outputs at once: an output is `beyond` if its full step overshoots the minimum
    low, high = np.zeros_like(objective), np.ones_like(objective)
    value, slope = along(high.astype(np.float32))
    beyond = (slope > 0.1 * np.abs(descent)) | (value > objective)
    for _ in range(10):
        if not beyond.any():
            break
        middle = np.where(beyond, (low + high) / 2, high)
        value, slope = along(middle.astype(np.float32))
        rises = slope > 0
        high, low = np.where(beyond & rises, middle, high), np.where(beyond & ~rises, middle, low)
    sizes = np.where(beyond, low, high).astype(np.float32)
    if beyond.any():
        value, _ = along(sizes)
    return np.where(value <= objective * (1 + 1e-7), sizes, 0).astype(np.float32)


class _Hessian:
    """Solves (I + Xᵀ diag(curvature_k) X) step_k = -gradient_k for all outputs k."""

    def __init__(self, features: Features) -> None:
        self.features = features
        self.factor: Matrix | None = None
        self.factor_curvature = 0.0
        self.gram: Matrix | None = None

    def newton_step(self, loss: Loss, gradient: Matrix, coefficients: Matrix, scores: Matrix) -> Matrix:
        """Return the step of each output, exact for those with few support vectors, or if there are few columns."""
        # the kernel matrix of the support vectors costs support² products of rows, the Hessian support · n_columns of
        # them; each is held in float64, beside its Cholesky factor and the rows
        support = np.count_nonzero(loss.curvature, axis=0).astype(np.float64)
        n_columns = self.features.shape[1]
        kernel_bytes = np.maximum(12 * np.minimum(support, n_columns) ** 2, 4 * support * n_columns)
        cheap = (support**2 < EXACT_STEPS * len(scores)) | (support * n_columns < HESSIAN_STEPS * len(scores))
        exact = cheap & (kernel_bytes <= MAX_KERNEL_BYTES)
        step = np.empty_like(gradient)
        if not exact.all():
            step[:, ~exact] = self._by_conjugate_gradients(loss.curvature[:, ~exact], -gradient[:, ~exact])
        outputs = np.flatnonzero(exact).tolist()
        largest = max(1.0, kernel_bytes[exact].max(initial=0))
        at_once = 1 if support[exact].max(initial=0) <= SMALL_KERNEL else int(max(1, MAX_KERNEL_BYTES // largest))
        points = in_parallel(
            lambda k: self._newton_point(loss.slope[:, k], loss.curvature[:, k], scores[:, k]),
            outputs,
            min(n_threads(), at_once),
        )
        for output, point in zip(outputs, points, strict=True):
            step[:, output] = point - coefficients[:, output]
        return step

    def _newton_point(self, slope: Matrix, curvature: Matrix, scores: Matrix) -> Matrix:
        """Return where one output's Newton step leads, from its support vectors, the only documents with curvature.

        With S their rows and K = S Sᵀ, it is -Sᵀ u for (K + 1 / curvature) u = slope / curvature - scores. With more
        support vectors than columns, it is the solution of (I + Sᵀ curvature S) p = Sᵀ (curvature · scores - slope).
        """
        rows = np.flatnonzero(curvature)
        if not len(rows):
            return np.zeros(self.features.shape[1], scores.dtype)
        support = self.features.take(rows)
        if len(rows) > support.shape[1]:
            right = support.T @ (curvature[rows] * scores[rows] - slope[rows])
            hessian = support.T @ (support * curvature[rows, None])
            hessian[np.diag_indices_from(hessian)] += 1
            solved = cho_solve((_factorised(hessian.astype(np.float64)), True), right, check_finite=False)
            return np.asarray(solved, scores.dtype)
        factor, ease = _kernel_factor(support, 1 / curvature[rows].astype(np.float64))
        duals = cho_solve((factor, True), slope[rows] * ease - scores[rows], check_finite=False)
        return np.asarray(-support.T @ duals.astype(scores.dtype))

    def _by_conjugate_gradients(self, curvature: Matrix, right: Matrix) -> Matrix:
        if self.factor is not None:
            self._refresh(curvature)

        def product(direction: Matrix) -> Matrix:
            return direction + self.features.transposed_times(curvature * self.features.times(direction))

        def help_along() -> bool:
            """Build the preconditioner, if it is worth its cost and not there yet."""
            if self.factor is not None or len(right) > MAX_GRAM_COLUMNS:
                return False
            self._refresh(curvature)
            return True

        return conjugate_gradients(product, right, self._precondition, help_along)

    def _precondition(self, residual: Matrix) -> Matrix:
        if self.factor is None:
            return residual
        return np.asarray(cho_solve((self.factor, True), residual, check_finite=False), residual.dtype)

    def _refresh(self, curvature: Matrix) -> None:
        """Factorise I + mean curvature · XᵀX, unless the last one is close enough."""
        mean = float(curvature.mean())
        if self.factor is not None and 0.5 < mean / self.factor_curvature < 2:
            return
        if self.gram is None:
            dtype = curvature.dtype.type
            self.gram = gram(self.features, np.ones(self.features.shape[0], dtype), dtype)
        shifted = self.gram * curvature.dtype.type(mean)
        shifted[np.diag_indices_from(shifted)] += 1
        self.factor = _factorised(shifted)
        self.factor_curvature = mean


def conjugate_gradients(
    product: Callable[[Matrix], Matrix],
    right: Matrix,
    precondition: Callable[[Matrix], Matrix],
    help_along: Callable[[], bool] = lambda: False,
) -> Matrix:
    """Solve the equations of each output to RESIDUAL, one column each; those that have converged stop moving.

    Parameters
    ----------
    product
        Multiplies each column with its Hessian.
    right
        The right sides; (n_columns, n_outputs).
    precondition
        Multiplies each column with about the inverse of its Hessian.
    help_along
        Called once if convergence is slow; whether the preconditioner is a better one now.
    """
    target = RESIDUAL * _norms(right)
    step = np.zeros_like(right)
    residual = right.copy()
    corrected = precondition(residual)
    direction = corrected.copy()
    size = dots(residual, corrected)
    for number in range(MAX_CG_STEPS):
        moving = _norms(residual) > target
        if not moving.any():
            break
        if number == PATIENT_CG_STEPS and help_along():  # restart from the present residual
            corrected = precondition(residual)
            direction = corrected.copy()
            size = dots(residual, corrected)
        along = product(direction)
        alpha = np.where(moving, size / np.maximum(dots(direction, along), 1e-30), 0).astype(step.dtype)
        step += alpha * direction
        residual -= alpha * along
        corrected = precondition(residual)
        previous, size = size, dots(residual, corrected)
        direction = corrected + (size / np.maximum(previous, 1e-30)).astype(step.dtype) * direction
    return step


def _kernel_factor(support: Matrix, ease: Vector) -> tuple[Vector, Vector]:
    """Return the Cholesky factor of support · supportᵀ + diag(ease), and the ease: more of it if that is singular.

    1 / curvature is tiny at a large C, and rounding errors of the kernel can exceed it: those of float32 first, so that
    float64 is tried next. More ease is less curvature: the step still leads downhill, only too far, and the line search
    shortens it.
    """
    for attempt, extra in enumerate([0.0, 0.0, *np.logspace(-15, 0, 16).tolist()]):
        dtype: Any = np.float64 if attempt else support.dtype
        rows = support.astype(dtype, copy=False)
        kernel = (rows @ rows.T).astype(np.float64)
        eased = ease + extra * float(np.diagonal(kernel).mean())
        kernel[np.diag_indices_from(kernel)] += eased
        with suppress(LinAlgError):
            return np.asarray(cho_factor(kernel, lower=True, overwrite_a=True, check_finite=False)[0]), eased
    raise _not_finite()


def _not_finite() -> InputError:
    return InputError("found NaN or infinity in features or weights; expected finite numbers")


def _factorised(matrix: Matrix) -> Matrix:
    """Return the Cholesky factor; if the matrix is singular by rounding errors, that of one with a larger diagonal.

    As a preconditioner any positive definite matrix is correct, only slower to converge. As a Hessian, a larger one
    gives a shorter step that still leads downhill.
    """
    for _ in range(1000):
        try:
            return np.asarray(cho_factor(matrix, lower=True, check_finite=False)[0])
        except LinAlgError:
            matrix[np.diag_indices_from(matrix)] *= np.float32(1.01)
    raise _not_finite()


def dots(one: Matrix, two: Matrix) -> Vector:
    """Return the inner product of each pair of columns."""
    return np.asarray(np.einsum("ij,ij->j", one, two, dtype=np.float64))


def _norms(columns: Matrix) -> Vector:
    return np.sqrt(dots(columns, columns))
