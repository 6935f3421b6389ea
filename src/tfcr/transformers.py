"""Document vectors as scikit-learn transformers: from a count matrix, and from text."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from tfcr.embeddings import AnyEmbeddings, Embeddings, resolve_embeddings
from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.errors import InputError
from tfcr.features.blocks import Block, check_blocks, column_names, document_vectors, make_blocks
from tfcr.features.checks import (
    check_classes,
    check_seed,
    class_names,
    count_classes,
    vectors_of_words,
)
from tfcr.features.cross_fit import CountsOf, check_cross_fit, cross_fitted
from tfcr.schemes import Scheme, compute_weights, resolve_scheme
from tfcr.text.class_counts import ClassCounts, Labels, check_labels, check_sample_weight
from tfcr.text.documents import CountedDocuments, check_texts, count_words
from tfcr.text.tokenizers import DEFAULT_TOKENIZER, AnyTokenizer


class WeightedEmbeddingTransformer(TransformerMixin, BaseEstimator):
    """Turn a matrix of word counts into document vectors weighted by class.

    Parameters
    ----------
    embeddings
        An Embeddings, a path or a known name, with the words of the columns in `words`; an array of shape
        (n_words, dimensions), one row for each column; or None, where each word is its own dimension.
    words
        The word of each column. Not needed for a data frame with one column for each word.
    scheme
        A name of SCHEMES, or a callable from ClassCounts to weights.
    averaging
        What each block is divided by: ``weights`` (the sum of the document's weights), ``length`` or ``sum``
        (nothing).
    blocks
        ``all``: one block for each class. ``own``: the same, the plain mean, and each class's share of the weight.
    min_count
        Words that occur less often in training weigh nothing.

    Attributes
    ----------
    classes_
        The classes, sorted.
    counts_
        ClassCounts of the training documents.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[2, 0, 1], [0, 1, 1]])
    >>> vectors = np.array([[1, 0], [0, 1], [1, 1]])
    >>> transformer = WeightedEmbeddingTransformer(embeddings=vectors, scheme="none")
    >>> transformer.fit_transform(counts, ["pos", "neg"]).round(2)
    array([[1.  , 0.33],
           [0.5 , 1.  ]], dtype=float32)
    """

    def __init__(
        self,
        *,
        embeddings: AnyEmbeddings | NDArray[Any] | None = None,
        words: Sequence[str] | None = None,
        scheme: str | Scheme = "tfcr-log",
        averaging: str = "weights",
        blocks: str = "all",
        min_count: float = 1,
    ) -> None:
        self.embeddings = embeddings
        self.words = words
        self.scheme = scheme
        self.averaging = averaging
        self.blocks = blocks
        self.min_count = min_count

    def fit(self, X: Any, y: Any, sample_weight: Iterable[float] | None = None) -> "WeightedEmbeddingTransformer":
        """Compute the weights from counts (n_documents, n_words) and labels."""
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_non_negative(X, "WeightedEmbeddingTransformer.fit")
        check_classification_targets(y)
        weights = check_sample_weight(sample_weight, len(y))
        used = np.flatnonzero(weights > 0)
        documents = _documents_of(sp.csr_array(X)[used], self._column_words(X.shape[1]))
        self.counts_ = ClassCounts.from_documents(documents, y[used], sample_weight=weights[used])
        self.classes_ = self.counts_.classes
        check_classes(self.classes_)
        known = self.counts_.occurs(self.min_count)
        self.blocks_ = make_blocks(
            self.blocks,
            compute_weights(self.scheme, self.counts_) * known[:, None].astype(np.float32),
            self._column_vectors(documents.words),
            class_names(self.classes_),
            self.averaging,
            known,
        )
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the document vectors; float32 of shape (n_documents, n_columns)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        documents = _documents_of(sp.csr_array(X), self.counts_.words)
        return document_vectors(documents.matrix, documents.lengths, self.blocks_)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Iterable[float] | None = None) -> NDArray[np.float32]:
        """Compute the weights, and return the document vectors of the same counts."""
        return self.fit(X, y, sample_weight).transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns, ``class__dimension``."""
        check_is_fitted(self)
        return np.array(column_names(self.blocks_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _column_words(self, n_columns: int) -> list[str]:
        words = self.words if self.words is not None else getattr(self, "feature_names_in_", None)
        if words is None:
            if isinstance(self.embeddings, Embeddings | str | os.PathLike):
                raise InputError("found embeddings but no words; give the word of each column: words=[…]")
            return [str(number) for number in range(n_columns)]
        if len(words) != n_columns:
            raise InputError(f"found {len(words)} words and {n_columns} columns; expected as many of both")
        return [str(word) for word in words]

    def _column_vectors(self, words: Sequence[str]) -> NDArray[np.float32] | None:
        if self.embeddings is None:
            return None
        if isinstance(self.embeddings, Embeddings | str | os.PathLike):
            given = self.embeddings
            loaded = given if isinstance(given, Embeddings) else Embeddings.load(given)
            return vectors_of_words(loaded, self.counts_)
        vectors = np.asarray(self.embeddings, np.float32)
        if not np.isfinite(vectors).all():
            raise InputError("found NaN or infinity in the embeddings; expected numbers")
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise InputError(
                f"found embeddings of shape {vectors.shape}; expected one row for each of {len(words)} columns"
            )
        return vectors


def _documents_of(counts: sp.csr_array, words: Sequence[str]) -> CountedDocuments:
    if not counts.data.all():
        counts = counts.copy()  # the caller's matrix stays as it is
        counts.eliminate_zeros()
    return CountedDocuments(words, counts, np.asarray(counts.sum(axis=1)))


class WeightedEmbeddingVectorizer(TransformerMixin, BaseEstimator):
    """Turn texts into document vectors weighted by class: N blocks of d columns, one for each class.

    Parameters
    ----------
    embeddings
        An Embeddings, a path, a known name, or ``"w2v"``: train word2vec on the texts given to `fit`.
    scheme
        A name of SCHEMES, or a callable from ClassCounts to weights.
    tokenizer
        A name of TOKENIZERS, or a callable from a text to its tokens.
    averaging
        What each block is divided by: ``weights`` (the sum of the document's weights), ``length`` (all its tokens)
        or ``sum`` (nothing).
    blocks
        ``all``: one block for each class. ``own``: the same, the plain mean, and each class's share of the weight.
    cross_fit
        Folds into which the texts given to `fit_transform` are cut, so that each one's vector is made with the weights
        that the other folds give, as scikit-learn's TargetEncoder does it; so ``fit_transform(X, y)`` differs from
        ``fit(X, y).transform(X)``. 0: with those of all texts, itself included.
    min_count
        Words that occur less often in training weigh nothing.
    dimensions
        Of word2vec, where it is trained here.
    unlabelled
        More texts to train word2vec on.
    random_state
        Seed of that training, and of the folds.

    Attributes
    ----------
    classes_
        The classes, sorted.
    counts_
        ClassCounts of the training texts, all words.
    words_
        The words that have a weight.

    Examples
    --------
    >>> vectors = Embeddings.from_arrays(["good", "bad", "film"], [[1, 0], [-1, 0], [0, 1]])
    >>> vectorizer = WeightedEmbeddingVectorizer(embeddings=vectors, scheme="tfcr")
    >>> vectorizer.fit_transform(["good film", "bad film"], ["pos", "neg"]).round(2)
    array([[ 0.  ,  1.  ,  0.67,  0.33],
           [-0.67,  0.33,  0.  ,  1.  ]], dtype=float32)
    >>> vectorizer.get_feature_names_out().tolist()
    ['neg__0', 'neg__1', 'pos__0', 'pos__1']
    """

    def __init__(
        self,
        *,
        embeddings: AnyEmbeddings = IN_DOMAIN,
        scheme: str | Scheme = "tfcr-log",
        tokenizer: str | AnyTokenizer = DEFAULT_TOKENIZER,
        averaging: str = "weights",
        blocks: str = "all",
        cross_fit: int = 0,
        min_count: float = 1,
        dimensions: int = 100,
        unlabelled: Iterable[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.embeddings = embeddings
        self.scheme = scheme
        self.tokenizer = tokenizer
        self.averaging = averaging
        self.blocks = blocks
        self.cross_fit = cross_fit
        self.min_count = min_count
        self.dimensions = dimensions
        self.unlabelled = unlabelled
        self.random_state = random_state

    def fit(
        self, X: Iterable[str], y: Iterable[Any], sample_weight: Iterable[float] | None = None
    ) -> "WeightedEmbeddingVectorizer":
        """Compute the weights from texts and labels."""
        self._fit_texts(X, y, sample_weight)
        return self

    def fit_transform(
        self, X: Iterable[str], y: Any = None, sample_weight: Iterable[float] | None = None
    ) -> NDArray[np.float32]:
        """Compute the weights, and return the document vectors of the same texts, cross-fitted if asked for."""
        documents, labels, weights = self._fit_texts(X, y, sample_weight)
        vectors = self.vectors_of(documents)
        if self.cross_fit:
            used = np.flatnonzero(weights > 0)
            some, numbers = documents.rows(used), np.searchsorted(self.classes_, labels[used])
            seed = check_seed(self.random_state) or 0
            cuts = cross_fitted(self._blocks, self.blocks_, some, numbers, weights[used], self.cross_fit, seed)
            for rows, blocks in cuts:
                cut = some.rows(rows)
                vectors[used[rows]] = document_vectors(cut.matrix, cut.lengths, blocks)
        return vectors

    def transform(self, X: Iterable[str]) -> NDArray[np.float32]:
        """Return the document vectors; float32 of shape (n_documents, n_columns)."""
        check_is_fitted(self)
        return self.vectors_of(count_words(X, self.tokenizer, self.words_))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns, ``class__dimension``."""
        check_is_fitted(self)
        return np.array(column_names(self.blocks_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        tags.requires_fit = True
        return tags

    def fit_counted(
        self, documents: CountedDocuments, labels: Labels, sample_weight: NDArray[np.float64], embeddings: Embeddings
    ) -> CountedDocuments:
        """Compute the weights from counted documents; return these, counted over the words that have a weight."""
        self.counts_, kept = count_classes(documents, labels, sample_weight, self.min_count)
        self.classes_ = self.counts_.classes
        self.words_ = kept.words
        self.coverage_ = embeddings.coverage(self.counts_)
        self.embeddings_name_ = embeddings.name
        self._vectors = vectors_of_words(embeddings, kept)
        over_words = documents.over(self.words_)
        self.blocks_: list[Block] = self._blocks(over_words, lambda: kept)
        return over_words

    def vectors_of(self, documents: CountedDocuments) -> NDArray[np.float32]:
        """Return the document vectors of texts counted over `words_`."""
        return document_vectors(documents.matrix, documents.lengths, self.blocks_)

    def _blocks(self, documents: CountedDocuments, counts: CountsOf) -> list[Block]:
        found = counts()
        weights = compute_weights(self.scheme, found)
        names = class_names(self.classes_)
        return make_blocks(self.blocks, weights, self._vectors, names, self.averaging, found.occurs())

    def _fit_texts(
        self, X: Iterable[str], y: Any, sample_weight: Iterable[float] | None
    ) -> tuple[CountedDocuments, Labels, NDArray[np.float64]]:
        """Compute the weights; return what they were computed from, counted over the words that have one."""
        resolve_scheme(self.scheme)
        check_blocks(self.blocks, self.averaging)
        check_cross_fit(self.cross_fit)
        check_seed(self.random_state)
        texts = check_texts(X)
        labels = check_labels(y, len(texts))
        weights = check_sample_weight(sample_weight, len(texts))
        check_classes(np.unique(labels[weights > 0]))
        documents = count_words(texts, self.tokenizer)
        embeddings = resolve_embeddings(
            self.embeddings,
            [text for text, weight in zip(texts, weights, strict=True) if weight > 0],
            dimensions=self.dimensions,
            unlabelled=self.unlabelled,
            tokenizer=self.tokenizer,
            random_state=self.random_state,
        )
        return self.fit_counted(documents, labels, weights, embeddings), labels, weights
