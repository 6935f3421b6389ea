"""Tests of significance against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from tfcr.experiment.results.statistics import (
    across_datasets,
    best_against_others,
    cohens_d,
    corrected_resampled_t,
    holm,
    rank_biserial,
    rank_schemes,
)


def test_the_corrected_t_test() -> None:
    draw = np.random.default_rng(0)
    one, two = draw.random(10).tolist(), draw.random(10).tolist()
    plain = stats.ttest_rel(one, two)
    assert corrected_resampled_t(one, two, 0.0) == pytest.approx((plain.statistic, plain.pvalue))
    # worked by hand: differences 1, 2, 3; t = 2 / sqrt((1/3 + 1/9) · 1) = 3, 2 degrees of freedom
    t, p = corrected_resampled_t([2, 3, 4], [1, 1, 1], 1 / 9)
    assert (t, p) == pytest.approx((3, 2 * stats.t.sf(3, 2)))
    assert corrected_resampled_t([1, 2], [1, 2], 0.1) == (0.0, 1.0)
    assert corrected_resampled_t([2, 3], [1, 2], 0.1) == (np.inf, 0.0)


def test_holms_correction() -> None:
    assert holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]


def test_tests_across_datasets_are_scipys() -> None:
    draw = np.random.default_rng(1)
    scores = {name: draw.random(8).tolist() for name in ("none", "kld", "tfcr")}
    friedman, *pairs = across_datasets(scores, "tfcr")
    assert friedman.p == pytest.approx(stats.friedmanchisquare(*scores.values()).pvalue)
    expected = [float(stats.wilcoxon(scores["tfcr"], scores[name]).pvalue) for name in ("none", "kld")]
    assert [pair.p for pair in pairs] == pytest.approx(expected)
    assert [pair.p_holm for pair in pairs] == pytest.approx(holm(expected))
    same = across_datasets({"a": [0.5] * 6, "b": [0.5] * 6, "c": [0.5] * 6}, "a")
    assert [test.p for test in same] == [1.0, 1.0]
    within = best_against_others({"a": [0.9, 0.8], "b": [0.7, 0.7]}, "a", 1 / 9, "20ng")
    assert within[0].compared == "20ng: a against b"


def test_effect_sizes() -> None:
    draw = np.random.default_rng(2)
    one, two = draw.random(10).tolist(), draw.random(10).tolist()
    assert cohens_d(one, two) == pytest.approx(stats.ttest_rel(one, two).statistic / np.sqrt(10))
    assert cohens_d([0.5, 0.6], [0.5, 0.6]) == 0
    assert cohens_d([0.5], [0.25]) == np.inf
    assert rank_biserial([1, 2, 3], [0, 0, 0]) == 1
    assert rank_biserial([0, 0, 0], [1, 2, 3]) == -1
    assert rank_biserial([1.0], [1.0]) == 0
    # the statistic of scipy is the smaller of the sums of ranks, of 55 in all
    smaller = stats.wilcoxon(one, two).statistic
    assert abs(rank_biserial(one, two)) == pytest.approx((55 - 2 * smaller) / 55)
    scores = {name: draw.random(8).tolist() for name in ("none", "kld", "tfcr")}
    friedman, *pairs = across_datasets(scores, "tfcr")
    assert friedman.effect == pytest.approx(friedman.statistic / (8 * 2))
    assert [pair.measure for pair in pairs] == ["rank-biserial correlation"] * 2
    [within] = best_against_others({"a": [0.9, 0.8], "b": [0.7, 0.7]}, "a", 1 / 9, "20ng")
    assert within.measure == "Cohen's d"
    assert within.effect == pytest.approx(0.15 / float(np.std([0.2, 0.1], ddof=1)))


def test_critical_differences_are_those_of_the_tables() -> None:
    """Of Demšar (2006), table 5: q at .05 for 2 to 10 classifiers."""
    tabled = (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164)
    for k, q in enumerate(tabled, start=2):
        scores = {str(number): [float(number)] * 6 for number in range(k)}
        assert rank_schemes(scores).critical_difference == pytest.approx(q * np.sqrt(k * (k + 1) / 36), abs=2e-3)


def test_ranks_are_shared_and_cliques_are_the_largest() -> None:
    scores = {"a": [0.9, 0.9, 0.9, 0.9], "b": [0.9, 0.8, 0.8, 0.8], "c": [0.1, 0.1, 0.1, 0.1]}
    ranking = rank_schemes(scores)
    assert dict(ranking.ranks) == {"a": 1.125, "b": 1.875, "c": 3}
    assert ranking.critical_difference == pytest.approx(2.343 * np.sqrt(12 / 24), abs=2e-3)
    assert ranking.cliques() == [["a", "b"], ["b", "c"]]
    assert rank_schemes({name: row * 10 for name, row in scores.items()}).cliques() == []
    assert rank_schemes({"a": [0.5, 0.5], "b": [0.5, 0.5]}).cliques() == [["a", "b"]]
