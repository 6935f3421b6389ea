"""Many words in two arrays, and their order."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tfcr.system.packed_strings import decode_words, encode_words, find_packed, hash_packed, sort_words, take_packed


@given(st.lists(st.text(), max_size=10))
def test_words_survive_the_disk(words: list[str]) -> None:
    assert decode_words(*encode_words(words)) == words


ANY_CHARACTER = st.characters(exclude_categories=())


@given(st.sets(st.text(ANY_CHARACTER) | st.text("ab", min_size=6, max_size=20), max_size=40))
@example({"a", "a\0", "a\0\0\0\0\0\0\0\0b", "a\0\0\0\0\0\0\0"})
@example({"\ud800", "\ue000", "\U0001f600", "a" * 8, "a" * 9, "a" * 16, ""})
def test_words_are_sorted_by_code_point(words: set[str]) -> None:
    as_found = list(words)
    assert [as_found[number] for number in sort_words(*encode_words(as_found))] == sorted(words)


@given(st.lists(st.text(max_size=12), unique=True, max_size=30), st.lists(st.text(max_size=12), max_size=10))
def test_words_are_found_where_they_are(listed: list[str], others: list[str]) -> None:
    asked = [*listed[::2], *others]
    expected = [listed.index(word) if word in listed else -1 for word in asked]
    assert find_packed(asked, *encode_words(listed)).tolist() == expected


@given(st.sets(st.text(ANY_CHARACTER) | st.text("ab", min_size=6, max_size=20), max_size=40))
@example({"a", "a\0", "a\0\0\0\0\0\0\0\0b", "a\0\0\0\0\0\0\0", ""})
@example({"abcdefg", "abcdefg\x0f", "abcdef", "abcdef\0\x0e"})  # bytes that look like the size of the word
@example({"a" * 255, "a" * 256, "a" * 257, "a" * 300, "a" * 299 + "b"})
def test_different_words_have_different_hashes_wherever_they_stand(words: set[str]) -> None:
    as_found = list(words)
    hashes = hash_packed(*encode_words(as_found))
    assert len(set(hashes.tolist())) == len(words)
    np.testing.assert_array_equal(hash_packed(*encode_words(as_found[::-1])), hashes[::-1])


def test_hashes_of_many_words_use_all_bits() -> None:
    hashes = hash_packed(*encode_words([f"word{number}" for number in range(50_000)]))
    assert len(np.unique(hashes >> np.uint64(32))) > 49_990  # of 2 ** 32 values, less than one is expected twice
    bits = (hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert abs(bits.mean(axis=0) - 0.5).max() < 0.02


@given(st.lists(st.text(ANY_CHARACTER, max_size=12), min_size=1, max_size=20), st.data())
def test_some_words_are_taken(words: list[str], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(words) - 1)))
    taken = take_packed(*encode_words(words), np.array(numbers, np.int64))
    assert decode_words(*taken) == [words[number] for number in numbers]
