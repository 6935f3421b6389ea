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
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.features.blocks import AVERAGINGS
from tfcr.system.native import in_threads, score_documents
from tfcr.system.packed_strings import encode_words
from tfcr.text.documents import CountedDocuments
from tfcr.text.native_counts import Batch, BigramLexicon, ByteCounter, Lexicon, TermMerger, each_part
from tfcr.text.native_pieces import PieceCutter
from tfcr.text.pieces import piece_matrix
from tfcr.text.tokenizers import Tokenizer
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.word_table import PieceTable, WordTable

LANE = 8
"""Columns that the processor adds up at once."""
MAX_UNSEEN = 50_000
"""Unseen words that a thread remembers before it begins anew."""


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
    pieces
        What unseen words are scored from.
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
    pieces: tuple["_PackedPieces", ...] = ()
    _bigrams: dict[str, BigramLexicon] = field(default_factory=dict)

    def score_texts(
        self, texts: Sequence[str], tokenizer: Tokenizer, threads: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of texts, (n_documents, n_outputs), and the fraction of their tokens that are unknown."""
        decisions = np.empty((len(texts), len(self.intercepts)))
        unknown = np.empty(len(texts))

        def score(counter: ByteCounter, start: int, end: int) -> None:
            scorer = _Scorer(self, tokenizer, counter)
            for batch in counter.count(texts[start:end]):
                size = len(batch.lengths)
                scorer.score(batch, decisions[start : start + size])
                known = counter.known_tokens(batch) / np.maximum(batch.lengths, 1)
                unknown[start : start + size] = np.where(batch.lengths > 0, 1 - known, 0)
                start += size

        each_part(lambda: self._counter(tokenizer), score, len(texts), threads)
        return decisions, unknown

    def score_counted(self, documents: CountedDocuments, threads: int | None = None) -> NDArray[np.float64]:
        """Return the scores of documents counted over the table's vocabulary; (n_documents, n_outputs)."""
        decisions = np.empty((len(documents), len(self.intercepts)))
        matrix = documents.matrix
        unseen = np.arange(len(self.ranks), matrix.shape[1], dtype=np.int32)
        batch = Batch(
            matrix.indptr.astype(np.int64),
            np.concatenate([self.ranks, unseen])[matrix.indices],
            matrix.data.astype(np.int32),
            documents.lengths.astype(np.int64),
        )
        text, offsets = encode_words(documents.vocabulary.unseen)
        rows = self.unseen_rows(text, offsets.astype(np.int64))
        in_threads(lambda first, last: self._score(first, last, batch, rows, decisions), len(decisions), threads)
        return decisions

    def unseen_rows(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> "_UnseenRows":
        """Return what unseen words, given by their bytes, add to sublinear columns, and to squared norms."""
        n_words, n_norms = len(offsets) - 1, self.squares.shape[1]
        rows = _UnseenRows(
            np.zeros((n_words, len(self.outputs) - self.sublinear), np.float32),
            np.zeros((n_words, n_norms), np.float32),
        )
        for table in self.pieces if n_words else ():
            cut = piece_matrix(*table.cutter.cut(text, offsets), len(table.scores))
            rows.values[:, table.columns] += cut @ table.scores
            rows.squares[:, table.norm] += cut @ table.squares
        return rows

    def _score(
        self, first: int, last: int, batch: Batch, unseen: "_UnseenRows", decisions: NDArray[np.float64]
    ) -> None:
        score_documents(
            first, last, batch.starts, batch.words, batch.counts, batch.lengths,
            self.places, self.runs, self.values, self.squares, unseen.values, unseen.squares, self.sublinear,
            self.divisors, self.outputs, self.averagings, self.intercepts, decisions,
        )  # fmt: skip

    def _counter(self, tokenizer: Tokenizer) -> ByteCounter:
        """Return a counter that merges where counts enter sublinearly, or keeps the order of words for bigrams."""
        bigrams = len(self.vocabulary.bigrams) > 0
        merging = self.squares.shape[1] > 0 and not bigrams
        return ByteCounter(
            tokenizer, self._lexicon, adding=bool(self.pieces), merging=merging, keeping=bigrams and not self.pieces
        )

    @cached_property
    def _lexicon(self) -> Lexicon:
        return Lexicon.of(self.vocabulary.words)

    def bigrams_of(self, tokenizer: Tokenizer) -> BigramLexicon | None:
        """Return the bigrams as compiled code looks them up; None if there are none."""
        if not len(self.vocabulary.bigrams):
            return None
        if tokenizer.name not in self._bigrams:
            self._bigrams[tokenizer.name] = BigramLexicon.of(self.vocabulary, tokenizer)
        return self._bigrams[tokenizer.name]


class _UnseenRows(NamedTuple):
    """Unseen words as `score_documents` reads them: values of sublinear columns, and squares."""

    values: NDArray[np.float32]
    squares: NDArray[np.float32]

    def __add__(self, other: Any) -> "_UnseenRows":
        """Return these words, then the others."""
        return _UnseenRows(*(np.concatenate(both) for both in zip(self, other, strict=True)))


@dataclass(frozen=True)
class _PackedPieces:
    """A piece table as compiled code reads it.

    Attributes
    ----------
    cutter
        Cuts words into the pieces.
    scores, squares
        As in the piece table; float32 (n_pieces, n_scores) and (n_pieces,).
    columns
        The packed column of each score, counted from the first sublinear one; (n_scores,).
    norm
        The number of its divisor among those with sublinear counts.
    """

    cutter: PieceCutter
    scores: NDArray[np.float32]
    squares: NDArray[np.float32]
    columns: NDArray[np.int64]
    norm: int


class _Scorer:
    """Scores the batches of one thread; it remembers the rows of unseen words, up to a limit."""

    def __init__(self, table: PackedTable, tokenizer: Tokenizer, counter: ByteCounter) -> None:
        self.table, self.tokenizer, self.counter = table, tokenizer, counter
        self.begin()

    def begin(self) -> None:
        """Forget all unseen words."""
        bigrams = self.table.bigrams_of(self.tokenizer)
        self.merger = None if bigrams is None else TermMerger(bigrams)
        self.rows = self.table.unseen_rows(np.zeros(0, np.uint8), np.zeros(1, np.int64))

    def score(self, batch: Batch, decisions: NDArray[np.float64]) -> None:
        """Write the scores of a batch of the counter."""
        known = self.counter.n_known + len(self.rows.values)
        if self.counter.n_words > known:
            text, offsets, symbols = self.counter.new_words(known)
            self.rows += self.table.unseen_rows(text, offsets)
            if self.merger:
                self.merger.add_unseen(symbols)
        merged = self.merger.merge(batch) if self.merger else batch
        self.table._score(0, len(batch.lengths), merged, self.rows, decisions)
        if self.counter.n_words > self.counter.n_known + MAX_UNSEEN:
            self.counter.forget_new_words()
            self.begin()


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
        pieces=tuple(_pack_pieces(pieces, layout) for pieces in table.pieces),
    )


def _pack_pieces(pieces: PieceTable, layout: "_Layout") -> _PackedPieces:
    return _PackedPieces(
        cutter=PieceCutter(pieces.pieces),
        scores=pieces.scores,
        squares=pieces.divisor_weights,
        columns=layout.score_places[pieces.columns] - layout.divisor_starts[layout.n_plain],
        norm=int(np.flatnonzero(layout.divisor_order[layout.n_plain :] == pieces.divisor)[0]),
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
