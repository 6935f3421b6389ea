"""Document vectors as scikit-learn transformers: from a count matrix, and from text."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from tfcr.embeddings import AnyEmbeddings, Embeddings, resolve_embeddings
from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.errors import InputError, shown
from tfcr.features.blocks import Block, check_blocks, column_names, document_vectors, make_blocks
from tfcr.features.checks import check_classes, check_seed, class_names, count_classes, vectors_of_words
from tfcr.features.cross_fit import check_cross_fit, cross_fit_blocks
from tfcr.features.parts import PartSettings, vector_blocks
from tfcr.schemes import Scheme, compute_weights, resolve_scheme
from tfcr.system.parameters import DIMENSIONS, MIN_COUNT, UNLABELLED, Parameter, check_all
from tfcr.text.class_counts import ClassCounts, check_sample_weight, check_targets
from tfcr.text.documents import CountedDocuments, check_texts, count_terms
from tfcr.text.label_sets import AnyLabels, class_numbers, classes_of
from tfcr.text.shards import Documents
from tfcr.text.tokenizers import DEFAULT_TOKENIZER, AnyTokenizer, resolve_tokenizer
from tfcr.text.vocabulary import Vocabulary

SOURCE = Parameter(
    "embeddings",
    lambda value: isinstance(value, Embeddings | str | os.PathLike),
    "vectors: an Embeddings, a path, a known name, or 'w2v'",
)


class WeightedEmbeddingTransformer(TransformerMixin, BaseEstimator):
    """Turn a matrix of word counts into document vectors weighted by class.

    Parameters
    ----------
    embeddings
        An Embeddings, a path or a known name, with the words of the columns in `words`; an array of shape
        (n_words, dimensions), one row per column; or None: each word is a dimension of its own.
    words
        The word of each column. Not needed for a data frame with one column per word.
    scheme
        A name of SCHEMES, or a callable from ClassCounts to weights.
    averaging
        The divisor of each block: ``weights`` (the sum of the document's weights), ``length`` (all its tokens), ``sum``
        (1) or ``unit`` (the L2 norm, with sublinear counts).
    blocks
        ``all``: one block per class. ``own``: the same, the unweighted mean, and each class's mass.
    min_count
        Words that occur less often in training have no weight.

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
        MIN_COUNT.check(self.min_count)
        resolve_scheme(self.scheme)
        check_blocks(self.blocks, self.averaging)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_non_negative(X, "WeightedEmbeddingTransformer.fit")
        check_classification_targets(y)
        weights = check_sample_weight(sample_weight, len(y))
        used = np.flatnonzero(weights > 0)
        self._vocabulary = Vocabulary(self._column_words(X.shape[1]))
        documents = _as_documents(sp.csr_array(X)[used], self._vocabulary)
        self.counts_ = ClassCounts.from_documents(documents, y[used], sample_weight=weights[used])
        self.classes_ = self.counts_.classes
        check_classes(self.classes_)
        known = self.counts_.occurs(self.min_count)
        self.blocks_ = make_blocks(
            self.blocks,
            compute_weights(self.scheme, self.counts_) * known[:, None].astype(np.float32),
            self._column_vectors(self._vocabulary.words),
            class_names(self.classes_),
            self.averaging,
            known,
        )
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the document vectors; float32 of shape (n_documents, n_columns)."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return document_vectors(_as_documents(sp.csr_array(X), self._vocabulary), self.blocks_)

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Iterable[float] | None = None) -> NDArray[np.float32]:
        """Compute the weights and return the document vectors of the same counts."""
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
        if isinstance(words, str) or not isinstance(words, Sequence | np.ndarray):
            raise InputError(f"found words={shown(words)}; expected the word of each column, a list of strings")
        if len(words) != n_columns:
            raise InputError(f"found {len(words)} words and {n_columns} columns; expected the same number of each")
        return [str(word) for word in words]

    def _column_vectors(self, words: Sequence[str]) -> NDArray[np.float32] | None:
        if self.embeddings is None:
            return None
        if isinstance(self.embeddings, Embeddings | str | os.PathLike):
            return vectors_of_words(resolve_embeddings(self.embeddings, []), self.counts_)
        try:
            vectors = np.asarray(self.embeddings, np.float32)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"found embeddings={shown(self.embeddings)}; expected vectors by name, path, Embeddings or array"
            ) from None
        if not np.isfinite(vectors).all():
            raise InputError("found NaN or infinity in the embeddings; expected numbers")
        if vectors.ndim != 2 or len(vectors) != len(words):
            raise InputError(
                f"found embeddings of shape {vectors.shape}; expected one row for each of {len(words)} columns"
            )
        return vectors


def _as_documents(counts: sp.csr_array, vocabulary: Vocabulary) -> CountedDocuments:
    if not counts.data.all():
        counts = counts.copy()  # the caller's matrix must not change
        counts.eliminate_zeros()
    return CountedDocuments(vocabulary, counts, np.asarray(counts.sum(axis=1)))


class WeightedEmbeddingVectorizer(TransformerMixin, BaseEstimator):
    """Turn texts into document vectors weighted by class: N blocks of d columns, one per class.

    Parameters
    ----------
    embeddings
        An Embeddings, a path, a known name, or ``"w2v"``: train word2vec on the texts given to `fit`.
    scheme
        A name of SCHEMES, or a callable from ClassCounts to weights.
    tokenizer
        A name of TOKENIZERS, or a callable from a text to its tokens.
    averaging
        The divisor of each block: ``weights`` (the sum of the document's weights), ``length`` (all its tokens), ``sum``
        (1) or ``unit`` (the L2 norm, with sublinear counts).
    blocks
        ``all``: one block per class. ``own``: the same, the unweighted mean, and each class's mass.
    cross_fit
        Number of folds for cross-fitting the class weights, as scikit-learn's TargetEncoder does; then
        ``fit_transform(X, y)`` differs from ``fit(X, y).transform(X)``. 0: no cross-fitting.
    min_count
        Words that occur less often in training have no weight.
    dimensions
        Of word2vec, if it is trained here.
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
        The words that have a weight, in the order of `vocabulary_`.

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
        self, X: Iterable[str], y: Any, sample_weight: Iterable[float] | None = None
    ) -> "WeightedEmbeddingVectorizer":
        """Compute the weights from texts and labels: one for each text, or several as in `TfcrClassifier.fit`."""
        self._fit_texts(X, y, sample_weight)
        return self

    def fit_transform(
        self, X: Iterable[str], y: Any = None, sample_weight: Iterable[float] | None = None
    ) -> NDArray[np.float32]:
        """Compute the weights and return the document vectors of the same texts, cross-fitted if asked for."""
        documents, labels, weights = self._fit_texts(X, y, sample_weight)
        vectors = self.vectors_of(documents)
        if self.cross_fit:
            used = np.flatnonzero(weights > 0)
            some, numbers = documents.rows(used), class_numbers(labels[used], self.classes_)
            seed = check_seed(self.random_state) or 0
            for rows, blocks in cross_fit_blocks(
                self._blocks, self.blocks_, some, numbers, weights[used], self.cross_fit, seed
            ):
                vectors[used[rows]] = document_vectors(some.rows(rows), blocks)
        return vectors

    def transform(self, X: Iterable[str]) -> NDArray[np.float32]:
        """Return the document vectors; float32 of shape (n_documents, n_columns)."""
        check_is_fitted(self)
        return self.vectors_of(count_terms(X, self.tokenizer, self.vocabulary_))

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

    @property
    def words_(self) -> Sequence[str]:
        """The words that have a weight."""
        return self.vocabulary_.words

    def fit_counted(
        self, documents: CountedDocuments, labels: AnyLabels, sample_weight: NDArray[np.float64], embeddings: Embeddings
    ) -> CountedDocuments:
        """Compute the weights from counted documents; return these, counted over the words that have a weight."""
        self.counts_, kept = count_classes(documents, labels, sample_weight, self.min_count)
        self.classes_ = self.counts_.classes
        self._vectors = vectors_of_words(embeddings, kept)
        documents = documents.over_words(self.counts_.occurs(self.min_count))
        self.vocabulary_ = documents.vocabulary
        self.blocks_: list[Block] = self._blocks(documents, lambda: kept)
        return documents

    def vectors_of(self, documents: CountedDocuments) -> NDArray[np.float32]:
        """Return the document vectors of texts counted over `vocabulary_`."""
        return document_vectors(documents, self.blocks_)

    def _blocks(self, documents: Documents, counts: Callable[[], ClassCounts]) -> list[Block]:
        names = class_names(self.classes_)
        settings = PartSettings(self._vectors, names, self.scheme, self.blocks, self.averaging)
        return vector_blocks(documents, counts, settings)

    def _fit_texts(
        self, X: Iterable[str], y: Any, sample_weight: Iterable[float] | None
    ) -> tuple[CountedDocuments, AnyLabels, NDArray[np.float64]]:
        """Compute the weights; return what they were computed from, counted over the words that have a weight."""
        check_all((SOURCE, MIN_COUNT, DIMENSIONS, UNLABELLED), vars(self))
        resolve_scheme(self.scheme)
        resolve_tokenizer(self.tokenizer)
        check_blocks(self.blocks, self.averaging)
        check_cross_fit(self.cross_fit)
        check_seed(self.random_state)
        texts = check_texts(X)
        labels = check_targets(y, len(texts))
        weights = check_sample_weight(sample_weight, len(texts))
        check_classes(classes_of(labels[weights > 0]))
        documents = count_terms(texts, self.tokenizer)
        embeddings = resolve_embeddings(
            self.embeddings,
            [text for text, weight in zip(texts, weights, strict=True) if weight > 0],
            dimensions=self.dimensions,
            unlabelled=self.unlabelled,
            tokenizer=self.tokenizer,
            random_state=self.random_state,
        )
        return self.fit_counted(documents, labels, weights, embeddings), labels, weights
