"""Prediction by compiled code: from UTF-8 bytes to scores, batch by batch, on several threads.

Tokens never become strings, and batches never become matrices: the terms of a few documents are counted, scored and
forgotten. The scores are those of the word table, to the rounding of float32.

How a table is packed, with lanes of 2 columns instead of 8, and two divisors: D0 divides the score columns a and b, D1
the score column c:

    packed column   0   1   2   3   4   5
    holds           D0  a   b   D1  c   -       divisors start at columns 0 and 3; column 5 only fills its lane

A term's lanes are those with a value other than 0; neighbouring lanes form a run:

    weight in D0 only     lanes (D0 a) (b D1)    one run, columns 0 to 4    values D0 a b 0
    weight in D1 only     lanes (b D1) (c -)     one run, columns 2 to 6    values 0 D1 c 0

A term that has weight in a class adds to all of the class's columns, and common terms to all columns, so runs are long
and the processor adds up whole lanes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.features.blocks import AVERAGINGS
from tfcr.system.native import in_threads, score_documents
from tfcr.text.documents import CountedDocuments
from tfcr.text.native_counts import Batch, BigramLexicon, ByteCounter, Lexicon, TermMerger, each_part
from tfcr.text.tokenizers import Tokenizer
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.word_table import WordTable

LANE = 8
"""Columns that the processor adds up at once."""


@dataclass(frozen=True)
class PackedTable:
    """A word table as compiled code reads it: each term's values stand together; see `score_documents`.

    Attributes
    ----------
    vocabulary
        Common terms first, so that what is read most lies close together; words before bigrams.
    ranks
        The number of each of the table's terms in `vocabulary`; (n_terms,).
    places, runs, values, squares, sublinear, divisors, outputs, averagings, intercepts
        As in `score_documents`.
    """

    vocabulary: Vocabulary
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
    _bigrams: dict[str, BigramLexicon] = field(default_factory=dict)

    def score_texts(
        self, texts: Sequence[str], tokenizer: Tokenizer, threads: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of texts, (n_documents, n_outputs), and the fraction of their tokens that are unknown."""
        decisions = np.empty((len(texts), len(self.intercepts)))
        unknown = np.empty(len(texts))
        bigrams = self._bigrams_of(tokenizer) if len(self.vocabulary.bigrams) else None

        def score(counter: ByteCounter, start: int, end: int) -> None:
            merger = TermMerger(bigrams) if bigrams else None
            for batch in counter.count(texts[start:end]):
                size = len(batch.lengths)
                self._score(0, size, merger.merge(batch) if merger else batch, decisions[start : start + size])
                known = counter.known_tokens(batch) / np.maximum(batch.lengths, 1)
                unknown[start : start + size] = np.where(batch.lengths > 0, 1 - known, 0)
                start += size

        each_part(lambda: self._counter(tokenizer), score, len(texts), threads)
        return decisions, unknown

    def score_counted(self, documents: CountedDocuments, threads: int | None = None) -> NDArray[np.float64]:
        """Return the scores of documents counted over the table's vocabulary; (n_documents, n_outputs)."""
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
        """Return a counter that merges where counts enter sublinearly, or keeps the order of words for bigrams."""
        bigrams = len(self.vocabulary.bigrams) > 0
        merging = self.squares.shape[1] > 0 and not bigrams
        return ByteCounter(tokenizer, self._lexicon, merging=merging, keeping=bigrams)

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon.of(self.vocabulary.words)

    def _bigrams_of(self, tokenizer: Tokenizer) -> BigramLexicon:
        if tokenizer.name not in self._bigrams:
            self._bigrams[tokenizer.name] = BigramLexicon.of(self.vocabulary, tokenizer)
        return self._bigrams[tokenizer.name]


def pack(table: WordTable) -> PackedTable:
    """Pack a word table: order its terms and columns, cut them into lanes, and join lanes to runs."""
    order = _common_first(table)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order))
    layout = _layout(table)
    lanes = _fill_lanes(table, order, layout)
    runs, places = _join_lanes(lanes, layout)
    sublinear = layout.divisor_order[layout.n_plain :]
    return PackedTable(
        vocabulary=table.vocabulary.take(order),
        ranks=ranks,
        places=places,
        runs=runs,
        values=lanes.values.ravel(),
        squares=np.ascontiguousarray(table.divisor_weights[order][:, sublinear].toarray()),
        sublinear=int(layout.divisor_starts[layout.n_plain]),
        divisors=layout.divisor_starts.astype(np.int32),
        outputs=layout.outputs,
        averagings=np.array([AVERAGINGS[table.averagings[number]][:3] for number in layout.divisor_order], np.float32),
        intercepts=table.intercepts,
    )


def _common_first(table: WordTable) -> NDArray[np.int64]:
    """Return the terms of each section in the order of their frequency."""
    return np.lexsort((-table.frequencies, table.vocabulary.section_of_terms()))


class _Layout(NamedTuple):
    """Where the columns of a table go.

    Attributes
    ----------
    divisor_order
        The table's divisors, those with sublinear counts last.
    n_plain
        The number of divisors with plain counts.
    divisor_starts
        The packed column of each divisor; its scores follow. The last entry is the end; (n_divisors + 1,).
    score_places
        The packed column of each of the table's columns; (n_columns,).
    outputs
        The output of each packed column; 0 where it holds no scores.
    """

    divisor_order: NDArray[np.int64]
    n_plain: int
    divisor_starts: NDArray[np.int64]
    score_places: NDArray[np.int64]
    outputs: NDArray[np.int32]

    @property
    def n_lanes(self) -> int:
        return len(self.outputs) // LANE


def _layout(table: WordTable) -> _Layout:
    """Put the scores of each divisor after it; sublinear columns begin a lane, so that no run holds both kinds.

    Two plain divisors with 2 and 1 score columns and a sublinear one with 1, in lanes of 4: the divisors start at the
    columns 0, 3 and 5, so 3 columns of padding move the sublinear one to 8; score_places are 1, 2, 4 and 9.
    """
    sublinear = np.array([AVERAGINGS[name].sublinear for name in table.averagings])
    divisor_order = np.argsort(sublinear, kind="stable")
    n_plain, n_divisors = int((~sublinear).sum()), len(sublinear)
    divisors = np.argsort(divisor_order)[table.divisors]  # of each column, in the new order
    order = np.argsort(divisors, kind="stable")
    # the columns before a divisor: all scores of earlier divisors, and these divisors themselves
    starts = np.searchsorted(divisors[order], np.arange(n_divisors + 1)) + np.arange(n_divisors + 1)
    padding = np.where(np.arange(n_divisors + 1) >= n_plain, -starts[n_plain] % LANE, 0)
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order)) + divisors[order] + 1 + padding[divisors[order]]
    starts += padding
    outputs = np.zeros(-(-int(starts[-1]) // LANE) * LANE, np.int32)
    outputs[places] = table.outputs
    return _Layout(divisor_order, n_plain, starts, places, outputs)


class _Lanes(NamedTuple):
    """The lanes of all terms that hold a value, term by term.

    Attributes
    ----------
    numbers
        term · n_lanes + lane, increasing; (n_used,).
    values
        float32 (n_used, LANE).
    starts
        The first lane of each term; (n_terms + 1,).
    """

    numbers: NDArray[np.int64]
    values: NDArray[np.float32]
    starts: NDArray[np.int64]


def _fill_lanes(table: WordTable, order: NDArray[np.int64], layout: _Layout) -> _Lanes:
    """Put the divisor weights and scores of each term into lanes; squares of sublinear divisors are kept elsewhere."""
    scores = table.scores[order]
    plain = sp.csr_array(table.divisor_weights[order][:, layout.divisor_order[: layout.n_plain]])
    terms = np.concatenate([_rows_of(plain), _rows_of(scores)])
    columns = np.concatenate([layout.divisor_starts[plain.indices], layout.score_places[scores.indices]])
    lane_of = terms * layout.n_lanes + columns // LANE
    used = np.zeros(len(order) * layout.n_lanes, np.bool_)
    used[lane_of] = True
    numbers = np.flatnonzero(used)
    values = np.zeros((len(numbers), LANE), np.float32)
    values[np.cumsum(used)[lane_of] - 1, columns % LANE] = np.concatenate([plain.data, scores.data])
    return _Lanes(numbers, values, np.searchsorted(numbers, np.arange(len(order) + 1) * layout.n_lanes))


def _join_lanes(lanes: _Lanes, layout: _Layout) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Join neighbouring lanes to runs; a new term begins a run, and so does the first sublinear lane.

    With three lanes per term, the used lanes 0, 1, 3, 5 are those of term 0 (lanes 0 and 1) and term 1 (lanes 0 and 2):
    the runs are 0 to 2 of term 0, and 0 to 1 and 2 to 3 of term 1.

    Returns
    -------
    runs
        The first column of each run and the one after its last; (n_runs, 2).
    places
        The first run and the first value of each term; (n_terms + 1, 2).
    """
    first_sublinear = layout.divisor_starts[layout.n_plain] // LANE
    begins = (np.diff(lanes.numbers, prepend=-2) != 1) | (lanes.numbers % layout.n_lanes == first_sublinear)
    begins[lanes.starts[:-1][np.diff(lanes.starts) > 0]] = True
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(lanes.numbers))[: len(first)] - 1
    bounds = [lanes.numbers[first] % layout.n_lanes, lanes.numbers[last] % layout.n_lanes + 1]
    runs = (LANE * np.stack(bounds, axis=1)).astype(np.int32)
    return runs, np.stack([np.searchsorted(first, lanes.starts), LANE * lanes.starts], axis=1)


def _rows_of(matrix: sp.csr_array) -> NDArray[np.int64]:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
