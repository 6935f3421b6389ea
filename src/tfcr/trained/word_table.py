"""A trained model collapsed to a table over terms.

Everything before it is linear, so that what each term adds to each score is known in advance: weight × ⟨vector,
coefficients⟩. Scoring a document adds up rows of the table and divides by sums of weights; no vectors are needed. The
contribution of each term is exact, not estimated.

A word that training never saw gets a row of the same form, the sum of the rows of its pieces: its character n-grams, or
the sub-words of its vector.

A **group** is a divisor and the columns that it divides; a column adds to one output. A term's row has a stretch for
each group that it adds to: a number, the place of its scale among those of the group, and then a value for each column.
A value times the scale is what the term adds. In a small table values are float32 and each scale is 1; in a large one
values are int8 (see `trained.rounding`).

    group 0 divides the columns a and b, group 1 divides c        scales of group 0: 1, .5    of group 1: 1, .25

    row      0  6  2   1  3      the scale 1 of group 0: a 6, b 2; the scale .25 of group 1: c .75
    weights  2  1                what it adds to the two divisors

Groups that most words add to stand side by side in one array over all words, those of most bigrams in one over all
bigrams. All other stretches are **entries**, term after term: a word has weight only in classes where it occurred.
Plain numpy (here) and compiled code (`trained.native_scores`) read the same arrays, and a model's file has no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.features.blocks import AVERAGINGS
from tfcr.kernels.layout import ENTRY, VALUE
from tfcr.system.files import kernels_are_cached
from tfcr.system.lazy import lazy_module, native_is_available
from tfcr.text.documents import MIN_NATIVE_CHARACTERS, CountedDocuments, check_texts, worth_native_code
from tfcr.text.pieces import Pieces
from tfcr.text.terms import Batch, find_terms
from tfcr.text.tokenizers import AnyTokenizer
from tfcr.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import scipy.sparse as sp

    from tfcr.trained.native_scores import NativeTable
else:
    sp = lazy_module("scipy.sparse")

MIN_NATIVE_ENTRIES = 200_000
"""Counts of all documents below which they are scored by numpy, sooner than compiled code is loaded."""
CHARACTERS_PER_TEXT = 1_000
"""About how many characters numpy could score in the time that a call for one text takes however short it is."""
CHUNK_ENTRIES = 1 << 16
"""Counts that numpy scores together."""
CHUNK_BYTES = 1 << 26
"""About how much memory the columns of some documents may take."""

Values = NDArray[Any]
"""int8 or float32."""


class TextScores(NamedTuple):
    """Scores (n_documents, n_outputs), and the fraction of each text's tokens that are unknown (n_documents,)."""

    scores: NDArray[np.float64]
    unknown_fractions: NDArray[np.float64]


class Rows(NamedTuple):
    """Rows that all have a stretch for the same groups.

    Attributes
    ----------
    groups
        The groups, in the order of their stretches; int32 (n_groups,).
    weights
        What each row adds to their divisors; float32 (n_rows, n_groups).
    values
        The stretches side by side, each with the number of its scale first; (n_rows, n_groups + n_columns).
    """

    groups: NDArray[np.int32]
    weights: NDArray[np.float32]
    values: Values


class Entries(NamedTuple):
    """Single stretches, term after term.

    Attributes
    ----------
    places
        The first ENTRY and the first VALUE of each term; uint32 (n_terms + 1, 2), where terms after the last that has
        an entry are left out.
    groups
        The group of each entry; uint16 (n_entries,).
    weights
        What it adds to the divisor; float32 (n_entries,).
    values
        The stretches one after the other; (n_values,).
    """

    places: NDArray[np.uint32]
    groups: NDArray[np.uint16]
    weights: NDArray[np.float32]
    values: Values


@dataclass(frozen=True, eq=False)
class PieceTable:
    """What each piece of an unseen word adds to a group, whose counts are sublinear.

    Attributes
    ----------
    pieces
        The pieces of the rows.
    rows
        A stretch for that one group.
    """

    pieces: Pieces
    rows: Rows

    @property
    def group(self) -> int:
        """The group that the pieces add to."""
        return int(self.rows.groups[0])


@dataclass(frozen=True, eq=False)
class WordTable:
    """What each term adds to each score.

    A score is its intercept plus its columns. A column is Σ_t n(t) · value(t) over the document's terms, divided by the
    divisor of its group: Σ_t n(t) · weight(t), or as the group's averaging says, which may take 1 + log n for n. A
    column whose divisor is 0 adds nothing.

    Worked example, with one output and two groups of one column each:

        term    values       weights        "good good film": sums     (2 · .6 + .1, .5)  = (1.3, .5)
        good    .6    0      2     0                         divisors (2 · 2 + 1, 1)     = (5, 1)
        film    .1   .5      1     1                         score    1.3 / 5 + .5 / 1 + intercept

    Attributes
    ----------
    vocabulary
        The terms: words, then bigrams, common ones first, so that what is read most lies close together.
    words, bigrams
        The rows of all words, and of all bigrams.
    entries
        What terms add to other groups.
    scales
        float32 (n_groups, n_scales).
    starts
        The first column of each group, and the end; int32 (n_groups + 1,).
    outputs
        The output that each column adds to; int32 (n_columns,).
    averagings
        For each group, a name of AVERAGINGS.
    typical
        The mean of each divisor over the training documents; float32 (n_groups,).
    deviations
        The root of the mean count of each term in a training document, which is the standard deviation of its count if
        it occurs at random; float32 or float16 (n_terms,).
    intercepts
        float64 (n_outputs,).
    pieces
        What unseen words are scored from; none in a model whose parts do not see them.
    """

    vocabulary: Vocabulary
    words: Rows
    bigrams: Rows
    entries: Entries
    scales: NDArray[np.float32]
    starts: NDArray[np.int32]
    outputs: NDArray[np.int32]
    averagings: tuple[str, ...]
    typical: NDArray[np.float32]
    deviations: NDArray[Any]
    intercepts: NDArray[np.float64]
    pieces: tuple[PieceTable, ...] = ()

    # scoring -------------------------------------------------------------------------------------------------------

    def score_texts(self, texts: Iterable[str], tokenizer: AnyTokenizer, threads: int | None = None) -> TextScores:
        """Return the scores of texts, and the fraction of unknown tokens; compiled code takes so many threads."""
        checked = check_texts(texts)
        if worth_native_code(tokenizer, checked, ready=self._native_is_ready):
            return TextScores(*self.native.score_texts(checked, tokenizer, threads))
        scored = sum(map(len, checked)) + CHARACTERS_PER_TEXT * len(checked)
        self.__dict__["_scored"] = self.__dict__.get("_scored", 0) + scored
        found = find_terms(checked, tokenizer, self.vocabulary, unseen=bool(self.pieces))
        lengths = found.batch.lengths
        unknown = 1 - np.divide(found.known, lengths, out=np.ones(len(lengths)), where=lengths > 0)
        return TextScores(self.score_batch(found.batch, self.unseen_rows(found.unseen)), unknown)

    def count(self, texts: Iterable[str], tokenizer: AnyTokenizer) -> CountedDocuments:
        """Count the terms of texts; unseen words too, if they can be scored."""
        found = find_terms(check_texts(texts), tokenizer, self.vocabulary, unseen=bool(self.pieces))
        batch = found.batch
        vocabulary = self.vocabulary.with_unseen(found.unseen) if found.unseen else self.vocabulary
        matrix = sp.csr_array((batch.counts, batch.words, batch.starts), (len(batch.lengths), len(vocabulary)))
        return CountedDocuments(vocabulary, matrix, batch.lengths)

    def recount(self, documents: CountedDocuments) -> CountedDocuments:
        """Return documents that are counted over another vocabulary as `count` would count them."""
        return documents.over(self.vocabulary, unseen=bool(self.pieces))

    def decision(self, documents: CountedDocuments, threads: int | None = None) -> NDArray[np.float64]:
        """Return the scores of documents counted over `vocabulary`, unseen words or not; (n_documents, n_outputs)."""
        if documents.matrix.nnz >= MIN_NATIVE_ENTRIES and native_is_available():
            return self.native.score_counted(documents, threads)
        return self.score_batch(batch_of(documents), self.unseen_rows(documents.vocabulary.unseen))

    def load_native(self, tokenizer: AnyTokenizer) -> None:
        """Load compiled code now, if it is there and knows the tokeniser: for programs that score for long."""
        if worth_native_code(tokenizer, (), ready=native_is_available()):
            self.native.score_texts([""], tokenizer)

    @property
    def native(self) -> NativeTable:
        """The table as compiled code reads it."""
        if "_native" not in self.__dict__:
            from tfcr.trained.native_scores import NativeTable  # noqa: PLC0415 - numba loads slowly, small jobs need none

            self.__dict__["_native"] = NativeTable(self)
        found: NativeTable = self.__dict__["_native"]
        return found

    @property
    def _native_is_ready(self) -> bool:
        """Whether compiled code may score any text, however short.

        It may if it has scored texts by this table before; or if it is in the cache, and so many characters have been
        scored one text after the other that it would have paid to load it.
        """
        if "_native" in self.__dict__ and self.native.is_ready:
            return True
        has_paid = self.__dict__.get("_scored", 0) >= MIN_NATIVE_CHARACTERS // 2
        return has_paid and native_is_available() and kernels_are_cached("score_documents")

    def contributions(self, batch: Batch, unseen: Rows) -> NDArray[np.float64]:
        """Return what each term of documents adds to each of their scores.

        Parameters
        ----------
        batch
            The terms of the documents.
        unseen
            The rows of those from the end of the vocabulary on.

        Returns
        -------
        contributions
            float64 (n_entries, n_outputs), of each term of each document; with the intercepts, those of a document add
            up to its scores.
        """
        divisors = self._divisors(self._sums(batch, unseen)[1], batch.lengths)
        factors = np.divide(1, divisors, out=np.zeros_like(divisors), where=divisors > 0)
        documents = batch.documents()
        added = np.zeros((len(batch.words), len(self.intercepts)))
        # the same division as in a score, term by term instead of for their sum
        for part in self._parts(batch, unseen):
            for number, (group, values, columns) in enumerate(part.slices):
                scaled = part.values[:, values] * part.times[:, [number]]
                added[part.at[:, None], self.outputs[columns]] += scaled * factors[documents[part.at], group][:, None]
        for entry in self._entries_of(batch):
            divided = entry.values * factors[documents[entry.at], entry.groups]
            np.add.at(added, (entry.at, self.outputs[entry.columns]), divided)
        return added

    def _divisors(self, totals: NDArray[np.float64], lengths: NDArray[Any]) -> NDArray[np.float64]:
        """Return the divisors of documents, from their sums of weights; (n_documents, n_groups)."""
        by_weights, by_length, one = self._factors
        roots = np.where(self.sublinear, np.sqrt(np.maximum(totals, 0)), totals)
        return np.asarray(by_weights * roots + by_length * lengths[:, None] + one)

    def unseen_rows(self, words: Sequence[str]) -> Rows:
        """Return the rows of words that are not in the table: the sums of the rows of their pieces."""
        return self._sum_pieces(words) if len(words) else self._no_unseen

    @cached_property
    def _no_unseen(self) -> Rows:
        return self._sum_pieces(())

    def _sum_pieces(self, words: Sequence[str]) -> Rows:
        groups = np.array([table.group for table in self.pieces], np.int32)
        values, weights = [np.zeros((len(words), 0))], [np.zeros((len(words), 0))]
        for table in self.pieces:
            numbers, starts = table.pieces.cut(words)
            of_words = np.repeat(np.arange(len(words)), np.diff(starts))
            stretches = table.rows.values[numbers]
            scaled = stretches[:, 1:] * self.scales_of(table.group, stretches[:, 0]).astype(np.float64)[:, None]
            values += [np.zeros((len(words), 1)), _added_up(scaled, of_words, len(words))]
            weights.append(_added_up(table.rows.weights[numbers].astype(np.float64), of_words, len(words)))
        as_floats = [np.concatenate(some, axis=1).astype(np.float32) for some in (weights, values)]
        return Rows(groups, *as_floats)

    def influences(self) -> NDArray[np.float64]:
        """Return how far each term moves each score over the training documents; (n_terms, n_outputs).

        It is what one occurrence adds in a typical document, times the root of the term's frequency: the standard
        deviation of its contribution if it occurs at random. (The mean contribution would rank "the" first, that of one
        occurrence the rarest words.)
        """
        factors = np.where(self.typical > 0, 1 / np.where(self.typical > 0, self.typical, 1), 1).astype(np.float64)
        added = np.zeros((len(self.vocabulary), len(self.intercepts)))
        for first, rows in ((0, self.words), (self.vocabulary.n_words, self.bigrams)):
            for group, stretch in zip(rows.groups.tolist(), self.stretch_slices(rows), strict=True):
                values = rows.values[:, stretch]
                scale = self.scales_of(group, values[:, 0]) * factors[group]
                outputs = self.outputs[self.starts[group] : self.starts[group + 1]]
                added[first : first + len(values), outputs] += values[:, 1:] * scale[:, None]
        one_each = np.arange(len(self.entries.places) - 1, dtype=np.int32)
        ones = np.ones_like(one_each)
        for entry in self._entries_of(Batch(np.array([0, len(ones)]), one_each, ones, np.array([1]))):
            np.add.at(added, (entry.at, self.outputs[entry.columns]), entry.values * factors[entry.groups])
        return added * self.deviations.astype(np.float64)[:, None]

    # the parts of the table ----------------------------------------------------------------------------------------

    @property
    def n_groups(self) -> int:
        """The number of divisors."""
        return len(self.averagings)

    def stretch_slices(self, rows: Rows) -> list[slice]:
        """Return where the stretch of each group of some rows is: the number of its scale, and its values."""
        ends = np.cumsum(1 + self.widths[rows.groups])
        return [slice(end - 1 - self.widths[group], end) for end, group in zip(ends, rows.groups, strict=True)]

    @cached_property
    def widths(self) -> NDArray[np.int64]:
        """The number of columns of each group."""
        return np.diff(self.starts).astype(np.int64)

    @cached_property
    def _factors(self) -> NDArray[np.float64]:
        """What the weights, the length and 1 are multiplied by in each divisor; (3, n_groups)."""
        return np.array([AVERAGINGS[name][:3] for name in self.averagings], np.float64).T

    @cached_property
    def sublinear(self) -> NDArray[np.bool_]:
        """Whether counts enter each group sublinearly; (n_groups,)."""
        return np.array([AVERAGINGS[name].sublinear for name in self.averagings], np.bool_)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be derived, when models are copied to other processes."""
        derived = (
            "_native",
            "_scored",
            "_narrow",
            "_no_unseen",
            "widths",
            "sublinear",
            "_by_output",
            "_factors",
            "_slices",
        )
        return {key: value for key, value in self.__dict__.items() if key not in derived}

    # plain scoring -------------------------------------------------------------------------------------------------

    def score_batch(self, batch: Batch, unseen: Rows) -> NDArray[np.float64]:
        """Return the scores of documents by numpy, some documents at a time; (n_documents, n_outputs)."""
        decisions = np.empty((len(batch.lengths), len(self.intercepts)))
        most = max(1, CHUNK_BYTES // (16 * len(self.outputs)))
        first = 0
        while first < len(decisions):
            last = int(np.searchsorted(batch.starts, batch.starts[first] + CHUNK_ENTRIES, "right")) - 1
            last = min(max(last, first + 1), first + most, len(decisions))
            some = slice(batch.starts[first], batch.starts[last])
            starts = batch.starts[first : last + 1] - batch.starts[first]
            part = Batch(starts, batch.words[some], batch.counts[some], batch.lengths[first:last])
            decisions[first:last] = self._divide(*self._sums(part, unseen), part.lengths)
            first = last
        return decisions

    def _sums(self, batch: Batch, unseen: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the columns of documents before division, and their sums of weights."""
        size = len(batch.lengths)
        documents = np.zeros(len(batch.words), np.int64) if size == 1 else batch.documents()
        sums, totals = np.zeros((size, len(self.outputs))), np.zeros((size, self.n_groups))
        for part in self._parts(batch, unseen):
            of_rows = documents[part.at]
            totals[:, part.groups] += _added_up(part.weights, of_rows, size)
            for number, (_, values, columns) in enumerate(part.slices):
                times = part.times[:, number]
                if size == 1:
                    sums[0, columns] += times @ part.values[:, values]
                else:
                    sums[:, columns] += _added_up(part.values[:, values] * times[:, None], of_rows, size)
        for entry in self._entries_of(batch):
            of_values, of_entries = documents[entry.at], documents[entry.terms]
            flat = np.bincount(of_values * sums.shape[1] + entry.columns, entry.values, sums.size)
            sums += flat.reshape(sums.shape)
            flat = np.bincount(of_entries * self.n_groups + entry.term_groups, entry.weights, totals.size)
            totals += flat.reshape(totals.shape)
        return sums, totals

    def _divide(
        self, sums: NDArray[np.float64], totals: NDArray[np.float64], lengths: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Divide the columns of documents and add them up by output."""
        divisors = self._divisors(totals, lengths)
        factors = np.divide(1, divisors, out=np.zeros_like(divisors), where=divisors > 0)
        columns = sums * np.repeat(factors, self.widths, axis=1)
        order, outputs, firsts = self._by_output
        decisions = np.tile(self.intercepts, (len(sums), 1))
        decisions[:, outputs] += np.add.reduceat(columns[:, order], firsts, axis=1)
        return decisions

    @cached_property
    def _by_output(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """The columns in the order of their outputs, the outputs, and the first column of each in that order."""
        order = np.argsort(self.outputs, kind="stable")
        outputs, firsts = np.unique(self.outputs[order], return_index=True)
        return order, outputs, firsts

    def _parts(self, batch: Batch, unseen: Rows) -> Iterator[_Part]:
        """Yield what words, bigrams and unseen words of documents add to the groups that they have rows for."""
        counts = batch.counts.astype(np.float64)
        roots = _sublinear(counts)
        last = 0
        for rows, size in (
            (self.words, self.vocabulary.n_words),
            (self.bigrams, len(self.vocabulary.bigrams)),
            (unseen, len(unseen.values)),
        ):
            first, last = last, last + size
            at = ((batch.words >= first) & (batch.words < last)).nonzero()[0]
            if not len(at) or not len(rows.groups):
                continue
            numbers = batch.words[at] - first
            values = rows.values[numbers].astype(np.float64)
            is_sublinear = self.sublinear[rows.groups]
            times = np.where(is_sublinear, roots[at, None], counts[at, None])
            weights = np.where(is_sublinear, times * times, times) * rows.weights[numbers]
            slices = self._slices_of(rows)
            if rows is not unseen:
                codes = values[:, [stretch.start - 1 for _, stretch, _ in slices]]
                times = times * self.scales_of(rows.groups, codes)
            yield _Part(at, rows.groups, slices, times, values, weights)

    def _slices_of(self, rows: Rows) -> list[tuple[int, slice, slice]]:
        """Return for each group of some rows its number, where its values are, and its columns; remembered."""
        found = self._slices.get(id(rows.groups))
        if found is None:
            bounds = [(int(self.starts[group]), int(self.starts[group + 1])) for group in rows.groups]
            found = [
                (int(group), slice(stretch.start + 1, stretch.stop), slice(*columns))
                for group, stretch, columns in zip(rows.groups, self.stretch_slices(rows), bounds, strict=True)
            ]
            if rows is self.words or rows is self.bigrams:  # those of unseen words are new each time
                self._slices[id(rows.groups)] = found
        return found

    @cached_property
    def _slices(self) -> dict[int, list[tuple[int, slice, slice]]]:
        return {}

    def _entries_of(self, batch: Batch) -> Iterator[_Entries]:
        """Yield what the terms of documents add to other groups, if anything."""
        places, groups = self.entries.places, self.entries.groups
        at = np.flatnonzero(batch.words < len(places) - 1)
        terms = batch.words[at]
        sizes = places[terms + 1, ENTRY].astype(np.int64) - places[terms, ENTRY]
        if not sizes.any():
            return
        terms_of_entries = np.repeat(at, sizes)
        entries = _ranges(places[terms, ENTRY].astype(np.int64), sizes)
        of_group = groups[entries].astype(np.int64)
        stretches = self._places_of(entries, terms, sizes, of_group)
        counts = batch.counts[terms_of_entries].astype(np.float64)
        roots = _sublinear(counts)
        is_sublinear = self.sublinear[of_group]
        times = np.where(is_sublinear, roots, counts)
        scaled = times * self.scales_of(of_group, self.entries.values[stretches])
        weights = self.entries.weights[entries] * np.where(is_sublinear, times * times, times)
        if self._narrow:
            columns, values = self.starts[of_group], self.entries.values[stretches + 1] * scaled
            yield _Entries(terms_of_entries, columns, of_group, values, terms_of_entries, of_group, weights)
            return
        widths = self.widths[of_group]
        yield _Entries(
            at=np.repeat(terms_of_entries, widths),
            columns=_ranges(self.starts[of_group].astype(np.int64), widths),
            groups=np.repeat(of_group, widths),
            values=self.entries.values[_ranges(stretches + 1, widths)] * np.repeat(scaled, widths),
            terms=terms_of_entries,
            term_groups=of_group,
            weights=weights,
        )

    def _places_of(
        self,
        entries: NDArray[np.int64],
        terms: NDArray[np.int32],
        sizes: NDArray[np.int64],
        groups: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return where the stretches of entries begin, of terms with so many each."""
        places = self.entries.places
        found: NDArray[np.int64]
        if self._narrow:  # two numbers each, so that their places follow from those of the entries
            found = np.repeat(places[terms, VALUE].astype(np.int64) - 2 * places[terms, ENTRY], sizes) + 2 * entries
            return found
        # a term's stretches follow one another: the place of each is that of the term, and all before it in the term
        before = np.cumsum(1 + self.widths[groups]) - 1 - self.widths[groups]
        first_of_term = np.repeat(np.cumsum(sizes) - sizes, sizes)
        found = np.repeat(places[terms, VALUE].astype(np.int64), sizes) + before - before[first_of_term]
        return found

    @cached_property
    def _narrow(self) -> bool:
        """Whether all groups with entries have one column, as those of blocks that only their class sees."""
        return bool((self.widths[np.unique(self.entries.groups)] == 1).all())

    def scales_of(self, groups: int | NDArray[Any], codes: Values) -> NDArray[np.float32]:
        """Return the scales with these numbers; as in `kernels.scores.scale_of`, the nearest there is."""
        numbers = np.minimum(np.maximum(codes.astype(np.int64), 0), self.scales.shape[1] - 1)
        return np.asarray(self.scales[groups, numbers])


class _Part(NamedTuple):
    """What some terms of documents add to the groups that they have rows for.

    `at` are the places of the terms in their batch, (n,), and `slices` as in `WordTable._slices_of`. A value times that
    of `times`, its count and scale, is what the term adds; float64 (n, n_groups + n_columns) and (n, n_groups), like
    the `weights`, which are multiplied already.
    """

    at: NDArray[np.int64]
    groups: NDArray[np.int32]
    slices: list[tuple[int, slice, slice]]
    times: NDArray[np.float64]
    values: NDArray[np.float64]
    weights: NDArray[np.floating[Any]]


class _Entries(NamedTuple):
    """What the terms of documents add by single entries.

    `at`, `columns`, `groups` and `values` have an element per value: the place of its term in the batch, its column,
    its group, and what it adds. `terms`, `term_groups` and `weights` have one per entry.
    """

    at: NDArray[np.int64]
    columns: NDArray[np.integer[Any]]
    groups: NDArray[np.int64]
    values: NDArray[np.floating[Any]]
    terms: NDArray[np.int64]
    term_groups: NDArray[np.int64]
    weights: NDArray[np.floating[Any]]


def batch_of(documents: CountedDocuments) -> Batch:
    """Return counted documents as plain arrays."""
    matrix = documents.matrix
    return Batch(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data, documents.lengths)


def _sublinear(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 + log n for each count n; n if it is below 1."""
    return np.where(counts < 1, counts, 1 + np.log(np.maximum(counts, 1)))


def _ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of ranges one after the other.

    >>> _ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(sizes)
    return np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)


def _added_up(values: NDArray[Any], numbers: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return the sums of rows that have the same number; numbers are sorted, and below `size`."""
    if size == 1:
        return np.asarray(values.sum(axis=0, dtype=np.float64, keepdims=True))
    sums = np.zeros((size, *values.shape[1:]))
    if len(values):
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        sums[numbers[firsts]] = np.add.reduceat(values, firsts, axis=0, dtype=np.float64)
    return sums
