"""The table of parts: each by hand, against scikit-learn, and against what it says it needs."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr import ClassCounts, Embeddings
from tfcr.errors import InputError, UnknownNameError
from tfcr.features import parts
from tfcr.features.blocks import document_vectors
from tfcr.features.matrix import SparseFeatures, scaled_features
from tfcr.features.parts import (
    PARTS,
    RARE_NGRAM,
    CharacterNgrams,
    NgramLimits,
    PartSettings,
    PlainVectors,
)
from tfcr.text.documents import CountedDocuments, count_terms
from tfcr.text.pieces import Pieces, affixes_of, ngrams_of


@pytest.mark.parametrize("n_classes", [2, 4])
def test_words_are_tf_idf_with_linear_svc(n_classes: int) -> None:
    corpus = random_corpus(200, n_classes=n_classes)
    texts, labels = list(corpus.texts), np.array(corpus.labels)
    model = plain_classifier(parts=["words"], embeddings=None, class_weight=None).fit(texts, labels)
    tfidf = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")
    svc = LinearSVC(dual=False, tol=1e-8).fit(tfidf.fit_transform(texts), labels)
    expected = svc.decision_function(tfidf.transform(texts))
    np.testing.assert_allclose(model.decision_function(texts), expected, atol=2e-2)
    np.testing.assert_array_equal(model.predict(texts), svc.predict(tfidf.transform(texts)))


def test_bigrams_are_tf_idf_of_bigrams_with_linear_svc() -> None:
    corpus = random_corpus(300)
    texts, labels = list(corpus.texts), np.array(corpus.labels)
    model = plain_classifier(parts=["bigrams"], embeddings=None, class_weight=None).fit(texts, labels)
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+").fit(texts)
    documents = np.asarray((words.transform(texts) > 0).sum(axis=0)).ravel()
    kept = [term for term, number in words.vocabulary_.items() if " " not in term or documents[number] >= 2]
    tfidf = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+", sublinear_tf=True, vocabulary=kept)
    svc = LinearSVC(dual=False, tol=1e-8).fit(tfidf.fit_transform(texts), labels)
    assert sorted(model.table_.vocabulary.names) == sorted(kept)
    expected = svc.decision_function(tfidf.transform(texts))
    np.testing.assert_allclose(model.decision_function(texts), expected, atol=2e-2)


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=f"unknown part 'word'; known: {', '.join(PARTS)}. Did you mean 'words'"):
        plain_classifier(parts=["word"]).fit(["a b", "c d"], [0, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"parts": []}, rf"found parts=\[\]; expected a list of one or more of {', '.join(PARTS)}$"),
        ({"parts": "words"}, "found parts='words'; expected a list"),
        ({"embeddings": None}, "found embeddings=None and no part but 'vectors'"),
        (
            {"parts": ["plain", "vectors"], "embeddings": None},
            "found embeddings=None and no part but 'plain', 'vectors'",
        ),
        ({"parts": ["words"], "head": "ridge"}, "found head='ridge', which cannot use the sparse features of words"),
    ],
)
def test_parts_that_cannot_be_fitted_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plain_classifier(**parameters).fit(["a b", "c d"], [0, 1])


def settings(**changes: Any) -> PartSettings:
    given: dict[str, Any] = {
        "vectors": np.array([[1, 0], [0, 1], [1, 1]], np.float32),
        "class_names": ["x", "y"],
        "scheme": "tfcr",
        "blocks": "all",
        "averaging": "sum",
    }
    return PartSettings(**{**given, **changes})


def test_vectors_are_weighted_by_the_scheme() -> None:
    documents = count_terms(["a b", "c"])
    counts = ClassCounts.from_documents(documents, np.array([0, 1]))
    found = PARTS["vectors"].block_maker(settings())(documents, lambda: counts)
    assert [block.name for block in found] == ["x", "y"]
    assert [block.weights.tolist() for block in found] == [[0.5, 0.5, 0], [0, 0, 1]]
    assert all(block.averaging == "sum" for block in found)
    vectors = settings().vectors
    assert vectors is not None
    np.testing.assert_array_equal(found[0].vectors, vectors)
    own = PARTS["vectors"].block_maker(settings(blocks="own"))(documents, lambda: counts)
    assert "(mean)" in [block.name for block in own]


def test_the_mean_of_own_blocks_leaves_out_words_that_do_not_occur() -> None:
    documents = count_terms(["a b", "c"])
    counts = ClassCounts.from_documents(documents, np.array([0, 1]), sample_weight=np.array([1.0, 0.0]))
    own = PARTS["vectors"].block_maker(settings(blocks="own", scheme="none"))(documents, lambda: counts)
    assert [block.weights.tolist() for block in own if block.name == "(mean)"] == [[1, 1, 0]]


@pytest.mark.parametrize("part", ["words", "bigrams"])
def test_tf_idf_is_worked_by_hand(part: str) -> None:
    documents = count_terms(["so good so", "so good", "bad good so"], bigrams=True)
    names = documents.vocabulary.names
    assert names == ["bad", "good", "so", "good so", "so good"]
    [block] = PARTS[part].block_maker(settings())(documents, no_counts)
    expected = [math.log(4 / (1 + n)) + 1 for n in (1, 3, 3, 2, 2)]
    np.testing.assert_allclose(block.weights, expected, rtol=1e-6)
    assert block.weights.dtype == np.float32
    assert (block.name, block.vectors, block.averaging, block.output) == ("(words)", None, "unit", None)
    [fewer] = PARTS[part].block_maker(settings())(documents.rows(np.array([0, 2])), no_counts)
    expected = [math.log(3 / 2) + 1, 1, 1, 1, 0]  # a bigram of one document has no weight
    np.testing.assert_allclose(fewer.weights, expected, rtol=1e-6)


@pytest.mark.parametrize("name", PARTS)
def test_every_part_says_what_it_needs(name: str) -> None:
    part = PARTS[name]
    corpus = random_corpus(20)
    documents = count_terms(corpus.texts, bigrams=part.uses_bigrams)
    numbers = np.unique(corpus.labels, return_inverse=True)[1]
    counts = ClassCounts.from_documents(documents.only_words(), numbers)
    vectors = np.ones((documents.vocabulary.n_words, 2), np.float32) if part.needs_vectors else None
    table = Embeddings.from_arrays(documents.vocabulary.words, np.ones((documents.vocabulary.n_words, 2)))
    plain = [PlainVectors.of(table, documents.vocabulary.words, 3)] if part.needs_vectors else []
    ngrams = CharacterNgrams.of(documents, 3, part.ngrams) if part.ngrams else None
    asked: list[int] = []

    def counted() -> ClassCounts:
        asked.append(1)
        return counts

    needed = settings(vectors=vectors, class_names=["x", "y", "z"], plain=plain, ngrams=ngrams)
    made = part.block_maker(needed)(documents, counted)
    assert bool(asked) == part.supervised
    assert all(len(block.weights) == len(documents.vocabulary) for block in made)
    assert all(block.weights.dtype == np.float32 for block in made)
    assert any(block.name == "(characters)" for block in made) == (part.ngrams is not None)
    assert all(block.pieces is None or block.averaging == "unit" for block in made)
    features = scaled_features(documents, made, np.ones(20), 10**9).features
    assert isinstance(features, SparseFeatures) == part.sparse
    assert list(part.strengths) == sorted(part.strengths)
    assert len(part.strengths) > 0


# character n-grams -------------------------------------------------------------------------------------------------


def no_counts() -> ClassCounts:
    pytest.fail("no labels are needed")


def random_texts(n_documents: int, seed: int) -> list[str]:
    """Return texts of short words over few letters, which share n-grams, some words several times."""
    random = np.random.default_rng(seed)
    words = ["".join(random.choice(list("abcé"), random.integers(1, 7))) for _ in range(30)]
    return [" ".join(random.choice(words, random.integers(0, 9))) for _ in range(n_documents)]


def naive_characters(
    documents: CountedDocuments, names: Sequence[str], cut: Callable[[str], list[str]]
) -> NDArray[np.float64]:
    """Return the n-grams of each distinct word by TF-IDF, added up, and divided as if words were at right angles."""
    words, n_documents = documents.vocabulary.words, len(documents)
    counts = documents.only_words().matrix.toarray()
    idf = {}
    for name in names:
        frequency = sum(int((counts[:, number] > 0).sum()) for number, word in enumerate(words) if name in cut(word))
        idf[name] = math.log((1 + n_documents) / (1 + min(frequency, n_documents))) + 1 if frequency >= 2 else 0.0
    features = np.zeros((n_documents, len(names)))
    for document in range(n_documents):
        squares = 0.0
        for number in np.flatnonzero(counts[document]).tolist():
            sublinear = 1 + math.log(counts[document, number])
            vector = np.array([idf[name] if name in cut(words[number]) else 0.0 for name in names])
            features[document] += sublinear * vector
            squares += sublinear**2 * float(vector @ vector)
        features[document] /= math.sqrt(squares) or 1
    return features


@pytest.mark.parametrize("segmentation", ["ngrams", "affixes"])
@pytest.mark.parametrize("seed", range(3))
def test_characters_are_tf_idf_of_the_ngrams_of_distinct_words(segmentation: str, seed: int) -> None:
    documents = count_terms(random_texts(20, seed), bigrams=True)
    limits = NgramLimits(all=math.inf) if segmentation == "ngrams" else NgramLimits(all=0)
    ngrams = CharacterNgrams.of(documents, 3, limits)
    assert ngrams is not None
    cut = {"ngrams": ngrams_of, "affixes": affixes_of}[segmentation]
    assert ngrams.pieces.segmentation == segmentation
    [block] = PARTS["characters"].block_maker(settings(ngrams=ngrams))(documents, no_counts)
    expected = naive_characters(documents, ngrams.pieces.names, cut)
    np.testing.assert_allclose(document_vectors(documents, [block]), expected, rtol=1e-5, atol=1e-6)
    terms, same = PARTS["ngrams"].block_maker(settings(ngrams=ngrams))(documents, no_counts)
    assert (terms.name, same.name) == ("(words)", "(characters)")
    np.testing.assert_array_equal(document_vectors(documents, [same]), document_vectors(documents, [block]))
    assert not block.weights[documents.vocabulary.section("bigrams")].any()
    # without some documents, n-grams of the others have no weight, and keep their columns
    rest = documents.rows(np.arange(4))
    [fewer] = PARTS["characters"].block_maker(settings(ngrams=ngrams))(rest, no_counts)
    expected = naive_characters(rest, ngrams.pieces.names, cut)
    np.testing.assert_allclose(document_vectors(rest, [fewer]), expected, rtol=1e-5, atol=1e-6)
    assert (expected.sum(axis=0) == 0).any()


def test_characters_of_one_word_are_those_of_scikit_learn() -> None:
    """Where a document is one word, there is no angle between words."""
    random = np.random.default_rng(0)
    texts = ["".join(random.choice(list("abc"), random.integers(1, 6))) for _ in range(40)]
    documents = count_terms(texts)
    ngrams = CharacterNgrams.of(documents, 2, NgramLimits(all=math.inf))
    assert ngrams is not None
    [block] = PARTS["characters"].block_maker(settings(ngrams=ngrams))(documents, no_counts)
    tfidf = TfidfVectorizer(analyzer=ngrams_of, min_df=RARE_NGRAM, sublinear_tf=True)
    expected = tfidf.fit_transform(texts).toarray()
    assert ngrams.pieces.names == tfidf.get_feature_names_out().tolist()
    np.testing.assert_allclose(document_vectors(documents, [block]), expected, rtol=1e-5, atol=1e-6)


def test_the_idf_of_an_ngram_is_bounded_by_the_number_of_documents() -> None:
    """Both documents hold "a " twice: in four words, and yet in no more than two documents."""
    documents = count_terms(["ba ca", "da ea"])
    ngrams = CharacterNgrams.of(documents, 2, NgramLimits(all=math.inf))
    assert ngrams is not None
    assert ngrams.pieces.names == ["a "]
    [block] = PARTS["characters"].block_maker(settings(ngrams=ngrams))(documents, no_counts)
    assert block.pieces is not None
    assert block.pieces.weights.tolist() == [math.log(3 / 3) + 1]
    assert block.weights.tolist() == [1, 1, 1, 1]
    # the sum of two words at right angles has length √2, though here both have the same vector
    np.testing.assert_allclose(document_vectors(documents, [block]), [[math.sqrt(2)], [math.sqrt(2)]], rtol=1e-6)


def test_the_example_of_weight_and_vector() -> None:
    found = CharacterNgrams(Pieces(["go", "od"], "ngrams"), sp.csr_array(np.array([[1, 1], [1, 0]], np.float32)))
    documents = count_terms(["go", "go", "good"])
    [block] = PARTS["characters"].block_maker(settings(ngrams=replace(found, of_words=found.of_words[[1, 0]])))(
        documents, no_counts
    )
    assert documents.vocabulary.words == ["go", "good"]
    assert block.pieces is not None
    go, od = block.pieces.weights.tolist()
    assert (go, od) == (pytest.approx(1.0), 0)  # "od" is rare
    np.testing.assert_allclose(block.weights, [go, math.hypot(go, od)])
    two = count_terms(["go", "good", "good"])
    [block] = PARTS["characters"].block_maker(settings(ngrams=replace(found, of_words=found.of_words[[1, 0]])))(
        two, no_counts
    )
    go, od = 1.0, math.log(4 / 3) + 1
    np.testing.assert_allclose(block.weights, [go, math.hypot(go, od)], rtol=1e-6)
    assert sp.issparse(block.vectors)
    expected = np.array([[1, 0], [go / math.hypot(go, od), od / math.hypot(go, od)]])
    np.testing.assert_allclose(sp.csr_array(block.vectors).toarray(), expected, rtol=1e-6)


def test_how_many_ngrams_are_used_depends_on_the_work() -> None:
    limits = NgramLimits(all=100, affixes=50)
    expected = {100: "ngrams", 101: "affixes", 200: "affixes", 201: None}
    assert {work: limits.segmentation(work, length=10) for work in expected} == expected
    assert NgramLimits(all=100).segmentation(1e18, length=10) == "affixes"
    documents = count_terms(["abc de", "abc"])  # 2 · 4 · 3 and 1 · 4 · 2 n-grams, more or less
    for n_classes, work in [(1, 32), (3, 96)]:
        for limit, segmentation in [(work, "ngrams"), (work - 1, "affixes")]:
            found = CharacterNgrams.of(documents, n_classes, NgramLimits(all=limit))
            assert found is not None
            assert found.pieces.segmentation == segmentation
    assert CharacterNgrams.of(documents, 3, NgramLimits(all=0, affixes=0)) is None


def test_long_documents_have_all_ngrams_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = count_terms(["ab cd ef ab", "gh"])  # two different words in the mean
    few, many = NgramLimits(all=0), NgramLimits(all=1e9)
    monkeypatch.setattr(parts, "LONG_DOCUMENTS", 2)
    assert CharacterNgrams.of(documents, 3, few) is not None
    monkeypatch.setattr(parts, "LONG_DOCUMENTS", 1.9)
    assert CharacterNgrams.of(documents, 3, few) is None
    assert CharacterNgrams.of(documents, 3, many) is not None


def test_a_part_does_without_ngrams_where_there_would_be_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = random_corpus(40)
    limits = {"all": NgramLimits(math.inf), "affixes": NgramLimits(0), "none": NgramLimits(0, 0)}
    segmentations = {}
    for name, some in limits.items():
        monkeypatch.setitem(PARTS, "lexical", replace(PARTS["lexical"], ngrams=some))
        model = plain_classifier(parts=["lexical"], embeddings=None).fit(corpus.texts, corpus.labels)
        segmentations[name] = [table.pieces.segmentation for table in model.table_.pieces]
        assert model.score(corpus.texts, corpus.labels) == 1
    assert segmentations == {"all": ["ngrams"], "affixes": ["affixes"], "none": []}
    words = plain_classifier(parts=["words"], embeddings=None).fit(corpus.texts, corpus.labels)
    np.testing.assert_allclose(  # the last of them is TF-IDF of words
        model.decision_function(corpus.texts), words.decision_function(corpus.texts), atol=1e-6
    )


def test_parts_with_the_same_limits_share_their_ngrams(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[NgramLimits] = []
    find = CharacterNgrams.of.__func__  # type: ignore[attr-defined]

    def counted(cls: Any, documents: Any, n_classes: int, limits: NgramLimits) -> Any:
        made.append(limits)
        return find(cls, documents, n_classes, limits)

    monkeypatch.setattr(CharacterNgrams, "of", classmethod(counted))
    corpus = random_corpus(20)
    plain_classifier(parts=["characters", "ngrams", "lexical", "words"], embeddings=None).fit(
        corpus.texts, corpus.labels
    )
    assert sorted(made, key=repr) == sorted({PARTS["ngrams"].ngrams, PARTS["lexical"].ngrams}, key=repr)


def test_no_ngram_in_two_documents_leaves_scores_without_knowledge() -> None:
    texts, labels = ["ab", "cd", "ef", "gh"], [0, 1, 0, 1]
    for C in (1.0, None):
        model = plain_classifier(parts=["characters"], embeddings=None, C=C).fit(texts, labels)
        assert model.decision_function([*texts, "zz"]).tolist() == [0] * 5
        model = plain_classifier(parts=["characters", "words"], embeddings=None, C=C).fit(texts, labels)
        assert model.predict(texts).tolist() == labels


# plain vectors -----------------------------------------------------------------------------------------------------


def naive_plain(
    documents: CountedDocuments, vector_of: Callable[[str], tuple[NDArray[np.float64], float]], dimensions: int
) -> NDArray[np.float64]:
    """Return the sum of vectors with sublinear counts, divided by the root of the sum of their squared lengths."""
    counts = documents.matrix.toarray()
    features = np.zeros((len(documents), dimensions))
    for document in range(len(documents)):
        squares = 0.0
        for number in np.flatnonzero(counts[document]).tolist():
            sublinear = 1 + math.log(counts[document, number])
            vector, square = vector_of(documents.vocabulary.words[number])
            features[document] += sublinear * vector
            squares += sublinear**2 * square
        features[document] /= math.sqrt(squares) or 1
    return features


@pytest.mark.parametrize("seed", range(3))
def test_plain_vectors_are_added_up_to_unit_length(seed: int) -> None:
    documents = count_terms(random_texts(20, seed))
    random = np.random.default_rng(seed)
    words = documents.vocabulary.words
    known = [word for number, word in enumerate(words) if number % 4]  # some have no vector
    table = Embeddings.from_arrays([*known, "more"], random.normal(size=(len(known) + 1, 3)))
    of_word = {word: table[word].astype(np.float64) for word in known}

    def vector_of(word: str) -> tuple[NDArray[np.float64], float]:
        vector = of_word.get(word, np.zeros(3))
        return vector, float(vector @ vector)

    [block] = PARTS["plain"].block_maker(settings(plain=[PlainVectors.of(table, words, 3)]))(documents, no_counts)
    expected = naive_plain(documents, vector_of, 3)
    np.testing.assert_allclose(document_vectors(documents, [block]), expected, rtol=1e-5, atol=1e-6)
    assert (block.name, block.averaging, block.output) == ("(plain)", "unit", None)
    assert block.pieces is not None
    assert block.pieces.pieces.names == [" more "]  # the others are words of the table
    assert block.pieces.pieces.segmentation == "whole"


@pytest.mark.parametrize("segmentation", ["longest", "merge"])
@pytest.mark.parametrize("seed", range(3))
def test_plain_sub_words_are_added_up(segmentation: str, seed: int) -> None:
    documents = count_terms(random_texts(20, seed))
    random = np.random.default_rng(seed)
    names = [" ", "a", "b", " a", "ab", "bb", "abc", "éa"]  # no "c": some words have no piece but " "
    table = Embeddings.from_arrays(names, random.normal(size=(len(names), 3)), segmentation=segmentation)
    vectors = table.vectors.astype(np.float64)

    def vector_of(word: str) -> tuple[NDArray[np.float64], float]:
        pieces = vectors[Pieces(names, segmentation).of_word(word)]
        return pieces.sum(axis=0), float((pieces**2).sum())

    words = documents.vocabulary.words
    assert any(
        len(set(found)) < len(found) for found in map(Pieces(names, segmentation).of_word, words)
    )  # a piece twice
    [block] = PARTS["plain"].block_maker(settings(plain=[PlainVectors.of(table, words, 3)]))(documents, no_counts)
    expected = naive_plain(documents, vector_of, 3)
    np.testing.assert_allclose(document_vectors(documents, [block]), expected, rtol=1e-5, atol=1e-6)


def test_each_kind_of_plain_vectors_is_a_block() -> None:
    documents = count_terms(["a b", "b"])
    one = Embeddings.from_arrays(["a"], [[3.0, 4.0]])
    two = Embeddings.from_arrays(["b", " "], [[2.0], [1.0]], segmentation="longest")
    plain = [PlainVectors.of(table, documents.vocabulary.words, 3) for table in (one, two)]
    first, second = PARTS["plain"].block_maker(settings(plain=plain))(documents, no_counts)
    assert first.weights.tolist() == [5, 0]
    np.testing.assert_allclose(first.vectors, [[0.6, 0.8], [0, 0]], rtol=1e-6)  # type: ignore[arg-type]
    np.testing.assert_allclose(second.weights, [1, math.sqrt(5)], rtol=1e-6)
    np.testing.assert_allclose(second.vectors, [[1], [3 / math.sqrt(5)]], rtol=1e-6)  # type: ignore[arg-type]


def test_a_model_keeps_as_many_unseen_words_as_the_limits_say(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Embeddings.from_arrays(["frequent", "seen", "often", "rare"], np.eye(4))

    def pieces(n_classes: int) -> Sequence[str]:
        found = PlainVectors.of(table, ["rare", "seen"], n_classes)
        assert found.vectors.tolist() == [[0, 0, 0, 1], [0, 1, 0, 0]]  # training saw both: their vectors are used
        np.testing.assert_array_equal(found.piece_vectors, [table[name.strip()] for name in found.pieces.names])
        return found.pieces.names

    assert pieces(2) == [" frequent ", " often "]
    monkeypatch.setattr(parts, "UNSEEN_SCORES", 6)
    assert pieces(2) == [" frequent ", " often "]  # of the first three
    assert pieces(3) == [" frequent "]
    monkeypatch.setattr(parts, "UNSEEN_WORDS", 1)
    assert pieces(2) == [" frequent "]
    sub_words = Embeddings.from_arrays(["a", "b", "c"], np.eye(3), segmentation="longest")
    assert len(PlainVectors.of(sub_words, [], 9).pieces) == 3  # all: a word may hold any


# the scale of vectors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocks", ["own", "all"])
def test_the_scale_of_a_file_of_vectors_does_not_matter(blocks: str) -> None:
    corpus = random_corpus(90)
    vectors = random_vectors(corpus)
    scaled = Embeddings.from_arrays(vectors.words, vectors.vectors * 100)
    scores = [
        plain_classifier(parts=["vectors", "plain"], embeddings=table, blocks=blocks)
        .fit(corpus.texts, corpus.labels)
        .decision_function(corpus.texts)
        for table in (vectors, scaled)
    ]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-2, atol=1e-2)
