"""Tests of significance against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from tfcr.experiment.results.statistics import across_datasets, best_against_others, corrected_resampled_t, holm


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
