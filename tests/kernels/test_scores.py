"""Scores straight from bytes against those of counted documents."""

import numpy as np
import pytest

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr.features.blocks import AVERAGINGS, BLOCKS
from tfcr.text.documents import count_terms
from tfcr.text.tokenizers import TOKENIZERS


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
@pytest.mark.parametrize("n_classes", [2, 3, 9])
@pytest.mark.parametrize("threads", [1, 3])
def test_scores_from_bytes_are_those_of_counted_documents(
    kind: str, averaging: str, n_classes: int, threads: int
) -> None:
    corpus = random_corpus(n_classes=n_classes)
    model = plain_classifier(embeddings=random_vectors(corpus), blocks=kind, averaging=averaging, head="ridge")
    table = model.fit(corpus.texts, corpus.labels).table_
    texts = [*corpus.texts, "", "unknown only", "w0_1 " * 5000, "Common1, w1_1 ümläut\u0301 w1_1"]
    counted = count_terms(texts, vocabulary=table.vocabulary)
    expected = table.decision(counted)
    near = {"rtol": 1e-6, "atol": 1e-9 * max(1, abs(expected).max())}
    fast, unknown = table.native.score_texts(texts, TOKENIZERS["words"], threads)
    np.testing.assert_allclose(fast, expected, **near)
    np.testing.assert_allclose(unknown, counted.unknown_fractions())
    np.testing.assert_allclose(table.native.score_counted(counted, threads), expected, **near)


def test_long_documents_lose_no_digits() -> None:
    corpus = random_corpus(n_classes=3)
    table = plain_classifier(embeddings=random_vectors(corpus)).fit(corpus.texts, corpus.labels).table_
    short = "w0_1 w1_2 common1 w2_3 common2 "
    expected = table.decision(count_terms([short], vocabulary=table.vocabulary))
    scores, _ = table.native.score_texts([short * 400_000], TOKENIZERS["words"])
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)  # the average of a text and of its copies
