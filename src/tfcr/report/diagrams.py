"""Pictures of an evaluation: confusion matrix, reliability diagram, and share decided against share right.

All can be read in print and by the colour-blind: shades are of one hue, every number that counts is written, and points
have markers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure as Picture
from numpy.typing import NDArray

from tfcr.decision import BINS, Reliability, confusion_matrix
from tfcr.evaluation.scores import DecidedCurve, Evaluation, decided_curve
from tfcr.report.curves import LOOKS
from tfcr.report.drawing import saved, shown_name, under

MOST_CLASSES = 25
"""Classes of a confusion matrix; of more, those with most mistakes, and all others together."""
THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Probabilities that are marked on the curve of decided documents."""


def draw_confusion(result: Evaluation) -> Picture:
    """Return the confusion matrix: documents in cells, shaded by their fraction of the row."""
    names, matrix = shown_classes(result)
    size = len(names)
    picture = Picture(figsize=(2.2 + 0.42 * size, 1.8 + 0.36 * size), layout="constrained")
    axes = picture.subplots()
    fractions = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(fractions, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(matrix):
        if count:
            dark = fractions[row, column] > 0.55
            weight = "bold" if row == column else "normal"
            axes.text(
                column, row, str(count), ha="center", va="center", color="white" if dark else "black", weight=weight
            )
    axes.set_xticks(range(size), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(size), names)
    axes.set_xticks(np.arange(size + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(size + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="#BBBBBB", linewidth=0.5)
    axes.tick_params(which="minor", length=0)
    axes.set_xlabel("predicted")
    axes.set_ylabel("label")
    axes.set_title("Documents by label and prediction")
    picture.colorbar(image, ax=axes, label="fraction of the label's documents", shrink=0.8)
    return picture


def shown_classes(result: Evaluation, most: int = MOST_CLASSES) -> tuple[list[str], NDArray[Any]]:
    """Return the names and the matrix of the classes with most mistakes, and all others added up as the last class.

    Classes keep their order and are numbered. Those without documents and predictions are left out.

    Examples
    --------
    >>> classes, labels, predicted = np.array(["a", "b", "c"]), np.array(list("aabbc")), np.array(list("aabcb"))
    >>> result = Evaluation(labels, predicted, classes, np.ones((5, 3)) / 3, np.zeros(5, int), (0.5,))
    >>> names, matrix = shown_classes(result, 2)
    >>> names, matrix.tolist()
    (['2 b', '3 c', '(1 others)'], [[1, 1, 0], [1, 0, 0], [0, 0, 2]])
    """
    labels, predicted = result.numbers(result.labels), result.numbers(result.predicted)
    size, is_wrong = len(result.classes), labels != predicted
    both = np.concatenate([labels, predicted])
    mistakes = np.bincount(both, np.concatenate([is_wrong, is_wrong]), size)
    used = np.unique(both)
    kept = np.sort(used[np.argsort(-mistakes[used], kind="stable")[:most]])
    places = np.full(size, len(kept))  # the last place is that of all others
    places[kept] = np.arange(len(kept))
    n_others = len(used) - len(kept)
    matrix = confusion_matrix(places[labels], places[predicted], len(kept) + (n_others > 0))
    names = [shown_name(f"{number + 1} {result.classes[number]}") for number in kept.tolist()]
    return [*names, *([f"({n_others} others)"] if n_others else [])], matrix


def draw_reliability(found: Reliability) -> Picture:
    """Return the reliability diagram: how often labels are right, by their probability, with the size of each bin."""
    used = found.sizes > 0
    picture = Picture(figsize=(4.4, 4.8), layout="constrained")
    axes, below = picture.subplots(2, 1, height_ratios=(4, 1), sharex=True)
    colour = LOOKS[3].colour
    axes.plot([0, 1], [0, 1], color="black", linestyle="--", linewidth=0.8, label="perfectly calibrated")
    axes.plot(
        found.confidences[used],
        found.right[used],
        color=colour,
        marker="o",
        markersize=4,
        linewidth=1.1,
        label="labels",
    )
    axes.set_ylabel("fraction right")
    axes.set_ylim(0, 1.02)
    axes.set_title(f"Reliability: expected calibration error {found.expected_error:.3f}")
    axes.legend(loc="upper left", frameon=False)
    axes.grid(alpha=0.25, linewidth=0.5)
    middles = (np.arange(BINS) + 0.5) / BINS
    below.bar(middles, found.sizes, width=0.9 / BINS, color="#BBBBBB", edgecolor="black", linewidth=0.5)
    for place, size in zip(middles[used].tolist(), found.sizes[used].tolist(), strict=True):
        below.text(place, size, f"{100 * size:.0f}", ha="center", va="bottom", fontsize=6)
    below.set_ylim(0, 1.3 * float(found.sizes.max()))
    below.set_xlim(0, 1)
    below.set_yticks([])
    below.set_ylabel("% of labels")
    below.set_xlabel("probability")
    return picture


def draw_decided(curve: DecidedCurve) -> Picture:
    """Return how often labels are right if only the most probable ones are decided."""
    picture = Picture(figsize=(4.8, 3.6), layout="constrained")
    axes = picture.subplots()
    axes.plot(curve.decided, curve.right, color=LOOKS[3].colour, linewidth=1.1)
    marked = _marked(curve)
    axes.plot(curve.decided[marked], curve.right[marked], "ko", markersize=4)
    low = max(0.0, float(curve.right.min()) - 0.04)
    for place, threshold in zip(marked, _thresholds(curve), strict=True):
        at = float(curve.decided[place]), float(curve.right[place])
        axes.annotate(f"{threshold:g}", at, xytext=(3, 4), textcoords="offset points", fontsize=7)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(low, 1.005 + (1 - low) * 0.04)
    axes.set_xlabel("fraction of documents decided")
    axes.set_ylabel("fraction of these right")
    axes.set_title("Decided from this probability on: ●")
    axes.grid(alpha=0.25, linewidth=0.5)
    return picture


def _thresholds(curve: DecidedCurve) -> list[float]:
    return [threshold for threshold in THRESHOLDS if curve.probabilities[0] >= threshold > curve.probabilities[-1]]


def _marked(curve: DecidedCurve) -> list[int]:
    """Return the last point of the curve that each threshold decides."""
    return [int(np.flatnonzero(curve.probabilities >= threshold)[-1]) for threshold in _thresholds(curve)]


DIAGRAMS: dict[str, Callable[[Evaluation], Picture]] = {
    "confusion": draw_confusion,
    "reliability": lambda result: draw_reliability(result.reliability()),
    "decided": lambda result: draw_decided(decided_curve(result)),
}
"""The pictures of an evaluation, by the names of their files."""
OF_SEVERAL = ("reliability",)
"""Those that make sense for several labels per document."""


def draw_evaluation(result: Evaluation, kind: str = "png") -> dict[str, bytes]:
    """Return the pictures of an evaluation by their names; `kind` is a name of PICTURE_FORMATS."""
    names = OF_SEVERAL if result.several else tuple(DIAGRAMS)
    with under("evaluation"):
        return {name: saved(DIAGRAMS[name](result), kind) for name in names}
