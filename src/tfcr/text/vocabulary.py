"""The terms of a corpus, numbered once.

A term is a word or a bigram, two neighbouring words. Terms are numbered section by section; a bigram is a pair of word
numbers, so that only words are strings:

    section            words                    bigrams             unseen
    stored as          ["bad", "good", "so"]    [[2, 0], [2, 1]]    ["goodish"]
    term number        0      1       2         3        4          5
    name               bad    good    so        so bad   so good    goodish

The section of unseen words is empty in a model: it holds those words of new texts that training never saw, for models
that score them from their pieces. Another kind of term is another section after these.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.system.packed_strings import PackedWords
from tfcr.text.lexicon import BigramLexicon, Lexicon
from tfcr.text.tokenizers import is_symbol

MOST_REMEMBERED = 50_000
"""Words whose numbers are remembered after they were looked up."""

NO_BIGRAMS: NDArray[np.int32] = np.zeros((0, 2), np.int32)


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Numbered terms.

    Attributes
    ----------
    words
        n_words different strings.
    bigrams
        The numbers of both words of each bigram; int32 (n_bigrams, 2).
    unseen
        More words, different from `words`.

    Examples
    --------
    >>> vocabulary = Vocabulary(["bad", "good", "so"], np.array([[2, 0], [2, 1]], np.int32))
    >>> len(vocabulary), vocabulary.names
    (5, ['bad', 'good', 'so', 'so bad', 'so good'])
    >>> vocabulary.section("bigrams")
    slice(3, 5, None)
    """

    words: Sequence[str]
    bigrams: NDArray[np.int32] = field(default_factory=lambda: NO_BIGRAMS)
    unseen: Sequence[str] = ()

    @classmethod
    def stored(cls, lexicon: Lexicon, bigrams: BigramLexicon, symbols: NDArray[np.bool_]) -> "Vocabulary":
        """Return the terms of look-up tables, and which words are symbols; nothing is decoded.

        Without bigrams `symbols` is empty, and the words are looked at when it is asked for.
        """
        vocabulary = cls(PackedWords(lexicon.arena, lexicon.offsets), bigrams.bigrams)
        vocabulary.__dict__.update(lexicon=lexicon, bigram_lexicon=bigrams)
        if len(bigrams):
            vocabulary.__dict__["symbols"] = symbols
        return vocabulary

    def __len__(self) -> int:
        return sum(self.section_sizes.values())

    @property
    def n_words(self) -> int:
        """The number of words, which is also the number of the first bigram."""
        return len(self.words)

    @property
    def section_sizes(self) -> dict[str, int]:
        """The number of terms of each section, in order; a new kind of term is a new row here."""
        return {"words": self.n_words, "bigrams": len(self.bigrams), "unseen": len(self.unseen)}

    def section(self, name: str) -> slice:
        """Return the term numbers of a section."""
        ends = dict(zip(self.section_sizes, accumulate(self.section_sizes.values()), strict=True))
        return slice(ends[name] - self.section_sizes[name], ends[name])

    def section_of_terms(self) -> NDArray[np.int64]:
        """Return the position of each term's section; (n_terms,)."""
        return np.repeat(np.arange(len(self.section_sizes)), list(self.section_sizes.values()))

    @cached_property
    def names(self) -> list[str]:
        """All terms as text, for people; a bigram is its words with a space between."""
        return [self.name(number) for number in range(len(self))]

    def name(self, number: int) -> str:
        """Return one term as text."""
        if number < self.n_words:
            return self.words[number]
        if number >= self.n_words + len(self.bigrams):
            return self.unseen[number - self.n_words - len(self.bigrams)]
        one, two = self.bigrams[number - self.n_words].tolist()
        return f"{self.words[one]} {self.words[two]}"

    @cached_property
    def word_numbers(self) -> dict[str, int]:
        """The number of each word."""
        return dict(zip(self.words, range(self.n_words), strict=True))

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words as trained models look them up."""
        return Lexicon.of(self.words)

    def find_words(self, words: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of each word, -1 where it is unknown; those found last are remembered."""
        known = self._found
        new = [word for word in words if word not in known]
        if new:
            if len(known) + len(new) > MOST_REMEMBERED:
                known = self.__dict__["_found"] = {}
                new = list(words)
            known.update(zip(new, self.lexicon.find(new).tolist(), strict=True))
        return np.fromiter(map(known.__getitem__, words), np.int64, len(words))

    @cached_property
    def _found(self) -> dict[str, int]:
        """The numbers of words that were looked up: most words of a text are those of texts before it."""
        return {}

    @cached_property
    def bigram_lexicon(self) -> BigramLexicon:
        """The bigrams as trained models look them up."""
        return BigramLexicon.of(self.bigrams)

    @cached_property
    def _sorted_bigrams(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each bigram as one number, first · n_words + second, in increasing order; and their term numbers."""
        keys = self._bigram_keys(self.bigrams)
        order = np.argsort(keys, kind="stable")
        return keys[order], order + self.n_words

    def _bigram_keys(self, pairs: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        return pairs[:, 0].astype(np.int64) * self.n_words + pairs[:, 1]

    def find_bigrams(self, pairs: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the term number of each pair of word numbers, (n_pairs, 2); -1 where it is no term.

        Examples
        --------
        >>> vocabulary = Vocabulary(["bad", "good", "so"], np.array([[2, 0], [2, 1]], np.int32))
        >>> vocabulary.find_bigrams(np.array([[2, 1], [0, 1], [-1, 2]]))
        array([ 4, -1, -1])
        """
        known, terms = self._sorted_bigrams
        keys = np.where((pairs >= 0).all(axis=1), self._bigram_keys(pairs), -1)
        at = np.searchsorted(known, keys)
        return np.where(np.append(known, -2)[at] == keys, np.append(terms, -1)[at], -1)

    @cached_property
    def symbols(self) -> NDArray[np.bool_]:
        """Which words are punctuation or symbols; (n_words,)."""
        return np.fromiter(map(is_symbol, self.words), np.bool_, self.n_words)

    @cached_property
    def bigrams_hold_symbols(self) -> bool:
        """Whether punctuation and symbols are words of bigrams, as in models of the first versions."""
        return bool(self.symbols[self.bigrams].any())

    def only_words(self) -> "Vocabulary":
        """Return the words alone, without those unseen."""
        return Vocabulary(self.words) if len(self) > self.n_words else self

    def with_unseen(self, unseen: Sequence[str]) -> "Vocabulary":
        """Return the same terms, and after them these words."""
        return replace(self, unseen=unseen)

    def take(self, terms: NDArray[np.int64]) -> "Vocabulary":
        """Return some of the terms, numbered in this order: words first, and with each bigram both of its words.

        Examples
        --------
        >>> vocabulary = Vocabulary(["bad", "good", "so"], np.array([[2, 0], [2, 1]], np.int32))
        >>> vocabulary.take(np.array([1, 2, 4])).bigrams.tolist()
        [[1, 0]]
        """
        words, bigrams = terms[terms < self.n_words], terms[terms >= self.n_words] - self.n_words
        renumbered = np.full(self.n_words, -1, np.int32)
        renumbered[words] = np.arange(len(words), dtype=np.int32)
        return Vocabulary([self.words[number] for number in words.tolist()], renumbered[self.bigrams[bigrams]])

    def positions_in(self, other: "Vocabulary") -> NDArray[np.int64]:
        """Return the number that each term has in another vocabulary, -1 where it has none; (n_terms,)."""
        first_unseen = other.section("unseen").start
        numbers = {**dict(zip(other.unseen, range(first_unseen, len(other)), strict=True)), **other.word_numbers}
        found = np.fromiter((numbers.get(word, -1) for word in (*self.words, *self.unseen)), np.int64)
        words, unseen = found[: self.n_words], found[self.n_words :]
        both_known = np.where(words < other.n_words, words, -1)[self.bigrams]
        return np.concatenate([words, other.find_bigrams(both_known), unseen])

    def __getstate__(self) -> dict[str, object]:
        """Leave out what can be derived, when models are copied to other processes."""
        return {"words": list(self.words), "bigrams": np.array(self.bigrams), "unseen": self.unseen}
