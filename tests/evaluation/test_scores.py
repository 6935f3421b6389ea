"""Scores, and the bar that a classifier must pass."""

import numpy as np
import pytest

from tfcr.evaluation import Evaluation, compare_with_majority, majority_class


def test_the_most_frequent_class_is_the_bar_to_pass() -> None:
    labels = np.array(list("aaaabb"))
    folds = np.array([0, 0, 1, 1, 0, 1])
    classes, chances = np.array(["a", "b"]), np.full((6, 2), 0.5)
    useless = Evaluation(labels, np.array(list("abaaaa")), classes, chances, folds, (0.4, 0.4))
    trivial = majority_class(useless)
    assert trivial is not None
    assert list(trivial.predicted) == ["a"] * 6  # type: ignore[arg-type]
    assert trivial.macro_f1 == pytest.approx(0.4)  # F1 of a is .8, of b 0
    assert trivial.accuracy == pytest.approx(4 / 6)
    [comment] = compare_with_majority(useless)
    assert comment.startswith("macro-F1 0.400 is not above 0.400, that of always predicting 'a'")
    assert comment.endswith("6 documents are few to learn from; label more")
    predicted = np.array(list("abaaaa") * 10)
    many = Evaluation(np.repeat(labels, 10), predicted, classes, chances, np.repeat(folds, 10), (0.4,))
    assert compare_with_majority(many)[0].endswith("are --text and --label the right columns?")
    fair = Evaluation(labels, np.array(list("abbabb")), classes, chances, folds, (0.6, 0.7))
    [comment] = compare_with_majority(fair, balanced=True)
    assert comment.endswith("train with --class-weight none for accuracy")
    assert "--class-weight" not in compare_with_majority(fair)[0]
    assert compare_with_majority(Evaluation(labels, labels, classes, chances, folds, (1.0, 1.0))) == []
    one = Evaluation(labels[:2], labels[:2], classes, chances, folds[:2], (1.0,))
    assert (majority_class(one), compare_with_majority(one)) == (None, [])
