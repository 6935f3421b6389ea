"""Look-up of words and bigrams: numpy and compiled code find what a dict finds, in tables however they were filled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.system.native import cut_some
from tfcr.system.packed_strings import encode_words
from tfcr.text import lexicon as module
from tfcr.text.lexicon import BigramLexicon, Lexicon, n_slots_for, number_bits
from tfcr.text.native_counts import ByteCounter
from tfcr.text.native_pieces import PieceCutter
from tfcr.text.pieces import Pieces
from tfcr.text.tokenizers import TOKENIZERS

WORDS = st.text(st.sampled_from("aé中\0😀"), max_size=20)


@given(known=st.lists(WORDS, unique=True, max_size=30), asked=st.lists(WORDS, max_size=30))
def test_words_are_found_as_in_a_dict(known: list[str], asked: list[str]) -> None:
    lexicon = Lexicon.of(known)
    numbers = {word: number for number, word in enumerate(known)}
    assert lexicon.find(asked).tolist() == [numbers.get(word, -1) for word in asked]
    assert lexicon.find(known).tolist() == list(range(len(known)))
    assert len(lexicon) == len(known)


def test_compiled_code_finds_the_same_words() -> None:
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("abcé"), random.integers(1, 25))) for _ in range(3000)]
    known = list(dict.fromkeys(words[::2]))
    lexicon = Lexicon.of(known)
    counter = ByteCounter(TOKENIZERS["whitespace"], lexicon, merging=False, keeping=True)
    (batch,) = counter.count([" ".join(words)])
    assert np.maximum(batch.words, -1).tolist() == lexicon.find(words).tolist()
    cutter = PieceCutter(Pieces([f" {word} " for word in known], "whole"))
    assert cut_some is not None
    numbers, starts = cutter.cut(*encode_words(words))
    found = np.full(len(words), -1)
    found[np.diff(starts) > 0] = numbers
    assert found.tolist() == lexicon.find(words).tolist()


@pytest.mark.parametrize("fullest", [0.2, 2 / 3, 0.99])
def test_words_are_found_in_long_runs_of_slots_too(fullest: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of slots, and slots from the first one on after the last."""
    monkeypatch.setattr(module, "FULLEST", fullest)
    words = [f"word{number}" for number in range(2000)]
    lexicon = Lexicon.of(words)
    assert (lexicon.slots[:, 0] != 0).sum() == 2000
    assert lexicon.find([*words, "other", "word2000"]).tolist() == [*range(2000), -1, -1]
    pairs = np.random.default_rng(0).permutation(10_000)[:2000]
    bigrams = np.stack(np.divmod(pairs, 100), axis=1).astype(np.int32)
    found = BigramLexicon.of(bigrams)
    assert found.find(bigrams).tolist() == list(range(2000))
    every = np.stack(np.divmod(np.arange(10_000), 100), axis=1)
    expected = np.full(10_000, -1)
    expected[pairs] = np.arange(2000)
    assert found.find(every).tolist() == expected.tolist()


def test_words_with_the_same_beginning_are_told_apart() -> None:
    words = ["abcdefgh", "abcdefghi", "abcdefghj", "abcdefghijklmnopq", "abcdefghijklmnopr", "a" * 300, "a" * 301]
    assert Lexicon.of(words).find([*words, "a" * 299, "abcdefghijklmnop"]).tolist() == [*range(7), -1, -1]


def test_of_two_slots_of_a_word_the_first_counts_and_an_empty_slot_ends_the_search() -> None:
    """Tables of a forger: compiled code goes from slot to slot, and numpy must find the same."""
    lexicon = Lexicon.of(["a", "b"])
    at = int(np.flatnonzero((lexicon.slots[:, 0] & np.uint64(0xFFFFFFFF)) == 1)[0])
    slots = lexicon.slots.copy()
    twin = slots[at].copy()
    twin[0] += np.uint64(1)  # the same word, as number 1
    slots[:] = 0
    slots[at], slots[at + 1] = twin, lexicon.slots[at]
    assert Lexicon(lexicon.arena, lexicon.offsets, slots).find(["a"]).tolist() == [1]
    slots[at] = 0  # an empty slot before it
    assert Lexicon(lexicon.arena, lexicon.offsets, slots).find(["a"]).tolist() == [-1]


def test_there_is_always_an_empty_slot() -> None:
    assert all(n_slots_for(size) > size for size in range(100))
    assert [number_bits(size) for size in (0, 1, 2, 3, 4, 255, 256)] == [1, 1, 2, 2, 3, 8, 9]
    assert BigramLexicon.of(np.zeros((0, 2), np.int32)).find(np.array([[0, 1]])).tolist() == [-1]
