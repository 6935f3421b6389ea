"""Statistical tests of whether one scheme is better than another, on one dataset and across datasets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

FEWEST_DATASETS = 6
"""With fewer pairs, the two-sided signed-rank test cannot reach .05: its smallest p-value is 2 / 2ⁿ."""


@dataclass(frozen=True)
class Comparison:
    """The result of a test: its name, what was compared, the statistic, and the p-value, corrected or not.

    `effect` tells how large the difference is, `measure` what it is measured by: a p-value tells neither.
    """

    test: str
    compared: str
    statistic: float
    p: float
    p_holm: float | None = None
    effect: float | None = None
    measure: str = ""


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


def cohens_d(one: Sequence[float], two: Sequence[float]) -> float:
    """Return Cohen's d of paired scores: the mean of the differences over folds, divided by their standard deviation.

    Unlike t, it does not grow with the number of folds. It is infinite if all differences are the same, and not 0.

    Examples
    --------
    Differences of 1, 2 and 3: mean 2, standard deviation 1.

    >>> cohens_d([2, 4, 6], [1, 2, 3])
    2.0
    """
    differences = np.asarray(one, np.float64) - np.asarray(two, np.float64)
    mean, std = float(differences.mean()), float(differences.std(ddof=1)) if len(differences) > 1 else 0.0
    if std == 0:
        return 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
    return mean / std


def rank_biserial(one: Sequence[float], two: Sequence[float]) -> float:
    """Return the matched-pairs rank-biserial correlation: from 1, better on every dataset, to -1, worse on every.

    Differences are ranked by size; it is the sum of the ranks of gains minus that of losses, divided by both together.
    Datasets without a difference count for neither.

    Examples
    --------
    Gains of rank 1 and 3, a loss of rank 2: (4 - 2) / 6.

    >>> round(rank_biserial([0.6, 0.5, 0.9], [0.5, 0.7, 0.6]), 3)
    0.333
    """
    differences = np.asarray(one, np.float64) - np.asarray(two, np.float64)
    differences = differences[differences != 0]
    ranks = stats.rankdata(np.abs(differences))
    return float(np.sum(np.sign(differences) * ranks) / ranks.sum()) if len(ranks) else 0.0


def kendalls_w(chi_square: float, n_datasets: int, n_schemes: int) -> float:
    """Return Kendall's W, from Friedman's statistic: 1 if all datasets rank the schemes alike, 0 if by chance.

    Examples
    --------
    >>> kendalls_w(16.0, 8, 3)
    1.0
    """
    return chi_square / (n_datasets * (n_schemes - 1))


@dataclass(frozen=True)
class Ranking:
    """The mean rank of each scheme over datasets, the best first, and how far apart two must be.

    Attributes
    ----------
    ranks
        Mean rank of each scheme; 1 is the best, and equal scores share the mean of their ranks.
    critical_difference
        Mean ranks that differ by less are not significantly different, by Nemenyi's test.
    n_datasets
        Over how many datasets.
    alpha
        Level of significance.
    """

    ranks: Mapping[str, float]
    critical_difference: float
    n_datasets: int
    alpha: float

    def cliques(self) -> list[list[str]]:
        """Return the largest groups of neighbouring schemes that do not differ significantly, of two or more."""
        names = list(self.ranks)
        found: list[list[str]] = []
        for first in range(len(names)):
            near = [
                name for name in names[first:] if self.ranks[name] - self.ranks[names[first]] < self.critical_difference
            ]
            if len(near) > 1 and not (found and near[-1] == found[-1][-1]):
                found.append(near)
        return found


def rank_schemes(scores: Mapping[str, Sequence[float]], alpha: float = 0.05) -> Ranking:
    """Rank schemes over datasets, with the critical difference of Nemenyi's test, as Demšar (2006) describes it.

    With k schemes and n datasets it is q · sqrt(k (k + 1) / (6 n)), q the quantile of the studentised range with
    infinite degrees of freedom, divided by √2.

    Examples
    --------
    For four schemes and fourteen datasets, q is 2.569:

    >>> scores = {name: [float(number)] * 14 for number, name in enumerate("dcba")}
    >>> ranking = rank_schemes(scores)
    >>> dict(ranking.ranks), round(ranking.critical_difference, 2)
    ({'a': 1.0, 'b': 2.0, 'c': 3.0, 'd': 4.0}, 1.25)
    >>> ranking.cliques()
    [['a', 'b'], ['b', 'c'], ['c', 'd']]
    """
    names = list(scores)
    table = np.array([scores[name] for name in names], np.float64).T
    n_datasets, n_schemes = table.shape
    means = stats.rankdata(-table, axis=1).mean(axis=0)
    quantile = float(stats.studentized_range.ppf(1 - alpha, n_schemes, np.inf)) / np.sqrt(2)
    critical = quantile * np.sqrt(n_schemes * (n_schemes + 1) / (6 * n_datasets))
    order = np.argsort(means, kind="stable").tolist()
    return Ranking({names[at]: float(means[at]) for at in order}, float(critical), n_datasets, alpha)


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
        Comparison(
            "corrected resampled t-test",
            f"{where}: {best} against {other}",
            t,
            p,
            p_holm,
            cohens_d(folds[best], folds[other]),
            "Cohen's d",
        )
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
        agreement = kendalls_w(float(statistic), n_datasets, len(scores))
        compared = f"all schemes over {n_datasets} datasets"
        found.append(
            Comparison("Friedman test", compared, float(statistic), float(p), effect=agreement, measure="Kendall's W")
        )
    others = [name for name in scores if name != best]
    pairs = [_signed_rank(scores[best], scores[other]) for other in others]
    corrected = holm([p for _, p in pairs])
    return found + [
        Comparison(
            "Wilcoxon signed-rank test",
            f"{best} against {other}",
            statistic,
            p,
            p_holm,
            rank_biserial(scores[best], scores[other]),
            "rank-biserial correlation",
        )
        for other, (statistic, p), p_holm in zip(others, pairs, corrected, strict=True)
    ]


def _signed_rank(one: Sequence[float], two: Sequence[float]) -> tuple[float, float]:
    differences = np.asarray(one, np.float64) - np.asarray(two, np.float64)
    if not differences.any():
        return 0.0, 1.0
    found = stats.wilcoxon(differences)
    return float(found.statistic), float(found.pvalue)
