"""Several parts in one score: each against scikit-learn, their shares, and the one table that they become."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from tests.conftest import random_corpus
from tfcr import Embeddings, TfcrClassifier, load
from tfcr.errors import InputError, ModelError, UnknownNameError
from tfcr.evaluation import compare, cross_validate
from tfcr.heads.base import Targets
from tfcr.heads.stacking import FOLDS, _held_out, _macro_f1, lean, learn_part_weights
from tfcr.text.bigrams import KnownTerms, count_terms
from tfcr.text.documents import CountedDocuments, count_words
from tfcr.text.native_counts import BigramLexicon, ByteCounter, Lexicon, TermMerger, number_tokens
from tfcr.text.tokenizers import TOKENIZERS


def targets(labels: Any) -> Targets:
    numbers = np.asarray(labels)
    n_classes = int(numbers.max()) + 1
    return Targets(numbers, n_classes, np.ones(len(numbers)), np.ones(n_classes))


def vectors_for(texts: list[str], seed: int = 0) -> Embeddings:
    words = sorted({word for text in texts for word in text.split()})
    return Embeddings.from_arrays(words, np.random.default_rng(seed).normal(size=(len(words), 5)))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_words_are_tf_idf_with_linear_svc(n_classes: int) -> None:
    corpus = random_corpus(200, n_classes=n_classes)
    texts, labels = list(corpus.texts), np.array(corpus.labels)
    model = TfcrClassifier(parts=["words"], embeddings=None, class_weight=None).fit(texts, labels)
    tfidf = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+")
    svc = LinearSVC(dual=False, tol=1e-8).fit(tfidf.fit_transform(texts), labels)
    expected = svc.decision_function(tfidf.transform(texts))
    np.testing.assert_allclose(model.decision_function(texts), expected, atol=2e-2)
    np.testing.assert_array_equal(model.predict(texts), svc.predict(tfidf.transform(texts)))


@pytest.mark.parametrize("parts", [["words", "vectors"], ["bigrams"], ["words", "bigrams", "vectors"]])
@pytest.mark.parametrize("blocks", ["all", "own"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_the_words_add_adds_up_to_the_score(n_classes: int, blocks: str, parts: list[str], tmp_path: Path) -> None:
    corpus = random_corpus(150, n_classes=n_classes)
    texts = list(corpus.texts)
    model = TfcrClassifier(parts=parts, embeddings=vectors_for(texts), blocks=blocks, C=None)
    model.fit(texts, corpus.labels)
    for text in [*texts[:5], texts[0] * 3, "", "never seen"]:
        told = model.explain(text)
        added = told.baseline + sum((word.contributions for word in told.words), np.zeros(n_classes))
        np.testing.assert_allclose(added, told.scores, atol=1e-4)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(texts), model.decision_function(texts))
    assert again.part_weights_ == model.part_weights_


def test_a_part_that_knows_nothing_gets_no_share() -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, 2000)
    knows = np.eye(3)[labels] + random.normal(size=(2000, 3))
    shares = learn_part_weights([knows, random.normal(size=(2000, 3))], targets(labels))
    assert shares[0] > 0.5
    assert shares[1] < 0.05 * shares[0]


def test_two_parts_that_err_differently_are_better_than_each() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(0, 4, 4000)
    parts = [np.eye(4)[labels] + random.normal(size=(4000, 4)) for _ in range(2)]
    shares = learn_part_weights(parts, targets(labels))
    assert shares[0] == pytest.approx(shares[1], rel=0.1)
    together = shares[0] * parts[0] + shares[1] * parts[1]
    each = [np.mean(part.argmax(axis=1) == labels) for part in parts]
    assert np.mean(together.argmax(axis=1) == labels) > max(each) + 0.05


def test_rare_classes_are_leaned_to_where_that_helps() -> None:
    random = np.random.default_rng(2)
    labels = np.where(random.uniform(size=5000) < 0.1, 1, 0)
    training = Targets(labels, 2, np.ones(5000), 2500 / np.bincount(labels))
    scores = (np.where(labels, 1.0, -1.0) + random.normal(size=5000) - 2)[:, None]  # shy of the rare class
    offsets = lean(scores, training, training)
    best = f1_score(labels, scores[:, 0] + offsets[0] > 0, average="macro")
    assert offsets[0] > 0
    assert best > f1_score(labels, scores[:, 0] > 0, average="macro") + 0.02
    assert _macro_f1(scores + offsets, training) == pytest.approx(best)
    alike = Targets(labels, 2, np.ones(5000), np.ones(2))
    assert lean(scores, alike, alike).tolist() == [0]


def one_word_each(words: Any) -> CountedDocuments:
    """Return documents of one word, given by its number: those of the same word are copies."""
    matrix = sp.csr_array(np.eye(int(np.max(words)) + 1, dtype=np.int32)[words])
    return CountedDocuments([str(number) for number in range(matrix.shape[1])], matrix, np.ones(len(words), np.int64))


DOCUMENTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), min_size=2, max_size=80)


@given(DOCUMENTS, st.integers(0, 9))
def test_every_class_stays_in_training_and_copies_together_whatever_is_held_out(
    given: list[tuple[int, int]], seed: int
) -> None:
    words = [word for _, word in given]
    numbers = np.unique([label for label, _ in given], return_inverse=True)[1]
    folds = _held_out(one_word_each(words), targets(numbers), seed)
    seen = np.concatenate(folds) if folds else np.array([], np.int64)
    assert len(set(seen.tolist())) == len(seen)
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(numbers)), fold)
        assert set(numbers[rest]) == set(numbers)
        assert not {given[number] for number in fold} & {given[number] for number in rest}
    alone = np.bincount([label for label, _ in set(zip(numbers.tolist(), words, strict=True))]) == 1
    assert not alone[numbers[seen]].any()
    assert len(seen) == (~alone[numbers]).sum()


def test_folds_are_as_even_as_scikit_learns() -> None:
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    folds = _held_out(one_word_each(np.arange(100)), targets(labels), 0)
    ours = [np.bincount(labels[fold]).tolist() for fold in folds]
    theirs = [np.bincount(labels[test]).tolist() for _, test in StratifiedKFold(FOLDS).split(labels, labels)]
    assert ours == theirs


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"parts": []}, r"found parts=\[\]; expected a list of one or more of vectors, words, bigrams"),
        ({"parts": "words"}, "found parts='words'; expected a list"),
        ({"embeddings": None}, "found embeddings=None and no part but 'vectors'"),
        ({"parts": ["words"], "head": "ridge"}, "found head='ridge' for words"),
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TfcrClassifier(**parameters).fit(["a b", "c d"], [0, 1])


def test_tokens_with_spaces_make_no_pairs_and_are_no_pairs() -> None:
    texts = ["new york|city|new|york|a", "new york|city|new|york|b", "x|y|new|york|city", "x|y|z|city"] * 3
    model = TfcrClassifier(parts=["bigrams"], embeddings=None, tokenizer=lambda text: text.split("|"))
    model.fit(texts, ["p", "p", "q", "q"] * 3)
    assert model.predict(texts).tolist() == ["p", "p", "q", "q"] * 3
    assert sorted(set(model.table_.words)) == sorted(model.table_.words)
    assert "new york city" not in model.table_.words
    trained = count_terms(texts, model.tokenizer)
    asked = model.table_.count(texts, model.tokenizer).over(trained.words)
    np.testing.assert_array_equal(asked.matrix.toarray(), trained.matrix.toarray())  # "new", "york" is not "new york"
    [found] = [word for word in model.explain("new|york|new york").words if word.word == "new york"]
    assert (found.count, found.spans) == (1, ((9, 17),))


def test_explanations_of_chinese_show_characters_and_pairs_where_they_stand() -> None:
    texts = ["港股缩量回调2D", "港股大涨", "倚天屠龙记2D", "屠龙记概览"] * 3
    model = TfcrClassifier.from_preset("best", parts=["words", "bigrams"], embeddings=None)
    text = "ＮＥＷＳ：港股か\u3099缩量2D"  # composing moves what follows
    found = model.fit(texts, ["stocks", "stocks", "game", "game"] * 3).explain(text)
    spans = {word.word: [text[start:end] for start, end in word.spans] for word in found.words}
    assert spans == {
        word: [word.replace(" ", "").replace("d", "D")] for word in ("港", "股", "缩", "量", "2d", "港 股", "缩 量")
    }
    assert found.unknown == ("ｎｅｗｓ", "：", "が")


def test_longer_documents_of_nothing_but_signs_and_letters_fit() -> None:
    counter = ByteCounter(TOKENIZERS["symbols"], None)
    for size in (20_000, 39_000, 200_000):
        batch = counter.count_bytes(np.frombuffer(b"a." * size, np.uint8), np.array([0, 2 * size]))
        assert batch.lengths.tolist() == [2 * size]
        assert batch.counts.tolist() == [size, size]
        assert len(counter.sizes) >= 2 * size


def test_weights_of_the_user_s_own_are_not_leaned_away() -> None:
    random = np.random.default_rng(3)
    labels = np.where(random.uniform(size=2000) < 0.1, 1, 0)
    scores = (np.where(labels, 1.0, -1.0) + random.normal(size=2000) - 2)[:, None]
    own = Targets(labels, 2, np.ones(2000), np.array([1.0, 20.0]))
    assert lean(scores, own, own).tolist() == [0]


def test_models_of_different_parts_are_compared_each_on_what_it_needs() -> None:
    corpus = random_corpus(60)
    vectors = vectors_for(list(corpus.texts))
    models = {name: TfcrClassifier.from_preset(name, embeddings=vectors) for name in ("fast", "best")}
    found = compare(models, corpus, folds=2)
    alone = cross_validate(models["best"], corpus, folds=2)
    assert found["best"].fold_scores == alone.fold_scores


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown part 'word'; known: vectors, words, bigrams"):
        TfcrClassifier(parts=["word"]).fit(["a b", "c d"], [0, 1])


def test_a_class_of_one_document_is_learned() -> None:
    corpus = random_corpus(60)
    texts, labels = [*corpus.texts, "lonely words alone"], [*corpus.labels, "one"]
    model = TfcrClassifier(parts=["words", "vectors"], embeddings=vectors_for(texts), blocks="own").fit(texts, labels)
    assert model.predict(["lonely words alone"]).tolist() == ["one"]


def test_pairs_are_tf_idf_of_bigrams_with_linear_svc() -> None:
    corpus = random_corpus(300)
    texts, labels = list(corpus.texts), np.array(corpus.labels)
    model = TfcrClassifier(parts=["bigrams"], embeddings=None, class_weight=None).fit(texts, labels)
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+").fit(texts)
    held = np.asarray((words.transform(texts) > 0).sum(axis=0)).ravel()
    kept = [term for term, number in words.vocabulary_.items() if " " not in term or held[number] >= 2]
    tfidf = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+", sublinear_tf=True, vocabulary=kept)
    svc = LinearSVC(dual=False, tol=1e-8).fit(tfidf.fit_transform(texts), labels)
    assert sorted(model.table_.words) == sorted(kept)
    expected = svc.decision_function(tfidf.transform(texts))
    np.testing.assert_allclose(model.decision_function(texts), expected, atol=2e-2)


TOKENS = st.sampled_from(["a", "b", "c", "dd", "é", "!", "?!", "中", "が"])
TEXTS = st.lists(st.lists(TOKENS, max_size=6).map(" ".join), max_size=8)


@given(TEXTS, TEXTS)
def test_terms_are_those_of_a_count_vectorizer(texts: list[str], others: list[str]) -> None:
    found = count_terms(texts, "symbols")
    n_words = len(found.words) - found.n_bigrams
    expected = [
        Counter(tokens) + Counter(map(" ".join, pairwise(token for token in tokens if token not in ("!", "?!"))))
        for tokens in map(str.split, texts)
    ]
    held = Counter(term for counts in expected for term in counts)
    kept = (
        sorted(term for term in held if " " not in term),
        sorted(term for term in held if " " in term and held[term] > 1),
    )
    assert (list(found.words[:n_words]), sorted(found.words[n_words:])) == kept
    for row, counts in zip(found.matrix.toarray(), expected, strict=True):
        assert {term: count for term, count in zip(found.words, row, strict=True) if count} == {
            term: count for term, count in counts.items() if term in found.words
        }
    again = KnownTerms(found.words, found.n_bigrams).count(texts, TOKENIZERS["symbols"])
    np.testing.assert_array_equal(again.matrix.toarray(), found.matrix.toarray())
    elsewhere = KnownTerms(found.words, found.n_bigrams).count(others, TOKENIZERS["symbols"])
    moved = count_terms(others, "symbols").over(found.words, found.n_bigrams)
    words_alone = slice(0, n_words)
    np.testing.assert_array_equal(moved.matrix.toarray()[:, words_alone], elsewhere.matrix.toarray()[:, words_alone])


def test_pairs_pass_over_signs_known_or_not() -> None:
    texts = ["so good! really", "so good, really"]
    found = count_terms(texts, "symbols")
    pairs = ["good really", "so good"]
    assert sorted(found.words[-found.n_bigrams :]) == pairs
    texts = ["good ... really so? good", "good unknown really"]
    again = KnownTerms(found.words, found.n_bigrams).count(texts, TOKENIZERS["symbols"])
    assert again.over(pairs).matrix.toarray().tolist() == [[1, 1], [0, 0]]


def test_a_vocabulary_with_pairs_of_signs_is_counted_as_it_was_made() -> None:
    terms = ["!", "bad", "good", "good !", "! bad", "good bad"]
    found = KnownTerms(terms, 3).count(["good! bad", "good? bad"], TOKENIZERS["symbols"])
    assert found.matrix.toarray().tolist() == [[1, 1, 1, 1, 1, 0], [0, 1, 1, 0, 0, 0]]
    pairs = BigramLexicon.of(terms, 3, TOKENIZERS["symbols"])
    assert not pairs.passed.any()


@given(TEXTS, st.integers(1, 2))
def test_compiled_code_finds_the_same_words(texts: list[str], threads: int) -> None:
    words, numbers, lengths = number_tokens(texts, TOKENIZERS["symbols"], threads)
    documents = [TOKENIZERS["symbols"](text) for text in texts]
    assert list(words) == sorted(set().union(*documents))
    assert [words[number] for number in numbers] == [token for tokens in documents for token in tokens]
    assert lengths.tolist() == list(map(len, documents))


@given(TEXTS, TEXTS)
def test_compiled_code_finds_the_same_terms(texts: list[str], others: list[str]) -> None:
    known, signs = count_terms(texts, "symbols"), TOKENIZERS["symbols"]
    plain = KnownTerms(known.words, known.n_bigrams).count(others, signs)
    lexicon = Lexicon.of(known.words[: len(known.words) - known.n_bigrams])
    counter = ByteCounter(signs, lexicon, merging=False, keeping=True)
    merger = TermMerger(BigramLexicon.of(known.words, known.n_bigrams, signs))
    for _ in range(2):  # a second batch is counted as the first one is
        for batch in counter.count(others):
            merged = merger.merge(batch)
            matrix = sp.csr_array((merged.counts, merged.words, merged.starts), plain.matrix.shape)
            np.testing.assert_array_equal(matrix.toarray(), plain.matrix.toarray())
            assert batch.lengths.tolist() == plain.lengths.tolist()


def test_the_fast_path_of_prediction_is_the_plain_one() -> None:
    corpus = random_corpus(300)
    texts = [*corpus.texts, "", "never seen", "w0_1 w0_1 never w0_1 w0_1"]
    parts = ["words", "bigrams", "vectors"]
    model = TfcrClassifier(parts=parts, embeddings=vectors_for(texts), blocks="own").fit(corpus.texts, corpus.labels)
    assert model.table_.n_bigrams > 0
    plain = model.table_.score_texts(texts, TOKENIZERS["words"])
    fast = model.table_._packed.score_texts(texts, TOKENIZERS["words"])
    np.testing.assert_allclose(fast[0], plain.scores, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(fast[1], plain.unknown_fractions, atol=1e-12)
    counted = model.predict_counted(model.count(texts))[0]
    assert np.mean(counted == model.predict(texts)) > 0.99


def test_documents_counted_without_pairs_are_refused_by_a_model_of_pairs() -> None:
    corpus = random_corpus(60)
    model = TfcrClassifier(parts=["bigrams"], embeddings=None).fit(corpus.texts, corpus.labels)
    known = model.table_.count(corpus.texts, model.tokenizer)  # by its name
    assert model.predict_counted(known)[0].tolist() == model.predict(corpus.texts).tolist()
    with pytest.raises(InputError, match="found documents counted without the pairs of words that this model knows"):
        model.predict_counted(count_words(corpus.texts))
    words = TfcrClassifier(parts=["words"], embeddings=None).fit(corpus.texts, corpus.labels)
    assert words.predict_counted(known)[0].tolist() == words.predict(corpus.texts).tolist()


@pytest.mark.parametrize("bigrams", [-1, 10**6, 1, "two", None])
def test_a_file_that_lies_about_its_pairs_is_refused(bigrams: Any, tmp_path: Path) -> None:
    corpus = random_corpus(50)
    TfcrClassifier(parts=["words"], embeddings=None).fit(corpus.texts, corpus.labels).save(tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    told = json.loads(config.read_text())
    told["bigrams"] = bigrams
    config.write_text(json.dumps(told))
    with pytest.raises(ModelError, match="bigrams"):
        load(tmp_path / "model")
