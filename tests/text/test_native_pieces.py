"""Cutting words by compiled code against plain Python: the same pieces, whatever the words."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcr.system.native import MAX_PIECES, cut_some
from tfcr.system.packed_strings import encode_words
from tfcr.text import native_pieces, pieces
from tfcr.text.native_pieces import PieceCutter, cut_words, find_frequent
from tfcr.text.pieces import SEGMENTATIONS, Pieces, find_ngrams, ngrams_of

ALPHABET = "ab é中😀\u0301\udc80\0"
WORDS = st.lists(
    st.one_of(
        st.text(max_size=10),
        st.text(ALPHABET, max_size=12),
        st.text("ab", min_size=60, max_size=70),
        st.text("中😀", min_size=60, max_size=70),
    ),
    max_size=8,
)


def made_of(words: Sequence[str], more: Sequence[str], random: Any) -> list[str]:
    """Return pieces that occur in the words, in any order, and others."""
    edged = [f" {word} " for word in words]
    within = [word[start : start + size] for word in edged for start, size in random.integers(0, 6, (8, 2)).tolist()]
    names = list(
        dict.fromkeys([*within, *edged, *more, *ALPHABET, *(piece for word in words for piece in ngrams_of(word))])
    )
    return [names[number] for number in random.permutation(len(names))[: random.integers(0, len(names) + 1)]]


def same_as_plain(words: list[str], cutter: Pieces) -> bool:
    numbers, starts = cut_words(words, cutter)
    found = [numbers[start:end].tolist() for start, end in pairwise(starts)]
    return found == [cutter.of_word(word) for word in words]


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
@given(words=WORDS, more=st.lists(st.text(max_size=4), max_size=5), seed=st.integers(0, 99))
def test_pieces_are_those_of_plain_python(segmentation: str, words: list[str], more: list[str], seed: int) -> None:
    names = made_of(words, more, np.random.default_rng(seed))
    assert same_as_plain(words, Pieces(names, segmentation))


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
def test_long_words(segmentation: str) -> None:
    """Around the limit of 64 characters, of one byte to four, where each piece counts, and the longest one too."""
    words = [character * size for character in "aé中😀" for size in (62, 63, 64, 65, 66, 5_000)]
    names = [piece for word in words[::6] for piece in ngrams_of(word)]
    names += [f" {word}"[:65] for word in words] + [f" {word} " for word in words] + [f"{'b' * 90}", *"aé中😀"]
    assert same_as_plain(words, Pieces(list(dict.fromkeys(names)), segmentation))


@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
def test_compiled_code_goes_on_where_its_room_was_full(segmentation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abc"), random.integers(0, 9))) for _ in range(100)]
    cutter = Pieces(made_of(words, [], random), segmentation)
    monkeypatch.setattr(native_pieces, "ENTRIES", MAX_PIECES)  # room for a word at least
    calls: list[int] = []

    def counted(*given: Any) -> int:
        calls.append(1)
        return cut_some(*given)

    monkeypatch.setattr(native_pieces, "cut_some", counted)
    assert same_as_plain(words, cutter)
    assert len(calls) > 1


def test_no_words_and_no_pieces() -> None:
    numbers, starts = cut_words([], Pieces(["a"], "longest"))
    assert (numbers.tolist(), starts.tolist()) == ([], [0])
    numbers, starts = cut_words(["a", "b"], Pieces([], "merge"))
    assert (numbers.tolist(), starts.tolist()) == ([], [0, 0, 0])


def test_bytes_that_may_be_written_need_no_code_of_their_own() -> None:
    """Compiling takes seconds; the bytes of words are read-only in one place, and may be written in another."""
    text, offsets = encode_words(["ab", "b"])
    cutter = PieceCutter(Pieces(["b", "a"], "longest"))
    cutter.cut(text, offsets)
    before = len(cut_some.signatures)  # type: ignore[attr-defined]
    mine = text.copy()
    numbers, starts = cutter.cut(mine, offsets)
    assert (numbers.tolist(), starts.tolist()) == ([1, 0, 0], [0, 2, 3])
    assert len(cut_some.signatures) == before  # type: ignore[attr-defined]
    assert mine.flags.writeable


def test_many_words_are_cut_by_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []

    def cut(words: Sequence[str], cutter: Pieces) -> Any:
        called.append("cut")
        return cut_words(words, cutter)

    def find(*given: Any) -> Any:
        called.append("find")
        return find_frequent(*given)

    monkeypatch.setattr(native_pieces, "cut_words", cut)
    monkeypatch.setattr(native_pieces, "find_frequent", find)
    monkeypatch.setattr(pieces, "MIN_NATIVE_WORDS", 3)
    cutter = Pieces([" a", "ab"], "ngrams")
    few = cutter.matrix(["ab", "b"])
    find_ngrams(["ab", "b"], np.ones(2, np.int64), 1, "ngrams")
    assert called == []
    many = cutter.matrix(["ab", "b", "abab"])
    assert many.toarray().tolist() == [*few.toarray().tolist(), [1, 1]]
    found = find_ngrams(["ab", "b", "ab"], np.ones(3, np.int64), 3, "affixes")
    assert (found.names, found.segmentation) == (["b "], "affixes")
    assert called == ["cut", "find"]


@pytest.mark.parametrize("segmentation", ["ngrams", "affixes"])
@given(words=WORDS, at_least=st.integers(1, 5), seed=st.integers(0, 99))
def test_frequent_ngrams_are_those_of_plain_python(
    segmentation: str, words: list[str], at_least: int, seed: int
) -> None:
    frequencies = np.random.default_rng(seed).integers(0, 4, len(words))
    expected = find_ngrams(words, frequencies, at_least, segmentation)
    assert find_frequent(words, frequencies, at_least, segmentation) == expected.names


@settings(max_examples=5)
@given(seed=st.integers(0, 99))
def test_frequent_ngrams_of_words_that_fill_the_room_several_times(seed: int) -> None:
    random = np.random.default_rng(seed)
    words = ["".join(random.choice(list("abcé"), random.integers(0, 9))) for _ in range(200)]
    frequencies = random.integers(0, 4, len(words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_pieces, "ENTRIES", 2 * MAX_PIECES)
        found = find_frequent(words, frequencies, 3, "ngrams")
    assert found == find_ngrams(words, frequencies, 3, "ngrams").names
