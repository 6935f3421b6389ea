"""Words and pairs of neighbouring words: what texts hold of them.

Pairs pass over signs: "so, good" holds the pair "so good".
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.text.documents import CountedDocuments, check_texts, checked_tokenizer, count_matrix, worth_compiled_code
from tfcr.text.tokenizers import AnyTokenizer, bigrams_hold_symbols, gives_symbols, is_symbol, resolve_tokenizer


def count_terms(texts: Iterable[str], tokenizer: str | AnyTokenizer) -> CountedDocuments:
    """Count the words of each text, and the pairs that more than one text holds."""
    resolved = resolve_tokenizer(tokenizer)
    words, numbers, lengths = _number_tokens(check_texts(texts), resolved)
    documents = np.repeat(np.arange(len(lengths)), lengths)
    passed = np.array([*map(is_symbol, words), False]) & gives_symbols(resolved)
    keys, places = _neighbours(numbers[~passed[numbers]], documents[~passed[numbers]], words)
    known = _keys_of_two_documents(keys, places)
    known, names = _name_pairs(known, words)
    at = np.searchsorted(known, keys)
    held = np.append(known, -1)[at] == keys
    rows = np.concatenate([documents, places[held]])
    columns = np.concatenate([numbers, len(words) + at[held]])
    shape = len(lengths), len(words) + len(names)
    matrix = sp.coo_array((np.ones(len(rows), np.int32), (rows, columns)), shape).tocsr()
    return CountedDocuments([*words, *names], matrix, lengths, len(names))


@dataclass(frozen=True)
class KnownTerms:
    """Words, and then pairs of them, that are looked up again and again."""

    terms: Sequence[str]
    n_bigrams: int

    def count(self, texts: Sequence[str], tokenizer: AnyTokenizer) -> CountedDocuments:
        """Count them in texts."""
        documents = [checked_tokenizer(tokenizer)(text) for text in texts]
        lengths = np.fromiter(map(len, documents), np.int64, len(documents))
        found = [[*self._words(tokens), *self._pairs(tokens, tokenizer)] for tokens in documents]
        return CountedDocuments(self.terms, count_matrix(found, self._numbers), lengths, self.n_bigrams)

    def joined(self, tokens: Iterable[str], tokenizer: AnyTokenizer) -> Iterator[int]:
        """Yield the places of the tokens that pairs do not pass over."""
        passing = gives_symbols(tokenizer) and not self._of_signs
        return (place for place, token in enumerate(tokens) if not (passing and is_symbol(token)))

    def _words(self, tokens: Iterable[str]) -> Iterator[str]:
        return (token for token in tokens if self._numbers.get(token, self.n_words) < self.n_words)

    def _pairs(self, tokens: Sequence[str], tokenizer: AnyTokenizer) -> Iterator[str]:
        """Yield the names of known pairs; a tokeniser of one's own may give a word that is called like two others."""
        joined = (tokens[place] for place in self.joined(tokens, tokenizer)) if self.n_bigrams else ()
        names = (f"{one} {two}" for one, two in pairwise(joined))
        return (name for name in names if self._numbers.get(name, -1) >= self.n_words)

    @cached_property
    def n_words(self) -> int:
        """How many terms, the first ones, are words."""
        return len(self.terms) - self.n_bigrams

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return dict(zip(self.terms, range(len(self.terms)), strict=True))

    @cached_property
    def _of_signs(self) -> bool:
        return bigrams_hold_symbols(self.terms[self.n_words :])


def _number_tokens(
    texts: list[str], tokenizer: AnyTokenizer
) -> tuple[Sequence[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return the words, the number of every token's word, and the tokens of each document."""
    if worth_compiled_code(tokenizer, texts):
        from tfcr.text.native_counts import number_tokens  # noqa: PLC0415 - numba loads slowly, and small jobs need none

        return number_tokens(texts, tokenizer)
    documents = [checked_tokenizer(tokenizer)(text) for text in texts]
    words = sorted(set().union(*documents))
    numbers = dict(zip(words, range(len(words)), strict=True))
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    found = (numbers[token] for tokens in documents for token in tokens)
    return words, np.fromiter(found, np.int32, int(lengths.sum())), lengths


def _neighbours(
    numbers: NDArray[np.int32], documents: NDArray[np.int64], words: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of neighbouring tokens, each as one number, and their documents.

    No word with a space is in a pair, so that the two words of a pair can be told from its name.
    """
    joins = np.array([" " not in word for word in words], np.bool_)[numbers]
    both = (documents[1:] == documents[:-1]) & joins[1:] & joins[:-1]
    return (numbers[:-1].astype(np.int64) * len(words) + numbers[1:])[both], documents[:-1][both]


def _keys_of_two_documents(keys: NDArray[np.int64], documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different keys, sorted, that more than one document holds."""
    order = np.argsort(keys, kind="stable")  # documents stay in their order
    keys, documents = keys[order], documents[order]
    again = keys[1:][(keys[1:] == keys[:-1]) & (documents[1:] != documents[:-1])]
    different: NDArray[np.int64] = again[np.diff(again, prepend=-1) != 0]
    return different


def _name_pairs(keys: NDArray[np.int64], words: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the pairs that are not also a word, which a tokeniser of one's own may make, and their names."""
    numbers = np.divmod(keys, len(words) or 1)
    names = [f"{words[one]} {words[two]}" for one, two in zip(*(some.tolist() for some in numbers), strict=True)]
    taken = {word for word in words if " " in word}
    new = [number for number, name in enumerate(names) if name not in taken]
    return keys[new], [names[number] for number in new]
