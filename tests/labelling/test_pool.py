import numpy as np
import pytest

from tfcr.errors import InputError
from tfcr.labelling import Pool


def test_texts_of_one_topic_point_one_way(pool: Pool, truth: list[str]) -> None:
    alike = pool.vectors @ pool.vectors.T
    same = np.equal.outer(np.array(truth), np.array(truth))
    assert alike[same].mean() > alike[~same].mean() + 0.1
    assert np.allclose(np.linalg.norm(pool.vectors, axis=1), 1, atol=1e-5)


def test_equal_texts_are_asked_for_once() -> None:
    assert Pool.of(["a b", "c d", "a b"]).firsts.tolist() == [0, 1]


def test_the_fingerprint_changes_with_texts_and_their_order() -> None:
    found = {Pool.of(texts).fingerprint for texts in (["ab", "c"], ["a", "bc"], ["c", "ab"], ["\ud800", "c"])}
    assert len(found) == 4
    assert all(len(one) == 16 for one in found)


def test_texts_without_common_words_have_vectors_all_the_same() -> None:
    assert Pool.of(["a", "b"]).vectors.shape[0] == 2
    assert np.isfinite(Pool.of(["", "a", "a b", "..."]).vectors).all()


@pytest.mark.parametrize("texts", [[], ["one"], ["same", "same"]])
def test_too_few_texts_are_refused(texts: list[str]) -> None:
    with pytest.raises(InputError, match="expected at least two"):
        Pool.of(texts)
