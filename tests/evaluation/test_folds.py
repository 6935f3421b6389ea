"""Folds that had to be changed, and parts of a corpus by time."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.data import Corpus
from tfcr.errors import InputError
from tfcr.evaluation import plan_folds, split_by_time


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


@given(st.lists(st.integers(0, 9), min_size=2, max_size=50))
def test_equal_times_stay_together(times: list[int]) -> None:
    labels = ["a", "b"] * len(times)
    corpus = Corpus(["text"] * (2 * len(times)), labels, times=[time for time in times for _ in range(2)])
    if len(set(times)) == 1:
        with pytest.raises(InputError, match="found the same time in all"):
            split_by_time(corpus)
        return
    split = split_by_time(corpus)
    assert sorted(split.older + split.newest) == list(range(len(corpus)))
    of = corpus.times or []
    assert max(of[place] for place in split.older) < min(of[place] for place in split.newest)
    sizes = [sum(time >= first for time in of) for first in sorted(set(of))[1:]]
    best = min(abs(size - 0.2 * len(of)) for size in sizes)
    assert abs(len(split.newest) - 0.2 * len(of)) == pytest.approx(best)


def test_what_a_split_by_time_says() -> None:
    times = [date(2024, 1, day) for day in (5, 1, 2, 3, 4)]
    corpus = Corpus(list("abcde"), ["new", "x", "y", "x", "y"], times=times)
    split = split_by_time(corpus)
    assert (split.older, split.newest) == ([1, 2, 3, 4], [0])
    assert split.notes() == [
        "trained on 4 documents from 2024-01-01 to 2024-01-04, tested on 1 from 2024-01-05 to 2024-01-05",
        "1 classes are in the newest part only, where every document of them is a mistake: new (1)",
    ]
    assert split.as_json()["newest"] == {"documents": 1, "from": "2024-01-05", "to": "2024-01-05"}
    with pytest.raises(InputError, match="found one class in the 4 older documents, 'x' with 4"):
        split_by_time(Corpus(list("abcde"), ["y", "x", "x", "x", "x"], times=times))


def test_documents_keep_their_numbers_if_a_class_is_left_out() -> None:
    corpus = Corpus(list("abcde"), ["x", "lonely", "y", "x", "y"])
    assert plan_folds(corpus, 2).corpus.rows == [1, 3, 4, 5]
    assert plan_folds(Corpus(list("ab") * 2, ["x", "y"] * 2), 2).corpus.rows == []
