"""Counted documents: words and bigrams, against scikit-learn and a naive count."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import plain_classifier
from tfcr.text.documents import count_terms
from tfcr.text.terms import skipped_in_bigrams
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.text.vocabulary import Vocabulary

TOKENS = st.sampled_from(["a", "b", "c", "dd", "é", "!", "?!", "中", "が"])
TEXTS = st.lists(st.lists(TOKENS, max_size=6).map(" ".join), max_size=8)


@given(TEXTS, TEXTS)
def test_terms_are_those_of_a_naive_count(texts: list[str], others: list[str]) -> None:
    found = count_terms(texts, "symbols", bigrams=True)
    names, bigrams = found.vocabulary.names, found.vocabulary.section("bigrams")
    expected = [
        Counter(tokens) + Counter(map(" ".join, pairwise(token for token in tokens if token not in ("!", "?!"))))
        for tokens in map(str.split, texts)
    ]
    held = Counter(term for counts in expected for term in counts)
    kept = (
        sorted(term for term in held if " " not in term),
        sorted(term for term in held if " " in term and held[term] > 1),
    )
    assert (list(found.vocabulary.words), sorted(names[bigrams])) == kept
    for row, counts in zip(found.matrix.toarray(), expected, strict=True):
        assert {term: count for term, count in zip(names, row, strict=True) if count} == {
            term: count for term, count in counts.items() if term in names
        }
    again = count_terms(texts, "symbols", found.vocabulary)
    np.testing.assert_array_equal(again.matrix.toarray(), found.matrix.toarray())
    elsewhere = count_terms(others, "symbols", found.vocabulary)
    moved = count_terms(others, "symbols", bigrams=True).over(found.vocabulary)
    words = found.vocabulary.section("words")
    np.testing.assert_array_equal(moved.matrix.toarray()[:, words], elsewhere.matrix.toarray()[:, words])


def test_bigrams_skip_symbols_known_or_not() -> None:
    texts = ["so good! really", "so good, really"]
    found = count_terms(texts, "symbols", bigrams=True)
    assert found.vocabulary.names == ["!", ",", "good", "really", "so", "good really", "so good"]
    texts = ["good ... really so? good", "good unknown really"]
    again = count_terms(texts, "symbols", found.vocabulary)
    assert again.matrix.toarray()[:, 5:].tolist() == [[1, 1], [0, 0]]


def test_a_vocabulary_with_bigrams_of_symbols_is_counted_as_it_was_made() -> None:
    vocabulary = Vocabulary(["!", "bad", "good"], np.array([[2, 0], [0, 1], [2, 1]], np.int32))
    found = count_terms(["good! bad", "good? bad"], "symbols", vocabulary)
    assert found.matrix.toarray().tolist() == [[1, 1, 1, 1, 1, 0], [0, 1, 1, 0, 0, 0]]
    assert not skipped_in_bigrams(vocabulary, TOKENIZERS["symbols"]).any()


def test_a_word_with_a_space_is_not_the_bigram_that_is_spelled_like_it() -> None:
    texts = ["new york|city|new|york|a", "new york|city|new|york|b", "x|y|new|york|city", "x|y|z|city"] * 3
    model = plain_classifier(parts=["bigrams"], embeddings=None, tokenizer=lambda text: text.split("|"))
    model.fit(texts, ["p", "p", "q", "q"] * 3)
    assert model.predict(texts).tolist() == ["p", "p", "q", "q"] * 3
    assert model.table_.vocabulary.names.count("new york") == 2  # the word, and the bigram of two words
    trained = count_terms(texts, model.tokenizer, bigrams=True)
    asked = count_terms(texts, model.tokenizer, model.table_.vocabulary).over(trained.vocabulary)
    np.testing.assert_array_equal(asked.matrix.toarray(), trained.matrix.toarray())
    told = model.explain("new|york|new york")
    found = sorted(word.spans for word in told.words if word.word == "new york")
    assert found == [((0, 8),), ((9, 17),)]
    assert sum(told.contributions().values()) + told.baseline[0 if told.label == "p" else 1] == pytest.approx(
        told.scores.max(), abs=1e-5
    )
