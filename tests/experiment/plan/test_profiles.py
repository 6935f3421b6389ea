"""Every profile names rows that exist and scores as its program does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from tfcr.decision import confusion_matrix, macro_f1
from tfcr.experiment import (
    PAPER_SCHEMES,
    PROFILES,
)
from tfcr.schemes import SCHEMES


def test_profiles_name_rows_that_exist() -> None:
    for name, profile in PROFILES.items():
        assert profile.name == name
        assert set(profile.schemes) == set(PAPER_SCHEMES)
        assert set(profile.schemes.values()) <= set(SCHEMES)
        assert all(profile.paper_name(profile.scheme(scheme)) == scheme for scheme in PAPER_SCHEMES)


@given(st.integers(2, 5), st.integers(0, 99))
def test_scores_are_scikit_learns(n_classes: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    true, predicted = draw.integers(0, n_classes, 40), draw.integers(0, n_classes, 40)
    ours = macro_f1(confusion_matrix(true, predicted, n_classes))
    assert ours == pytest.approx(f1_score(true, predicted, labels=np.unique(true), average="macro", zero_division=0))


def test_a_class_named_0_is_left_out_as_in_the_program() -> None:
    true, predicted = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 1, 1, 2, 0])
    counted = PROFILES["published"].counted(["0", "1", "2"])
    expected = f1_score(true, predicted, labels=[1, 2], average="macro")
    assert macro_f1(confusion_matrix(true, predicted, 3), counted) == pytest.approx(expected)
