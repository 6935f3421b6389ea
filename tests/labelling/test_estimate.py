from typing import Any

import numpy as np
import pytest

from tfcr.labelling import Pool
from tfcr.labelling.estimate import Evidence, draw_fractions, estimate_macro_f1, gather_evidence


def of(counts: Any, shares: list[float]) -> tuple[float, float, float]:
    return estimate_macro_f1(Evidence(np.array(counts, float), np.array(shares)))


def test_with_many_texts_it_is_the_macro_f1() -> None:
    middle, low, high = of([[8000, 1000], [2000, 9000]], [0.45, 0.55])
    expected = (2 * 8 / (10 + 9) + 2 * 9 / (10 + 11)) / 2
    assert middle == pytest.approx(expected, abs=0.005)
    assert low < expected < high < low + 0.03


def test_few_texts_that_are_all_right_prove_little() -> None:
    _, low, high = of([[9, 0], [0, 2]], [0.8, 0.2])
    assert low < 0.75
    assert high > 0.95


def test_a_class_that_nothing_has_or_gets_counts_as_nothing() -> None:
    middle, _, high = of([[50, 0, 0], [0, 50, 0], [0, 0, 0]], [0.5, 0.5, 0])
    assert middle < high <= 2 / 3


def test_groups_that_are_alike_tell_of_each_other() -> None:
    random = np.random.default_rng(0)
    alike = draw_fractions(np.array([90.0, 92, 88, 0]), np.array([10.0, 8, 12, 0]), 2000, random)[:, 3]
    unlike = draw_fractions(np.array([98.0, 2, 50, 0]), np.array([2.0, 98, 50, 0]), 2000, random)[:, 3]
    assert np.median(alike) > 0.85
    assert np.quantile(alike, 0.05) > 0.6
    assert np.quantile(unlike, 0.1) < 0.2
    assert np.quantile(unlike, 0.9) > 0.8


def test_several_labels() -> None:
    # of each class, by whether it was predicted and is true: no/no, no/yes, yes/no, yes/yes
    counts = [[[800, 50], [50, 100]], [[500, 0], [0, 500]]]
    middle, low, high = of(counts, [0.15, 0.5])
    assert middle == pytest.approx((2 * 100 / 300 + 1) / 2, abs=0.02)
    assert low < middle < high


def test_many_classes_take_less_draws() -> None:
    n = 150
    assert 0.5 < of(np.eye(n).tolist(), [1 / n] * n)[0] < 1


@pytest.mark.parametrize("n", [10, 40])
def test_the_interval_holds_the_true_score_in_nine_of_ten_cases(n: int) -> None:
    """Texts drawn from known confusions, one class of which is rare and badly predicted."""
    true = np.array([[0.70, 0.02, 0.02], [0.06, 0.12, 0.01], [0.03, 0.01, 0.03]])
    shares = true.sum(axis=1)
    macro_f1 = float(np.mean(2 * np.diagonal(true) / (true.sum(axis=0) + shares)))
    random = np.random.default_rng(1)
    inside = 0
    for _ in range(60):
        _, low, high = of(random.multinomial(n, true.ravel()).reshape(3, 3).tolist(), shares.tolist())
        inside += low <= macro_f1 <= high
    assert inside >= 54


def test_texts_are_predicted_by_classifiers_that_have_not_seen_them(pool: Pool, truth: list[str]) -> None:
    known = dict(enumerate(truth[:60]))
    classes = ["politics", "sport", "weather"]
    found = gather_evidence(pool, known, list(range(40)), classes, ["sport"] * 3 + ["weather"])
    assert found is not None
    assert found.counts.sum() == 40
    assert found.counts.sum(axis=0).tolist() == [truth[:40].count(name) for name in classes]
    assert found.shares.tolist() == [0, 0.75, 0.25]
    # labels at random: what was learned by heart would be right
    wrong = dict(enumerate(np.random.default_rng(0).choice(classes, 60).tolist()))
    guessed = gather_evidence(pool, wrong, list(range(40)), classes, ["sport"])
    assert guessed is not None
    assert np.trace(guessed.counts) < 24


def test_there_is_no_evidence_if_nothing_can_be_learned(pool: Pool) -> None:
    assert gather_evidence(pool, {0: "a", 1: "a", 2: "b"}, [0, 1, 2], ["a", "b"], ["a"]) is None
