import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.labelling.conftest import corpus
from tfcr.labelling import Pool
from tfcr.labelling.choosing import LEAST_SURE, far_apart, group_texts, spread_texts, unsure_texts


def random() -> np.random.Generator:
    return np.random.default_rng(0)


def test_the_first_texts_are_of_all_topics() -> None:
    texts, truth = corpus(500)
    pool = Pool.of(texts)
    found = spread_texts(pool.vectors, np.arange(500), np.array([], np.int64), 8, random())
    assert {truth[number] for number in found} == {"sport", "politics", "weather"}


def test_groups_with_a_known_text_come_last() -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), [10, 5, 2], axis=0)
    found = spread_texts(vectors, np.arange(1, 17), np.array([0]), 2, random())
    assert {10 <= found[0] < 15, 15 <= found[1] < 17} == {True}


@given(st.integers(1, 30), st.integers(0, 20), st.integers(1, 40))
def test_wanted_texts_are_different_and_open(n_open: int, n_known: int, n: int) -> None:
    vectors = np.ones((n_open + n_known, 2), np.float32) / np.sqrt(2).astype(np.float32)  # all the same
    opened, known = np.arange(n_open), np.arange(n_open, n_open + n_known)
    for found in (
        spread_texts(vectors, opened, known, n, random()),
        unsure_texts(vectors, np.zeros(n_open), opened, n, random()),
    ):
        assert len(set(found.tolist())) == len(found) == min(n, n_open)
        assert set(found.tolist()) <= set(opened.tolist())


def test_unsure_texts_are_among_the_least_sure_and_far_apart() -> None:
    # two kinds among the least sure 20 of 200: 19 of the first, 1 of the second
    vectors = np.repeat(np.eye(2, dtype=np.float32), [199, 1], axis=0)
    sure = np.arange(200)[::-1].astype(float)
    found = unsure_texts(vectors, sure, np.arange(200), 2, random())
    assert 199 in found
    assert min(found) >= 200 - LEAST_SURE * 200


def test_rows_drawn_are_different_even_if_all_are_equal() -> None:
    assert sorted(far_apart(np.ones((5, 1), np.float32), 5, random()).tolist()) == [0, 1, 2, 3, 4]


def test_groups_are_those_of_equal_directions() -> None:
    vectors = np.repeat(np.eye(3, dtype=np.float32), 4, axis=0)
    groups, centres = group_texts(vectors, 3, random())
    assert len(set(groups.tolist())) == 3
    assert np.allclose(centres[groups], vectors)
