"""The fast path of prediction: from UTF-8 bytes to scores, batch by batch, by compiled code on several threads.

No string is made of any token, and no matrix of any batch: the words of a few documents are counted, scored and
forgotten. It gives the same scores as counting first, to the rounding of float32.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.features.blocks import AVERAGINGS
from tfcr.system.native import in_threads, score_documents
from tfcr.text.documents import CountedDocuments
from tfcr.text.native_counts import Batch, BigramLexicon, ByteCounter, Lexicon, TermMerger, each_part
from tfcr.text.tokenizers import Tokenizer

LANE = 8
"""Columns that the processor adds up at once: runs are made of whole lanes, filled with zeros."""


@dataclass(frozen=True)
class PackedTable:
    """A word table as compiled code reads it: each word's values stand together; see `score_documents`.

    Common words come first, so that what is read most lies close together; `ranks` tells where each word went.
    """

    words: Sequence[str]
    ranks: NDArray[np.int32]
    places: NDArray[np.int64]
    runs: NDArray[np.int32]
    values: NDArray[np.float32]
    squares: NDArray[np.float32]
    sublinear: int
    divisors: NDArray[np.int32]
    outputs: NDArray[np.int32]
    averagings: NDArray[np.float32]
    intercepts: NDArray[np.float64]
    n_bigrams: int
    _pairs: dict[str, BigramLexicon] = field(default_factory=dict)

    def score_texts(
        self, texts: Sequence[str], tokenizer: Tokenizer, threads: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of texts, (n_documents, n_outputs), and the share of their words that is not known."""
        decisions = np.empty((len(texts), len(self.intercepts)))
        unknown = np.empty(len(texts))

        pairs = self._bigrams_of(tokenizer) if self.n_bigrams else None

        def score(counter: ByteCounter, start: int, end: int) -> None:
            merger = TermMerger(pairs) if pairs else None
            for batch in counter.count(texts[start:end]):
                size = len(batch.lengths)
                self._score(0, size, merger.merge(batch) if merger else batch, decisions[start : start + size])
                known = counter.known_tokens(batch) / np.maximum(batch.lengths, 1)
                unknown[start : start + size] = np.where(batch.lengths > 0, 1 - known, 0)
                start += size

        each_part(lambda: self._counter(tokenizer), score, len(texts), threads)
        return decisions, unknown

    def score_counted(self, documents: CountedDocuments, threads: int | None = None) -> NDArray[np.float64]:
        """Return the scores of documents counted over the words that were packed; (n_documents, n_outputs)."""
        decisions = np.empty((len(documents), len(self.intercepts)))
        matrix = documents.matrix
        batch = Batch(
            matrix.indptr.astype(np.int64),
            self.ranks[matrix.indices],
            matrix.data.astype(np.int32),
            documents.lengths.astype(np.int64),
        )
        in_threads(lambda first, last: self._score(first, last, batch, decisions), len(decisions), threads)
        return decisions

    def _score(self, first: int, last: int, batch: Batch, decisions: NDArray[np.float64]) -> None:
        score_documents(
            first, last, batch.starts, batch.words, batch.counts, batch.lengths,
            self.places, self.runs, self.values, self.squares, self.sublinear,
            self.divisors, self.outputs, self.averagings, self.intercepts, decisions,
        )  # fmt: skip

    def _counter(self, tokenizer: Tokenizer) -> ByteCounter:
        """Return one that merges what is sublinear, which must be counted first, or leaves the order for pairs."""
        merging = self.squares.shape[1] > 0 and not self.n_bigrams
        return ByteCounter(tokenizer, self._lexicon, merging=merging, keeping=self.n_bigrams > 0)

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon.of(self.words[: len(self.words) - self.n_bigrams])

    def _bigrams_of(self, tokenizer: Tokenizer) -> BigramLexicon:
        if tokenizer.name not in self._pairs:
            self._pairs[tokenizer.name] = BigramLexicon.of(self.words, self.n_bigrams, tokenizer)
        return self._pairs[tokenizer.name]


def pack(
    words: Sequence[str],
    scores: sp.csr_array,
    outputs: NDArray[np.int64],
    divisors: NDArray[np.int64],
    masses: sp.csr_array,
    averagings: Sequence[str],
    intercepts: NDArray[np.float64],
    frequencies: NDArray[np.float32],
    n_bigrams: int = 0,
) -> PackedTable:
    """Put the mass of each divisor before its scores, and each word's values of neighbouring columns together.

    A word that has weight in a class adds to all of the class's columns, and common words to all columns: long runs.
    Columns whose counts are sublinear come last and begin a lane, so that no run holds both kinds.
    """
    sublinear = np.array([AVERAGINGS[name].sublinear for name in averagings])
    plain_first = np.argsort(sublinear, kind="stable")
    masses, divisors = masses[:, plain_first], np.argsort(plain_first)[divisors]
    n_plain = int((~sublinear).sum())
    is_pair = np.arange(len(words)) >= len(words) - n_bigrams
    common = np.lexsort((-frequencies, is_pair))  # pairs stay behind the words
    ranks = np.empty(len(common), np.int32)
    ranks[common] = np.arange(len(common))
    scores, masses = scores[common], masses[common]
    n_words, n_divisors = masses.shape
    order = np.argsort(divisors, kind="stable")
    bounds = np.searchsorted(divisors[order], np.arange(n_divisors + 1)) + np.arange(n_divisors + 1)
    padding = np.where(np.arange(n_divisors + 1) >= n_plain, -bounds[n_plain] % LANE, 0)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) + divisors[order] + 1 + padding[divisors[order]]
    bounds += padding
    plain = sp.csr_array(masses[:, :n_plain])
    columns = np.concatenate([bounds[plain.indices], places[scores.indices]])
    rows = np.concatenate([_rows_of(plain), _rows_of(scores)])
    n_lanes = -(-int(bounds[-1]) // LANE)
    lane_of = rows * n_lanes + columns // LANE
    used = np.zeros(n_words * n_lanes, np.bool_)
    used[lane_of] = True
    lanes = np.flatnonzero(used)
    values = np.zeros((len(lanes), LANE), np.float32)
    values[np.cumsum(used)[lane_of] - 1, columns % LANE] = np.concatenate([plain.data, scores.data])
    value_starts = np.searchsorted(lanes, np.arange(n_words + 1) * n_lanes)
    breaks = (np.diff(lanes, prepend=-2) != 1) | (lanes % n_lanes == bounds[n_plain] // LANE)
    breaks[value_starts[:-1][np.diff(value_starts) > 0]] = True  # a new word, a new run
    first = np.flatnonzero(breaks)
    last = np.append(first[1:], len(lanes))[: len(first)] - 1
    column_outputs = np.zeros(n_lanes * LANE, np.int32)
    column_outputs[places] = outputs
    return PackedTable(
        words=[words[number] for number in common.tolist()],
        ranks=ranks,
        places=np.stack([np.searchsorted(first, value_starts), LANE * value_starts], axis=1),
        runs=(LANE * np.stack([lanes[first] % n_lanes, lanes[last] % n_lanes + 1], axis=1)).astype(np.int32),
        values=values.ravel(),
        squares=np.ascontiguousarray(masses[:, n_plain:].toarray()),
        sublinear=int(bounds[n_plain]),
        divisors=bounds.astype(np.int32),
        outputs=column_outputs,
        averagings=np.array([AVERAGINGS[averagings[number]][:3] for number in plain_first], np.float32),
        intercepts=intercepts,
        n_bigrams=n_bigrams,
    )


def _rows_of(matrix: sp.csr_array) -> NDArray[np.int64]:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
