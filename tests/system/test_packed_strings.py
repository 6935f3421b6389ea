"""Many words in two arrays, and their order."""

from hypothesis import example, given
from hypothesis import strategies as st

from tfcr.system.packed_strings import decode_words, encode_words, find_packed, sort_words


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
