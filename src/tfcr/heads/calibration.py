"""Calibration: probabilities that mean what they say, fitted on out-of-fold scores.

Stacked scores rank classes as if all were of the same size. Probabilities are to follow the class frequencies of the
training data instead, and to be as sure as the classifier is right:

    logits[d, k] = scale · scores[d, k] + slope · log frequency[k] + rest[k]

`scale` corrects how sure the scores are, `slope` restores class frequencies as far as the scores left them out (1 if
the heads were balanced in full), and `rest` is what a class needs beyond that: little, unless many documents ask for
it. The link, a softmax or a sigmoid of each class, makes probabilities of them.
"""

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import Calibration, logits
from tfcr.heads.targets import Targets

SMALLEST_SCALE = 1e-3
PENALTY = 1e-3
"""L2 penalty on the scale, so that it stays finite where out-of-fold documents are separated without an error."""
WIDENING = 0.25
"""The final classifier sees more documents than those that gave the out-of-fold scores, and its scores are further
apart: by the root of how many times as many, on six datasets (1.07 to 1.19 times, of 1.25 times as many documents).
About half of that is knowledge, the other half must not make probabilities surer: the root of the root."""
LEAST_CURVATURE, TOLERANCE, SHORTEST, MOST_STEPS = 1e-10, 1e-10, 1e-6, 50
VARIANCE = 1.0
"""Of the normal prior of `rest`: without evidence, odds are expected to be off by a factor of e at most."""


def fit_calibration(scores: NDArray[np.float64], truth: Targets, training: Targets, more: float = 1.0) -> Calibration:
    """Return the calibration that makes the labels of out-of-fold documents most likely.

    Parameters
    ----------
    scores
        Out of fold; (n_documents, n_outputs).
    truth
        The labels of the same documents. Class weights do not count: class frequencies are to be those of the data.
    training
        The labels of all training documents, for the class frequencies.
    more
        How many times as many documents the final classifier is trained on.

    Examples
    --------
    The scores are log-odds of 3, and 73 of 100 labels are right: log-odds of 1. Both classes are of the same size.

    >>> truth = Targets(np.repeat([1, 0, 0, 1], [73, 27, 73, 27]), 2, np.ones(200), np.ones(2))
    >>> found = fit_calibration(np.repeat([[3.0], [-3.0]], 100, axis=0), truth, truth)
    >>> round(found.scale, 1), np.abs(found.offsets).round(1).tolist()
    (0.3, [0.0, 0.0])
    """
    found = _Likelihood(logits(scores), truth, training.log_frequencies()).most_likely()
    return Calibration(float(found[0]) / more**WIDENING, found[1] * training.log_frequencies() + found[2:])


class _Likelihood:
    """The loss of the parameters (scale, slope, rest of each class): convex, so that Newton's steps find its least.

    The logits are linear in all parameters; `slope` shifts all classes at once, by their log frequencies.
    """

    def __init__(self, known: NDArray[np.float64], truth: Targets, log_frequencies: NDArray[np.float64]) -> None:
        self.known, self.truth, self.log_frequencies = known, truth, log_frequencies
        n_classes = len(log_frequencies)
        self.penalties = np.concatenate([[2 * PENALTY, 0.0], np.full(n_classes, 1 / (VARIANCE * len(known)))])
        # from the parameters to the factor of the scores and the shift of each class
        self.shifts = np.zeros((1 + n_classes, 2 + n_classes))
        self.shifts[0, 0] = 1
        self.shifts[1:, 1] = log_frequencies
        self.shifts[1:, 2:] = np.eye(n_classes)

    def logits(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        scale, *shifts = self.shifts @ parameters
        return np.asarray(scale * self.known + np.array(shifts))

    def loss(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss and its gradient."""
        value, by_logits = self.truth.log_loss(self.logits(parameters))
        by_shift = np.concatenate([[np.vdot(by_logits, self.known)], by_logits.sum(axis=0)])
        penalty = float(self.penalties @ parameters**2) / 2
        return value + penalty, by_shift @ self.shifts + self.penalties * parameters

    def curvature(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives; a direction without any, such as that of equal frequencies, gets a little."""
        by_shift = self.truth.curvature(self.logits(parameters), self.known)
        return np.asarray(self.shifts.T @ by_shift @ self.shifts + np.diag(self.penalties + LEAST_CURVATURE))

    def most_likely(self) -> NDArray[np.float64]:
        """Return the parameters of the least loss; the scale is SMALLEST_SCALE or more."""
        found = np.zeros(self.shifts.shape[1])
        found[0] = 1.0
        value, gradient = self.loss(found)
        for _ in range(MOST_STEPS):
            free = np.ones(len(found), dtype=bool)
            free[0] = found[0] > SMALLEST_SCALE or gradient[0] < 0
            step = np.zeros(len(found))
            step[free] = -np.linalg.solve(self.curvature(found)[np.ix_(free, free)], gradient[free])
            promised = -float(gradient @ step)
            if promised < TOLERANCE:
                break
            length = 1.0
            while True:
                moved = found + length * step
                moved[0] = max(moved[0], SMALLEST_SCALE)
                after, gradient_there = self.loss(moved)
                if after <= value - 1e-4 * length * promised or length < SHORTEST:
                    break
                length /= 2
            found, value, gradient = moved, after, gradient_there
        return found
