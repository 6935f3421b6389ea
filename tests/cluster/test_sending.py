import numpy as np

from tfcr.cluster.sending import LARGE, Sent, pack, unpack


def test_a_large_array_goes_apart_and_once() -> None:
    large, small = np.arange(LARGE, dtype=np.int8), np.arange(3)
    packed = pack({"a": large, "b": [large, small], "c": large[::2]})
    assert [array is large for array in packed.arrays] == [True]
    assert len(packed.content) < 2 * LARGE
    found = unpack(packed.content, packed.arrays)
    assert found["a"] is found["b"][0] is large
    np.testing.assert_array_equal(found["b"][1], small)
    np.testing.assert_array_equal(found["c"], large[::2])


def test_arrays_are_sent_again_only_if_they_changed_or_are_others() -> None:
    calls: list[float] = []
    sent = Sent(lambda array: calls.append(float(array.sum())) or len(calls))  # type: ignore[func-returns-value]
    one, turned = np.zeros(10), np.zeros((3, 4)).T
    assert [sent.of(one), sent.of(one), sent.of(turned)] == [1, 1, 2]
    one += 1
    assert sent.of(one) == 3
    del one
    assert len(sent._sent) == 1  # what is gone is forgotten
    sent.clear()
    assert sent.of(turned) == 4
