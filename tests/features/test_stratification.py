"""Iterative stratification, compared with random folds and checked by hand."""

import numpy as np
import pytest

from tfcr.features.cross_fit import stratified_folds
from tfcr.features.stratification import iterative_folds
from tfcr.text.documents import count_terms


def label_matrix(seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    return (random.random((400, 6)) < np.array([0.5, 0.3, 0.1, 0.05, 0.02, 0.01])).astype(np.int64)


@pytest.mark.parametrize("n_folds", [2, 5, 10])
def test_each_fold_has_its_part_of_each_class(n_folds: int) -> None:
    members = label_matrix()
    folds = iterative_folds(members, np.ones(400, np.int64), n_folds, seed=0)
    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.sum() == 400
    assert np.ptp(sizes) <= 0.15 * 400 / n_folds + 2
    for number in range(6):
        of_class = np.bincount(folds[members[:, number] == 1], minlength=n_folds)
        assert np.ptp(of_class) <= max(2, 0.15 * of_class.mean())


def test_the_seed_decides() -> None:
    members, ones = label_matrix(), np.ones(400, np.int64)
    first = iterative_folds(members, ones, 5, seed=1)
    assert (first == iterative_folds(members, ones, 5, seed=1)).all()
    assert (first != iterative_folds(members, ones, 5, seed=2)).any()


def test_units_of_several_documents_stay_together_and_balance() -> None:
    random = np.random.default_rng(0)
    sizes = random.integers(1, 6, 60)
    counts = np.stack([random.binomial(size, [0.5, 0.2]) for size in sizes])
    folds = iterative_folds(counts, sizes, 3, seed=0)
    in_fold = np.array([counts[folds == number].sum(axis=0) for number in range(3)])
    assert (np.ptp(in_fold, axis=0) <= 4).all()


def test_stratified_folds_keep_duplicates_together_and_leave_out_the_only_document_of_a_class() -> None:
    texts = [f"word{number % 10} text" for number in range(40)] + ["lonely"]
    labels = np.zeros((41, 3), bool)
    labels[::2, 0], labels[1::3, 1], labels[40, 2] = True, True, True
    folds = stratified_folds(count_terms(texts), labels, 3, seed=0)
    placed = np.concatenate(folds)
    assert 40 not in placed
    assert len(placed) == len(set(placed.tolist())) == 40
    where = {row: number for number, fold in enumerate(folds) for row in fold.tolist()}
    for one in range(40):
        for two in range(one):
            if texts[one] == texts[two] and (labels[one] == labels[two]).all():
                assert where[one] == where[two]
