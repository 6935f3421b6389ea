"""The terms of documents as plain arrays: what scoring needs of a text, without a matrix."""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.text.tokenizers import AnyTokenizer, Tokenizer, check_tokens, gives_symbols, is_symbol
from tfcr.text.vocabulary import Vocabulary


class Batch(NamedTuple):
    """The terms of some documents, as a CSR matrix has them.

    Document d holds ``counts[i]`` times the term ``words[i]`` for i from ``starts[d]`` to ``starts[d + 1]``;
    ``lengths[d]`` counts all its tokens.
    """

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    lengths: NDArray[np.int64]

    def copy(self) -> "Batch":
        """Return one that does not change when the counter goes on to the next batch."""
        return Batch(self.starts.copy(), self.words.copy(), self.counts.copy(), self.lengths.copy())

    def documents(self) -> NDArray[np.int64]:
        """Return the document of each entry."""
        return np.repeat(np.arange(len(self.lengths)), np.diff(self.starts))


class Found(NamedTuple):
    """What plain Python found in some texts.

    Attributes
    ----------
    batch
        The terms of the texts, sorted within each.
    known
        The number of known tokens of each text.
    unseen
        The different words that are not in the vocabulary: terms from its length on. Empty if they are not asked for.
    """

    batch: Batch
    known: NDArray[np.int64]
    unseen: Sequence[str]


def find_terms(texts: Sequence[str], tokenizer: AnyTokenizer, vocabulary: Vocabulary, *, unseen: bool) -> Found:
    """Count the terms of a vocabulary in texts, and if `unseen` all other words as well.

    Examples
    --------
    >>> from tfcr.text.tokenizers import TOKENIZERS
    >>> vocabulary = Vocabulary(["bad", "good", "so"], np.array([[2, 0], [2, 1]], np.int32))
    >>> found = find_terms(["so good, so new"], TOKENIZERS["words"], vocabulary, unseen=True)
    >>> found.batch.words.tolist(), found.batch.counts.tolist(), found.unseen, found.known.tolist()
    ([1, 2, 4, 5], [1, 2, 1, 1], ['new'], [3])
    """
    tokens = [_tokens_of(text, tokenizer) for text in texts]
    lengths = np.fromiter(map(len, tokens), np.int64, len(tokens))
    different = list(dict.fromkeys(chain.from_iterable(tokens)))
    numbers = vocabulary.find_words(different)
    places = dict(zip(different, range(len(different)), strict=True))
    in_order = np.fromiter(map(places.__getitem__, chain.from_iterable(tokens)), np.int64, int(lengths.sum()))
    documents = np.repeat(np.arange(len(texts)), lengths)
    new = np.flatnonzero(numbers < 0)
    terms = numbers.copy()
    if unseen:
        terms[new] = len(vocabulary) + np.arange(len(new))
    all_documents, all_terms = documents, terms[in_order]
    if len(vocabulary.bigrams):
        pairs, of_pairs = _neighbours(different, numbers, in_order, documents, vocabulary, tokenizer)
        bigrams = vocabulary.bigram_lexicon.find(pairs)
        all_terms = np.concatenate([all_terms, np.where(bigrams >= 0, bigrams + vocabulary.n_words, -1)])
        all_documents = np.concatenate([documents, of_pairs])
    known = np.bincount(documents[numbers[in_order] >= 0], minlength=len(texts))
    return Found(_count(all_documents, all_terms, lengths), known, [different[at] for at in new] if unseen else ())


def _tokens_of(text: str, tokenizer: AnyTokenizer) -> list[str]:
    return tokenizer(text) if isinstance(tokenizer, Tokenizer) else check_tokens(tokenizer(text), tokenizer)


def skipped_in_bigrams(vocabulary: Vocabulary, tokenizer: AnyTokenizer) -> NDArray[np.bool_]:
    """Return which words bigrams skip; (n_words + 2,), the last two for UNKNOWN_SYMBOL and UNKNOWN_WORD.

    Punctuation and symbols are skipped. Only models of the first versions have bigrams that contain them; their texts
    are counted as they were in training.
    """
    skipping = gives_symbols(tokenizer) and not vocabulary.bigrams_hold_symbols
    return np.append(vocabulary.symbols, [True, False]) & skipping


def _neighbours(
    different: Sequence[str],
    numbers: NDArray[np.int64],
    in_order: NDArray[np.int64],
    documents: NDArray[np.int64],
    vocabulary: Vocabulary,
    tokenizer: AnyTokenizer,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of words that only skipped tokens stand between, (n_pairs, 2), and the document of each."""
    joined: NDArray[np.int64] | slice = slice(None)
    if gives_symbols(tokenizer) and not vocabulary.bigrams_hold_symbols:
        skipped = vocabulary.symbols[numbers]  # of unknown tokens it is the last word's, and not used
        for at in np.flatnonzero(numbers < 0).tolist():
            skipped[at] = is_symbol(different[at])
        joined = np.flatnonzero(~skipped[in_order])
    words, of_words = numbers[in_order[joined]], documents[joined]
    both = (of_words[1:] == of_words[:-1]) & (words[1:] >= 0) & (words[:-1] >= 0)
    return np.stack([words[:-1][both], words[1:][both]], axis=1), of_words[:-1][both]


def _count(documents: NDArray[np.int64], terms: NDArray[np.int64], lengths: NDArray[np.int64]) -> Batch:
    """Count entries of document and term number; negative term numbers are left out."""
    is_term = terms >= 0
    size = int(terms.max(initial=0)) + 1
    keys, counts = np.unique(documents[is_term] * size + terms[is_term], return_counts=True)
    of_entries, entries = np.divmod(keys, size)
    starts = np.searchsorted(of_entries, np.arange(len(lengths) + 1))
    return Batch(starts, entries.astype(np.int32), counts.astype(np.int32), lengths)
