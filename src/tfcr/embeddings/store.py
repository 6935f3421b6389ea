"""Embeddings: words and their vectors, immutable and shared.

A table of sub-words is an Embeddings too: its `words` are pieces of words in the notation of `tfcr.text.pieces`, its
`segmentation` says how a word is cut into them, and the vector of a word is the sum of the vectors of its pieces.
"""

import os
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tfcr.embeddings.cache import LoadReport, WordArrays, open_cached
from tfcr.embeddings.formats import FORMATS, format_for, vector_file
from tfcr.embeddings.pretrained import AUTO, IN_DOMAIN, PRETRAINED, find_pretrained, pretrained_file
from tfcr.embeddings.word2vec import train_word2vec
from tfcr.errors import EmbeddingsError, InputError, in_one_line, look_up, unknown_name
from tfcr.system.limits import is_there, kind_of
from tfcr.system.packed_strings import encode_words, find_packed
from tfcr.system.progress import Progress
from tfcr.text.class_counts import ClassCounts
from tfcr.text.documents import TextStream, check_texts
from tfcr.text.pieces import SEGMENTATIONS, Pieces
from tfcr.text.tokenizers import DEFAULT_TOKENIZER, AnyTokenizer

MANY_WORDS = 500_000
"""From this many words on, `rows` scans their bytes by compiled code."""


@dataclass(frozen=True)
class Coverage:
    """How much of a corpus has vectors: the fraction of its distinct words, and of its tokens."""

    words: float
    tokens: float


class Embeddings:
    """Words and their vectors.

    Immutable: copies and scikit-learn's clones are the same object, and a pickle of loaded vectors contains only the
    path they came from. Compared and hashed by identity. Make one with `load`, `train` or `from_arrays`.

    Attributes
    ----------
    words
        n_words strings; pieces of words if there is a `segmentation`.
    vectors
        float32 of shape (n_words, dimensions), read-only.
    segmentation
        A name of SEGMENTATIONS, which cuts a word into pieces; None for vectors of whole words.
    name
        Where they come from, for messages.
    report
        What loading left out.

    Examples
    --------
    >>> vectors = Embeddings.from_arrays(["good", "film"], [[1, 0], [0, 1]])
    >>> vectors["film"]
    array([0., 1.], dtype=float32)
    >>> vectors.rows(["film", "unknown"])
    array([ 1, -1])

    A table of sub-words, with "films" as " film" + "s":

    >>> pieces = Embeddings.from_arrays([" film", "s"], [[1, 0], [0, 1]], segmentation="longest")
    >>> pieces["films"]
    array([1., 1.], dtype=float32)
    """

    def __init__(self, arrays: WordArrays, name: str, source: tuple[str, str | None] | None = None) -> None:
        arrays.vectors.setflags(write=False)
        self._arrays = arrays
        self._source = source
        self.vectors = arrays.vectors
        self.name = name
        self.report = arrays.report
        self.segmentation = arrays.segmentation
        self._last_rows: tuple[list[str], NDArray[np.int64]] = [], np.zeros(0, np.int64)

    @classmethod
    def load(cls, source: str | os.PathLike[str], *, format: str | None = None) -> "Embeddings":
        """Load vectors from a file or by a known name.

        The first time, the file is converted to a memory-mapped cache; after that it opens instantly.

        Parameters
        ----------
        source
            A path, or a name of PRETRAINED. An existing file takes precedence over a name.
        format
            A name of FORMATS; detected from the file's content if omitted.
        """
        if str(source) == IN_DOMAIN:
            raise EmbeddingsError(f"{IN_DOMAIN!r} stands for vectors trained on your texts: Embeddings.train(texts)")
        if str(source) == AUTO:
            raise EmbeddingsError(
                f"{AUTO!r} stands for what TfcrClassifier chooses for its texts; expected a file or a known name: "
                f"{', '.join(PRETRAINED)}"
            )
        check_source(source)
        path = Path(source)
        if not is_there(path):
            name = str(source)
            return cls(open_cached(pretrained_file(name)), name, (name, None))
        return cls(open_cached(vector_file(path, format)), path.name, (str(path.absolute()), format))

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        *,
        dimensions: int = 100,
        window: int = 5,
        epochs: int = 10,
        skip_gram: bool = False,
        min_count: int = 2,
        seed: int = 0,
        tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
        progress: Progress | None = None,
    ) -> "Embeddings":
        """Train word2vec on texts; no labels are needed.

        The same texts and the same seed give the same vectors.

        Parameters
        ----------
        texts
            The documents. A TextStream is read anew for each pass, so that texts need not fit into memory.
        dimensions
            The length of each vector.
        window
            Number of context words on either side.
        epochs
            Number of passes over the texts.
        skip_gram
            Skip-gram instead of CBOW: slower, and better for rare words.
        min_count
            Rarer words get no vector.
        seed
            The random seed.
        tokenizer
            A name of TOKENIZERS or a callable.
        progress
            Called with the number of documents done and the total, over all epochs.
        """
        words, vectors = train_word2vec(
            texts if isinstance(texts, TextStream) else check_texts(texts),
            dimensions=dimensions,
            window=window,
            epochs=epochs,
            skip_gram=skip_gram,
            min_count=min_count,
            seed=seed,
            tokenizer=tokenizer,
            progress=progress,
        )
        return cls.from_arrays(words, vectors, name=IN_DOMAIN)

    @classmethod
    def from_arrays(
        cls, words: Sequence[str], vectors: ArrayLike, *, name: str = "arrays", segmentation: str | None = None
    ) -> "Embeddings":
        """Make Embeddings from words and their vectors, one row per word; with a `segmentation`, from pieces."""
        if segmentation is not None:
            look_up(SEGMENTATIONS, segmentation, "segmentation")
        try:
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
                array = np.array(vectors, np.float32)
        except (ValueError, TypeError, OverflowError) as error:
            raise InputError(f"found vectors that are not numbers in rows of one length ({error})") from None
        known = list(words)
        if other := next((word for word in known if not isinstance(word, str)), None):
            raise InputError(f"found {other!r} among the words; expected strings")
        if array.ndim != 2 or len(array) != len(known):
            raise InputError(f"found {len(known)} words and vectors of shape {array.shape}; expected one row per word")
        if not np.isfinite(array).all():
            raise InputError("found NaN or infinity in the vectors; expected numbers")
        if len(set(known)) != len(known):
            raise InputError(f"found {_first_repeated(known)!r} more than once; expected distinct words")
        text, offsets = encode_words(known)
        return cls(WordArrays(array, text, offsets, LoadReport(read=len(known)), segmentation), name)

    def save(self, path: str | os.PathLike[str], *, format: str | None = None) -> None:
        """Write the vectors to a file atomically.

        Parameters
        ----------
        path
            The file; the word list of a .npy is written beside it.
        format
            A name of FORMATS; chosen by the file's ending if omitted.
        """
        target = Path(path)
        name = format or format_for(target)
        row = look_up(FORMATS, name, "vector format")
        if self.segmentation is None:
            row.write(target, self.words, self.vectors)
        elif row.write_pieces is not None:
            row.write_pieces(target, self.words, self.vectors, self.segmentation)
        else:
            known = ", ".join(ending for row in FORMATS.values() if row.write_pieces for ending in row.endings)
            raise EmbeddingsError(
                f"{self.name} is a table of sub-words, and {name} has no place for how words are cut into them; "
                f"save it as {known}"
            )

    @cached_property
    def words(self) -> list[str]:
        """All words, or all pieces of words, in row order."""
        return self._arrays.words()

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return dict(zip(self.words, range(len(self)), strict=True))

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        return int(self.vectors.shape[1])

    def rows(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the row of each word, -1 if it has no vector; not of a table of sub-words, where it may have several.

        See Also
        --------
        has_vector : Which words have a vector, for all kinds of Embeddings.
        """
        if self.segmentation is not None:
            raise InputError(
                f"{self.name} is a table of sub-words, where a word has several rows; use of_words, has_vector or "
                "pieces"
            )
        if "_row_of" in self.__dict__:
            return np.array([self._row_of.get(word, -1) for word in words], np.int64)
        asked = list(words)
        if asked != self._last_rows[0]:
            self._last_rows = asked, self._find_rows(asked)
        return self._last_rows[1].copy()

    def _find_rows(self, words: list[str]) -> NDArray[np.int64]:
        """Return the row of each word; the words of the file are not decoded, as that takes longer."""
        if len(self) < MANY_WORDS:
            return find_packed(words, self._arrays.text, self._arrays.offsets)
        from tfcr.text.native_counts import find_words  # noqa: PLC0415 - numba loads slowly, and small files need none

        return find_words(words, self._arrays.text, self._arrays.offsets)

    def has_vector(self, words: Iterable[str]) -> NDArray[np.bool_]:
        """Return which of these words have a vector, or in a table of sub-words at least one known piece."""
        if self._pieces is None:
            return self.rows(words) >= 0
        return np.asarray(np.diff(self._pieces.matrix(list(words)).indptr) > 0)

    def of_words(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these words, (n_words, dimensions); zeros for a word that has none.

        In a table of sub-words, the vector of a word is the sum of the vectors of its pieces.
        """
        if self._pieces is not None:
            return np.asarray(self._pieces.matrix(words) @ self.vectors, np.float32)
        rows = self.rows(words)
        vectors = np.zeros((len(rows), self.dimensions), np.float32)
        vectors[rows >= 0] = self.vectors[rows[rows >= 0]]
        return vectors

    @cached_property
    def _pieces(self) -> Pieces | None:
        return None if self.segmentation is None else Pieces(self.words, self.segmentation)

    def pieces(self, limit: int) -> tuple[Pieces, NDArray[np.float32]]:
        """Return what scores words that training never saw: pieces of words, and a vector for each.

        Parameters
        ----------
        limit
            Of vectors of whole words, each of which is one piece, take the first `limit`: files have frequent words
            first. Of a table of sub-words, all pieces are taken.

        Examples
        --------
        >>> vectors = Embeddings.from_arrays(["good", "film"], [[1, 0], [0, 1]])
        >>> pieces, of_pieces = vectors.pieces(limit=1)
        >>> pieces.names, pieces.segmentation, of_pieces
        ([' good '], 'whole', array([[1., 0.]], dtype=float32))
        """
        if self._pieces is not None:
            return self._pieces, self.vectors
        words = self._arrays.first_words(min(limit, len(self)))
        return Pieces([f" {word} " for word in words], "whole"), self.vectors[: len(words)]

    def coverage(self, counts: ClassCounts) -> Coverage:
        """Return how much of the counted corpus has vectors."""
        found = self.has_vector(counts.words)
        total = counts.word_occurrences.sum()
        if not total:
            return Coverage(0.0, 0.0)
        return Coverage(float(found.mean()), float(counts.word_occurrences[found].sum() / total))

    def carried(self, words: Iterable[str], first: int) -> "Embeddings":
        """Return the vectors of these words and of the first ones, in one object that takes its arrays along.

        Pickled, others are loaded again from their file, which other machines may not have.
        """
        if self.segmentation is not None:
            return Embeddings(self._arrays, self.name)
        rows = self.rows(words)
        kept = np.union1d(rows[rows >= 0], np.arange(min(first, len(self))))
        every = self.words
        return Embeddings.from_arrays([every[row] for row in kept.tolist()], self.vectors[kept], name=self.name)

    def __len__(self) -> int:
        return len(self.vectors)

    def __contains__(self, word: object) -> bool:
        if self._pieces is not None:
            return isinstance(word, str) and bool(self._pieces.of_word(word))
        return word in self._row_of

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        if word not in self:
            raise KeyError(word)
        if self._pieces is not None:
            return np.asarray(self.vectors[self._pieces.of_word(word)].sum(axis=0))
        return np.asarray(self.vectors[self._row_of[word]])

    def __repr__(self) -> str:
        kind = "words" if self.segmentation is None else "pieces of words"
        return f"Embeddings({self.name!r}, {len(self)} {kind}, {self.dimensions} dimensions)"

    def __copy__(self) -> "Embeddings":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Embeddings":
        return self

    def __sklearn_clone__(self) -> "Embeddings":
        return self

    def __reduce__(self) -> tuple[Callable[..., "Embeddings"], tuple[Any, ...]]:
        if self._source is not None:
            return _load_again, self._source
        return _take_again, (self.words, np.array(self.vectors), self.name, self.segmentation)


AnyEmbeddings = Embeddings | str | os.PathLike[str]
"""An Embeddings, the path of a vector file, a name of PRETRAINED, or ``"w2v"``: to be trained."""


def resolve_embeddings(
    source: AnyEmbeddings,
    texts: Sequence[str] | TextStream,
    *,
    dimensions: int = 100,
    unlabelled: Iterable[str] | None = None,
    tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
    random_state: Any = None,
    progress: Progress | None = None,
) -> Embeddings:
    """Return the Embeddings that `source` stands for: itself, loaded from a file, or trained on texts.

    Parameters
    ----------
    source
        See `AnyEmbeddings`.
    texts
        The documents that ``"w2v"`` is trained on.
    dimensions, tokenizer, progress
        See `Embeddings.train`.
    unlabelled
        More texts to train on.
    random_state
        What scikit-learn's ``check_random_state`` takes; the seed of training is drawn from it.
    """
    if isinstance(source, Embeddings):
        return source
    if not (isinstance(source, str) and source == IN_DOMAIN):
        return Embeddings.load(source)
    from sklearn.utils import check_random_state  # noqa: PLC0415 - loading a file does not need scikit-learn

    more = [] if unlabelled is None else check_texts(unlabelled)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    every = TextStream(lambda: chain(texts, more)) if isinstance(texts, TextStream) else [*texts, *more]
    return Embeddings.train(every, dimensions=dimensions, seed=seed, tokenizer=tokenizer, progress=progress)


def sources_of(source: AnyEmbeddings) -> list[AnyEmbeddings]:
    """Return the single sources of ``"ONE+TWO"``; a file whose name holds a plus sign is one source.

    >>> sources_of("wglove-50+wordllama")
    ['wglove-50', 'wordllama']
    """
    if not isinstance(source, str) or "+" not in source or is_there(Path(source)):
        return [source]
    names = [name.strip() for name in source.split("+")]
    if not all(names) or len(set(names)) < len(names):
        raise InputError(
            f"found embeddings={source!r}; expected names or paths of different vectors with a plus sign between them, "
            "as in 'wglove-50+wordllama'"
        )
    return list[AnyEmbeddings](names)


def embeddings_key(source: AnyEmbeddings | None) -> Hashable:
    """Return a dictionary key that differs whenever two sources may give different vectors.

    An Embeddings is its own key: two of them may have the same name and size.
    """
    return source if source is None or isinstance(source, Embeddings) else str(source)


def check_source(source: str | os.PathLike[str]) -> None:
    """Raise EmbeddingsError unless `source` is an existing file, or a name of PRETRAINED that is on this machine."""
    path = Path(source)
    if is_there(path):
        try:
            kind = kind_of(path)
        except OSError as error:
            raise EmbeddingsError(f"cannot read {path}: {in_one_line(error)}") from error
        if kind == "a file":
            return
        what = "a folder" if kind == "a folder" else "a pipe or device"
        raise EmbeddingsError(f"{path} is {what}; expected a file of word vectors")
    if str(source) not in PRETRAINED:
        raise EmbeddingsError(_not_found(str(source)))
    find_pretrained(str(source))


def _load_again(source: str, format: str | None) -> Embeddings:
    return Embeddings.load(source, format=format)


def _take_again(
    words: list[str], vectors: NDArray[np.float32], name: str, segmentation: str | None = None
) -> Embeddings:
    return Embeddings.from_arrays(words, vectors, name=name, segmentation=segmentation)


def _first_repeated(words: list[str]) -> str:
    return next(word for word, count in Counter(words).items() if count > 1)


def _not_found(source: str) -> str:
    if os.sep in source or "." in source:
        return f"{source} does not exist; give the path of a vector file or one of {', '.join(PRETRAINED)}"
    return unknown_name(source, PRETRAINED, "vectors") + " Or give the path of a vector file"
