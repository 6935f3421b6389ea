"""The fast path of counting: tokens found and counted in UTF-8 bytes by compiled code, on several threads.

It gives the same words, order and counts as the plain path; a text becomes bytes by the tokeniser's own `prepare`, so
that lower-casing and composing are Python's.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
import polars as pl
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.compiled import SEEN, count_documents, fill_slots
from tfcr.machine import n_threads
from tfcr.tokenizers import Tokenizer
from tfcr.wordlist import decode_words, encode_words

T = TypeVar("T", bound=np.generic)

BATCH_CHARACTERS = 1 << 22
"""Texts counted by one call of compiled code: small enough that Ctrl-C need not wait."""


@dataclass(frozen=True)
class CountedBytes:
    """Words, counts (n_documents, n_words) and lengths (n_documents,), as in DocumentWords."""

    words: Sequence[str]
    matrix: sp.csr_array
    lengths: NDArray[np.int64]


def count_bytes(
    texts: Sequence[str], tokenizer: Tokenizer, vocabulary: Sequence[str] | None = None, threads: int | None = None
) -> CountedBytes:
    """Count the words of texts with a tokeniser that has a table of actions."""
    actions = tokenizer.actions()
    workers = max(1, min(threads or n_threads(), len(texts)))
    bounds = np.linspace(0, len(texts), workers + 1).astype(int).tolist()
    parts = [texts[start:end] for start, end in pairwise(bounds)]
    counters = [_Counter(tokenizer, actions, vocabulary) for _ in parts]
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(counter.count, part) for counter, part in zip(counters, parts, strict=True)]
        try:
            for future in futures:
                future.result()
        except BaseException:
            for counter in counters:
                counter.stopped = True
            raise
    return _merged(counters, vocabulary)


class _Counter:
    """Counts the documents of one thread; its words grow from batch to batch."""

    def __init__(self, tokenizer: Tokenizer, actions: NDArray[np.uint8], vocabulary: Sequence[str] | None) -> None:
        self.tokenizer = tokenizer
        self.actions = actions
        self.adding = vocabulary is None
        self.stopped = False
        text, offsets = encode_words(vocabulary or [])
        self.arena = text.copy()
        self.used = len(text)
        self.n_words = len(offsets) - 1
        self.offsets = offsets.astype(np.int64)
        self.last = np.zeros((self.n_words, 2), np.int32)
        self.room = np.empty((2, 0), np.int32)
        self.entries: list[NDArray[np.int32]] = []
        self.counts: list[NDArray[np.int32]] = []
        self.sizes: list[NDArray[np.int64]] = []
        self.lengths: list[NDArray[np.int64]] = []
        self._make_slots(1 << 16)

    def count(self, texts: Sequence[str]) -> None:
        """Count texts, batch by batch."""
        for batch in _batches(texts):
            if self.stopped:
                return
            encoded = [self.tokenizer.prepare(text).encode("utf-8", "surrogatepass") for text in batch]
            starts = np.zeros(len(encoded) + 1, np.int64)
            np.cumsum([len(text) for text in encoded], out=starts[1:])
            self._count_batch(np.frombuffer(b"".join(encoded), np.uint8), starts)

    def words(self) -> list[str]:
        """Return the words in the order of their numbers."""
        return decode_words(self.arena[: self.used], self.offsets[: self.n_words + 1])

    def _count_batch(self, text: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
        n_documents = len(starts) - 1
        room = len(text) // 2 + n_documents + 1
        if room > len(self.room[0]):
            self.room = np.empty((2, room), np.int32)
        entries, counts = self.room  # the same memory for every batch: new pages are slow
        entry_starts, lengths = np.zeros(n_documents + 1, np.int64), np.empty(n_documents, np.int64)
        longest = int(np.diff(starts).max(initial=0))
        state = np.array([self.used, self.n_words, 0])
        document = 0
        self._make_room(longest)
        self.last[:, SEEN] = -1
        while True:
            document = count_documents(
                text, starts, document, self.actions, self.adding, self.slots, self.arena, self.offsets,
                self.last, entries, counts, entry_starts, lengths, state,
            )  # fmt: skip
            self.used, self.n_words = int(state[0]), int(state[1])
            if document == n_documents:
                break
            self._make_room(longest)
        n_entries = int(state[2])
        self.entries.append(entries[:n_entries].copy())
        self.counts.append(counts[:n_entries].copy())
        self.sizes.append(np.diff(entry_starts))
        self.lengths.append(lengths)

    def _make_room(self, document_bytes: int) -> None:
        """Grow what the next document might not fit into, to twice its size."""
        tokens = (document_bytes + 1) // 2 if self.adding else 0
        if self.used + document_bytes + 4 > len(self.arena):
            self.arena = _grown(self.arena, 2 * (self.used + document_bytes) + (1 << 16))
        if self.n_words + tokens > len(self.last):
            self.last = _grown(self.last, 2 * (self.n_words + tokens) + (1 << 12))
            self.offsets = _grown(self.offsets, len(self.last) + 1)
        if 2 * (self.n_words + tokens) > len(self.slots):
            self._make_slots(2 * (self.n_words + tokens))

    def _make_slots(self, at_least: int) -> None:
        size = 1 << max(16, (2 * max(at_least, 2 * self.n_words)).bit_length())
        self.slots = np.zeros((size, 2), np.uint64)
        fill_slots(self.arena, self.offsets, self.n_words, self.slots)


def _batches(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    start = size = 0
    for number, text in enumerate(texts):
        size += len(text)
        if size >= BATCH_CHARACTERS:
            yield texts[start : number + 1]
            start, size = number + 1, 0
    if start < len(texts):
        yield texts[start:]


def _merged(counters: Sequence[_Counter], vocabulary: Sequence[str] | None) -> CountedBytes:
    """Give the words of all threads one numbering, in sorted order, and put their documents one after the other."""
    if vocabulary is None:
        words, places = _sorted_union([counter.words() for counter in counters])
    else:
        words = vocabulary
        places = [np.arange(len(words), dtype=np.int32) for _ in counters]
    columns = [place[entries] for counter, place in zip(counters, places, strict=True) for entries in counter.entries]
    sizes = [np.zeros(1, np.int64), *(size for counter in counters for size in counter.sizes)]
    counts = [count for counter in counters for count in counter.counts]
    lengths = [length for counter in counters for length in counter.lengths]
    indptr = np.cumsum(np.concatenate(sizes))
    data = np.concatenate(counts) if counts else np.zeros(0, np.int32)
    indices = np.concatenate(columns) if columns else np.zeros(0, np.int32)
    small = len(data) < np.iinfo(np.int32).max
    matrix = sp.csr_array((data, indices, indptr.astype(np.int32) if small else indptr), (len(indptr) - 1, len(words)))
    return CountedBytes(words, matrix, np.concatenate(lengths) if lengths else np.zeros(0, np.int64))


def _sorted_union(lists: Sequence[list[str]]) -> tuple[Sequence[str], list[NDArray[np.int32]]]:
    """Return all different words, sorted by code point (the order of UTF-8 bytes), and the lists' places there."""
    try:
        every = pl.concat([pl.Series(words, dtype=pl.String) for words in lists])
    except UnicodeEncodeError:  # lone surrogates, which polars cannot hold
        united = sorted(set().union(*lists))
        numbers = dict(zip(united, range(len(united)), strict=True))
        return united, [np.array([numbers[word] for word in words], np.int32) for words in lists]
    order = every.arg_sort().to_numpy()
    ordered = every.gather(order)
    new = (ordered != ordered.shift()).fill_null(value=True)
    places = np.empty(len(every), np.int32)
    places[order] = np.cumsum(new.to_numpy()) - 1
    return ordered.filter(new).to_list(), np.split(places, np.cumsum([len(words) for words in lists])[:-1])


def _grown(array: NDArray[T], size: int) -> NDArray[T]:
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
