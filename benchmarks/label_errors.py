"""Flipped labels that are found: ours, the odds of calibrated probabilities, against cleanlab's confident learning.

    pip install cleanlab
    python benchmarks/label_errors.py [--dataset agnews] [--preset fast] [--fraction 0.05]

A fraction of the labels is replaced by another at random (seed 0); a preset is cross-validated on the result, and both
methods get its out-of-fold probabilities. cleanlab decides how many documents it lists; ours is read at that length,
and at its own. A dataset has wrong labels of its own, which count as false alarms for both.
"""

import argparse
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tfcr import TfcrClassifier
from tfcr.data import load_data
from tfcr.evaluation import cross_validate
from tfcr.evaluation.diagnosis import likely_label_errors

FILTERS = ("prune_by_noise_rate", "both", "confident_learning")
"""What cleanlab's `find_label_issues` is asked for: its default, its strictest, and plain confident learning."""


def flip(labels: NDArray[np.int64], n_classes: int, fraction: float) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the labels with some replaced by another class, and which."""
    random = np.random.default_rng(0)
    flipped = random.random(len(labels)) < fraction
    other = (labels + random.integers(1, n_classes, len(labels))) % n_classes
    return np.where(flipped, other, labels), flipped


def cleanlab_lists(labels: NDArray[np.int64], chances: NDArray[np.float64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """Yield the documents that cleanlab lists, by the name of its filter; none if it is not installed."""
    try:
        from cleanlab.filter import find_label_issues  # noqa: PLC0415 - optional
    except ImportError:
        print("cleanlab is not installed: only ours is measured; to compare, install it with: pip install cleanlab")
        return
    for name in FILTERS:
        ranked = "self_confidence"
        yield name, find_label_issues(labels, chances, filter_by=name, return_indices_ranked_by=ranked, n_jobs=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="agnews")
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--fraction", type=float, default=0.05)
    parser.add_argument("--folds", type=int, default=5)
    asked = parser.parse_args()
    corpus = load_data([asked.dataset])
    classes, numbers = np.unique(corpus.labels, return_inverse=True)
    labels, flipped = flip(numbers, len(classes), asked.fraction)
    noisy = replace(corpus, labels=classes[labels].tolist())
    model = TfcrClassifier.from_preset(asked.preset, random_state=0)
    chances = cross_validate(model, noisy, folds=asked.folds).probabilities
    ranked = likely_label_errors(labels, chances, least_odds=0.0)[0]
    own = likely_label_errors(labels, chances)[0]
    total = int(flipped.sum())
    print(f"{asked.dataset}, {asked.preset}: {total} of {len(labels)} labels flipped\n")
    print("| listed by | documents | flipped among them | of ours at this length |\n|---|---|---|---|")
    print(f"| ours | {len(own)} | {int(flipped[own].sum())} | – |")
    for name, listed in cleanlab_lists(labels, chances):
        ours = int(flipped[ranked[: len(listed)]].sum())
        print(f"| cleanlab, `{name}` | {len(listed)} | {int(flipped[listed].sum())} | {ours} |")


if __name__ == "__main__":
    main()
