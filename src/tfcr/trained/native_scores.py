"""Prediction by compiled code: from UTF-8 bytes to scores, batch by batch, on several threads.

Tokens never become strings, and batches never become matrices: the terms of a few documents are counted, scored and
forgotten. Compiled code reads the arrays of the word table as they are, and gives the scores that numpy does.

What a thread needs besides, such as the unseen words that it has met, stays for the next texts: one text at a time
costs no more than its part of a batch.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.features.blocks import AVERAGINGS
from tfcr.system.hardware import n_threads
from tfcr.system.native import add_pieces, in_threads, score_documents
from tfcr.system.packed_strings import encode_words
from tfcr.text.documents import CountedDocuments
from tfcr.text.native_counts import Bigrams, ByteCounter, TermMerger, each_part
from tfcr.text.native_pieces import PieceCutter
from tfcr.text.terms import Batch
from tfcr.text.tokenizers import Tokenizer
from tfcr.trained.word_table import Rows, WordTable, batch_of

MAX_UNSEEN = 50_000
"""Unseen words that a thread remembers before it begins anew."""


class NativeTable:
    """A word table, and what compiled code needs besides.

    Attributes
    ----------
    table
        The table.
    is_ready
        Whether texts have been scored, so that all compiled code is loaded.
    """

    def __init__(self, table: WordTable) -> None:
        self.table = table
        self.is_ready = False
        self.cutters = [PieceCutter(some.pieces) for some in table.pieces]
        averagings = np.array([AVERAGINGS[name][:3] for name in table.averagings], np.float64)
        no_scales = np.ones((table.n_groups, 1), np.float32)
        columns = table.starts, table.sublinear, table.outputs, averagings, table.intercepts
        self._rows = [_readonly(array) for rows in (table.words, table.bigrams) for array in rows]
        self._others = [_readonly(array) for array in (*table.entries, table.scales, no_scales, *columns)]
        self._idle: list[tuple[str, _Scorer]] = []

    def score_texts(
        self, texts: Sequence[str], tokenizer: Tokenizer, threads: int | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the scores of texts, (n_documents, n_outputs), and the fraction of their tokens that are unknown."""
        decisions = np.empty((len(texts), len(self.table.intercepts)))
        unknown = np.empty(len(texts))
        scorers: list[_Scorer] = []

        def make() -> ByteCounter:
            scorers.append(self._take_scorer(tokenizer))
            return scorers[-1].counter

        def score(counter: ByteCounter, start: int, end: int) -> None:
            scorer = next(some for some in scorers if some.counter is counter)
            for batch in counter.count(texts, start, end):
                size = len(batch.lengths)
                scorer.score(batch, decisions[start : start + size])
                known = counter.known_tokens(batch) / np.maximum(batch.lengths, 1)
                unknown[start : start + size] = np.where(batch.lengths > 0, 1 - known, 0)
                start += size

        each_part(make, score, len(texts), threads)
        self._keep_idle([(tokenizer.name, scorer) for scorer in scorers])  # not after an error
        self.is_ready = True
        return decisions, unknown

    def score_counted(self, documents: CountedDocuments, threads: int | None = None) -> NDArray[np.float64]:
        """Return the scores of documents counted over the table's vocabulary; (n_documents, n_outputs)."""
        decisions = np.empty((len(documents), len(self.table.intercepts)))
        batch = batch_of(documents)
        batch = batch._replace(counts=batch.counts.astype(np.int32), lengths=batch.lengths.astype(np.int64))
        text, offsets = encode_words(documents.vocabulary.unseen)
        rows = self.unseen_rows(text, offsets.astype(np.int64))
        in_threads(lambda first, last: self.score(first, last, batch, rows, decisions), len(decisions), threads)
        return decisions

    def unseen_rows(self, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Rows:
        """Return the rows of unseen words, given by their bytes, as `WordTable.unseen_rows` does."""
        table, n_words = self.table, len(offsets) - 1
        groups = np.array([some.group for some in table.pieces], np.int32)
        rows = Rows(
            groups,
            np.zeros((n_words, len(groups)), np.float32),
            np.zeros((n_words, int((1 + table.widths[groups]).sum())), np.float32),
        )
        slices = table.stretch_slices(rows)
        for number, (some, cutter) in enumerate(zip(table.pieces, self.cutters, strict=True) if n_words else ()):
            # into arrays of their own: compiled code is specialised to contiguous ones
            weights, values = np.empty(n_words, np.float32), np.empty((n_words, table.widths[some.group]), np.float32)
            add_pieces(
                *cutter.cut(text, offsets), _readonly(some.rows.weights), _readonly(some.rows.values),
                _readonly(table.scales[some.group]), weights, values,
            )  # fmt: skip
            rows.weights[:, number] = weights
            rows.values[:, slices[number].start + 1 : slices[number].stop] = values
        return rows

    def score(self, first: int, last: int, batch: Batch, unseen: Rows, decisions: NDArray[np.float64]) -> None:
        """Write the scores of documents `first` to `last` of a batch."""
        arrays: list[Any] = [*batch, *self._rows, *unseen, *self._others, decisions]
        score_documents(first, last, *arrays)

    def _take_scorer(self, tokenizer: Tokenizer) -> "_Scorer":
        """Return one that no other thread uses: an idle one of that tokeniser, or a new one."""
        with suppress(IndexError):  # other threads take them too
            while True:
                name, scorer = self._idle.pop()
                if name == tokenizer.name:
                    return scorer
        return _Scorer(self, tokenizer)

    def _keep_idle(self, scorers: list[tuple[str, "_Scorer"]]) -> None:
        """Keep scorers for the next texts, as many as may work at once: each remembers unseen words."""
        self._idle += scorers
        del self._idle[: -n_threads()]


class _Scorer:
    """Scores the batches of one thread; it remembers the rows of unseen words, up to a limit."""

    def __init__(self, native: NativeTable, tokenizer: Tokenizer) -> None:
        table = native.table
        self.native = native
        has_bigrams, has_pieces = len(table.vocabulary.bigrams) > 0, bool(table.pieces)
        self.counter = ByteCounter(
            tokenizer,
            table.vocabulary.lexicon,
            adding=has_pieces,
            # merged where counts enter sublinearly; bigrams need the words in their order
            merging=bool(table.sublinear.any()) and not has_bigrams,
            keeping=has_bigrams and not has_pieces,
        )
        self.merger = TermMerger(Bigrams.of(table.vocabulary, tokenizer)) if has_bigrams else None
        self.rows = native.unseen_rows(np.zeros(0, np.uint8), np.zeros(1, np.int64))
        self.n_rows = 0

    def score(self, batch: Batch, decisions: NDArray[np.float64]) -> None:
        """Write the scores of a batch of the counter."""
        self._add_unseen()
        merged = self.merger.merge(batch) if self.merger else batch
        self.native.score(0, len(batch.lengths), merged, self.rows, decisions)
        if self.counter.n_new > MAX_UNSEEN:
            self.counter.forget_new_words()
            self.n_rows = 0
            if self.merger:
                self.merger.forget_unseen()

    def _add_unseen(self) -> None:
        """Make the rows of words that the counter has met since the last batch."""
        n_new = self.counter.n_new - self.n_rows
        if not n_new:
            return
        text, offsets, symbols = self.counter.new_words(self.counter.n_known + self.n_rows)
        if self.counter.n_new > len(self.rows.values):  # twice as many as needed: one text at a time adds a few
            more = 2 * self.counter.n_new - self.n_rows
            self.rows = self.rows._replace(
                weights=np.concatenate([self.rows.weights, np.zeros((more, self.rows.weights.shape[1]), np.float32)]),
                values=np.concatenate([self.rows.values, np.zeros((more, self.rows.values.shape[1]), np.float32)]),
            )
        new = self.native.unseen_rows(text, offsets)
        self.rows.weights[self.n_rows : self.counter.n_new] = new.weights
        self.rows.values[self.n_rows : self.counter.n_new] = new.values
        self.n_rows = self.counter.n_new
        if self.merger:
            self.merger.add_unseen(symbols)


def _readonly(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as compiled code expects it, whether it is mapped from a file or was just made."""
    found = np.ascontiguousarray(array).view()
    found.setflags(write=False)
    return found
