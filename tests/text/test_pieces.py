"""Pieces of words: every segmentation by hand, and against the naive way."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.errors import UnknownNameError
from tfcr.text.pieces import (
    MAX_CHARACTERS,
    SEGMENTATIONS,
    Pieces,
    affixes_of,
    find_ngrams,
    ngrams_of,
    piece_matrix,
)

WORKED: dict[str, tuple[list[str], dict[str, list[str]]]] = {
    "ngrams": (
        [" a", "an", "na", "a ", " ban", "anana", "nan", "banana", "x"],
        {
            "banana": ["an", "na", "a ", "nan", " ban", "anana"],  # each once, shorter ones first
            "a": [" a", "a "],
            "x": [],  # a single character is no n-gram
            "": [],
        },
    ),
    "affixes": (
        [" b", "an", "na", "a ", "na ", " bana", "nana "],
        {"banana": [" b", "a ", "na ", " bana", "nana "], "an": [], "na": ["a ", "na "], "": []},
    ),
    "longest": (
        [" good", " goo", "dis", "ish", "h", " "],
        {
            "goodish": [" good", "ish"],
            "goodishh": [" good", "ish", "h"],
            "good": [" good"],
            "dish": [" ", "dis", "h"],
            "goxx": [" "],  # " goo" does not fit, and what fits nowhere is skipped
            "hxh": [" ", "h", "h"],  # a piece may occur twice
            "": [" "],
        },
    ),
    # good: "oo" comes first, "ood" before " g", which then makes " good"; goo: "oo" leaves no "go"
    "merge": (
        ["oo", "go", "ood", " good", " g", "g", "d", "x"],
        {
            "good": [" good"],
            "goo": [" g", "oo"],
            "xgo": ["x", "go"],
            "oood": ["oo", "d"],  # of two that come first, the left one
            "dd": ["d", "d"],
            "": [],
        },
    ),
    "whole": ([" good ", "good", " "], {"good": [" good "], "goo": [], "": []}),
}


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
def test_segmentations_are_worked_by_hand(segmentation: str) -> None:
    names, words = WORKED[segmentation]
    pieces = Pieces(names, segmentation)
    assert {word: [names[number] for number in pieces.of_word(word)] for word in words} == words
    expected = [[found.count(name) for name in names] for found in words.values()]
    matrix = pieces.matrix(list(words))
    assert matrix.toarray().tolist() == expected
    assert matrix.dtype == np.float32


def test_the_examples_of_the_module() -> None:
    assert ngrams_of("good")[:9] == [" g", "go", "oo", "od", "d ", " go", "goo", "ood", "od "]
    assert len(ngrams_of("good")) == 5 + 4 + 3 + 2
    assert affixes_of("good") == [" g", "d ", " go", "od ", " goo", "ood ", " good", "good "]
    for segmentation in ("longest", "merge"):
        pieces = Pieces([" g", "go", "ood", "is", " good", "oo", "ish"], segmentation)
        assert [pieces.names[number] for number in pieces.of_word("goodish")][-1] == "ish"


def test_words_are_looked_at_up_to_a_limit() -> None:
    word = "x" * (MAX_CHARACTERS - 1) + "yz"
    assert ngrams_of(word) == ngrams_of(word[:MAX_CHARACTERS])
    assert "xy " in affixes_of(word)
    for segmentation in ("longest", "merge"):
        assert Pieces(["y", "z"], segmentation).of_word(word) == [0]
    whole = Pieces([f" {word} ", f" {word[:-1]} "], "whole")
    assert whole.of_word(word) == []  # never a word that is cut off
    assert whole.of_word(word[:-1]) == [1]


def naive_merges(word: str, ranks: dict[str, int]) -> list[str]:
    """Byte-pair encoding as it is told: of all neighbours that may be joined, join the best ranked, leftmost first."""
    parts = [" ", *word[:MAX_CHARACTERS]]
    while True:
        joined = [
            (ranks[parts[at] + parts[at + 1]], at) for at in range(len(parts) - 1) if parts[at] + parts[at + 1] in ranks
        ]
        if not joined:
            return [part for part in parts if part in ranks]
        _, at = min(joined)
        parts = [*parts[:at], parts[at] + parts[at + 1], *parts[at + 2 :]]


PIECE_NAMES = st.lists(st.text("ab ", min_size=1, max_size=5), unique=True, max_size=25)


@given(PIECE_NAMES, st.text("ab", max_size=12))
def test_merging_is_byte_pair_encoding(names: list[str], word: str) -> None:
    pieces = Pieces(names, "merge")
    found = [names[number] for number in pieces.of_word(word)]
    assert found == naive_merges(word, {name: rank for rank, name in enumerate(names)})


@given(PIECE_NAMES, st.text("ab", max_size=12))
def test_the_longest_pieces_cover_a_word_whose_characters_are_all_pieces(names: list[str], word: str) -> None:
    with_characters = list(dict.fromkeys([*names, "a", "b", " "]))
    found = [with_characters[number] for number in Pieces(with_characters, "longest").of_word(word)]
    edged = f" {word}"
    assert "".join(found) == edged
    at = 0
    for piece in found:
        longer = [edged[at:end] for end in range(at + len(piece) + 1, len(edged) + 1)]
        assert not set(longer) & set(with_characters)
        at += len(piece)


@given(st.text(max_size=80))
def test_ngrams_are_all_strings_within_the_edged_word(word: str) -> None:
    edged = f" {word[:MAX_CHARACTERS]} "
    strings = {
        edged[start:end] for start in range(len(edged)) for end in range(start + 2, min(start + 5, len(edged)) + 1)
    }
    found = ngrams_of(word)
    assert len(found) == len(set(found))
    assert set(found) == strings
    at_edges = {piece for piece in strings if edged.startswith(piece) or edged.endswith(piece)}
    assert set(affixes_of(word)) == at_edges


def test_an_unknown_segmentation_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown segmentation 'longer'; known: ngrams, affixes, longest, merge"):
        Pieces(["a"], "longer")


def test_some_of_the_pieces_are_renumbered() -> None:
    pieces = Pieces(["a", "b", " "], "longest").take(np.array([2, 0]))
    assert (list(pieces.names), pieces.segmentation, len(pieces)) == ([" ", "a"], "longest", 2)
    assert pieces.of_word("ab") == [0, 1]


def test_what_can_be_derived_is_not_pickled() -> None:
    pieces = Pieces(["a", "b"], "longest")
    small = len(pickle.dumps(pieces))
    assert pieces.of_word("ba") == [1, 0]
    assert len(pickle.dumps(pieces)) == small
    assert pickle.loads(pickle.dumps(pieces)).of_word("ba") == [1, 0]


def test_no_words_and_no_pieces() -> None:
    assert Pieces(["a"], "longest").matrix([]).shape == (0, 1)
    assert Pieces([], "ngrams").matrix(["a", "b"]).shape == (2, 0)
    matrix = piece_matrix(np.array([1, 1, 0], np.int32), np.array([0, 2, 2, 3]), 2)
    assert matrix.toarray().tolist() == [[0, 2], [0, 0], [1, 0]]


# n-grams of a corpus -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("segmentation", ["ngrams", "affixes"])
def test_frequent_ngrams_are_worked_by_hand(segmentation: str) -> None:
    words, frequencies = ["banana", "ana", "b"], np.array([2, 1, 1])
    found = find_ngrams(words, frequencies, 3, segmentation)
    inner = {"ngrams": ["an", "ana", "na"], "affixes": []}[segmentation]  # "an" twice in banana, which counts once
    assert found.names == sorted([" b", "a ", "ana ", "na ", *inner])
    assert found.segmentation == segmentation
    assert find_ngrams(words, frequencies, 5, segmentation).names == []
    assert find_ngrams([], np.array([], np.int64), 1, segmentation).names == []


@given(st.lists(st.tuples(st.text("abé😀", max_size=7), st.integers(0, 4)), max_size=12), st.integers(1, 6))
def test_ngrams_are_frequent_by_the_words_that_hold_them(words: list[tuple[str, int]], at_least: int) -> None:
    for segmentation, cut in (("ngrams", ngrams_of), ("affixes", affixes_of)):
        every = {piece for word, _ in words for piece in cut(word)}
        expected = [
            piece for piece in every if sum(frequency for word, frequency in words if piece in cut(word)) >= at_least
        ]
        found = find_ngrams(
            [word for word, _ in words], np.array([n for _, n in words], np.int64), at_least, segmentation
        )
        assert found.names == sorted(expected)
