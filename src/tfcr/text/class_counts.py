"""Counts by class: how often each word occurs in each class, by occurrences and by documents.

Counts of two parts of a corpus add up to the counts of the whole, so that files larger than memory, shards and a
cluster need nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError, shown
from tfcr.system.lazy import lazy_module
from tfcr.system.parameters import MIN_COUNT, Parameter, number, zero_or
from tfcr.text.documents import CountedDocuments, check_texts, count_checked
from tfcr.text.label_sets import AnyLabels, LabelSets, NumberedLabels, find_label_sets
from tfcr.text.labels import LabelError, label_array
from tfcr.text.tokenizers import DEFAULT_TOKENIZER, AnyTokenizer, Tokenizer, resolve_tokenizer

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = lazy_module("scipy.sparse")

LEAST_WEIGHT, MOST_WEIGHT = 1e-9, 1e9
"""Weights of documents and classes lie between these, or are 0: with others, sums and solvers lose all precision."""

MAX_DENSE = 1 << 24
"""Words times classes up to which counts are added up in an array of all of them."""

MIN_WAITING = 1 << 20
"""Entries of sparse counts that wait at least before they are added up."""

Floats = NDArray[np.floating[Any]]
Labels = NDArray[Any]
"""Labels as users give them: text, integers, floats or booleans."""


class Sums(Protocol):
    """Documents that lie elsewhere, and add up their counts there."""

    def __len__(self) -> int:
        """Return the number of documents."""

    def class_counts(
        self, labels: tuple[Labels, NDArray[Any]] | LabelSets, weights: NDArray[np.float64]
    ) -> ClassCounts:
        """Add up the counts of words by class."""


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How often each word occurs in each class, by occurrences and by documents.

    Totals over all documents are stored separately from sums over classes: the complement of a class is the documents
    without it, whether or not documents have several labels.

    Attributes
    ----------
    words
        Sorted, n_words of them.
    classes
        Sorted labels, of the type they were given in, n_classes of them.
    occurrences, documents
        Sparse float64 of shape (n_words, n_classes): occurrences of the word in the class, and documents of the
        class that hold it. (Floats, because documents may carry weights; whole numbers stay exact.)
    word_occurrences, word_documents
        The same over all documents; (n_words,).
    class_occurrences, class_documents
        All word occurrences of each class, and its documents; (n_classes,).
    n_occurrences, n_documents
        Those of the whole corpus.
    tokenizer
        The name of the tokeniser, which must be the same for all parts of a sum; None if it is unknown, or a user's.

    Examples
    --------
    >>> counts = ClassCounts.from_texts(["good good film", "bad film"], ["pos", "neg"])
    >>> counts.words, counts.classes.tolist()
    (['bad', 'film', 'good'], ['neg', 'pos'])
    >>> counts.occurrences.toarray()
    array([[1., 0.],
           [1., 1.],
           [0., 2.]])
    >>> counts.documents.toarray()[2], counts.class_occurrences
    (array([0., 1.]), array([2., 3.]))
    """

    words: Sequence[str]
    classes: Labels
    occurrences: sp.csr_array
    documents: sp.csr_array
    word_occurrences: NDArray[np.float64]
    word_documents: NDArray[np.float64]
    class_occurrences: NDArray[np.float64]
    class_documents: NDArray[np.float64]
    n_occurrences: float
    n_documents: float
    tokenizer: str | None = None

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        labels: Any,
        *,
        tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
        sample_weight: Iterable[float] | None = None,
    ) -> ClassCounts:
        """Count the words of labelled texts; a text with several labels, a list of them, counts in each class."""
        checked = check_texts(texts)
        numbered = number_labels(labels, len(checked))
        weights = check_sample_weight(sample_weight, len(checked))
        used = resolve_tokenizer(tokenizer)
        counts = cls._of(count_checked(checked, used), numbered, weights)
        return replace(counts, tokenizer=used.name if isinstance(used, Tokenizer) else None)

    @classmethod
    def from_documents(
        cls, documents: CountedDocuments | Sums, labels: Any, *, sample_weight: Iterable[float] | None = None
    ) -> ClassCounts:
        """Add up the counts of labelled documents by class; bigrams are left out.

        A document of weight 2 counts as two documents, one of weight 0 as none; one with two labels in both classes.
        """
        numbered = number_labels(labels, len(documents))
        weights = check_sample_weight(sample_weight, len(documents))
        if not isinstance(documents, CountedDocuments):
            return documents.class_counts(numbered, weights)
        return cls._of(documents.only_words(), numbered, weights)

    @classmethod
    def _of(
        cls,
        documents: CountedDocuments,
        labels: tuple[Labels, NDArray[Any]] | LabelSets,
        weights: NDArray[np.float64],
    ) -> ClassCounts:
        """Add up the counts of words by class; `labels` are those of `number_labels`."""
        if isinstance(labels, LabelSets):
            return cls._of_label_sets(documents, labels, weights)
        classes, numbers = labels
        occurrences, by_document = add_by_class(documents.matrix, numbers, len(classes), weights)
        return cls(
            words=documents.vocabulary.words,
            classes=classes,
            occurrences=occurrences,
            documents=by_document,
            word_occurrences=np.asarray(occurrences.sum(axis=1), np.float64),
            word_documents=np.asarray(by_document.sum(axis=1), np.float64),
            class_occurrences=np.asarray(occurrences.sum(axis=0), np.float64),
            class_documents=np.bincount(numbers, weights, minlength=len(classes)).astype(np.float64),
            n_occurrences=float(occurrences.sum()),
            n_documents=float(weights.sum()),
        )

    @classmethod
    def _of_label_sets(cls, documents: CountedDocuments, sets: LabelSets, weights: NDArray[np.float64]) -> ClassCounts:
        """Add up the counts of documents with several labels: by class, and once over all documents."""
        classes = sp.csr_array(sets.members.astype(np.float64))
        once = sp.csr_array(sp.diags_array(weights) @ documents.matrix.astype(np.bool_).astype(np.float64)).T
        often = sp.csr_array(sp.diags_array(weights) @ documents.matrix.astype(np.float64)).T
        occurrences, in_documents = (_tidy(counts @ classes) for counts in (often, once))
        return cls(
            words=documents.vocabulary.words,
            classes=sets.classes,
            occurrences=occurrences,
            documents=in_documents,
            word_occurrences=np.asarray(often.sum(axis=1), np.float64),
            word_documents=np.asarray(once.sum(axis=1), np.float64),
            class_occurrences=np.asarray(occurrences.sum(axis=0), np.float64),
            class_documents=np.asarray(weights @ sets.members, np.float64),
            n_occurrences=float(often.sum()),
            n_documents=float(weights.sum()),
        )

    @classmethod
    def total(cls, parts: Iterable[ClassCounts]) -> ClassCounts:
        """Return the counts of several corpora together, over the union of words and classes.

        Parts are taken one after the other, so they may come from a generator. Counts of whole numbers, and so of all
        documents without weights, are the same to the last digit whatever the order of the parts.

        Examples
        --------
        >>> one = ClassCounts.from_texts(["good film"], ["pos"])
        >>> two = ClassCounts.from_texts(["bad film"], ["neg"])
        >>> ClassCounts.total([one, two]).words, ClassCounts.total([one, two]) == one + two
        (['bad', 'film', 'good'], True)
        """
        sums = _Sums()
        for part in parts:
            sums.add(part)
        return sums.counts()

    def __add__(self, other: ClassCounts) -> ClassCounts:
        """Return the counts of both corpora together, over the union of words and classes."""
        return ClassCounts.total([self, other]) if isinstance(other, ClassCounts) else NotImplemented

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the counts to a file; the same counts give the same bytes."""
        from tfcr.text.stored_counts import save_counts  # noqa: PLC0415 - it imports this module

        save_counts(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ClassCounts:
        """Return the counts that `save` wrote to a file. Nothing that it names is imported or run."""
        from tfcr.text.stored_counts import load_counts  # noqa: PLC0415 - it imports this module

        return load_counts(path)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ClassCounts):
            return NotImplemented
        return (
            list(self.words) == list(other.words)
            and np.array_equal(self.classes, other.classes)
            and abs(self.occurrences - other.occurrences).sum() == 0
            and abs(self.documents - other.documents).sum() == 0
            and np.array_equal(self.word_occurrences, other.word_occurrences)
            and np.array_equal(self.word_documents, other.word_documents)
            and np.array_equal(self.class_occurrences, other.class_occurrences)
            and np.array_equal(self.class_documents, other.class_documents)
            and (self.n_occurrences, self.n_documents) == (other.n_occurrences, other.n_documents)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"ClassCounts({len(self.words)} words, {len(self.classes)} classes, "
            f"{self.n_documents:g} documents, {self.n_occurrences:g} tokens)"
        )

    def at_least(self, min_count: float) -> ClassCounts:
        """Return the counts of the words that occur at least `min_count` times; totals stay those of all words."""
        MIN_COUNT.check(min_count)
        kept = np.flatnonzero(self.occurs(min_count))
        return self if len(kept) == len(self.words) else self.take(kept)

    def take(self, numbers: NDArray[np.int64]) -> ClassCounts:
        """Return the counts of some words, by their numbers, in ascending order; totals stay those of all words."""
        return replace(
            self,
            words=[self.words[row] for row in numbers.tolist()],
            occurrences=self.occurrences[numbers],
            documents=self.documents[numbers],
            word_occurrences=self.word_occurrences[numbers],
            word_documents=self.word_documents[numbers],
        )

    def occurs(self, min_count: float = 1) -> NDArray[np.bool_]:
        """Return which words occur at least that often; (n_words,). With 1 or less, any occurrence counts."""
        often = self.word_occurrences >= min_count * (1 - 1e-9)
        return (self.word_occurrences > 0) & (often | (min_count <= 1))


class _Sums:
    """Counts added up one part after the other.

    Words and classes are numbered as they come, and sorted once at the end::

        parts      [film good] of pos    [bad film] of neg
        numbers     0    1       0        2   0        1
        sorted     bad film good         neg pos
    """

    def __init__(self) -> None:
        self.words: dict[str, int] = {}
        self.labels: dict[Any, int] = {}
        self.classes: Labels = np.zeros(0)
        self.occurrences, self.documents = _Entries(), _Entries()
        self.of_words, self.of_classes = np.zeros((2, 0)), np.zeros((2, 0))
        self.of_all = np.zeros(2)
        self.n_parts = 0
        self.tokenizers: set[str | None] = set()

    def add(self, part: ClassCounts) -> None:
        """Add a part; raise InputError if its labels or tokeniser are of another kind than those before."""
        self.classes = unite_classes(self.classes, part.classes)
        self.tokenizers.add(part.tokenizer)
        named = sorted(name for name in self.tokenizers if name is not None)
        if len(named) > 1:
            raise InputError(
                f"found counts by the tokenizer {shown(named[0])} and by {shown(named[1])}; expected one: count both "
                "parts again with the same"
            )
        rows, columns = _numbers_of(part.words, self.words), _numbers_of(part.classes.tolist(), self.labels)
        for entries, matrix in ((self.occurrences, part.occurrences), (self.documents, part.documents)):
            entries.add(np.repeat(rows, np.diff(matrix.indptr)), columns[matrix.indices], matrix.data)
        self.of_words, self.of_classes = (
            _grown(self.of_words, len(self.words)),
            _grown(self.of_classes, len(self.labels)),
        )
        self.of_words[:, rows] += (part.word_occurrences, part.word_documents)
        self.of_classes[:, columns] += (part.class_occurrences, part.class_documents)
        self.of_all += (part.n_occurrences, part.n_documents)
        self.n_parts += 1

    def counts(self) -> ClassCounts:
        """Return the sum of all parts."""
        if not self.n_parts:
            raise InputError("found no counts to add up; expected those of one part of a corpus at least")
        words, labels = sorted(self.words), self.classes.tolist()
        rows = np.fromiter(map(self.words.__getitem__, words), np.int64, len(words))
        columns = np.fromiter(map(self.labels.__getitem__, labels), np.int64, len(labels))
        of_words, of_classes = self.of_words[:, rows], self.of_classes[:, columns]
        return ClassCounts(
            words=words,
            classes=self.classes,
            occurrences=self.occurrences.matrix(rows, columns),
            documents=self.documents.matrix(rows, columns),
            word_occurrences=of_words[0],
            word_documents=of_words[1],
            class_occurrences=of_classes[0],
            class_documents=of_classes[1],
            n_occurrences=float(self.of_all[0]),
            n_documents=float(self.of_all[1]),
            tokenizer=None if None in self.tokenizers else next(iter(self.tokenizers)),
        )


class _Entries:
    """Entries of a sparse matrix that many are added to.

    Those of the same row and column are added up whenever as many are waiting as are left of all before: memory stays
    within a few times that of the sum, and time is linear in the entries but for a logarithm.
    """

    def __init__(self) -> None:
        self.parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]] = []
        self.n_added_up = self.n_waiting = 0

    def add(self, rows: NDArray[Any], columns: NDArray[Any], values: NDArray[np.float64]) -> None:
        """Add values at some places."""
        self.parts.append((rows, columns, values))
        self.n_waiting += len(values)
        if self.n_waiting > max(self.n_added_up, MIN_WAITING):
            entries = self._sum(*self._joined()).tocoo()
            self.parts = [(entries.row, entries.col, entries.data)]
            self.n_added_up, self.n_waiting = len(entries.data), 0

    def matrix(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> sp.csr_array:
        """Return the sums, with these rows and columns in this order."""
        places = [np.empty_like(order) for order in (rows, columns)]
        for place, order in zip(places, (rows, columns), strict=True):
            place[order] = np.arange(len(order))
        old_rows, old_columns, values = self._joined()
        return self._sum(places[0][old_rows], places[1][old_columns], values, (len(rows), len(columns)))

    def _joined(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
        rows, columns, values = zip(*self.parts, strict=True)
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)

    @staticmethod
    def _sum(
        rows: NDArray[Any], columns: NDArray[Any], values: NDArray[np.float64], shape: tuple[int, int] | None = None
    ) -> sp.csr_array:
        shape = shape or (int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1)
        return _tidy(sp.coo_array((values, (rows, columns)), shape=shape))


def _numbers_of(names: Sequence[Any], known: dict[Any, int]) -> NDArray[np.int32]:
    """Return the number of each of some distinct names; those that are not known yet get the next ones."""
    names = list(names)  # packed words are decoded at once
    numbers = np.fromiter(map(known.get, names, repeat(-1)), np.int32, len(names))
    new = np.flatnonzero(numbers < 0)
    numbers[new] = np.arange(len(known), len(known) + len(new))
    known.update(zip([names[place] for place in new.tolist()], numbers[new].tolist(), strict=True))
    return numbers


def _grown(sums: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return sums, (2, n), with room for at least so many; twice as many as needed, so that this is seldom."""
    if sums.shape[1] >= size:
        return sums
    grown = np.zeros((2, 2 * size))
    grown[:, : sums.shape[1]] = sums
    return grown


def check_targets(labels: Any, n_documents: int) -> AnyLabels:
    """Return one label per text as an array, or several as LabelSets; see `check_labels` and `find_label_sets`."""
    found = find_label_sets(labels)
    return _check_length(found, n_documents) if isinstance(found, LabelSets) else check_labels(found, n_documents)


def _check_length(sets: LabelSets, n_documents: int) -> LabelSets:
    if len(sets) != n_documents:
        raise InputError(f"found {n_documents} texts and labels of {len(sets)}; expected the same number of each")
    return sets


def check_labels(labels: Iterable[Any], n_documents: int) -> Labels:
    """Return the labels as an array of one type, one label per text, that a model can be saved with."""
    if labels is None:
        raise InputError("found no labels; expected one for each text: the weights are learned from them")
    if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
        raise InputError(f"found labels={shown(labels)}; expected a list with one label for each text")
    shape = getattr(labels, "shape", (n_documents,))
    if len(shape) != 1:
        raise InputError(f"found labels of shape {shape}; expected one label for each text")
    targets: Any = labels if isinstance(labels, np.ndarray) and labels.dtype.kind != "O" else _listed(labels)
    if len(targets) != n_documents:
        raise InputError(f"found {n_documents} texts and {len(targets)} labels; expected the same number of each")
    missing = _first_missing(targets)
    if missing is not None:
        raise InputError(f"label number {missing} (counted from 0) is missing; drop rows without a label first")
    return _as_labels(targets)


def _as_labels(labels: Labels | list[Any]) -> Labels:
    """Return labels, none of them missing, as an array of one type; raise InputError."""
    try:
        return label_array(labels)
    except LabelError as error:
        remedy = ": turn them all into text with str()" if error.as_text else ""
        raise InputError(f"{error}{remedy}") from None


def number_labels(labels: Any, n_documents: int) -> tuple[Labels, NDArray[Any]] | LabelSets:
    """Check labels, and return the different ones, sorted, and the place of each label among them.

    numpy would sort all of them, and take long to make an array of many strings. Several labels per text are returned
    as LabelSets.

    Examples
    --------
    >>> number_labels(["pos", "neg", "pos"], 3)
    (array(['neg', 'pos'], dtype='<U3'), array([1, 0, 1]))
    """
    if isinstance(labels, NumberedLabels):
        return labels.classes, labels.numbers
    if isinstance(labels, list) and len(labels) == n_documents and set(map(type, labels)) == {str}:
        values = labels
        different = _as_labels(list(dict.fromkeys(values)))
    else:
        checked = check_targets(labels, n_documents)
        if isinstance(checked, LabelSets):
            return checked
        if checked.dtype.kind in "iu":
            return np.unique(checked, return_inverse=True)
        values = checked.tolist()
        different = np.array(list(dict.fromkeys(values)), dtype=checked.dtype)
    classes = np.unique(different)
    places = dict(zip(classes.tolist(), range(len(classes)), strict=True))
    return classes, np.fromiter(map(places.__getitem__, values), np.int64, len(values))


def check_sample_weight(sample_weight: Iterable[float] | None, n_documents: int) -> NDArray[np.float64]:
    """Return the weight of each document, 1 where none are given."""
    if sample_weight is None:
        return np.ones(n_documents)
    weights = _as_weights(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_documents, float(weights))
    if weights.shape != (n_documents,):
        raise InputError(f"found sample_weight of shape {weights.shape}; expected ({n_documents},)")
    if n_documents and not weights.any():
        raise InputError("found sample_weight of zero for all documents; expected some above 0")
    wrong = np.flatnonzero(~((weights == 0) | ((weights >= LEAST_WEIGHT) & (weights <= MOST_WEIGHT))))
    if len(wrong):
        weight_row(f"sample_weight[{wrong[0]}]").check(float(weights[wrong[0]]))
    return weights


def weight_row(name: str) -> Parameter:
    """Return what a weight may be.

    A million of the least weight still count as a thousandth of a document; the largest makes a document count as much
    as all others together in any corpus.
    """
    allowed = zero_or(number(name, LEAST_WEIGHT, MOST_WEIGHT))
    return replace(allowed, expected=f"{allowed.expected}: divide all weights by their mean")


def _as_weights(sample_weight: Iterable[float]) -> NDArray[np.float64]:
    """Return weights as float64; raise InputError if they are not numbers."""
    if isinstance(sample_weight, Iterable) and not hasattr(sample_weight, "__len__"):
        sample_weight = list(sample_weight)  # a generator, which numpy would take for one object
    try:
        given = np.asarray(sample_weight)
    except ValueError:
        raise InputError("found sample_weight with rows of different lengths; expected one number per text") from None
    if given.dtype.kind == "O" and not any(isinstance(weight, str | bytes) for weight in given.ravel()):
        with suppress(TypeError, ValueError, OverflowError):  # Decimal, and None among numbers
            given = given.astype(np.float64)
    if given.dtype.kind not in "biuf":
        raise InputError(
            f"found sample_weight={shown(given.ravel()[0] if given.size else sample_weight)} of type {given.dtype}; "
            "expected numbers: turn text into numbers with float()"
        )
    return given.astype(np.float64)


def unite_classes(one: Labels, two: Labels) -> Labels:
    """Return the sorted classes of both, which must be of one kind; no classes are of any."""
    if not len(one) or not len(two):
        return two if not len(one) else one
    kinds = ["text" if classes.dtype.kind in "UO" else classes.dtype.kind for classes in (one, two)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"found labels of type {one.dtype} and of type {two.dtype}; expected one type: "
            "turn the labels of both parts into text, or into numbers"
        )
    return np.unique(np.concatenate([one, two]))


def _listed(labels: Iterable[Any]) -> Labels | list[Any]:
    """Return the labels as a list, or as an array if they are a series of one plain type."""
    if hasattr(labels, "__array__") and (array := np.asarray(labels)).dtype.kind != "O":
        return array
    return list(labels)


def _first_missing(labels: Labels | list[Any]) -> int | None:
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "biuU":
        return None
    if isinstance(labels, list) and set(map(type, labels)) <= {str, int, bool}:
        return None
    return next((number for number, label in enumerate(labels) if _is_missing(label)), None)


def _is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN, or what pandas has in their place."""
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float | np.floating) and bool(np.isnan(label))


def add_by_class(
    matrix: sp.csr_array, numbers: NDArray[np.int64], n_classes: int, weights: NDArray[np.float64]
) -> tuple[sp.csr_array, sp.csr_array]:
    """Add up the counts of documents by class number: occurrences, and documents that hold each word."""
    words, sizes, counts = matrix.indices, np.diff(matrix.indptr), matrix.data
    columns, shape = np.repeat(numbers, sizes), (matrix.shape[1], n_classes)
    entry_weights = None if (weights == 1).all() else np.repeat(weights, sizes)
    add_up = _add_up_dense if shape[0] * shape[1] <= MAX_DENSE else _add_up_sparse
    by_document = add_up(words, columns, shape, entry_weights)
    if counts.dtype.kind == "f":  # a user's, which may be fractions
        occurrences = add_up(words, columns, shape, counts if entry_weights is None else counts * entry_weights)
    else:  # most words occur once in a document, so that occurrences are documents and a few more
        again = np.flatnonzero(counts > 1)
        more = counts[again] - 1.0 if entry_weights is None else (counts[again] - 1.0) * entry_weights[again]
        occurrences = by_document + _add_up_sparse(words[again], columns[again], shape, more)
    return occurrences, by_document


def _add_up_dense(
    words: NDArray[Any], numbers: NDArray[np.int64], shape: tuple[int, int], values: NDArray[Any] | None
) -> sp.csr_array:
    """Add up values, 1 if None, by word and class number; a document of weight 0 leaves no trace."""
    sums = np.bincount(words * np.int64(shape[1]) + numbers, values, shape[0] * shape[1])
    places = np.flatnonzero(sums != 0)  # quicker than of numbers
    rows, columns = np.divmod(places, shape[1])
    starts = np.zeros(shape[0] + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=shape[0]), out=starts[1:])
    return sp.csr_array((sums[places].astype(np.float64), columns.astype(np.int32), starts), shape)


def _add_up_sparse(
    words: NDArray[Any], numbers: NDArray[np.int64], shape: tuple[int, int], values: NDArray[Any] | None
) -> sp.csr_array:
    """Add up values as `_add_up_dense` does, where there are too many words and classes for an array of all."""
    added = np.ones(len(words)) if values is None else values.astype(np.float64)
    return _tidy(sp.coo_array((added, (words, numbers)), shape=shape))


def _tidy(counts: Any) -> sp.csr_array:
    """Return a sparse matrix without stored zeros, its columns in order."""
    tidy: sp.csr_array = sp.csr_array(counts)
    tidy.eliminate_zeros()
    tidy.sort_indices()
    return tidy
