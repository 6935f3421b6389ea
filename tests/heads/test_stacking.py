"""Stacking: part weights, picked strengths, folds, the class offset."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold

from tfcr.heads.base import Examples, Targets
from tfcr.heads.stacking import FOLDS, _macro_f1, learn_part_weights, stacking_folds, tune_class_offset
from tfcr.text.documents import CountedDocuments
from tfcr.text.vocabulary import Vocabulary


def targets(labels: Any) -> Targets:
    numbers = np.asarray(labels)
    n_classes = int(numbers.max()) + 1
    return Targets(numbers, n_classes, np.ones(len(numbers)), np.ones(n_classes))


def test_a_part_that_knows_nothing_gets_no_weight() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 2000)
    knows = np.eye(3)[labels] + random.normal(size=(2000, 3))
    weights = learn_part_weights([knows, random.normal(size=(2000, 3))], targets(labels))
    assert weights[0] > 0.5
    assert weights[1] < 0.05 * weights[0]


def test_two_parts_that_err_differently_are_better_than_each() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 4, 4000)
    parts = [np.eye(4)[labels] + random.normal(size=(4000, 4)) for _ in range(2)]
    weights = learn_part_weights(parts, targets(labels))
    assert weights[0] == pytest.approx(weights[1], rel=0.1)
    together = weights[0] * parts[0] + weights[1] * parts[1]
    each = [np.mean(part.argmax(axis=1) == labels) for part in parts]
    assert np.mean(together.argmax(axis=1) == labels) > max(each) + 0.05


def test_the_class_offset_favours_rare_classes_where_that_helps() -> None:
    random = np.random.default_rng(2)
    labels = np.where(random.uniform(size=5000) < 0.1, 1, 0)
    training = Targets(labels, 2, np.ones(5000), 2500 / np.bincount(labels))
    scores = (np.where(labels, 1.0, -1.0) + random.normal(size=5000) - 2)[:, None]  # shy of the rare class
    offsets = tune_class_offset(scores, training, training)
    best = f1_score(labels, scores[:, 0] + offsets[0] > 0, average="macro")
    assert offsets[0] > 0
    assert best > f1_score(labels, scores[:, 0] > 0, average="macro") + 0.02
    assert _macro_f1(scores + offsets, training) == pytest.approx(best)
    alike = Targets(labels, 2, np.ones(5000), np.ones(2))
    assert tune_class_offset(scores, alike, alike).tolist() == [0]


def test_class_weights_of_the_user_s_own_get_no_offset() -> None:
    random = np.random.default_rng(3)
    labels = np.where(random.uniform(size=2000) < 0.1, 1, 0)
    scores = (np.where(labels, 1.0, -1.0) + random.normal(size=2000) - 2)[:, None]
    own = Targets(labels, 2, np.ones(2000), np.array([1.0, 20.0]))
    assert tune_class_offset(scores, own, own).tolist() == [0]


def one_word_each(words: Any) -> CountedDocuments:
    """Return documents of one word, given by its number: those of the same word are copies."""
    matrix = sp.csr_array(np.eye(int(np.max(words)) + 1, dtype=np.int32)[words])
    vocabulary = Vocabulary([str(number) for number in range(matrix.shape[1])])
    return CountedDocuments(vocabulary, matrix, np.ones(len(words), np.int64))


DOCUMENTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), min_size=2, max_size=80)


@given(DOCUMENTS, st.integers(0, 9))
def test_every_class_stays_in_training_and_duplicates_in_one_fold(given: list[tuple[int, int]], seed: int) -> None:
    words = [word for _, word in given]
    numbers = np.unique([label for label, _ in given], return_inverse=True)[1]
    folds = stacking_folds(Examples(one_word_each(words), targets(numbers)), seed)
    seen = np.concatenate(folds) if folds else np.array([], np.int64)
    assert len(set(seen.tolist())) == len(seen)
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(numbers)), fold)
        assert set(numbers[rest]) == set(numbers)
        assert not {given[number] for number in fold} & {given[number] for number in rest}
    alone = np.bincount([label for label, _ in set(zip(numbers.tolist(), words, strict=True))]) == 1
    assert not alone[numbers[seen]].any()
    assert len(seen) == (~alone[numbers]).sum()


def test_folds_are_as_even_as_scikit_learns() -> None:
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    folds = stacking_folds(Examples(one_word_each(np.arange(100)), targets(labels)), 0)
    ours = [np.bincount(labels[fold]).tolist() for fold in folds]
    theirs = [np.bincount(labels[test]).tolist() for _, test in StratifiedKFold(FOLDS).split(labels, labels)]
    assert ours == theirs
