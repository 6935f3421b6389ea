"""Folds that had to be changed."""

import pytest

from tfcr.data import Corpus
from tfcr.errors import InputError
from tfcr.evaluation import plan_folds


def test_folds_that_cannot_be() -> None:
    corpus = Corpus(list("abcdefg"), ["x", "x", "x", "y", "y", "y", "z"])
    plan = plan_folds(corpus, 5)
    assert (plan.folds, len(plan.corpus)) == (3, 6)
    assert "1 classes with fewer than 2 documents are left out: z (1)" in plan.notes
    assert plan.notes[1] == "the class 'x' has 3 documents: 3 folds instead of 5"  # there is no other choice
    three = Corpus(list("abcdefgh"), list("xxxyyyzz"))
    assert plan_folds(three, 3).notes[0].endswith("(--min-class-size 3 leaves such classes out instead)")
    with pytest.raises(InputError, match="found folds=1; expected a whole number from 2"):
        plan_folds(corpus, 1)
    with pytest.raises(InputError, match="found 0 classes with enough documents"):
        plan_folds(corpus, 2, min_class_size=4)
