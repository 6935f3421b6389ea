"""From texts to counted documents: which word, and which pair of neighbouring words, stands how often in which one."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.tokenizers import (
    DEFAULT_TOKENIZER,
    UNKNOWN_SIGN,
    UNKNOWN_WORD,
    AnyTokenizer,
    Tokenizer,
    check_tokens,
    gives_signs,
    is_sign,
    resolve_tokenizer,
    signs_to_pass,
)
from tfcr.wordlist import pair_numbers

WORTH_COMPILED_CODE = 1_000_000
"""Texts of so many characters are counted by compiled code; fewer are counted before it is loaded."""


@dataclass(frozen=True)
class DocumentWords:
    """Which word stands how often in which document.

    Attributes
    ----------
    words
        The known words, sorted.
    matrix
        Counts, int32, of shape (n_documents, n_words).
    lengths
        All tokens of each document, the unknown ones too; (n_documents,).
    n_pairs
        How many of `words`, the last ones, are pairs of neighbouring words, with a space between.
    """

    words: Sequence[str]
    matrix: sp.csr_array
    lengths: NDArray[np.int64]
    n_pairs: int = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def without_pairs(self) -> "DocumentWords":
        """Return the same documents, counted over words alone."""
        n_words = len(self.words) - self.n_pairs
        return DocumentWords(self.words[:n_words], self.matrix[:, :n_words], self.lengths) if self.n_pairs else self

    def unknown_shares(self) -> NDArray[np.float64]:
        """Return the share of each document's tokens that are none of `words`; 0 for an empty document."""
        known = np.asarray(self.without_pairs().matrix.sum(axis=1), np.float64)
        return 1 - np.divide(known, self.lengths, out=np.ones(len(self)), where=self.lengths > 0)

    def rows(self, rows: NDArray[np.int64]) -> "DocumentWords":
        """Return some of the documents."""
        return DocumentWords(self.words, self.matrix[rows], self.lengths[rows], self.n_pairs)

    def over(self, words: Sequence[str], n_pairs: int = 0) -> "DocumentWords":
        """Return the same documents counted over other words, 0 for those not counted here; the lengths stay.

        The last `n_pairs` of them are pairs.
        """
        if words is self.words:
            return self
        numbers = dict(zip(words, range(len(words)), strict=True))
        places = np.fromiter((numbers.get(word, -1) for word in self.words), np.int64, len(self.words))
        kept = np.flatnonzero(places >= 0)
        moved = sp.csr_array((np.ones(len(kept), np.int32), (kept, places[kept])), shape=(len(places), len(words)))
        return DocumentWords(words, self.matrix @ moved, self.lengths, n_pairs)

    def over_words(self, words: Sequence[str]) -> "DocumentWords":
        """Return the same documents over some of their words, and the pairs of these that more than one holds."""
        n_words = len(self.words) - self.n_pairs
        if not self.n_pairs:
            return self.over(words)
        known = set(words)
        kept = np.array([word in known for word in self.words[:n_words]])
        held = np.bincount(self.matrix.indices, minlength=len(self.words))
        common = held[n_words:] >= 2
        if not kept.all():
            common &= kept[pair_numbers(self.words, self.n_pairs)].all(axis=1)
        columns = np.flatnonzero(np.concatenate([kept, common]))
        if len(columns) == len(self.words):
            return self
        terms = [self.words[column] for column in columns.tolist()]
        return DocumentWords(terms, self.matrix[:, columns], self.lengths, int(common.sum()))


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
) -> DocumentWords:
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
    if _worth_compiled_code(resolved, checked):
        from tfcr.bytecounts import count_bytes  # noqa: PLC0415 - numba loads slowly, and small jobs need none

        fast = count_bytes(checked, resolved, vocabulary)
        return DocumentWords(fast.words, fast.matrix, fast.lengths)
    tokenize = _checked(resolved)
    documents = [tokenize(text) for text in checked]
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    known = sorted(set().union(*documents)) if vocabulary is None else vocabulary
    numbers = dict(zip(known, range(len(known)), strict=True))
    return DocumentWords(known, _count_matrix(documents, numbers), lengths)


def count_terms(
    texts: Iterable[str],
    tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
    vocabulary: Sequence[str] | None = None,
    n_pairs: int = 0,
) -> DocumentWords:
    """Count the words of each text, and the pairs of neighbouring words; signs between two words are passed over.

    Parameters
    ----------
    texts, tokenizer
        As in `count_words`.
    vocabulary
        The words and pairs to count, if not all words, and all pairs that two documents hold.
    n_pairs
        How many of `vocabulary`, the last ones, are pairs.
    """
    checked = check_texts(texts)
    given = None if vocabulary is None else vocabulary[: len(vocabulary) - n_pairs]
    resolved = resolve_tokenizer(tokenizer)
    words, numbers, lengths = _number_tokens(checked, resolved, given)
    documents = np.repeat(np.arange(len(lengths)), lengths)
    pairs = None if vocabulary is None else pair_numbers(vocabulary, n_pairs)
    passed = signs_to_pass(words, resolved, pairs)
    keys, places = _neighbours(numbers[~passed[numbers]], documents[~passed[numbers]], words)
    if vocabulary is None or pairs is None:
        known = _keys_of_two_documents(keys, places)
        known, names = _name_pairs(known, words)
        vocabulary = [*words, *names]
    else:
        known = pairs @ np.array([len(words), 1])
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, keys, sorter=order), max(len(known) - 1, 0))
    found = order[at] if len(known) else at
    held = known[found] == keys if len(known) else np.zeros(len(keys), np.bool_)
    rows = np.concatenate([documents[numbers >= 0], places[held]])
    columns = np.concatenate([numbers[numbers >= 0], len(words) + found[held]])
    matrix = sp.coo_array(
        (np.ones(len(rows), np.int32), (rows, columns)), shape=(len(lengths), len(vocabulary))
    ).tocsr()
    return DocumentWords(vocabulary, matrix, lengths, len(known))


def _neighbours(
    numbers: NDArray[np.int32], documents: NDArray[np.int64], words: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of neighbouring tokens, each as one number, and their documents."""
    joins = _can_join(words)[numbers]
    both = (documents[1:] == documents[:-1]) & joins[1:] & joins[:-1]
    return (numbers[:-1].astype(np.int64) * len(words) + numbers[1:])[both], documents[:-1][both]


def _name_pairs(keys: NDArray[np.int64], words: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the pairs that are not also a word, which a tokeniser of one's own may make, and their names."""
    names = [f"{words[one]} {words[two]}" for one, two in zip(*divmod(keys, len(words) or 1), strict=True)]
    taken = {word for word in words if " " in word}
    new = [number for number, name in enumerate(names) if name not in taken]
    return keys[new], [names[number] for number in new]


def _can_join(words: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which words may be one of a pair: none with a space, so that pairs can be told apart, and none unknown."""
    return np.array([*(" " not in word for word in words), False, False])


def _keys_of_two_documents(keys: NDArray[np.int64], documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different keys, sorted, that more than one document holds."""
    order = np.argsort(keys, kind="stable")  # documents stay in their order
    keys, documents = keys[order], documents[order]
    again = np.flatnonzero((keys[1:] == keys[:-1]) & (documents[1:] != documents[:-1]))
    return np.unique(keys[again])


def _number_tokens(
    texts: list[str], tokenizer: AnyTokenizer, vocabulary: Sequence[str] | None
) -> tuple[Sequence[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return the words, the number of every token's word, and the tokens of each document.

    The number is UNKNOWN_WORD or UNKNOWN_SIGN where a word is not known.
    """
    if _worth_compiled_code(tokenizer, texts):
        from tfcr.bytecounts import number_tokens  # noqa: PLC0415 - numba loads slowly, and small jobs need none

        return number_tokens(texts, tokenizer, vocabulary)
    documents = [_checked(tokenizer)(text) for text in texts]
    words = sorted(set().union(*documents)) if vocabulary is None else vocabulary
    numbers = dict(zip(words, range(len(words)), strict=True))
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    signs = gives_signs(tokenizer)
    found = (
        numbers.get(token, UNKNOWN_SIGN if signs and is_sign(token) else UNKNOWN_WORD)
        for tokens in documents
        for token in tokens
    )
    return words, np.fromiter(found, np.int32, int(lengths.sum())), lengths


def _worth_compiled_code(tokenizer: AnyTokenizer, texts: list[str]) -> TypeGuard[Tokenizer]:
    return (
        isinstance(tokenizer, Tokenizer) and tokenizer.table is not None and sum(map(len, texts)) >= WORTH_COMPILED_CODE
    )


def _checked(tokenizer: AnyTokenizer) -> Callable[[str], list[str]]:
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    return lambda text: check_tokens(tokenizer(text), tokenizer)


def _count_matrix(documents: list[list[str]], numbers: dict[str, int]) -> sp.csr_array:
    """Count numbered tokens: drop the unknown ones, add up what occurs twice in a document."""
    size = sum(map(len, documents))
    columns = np.fromiter((numbers.get(token, -1) for tokens in documents for token in tokens), np.int32, size)
    rows = np.repeat(np.arange(len(documents), dtype=np.int32), [len(tokens) for tokens in documents])
    known = columns >= 0
    ones = np.ones(int(known.sum()), np.int32)
    return sp.coo_array((ones, (rows[known], columns[known])), shape=(len(documents), len(numbers))).tocsr()
