"""Numbered terms: sections, names, finding and taking terms."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.text.lexicon import BigramLexicon, Lexicon
from tfcr.text.vocabulary import Vocabulary

WORDS = ["bad", "good", "so", "!"]


def vocabulary() -> Vocabulary:
    return Vocabulary(WORDS, np.array([[2, 1], [2, 0], [1, 1]], np.int32))


def test_terms_are_numbered_section_by_section() -> None:
    found = vocabulary()
    assert len(found) == 7
    assert found.n_words == 4
    assert (found.section("words"), found.section("bigrams")) == (slice(0, 4), slice(4, 7))
    assert found.names == ["bad", "good", "so", "!", "so good", "so bad", "good good"]
    assert [found.name(number) for number in (0, 5)] == ["bad", "so bad"]
    assert found.word_numbers == {"bad": 0, "good": 1, "so": 2, "!": 3}
    with pytest.raises(KeyError):
        found.section("letters")


def test_bigrams_are_found_in_any_order_and_unknown_ones_are_not() -> None:
    pairs = np.array([[1, 1], [2, 0], [2, 1], [0, 2], [-1, 1], [2, -1], [3, 3]])
    assert vocabulary().find_bigrams(pairs).tolist() == [6, 5, 4, -1, -1, -1, -1]
    assert Vocabulary(WORDS).find_bigrams(pairs).tolist() == [-1] * 7


def test_a_vocabulary_without_bigrams_is_its_own_words() -> None:
    words = vocabulary().only_words()
    assert (list(words.words), len(words.bigrams)) == (WORDS, 0)
    assert words.only_words() is words


def test_symbols_are_known_and_those_in_bigrams() -> None:
    assert vocabulary().symbols.tolist() == [False, False, False, True]
    assert not vocabulary().bigrams_hold_symbols
    assert Vocabulary(WORDS, np.array([[2, 3]], np.int32)).bigrams_hold_symbols


@pytest.mark.parametrize("bigrams", [[[2, 1]], []])
def test_symbols_of_stored_words_are_known_with_and_without_bigrams(bigrams: list[list[int]]) -> None:
    lexicon, pairs = Lexicon.of(WORDS), BigramLexicon.of(np.array(bigrams, np.int32).reshape(-1, 2))
    given = np.array([False, False, False, True] if bigrams else [], np.bool_)
    assert Vocabulary.stored(lexicon, pairs, given).symbols.tolist() == [False, False, False, True]


def test_terms_that_are_taken_are_numbered_anew() -> None:
    taken = vocabulary().take(np.array([2, 1, 6, 4]))
    assert taken.names == ["so", "good", "good good", "so good"]
    assert taken.bigrams.dtype == np.int32


def test_positions_in_another_vocabulary_are_those_of_equal_terms() -> None:
    other = Vocabulary(["so", "very", "good"], np.array([[0, 2], [0, 1]], np.int32))
    assert vocabulary().positions_in(other).tolist() == [-1, 2, 0, -1, 3, -1, -1]
    assert other.positions_in(vocabulary()).tolist() == [2, -1, 1, 4, -1]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), unique=True, max_size=10))
def test_every_bigram_is_found_where_it_stands(bigrams: list[tuple[int, int]]) -> None:
    found = Vocabulary(list("abcde"), np.array(bigrams, np.int32).reshape(-1, 2))
    assert found.find_bigrams(found.bigrams).tolist() == list(range(5, 5 + len(bigrams)))
    assert found.positions_in(found).tolist() == list(range(len(found)))
    assert found.take(np.arange(len(found))).names == found.names


def test_what_can_be_derived_is_not_pickled() -> None:
    full = vocabulary()
    before = len(pickle.dumps(full))
    assert full.names
    assert full.word_numbers
    assert len(pickle.dumps(full)) == before
    assert pickle.loads(pickle.dumps(full)).names == full.names
