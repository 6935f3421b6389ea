"""A trained model, collapsed to a table over words.

Everything before it is linear, so that each word's part in each score is known beforehand: weight × ⟨vector,
coefficients⟩. Scoring a document adds up rows of the table and divides by sums of weights; no vectors are needed.
And each word's part in a score is exact, not estimated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.features.blocks import AVERAGINGS, Block, as_floats, column_starts, sublinear_counts
from tfcr.heads.base import FittedHead
from tfcr.text.bigrams import KnownTerms
from tfcr.text.documents import CountedDocuments, check_texts, worth_compiled_code
from tfcr.text.tokenizers import AnyTokenizer, resolve_tokenizer

if TYPE_CHECKING:
    from tfcr.trained.packed_table import PackedTable

WORTH_COMPILED_CODE = 200_000
"""Words of all documents from which they are scored by compiled code; fewer are scored before it is loaded."""
CHUNK_BYTES = 1 << 26
"""About how much memory an intermediate array may take."""


class TextScores(NamedTuple):
    """Scores (n_documents, n_outputs), and the share of each text's words that is not known (n_documents,)."""

    scores: NDArray[np.float64]
    unknown_fractions: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WordTable:
    """What each word adds to each score.

    A score is its intercept plus its columns; a column is Σ_w n(w) · scores[w] over the document's words, divided
    by its divisor: Σ_w n(w) · masses[w], or as the divisor's averaging says, which may take 1 + log n. Where the
    divisor is 0, the column adds nothing. A word has weight only in classes where it occurred, so both tables are
    sparse.

    Attributes
    ----------
    words
        n_words strings.
    scores
        Sparse float32 (n_words, n_columns).
    outputs, divisors
        For each column, the output that it adds to and the divisor it is divided by; (n_columns,).
    masses
        What each word adds to each divisor; sparse float32 (n_words, n_divisors).
    averagings
        For each divisor, a name of AVERAGINGS.
    typical
        The mean of each divisor over the training documents; float32 (n_divisors,).
    frequencies
        How often each word occurs in a training document, on average; float32 (n_words,).
    intercepts
        float64 (n_outputs,).
    n_bigrams
        How many of `words`, the last ones, are pairs of neighbouring words, with a space between.
    """

    words: Sequence[str]
    scores: sp.csr_array
    outputs: NDArray[np.int64]
    divisors: NDArray[np.int64]
    masses: sp.csr_array
    averagings: tuple[str, ...]
    typical: NDArray[np.float32]
    frequencies: NDArray[np.float32]
    intercepts: NDArray[np.float64]
    n_bigrams: int = 0

    def count(self, texts: Sequence[str], tokenizer: str | AnyTokenizer) -> CountedDocuments:
        """Count the words, and pairs of words, of texts."""
        return self.known.count(check_texts(texts), resolve_tokenizer(tokenizer))

    def score_texts(self, texts: Sequence[str], tokenizer: AnyTokenizer) -> TextScores:
        """Return the scores of texts, and how much of each is not known."""
        if worth_compiled_code(tokenizer, texts):
            return TextScores(*self._packed.score_texts(texts, tokenizer))
        documents = self.count(texts, tokenizer)
        return TextScores(self.decision(documents), documents.unknown_fractions())

    def decision(self, documents: CountedDocuments, threads: int | None = None) -> NDArray[np.float64]:
        """Return the scores of documents counted over `words`; (n_documents, n_outputs)."""
        if documents.matrix.nnz >= WORTH_COMPILED_CODE:
            return self._packed.score_counted(documents, threads)
        counts = as_floats(documents.matrix)
        decisions = np.empty((counts.shape[0], len(self.intercepts)))
        rows = max(1, CHUNK_BYTES // (16 * len(self.outputs)))
        for start in range(0, len(decisions), rows):
            chunk = slice(start, start + rows)
            sums = self._sums(counts[chunk])
            divisors = self._divisors(counts[chunk], documents.lengths[chunk])[:, self.divisors]
            columns = np.divide(sums, divisors, out=np.zeros_like(sums), where=divisors > 0)
            decisions[chunk] = columns.astype(np.float64) @ self._adds_to + self.intercepts
        return decisions

    def contributions(self, counts: sp.csr_array, length: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return what each word of one document adds to each score, beside the intercepts.

        Returns
        -------
        rows
            The document's known words, by their row in the table.
        contributions
            float64 (n_rows, n_outputs).
        """
        one = counts.astype(np.float32)
        divisors = self._divisors(one, np.array([length]))[0, self.divisors].astype(np.float64)
        numbers = np.where(self._sublinear, sublinear_counts(one).data[:, None], one.data[:, None])
        sums = numbers * self.scores[one.indices].toarray().astype(np.float64)
        columns = np.divide(sums, divisors, out=np.zeros_like(sums), where=divisors > 0)
        return one.indices.astype(np.int64), columns @ self._adds_to

    def influences(self) -> NDArray[np.float64]:
        """Return how far each word moves each score over the training documents; (n_words, n_outputs).

        It is what one occurrence adds in a typical document, times the root of how often the word occurs: the spread
        of its part if it occurs at random. (The plain mean would rank "the" first, the part alone the rarest words.)
        """
        divisors = self.typical[self.divisors].astype(np.float64)
        safe = np.where(divisors > 0, divisors, 1)
        return np.asarray(self.scores @ (self._adds_to / safe[:, None])) * np.sqrt(self.frequencies)[:, None]

    def _divisors(self, counts: sp.csr_array, lengths: NDArray[Any]) -> NDArray[np.float32]:
        divisors = np.empty((counts.shape[0], len(self.averagings)), np.float32)
        for name in set(self.averagings):
            averaging = AVERAGINGS[name]
            numbers = np.flatnonzero(np.array(self.averagings) == name)
            divisors[:, numbers] = averaging.divisors(averaging.counts(counts), self.masses[:, numbers], lengths)
        return divisors

    def _sums(self, counts: sp.csr_array) -> NDArray[np.float32]:
        """Return the columns before they are divided; (n_documents, n_columns)."""
        if not self._sublinear.any():
            return np.asarray((counts @ self.scores).toarray())
        sums = np.empty((counts.shape[0], len(self.outputs)), np.float32)
        for numbers, columns in ((counts, ~self._sublinear), (sublinear_counts(counts), self._sublinear)):
            sums[:, columns] = (numbers @ self.scores[:, columns]).toarray()
        return sums

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again, when models are copied to other processes."""
        made = "known", "_packed", "_adds_to", "_sublinear"
        return {key: value for key, value in self.__dict__.items() if key not in made}

    @cached_property
    def known(self) -> KnownTerms:
        """The words as they are looked up."""
        return KnownTerms(self.words, self.n_bigrams)

    @cached_property
    def _packed(self) -> "PackedTable":
        from tfcr.trained.packed_table import pack  # noqa: PLC0415 - numba loads slowly, and small jobs need none

        parts = self.scores, self.outputs, self.divisors, self.masses, self.averagings
        return pack(self.words, *parts, self.intercepts, self.frequencies, self.n_bigrams)

    @cached_property
    def _sublinear(self) -> NDArray[np.bool_]:
        """Whether counts enter a column sublinear; (n_columns,)."""
        return np.array([AVERAGINGS[name].sublinear for name in self.averagings])[self.divisors]

    @cached_property
    def _adds_to(self) -> NDArray[np.float64]:
        """1 where a column adds to an output; (n_columns, n_outputs)."""
        return np.eye(len(self.intercepts))[self.outputs]


def collapse(
    documents: CountedDocuments, sample_weight: NDArray[np.float64], blocks: Sequence[Block], fitted: FittedHead
) -> WordTable:
    """Multiply weights, vectors and coefficients into one table.

    An average by weights is centred in the table itself: each word's part is how far its vector leads away from the
    average training document, and the intercept is that document's score; a block that averages nothing is taken for
    the average one, and adds nothing. A sum or an average by length cannot be centred so: it is left to the intercept.
    """
    n_words, n_outputs = len(documents.words), len(fitted.intercepts)
    intercepts = fitted.intercepts.copy()
    scores, masses = _Columns(n_words), _Columns(n_words)
    for block, start in zip(blocks, column_starts(blocks), strict=False):
        seen = list(range(n_outputs)) if block.output is None else [block.output]
        coefficients = fitted.coefficients[start : start + block.dimensions, seen]
        offsets = fitted.means[start : start + block.dimensions] @ coefficients
        along = coefficients if block.vectors is None else block.vectors @ coefficients.astype(np.float32)
        centred = block.averaging == "weights"
        mass = AVERAGINGS[block.averaging].masses(block.weights)
        divisor = masses.add(_divisor_key(block), mass, once=True)
        for number, output in enumerate(seen):
            values = block.weights * (along[:, number] - (offsets[number] if centred else 0))
            scores.add((output, divisor), values)
        if not centred:
            intercepts[seen] -= offsets
    table = WordTable(
        words=documents.words,
        scores=scores.matrix(),
        outputs=np.array([output for output, _ in scores.numbers]),
        divisors=np.array([divisor for _, divisor in scores.numbers]),
        masses=masses.matrix(),
        averagings=tuple(averaging for averaging, _ in masses.numbers),
        typical=np.zeros(len(masses.numbers), np.float32),
        frequencies=_mean_rows(documents.matrix, sample_weight),
        intercepts=intercepts,
        n_bigrams=documents.n_bigrams,
    )
    divisors = table._divisors(as_floats(documents.matrix), documents.lengths)
    return replace(table, typical=np.average(divisors, axis=0, weights=sample_weight).astype(np.float32))


def _divisor_key(block: Block) -> tuple[str, int]:
    """Return what blocks with the same divisor have in common: the averaging and, if it uses them, the weights."""
    return block.averaging, id(block.weights) if AVERAGINGS[block.averaging].weights else 0


def _mean_rows(matrix: sp.csr_array, sample_weight: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.asarray((matrix.T @ sample_weight) / sample_weight.sum(), np.float32)


class _Columns:
    """A sparse matrix in the making: columns by a key, values of the same key added up."""

    def __init__(self, n_words: int) -> None:
        self.n_words = n_words
        self.numbers: dict[Any, int] = {}
        self.rows: list[NDArray[np.int64]] = []
        self.columns: list[NDArray[np.int64]] = []
        self.values: list[NDArray[np.float32]] = []

    def add(self, key: Any, values: NDArray[Any], *, once: bool = False) -> int:
        """Add values to the column of that key (`once`: only if it is new), and return its number."""
        new = key not in self.numbers
        number = self.numbers.setdefault(key, len(self.numbers))
        if new or not once:
            rows = np.flatnonzero(values)
            self.rows.append(rows)
            self.columns.append(np.full(len(rows), number))
            self.values.append(values[rows].astype(np.float32))
        return number

    def matrix(self) -> sp.csr_array:
        entries = (np.concatenate(self.values), (np.concatenate(self.rows), np.concatenate(self.columns)))
        return sp.coo_array(entries, shape=(self.n_words, len(self.numbers))).tocsr()
