"""From texts to counts: which word stands how often in which document, and in which class.

A word counts in two ways: by its occurrences, and by the documents that hold it. Counts of two parts of a corpus
add up to the counts of the whole, so that files larger than memory, shards and a cluster need nothing else.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.tokenizers import DEFAULT_TOKENIZER, AnyTokenizer, Tokenizer, check_tokens, resolve_tokenizer
from tfcr.wordlist import pair_numbers

Floats = NDArray[np.floating[Any]]
Labels = NDArray[Any]
WORTH_COMPILED_CODE = 1_000_000
"""Texts of so many characters are counted by compiled code; fewer are counted before it is loaded."""

Progress = Callable[[int, int], None]
"""Called with the work done and the work in all."""


@dataclass(frozen=True)
class DocumentWords:
    """Which word stands how often in which document.

    Attributes
    ----------
    words
        The known words, sorted.
    matrix
        Counts, int32, of shape (n_documents, n_words).
    lengths
        All tokens of each document, the unknown ones too; (n_documents,).
    n_pairs
        How many of `words`, the last ones, are pairs of neighbouring words, with a space between.
    """

    words: Sequence[str]
    matrix: sp.csr_array
    lengths: NDArray[np.int64]
    n_pairs: int = 0

    def __len__(self) -> int:
        return len(self.lengths)

    def without_pairs(self) -> "DocumentWords":
        """Return the same documents, counted over words alone."""
        n_words = len(self.words) - self.n_pairs
        return DocumentWords(self.words[:n_words], self.matrix[:, :n_words], self.lengths) if self.n_pairs else self

    def unknown_shares(self) -> NDArray[np.float64]:
        """Return the share of each document's tokens that are none of `words`; 0 for an empty document."""
        known = np.asarray(self.without_pairs().matrix.sum(axis=1), np.float64)
        return 1 - np.divide(known, self.lengths, out=np.ones(len(self)), where=self.lengths > 0)

    def rows(self, rows: NDArray[np.int64]) -> "DocumentWords":
        """Return some of the documents."""
        return DocumentWords(self.words, self.matrix[rows], self.lengths[rows], self.n_pairs)

    def over(self, words: Sequence[str], n_pairs: int = 0) -> "DocumentWords":
        """Return the same documents counted over other words, 0 for those not counted here; the lengths stay.

        The last `n_pairs` of them are pairs.
        """
        if words is self.words:
            return self
        numbers = dict(zip(words, range(len(words)), strict=True))
        places = np.fromiter((numbers.get(word, -1) for word in self.words), np.int64, len(self.words))
        kept = np.flatnonzero(places >= 0)
        moved = sp.csr_array((np.ones(len(kept), np.int32), (kept, places[kept])), shape=(len(places), len(words)))
        return DocumentWords(words, self.matrix @ moved, self.lengths, n_pairs)


def check_texts(texts: Iterable[str]) -> list[str]:
    """Return the texts as a list, or say which one is no string."""
    if isinstance(texts, str | bytes):
        raise InputError("found a single string; expected a list of texts: put it in brackets, [text]")
    if hasattr(texts, "columns"):
        raise InputError(f"found a table of {len(texts.columns)} columns; expected one: give the column with the texts")
    try:
        checked = list(texts)
    except TypeError:
        raise InputError(f"found {type(texts).__name__}; expected a list of texts") from None
    for number, text in enumerate(checked):
        if not isinstance(text, str):
            raise InputError(
                f"text number {number} (counted from 0) is of type {type(text).__name__}; expected a string. "
                "Drop rows without text first, or turn values into text with str()"
            )
    return checked


def count_words(
    texts: Iterable[str],
    tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
    vocabulary: Sequence[str] | None = None,
) -> DocumentWords:
    """Count the words of each text.

    Parameters
    ----------
    texts
        The documents.
    tokenizer
        A name of TOKENIZERS or a callable from a text to its tokens.
    vocabulary
        The words to count, if not all; they keep their order. Others still add to a document's length.
    """
    checked = check_texts(texts)
    resolved = resolve_tokenizer(tokenizer)
    if _worth_compiled_code(resolved, checked):
        from tfcr.bytecounts import count_bytes  # noqa: PLC0415 - numba loads slowly, and small jobs need none

        fast = count_bytes(checked, resolved, vocabulary)
        return DocumentWords(fast.words, fast.matrix, fast.lengths)
    tokenize = _checked(resolved)
    documents = [tokenize(text) for text in checked]
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    known = sorted(set().union(*documents)) if vocabulary is None else vocabulary
    numbers = dict(zip(known, range(len(known)), strict=True))
    return DocumentWords(known, _count_matrix(documents, numbers), lengths)


def count_terms(
    texts: Iterable[str],
    tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
    vocabulary: Sequence[str] | None = None,
    n_pairs: int = 0,
) -> DocumentWords:
    """Count the words of each text, and the pairs of neighbouring words.

    Parameters
    ----------
    texts, tokenizer
        As in `count_words`.
    vocabulary
        The words and pairs to count, if not all words, and all pairs that two documents hold.
    n_pairs
        How many of `vocabulary`, the last ones, are pairs.
    """
    checked = check_texts(texts)
    given = None if vocabulary is None else vocabulary[: len(vocabulary) - n_pairs]
    words, numbers, lengths = _number_tokens(checked, resolve_tokenizer(tokenizer), given)
    documents = np.repeat(np.arange(len(lengths)), lengths)
    joins = _can_join(words)[numbers] & (numbers >= 0)
    neighbours = (documents[1:] == documents[:-1]) & joins[1:] & joins[:-1]
    keys = (numbers[:-1].astype(np.int64) * len(words) + numbers[1:])[neighbours]
    places = documents[:-1][neighbours]
    if vocabulary is None:
        known = _keys_of_two_documents(keys, places)
        known, pairs = _name_pairs(known, words)
        vocabulary = [*words, *pairs]
    else:
        known = pair_numbers(vocabulary, n_pairs) @ np.array([len(words), 1])
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, keys, sorter=order), max(len(known) - 1, 0))
    found = order[at] if len(known) else at
    held = known[found] == keys if len(known) else np.zeros(len(keys), np.bool_)
    rows = np.concatenate([documents[numbers >= 0], places[held]])
    columns = np.concatenate([numbers[numbers >= 0], len(words) + found[held]])
    matrix = sp.coo_array(
        (np.ones(len(rows), np.int32), (rows, columns)), shape=(len(lengths), len(vocabulary))
    ).tocsr()
    return DocumentWords(vocabulary, matrix, lengths, len(known))


def _name_pairs(keys: NDArray[np.int64], words: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the pairs that are not also a word, which a tokeniser of one's own may make, and their names."""
    names = [f"{words[one]} {words[two]}" for one, two in zip(*divmod(keys, len(words) or 1), strict=True)]
    taken = {word for word in words if " " in word}
    new = [number for number, name in enumerate(names) if name not in taken]
    return keys[new], [names[number] for number in new]


def _can_join(words: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which words may be one of a pair: none with a space, so that pairs can be told apart; one more for -1."""
    return np.array([*(" " not in word for word in words), False])


def _keys_of_two_documents(keys: NDArray[np.int64], documents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different keys, sorted, that more than one document holds."""
    order = np.argsort(keys, kind="stable")  # documents stay in their order
    keys, documents = keys[order], documents[order]
    again = np.flatnonzero((keys[1:] == keys[:-1]) & (documents[1:] != documents[:-1]))
    return np.unique(keys[again])


def _number_tokens(
    texts: list[str], tokenizer: AnyTokenizer, vocabulary: Sequence[str] | None
) -> tuple[Sequence[str], NDArray[np.int32], NDArray[np.int64]]:
    """Return the words, the number of every token's word, -1 where not known, and the tokens of each document."""
    if _worth_compiled_code(tokenizer, texts):
        from tfcr.bytecounts import number_tokens  # noqa: PLC0415 - numba loads slowly, and small jobs need none

        return number_tokens(texts, tokenizer, vocabulary)
    documents = [_checked(tokenizer)(text) for text in texts]
    words = sorted(set().union(*documents)) if vocabulary is None else vocabulary
    numbers = dict(zip(words, range(len(words)), strict=True))
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    found = (numbers.get(token, -1) for tokens in documents for token in tokens)
    return words, np.fromiter(found, np.int32, int(lengths.sum())), lengths


def _worth_compiled_code(tokenizer: AnyTokenizer, texts: list[str]) -> TypeGuard[Tokenizer]:
    return (
        isinstance(tokenizer, Tokenizer) and tokenizer.table is not None and sum(map(len, texts)) >= WORTH_COMPILED_CODE
    )


def _checked(tokenizer: AnyTokenizer) -> Callable[[str], list[str]]:
    if isinstance(tokenizer, Tokenizer):
        return tokenizer
    return lambda text: check_tokens(tokenizer(text), tokenizer)


def _count_matrix(documents: list[list[str]], numbers: dict[str, int]) -> sp.csr_array:
    """Count numbered tokens: drop the unknown ones, add up what occurs twice in a document."""
    size = sum(map(len, documents))
    columns = np.fromiter((numbers.get(token, -1) for tokens in documents for token in tokens), np.int32, size)
    rows = np.repeat(np.arange(len(documents), dtype=np.int32), [len(tokens) for tokens in documents])
    known = columns >= 0
    ones = np.ones(int(known.sum()), np.int32)
    return sp.coo_array((ones, (rows[known], columns[known])), shape=(len(documents), len(numbers))).tocsr()


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How often each word occurs in each class, by occurrences and by documents.

    What is known of all documents together is kept apart from the sums over classes: a class's complement is the
    documents without it, whether or not documents have several labels.

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

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        labels: Iterable[Any],
        *,
        tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
        sample_weight: Iterable[float] | None = None,
    ) -> "ClassCounts":
        """Count the words of labelled texts."""
        checked = check_texts(texts)
        targets = check_labels(labels, len(checked))
        return cls.from_documents(count_words(checked, tokenizer), targets, sample_weight=sample_weight)

    @classmethod
    def from_documents(
        cls, documents: DocumentWords, labels: Iterable[Any], *, sample_weight: Iterable[float] | None = None
    ) -> "ClassCounts":
        """Add up the counts of labelled documents by class.

        A document of weight 2 counts as two documents, one of weight 0 as none.
        """
        n_documents, n_words = documents.matrix.shape
        targets = check_labels(labels, n_documents)
        weights = check_sample_weight(sample_weight, n_documents)
        classes, numbers = np.unique(targets, return_inverse=True)
        membership = sp.coo_array(
            (weights, (np.arange(n_documents), numbers)), shape=(n_documents, len(classes))
        ).tocsr()
        counts = documents.matrix.astype(np.float64)
        presence = sp.csr_array((np.ones(counts.nnz), counts.indices, counts.indptr), shape=counts.shape)
        occurrences = _dense_zeros_dropped(counts.T @ membership)
        return cls(
            words=documents.words,
            classes=classes,
            occurrences=occurrences,
            documents=_dense_zeros_dropped(presence.T @ membership),
            word_occurrences=counts.T @ weights,
            word_documents=np.asarray(presence.T @ weights, np.float64),
            class_occurrences=np.asarray(occurrences.sum(axis=0), np.float64),
            class_documents=np.bincount(numbers, weights, minlength=len(classes)).astype(np.float64),
            n_occurrences=float((counts.T @ weights).sum()) if n_words else 0.0,
            n_documents=float(weights.sum()),
        )

    def __add__(self, other: "ClassCounts") -> "ClassCounts":
        """Return the counts of both corpora together; words and classes are united."""
        if not isinstance(other, ClassCounts):
            return NotImplemented
        classes = unite_classes(self.classes, other.classes)
        words = sorted(set(self.words).union(other.words))
        one, two = (counts._spread(words, classes) for counts in (self, other))
        return ClassCounts(
            words=words,
            classes=classes,
            occurrences=sp.csr_array(one.occurrences + two.occurrences),
            documents=sp.csr_array(one.documents + two.documents),
            word_occurrences=one.word_occurrences + two.word_occurrences,
            word_documents=one.word_documents + two.word_documents,
            class_occurrences=one.class_occurrences + two.class_occurrences,
            class_documents=one.class_documents + two.class_documents,
            n_occurrences=one.n_occurrences + two.n_occurrences,
            n_documents=one.n_documents + two.n_documents,
        )

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

    def at_least(self, min_count: float) -> "ClassCounts":
        """Return the counts of the words that occur `min_count` times; the totals stay those of all words."""
        kept = np.flatnonzero(self.occurs(min_count))
        if len(kept) == len(self.words):
            return self
        return ClassCounts(
            words=[self.words[row] for row in kept.tolist()],
            classes=self.classes,
            occurrences=self.occurrences[kept],
            documents=self.documents[kept],
            word_occurrences=self.word_occurrences[kept],
            word_documents=self.word_documents[kept],
            class_occurrences=self.class_occurrences,
            class_documents=self.class_documents,
            n_occurrences=self.n_occurrences,
            n_documents=self.n_documents,
        )

    def occurs(self, min_count: float = 1) -> NDArray[np.bool_]:
        """Tell which words occur that often; (n_words,). Up to 1, any occurrence will do, of whatever weight."""
        often = self.word_occurrences >= min_count * (1 - 1e-9)
        return (self.word_occurrences > 0) & (often | (min_count <= 1))

    def _spread(self, words: Sequence[str], classes: Labels) -> "ClassCounts":
        """Return the same counts over more words and classes, with zeros for the new ones."""
        numbers = dict(zip(words, range(len(words)), strict=True))
        rows = np.fromiter((numbers[word] for word in self.words), np.int64, len(self.words))
        columns = np.searchsorted(classes, self.classes)
        shape = (len(words), len(classes))
        return ClassCounts(
            words=words,
            classes=classes,
            occurrences=_spread_matrix(self.occurrences, rows, columns, shape),
            documents=_spread_matrix(self.documents, rows, columns, shape),
            word_occurrences=_spread_vector(self.word_occurrences, rows, len(words)),
            word_documents=_spread_vector(self.word_documents, rows, len(words)),
            class_occurrences=_spread_vector(self.class_occurrences, columns, len(classes)),
            class_documents=_spread_vector(self.class_documents, columns, len(classes)),
            n_occurrences=self.n_occurrences,
            n_documents=self.n_documents,
        )


def check_labels(labels: Iterable[Any], n_documents: int) -> Labels:
    """Return the labels as an array of one type, one label for each text."""
    if labels is None:
        raise InputError("found no labels; expected one for each text: the weights are learned from them")
    targets = labels if isinstance(labels, np.ndarray) and labels.dtype.kind != "O" else _as_array(labels)
    if targets.ndim != 1:
        raise InputError(f"found labels of shape {targets.shape}; expected one label for each text")
    if len(targets) != n_documents:
        raise InputError(f"found {n_documents} texts and {len(targets)} labels; expected as many of both")
    missing = _missing(targets)
    if missing is not None:
        raise InputError(f"label number {missing} (counted from 0) is missing; drop rows without a label first")
    return targets


def check_sample_weight(sample_weight: Iterable[float] | None, n_documents: int) -> NDArray[np.float64]:
    """Return the weight of each document, 1 where none are given."""
    if sample_weight is None:
        return np.ones(n_documents)
    weights = np.asarray(sample_weight, np.float64)
    if weights.ndim == 0:
        weights = np.full(n_documents, float(weights))
    if weights.shape != (n_documents,):
        raise InputError(f"found sample_weight of shape {weights.shape}; expected ({n_documents},)")
    if n_documents and not weights.any():
        raise InputError("found sample_weight of zero for all documents; expected some above 0")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError("found a negative, infinite or missing sample_weight; expected numbers of at least 0")
    return weights


def unite_classes(one: Labels, two: Labels) -> Labels:
    """Return the sorted classes of both, which must be of one kind."""
    kinds = ["text" if classes.dtype.kind in "UO" else classes.dtype.kind for classes in (one, two)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"found labels of type {one.dtype} and of type {two.dtype}; expected one type: "
            "turn the labels of both parts into text, or into numbers"
        )
    return np.unique(np.concatenate([one, two]))


def _as_array(labels: Iterable[Any]) -> Labels:
    if hasattr(labels, "__array__") and np.asarray(labels).dtype.kind != "O":
        return np.asarray(labels)
    values = list(labels)
    values = [None if isinstance(value, float) and np.isnan(value) else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    if str in kinds and len(kinds) > 1:  # numpy would turn the numbers into text without a word
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(f"found labels of the types {names}; expected one type: turn them all into text with str()")
    return np.asarray(values, dtype=object if None in values else None)


def _missing(targets: Labels) -> int | None:
    """Return the first label that is None or NaN."""
    if targets.dtype.kind == "f":
        found = np.flatnonzero(np.isnan(targets))
    elif targets.dtype.kind == "O":
        found = np.flatnonzero([label is None or (isinstance(label, float) and np.isnan(label)) for label in targets])
    else:
        return None
    return int(found[0]) if len(found) else None


def _dense_zeros_dropped(matrix: Any) -> sp.csr_array:
    """Return the counts as CSR; a document of weight 0 must leave no trace."""
    result = sp.csr_array(matrix)
    result.eliminate_zeros()
    result.sort_indices()
    return result


def _spread_matrix(
    matrix: sp.csr_array, rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]
) -> sp.csr_array:
    entries = matrix.tocoo()
    return sp.coo_array((entries.data, (rows[entries.row], columns[entries.col])), shape=shape).tocsr()


def _spread_vector(values: NDArray[np.float64], places: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    spread = np.zeros(size)
    spread[places] = values
    return spread
