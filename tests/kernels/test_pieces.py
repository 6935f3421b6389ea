"""The kernels that cut words, without compiling them, against plain Python; and what both must agree on."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcr.kernels import pieces as kernel
from tfcr.kernels import tokens
from tfcr.system.packed_strings import encode_words
from tfcr.text import pieces
from tfcr.text.lexicon import MARGIN, Lexicon
from tfcr.text.pieces import SEGMENTATIONS, Pieces, affixes_of, ngrams_of

WORDS = st.lists(st.one_of(st.text("abé😀 ", max_size=9), st.text("ab中", min_size=62, max_size=67)), max_size=5)


@pytest.fixture(scope="module")
def _interpreted() -> Iterator[None]:
    """Run the kernels as Python does; only the look-up in the hash table is compiled."""
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):  # hashes are meant to overflow
        patch.setattr(tokens, "eight_bytes", tokens.eight_bytes.py_func)  # type: ignore[attr-defined]
        patch.setattr(kernel, "first_and_hash", tokens.first_and_hash.py_func)  # type: ignore[attr-defined]
        for name in ("copy_edged", "is_new", "find_piece", "cut_ngrams", "cut_longest", "cut_merged"):
            patch.setattr(kernel, name, getattr(kernel, name).py_func)
        yield


def test_the_plain_path_and_the_kernel_mean_the_same() -> None:
    assert list(SEGMENTATIONS) == ["ngrams", "affixes", "longest", "merge", "whole"]
    numbers = kernel.NGRAMS, kernel.AFFIXES, kernel.LONGEST, kernel.MERGE, kernel.WHOLE
    assert numbers == tuple(range(len(SEGMENTATIONS)))
    assert (kernel.SHORTEST_NGRAM, kernel.LONGEST_NGRAM) == (pieces.SHORTEST, pieces.LONGEST)
    assert kernel.MAX_CHARACTERS == pieces.MAX_CHARACTERS
    longest = "".join(map(chr, range(1000, 1000 + pieces.MAX_CHARACTERS)))
    assert len(ngrams_of(longest)) <= kernel.MAX_PIECES


@pytest.mark.usefixtures("_interpreted")
@pytest.mark.parametrize("segmentation", SEGMENTATIONS)
@settings(max_examples=20)
@given(words=WORDS, room=st.integers(0, 2), seed=st.integers(0, 99))
def test_words_are_cut_until_the_room_is_full(segmentation: str, words: list[str], room: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    every = list(
        dict.fromkeys(
            [*(piece for word in words for piece in ngrams_of(word)), *(f" {word} " for word in words), *"ab"]
        )
    )
    names = [every[number] for number in random.permutation(len(every))[: random.integers(0, len(every) + 1)]]
    lexicon, (text, starts) = Lexicon.of(names), encode_words(words)
    found = np.full(room * kernel.MAX_PIECES, -9, np.int32)
    piece_starts = np.zeros(len(words) + 1, np.int64)
    arrays = lexicon.slots, lexicon.arena, lexicon.offsets
    number = list(SEGMENTATIONS).index(segmentation)
    done = kernel.cut_some.py_func(text, starts, 0, number, *arrays, found, piece_starts)  # type: ignore[attr-defined]
    expected = [Pieces(names, segmentation).of_word(word) for word in words]
    cut = [found[start:end].tolist() for start, end in pairwise(piece_starts[: done + 1])]
    assert cut == expected[:done]
    used = int(piece_starts[done])
    assert (found[used:] == -9).all()
    assert done == len(words) or used + kernel.MAX_PIECES > len(found)  # it stops where the next might not fit
    assert done == 0 or used - len(expected[done - 1]) + kernel.MAX_PIECES <= len(found)


def hash_of(piece: str) -> Any:
    text = np.frombuffer(piece.encode() + bytes(8), np.uint8)
    return tokens.first_and_hash.py_func(text, 0, len(piece.encode()))[1]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("_interpreted")
@pytest.mark.parametrize("affixes", [False, True])
@settings(max_examples=20)
@given(words=WORDS)
def test_every_ngram_is_hashed_once_and_found_where_it_is(affixes: bool, words: list[str]) -> None:
    packed, starts = encode_words(words)
    text = np.append(packed, np.zeros(MARGIN, np.uint8))
    room: Any = np.zeros(3 * kernel.MAX_PIECES, np.uint64)
    places = np.zeros(len(room), np.int64)
    word, used = kernel.hash_ngrams.py_func(text, starts, 0, affixes, room, places, 0)  # type: ignore[attr-defined]
    found: list[list[str]] = [[] for _ in range(word)]
    for hashed, place in zip(room[:used], places[:used].tolist(), strict=True):
        number, at, size = place >> 10, place >> 3 & 127, place & 7
        piece = f" {words[number][: pieces.MAX_CHARACTERS]} "[at : at + size]
        assert hashed == hash_of(piece)
        found[number].append(piece)
    assert found == [(affixes_of if affixes else ngrams_of)(some) for some in words[:word]]
    assert word == len(words) or used + kernel.MAX_PIECES > len(room)
