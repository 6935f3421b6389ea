"""Logistic regression and the SVM with squared hinge loss, for all outputs at once.

    minimise over each column of B:   ½ ‖B_k‖² + C · Σ_i weight_ik · loss(sign_ik · (X B)_ik)

These are liblinear's objectives; the last column of X is 1, so that the intercept is regularised as there. Newton's
method solves each step's equations by conjugate gradients, whose products with X serve all outputs together as
plain matrix products. Where they converge slowly, the Cholesky factor of one matrix close to all outputs' Hessians
(the Gram matrix of X, scaled) sets them right.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tfcr.errors import InputError
from tfcr.heads.base import Solution, Targets

Matrix = NDArray[np.float32]
Vector = NDArray[np.float64]

TOLERANCE = 1e-4
"""An output is done when a step promises to lower its objective by less than this share of it."""
MAX_NEWTON_STEPS = 100
MAX_CG_STEPS = 100
PATIENT_CG_STEPS = 25
"""After so many steps without convergence, the Gram matrix is worth its price."""
RESIDUAL = 0.1
"""How exactly a Newton step is solved for, relative to the gradient."""


class Loss(NamedTuple):
    """Value, first and second derivative with respect to the score, all (n_documents, n_outputs) or the sum."""

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


@dataclass
class NewtonHead:
    """One-vs-rest linear classifier; C is the inverse strength of the regularisation."""

    loss: LossFunction
    link: str
    C: float = 1.0

    def solve(self, features: Matrix, targets: Targets, outputs: Sequence[int]) -> Solution:
        """Fit the outputs."""
        if not (np.isfinite(self.C) and self.C > 0):
            raise InputError(f"found C={self.C}; expected a number above 0")
        weights = np.float32(self.C) * targets.one_vs_rest_weights(outputs)
        solution = minimise(self.loss, features, targets.signs(outputs), weights)
        return Solution(solution[:-1].astype(np.float64), solution[-1].astype(np.float64))


def minimise(loss: LossFunction, features: Matrix, signs: Matrix, weights: Matrix) -> Matrix:
    """Return the coefficients of all outputs at their optimum; (n_columns, n_outputs)."""
    coefficients = np.zeros((features.shape[1], signs.shape[1]), np.float32)
    scores = np.zeros_like(signs)
    active = np.arange(signs.shape[1])
    hessian = _Hessian(features)
    for _ in range(MAX_NEWTON_STEPS):
        # copies of the columns of outputs still at work
        part = coefficients[:, active], scores[:, active], signs[:, active], weights[:, active]
        active_coefficients, active_scores, active_signs, active_weights = part
        current = loss(active_scores, active_signs, active_weights)
        objective = current.value + 0.5 * _dots(active_coefficients, active_coefficients)
        gradient = features.T @ current.slope + active_coefficients
        step, score_step = hessian.solve(current.curvature, -gradient)
        descent = _dots(gradient, step)

        def objective_at(sizes: Matrix) -> Vector:
            moved = active_coefficients + sizes * step  # noqa: B023 - called at once
            losses = loss(active_scores + sizes * score_step, active_signs, active_weights)  # noqa: B023
            return losses.value + 0.5 * _dots(moved, moved)

        sizes = _step_sizes(objective_at, objective, descent)
        coefficients[:, active] += sizes * step
        scores[:, active] += sizes * score_step
        active = active[(sizes > 0) & (-0.5 * descent > TOLERANCE * objective)]
        if not len(active):
            break
    return coefficients


def _step_sizes(objective_at: Callable[[Matrix], Vector], objective: Vector, descent: Vector) -> Matrix:
    """Halve each output's step until its objective falls enough; 0 where none does, at the limit of float32."""
    sizes = np.ones(len(objective), np.float32)
    for _ in range(20):
        tried = objective_at(sizes)
        short = tried > objective + 1e-4 * sizes * descent + 1e-7 * np.abs(objective)
        if not short.any():
            return sizes
        sizes[short] *= 0.5
    sizes[short] = 0
    return sizes


class _Hessian:
    """Solves (I + Xᵀ diag(curvature_k) X) step_k = right_k for all outputs k at once."""

    def __init__(self, features: Matrix) -> None:
        self.features = features
        self.factor: Matrix | None = None
        self.factor_curvature = 0.0
        self.gram: Matrix | None = None

    def solve(self, curvature: Matrix, right: Matrix) -> tuple[Matrix, Matrix]:
        """Return the steps and what they add to the scores."""
        target = RESIDUAL * _norms(right)
        if self.factor is not None:
            self._refresh(curvature)
        step = np.zeros_like(right)
        score_step = np.zeros_like(curvature)
        residual = right.copy()
        corrected = self._precondition(residual)
        direction = corrected.copy()
        size = _dots(residual, corrected)
        for number in range(MAX_CG_STEPS):
            moving = _norms(residual) > target
            if not moving.any():
                break
            if number == PATIENT_CG_STEPS and self.factor is None:
                self._refresh(curvature)
                corrected = self._precondition(residual)
                direction = corrected.copy()
                size = _dots(residual, corrected)
            score_direction = self.features @ direction
            product = direction + self.features.T @ (curvature * score_direction)
            alpha = np.where(moving, size / np.maximum(_dots(direction, product), 1e-30), 0).astype(np.float32)
            step += alpha * direction
            score_step += alpha * score_direction
            residual -= alpha * product
            corrected = self._precondition(residual)
            previous, size = size, _dots(residual, corrected)
            direction = corrected + (size / np.maximum(previous, 1e-30)).astype(np.float32) * direction
        return step, score_step

    def _precondition(self, residual: Matrix) -> Matrix:
        if self.factor is None:
            return residual
        return np.asarray(cho_solve((self.factor, True), residual, check_finite=False), np.float32)

    def _refresh(self, curvature: Matrix) -> None:
        """Factorise I + mean curvature · XᵀX, unless the last one is close enough."""
        mean = float(curvature.mean())
        if self.factor is not None and 0.5 < mean / self.factor_curvature < 2:
            return
        if self.gram is None:
            self.gram = self.features.T @ self.features
        shifted = self.gram * np.float32(mean)
        shifted[np.diag_indices_from(shifted)] += 1
        self.factor = _factorised(shifted)
        self.factor_curvature = mean


def _factorised(matrix: Matrix) -> Matrix:
    """Return the Cholesky factor; where float32 cannot tell the matrix from a singular one, of a larger one.

    It only sets the conjugate gradients right, and any positive matrix does so correctly, if not as fast.
    """
    while True:
        try:
            return np.asarray(cho_factor(matrix, lower=True, check_finite=False)[0])
        except LinAlgError:
            matrix[np.diag_indices_from(matrix)] *= np.float32(1.01)


def _dots(one: Matrix, two: Matrix) -> Vector:
    """Return the inner product of each pair of columns."""
    return np.asarray(np.einsum("ij,ij->j", one, two, dtype=np.float64))


def _norms(columns: Matrix) -> Vector:
    return np.sqrt(_dots(columns, columns))
