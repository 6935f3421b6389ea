"""From texts to counted documents: how often each term of a vocabulary occurs in each document.

Bigrams skip punctuation and symbols: "so, good" holds the bigram "so good".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.kernels.actions import UNKNOWN_SYMBOL, UNKNOWN_WORD
from tfcr.system.distinct import distinct
from tfcr.system.lazy import lazy_module, native_is_available
from tfcr.text.terms import skipped_in_bigrams
from tfcr.text.tokenizers import (
    DEFAULT_TOKENIZER,
    AnyTokenizer,
    Tokenizer,
    check_tokens,
    is_symbol,
    resolve_tokenizer,
)
from tfcr.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = lazy_module("scipy.sparse")

MIN_NATIVE_CHARACTERS = 1_000_000
"""Texts with fewer characters in all are counted by plain Python, sooner than compiled code is loaded."""


MAX_TEXT = 10_000_000
"""Longest text, in characters; room for all tokens that it could have takes a hundred times as many bytes."""


LOOKED_AT = 1 << 12
"""Texts that are looked at together."""


class Counted(Protocol):
    """What features are made of: counts, int32 (n_documents, n_terms), and all tokens of each document."""

    @property
    def matrix(self) -> sp.csr_array:
        """Counts."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """All tokens of each document."""

    def __len__(self) -> int:
        """Return the number of documents."""

    def rows(self, rows: NDArray[np.int64]) -> Counted:
        """Return some of the documents."""


@dataclass(frozen=True)
class CountedDocuments:
    """How often each term occurs in each document.

    Attributes
    ----------
    vocabulary
        The terms of the columns.
    matrix
        Counts, int32 (n_documents, n_terms).
    lengths
        All tokens of each document, those outside the vocabulary too; (n_documents,).
    """

    vocabulary: Vocabulary
    matrix: sp.csr_array
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lengths)

    def only_words(self) -> CountedDocuments:
        """Return the same documents without counts of bigrams and unseen words."""
        words = self.vocabulary.only_words()
        return self if words is self.vocabulary else CountedDocuments(words, self.matrix[:, : len(words)], self.lengths)

    def rows(self, rows: NDArray[np.int64]) -> CountedDocuments:
        """Return some of the documents."""
        return CountedDocuments(self.vocabulary, self.matrix[rows], self.lengths[rows])

    def over(self, vocabulary: Vocabulary, *, unseen: bool = False) -> CountedDocuments:
        """Return the same documents counted over another vocabulary, 0 for terms not counted here.

        If `unseen`, their words that are not in it are kept as its unseen words.
        """
        if vocabulary is self.vocabulary:
            return self
        if unseen:
            occurring = self.document_frequencies() > 0
            occurring[self.vocabulary.section("bigrams")] = False
            words = map(self.vocabulary.name, np.flatnonzero(occurring).tolist())
            vocabulary = vocabulary.with_unseen([word for word in words if word not in vocabulary.word_numbers])
        positions = self.vocabulary.positions_in(vocabulary)
        kept = np.flatnonzero(positions >= 0)
        shape = len(positions), len(vocabulary)
        moved = sp.csr_array((np.ones(len(kept), np.int32), (kept, positions[kept])), shape=shape)
        return CountedDocuments(vocabulary, self.matrix @ moved, self.lengths)

    def over_words(self, kept: NDArray[np.bool_]) -> CountedDocuments:
        """Return the documents over some of their words, and the bigrams of these that two documents hold.

        Parameters
        ----------
        kept
            Whether each word is kept; (n_words,).
        """
        bigrams = self.vocabulary.section("bigrams")
        common = self.document_frequencies()[bigrams] >= 2
        common &= kept[self.vocabulary.bigrams].all(axis=1)
        terms = np.flatnonzero(np.concatenate([kept, common]))
        if len(terms) == len(self.vocabulary):
            return self
        return CountedDocuments(self.vocabulary.take(terms), self.matrix[:, terms], self.lengths)

    def document_frequencies(self) -> NDArray[np.int64]:
        """Return the number of documents that hold each term; (n_terms,)."""
        return np.bincount(self.matrix.indices, minlength=len(self.vocabulary))

    def occurrences(self) -> NDArray[np.float64]:
        """Return how often each term occurs; (n_terms,)."""
        return np.asarray(self.matrix.sum(axis=0), np.float64)

    def weighted_sums(self, sample_weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how often each term occurs, each document times its weight; (n_terms,)."""
        return np.asarray(self.matrix.T @ sample_weight)

    def content_keys(self, random: np.random.Generator) -> NDArray[np.int64]:
        """Return a hash of the counts of each document; (n_documents,).

        Each term has a random number: a document's hash is the sum of them, wrapping around at 64 bits.
        """
        return np.asarray(self.matrix @ random.integers(1 << 62, size=len(self.vocabulary)))

    def unknown_fractions(self) -> NDArray[np.float64]:
        """Return the fraction of each document's tokens outside the vocabulary; 0 for an empty document."""
        known = np.asarray(self.only_words().matrix.sum(axis=1), np.float64)
        return 1 - np.divide(known, self.lengths, out=np.ones(len(self)), where=self.lengths > 0)


class TextStream(Collection[str]):
    """Texts that are read anew each time they are iterated over; they need not fit into memory."""

    def __init__(self, read: Callable[[], Iterable[str]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, text: object) -> bool:
        return any(one == text for one in self)


def check_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list, one that is given as it is; raise InputError naming the first non-string."""
    if isinstance(texts, str | bytes):
        raise InputError("found a single string; expected a list of texts: put it in brackets, [text]")
    if hasattr(texts, "columns"):
        raise InputError(f"found a table of {len(texts.columns)} columns; expected one: give the column with the texts")
    try:
        checked = texts if isinstance(texts, list) else list(texts)
    except TypeError:
        raise InputError(f"found {type(texts).__name__}; expected a list of texts") from None
    if _are_short_strings(checked):  # the usual case, quickly
        return checked
    for number, text in enumerate(checked):
        if not isinstance(text, str):
            raise InputError(
                f"text number {number} (counted from 0) is of type {type(text).__name__}; expected a string. "
                "Drop rows without text first, or turn values into text with str()"
            )
        if len(text) > MAX_TEXT:
            raise InputError(
                f"text number {number} (counted from 0) has {len(text):,} characters; expected at most {MAX_TEXT:,}: "
                "split it into several texts"
            )
    return checked


def _are_short_strings(texts: list[Any]) -> bool:
    """Return whether all are strings of at most MAX_TEXT characters.

    Some at a time: they are in the processor's cache still when they are looked at again.
    """
    parts = (texts[start : start + LOOKED_AT] for start in range(0, len(texts), LOOKED_AT))
    return all(set(map(type, some)) == {str} and max(map(len, some)) <= MAX_TEXT for some in parts)


def count_terms(
    texts: Iterable[str],
    tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
    vocabulary: Vocabulary | None = None,
    *,
    bigrams: bool = False,
    unseen: bool = False,
    least_documents: int = 2,
) -> CountedDocuments:
    """Count the terms of each text.

    Parameters
    ----------
    texts
        The documents.
    tokenizer
        A name of TOKENIZERS or a callable from a text to its tokens.
    vocabulary
        The terms to count; if None, all words. Tokens outside it still add to a document's length.
    bigrams
        Without a vocabulary: whether to count bigrams as well.
    unseen
        With a vocabulary: whether to count words outside it as well, as unseen words.
    least_documents
        Bigrams that fewer documents hold are left out; 1 or 2.

    Examples
    --------
    >>> found = count_terms(["so good, so good", "so good"], bigrams=True)
    >>> found.vocabulary.names, found.matrix.toarray().tolist(), found.lengths.tolist()
    (['good', 'so', 'so good'], [[2, 2, 2], [1, 1, 1]], [4, 2])
    """
    return count_checked(
        check_texts(texts),
        resolve_tokenizer(tokenizer),
        vocabulary,
        bigrams=bigrams,
        unseen=unseen,
        least_documents=least_documents,
    )


def count_checked(
    texts: list[str],
    tokenizer: AnyTokenizer,
    vocabulary: Vocabulary | None = None,
    *,
    bigrams: bool = False,
    unseen: bool = False,
    least_documents: int = 2,
) -> CountedDocuments:
    """Count the terms of texts that `check_texts` has returned, as `count_terms` does."""
    if not (bigrams if vocabulary is None else unseen or len(vocabulary.bigrams)):
        return _count_words(texts, tokenizer, vocabulary)
    tokens = _number_tokens(texts, tokenizer, vocabulary, unseen=unseen)
    neighbours = _neighbours(tokens, skipped_in_bigrams(tokens.vocabulary, tokenizer))
    if vocabulary is None:
        words = tokens.vocabulary.words
        vocabulary = Vocabulary(words, _common_bigrams(neighbours, len(words), least_documents))
    return _count_with_bigrams(tokens, neighbours, vocabulary.with_unseen(tokens.unseen))


def worth_native_code(tokenizer: AnyTokenizer, texts: Sequence[str], *, ready: bool = False) -> TypeGuard[Tokenizer]:
    """Return whether compiled code knows the tokeniser, and is `ready` or has enough text to be loaded for."""
    if not isinstance(tokenizer, Tokenizer) or tokenizer.table is None:
        return False
    return ready or (_has_characters(texts, MIN_NATIVE_CHARACTERS) and native_is_available())


def _has_characters(texts: Sequence[str], wanted: int) -> bool:
    """Return whether texts have so many characters in all; of many texts, only the first are looked at."""
    return any(so_far >= wanted for so_far in accumulate(map(len, texts), initial=0))


# words alone -------------------------------------------------------------------------------------------------------


def _count_words(texts: list[str], tokenizer: AnyTokenizer, vocabulary: Vocabulary | None) -> CountedDocuments:
    if worth_native_code(tokenizer, texts):
        from tfcr.text.native_counts import count_bytes  # noqa: PLC0415 - numba loads slowly, and small jobs need none

        words, matrix, lengths = count_bytes(texts, tokenizer, None if vocabulary is None else vocabulary.words)
        return CountedDocuments(vocabulary or Vocabulary(words), matrix, lengths)
    tokens = _number_tokens(texts, tokenizer, vocabulary)
    matrix = _count_matrix(tokens.documents, tokens.numbers, (len(texts), tokens.vocabulary.n_words))
    return CountedDocuments(tokens.vocabulary, matrix, tokens.lengths)


def _count_matrix(documents: NDArray[np.int64], terms: NDArray[np.int64], shape: tuple[int, int]) -> sp.csr_array:
    """Count entries of document and term number; negative term numbers are left out."""
    known = terms >= 0
    ones = np.ones(int(known.sum()), np.int32)
    return sp.coo_array((ones, (documents[known], terms[known])), shape=shape).tocsr()


# bigrams -----------------------------------------------------------------------------------------------------------


class _Tokens(NamedTuple):
    """All tokens of all documents, in order.

    `numbers` are word numbers, or UNKNOWN_WORD or UNKNOWN_SYMBOL; (n_tokens,). `lengths` counts each document's tokens;
    (n_documents,). `unseen` are the different unknown tokens if they are asked for, and `unseen_numbers` the place of
    each token among these, -1 if it is known.
    """

    vocabulary: Vocabulary
    numbers: NDArray[np.int64]
    lengths: NDArray[np.int64]
    unseen: Sequence[str] = ()
    unseen_numbers: NDArray[np.int64] | None = None

    @property
    def documents(self) -> NDArray[np.int64]:
        """The document of each token."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


class _Neighbours(NamedTuple):
    """Pairs of neighbouring words, (n_pairs, 2), and the document of each."""

    words: NDArray[np.int64]
    documents: NDArray[np.int64]


def _number_tokens(
    texts: list[str], tokenizer: AnyTokenizer, vocabulary: Vocabulary | None, *, unseen: bool = False
) -> _Tokens:
    """Find the tokens of all texts and number them by the vocabulary's words, or by all words found, sorted."""
    if vocabulary is None and worth_native_code(tokenizer, texts):
        from tfcr.text.native_counts import number_tokens  # noqa: PLC0415 - numba loads slowly

        found, numbers, lengths = number_tokens(texts, tokenizer)
        return _Tokens(Vocabulary(found), numbers.astype(np.int64), lengths)
    tokenize = _checked_tokenizer(tokenizer)
    documents = [tokenize(text) for text in texts]
    if vocabulary is None:
        vocabulary = Vocabulary(sorted(set().union(*documents)))
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    known = vocabulary.word_numbers
    found_numbers = (
        known[token] if token in known else UNKNOWN_SYMBOL if is_symbol(token) else UNKNOWN_WORD
        for tokens in documents
        for token in tokens
    )
    n_tokens = int(lengths.sum())
    all_numbers = np.fromiter(found_numbers, np.int64, n_tokens)
    if not unseen:
        return _Tokens(vocabulary, all_numbers, lengths)
    new: dict[str, int] = {}
    found_new = (-1 if token in known else new.setdefault(token, len(new)) for tokens in documents for token in tokens)
    unseen_numbers = np.fromiter(found_new, np.int64, n_tokens)
    return _Tokens(vocabulary, all_numbers, lengths, list(new), unseen_numbers)


def _checked_tokenizer(tokenizer: AnyTokenizer) -> Callable[[str], list[str]]:
    """Return a tokeniser that gives lists of strings, or raises InputError."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    return lambda text: check_tokens(tokenizer(text), tokenizer)


def _neighbours(tokens: _Tokens, skipped: NDArray[np.bool_]) -> _Neighbours:
    """Return the pairs of known words with nothing but skipped tokens between them.

    The tokens [0, 3, 1] [1, -1, 0] of two documents, with 3 skipped and -1 unknown, give the pair (0, 1) of document 0.
    """
    joined = ~skipped[tokens.numbers]
    numbers, documents = tokens.numbers[joined], tokens.documents[joined]
    both = (documents[1:] == documents[:-1]) & (numbers[1:] >= 0) & (numbers[:-1] >= 0)
    return _Neighbours(np.stack([numbers[:-1], numbers[1:]], axis=1)[both], documents[:-1][both])


def _common_bigrams(neighbours: _Neighbours, n_words: int, least_documents: int) -> NDArray[np.int32]:
    """Return the different pairs, sorted, that one document holds, or two.

    With n_words = 10, the pairs (0, 1), (0, 1), (2, 5), (0, 1) of the documents 0, 0, 0, 1 have the keys 1, 1, 25, 1.
    Sorted, key 1 has the documents 0, 0, 1: neighbours that differ show that two documents hold it.
    """
    keys = neighbours.words[:, 0] * n_words + neighbours.words[:, 1]
    if least_documents > 1:
        order = np.argsort(keys, kind="stable")  # documents stay in their order
        keys, documents = keys[order], neighbours.documents[order]
        again = keys[1:][(keys[1:] == keys[:-1]) & (documents[1:] != documents[:-1])]
        common = again[np.diff(again, prepend=-1) != 0]
    else:
        common = distinct(keys)
    return np.stack(np.divmod(common, max(n_words, 1)), axis=1).astype(np.int32)


def _count_with_bigrams(tokens: _Tokens, neighbours: _Neighbours, vocabulary: Vocabulary) -> CountedDocuments:
    numbers = tokens.numbers
    if tokens.unseen_numbers is not None:
        first_unseen = vocabulary.section("unseen").start
        numbers = np.where(tokens.unseen_numbers >= 0, first_unseen + tokens.unseen_numbers, numbers)
    documents = np.concatenate([tokens.documents, neighbours.documents])
    terms = np.concatenate([numbers, vocabulary.find_bigrams(neighbours.words)])
    shape = len(tokens.lengths), len(vocabulary)
    return CountedDocuments(vocabulary, _count_matrix(documents, terms, shape), tokens.lengths)
