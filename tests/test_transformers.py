"""Document vectors against plain loops, and the transformers against scikit-learn's own checks."""

import itertools
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.conftest import random_corpus, random_vectors
from tfcr import (
    SCHEMES,
    ClassCounts,
    Embeddings,
    TfcrWarning,
    WeightedEmbeddingTransformer,
    WeightedEmbeddingVectorizer,
)
from tfcr.data import Corpus
from tfcr.errors import EmbeddingsError, InputError, UnknownNameError
from tfcr.features.blocks import AVERAGINGS, BLOCKS


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        WeightedEmbeddingTransformer(),
        WeightedEmbeddingTransformer(scheme="tfidf", averaging="length"),
        WeightedEmbeddingTransformer(scheme="tfcr", blocks="own", averaging="sum"),
    ]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def naive_vector(
    tokens: list[str], weight: dict[tuple[str, str], float], vectors: Embeddings, classes: list[str], averaging: str
) -> list[float]:
    """Go word by word, like the author's program."""
    row: list[float] = []
    for label in classes:
        block, total, squares = np.zeros(vectors.dimensions), 0.0, 0.0
        for token, count in Counter(tokens).items():
            w = weight.get((token, label), 0.0) * (1 + np.log(count) if averaging == "unit" else count)
            total += w
            squares += w * w
            if token in vectors:
                block += w * vectors[token]
        divisor = {"weights": total, "length": len(tokens), "sum": 1, "unit": np.sqrt(squares)}[averaging]
        row += (block / divisor if divisor else block * 0).tolist()
    return row


@cache
def fitted_vectorizer(scheme: str, averaging: str) -> tuple[WeightedEmbeddingVectorizer, dict[tuple[str, str], float]]:
    """Return a vectorizer, and the weight of each word in each class; fitted once for all examples."""
    corpus = random_corpus(40)
    counts = ClassCounts.from_texts(corpus.texts, corpus.labels)
    weights = SCHEMES[scheme](counts)
    classes = counts.classes.tolist() if weights.shape[1] > 1 else ["all"]
    table = {
        (word, label): float(weights[row, column])
        for row, word in enumerate(counts.words)
        for column, label in enumerate(classes)
    }
    vectorizer = WeightedEmbeddingVectorizer(embeddings=random_vectors(corpus), scheme=scheme, averaging=averaging)
    return vectorizer.fit(corpus.texts, corpus.labels), table


@pytest.mark.parametrize(("scheme", "averaging"), list(itertools.product(SCHEMES, AVERAGINGS)))
@given(st.lists(st.lists(st.sampled_from(["w0_1", "w1_2", "common3", "common4", "new", "a"]), max_size=8), max_size=5))
def test_features_equal_a_plain_loop(scheme: str, averaging: str, documents: list[list[str]]) -> None:
    vectorizer, table = fitted_vectorizer(scheme, averaging)
    classes = list(dict.fromkeys(label for _, label in table))
    found = vectorizer.transform([" ".join(tokens) for tokens in documents])
    vectors = vectorizer.embeddings
    assert isinstance(vectors, Embeddings)
    expected = [naive_vector(tokens, table, vectors, classes, averaging) for tokens in documents]
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.reshape(expected, found.shape), rtol=1e-5, atol=1e-5)


def test_own_blocks_add_the_mean_and_the_mass_of_each_class(corpus: Corpus, vectors: Embeddings) -> None:
    settings: dict[str, Any] = {"embeddings": vectors, "scheme": "tfcr-log"}
    every = WeightedEmbeddingVectorizer(**settings).fit_transform(corpus.texts, corpus.labels)
    mean = WeightedEmbeddingVectorizer(embeddings=vectors, scheme="none").fit_transform(corpus.texts, corpus.labels)
    vectorizer = WeightedEmbeddingVectorizer(**settings, blocks="own").fit(corpus.texts, corpus.labels)
    own = vectorizer.transform(corpus.texts)
    np.testing.assert_array_equal(own[:, :24], every)
    np.testing.assert_allclose(own[:, 24:32], mean, rtol=1e-6)
    weights = SCHEMES["tfcr-log"](vectorizer.counts_)
    tokens = [vectorizer.counts_.words.index(token) for token in corpus.texts[0].split()]
    sums = weights[tokens].sum(axis=0)
    known = vectors.of_words(vectorizer.counts_.words)
    length = np.sqrt(np.square(known).sum(axis=1)[known.any(axis=1)].mean())
    np.testing.assert_allclose(own[0, 32:], sums / sums.sum() * length / 7, rtol=1e-5)
    names = vectorizer.get_feature_names_out().tolist()
    assert names[:2] == ["class 0__0", "class 0__1"]
    assert names[24] == "(mean)__0"
    assert names[-1] == "class 2__mass"


def test_the_transformer_does_the_same_from_counts(corpus: Corpus, vectors: Embeddings) -> None:
    vectorizer = WeightedEmbeddingVectorizer(embeddings=vectors)
    expected = vectorizer.fit_transform(corpus.texts, corpus.labels)
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(token_pattern=r"\w+")
    counts = counter.fit_transform(corpus.texts)
    words = counter.get_feature_names_out().tolist()
    found = WeightedEmbeddingTransformer(embeddings=vectors, words=words).fit_transform(counts, corpus.labels)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    as_array = WeightedEmbeddingTransformer(embeddings=vectors.of_words(words))
    np.testing.assert_allclose(as_array.fit_transform(counts, corpus.labels), expected, rtol=1e-6)
    dense = WeightedEmbeddingTransformer(embeddings=vectors, words=words)
    np.testing.assert_allclose(dense.fit_transform(counts.toarray(), corpus.labels), expected, rtol=1e-6)


def test_a_data_frame_names_its_words() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"good": [1, 0], "bad": [0, 1]})
    vectors = Embeddings.from_arrays(["bad", "good"], [[1, 0], [0, 1]])
    found = WeightedEmbeddingTransformer(embeddings=vectors, scheme="none").fit_transform(frame, ["p", "n"])
    assert found.tolist() == [[0, 1], [1, 0]]


def test_identity_without_embeddings() -> None:
    transformer = WeightedEmbeddingTransformer(scheme="none", averaging="sum")
    counts = np.array([[2, 0], [1, 3]])
    np.testing.assert_array_equal(transformer.fit_transform(counts, [0, 1]), counts)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"embeddings": Embeddings.from_arrays(["a"], [[1]])}, "found embeddings but no words"),
        ({"words": ["a"]}, "found 1 words and 2 columns"),
        ({"embeddings": np.full((2, 2), np.nan)}, "found NaN or infinity in the embeddings"),
        ({"embeddings": np.ones((3, 2))}, r"found embeddings of shape \(3, 2\)"),
        ({"scheme": "tf"}, "unknown scheme 'tf'"),
        ({"averaging": "mean"}, "unknown averaging 'mean'; known: weights, length, sum"),
        ({"blocks": "each"}, "unknown blocks 'each'; known: all, own"),
    ],
)
def test_bad_parameters_of_the_transformer(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WeightedEmbeddingTransformer(**parameters).fit(sp.eye_array(2), [0, 1])


def test_min_count_takes_rare_words_out_but_not_out_of_the_counts() -> None:
    texts, labels = ["a a b", "c c a"], ["x", "y"]
    vectors = Embeddings.from_arrays(["a", "b", "c"], np.eye(3))
    vectorizer = WeightedEmbeddingVectorizer(embeddings=vectors, scheme="none", min_count=2, averaging="sum")
    assert vectorizer.fit_transform(texts, labels).tolist() == [[2, 0, 0], [1, 0, 2]]
    assert vectorizer.counts_.words == ["a", "b", "c"]
    assert vectorizer.words_ == ["a", "c"]
    transformer = WeightedEmbeddingTransformer(scheme="none", min_count=2, averaging="sum")
    assert transformer.fit_transform([[2, 1, 0], [1, 0, 2]], labels).tolist() == [[2, 0, 0], [1, 0, 2]]


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output(container: str, corpus: Corpus, vectors: Embeddings) -> None:
    vectorizer = WeightedEmbeddingVectorizer(embeddings=vectors).set_output(transform=container)
    frame = vectorizer.fit_transform(corpus.texts, corpus.labels)
    assert list(frame.columns) == vectorizer.get_feature_names_out().tolist()
    assert frame.shape == (120, 24)


def test_in_a_pipeline(corpus: Corpus, vectors: Embeddings) -> None:
    pipeline = make_pipeline(WeightedEmbeddingVectorizer(embeddings=vectors), LinearSVC())
    assert pipeline.fit(corpus.texts, corpus.labels).score(corpus.texts, corpus.labels) > 0.9


def test_no_word_has_a_vector(corpus: Corpus) -> None:
    foreign = Embeddings.from_arrays(["lait", "pain"], [[1, 0], [0, 1]])
    with pytest.raises(EmbeddingsError, match="none of the .* words of the corpus .*has a vector in arrays"):
        WeightedEmbeddingVectorizer(embeddings=foreign).fit(corpus.texts, corpus.labels)


def test_low_coverage_is_reported_and_the_work_goes_on(corpus: Corpus) -> None:
    few = Embeddings.from_arrays(["common1"], [[1, 0]])
    with pytest.warns(TfcrWarning, match=r"only \d+% of the tokens .* have a vector in arrays"):
        WeightedEmbeddingVectorizer(embeddings=few).fit(corpus.texts, corpus.labels)


def test_empty_documents_are_reported_and_the_work_goes_on(corpus: Corpus, vectors: Embeddings) -> None:
    texts, labels = [*corpus.texts, "", "?!"], [*corpus.labels, "class 0", "class 1"]
    with pytest.warns(TfcrWarning, match="2 of 122 texts contain no words, the first is number 120"):
        features = WeightedEmbeddingVectorizer(embeddings=vectors).fit_transform(texts, labels)
    assert (features[-2:] == 0).all()


def test_no_words_at_all(vectors: Embeddings) -> None:
    with pytest.warns(TfcrWarning), pytest.raises(InputError, match="found no word that occurs 1 times in 2 texts"):
        WeightedEmbeddingVectorizer(embeddings=vectors).fit(["", "!"], ["x", "y"])


def test_weight_zero_leaves_no_trace_but_is_transformed(corpus: Corpus, vectors: Embeddings) -> None:
    extra = WeightedEmbeddingVectorizer(embeddings=vectors)
    texts, labels = [*corpus.texts, "gone w0_1"], [*corpus.labels, "class 9"]
    features = extra.fit_transform(texts, labels, sample_weight=[1] * 120 + [0])
    plain = WeightedEmbeddingVectorizer(embeddings=vectors)
    np.testing.assert_allclose(features[:120], plain.fit_transform(corpus.texts, corpus.labels), atol=1e-6)
    assert features.shape == (121, 24)
    assert "gone" not in extra.words_


def test_the_plain_mean_leaves_out_what_training_does_not_know() -> None:
    counts = np.array([[3, 0, 2, 0], [3, 3, 0, 0]])
    transformer = WeightedEmbeddingTransformer(
        embeddings=np.eye(4), scheme="none", blocks="own", min_count=3, averaging="sum"
    ).fit(counts, ["x", "y"])
    assert transformer.transform([[0, 0, 5, 5]]).tolist() == [[0] * 8]


def test_transform_leaves_the_matrix_alone() -> None:
    X = sp.csr_array((np.array([1.0, 0.0, 2.0]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2))
    WeightedEmbeddingTransformer().fit(X, [0, 1]).transform(X)
    assert X.data.tolist() == [1, 0, 2]


def test_tables_are_covered_here() -> None:
    assert (set(AVERAGINGS), set(BLOCKS)) == ({"weights", "length", "sum", "unit"}, {"all", "own"})
    with pytest.raises(UnknownNameError):
        WeightedEmbeddingVectorizer(embeddings=Embeddings.from_arrays(["a"], [[1.0]]), blocks="no").fit(
            ["a", "a b"], ["x", "y"]
        )


def test_counts_below_one_keep_their_sign() -> None:
    """A matrix of fractions, say, has counts whose logarithm is below -1."""
    counts = np.array([[0.1, 0.0, 1.0], [0.0, 0.2, 3.0]])
    transformer = WeightedEmbeddingTransformer(scheme="none", averaging="unit", min_count=0)
    found = transformer.fit_transform(counts, ["x", "y"])
    sublinear = np.array([[0.1, 0.0, 1.0], [0.0, 0.2, 1 + np.log(3)]])
    np.testing.assert_allclose(found, sublinear / np.linalg.norm(sublinear, axis=1, keepdims=True), rtol=1e-6)


def test_a_seed_that_is_none_is_refused(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="found random_state=-1; expected a whole number from 0"):
        WeightedEmbeddingVectorizer(random_state=-1).fit(corpus.texts, corpus.labels)
