"""Samples, folds and training parts."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfcr.experiment.plan.folds import cut_folds, sample_documents, thin_classes, training_part


@given(st.integers(2, 500), st.integers(0, 5), st.integers(0, 9), st.data())
def test_training_parts_contain_the_smaller_ones(n: int, seed: int, fold: int, drawn: st.DataObject) -> None:
    train = np.flatnonzero(np.random.default_rng(seed).random(n * 2) < 0.7)
    sizes = sorted(drawn.draw(st.lists(st.integers(1, max(1, len(train))), min_size=2, max_size=5)))
    parts = [training_part(train, size, seed, fold) for size in sizes]
    for smaller, larger in pairwise(parts):
        assert set(smaller) <= set(larger) <= set(train)
    assert [len(part) for part in parts] == [min(size, len(train)) for size in sizes]
    np.testing.assert_array_equal(training_part(train, sizes[0], seed, fold), parts[0])
    np.testing.assert_array_equal(training_part(train, None, seed, fold), train)


def test_samples_and_folds_are_seeded() -> None:
    np.testing.assert_array_equal(sample_documents(5, 10, 0), np.arange(5))
    sample = sample_documents(1000, 100, 3)
    assert len(set(sample.tolist())) == 100
    np.testing.assert_array_equal(sample, sample_documents(1000, 100, 3))
    assert (sample != sample_documents(1000, 100, 4)).any()
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    folds = cut_folds(labels, None, 10, 0)
    assert sorted(place for fold in folds for place in fold.test) == list(range(100))
    assert all(Counter(labels[fold.test].tolist()) == {0: 5, 1: 3, 2: 2} for fold in folds)


def test_classes_are_thinned_out() -> None:
    labels = np.repeat(["a", "b", "c", "d"], [100, 100, 100, 1])
    kept = thin_classes(np.arange(300), labels[:300], 0.02, seed=0, fold=0)
    assert [int((labels[kept] == label).sum()) for label in "abc"] == [100, 14, 2]  # 1, √.02, .02
