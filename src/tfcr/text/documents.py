"""From texts to counted documents: which word, and which pair of neighbouring words, stands how often in which one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.system.packed_strings import bigram_numbers
from tfcr.text.tokenizers import (
    DEFAULT_TOKENIZER,
    AnyTokenizer,
    Tokenizer,
    check_tokens,
    resolve_tokenizer,
)

WORTH_COMPILED_CODE = 1_000_000
"""Texts of so many characters are counted by compiled code; fewer are counted before it is loaded."""


@dataclass(frozen=True)
class CountedDocuments:
    """Which word stands how often in which document.

    Attributes
    ----------
    words
        The known words, sorted.
    matrix
        Counts, int32, of shape (n_documents, n_words).
    lengths
        All tokens of each document, the unknown ones too; (n_documents,).
    n_bigrams
        How many of `words`, the last ones, are pairs of neighbouring words, with a space between.
    """

    words: Sequence[str]
    matrix: sp.csr_array
    lengths: NDArray[np.int64]
    n_bigrams: int = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def without_bigrams(self) -> "CountedDocuments":
        """Return the same documents, counted over words alone."""
        n_words = len(self.words) - self.n_bigrams
        return (
            CountedDocuments(self.words[:n_words], self.matrix[:, :n_words], self.lengths) if self.n_bigrams else self
        )

    def unknown_fractions(self) -> NDArray[np.float64]:
        """Return the share of each document's tokens that are none of `words`; 0 for an empty document."""
        known = np.asarray(self.without_bigrams().matrix.sum(axis=1), np.float64)
        return 1 - np.divide(known, self.lengths, out=np.ones(len(self)), where=self.lengths > 0)

    def rows(self, rows: NDArray[np.int64]) -> "CountedDocuments":
        """Return some of the documents."""
        return CountedDocuments(self.words, self.matrix[rows], self.lengths[rows], self.n_bigrams)

    def over(self, words: Sequence[str], n_bigrams: int = 0) -> "CountedDocuments":
        """Return the same documents counted over other words, 0 for those not counted here; the lengths stay.

        The last `n_bigrams` of them are pairs.
        """
        if words is self.words:
            return self
        numbers = dict(zip(words, range(len(words)), strict=True))
        places = np.fromiter((numbers.get(word, -1) for word in self.words), np.int64, len(self.words))
        kept = np.flatnonzero(places >= 0)
        moved = sp.csr_array((np.ones(len(kept), np.int32), (kept, places[kept])), shape=(len(places), len(words)))
        return CountedDocuments(words, self.matrix @ moved, self.lengths, n_bigrams)

    def over_words(self, words: Sequence[str]) -> "CountedDocuments":
        """Return the same documents over some of their words, and the pairs of these that more than one holds."""
        n_words = len(self.words) - self.n_bigrams
        if not self.n_bigrams:
            return self.over(words)
        known = set(words)
        kept = np.array([word in known for word in self.words[:n_words]])
        held = np.bincount(self.matrix.indices, minlength=len(self.words))
        common = held[n_words:] >= 2
        if not kept.all():
            common &= kept[bigram_numbers(self.words, self.n_bigrams)].all(axis=1)
        columns = np.flatnonzero(np.concatenate([kept, common]))
        if len(columns) == len(self.words):
            return self
        terms = [self.words[column] for column in columns.tolist()]
        return CountedDocuments(terms, self.matrix[:, columns], self.lengths, int(common.sum()))


def check_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list, or say which one is no string."""
    if isinstance(texts, str | bytes):
        raise InputError("found a single string; expected a list of texts: put it in brackets, [text]")
    if hasattr(texts, "columns"):
        raise InputError(f"found a table of {len(texts.columns)} columns; expected one: give the column with the texts")
    try:
        checked = list(texts)
    except TypeError:
        raise InputError(f"found {type(texts).__name__}; expected a list of texts") from None
    for number, text in enumerate(checked):
        if not isinstance(text, str):
            raise InputError(
                f"text number {number} (counted from 0) is of type {type(text).__name__}; expected a string. "
                "Drop rows without text first, or turn values into text with str()"
            )
    return checked


def count_words(
    texts: Iterable[str],
    tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
    vocabulary: Sequence[str] | None = None,
) -> CountedDocuments:
    """Count the words of each text.

    Parameters
    ----------
    texts
        The documents.
    tokenizer
        A name of TOKENIZERS or a callable from a text to its tokens.
    vocabulary
        The words to count, if not all; they keep their order. Others still add to a document's length.
    """
    checked = check_texts(texts)
    resolved = resolve_tokenizer(tokenizer)
    if worth_compiled_code(resolved, checked):
        from tfcr.text.native_counts import count_bytes  # noqa: PLC0415 - numba loads slowly, and small jobs need none

        fast = count_bytes(checked, resolved, vocabulary)
        return CountedDocuments(fast.words, fast.matrix, fast.lengths)
    tokenize = checked_tokenizer(resolved)
    documents = [tokenize(text) for text in checked]
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    known = sorted(set().union(*documents)) if vocabulary is None else vocabulary
    numbers = dict(zip(known, range(len(known)), strict=True))
    return CountedDocuments(known, count_matrix(documents, numbers), lengths)


def worth_compiled_code(tokenizer: AnyTokenizer, texts: Sequence[str]) -> TypeGuard[Tokenizer]:
    """Tell whether texts are many enough for compiled code, and it knows the tokeniser."""
    return (
        isinstance(tokenizer, Tokenizer) and tokenizer.table is not None and sum(map(len, texts)) >= WORTH_COMPILED_CODE
    )


def checked_tokenizer(tokenizer: AnyTokenizer) -> Callable[[str], list[str]]:
    """Return a tokeniser that gives lists of strings, or says why it does not."""
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    return lambda text: check_tokens(tokenizer(text), tokenizer)


def count_matrix(documents: list[list[str]], numbers: dict[str, int]) -> sp.csr_array:
    """Count numbered tokens: drop the unknown ones, add up what occurs twice in a document."""
    size = sum(map(len, documents))
    columns = np.fromiter((numbers.get(token, -1) for tokens in documents for token in tokens), np.int32, size)
    rows = np.repeat(np.arange(len(documents), dtype=np.int32), [len(tokens) for tokens in documents])
    known = columns >= 0
    ones = np.ones(int(known.sum()), np.int32)
    return sp.coo_array((ones, (rows[known], columns[known])), shape=(len(documents), len(numbers))).tocsr()
