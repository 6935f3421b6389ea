"""Documents counted in shards, so that they need not fit into memory, nor be counted in one place.

A shard holds some documents, counted over its own words; texts are not kept. The vocabulary is the union of all
shards' words, sorted, so that it does not depend on how documents were divided. A piece is a shard over the vocabulary:
its columns are the terms that it holds, and `places` are their numbers in the vocabulary::

    shard 0   words ["bad", "good"]    rows over 2 columns         places [0, 1]
    shard 1   words ["good", "so"]     rows over 2 columns         places [1, 2]
    vocabulary      ["bad", "good", "so"]

Everything that training asks of all documents is a sum over pieces, each added at its places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.system.array_codec import Arrays
from tfcr.system.lazy import lazy_module
from tfcr.system.packed_strings import decode_some, encode_words, hash_packed, sort_words, take_packed
from tfcr.system.places import ByPiece, Kept, Places
from tfcr.text.class_counts import ClassCounts, Labels, add_by_class
from tfcr.text.documents import CountedDocuments, count_terms
from tfcr.text.label_sets import LabelSets
from tfcr.text.tokenizers import AnyTokenizer
from tfcr.text.vocabulary import NO_BIGRAMS, Vocabulary

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = lazy_module("scipy.sparse")

SHARD_CHARACTERS = 1 << 25
"""Characters of text that make a shard: some ten thousand to a hundred thousand documents."""
SHARD_DOCUMENTS = 1 << 16
"""Documents that make a shard, if they are short."""
LEAST_DOCUMENTS = 2
"""Bigrams that fewer documents hold are no terms."""
WORD_BYTES, WORDS_UNITED = 180, 1 << 17
"""Memory that each different word takes while those of all shards are united; and how many have room in any case."""
WORDS_HELD = 1 << 26
"""Bytes up to which the hashes of all shards' words are held while these are united; if there are more, they are
computed twice."""
WORDS_DECODED = 1 << 16
"""Words that are decoded at once: it takes 24 bytes for each byte of them."""
KEYS_TOGETHER = 1 << 22
"""Bigrams of all shards that are counted together."""


def count_shard(texts: list[str], tokenizer: str | AnyTokenizer, *, bigrams: bool) -> Arrays:
    """Return a shard: documents counted over their own words, and all bigrams of these."""
    documents = count_terms(texts, tokenizer, bigrams=bigrams, least_documents=1)
    matrix = documents.matrix
    text, offsets = encode_words(documents.vocabulary.words)
    largest = int(matrix.data.max(initial=0))
    return {
        "words.text": text,
        "words.offsets": offsets,
        "bigrams": np.asarray(documents.vocabulary.bigrams, np.int32),
        "frequencies": documents.document_frequencies().astype(np.int32),
        "sizes": np.diff(matrix.indptr).astype(np.int32),
        "terms": matrix.indices.astype(np.int32, copy=False),
        "counts": matrix.data.astype(np.min_scalar_type(largest)),
        "lengths": documents.lengths.astype(np.int32),
    }


@dataclass(frozen=True)
class Piece:
    """The documents of a shard over a vocabulary.

    Attributes
    ----------
    matrix
        Counts, int32 (n_documents, n_columns).
    lengths
        All tokens of each document; (n_documents,).
    places
        The number of each column in the vocabulary, ascending; (n_columns,).
    """

    matrix: sp.csr_array
    lengths: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, arrays: Arrays, n_terms: int | None = None) -> Piece:
        """Return the piece that arrays hold; only with terms below `n_terms`, if given."""
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(arrays["sizes"], dtype=np.int64)])
        starts = starts.astype(np.int32) if starts[-1] < 1 << 31 else starts
        places = arrays["places"].astype(np.int64)
        shape = len(arrays["sizes"]), len(places)
        matrix = sp.csr_array((arrays["counts"].astype(np.int32), arrays["terms"], starts), shape)
        piece = cls(matrix, arrays["lengths"].astype(np.int64), places)
        return piece if n_terms is None else piece.below(n_terms)

    def __len__(self) -> int:
        return len(self.lengths)

    def below(self, n_terms: int) -> Piece:
        """Return the same documents without terms from number `n_terms` on."""
        columns = int(np.searchsorted(self.places, n_terms))
        if columns == len(self.places):
            return self
        return Piece(_columns_below(self.matrix, columns), self.lengths, self.places[:columns])

    def rows(self, rows: NDArray[np.int64]) -> Piece:
        """Return some of the documents."""
        return Piece(self.matrix[rows], self.lengths[rows], self.places)


def _columns_below(matrix: sp.csr_array, columns: int) -> sp.csr_array:
    """Return the first columns of a matrix; scipy's own slice takes three times as long."""
    kept = matrix.indices < columns
    counted = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
    starts = counted[matrix.indptr].astype(matrix.indptr.dtype)
    return sp.csr_array((matrix.data[kept], matrix.indices[kept], starts), (matrix.shape[0], columns))


@dataclass(frozen=True)
class ShardedDocuments:
    """Documents in shards, over one vocabulary; CountedDocuments that lie elsewhere.

    Attributes
    ----------
    places
        Where the pieces lie, and work on them is done.
    pieces
        The pieces.
    vocabulary
        The terms.
    bounds
        The number of the first document of each piece, and of all documents.
    lengths
        All tokens of each document; (n_documents,).
    """

    places: Places
    pieces: Kept
    vocabulary: Vocabulary
    bounds: NDArray[np.int64]
    lengths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.lengths)

    def only_words(self) -> ShardedDocuments:
        """Return the same documents without counts of bigrams."""
        words = self.vocabulary.only_words()
        return self if words is self.vocabulary else replace(self, vocabulary=words)

    def map(self, work: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Yield ``work(piece, *arguments)`` for each piece, in order; see `Places.map`."""
        return self.places.map(_with_piece, work, len(self.vocabulary), self.pieces, *arguments)

    def transform(self, work: Callable[..., Any], *arguments: Any) -> Kept:
        """Keep ``work(piece, *arguments)`` for each piece; see `Places.transform`."""
        return self.places.transform(_with_piece, work, len(self.vocabulary), self.pieces, *arguments)

    def by_piece(self, values: NDArray[Any]) -> ByPiece:
        """Return an array with a row for each document, cut into the rows of each piece."""
        return ByPiece(np.split(values, self.bounds[1:-1]))

    def document_frequencies(self) -> NDArray[np.int64]:
        """Return the number of documents that hold each term; (n_terms,)."""
        return self._frequencies[: len(self.vocabulary)]

    @cached_property
    def _frequencies(self) -> NDArray[np.int64]:
        found = np.zeros(len(self.vocabulary), np.int64)
        for places, counted in self.map(_frequencies_of):
            found[places] += counted
        return found

    def occurrences(self) -> NDArray[np.float64]:
        """Return how often each term occurs; (n_terms,)."""
        return self.weighted_sums(np.ones(len(self)))

    def weighted_sums(self, sample_weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how often each term occurs, each document times its weight; (n_terms,)."""
        found = np.zeros(len(self.vocabulary))
        for places, counted in self.map(_weighted_sums_of, self.by_piece(sample_weight)):
            found[places] += counted
        return found

    def content_keys(self, random: np.random.Generator) -> NDArray[np.int64]:
        """Return a hash of the counts of each document, the same in whatever shard it is; (n_documents,)."""
        numbers = random.integers(1 << 62, size=len(self.vocabulary))
        return np.concatenate([np.zeros(0, np.int64), *self.map(_keys_of, numbers)])

    def rows(self, rows: NDArray[np.int64]) -> CountedDocuments:
        """Return some of the documents, given by ascending numbers, in memory."""
        cuts = np.searchsorted(rows, self.bounds)
        asked = [rows[start:end] - first for start, end, first in zip(cuts, cuts[1:], self.bounds, strict=False)]
        found = list(self.map(_rows_of, ByPiece(asked)))
        indices = np.concatenate([np.zeros(0, np.int32), *(terms for terms, _, _ in found)])
        data = np.concatenate([np.zeros(0, np.int32), *(counts for _, counts, _ in found)])
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([sizes for _, _, sizes in found]))])
        starts = starts.astype(np.int32) if starts[-1] < 1 << 31 else starts
        matrix = sp.csr_array((data, indices, starts), (len(rows), len(self.vocabulary)))
        return CountedDocuments(self.vocabulary, matrix, self.lengths[rows].astype(np.int64))

    def over_words(self, kept: NDArray[np.bool_]) -> ShardedDocuments:
        """Return the documents over some of their words, and the bigrams of these; see CountedDocuments."""
        common = kept[self.vocabulary.bigrams].all(axis=1)
        terms = np.flatnonzero(np.concatenate([kept, common]))
        return self if len(terms) == len(self.vocabulary) else self.take(terms)

    def take(self, terms: NDArray[np.int64]) -> ShardedDocuments:
        """Return the documents over some of their terms, in ascending order."""
        numbers = np.full(len(self.vocabulary), -1, np.int64)
        numbers[terms] = np.arange(len(terms))
        pieces = self.transform(_renumbered, numbers)
        return replace(self, pieces=pieces, vocabulary=self.vocabulary.take(terms))

    def class_counts(
        self, labels: tuple[Labels, NDArray[Any]] | LabelSets, weights: NDArray[np.float64]
    ) -> ClassCounts:
        """Add up the counts of words by class, as `ClassCounts.from_documents` does."""
        words = self.only_words()
        if isinstance(labels, LabelSets):
            classes, members = labels.classes, labels.members
        else:
            classes, members = labels
        totals = _ClassTotals(len(words.vocabulary), len(classes))
        given = self.by_piece(members), len(classes), self.by_piece(weights)
        for places, occurrences, in_documents, of_words in words.map(_class_sums_of, *given):
            totals.add(places, occurrences, in_documents, of_words)
        return totals.class_counts(words.vocabulary.words, classes, members, weights)


Documents = CountedDocuments | ShardedDocuments
"""Counted documents, in memory or in shards."""


def in_memory(documents: Documents) -> CountedDocuments:
    """Return documents that must be in memory: those of a sample, or of a corpus that is not in shards."""
    if isinstance(documents, ShardedDocuments):
        raise TypeError("found documents in shards; expected them in memory")
    return documents


def _with_piece(work: Callable[..., Any], n_terms: int, arrays: Arrays, *arguments: Any) -> Any:
    """Do some work on a piece."""
    return work(Piece.of(arrays, n_terms), *arguments)


def _frequencies_of(piece: Piece) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return piece.places, np.bincount(piece.matrix.indices, minlength=len(piece.places))


def _weighted_sums_of(piece: Piece, weights: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    sizes = np.diff(piece.matrix.indptr)
    values = piece.matrix.data * np.repeat(weights, sizes)
    return piece.places, np.bincount(piece.matrix.indices, values, len(piece.places)).astype(np.float64)


def _keys_of(piece: Piece, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(piece.matrix @ numbers[piece.places], np.int64)


def _rows_of(piece: Piece, rows: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return the terms and counts of some documents, and how many terms each has."""
    some = piece.matrix[rows]
    terms = piece.places.astype(np.int32)[some.indices]
    return terms, np.asarray(some.data, np.int32), np.diff(some.indptr).astype(np.int64)


def _renumbered(piece: Piece, numbers: NDArray[np.int64]) -> Arrays:
    """Return a piece over other terms, given by the new number of each, -1 if it is left out."""
    places = numbers[piece.places]
    return _piece_over(piece.matrix, piece.lengths, places)


def _piece_over(matrix: sp.csr_array, lengths: NDArray[Any], places: NDArray[np.int64]) -> Arrays:
    """Return the arrays of a piece whose columns have these places, ascending; -1 for columns that are left out."""
    kept = places >= 0
    columns = np.cumsum(kept) - 1
    entries = kept[matrix.indices]
    counted = np.concatenate([np.zeros(1, np.int64), np.cumsum(entries)])
    return {
        "sizes": np.diff(counted[matrix.indptr]).astype(np.int32),
        "terms": columns[matrix.indices[entries]].astype(np.int32),
        "counts": matrix.data[entries],
        "lengths": lengths,
        "places": places[kept].astype(np.int32),
    }


# class counts --------------------------------------------------------------------------------------------------------


def _class_sums_of(
    piece: Piece, members: NDArray[Any], n_classes: int, weights: NDArray[np.float64]
) -> tuple[Any, ...]:
    """Return sums by word and class: occurrences and documents; and of several labels, both over all documents."""
    if members.ndim == 1:
        return piece.places, *add_by_class(piece.matrix, members, n_classes, weights), None
    classes = sp.csr_array(members.astype(np.float64))
    scaled = sp.diags_array(weights)
    once = sp.csr_array(scaled @ piece.matrix.astype(np.bool_).astype(np.float64)).T
    often = sp.csr_array(scaled @ piece.matrix.astype(np.float64)).T
    of_words = np.stack([np.asarray(some.sum(axis=1), np.float64) for some in (often, once)])
    return piece.places, sp.csr_array(often @ classes), sp.csr_array(once @ classes), of_words


class _ClassTotals:
    """Sums over shards, by word and class."""

    def __init__(self, n_words: int, n_classes: int) -> None:
        self.shape = n_words, n_classes
        self.occurrences, self.documents = _SparseTotal(self.shape), _SparseTotal(self.shape)
        self.of_words: NDArray[np.float64] | None = None

    def add(self, places: NDArray[np.int64], occurrences: Any, documents: Any, of_words: Any) -> None:
        self.occurrences.add(places, occurrences)
        self.documents.add(places, documents)
        if of_words is not None:
            if self.of_words is None:
                self.of_words = np.zeros((2, self.shape[0]))
            self.of_words[:, places] += of_words

    def class_counts(
        self, words: Sequence[str], classes: Labels, members: NDArray[Any], weights: NDArray[np.float64]
    ) -> ClassCounts:
        occurrences, documents = self.occurrences.total(), self.documents.total()
        of_words = self.of_words
        if of_words is None:
            of_words = np.stack([np.asarray(some.sum(axis=1), np.float64) for some in (occurrences, documents)])
            class_documents = np.bincount(members, weights, minlength=len(classes)).astype(np.float64)
        else:
            class_documents = np.asarray(weights @ members, np.float64)
        return ClassCounts(
            words=words,
            classes=classes,
            occurrences=occurrences,
            documents=documents,
            word_occurrences=of_words[0],
            word_documents=of_words[1],
            class_occurrences=np.asarray(occurrences.sum(axis=0), np.float64),
            class_documents=class_documents,
            n_occurrences=float(of_words[0].sum()),
            n_documents=float(weights.sum()),
        )


class _SparseTotal:
    """A sum of sparse matrices, each with some of the rows; of many, pairs of about the same size are added first."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        self.parts: list[tuple[int, sp.csr_array]] = []

    def add(self, places: NDArray[np.int64], rows: sp.csr_array) -> None:
        sizes = np.zeros(self.shape[0] + 1, np.int64)
        sizes[places + 1] = np.diff(rows.indptr)
        level, part = 0, sp.csr_array((rows.data, rows.indices, np.cumsum(sizes)), self.shape)
        while self.parts and self.parts[-1][0] == level:
            part = self.parts.pop()[1] + part
            level += 1
        self.parts.append((level, part))

    def total(self) -> sp.csr_array:
        total = sp.csr_array(self.shape, dtype=np.float64)
        for _, part in reversed(self.parts):
            total = total + part
        total.eliminate_zeros()
        total.sort_indices()
        return total


# from shards to documents over one vocabulary ------------------------------------------------------------------------


@dataclass(frozen=True)
class United:
    """Shards over one vocabulary, and what was left out of it.

    `least_documents` is how many documents hold each term at the least; more than 1 if not all terms have room. Then,
    `n_terms` may be fewer than there are: see `_frequent_words`.
    """

    documents: ShardedDocuments
    n_terms: int
    least_documents: int


@dataclass(frozen=True)
class TermRoom:
    """Memory for terms: a term takes `each` bytes, and `by_document` for each of its first `documents` documents.

    >>> TermRoom(bytes=1000, each=100, by_document=10, documents=3).of(np.array([1, 2, 50]))
    array([110, 120, 130])
    """

    bytes: int
    each: int
    by_document: int = 0
    documents: int = 0

    def of(self, frequencies: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what terms take that so many documents hold."""
        return self.each + self.by_document * np.minimum(frequencies, self.documents)


def unite(places: Places, shards: Kept, *, room: TermRoom | None = None) -> United:
    """Return the documents of shards over the union of their words, and the bigrams that two documents hold.

    Where terms take more than their room, those that the fewest documents hold are left out: terms in fewer than
    m documents, with the least m that leaves few enough. That depends on the documents only, not on their shards,
    unless all different words take more memory than that, too: then m may be a little larger.
    """
    most, dropped = None if room is None else max(WORDS_UNITED, room.bytes // WORD_BYTES), 0
    known = _united_words(places, shards, most)
    if known is None and most is not None:
        frequent, dropped = _frequent_words(places, shards, most)
        shards = places.transform(_over_words, shards, frequent)
        known = _united_words(places, shards)
    words, places_of, frequencies = known or ([], [], np.zeros(0, np.int64))
    of_shards = list(places.map(_lengths_of, shards))
    lengths = np.concatenate([np.zeros(0, np.int32), *(some for some, _ in of_shards)])
    bounds = np.cumsum([0, *(len(some) for some, _ in of_shards)])
    any_bigrams = any(n_bigrams for _, n_bigrams in of_shards)
    keys, of_bigrams, n_bigrams, least = _common_keys(
        places, shards if any_bigrams else None, places_of, frequencies, room
    )
    n_terms, least = len(words) + n_bigrams, max(least, dropped + 1)
    kept_words, kept_keys = frequencies >= least, of_bigrams >= least
    kept_keys &= kept_words[keys // max(1, len(words))] & kept_words[keys % max(1, len(words))]
    new_numbers = np.where(kept_words, np.cumsum(kept_words) - 1, -1).astype(np.int32)
    bigrams = np.stack(np.divmod(keys[kept_keys], max(1, len(words))), axis=1) if len(keys) else NO_BIGRAMS
    vocabulary = Vocabulary([words[number] for number in np.flatnonzero(kept_words).tolist()], new_numbers[bigrams])
    pieces = places.transform(_make_piece, shards, ByPiece(places_of), new_numbers, keys[kept_keys], vocabulary.n_words)
    if dropped:
        places.drop(shards)
    return United(ShardedDocuments(places, pieces, vocabulary, bounds, lengths), n_terms, least)


def _united_words(
    places: Places, shards: Kept, most: int | None = None
) -> tuple[list[str], list[NDArray[np.int32]], NDArray[np.int64]] | None:
    """Return the words of all shards, sorted, the numbers of each shard's words, and the documents that hold each.

    None if there are more than `most`.
    """
    union = _Union()
    held: list[_Hashes] = []
    size = 0
    for some, text, offsets in places.map(_words_of, shards):  # of one shard after the other: all would not fit
        union.add(some, text, offsets)
        size += sum(array.nbytes for array in some)
        held = [*held, some] if size <= WORDS_HELD else []
        if most is not None and len(union) > most:
            return None
    words, places_by_hash = union.words()
    frequencies = np.zeros(len(words), np.int64)
    places_of = []
    for some in held if len(held) == len(shards) else places.map(_hashes_of, shards):
        at = np.empty(len(some.hashes), np.int32)
        at[some.order] = places_by_hash[np.searchsorted(union.hashes, some.hashes)]
        frequencies[at] += some.frequencies
        places_of.append(at)
    return words, places_of, frequencies


class _Union:
    """Words that come shard by shard, each of them once: sorted hashes, and the number of each hash's packed word.

    If the hash of `so` is the smallest and that of `bad` the largest, the shards [bad, good] and [good, so] give::

        packed    good, bad     then so       new words of each shard, in the order of their hashes
        hashes    of good, bad  then of so, good, bad
        numbers   0, 1          then 2, 0, 1
    """

    def __init__(self) -> None:
        self.hashes, self.numbers = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        self._packed: list[tuple[NDArray[np.uint8], NDArray[np.int64]]] = []

    def __len__(self) -> int:
        return len(self.hashes)

    def add(self, some: _Hashes, text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
        """Add the words of a shard."""
        at = np.searchsorted(self.hashes, some.hashes)  # in order, which takes a fifth of the time
        known = at < len(self)
        known[known] = self.hashes[at[known]] == some.hashes[known]
        new = np.flatnonzero(~known)
        self._packed.append(take_packed(text, offsets, some.order[new]))
        self.numbers = np.insert(self.numbers, at[new], len(self) + np.arange(len(new)))
        self.hashes = np.insert(self.hashes, at[new], some.hashes[new])

    def words(self) -> tuple[list[str], NDArray[np.int32]]:
        """Return all words, sorted, and the place of each hash's word among them."""
        text = np.concatenate([np.zeros(0, np.uint8), *(text for text, _ in self._packed)])
        offsets = np.cumsum(np.concatenate([np.zeros(1, np.int64), *(np.diff(starts) for _, starts in self._packed)]))
        self._packed.clear()  # both would take twice the memory
        order = sort_words(text, offsets)
        places = np.empty(len(order), np.int32)
        places[order] = np.arange(len(order), dtype=np.int32)
        words: list[str] = []
        for start in range(0, len(order), WORDS_DECODED):
            words += decode_some(text, offsets, order[start : start + WORDS_DECODED])
        return words, places[self.numbers]


def _frequent_words(places: Places, shards: Kept, most: int) -> tuple[NDArray[np.uint64], int]:
    """Return hashes of at most so many words, and a number m of documents: all words in more than m are among them.

    This is lossy counting (Manku and Motwani, 2002): where there are too many words, those that may be in no more than
    m documents are dropped, and m rises. A word that comes back is counted as if it had been in m documents before::

        shard 0   a: 3  b: 1  c: 1     at most 2 words: m becomes 1, b and c are dropped
        shard 1   a: 4  b: 2           b was in 1 document, and may have been in m more
    """
    counted: dict[int, int] = {}
    dropped = 0
    for some in places.map(_hashes_of, shards):
        for key, frequency in zip(some.hashes.tolist(), some.frequencies[some.order].tolist(), strict=True):
            counted[key] = counted.get(key, dropped) + frequency
        if len(counted) > most:
            numbers = np.fromiter(counted.values(), np.int64, len(counted))
            dropped = int(np.partition(numbers, len(numbers) - most // 2 - 1)[len(numbers) - most // 2 - 1])
            counted = {key: number for key, number in counted.items() if number > dropped}
    return np.sort(np.fromiter(counted, np.uint64, len(counted))), dropped


def _over_words(shard: Arrays, frequent: NDArray[np.uint64]) -> Arrays:
    """Return a shard with some of its words, by their sorted hashes, and the bigrams of these."""
    kept = np.isin(hash_packed(shard["words.text"], shard["words.offsets"]), frequent)
    numbers = np.cumsum(kept) - 1
    both = kept[shard["bigrams"]].all(axis=1)
    of_terms = np.concatenate([kept, both])
    columns = np.cumsum(of_terms) - 1
    entries = of_terms[shard["terms"]]
    counted = np.concatenate([np.zeros(1, np.int64), np.cumsum(entries)])
    ends = np.cumsum(shard["sizes"], dtype=np.int64)
    text, offsets = take_packed(shard["words.text"], shard["words.offsets"], np.flatnonzero(kept))
    return {
        "words.text": text,
        "words.offsets": offsets,
        "bigrams": numbers[shard["bigrams"][both]].astype(np.int32),
        "frequencies": shard["frequencies"][of_terms],
        "sizes": (counted[ends] - counted[ends - shard["sizes"]]).astype(np.int32),
        "terms": columns[shard["terms"][entries]].astype(np.int32),
        "counts": shard["counts"][entries],
        "lengths": shard["lengths"],
    }


class _Hashes(NamedTuple):
    """The words of a shard: their hashes, sorted; the number of each hash's word; and, by number, the documents."""

    hashes: NDArray[np.uint64]
    order: NDArray[np.int32]
    frequencies: NDArray[np.int32]


def _hashes_of(shard: Arrays) -> _Hashes:
    text, offsets = shard["words.text"], shard["words.offsets"]
    hashes = hash_packed(text, offsets)
    order = np.argsort(hashes).astype(np.int32)
    return _Hashes(hashes[order], order, shard["frequencies"][: len(offsets) - 1])


def _words_of(shard: Arrays) -> tuple[_Hashes, NDArray[np.uint8], NDArray[np.int64]]:
    """Return the words of a shard, also packed."""
    return _hashes_of(shard), shard["words.text"], shard["words.offsets"]


def _lengths_of(shard: Arrays) -> tuple[NDArray[np.int32], int]:
    """Return the tokens of each document, and the number of bigrams."""
    return shard["lengths"], len(shard["bigrams"])


def _least_documents(frequencies: NDArray[np.int64], room: TermRoom | None) -> int:
    """Return the least m such that there is room for all terms in m documents or more."""
    if room is None or room.of(frequencies).sum() <= room.bytes:
        return 1
    numbers, n_terms = np.unique(frequencies, return_counts=True)
    together = np.cumsum((n_terms * room.of(numbers))[::-1])[::-1]  # what terms in so many documents or more take
    fitting = numbers[together <= room.bytes]
    return int(fitting[0]) if len(fitting) else int(numbers[-1]) + 1


def _keys_between(
    shard: Arrays, places: NDArray[np.int32], n_words: int, first: int, last: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the bigrams of a shard whose first word has a number from `first` to `last`, as keys, and documents."""
    keys, counted = _keys_of_shard(shard, places, n_words), shard["frequencies"][len(places) :]
    start, end = np.searchsorted(keys, [first * n_words, last * n_words])
    return keys[start:end].copy(), counted[start:end].copy()  # or all bigrams of the shard would stay in memory


def _keys_of_shard(shard: Arrays, places: NDArray[np.int32], n_words: int) -> NDArray[np.int64]:
    """Return the bigrams of a shard as numbers, first word · n_words + second; they ascend, as words do."""
    pairs = places.astype(np.int64)[shard["bigrams"]]
    return pairs[:, 0] * n_words + pairs[:, 1]


def _bigrams_by_word(shard: Arrays, places: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the numbers of words that begin a bigram, and how many each begins."""
    first, sizes = np.unique(shard["bigrams"][:, 0], return_counts=True)
    return places[first], sizes


def _common_keys(
    places: Places,
    shards: Kept | None,
    places_of: Sequence[NDArray[np.int32]],
    frequencies: NDArray[np.int64],
    room: TermRoom | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, int]:
    """Return the bigrams that there is room for beside the words, and in how many documents terms are at the least.

    Bigrams are counted for some first words after the others, so that those of all shards need not fit into memory. The
    more terms there are, the more documents must hold one: what has no room among those found so far has none in the
    end, and is not held. `shards` is None if they have no bigrams.

    Returns
    -------
    keys, frequencies
        The bigrams as ascending keys, and how many documents hold each.
    n_found
        The number of bigrams that two documents hold, whether or not there is room for them.
    least
        In how many documents terms must be, words included.
    """
    n_words = len(frequencies)
    keys, counted, n_found = np.zeros(0, np.int64), np.zeros(0, np.int64), 0
    least = _least_documents(frequencies, room)
    if shards is None:
        return keys, counted, n_found, least
    sizes = np.zeros(n_words, np.int64)
    for at, many in places.map(_bigrams_by_word, shards, ByPiece(places_of)):
        sizes[at] += many
    cuts = np.searchsorted(np.cumsum(sizes), np.arange(0, sizes.sum(), KEYS_TOGETHER), side="right")
    bounds = np.unique([0, *cuts.tolist(), n_words])
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        parts = list(places.map(_keys_between, shards, ByPiece(places_of), n_words, first, last))
        more, inverse = np.unique(np.concatenate([some for some, _ in parts]), return_inverse=True)
        of_more = np.bincount(inverse, np.concatenate([some for _, some in parts]), len(more)).astype(np.int64)
        n_found += int(np.count_nonzero(of_more >= LEAST_DOCUMENTS))
        common = of_more >= max(least, LEAST_DOCUMENTS)
        keys, counted = np.concatenate([keys, more[common]]), np.concatenate([counted, of_more[common]])
        least = max(least, _least_documents(np.concatenate([frequencies[frequencies >= least], counted]), room))
        kept = counted >= least
        keys, counted = keys[kept], counted[kept]
    return keys, counted, n_found, least


def _make_piece(
    shard: Arrays,
    places: NDArray[np.int32],
    new_numbers: NDArray[np.int32],
    kept_keys: NDArray[np.int64],
    n_kept: int,
) -> Arrays:
    """Return a shard over the vocabulary: `n_kept` words, then the bigrams of some keys.

    `places` are those of the shard's words among all words, and `new_numbers` what these have in the vocabulary.
    """
    of_bigrams = np.zeros(0, np.int64)
    if len(shard["bigrams"]):
        keys = _keys_of_shard(shard, places, len(new_numbers))
        at = np.searchsorted(kept_keys, keys)
        of_bigrams = np.where(np.append(kept_keys, -1)[at] == keys, n_kept + at, -1)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(shard["sizes"], dtype=np.int64)])
    shape = len(shard["sizes"]), len(shard["frequencies"])
    matrix = sp.csr_array((shard["counts"], shard["terms"], starts), shape)
    return _piece_over(matrix, shard["lengths"], np.concatenate([new_numbers[places], of_bigrams]))
