"""Samples, folds and training parts."""

from collections import Counter
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfcr.experiment.plan.folds import ClassSizes, class_part, cut_folds, sample_documents, training_part


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


LABELS = np.repeat(["a", "b", "c", "d"], [60, 100, 100, 1])


def sizes_of(part: np.ndarray) -> list[int]:
    return [int((LABELS[part] == label).sum()) for label in "abcd"]


def test_class_sizes_follow_zipfs_law() -> None:
    train = np.arange(260)  # the only document of the last class is a test document
    most, law, both = (
        sizes_of(class_part(train, LABELS, sizes, seed=0, fold=0))
        for sizes in (ClassSizes(10), ClassSizes(zipf=1), ClassSizes(10, 2))
    )
    assert most == [10, 10, 10, 0]
    assert (law[0], sorted(law)) == (33, [0, 33, 50, 100])  # the two largest classes come in random order
    assert sorted(both) == [0, 2, 2, 10]  # 10, 10 / 4, and never fewer than two


def test_ranks_are_the_same_in_all_folds() -> None:
    folds = cut_folds(LABELS[:260], None, 10, 0)
    parts = [sizes_of(class_part(fold.train, LABELS[:260], ClassSizes(zipf=1), 0, 0)) for fold in folds]
    assert len({tuple(np.argsort(part).tolist()) for part in parts}) == 1
    orders = {tuple(ClassSizes(zipf=1).ranks(np.full(20, 5), seed).tolist()) for seed in range(3)}
    assert len(orders) == 3


def test_larger_class_sizes_contain_the_smaller_ones() -> None:
    parts = [set(class_part(np.arange(260), LABELS, ClassSizes(most), 0, 3).tolist()) for most in (5, 20, 90)]
    assert parts[0] < parts[1] < parts[2]
    assert parts[0] != set(class_part(np.arange(260), LABELS, ClassSizes(5), 0, 4).tolist())


def test_class_sizes_in_words() -> None:
    shown = [sizes.described() for sizes in (ClassSizes(1000), ClassSizes(zipf=1), ClassSizes(50, 0.35))]
    assert shown == ["1,000 per class", "Zipf 1", "at most 50 per class, Zipf 0.35"]
