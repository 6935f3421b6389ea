"""Counting by compiled code: tokens are found and counted in UTF-8 bytes, on several threads.

It gives the same words, in the same order, with the same counts as plain Python. Compiled code lower-cases most
texts; those that Unicode normalisation may change, and a few others, become bytes by the tokeniser's own `prepare`.

    texts --_batches--> bytes of some documents --count_documents (kernel)--> Batch: entries of word number and count
          each thread has a ByteCounter with a hash table of its own; _merge_words unites their vocabularies at the end
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tfcr.system.hardware import n_threads
from tfcr.system.lazy import lazy_module
from tfcr.system.native import SEEN, count_documents, fill_slots, find_symbols, merge_terms, prepare_documents
from tfcr.system.packed_strings import decode_some, sort_words
from tfcr.text.lexicon import MARGIN, BigramLexicon, Lexicon, number_bits
from tfcr.text.terms import Batch, skipped_in_bigrams
from tfcr.text.tokenizers import ONE_TOKEN, Tokenizer
from tfcr.text.unicode import preparing_table
from tfcr.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = lazy_module("scipy.sparse")

T = TypeVar("T", bound=np.generic)

BATCH_CHARACTERS = 1 << 20
"""Characters counted by one call of compiled code: few enough for the processor's cache, and for Ctrl-C to act soon."""
BATCH_TEXTS = 1 << 12
"""Texts counted by one call: few enough to be in the processor's cache still when they are looked at again."""
FEW_TEXTS, FEW_CHARACTERS = 8, 2_000
"""Texts, and characters, up to which Python prepares each text, sooner than compiled code is called."""
BATCH_WORDS = 1 << 17
"""Words of a long list looked up by one call."""
MAX_DOCUMENTS = 1 << 30
"""Document numbers start from 0 again after this many, to stay within int32."""


def count_bytes(
    texts: Sequence[str], tokenizer: Tokenizer, words: Sequence[str] | None = None, threads: int | None = None
) -> tuple[Sequence[str], sp.csr_array, NDArray[np.int64]]:
    """Count the words of texts with a tokeniser that has a table of actions.

    Returns
    -------
    words, matrix, lengths
        The words given, or all words found, sorted; counts int32 (n_documents, n_words); tokens of each document.
    """
    lexicon = None if words is None else Lexicon.of(words)
    counters, batches = _count_parts(lambda: ByteCounter(tokenizer, lexicon), texts, threads)
    if words is not None:
        return words, *_concatenated([batch for part in batches for batch in part], len(words))
    found, numbers = _merge_words(counters)
    renumbered = [
        batch._replace(words=number[batch.words])
        for number, part in zip(numbers, batches, strict=True)
        for batch in part
    ]
    return found, *_concatenated(renumbered, len(found))


def number_tokens(
    texts: Sequence[str], tokenizer: Tokenizer, threads: int | None = None
) -> tuple[Sequence[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return all words, sorted; the number of every token's word, in order; and the tokens of each document."""
    counters, batches = _count_parts(lambda: ByteCounter(tokenizer, None, merging=False), texts, threads)
    words, renumbered = _merge_words(counters)
    numbers = [number[batch.words] for number, part in zip(renumbered, batches, strict=True) for batch in part]
    lengths = [batch.lengths for part in batches for batch in part]
    nothing = np.zeros(0, np.int64)
    return words, np.concatenate([nothing.astype(np.int32), *numbers]), np.concatenate([nothing, *lengths])


def find_words(words: Sequence[str], text: NDArray[np.uint8], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each word in a long list of different words, given by their bytes; -1 where missing.

    One pass over the list, which may be larger than memory; nothing of it is kept.
    """
    positions = np.full(len(words), -1, np.int64)
    counter = ByteCounter(ONE_TOKEN, Lexicon.of(words), merging=False)
    for start in range(0, len(offsets) - 1, BATCH_WORDS):
        bounds = np.asarray(offsets[start : start + BATCH_WORDS + 1])
        some = np.array(text[bounds[0] : bounds[-1]])
        some.setflags(write=False)
        batch = counter.count_bytes(some, bounds - bounds[0])
        positions[batch.words] = start + np.flatnonzero(np.diff(batch.starts))
    return positions


def _count_parts(
    make_counter: Callable[[], ByteCounter], texts: Sequence[str], threads: int | None
) -> tuple[list[ByteCounter], list[list[Batch]]]:
    """Count texts on several threads; return the counters and their batches, in the order of the texts."""
    parts: dict[int, tuple[ByteCounter, list[Batch]]] = {}

    def count(counter: ByteCounter, start: int, end: int) -> None:
        parts[start] = counter, [batch.copy() for batch in counter.count(texts, start, end)]

    each_part(make_counter, count, len(texts), threads)
    in_order = [parts[start] for start in sorted(parts)]
    return [counter for counter, _ in in_order], [batches for _, batches in in_order]


def each_part(
    make_counter: Callable[[], ByteCounter],
    work: Callable[[ByteCounter, int, int], None],
    size: int,
    threads: int | None = None,
) -> None:
    """Split ``range(size)`` among threads and call ``work(counter, start, end)`` on each, with a counter of its own."""
    workers = max(1, min(threads or n_threads(), size))
    bounds = np.linspace(0, size, workers + 1).astype(int).tolist()
    counters = [make_counter() for _ in range(workers)]
    if workers == 1:  # a thread takes longer to start than a text to score
        work(counters[0], 0, size)
        return
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(work, counter, *part) for counter, part in zip(counters, pairwise(bounds), strict=True)]
        try:
            for future in futures:
                future.result()
        except BaseException:
            for counter in counters:
                counter.stopped = True
            raise


# what compiled code looks bigrams up in -------------------------------------------------------------------------


class Bigrams(NamedTuple):
    """Bigrams as compiled code looks them up, and the mask of words that they skip.

    `skipped` is as returned by `skipped_in_bigrams`.
    """

    lexicon: BigramLexicon
    n_words: int
    skipped: NDArray[np.bool_]

    @classmethod
    def of(cls, vocabulary: Vocabulary, tokenizer: Tokenizer) -> Bigrams:
        """Make it from a vocabulary, whose terms keep their numbers."""
        return cls(vocabulary.bigram_lexicon, vocabulary.n_words, skipped_in_bigrams(vocabulary, tokenizer))

    @property
    def n_terms(self) -> int:
        """The number of words and bigrams."""
        return self.n_words + len(self.lexicon)


class TermMerger:
    """Counts words and bigrams, from the words of documents in their order; on one thread."""

    def __init__(self, bigrams: Bigrams) -> None:
        self.bigrams = bigrams
        self.skipped = bigrams.skipped  # of words, of unseen words and room for more, and of unknown tokens
        self.last = np.full((bigrams.n_terms, 2), -1, np.int32)
        self.n_documents = self.n_unseen = 0

    def add_unseen(self, symbols: NDArray[np.bool_]) -> None:
        """Add more unseen words, of which some are symbols."""
        first, n_unseen = self.bigrams.n_words + self.n_unseen, self.n_unseen + len(symbols)
        if self.bigrams.n_words + n_unseen + 2 > len(self.skipped):
            room = np.zeros(2 * n_unseen, np.bool_)
            self.skipped = np.concatenate([self.skipped[:first], room, self.bigrams.skipped[-2:]])
            more = np.full((2 * n_unseen, 2), -1, np.int32)
            self.last = np.concatenate([self.last[: self.bigrams.n_terms + self.n_unseen], more])
        skipping = self.bigrams.skipped[-2]  # whether bigrams skip symbols at all
        self.skipped[first : first + len(symbols)] = symbols & skipping
        self.n_unseen = n_unseen

    def forget_unseen(self) -> None:
        """Forget all unseen words; their numbers go to others."""
        self.last[self.bigrams.n_terms :] = -1
        self.n_unseen = 0

    def merge(self, batch: Batch) -> Batch:
        """Count the terms of a batch whose counter keeps unknown words, or adds them, and does not merge."""
        if self.n_documents + len(batch.lengths) > MAX_DOCUMENTS:
            self.last[:, SEEN], self.n_documents = -1, 0
        terms, counts = np.empty((2, 2 * len(batch.words)), np.int32)
        starts = np.zeros_like(batch.starts)
        merge_terms(
            batch.starts, batch.words, self.n_documents, self.bigrams.n_words, self.bigrams.n_terms,
            self.skipped, self.bigrams.lexicon.bigrams, self.bigrams.lexicon.slots,
            number_bits(len(self.bigrams.lexicon)), self.last, terms, counts, starts,
        )  # fmt: skip
        self.n_documents += len(batch.lengths)
        return Batch(starts, terms[: starts[-1]], counts[: starts[-1]], batch.lengths)


class ByteCounter:
    """Counts documents on one thread.

    Parameters
    ----------
    tokenizer
        One with a table of actions.
    lexicon
        The words to count. Without one, every new word gets the next number.
    adding
        Whether words that are not in the lexicon, new words, get the numbers after its words.
    merging
        Whether a word that occurs twice in a document makes one entry with count 2, or two entries: enough for sums,
        and faster.
    keeping
        Whether unknown words make entries, of UNKNOWN_WORD or UNKNOWN_SYMBOL, so that neighbours are known.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        lexicon: Lexicon | None,
        *,
        adding: bool = False,
        merging: bool = True,
        keeping: bool = False,
    ) -> None:
        self.tokenizer = tokenizer
        self.actions = tokenizer.actions()
        self.adding = adding or lexicon is None
        self.merging = merging
        self.keeping = keeping
        self.stopped = False
        self.lexicon = Lexicon.of([]) if lexicon is None else lexicon
        self.n_known = len(self.lexicon)
        self._begin()
        self.entries = np.empty((2, 0), np.int32)
        self.found = np.empty(0, np.uint8)

    def count(self, texts: Sequence[str], start: int = 0, end: int | None = None) -> Iterator[Batch]:
        """Count texts number `start` to `end` batch by batch; a batch is overwritten by the next."""
        for batch in _batches(texts, start, len(texts) if end is None else end):
            if self.stopped:
                return
            yield self.count_bytes(*self._encoded(batch))

    def _encoded(self, texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the bytes of prepared texts, and where each starts."""
        if len(texts) <= FEW_TEXTS and sum(map(len, texts)) <= FEW_CHARACTERS:
            joined, starts = _joined(self._prepared(texts))
            return np.frombuffer(joined, np.uint8), starts
        try:
            joined, starts = _joined(list(map(str.encode, texts)))
        except UnicodeEncodeError:  # lone surrogates
            joined, starts = _joined([text.encode("utf-8", "surrogatepass") for text in texts])
        if joined.isascii():
            return np.frombuffer(joined.lower() if self.tokenizer.lower else joined, np.uint8), starts
        text = np.frombuffer(bytearray(joined), np.uint8)
        left = np.empty(len(texts), np.bool_)
        prepare_documents(text, starts, self.tokenizer.lower, preparing_table(), left)
        if left.any():
            numbers = np.flatnonzero(left)
            text, starts = _replaced(text, starts, numbers, self._prepared([texts[one] for one in numbers.tolist()]))
        text.setflags(write=False)  # compiled code is specialised to read-only texts
        return text, starts

    def _prepared(self, texts: Sequence[str]) -> list[bytes]:
        """Return texts prepared by Python; what `prepare` does with ASCII is written out, since calls take long."""
        prepare, lower = self.tokenizer.prepare, self.tokenizer.lower
        return [
            (text.lower() if lower else text).encode()
            if text.isascii()
            else prepare(text).encode("utf-8", "surrogatepass")
            for text in texts
        ]

    def known_tokens(self, batch: Batch) -> NDArray[np.int64]:
        """Return the number of known tokens of each document."""
        entries = np.diff(batch.starts)
        if not (self.merging or self.keeping or self.adding):
            return entries
        is_known = (batch.words >= 0) & (batch.words < self.n_known)
        known = np.append(np.where(is_known, batch.counts, 0), 0)
        return np.where(entries > 0, np.add.reduceat(known, batch.starts[:-1]), 0)

    def number_words(self, other: ByteCounter) -> NDArray[np.int32]:
        """Add the words of another counter, and return their numbers here: each word is counted as a document."""
        text, offsets = other.all_new_words()
        text.setflags(write=False)  # like all texts: compiled code is specialised to read-only arrays
        return self.count_bytes(text, offsets).words.copy()

    def _begin(self) -> None:
        self.arena = np.zeros(MARGIN, np.uint8)
        self.offsets = np.zeros(1, np.int64)
        self.slots = np.zeros((8, 2), np.uint64)
        self.n_new = 0
        self.last = np.full((self.n_known, 2), -1, np.int32)
        self.n_documents = 0

    @property
    def n_words(self) -> int:
        """The number of words, known or new."""
        return self.n_known + self.n_new

    def forget_new_words(self) -> None:
        """Forget the words that are not in the lexicon; the last batch stays valid."""
        self._begin()

    def new_words(self, first: int) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the bytes and offsets of the words from number `first` on, and which of them are symbols."""
        first -= self.n_known
        offsets = self.offsets[first : self.n_new + 1]
        symbols = np.empty(self.n_new - first, np.bool_)
        find_symbols(self.arena, self.offsets, first, self.actions, symbols)
        return self.arena[offsets[0] : offsets[-1]], offsets - offsets[0], symbols

    def all_new_words(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the bytes of all new words and their offsets; (n_new + 1,)."""
        offsets = self.offsets[: self.n_new + 1]
        return self.arena[: offsets[-1]], offsets

    def count_bytes(self, text: NDArray[np.uint8], starts: NDArray[np.int64]) -> Batch:
        """Count documents given by their bytes and offsets; (n_documents + 1,)."""
        n_documents = len(starts) - 1
        longest = int(np.diff(starts).max(initial=0))
        self._make_room(longest, len(text) + 1)
        words, counts = self.entries
        entry_starts, lengths = np.zeros(n_documents + 1, np.int64), np.empty(n_documents, np.int64)
        state = np.array([self.n_new, 0])
        document = 0
        if self.n_documents + n_documents > MAX_DOCUMENTS:
            self.last[:, SEEN], self.n_documents = -1, 0  # forget: numbers would exceed int32
        while True:  # compiled code stops before a document whose words might not fit, and goes on after growing
            document = count_documents(
                text, starts, document, self.n_documents, self.actions, self.adding, self.merging, self.keeping,
                self.found, self.sizes, self.keys, self.lexicon.slots, self.lexicon.arena, self.lexicon.offsets,
                self.slots, self.arena, self.offsets, self.last,
                words, counts, entry_starts, lengths, state,
            )  # fmt: skip
            self.n_new = int(state[0])
            if document == n_documents:
                break
            self._make_room_for_words(longest)
        self.n_documents += n_documents
        return Batch(entry_starts, words[: state[1]], counts[: state[1]], lengths)

    def _make_room(self, longest: int, n_entries: int) -> None:
        """Make room for the tokens of the longest document and all entries; reused, since new pages are slow."""
        if longest + MARGIN > len(self.found):
            self.found = np.zeros(2 * longest + MARGIN, np.uint8)
            self.sizes = np.empty(len(self.found), np.int64)  # words and symbols in turn: a token per byte
            self.keys = np.empty((len(self.found), 2), np.uint64)
        if n_entries > self.entries.shape[1]:
            self.entries = np.empty((2, n_entries), np.int32)
        if self.adding:
            self._make_room_for_words(longest)

    def _make_room_for_words(self, document_bytes: int) -> None:
        """Double what the words of the next document might not fit into."""
        used, needed = int(self.offsets[self.n_new]), self.n_new + document_bytes
        if used + document_bytes + MARGIN > len(self.arena):
            self.arena = _grown(self.arena, 2 * (used + document_bytes) + (1 << 16))
        if self.n_known + needed > len(self.last):
            self.last = _grown(self.last, self.n_known + 2 * needed + (1 << 12))
        if needed >= len(self.offsets):
            self.offsets = _grown(self.offsets, 2 * needed + (1 << 12) + 1)
        if 2 * needed > len(self.slots):
            self.slots = _slots_of(self.arena, self.offsets[: self.n_new + 1], 4 * needed)


def _slots_of(arena: NDArray[np.uint8], offsets: NDArray[np.int64], at_least: int) -> NDArray[np.uint64]:
    """Return a hash table of words with more than `at_least` slots."""
    n_words = len(offsets) - 1
    slots = np.zeros((1 << max(10, at_least.bit_length()), 2), np.uint64)
    fill_slots(arena, offsets, n_words, slots)
    return slots


def _batches(texts: Sequence[str], start: int, end: int) -> Iterator[Sequence[str]]:
    """Cut texts number `start` to `end` into batches; a text that makes one reach BATCH_CHARACTERS is its last.

    With BATCH_CHARACTERS = 5, texts of 3, 3, 1, 9 and 1 characters make the batches [3, 3], [1, 9] and [1].
    """
    while start < end:
        batch = texts[start : min(end, start + BATCH_TEXTS)]
        if sum(map(len, batch)) > BATCH_CHARACTERS:
            batch = batch[: bisect_left(list(accumulate(map(len, batch))), BATCH_CHARACTERS) + 1]
        yield batch
        start += len(batch)


def _joined(encoded: Sequence[bytes]) -> tuple[bytes, NDArray[np.int64]]:
    """Return the bytes of documents one after the other, and where each starts."""
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=starts[1:])
    return b"".join(encoded), starts


def _replaced(
    text: NDArray[np.uint8], starts: NDArray[np.int64], numbers: NDArray[np.int64], others: Sequence[bytes]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the bytes of documents, and where each starts, with other bytes for some, given by ascending number.

    The documents "ab", "cd", "e" with b"xyz" for number 1 become "abxyze" and the starts [0, 2, 5, 6].
    """
    pieces: list[memoryview | bytes] = []
    whole, done = text.data, 0
    places = zip(starts[numbers].tolist(), starts[numbers + 1].tolist(), others, strict=True)
    for start, end, other in places:
        pieces += (whole[done:start], other)
        done = end
    pieces.append(whole[done:])
    sizes = np.diff(starts)
    sizes[numbers] = list(map(len, others))
    return np.frombuffer(b"".join(pieces), np.uint8), np.concatenate([starts[:1], np.cumsum(sizes)])


def _concatenated(batches: Sequence[Batch], n_words: int) -> tuple[sp.csr_array, NDArray[np.int64]]:
    """Return batches one after the other as a matrix, and the lengths of all documents."""
    indptr = np.cumsum(np.concatenate([np.zeros(1, np.int64), *(np.diff(batch.starts) for batch in batches)]))
    data = np.concatenate([np.zeros(0, np.int32), *(batch.counts for batch in batches)])
    indices = np.concatenate([np.zeros(0, np.int32), *(batch.words for batch in batches)])
    small = len(data) < np.iinfo(np.int32).max
    matrix = sp.csr_array((data, indices, indptr.astype(np.int32) if small else indptr), (len(indptr) - 1, n_words))
    return matrix, np.concatenate([np.zeros(0, np.int64), *(batch.lengths for batch in batches)])


def _merge_words(counters: Sequence[ByteCounter]) -> tuple[list[str], list[NDArray[np.int32]]]:
    """Return the words of all counters, sorted by code point, and the new numbers of each counter's words.

    Two counters with [good, so] and [so, bad] give [bad, good, so] and the numbers [1, 2] and [2, 0].
    """
    if not counters:
        return [], []
    first, *others = counters
    n_own = first.n_words
    numbers = [np.arange(n_own, dtype=np.int32), *(first.number_words(other) for other in others)]
    text, offsets = first.all_new_words()
    order = sort_words(text, offsets)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order))
    return decode_some(text, offsets, order), [ranks[some] for some in numbers]


def _grown(array: NDArray[T], size: int) -> NDArray[T]:
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
