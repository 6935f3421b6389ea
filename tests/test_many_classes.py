"""Many classes: arrays that grow with their square or cube are sparse, or refused before they are made."""

from typing import Any

import numpy as np
import pytest

from tfcr import ClassCounts, Embeddings, TfcrClassifier, WeightedEmbeddingVectorizer
from tfcr.errors import InputError
from tfcr.schemes import compute_weights
from tfcr.system import hardware
from tfcr.trained import word_table

N_CLASSES = 40
WORDS = [f"w{number}" for number in range(N_CLASSES)]
TEXTS = [f"{word} {word} {other}" for word, other in zip(WORDS * 2, WORDS[::-1] * 2, strict=True)]
LABELS = [f"class {number:03}" for number in range(N_CLASSES)] * 2
VECTORS = Embeddings.from_arrays(WORDS, np.random.default_rng(0).normal(size=(N_CLASSES, 5)))


def paper(**parameters: Any) -> TfcrClassifier:
    return TfcrClassifier.from_preset("paper", embeddings=VECTORS, **parameters)


def test_a_sparse_sum_over_columns_gives_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    dense = paper().fit(TEXTS, LABELS)
    expected = dense.decision_function(TEXTS), dense.top_words(3), dense.explain(TEXTS[0]).contributions()
    assert isinstance(dense.table_._adds_to, np.ndarray)
    monkeypatch.setattr(word_table, "MAX_DENSE", 100)
    sparse = paper().fit(TEXTS, LABELS)
    assert not isinstance(sparse.table_._adds_to, np.ndarray)
    np.testing.assert_allclose(sparse.decision_function(TEXTS), expected[0], rtol=1e-12, atol=1e-12)
    for label, words in sparse.top_words(3).items():
        assert dict(words) == pytest.approx(dict(expected[1][label]), rel=1e-6)
    assert sparse.explain(TEXTS[0]).contributions() == pytest.approx(expected[2], rel=1e-9)


def test_blocks_of_all_classes_are_refused_if_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "_memory", lambda: 40_000)
    with pytest.raises(InputError, match=r"^found blocks='all' with 40 classes and 40 words: .*: use blocks='own'"):
        paper(max_memory="1GB").fit(TEXTS, LABELS)


def test_other_arrays_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = ClassCounts.from_texts(TEXTS, LABELS)
    monkeypatch.setattr(hardware, "_memory", lambda: 60_000)
    with pytest.raises(InputError, match="^found weights of 40 words in 40 classes, which need .* larger min_count"):
        compute_weights("tfcr", counts)
    monkeypatch.setattr(hardware, "_memory", lambda: 140_000)
    with pytest.raises(InputError, match="^found vectors of 800 documents with 200 columns, which need 0.0 GB"):
        WeightedEmbeddingVectorizer(embeddings=VECTORS).fit(TEXTS, LABELS).transform(TEXTS * 10)
    monkeypatch.setattr(hardware, "_memory", lambda: 300_000)
    with pytest.raises(InputError, match="^found coefficients of 245 features for 40 classes, .* larger min_count"):
        paper(blocks="own", max_memory="1GB", scheme="tfcr-log").fit([f"{text} x y" for text in TEXTS], LABELS)
