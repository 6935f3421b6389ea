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
from scipy.optimize import minimize

from tfcr.decision import Calibration, logits
from tfcr.heads.targets import Targets

SMALLEST_SCALE = 1e-3
PENALTY = 1e-3
"""L2 penalty on the scale, so that it stays finite where out-of-fold documents are separated without an error."""
WIDENING = 0.25
"""The final classifier sees more documents than those that gave the out-of-fold scores, and its scores are further
apart: by the root of how many times as many, on six datasets (1.07 to 1.19 times, of 1.25 times as many documents).
About half of that is knowledge, the other half must not make probabilities surer: the root of the root."""
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
    known = logits(scores)
    log_frequencies = training.log_frequencies()
    prior = 1 / (VARIANCE * len(known))

    def loss(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scale, slope, rest = parameters[0], parameters[1], parameters[2:]
        value, by_logits = truth.log_loss(scale * known + slope * log_frequencies + rest)
        by_class = by_logits.sum(axis=0)
        penalties = PENALTY * scale**2 + prior * (rest @ rest) / 2
        by_scale, by_slope = np.vdot(by_logits, known) + 2 * PENALTY * scale, by_class @ log_frequencies
        return value + float(penalties), np.concatenate([[by_scale, by_slope], by_class + prior * rest])

    start = np.concatenate([[1.0, 0.0], np.zeros(len(log_frequencies))])
    bounds = [(SMALLEST_SCALE, None), *[(None, None)] * (len(start) - 1)]
    found = minimize(loss, start, method="L-BFGS-B", jac=True, bounds=bounds).x
    return Calibration(float(found[0]) / more**WIDENING, found[1] * log_frequencies + found[2:])
