"""The fast path of counting: tokens found and counted in UTF-8 bytes by compiled code, on several threads.

It gives the same words, order and counts as the plain path; a text becomes bytes by the tokeniser's own `prepare`, so
that lower-casing and composing are Python's.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.system.hardware import n_threads
from tfcr.system.native import SEEN, count_documents, fill_bigram_slots, fill_slots, merge_terms
from tfcr.system.packed_strings import bigram_numbers, decode_some, encode_words, sort_words
from tfcr.text.tokenizers import ONE_TOKEN, AnyTokenizer, Tokenizer, bigrams_hold_symbols, gives_symbols, is_symbol

T = TypeVar("T", bound=np.generic)

BATCH_CHARACTERS = 1 << 20
"""Texts counted by one call of compiled code: small enough that Ctrl-C need not wait, and for the processor's cache."""


BATCH_WORDS = 1 << 17
MAX_DOCUMENTS = 1 << 30
"""After so many documents, their numbers begin anew."""
MARGIN = 8
"""Bytes that the arena has beyond its last word: compiled code reads eight at a time."""


@dataclass(frozen=True)
class CountedBytes:
    """Words, counts (n_documents, n_words) and lengths (n_documents,), as in CountedDocuments."""

    words: Sequence[str]
    matrix: sp.csr_array
    lengths: NDArray[np.int64]


def count_bytes(
    texts: Sequence[str], tokenizer: Tokenizer, vocabulary: Sequence[str] | None = None, threads: int | None = None
) -> CountedBytes:
    """Count the words of texts with a tokeniser that has a table of actions."""
    lexicon = None if vocabulary is None else Lexicon.of(vocabulary)
    counters, batches = _count_parts(lambda: ByteCounter(tokenizer, lexicon), texts, threads)
    if vocabulary is not None:
        return _joined(vocabulary, [batch for some in batches for batch in some])
    words, places = _sorted_union(counters)
    renumbered = [
        batch._replace(words=place[batch.words]) for place, some in zip(places, batches, strict=True) for batch in some
    ]
    return _joined(words, renumbered)


def number_tokens(
    texts: Sequence[str], tokenizer: Tokenizer, threads: int | None = None
) -> tuple[Sequence[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return the words, the number of every token's word, and the tokens of each document."""
    counters, batches = _count_parts(lambda: ByteCounter(tokenizer, None, merging=False), texts, threads)
    words, places = _sorted_union(counters)
    numbers = [place[batch.words] for place, some in zip(places, batches, strict=True) for batch in some]
    lengths = [batch.lengths for some in batches for batch in some]
    nothing = np.zeros(0, np.int64)
    return words, np.concatenate([nothing.astype(np.int32), *numbers]), np.concatenate([nothing, *lengths])


def find_words(words: Sequence[str], text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each word stands in a long list of different words, given by their bytes; -1 where it does not.

    The list is gone through once, and nothing of it is kept: it may be larger than memory.
    """
    places = np.full(len(words), -1, np.int64)
    counter = ByteCounter(ONE_TOKEN, Lexicon.of(words), merging=False)
    for start in range(0, len(offsets) - 1, BATCH_WORDS):
        bounds = np.asarray(offsets[start : start + BATCH_WORDS + 1])
        some = np.array(text[bounds[0] : bounds[-1]])
        some.setflags(write=False)
        batch = counter.count_bytes(some, bounds - bounds[0])
        places[batch.words] = start + np.flatnonzero(np.diff(batch.starts))
    return places


def _count_parts(
    make_counter: Callable[[], "ByteCounter"], texts: Sequence[str], threads: int | None
) -> tuple[list["ByteCounter"], list[list["Batch"]]]:
    """Count texts on several threads; return the counters and their batches, in the order of the texts."""
    parts: dict[int, tuple[ByteCounter, list[Batch]]] = {}

    def count(counter: ByteCounter, start: int, end: int) -> None:
        parts[start] = counter, [batch.copy() for batch in counter.count(texts[start:end])]

    each_part(make_counter, count, len(texts), threads)
    in_order = [parts[start] for start in sorted(parts)]
    return [counter for counter, _ in in_order], [batches for _, batches in in_order]


def each_part(
    make_counter: Callable[[], "ByteCounter"],
    work: Callable[["ByteCounter", int, int], None],
    size: int,
    threads: int | None = None,
) -> None:
    """Call ``work(counter, start, end)`` for as many parts of ``range(size)`` as there are threads, each on one."""
    workers = max(1, min(threads or n_threads(), size))
    bounds = np.linspace(0, size, workers + 1).astype(int).tolist()
    counters = [make_counter() for _ in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, counter, *part) for counter, part in zip(counters, pairwise(bounds), strict=True)]
        try:
            for future in futures:
                future.result()
        except BaseException:
            for counter in counters:
                counter.stopped = True
            raise


@dataclass(frozen=True)
class Lexicon:
    """Words as compiled code looks them up: their bytes, where each starts, and a hash table of them."""

    arena: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    slots: NDArray[np.uint64]

    @classmethod
    def of(cls, words: Sequence[str]) -> "Lexicon":
        """Make it from a list of words, which keep their numbers."""
        text, offsets = encode_words(words)
        arena = _grown(text, len(text) + MARGIN)
        return cls(arena, offsets.astype(np.int64), _slots_of(arena, offsets.astype(np.int64), 4 * len(words)))


class Batch(NamedTuple):
    """The words of some documents: entries of word and count, where each document's start, and its length."""

    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]
    lengths: NDArray[np.int64]

    def copy(self) -> "Batch":
        """Return one that stays as it is when the counter goes on."""
        return Batch(self.starts.copy(), self.words.copy(), self.counts.copy(), self.lengths.copy())


@dataclass(frozen=True)
class BigramLexicon:
    """Pairs of words as compiled code looks them up; they are the last of `n_terms`.

    `passed` tells which words they pass over, and in the last two places UNKNOWN_SYMBOL and UNKNOWN_WORD.
    """

    slots: NDArray[np.int64]
    n_terms: int
    passed: NDArray[np.bool_]

    @classmethod
    def of(cls, terms: Sequence[str], n_bigrams: int, tokenizer: AnyTokenizer) -> "BigramLexicon":
        """Make it from words and then pairs of them."""
        n_words = len(terms) - n_bigrams
        pairs = bigram_numbers(terms, n_bigrams)
        slots = np.zeros((1 << max(10, (2 * n_bigrams).bit_length()), 2), np.int64)
        fill_bigram_slots(pairs.astype(np.int32), n_words, slots)
        passed = np.array([*map(is_symbol, terms[:n_words]), True, False])
        passing = gives_symbols(tokenizer) and not bigrams_hold_symbols(terms[n_words:])
        return cls(slots, len(terms), passed & passing)


class TermMerger:
    """Counts words, and pairs of neighbouring words, from the words of documents in their order; on one thread."""

    def __init__(self, pairs: BigramLexicon) -> None:
        self.pairs = pairs
        self.last = np.full((pairs.n_terms, 2), -1, np.int32)
        self.n_documents = 0

    def merge(self, batch: Batch) -> Batch:
        """Count the terms of documents that a counter gave, keeping unknown words and merging none."""
        if self.n_documents + len(batch.lengths) > MAX_DOCUMENTS:
            self.last[:, SEEN], self.n_documents = -1, 0
        terms, counts = np.empty((2, 2 * len(batch.words)), np.int32)
        starts = np.zeros_like(batch.starts)
        merge_terms(
            batch.starts, batch.words, self.n_documents, self.pairs.passed, self.pairs.slots, self.last,
            terms, counts, starts,
        )  # fmt: skip
        self.n_documents += len(batch.lengths)
        return Batch(starts, terms[: starts[-1]], counts[: starts[-1]], batch.lengths)


class ByteCounter:
    """Counts documents on one thread; without a lexicon, its words grow from batch to batch.

    Without `merging`, a word that a document holds twice has two entries there: enough for sums, and quicker. If it is
    `keeping` unknown words, these have entries of UNKNOWN_WORD or UNKNOWN_SYMBOL.
    """

    def __init__(
        self, tokenizer: Tokenizer, lexicon: Lexicon | None, *, merging: bool = True, keeping: bool = False
    ) -> None:
        self.tokenizer = tokenizer
        self.actions = tokenizer.actions()
        self.adding = lexicon is None
        self.merging = merging
        self.keeping = keeping
        self.stopped = False
        known = Lexicon.of([]) if lexicon is None else lexicon
        self.arena, self.offsets, self.slots = known.arena, known.offsets, known.slots
        self.n_words = len(self.offsets) - 1
        self.last = np.full((self.n_words, 2), -1, np.int32)
        self.n_documents = 0
        self.entries = np.empty((2, 0), np.int32)
        self.found = np.empty(0, np.uint8)

    def count(self, texts: Sequence[str]) -> Iterator[Batch]:
        """Count texts, batch by batch; a batch is gone when the next one comes."""
        for batch in _batches(texts):
            if self.stopped:
                return
            encoded = [self.tokenizer.prepare(text).encode("utf-8", "surrogatepass") for text in batch]
            starts = np.zeros(len(encoded) + 1, np.int64)
            np.cumsum([len(text) for text in encoded], out=starts[1:])
            yield self.count_bytes(np.frombuffer(b"".join(encoded), np.uint8), starts)

    def known_tokens(self, batch: Batch) -> NDArray[np.int64]:
        """Return how many tokens of each document are known."""
        entries = np.diff(batch.starts)
        if not (self.merging or self.keeping):
            return entries
        known = np.append(np.where(batch.words >= 0, batch.counts, 0), 0)
        return np.where(entries > 0, np.add.reduceat(known, batch.starts[:-1]), 0)

    def number_words(self, other: "ByteCounter") -> NDArray[np.int32]:
        """Take in the words of another counter, and return the number of each here: a word is a text of one token."""
        text, offsets = other.known_words()
        text.setflags(write=False)  # as all texts are: compiled code is made for one kind of array
        return self.count_bytes(text, offsets).words.copy()

    def known_words(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the bytes of the words, one after the other, and where each starts; the last start is the end."""
        offsets = self.offsets[: self.n_words + 1]
        return self.arena[: offsets[-1]], offsets

    def count_bytes(self, text: NDArray[np.uint8], starts: NDArray[np.int64]) -> Batch:
        """Count texts given by their bytes, one after the other, and where each starts; the last start is the end."""
        n_documents = len(starts) - 1
        longest = int(np.diff(starts).max(initial=0))
        self._make_room(longest, len(text) + 1)
        words, counts = self.entries
        entry_starts, lengths = np.zeros(n_documents + 1, np.int64), np.empty(n_documents, np.int64)
        state = np.array([self.n_words, 0])
        document = 0
        if self.n_documents + n_documents > MAX_DOCUMENTS:
            self.last[:, SEEN], self.n_documents = -1, 0
        while True:
            document = count_documents(
                text, starts, document, self.n_documents, self.actions, self.adding, self.merging, self.keeping,
                self.found, self.sizes, self.keys, self.slots, self.arena, self.offsets, self.last,
                words, counts, entry_starts, lengths, state,
            )  # fmt: skip
            self.n_words = int(state[0])
            if document == n_documents:
                break
            self._make_room_for_words(longest)
        self.n_documents += n_documents
        return Batch(entry_starts, words[: state[1]], counts[: state[1]], lengths)

    def _make_room(self, longest: int, n_entries: int) -> None:
        """Make room for the tokens of one document and the entries of all; kept, since new pages of memory are slow."""
        if longest + MARGIN > len(self.found):
            self.found = np.zeros(2 * longest + MARGIN, np.uint8)
            self.sizes = np.empty(len(self.found), np.int64)  # signs and words in turn: a token for each byte
            self.keys = np.empty((len(self.found), 2), np.uint64)
        if n_entries > self.entries.shape[1]:
            self.entries = np.empty((2, n_entries), np.int32)
        if self.adding:
            self._make_room_for_words(longest)

    def _make_room_for_words(self, document_bytes: int) -> None:
        """Grow what the words of the next document might not fit into, to twice its size."""
        used, needed = int(self.offsets[self.n_words]), self.n_words + document_bytes
        if used + document_bytes + MARGIN > len(self.arena):
            self.arena = _grown(self.arena, 2 * (used + document_bytes) + (1 << 16))
        if needed > len(self.last):
            self.last = _grown(self.last, 2 * needed + (1 << 12))
            self.offsets = _grown(self.offsets, len(self.last) + 1)
        if 2 * needed > len(self.slots):
            self.slots = _slots_of(self.arena, self.offsets[: self.n_words + 1], 4 * needed)


def _slots_of(arena: NDArray[np.uint8], offsets: NDArray[np.int64], at_least: int) -> NDArray[np.uint64]:
    """Return a hash table of words with more than `at_least` slots."""
    n_words = len(offsets) - 1
    slots = np.zeros((1 << max(10, at_least.bit_length()), 2), np.uint64)
    fill_slots(arena, offsets, n_words, slots)
    return slots


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    start = size = 0
    for number, text in enumerate(texts):
        size += len(text)
        if size >= BATCH_CHARACTERS:
            yield texts[start : number + 1]
            start, size = number + 1, 0
    if start < len(texts):
        yield texts[start:]


def _joined(words: Sequence[str], batches: Sequence[Batch]) -> CountedBytes:
    """Put batches one after the other."""
    indptr = np.cumsum(np.concatenate([np.zeros(1, np.int64), *(np.diff(batch.starts) for batch in batches)]))
    data = np.concatenate([np.zeros(0, np.int32), *(batch.counts for batch in batches)])
    indices = np.concatenate([np.zeros(0, np.int32), *(batch.words for batch in batches)])
    small = len(data) < np.iinfo(np.int32).max
    matrix = sp.csr_array((data, indices, indptr.astype(np.int32) if small else indptr), (len(indptr) - 1, len(words)))
    lengths = np.concatenate([np.zeros(0, np.int64), *(batch.lengths for batch in batches)])
    return CountedBytes(words, matrix, lengths)


def _sorted_union(counters: Sequence[ByteCounter]) -> tuple[list[str], list[NDArray[np.int32]]]:
    """Return the words of all counters, sorted by code point, and where the words of each went."""
    if not counters:
        return [], []
    first, *others = counters
    n_own = first.n_words
    numbers = [np.arange(n_own, dtype=np.int32), *(first.number_words(other) for other in others)]
    text, offsets = first.known_words()
    order = sort_words(text, offsets)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order))
    return decode_some(text, offsets, order), [ranks[some] for some in numbers]


def _grown(array: NDArray[T], size: int) -> NDArray[T]:
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
