"""A trained model collapsed to a table over terms.

Everything before it is linear, so that what each term adds to each score is known in advance: weight × ⟨vector,
coefficients⟩. Scoring a document adds up rows of the table and divides by sums of weights; no vectors are needed. The
contribution of each term is exact, not estimated.

A word that training never saw gets a row of the same form, the sum of the rows of its pieces: its character n-grams, or
the sub-words of its vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.features.blocks import AVERAGINGS, as_floats, sublinear_counts
from tfcr.system.lazy import lazy_module
from tfcr.text.documents import CountedDocuments, check_texts, count_terms, worth_native_code
from tfcr.text.pieces import Pieces
from tfcr.text.tokenizers import AnyTokenizer
from tfcr.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import scipy.sparse as sp

    from tfcr.trained.packed_table import PackedTable
else:
    sp = lazy_module("scipy.sparse")

MIN_NATIVE_ENTRIES = 200_000
"""Counts of all documents below which they are scored by scipy, sooner than compiled code is loaded."""
MAX_DENSE = 1 << 22
"""Values of an array up to which it is dense: products with it are faster."""
CHUNK_BYTES = 1 << 26
"""About how much memory an intermediate array may take."""


class TextScores(NamedTuple):
    """Scores (n_documents, n_outputs), and the fraction of each text's tokens that are unknown (n_documents,)."""

    scores: NDArray[np.float64]
    unknown_fractions: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PieceTable:
    """What each piece of an unseen word adds to some columns and a divisor of a word table.

    Attributes
    ----------
    pieces
        The pieces of the rows.
    scores
        float32 (n_pieces, n_scores).
    columns
        The columns of the word table that the scores add to; (n_scores,).
    divisor
        The divisor that they add to.
    divisor_weights
        float32 (n_pieces,).
    """

    pieces: Pieces
    scores: NDArray[np.float32]
    columns: NDArray[np.int64]
    divisor: int
    divisor_weights: NDArray[np.float32]


class Rows(NamedTuple):
    """Rows of a word table: scores, sparse (n_rows, n_columns), and divisor weights, sparse (n_rows, n_divisors)."""

    scores: sp.csr_array
    divisor_weights: sp.csr_array


@dataclass(frozen=True, eq=False)
class WordTable:
    """What each term adds to each score.

    A score is its intercept plus its columns. A column is Σ_t n(t) · scores[t] over the document's terms, divided by
    its divisor: Σ_t n(t) · divisor_weights[t], or as the divisor's averaging says, which may take 1 + log n for n. A
    column whose divisor is 0 adds nothing. A word has weight only in classes where it occurred, so both tables are
    sparse.

    Worked example, with one output, two columns and two divisors:

        term    scores           divisor_weights      "good good film": sums     (2 · .6 + .1, .5)  = (1.3, .5)
        good    .6    0          2     0                                divisors (2 · 2 + 1, 1)     = (5, 1)
        film    .1   .5          1     1                                score    1.3 / 5 + .5 / 1 + intercept

    Attributes
    ----------
    vocabulary
        The terms of the rows.
    scores
        Sparse float32 (n_terms, n_columns).
    outputs, divisors
        For each column, the output that it adds to and the divisor that divides it; (n_columns,).
    divisor_weights
        What each term adds to each divisor; sparse float32 (n_terms, n_divisors).
    averagings
        For each divisor, a name of AVERAGINGS.
    typical
        The mean of each divisor over the training documents; float32 (n_divisors,).
    frequencies
        The mean count of each term in a training document; float32 (n_terms,).
    intercepts
        float64 (n_outputs,).
    pieces
        What unseen words are scored from; none in a model whose parts do not see them.
    """

    vocabulary: Vocabulary
    scores: sp.csr_array
    outputs: NDArray[np.int64]
    divisors: NDArray[np.int64]
    divisor_weights: sp.csr_array
    averagings: tuple[str, ...]
    typical: NDArray[np.float32]
    frequencies: NDArray[np.float32]
    intercepts: NDArray[np.float64]
    pieces: tuple[PieceTable, ...] = ()

    def score_texts(self, texts: Iterable[str], tokenizer: AnyTokenizer) -> TextScores:
        """Return the scores of texts, and the fraction of unknown tokens."""
        checked = check_texts(texts)
        if worth_native_code(tokenizer, checked):
            return TextScores(*self._packed.score_texts(checked, tokenizer))
        documents = self.count(checked, tokenizer)
        return TextScores(self.decision(documents), documents.unknown_fractions())

    def count(self, texts: Iterable[str], tokenizer: AnyTokenizer) -> CountedDocuments:
        """Count the terms of texts; unseen words too, if they can be scored."""
        return count_terms(texts, tokenizer, self.vocabulary, unseen=bool(self.pieces))

    def recount(self, documents: CountedDocuments) -> CountedDocuments:
        """Return documents that are counted over another vocabulary as `count` would count them."""
        return documents.over(self.vocabulary, unseen=bool(self.pieces))

    def decision(self, documents: CountedDocuments, threads: int | None = None) -> NDArray[np.float64]:
        """Return the scores of documents counted over `vocabulary`, unseen words or not; (n_documents, n_outputs)."""
        if documents.matrix.nnz >= MIN_NATIVE_ENTRIES:
            return self._packed.score_counted(documents, threads)
        counts, rows = self._occurring(documents)
        decisions = np.empty((counts.shape[0], len(self.intercepts)))
        size = max(1, CHUNK_BYTES // (16 * len(self.outputs)))
        for start in range(0, len(decisions), size):
            chunk = slice(start, start + size)
            sums = self._sums(counts[chunk], rows)
            divisors = self._divisors(counts[chunk], rows, documents.lengths[chunk])[:, self.divisors]
            columns = np.zeros(sums.shape)  # float64, as in compiled code: a small divisor gives large numbers
            np.divide(sums, divisors, out=columns, where=divisors > 0, dtype=np.float64)
            decisions[chunk] = columns @ self._adds_to + self.intercepts
        return decisions

    def contributions(self, document: CountedDocuments) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return what each term of one document adds to each score.

        Returns
        -------
        terms
            The numbers of the document's terms, in the order of its counts.
        contributions
            float64 (n_terms_of_document, n_outputs); with the intercepts, they add up to the scores.
        """
        one, rows = self._occurring(document)
        # the same division as in a score, term by term instead of for their sum
        divisors = self._divisors(one, rows, document.lengths)[0, self.divisors].astype(np.float64)
        numbers = np.where(self._sublinear, sublinear_counts(one).data[:, None], one.data[:, None])
        sums = numbers * rows.scores[one.indices].toarray().astype(np.float64)
        columns = np.divide(sums, divisors, out=np.zeros_like(sums), where=divisors > 0)
        return document.matrix.indices.astype(np.int64), np.asarray(columns @ self._adds_to)

    def unseen_rows(self, words: Sequence[str]) -> Rows:
        """Return the rows of words that are not in the table: the sums of the rows of their pieces."""
        scores = np.zeros((len(words), len(self.outputs)), np.float32)
        divisor_weights = np.zeros((len(words), len(self.averagings)), np.float32)
        for table in self.pieces:
            cut = table.pieces.matrix(words)
            scores[:, table.columns] += cut @ table.scores
            divisor_weights[:, table.divisor] += cut @ table.divisor_weights
        return Rows(sp.csr_array(scores), sp.csr_array(divisor_weights))

    def _occurring(self, documents: CountedDocuments) -> tuple[sp.csr_array, Rows]:
        """Return the documents counted over the terms that occur in them, and the rows of these.

        A table has some hundred thousand rows, and a few texts need some hundred of them.
        """
        counts = as_floats(documents.matrix)
        terms, places = np.unique(counts.indices, return_inverse=True)
        known = terms[terms < len(self.vocabulary)]
        rows = Rows(self.scores[known], self.divisor_weights[known])
        if len(known) < len(terms):
            unseen = self.unseen_rows([documents.vocabulary.name(term) for term in terms[len(known) :].tolist()])
            rows = Rows(*(sp.csr_array(sp.vstack(both)) for both in zip(rows, unseen, strict=True)))
        return sp.csr_array((counts.data, places, counts.indptr), (counts.shape[0], len(terms))), rows

    def influences(self) -> NDArray[np.float64]:
        """Return how far each term moves each score over the training documents; (n_terms, n_outputs).

        It is what one occurrence adds in a typical document, times the root of the term's frequency: the standard
        deviation of its contribution if it occurs at random. (The mean contribution would rank "the" first, that of one
        occurrence the rarest words.)
        """
        divisors = self.typical[self.divisors].astype(np.float64)
        safe = np.where(divisors > 0, divisors, 1)
        if sp.issparse(self._adds_to):
            added = (self.scores @ (sp.diags_array(1 / safe) @ self._adds_to)).toarray()
        else:
            added = self.scores @ (self._adds_to / safe[:, None])
        return np.asarray(added) * np.sqrt(self.frequencies)[:, None]

    def _divisors(self, counts: sp.csr_array, rows: Rows, lengths: NDArray[Any]) -> NDArray[np.float32]:
        """Return the divisors of documents counted over some rows; (n_documents, n_divisors)."""
        divisors = np.empty((counts.shape[0], len(self.averagings)), np.float32)
        for name in set(self.averagings):
            averaging = AVERAGINGS[name]
            numbers = np.flatnonzero(np.array(self.averagings) == name)
            divisors[:, numbers] = averaging.divisors(
                averaging.counts(counts), rows.divisor_weights[:, numbers], lengths
            )
        return divisors

    def _sums(self, counts: sp.csr_array, rows: Rows) -> NDArray[np.float32]:
        """Return the columns before division, of documents counted over some rows; (n_documents, n_columns)."""
        if not self._sublinear.any():
            return np.asarray((counts @ rows.scores).toarray())
        sums = np.empty((counts.shape[0], len(self.outputs)), np.float32)
        for numbers, columns in ((counts, ~self._sublinear), (sublinear_counts(counts), self._sublinear)):
            sums[:, columns] = (numbers @ rows.scores[:, columns]).toarray()
        return sums

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be derived, when models are copied to other processes."""
        derived = "_packed", "_adds_to", "_sublinear"
        return {key: value for key, value in self.__dict__.items() if key not in derived}

    @cached_property
    def _packed(self) -> PackedTable:
        from tfcr.trained.packed_table import pack  # noqa: PLC0415 - numba loads slowly, and small jobs need none

        return pack(self)

    @cached_property
    def _sublinear(self) -> NDArray[np.bool_]:
        """Whether counts enter a column sublinearly; (n_columns,)."""
        return np.array([AVERAGINGS[name].sublinear for name in self.averagings])[self.divisors]

    @cached_property
    def _adds_to(self) -> NDArray[np.float64] | sp.csr_array:
        """1 where a column adds to an output; (n_columns, n_outputs).

        With one block per class there are n_classes² columns, and of a dense array n_classes³ values: if they are many,
        it is sparse.
        """
        n_columns, n_outputs = len(self.outputs), len(self.intercepts)
        if n_columns * n_outputs <= MAX_DENSE:
            return np.eye(n_outputs)[self.outputs]
        ones = np.ones(n_columns), self.outputs, np.arange(n_columns + 1)
        return sp.csr_array(ones, shape=(n_columns, n_outputs))
