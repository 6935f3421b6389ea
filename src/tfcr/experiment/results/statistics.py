"""Statistical tests of whether one scheme is better than another, on one dataset and across datasets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

FEWEST_DATASETS = 6
"""With fewer pairs, the two-sided signed-rank test cannot reach .05: its smallest p-value is 2 / 2ⁿ."""


@dataclass(frozen=True)
class Comparison:
    """The result of a test: its name, what was compared, the statistic, and the p-value, corrected or not."""

    test: str
    compared: str
    statistic: float
    p: float
    p_holm: float | None = None


def corrected_resampled_t(one: Sequence[float], two: Sequence[float], test_to_train: float) -> tuple[float, float]:
    """Return t and the two-sided p of the corrected resampled t-test of Nadeau and Bengio (2003).

    With d the differences over k folds: t = mean(d) / sqrt((1/k + n_test/n_train) · var(d)), k - 1 degrees of freedom.
    The second term corrects for training folds that overlap.

    Examples
    --------
    Differences of 1, 2 and 3 over three folds of which each tests 1/2 of what it trains on: mean 2, variance 1,
    t = 2 / sqrt(1/3 + 1/2).

    >>> t, p = corrected_resampled_t([2, 4, 6], [1, 2, 3], 1 / 2)
    >>> round(t, 4), round(p, 4)
    (2.1909, 0.1598)
    """
    differences = np.asarray(one, np.float64) - np.asarray(two, np.float64)
    k = len(differences)
    variance = float(differences.var(ddof=1)) if k > 1 else 0.0
    mean = float(differences.mean())
    if variance == 0:
        return (0.0, 1.0) if mean == 0 or k < 2 else (float(np.copysign(np.inf, mean)), 0.0)
    t = mean / np.sqrt((1 / k + test_to_train) * variance)
    return float(t), float(2 * stats.t.sf(abs(t), k - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number by Holm's step-down method.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    steps = np.asarray(p_values, np.float64)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return [float(p) for p in corrected]


def best_against_others(
    folds: Mapping[str, Sequence[float]], best: str, test_to_train: float, where: str
) -> list[Comparison]:
    """Compare the best scheme with each other one on a dataset, fold by fold."""
    others = [name for name in folds if name != best]
    found = [corrected_resampled_t(folds[best], folds[other], test_to_train) for other in others]
    corrected = holm([p for _, p in found])
    return [
        Comparison("corrected resampled t-test", f"{where}: {best} against {other}", t, p, p_holm)
        for other, (t, p), p_holm in zip(others, found, corrected, strict=True)
    ]


def across_datasets(scores: Mapping[str, Sequence[float]], best: str) -> list[Comparison]:
    """Compare schemes over datasets: Friedman over all, then the best with each other by Wilcoxon, Holm-corrected.

    Parameters
    ----------
    scores
        For each scheme, its score on each dataset, in the same order.
    best
        The scheme to compare with the others.
    """
    n_datasets = len(next(iter(scores.values())))
    found = []
    if len(scores) >= 3 and np.ptp(list(scores.values()), axis=0).any():
        statistic, p = stats.friedmanchisquare(*scores.values())
        found.append(Comparison("Friedman test", f"all schemes over {n_datasets} datasets", float(statistic), float(p)))
    others = [name for name in scores if name != best]
    pairs = [_signed_rank(scores[best], scores[other]) for other in others]
    corrected = holm([p for _, p in pairs])
    return found + [
        Comparison("Wilcoxon signed-rank test", f"{best} against {other}", statistic, p, p_holm)
        for other, (statistic, p), p_holm in zip(others, pairs, corrected, strict=True)
    ]


def _signed_rank(one: Sequence[float], two: Sequence[float]) -> tuple[float, float]:
    differences = np.asarray(one, np.float64) - np.asarray(two, np.float64)
    if not differences.any():
        return 0.0, 1.0
    found = stats.wilcoxon(differences)
    return float(found.statistic), float(found.pvalue)
