"""Many classes: arrays that grow with their square or cube are sparse, or refused before they are made."""

from typing import Any

import numpy as np
import pytest

from tfcr import ClassCounts, Embeddings, TfcrClassifier, WeightedEmbeddingVectorizer
from tfcr.errors import InputError
from tfcr.schemes import compute_weights
from tfcr.system import hardware
from tfcr.text.tokenizers import TOKENIZERS
from tfcr.trained import packing, rounding
from tfcr.trained.word_table import batch_of

N_CLASSES = 40
WORDS = [f"w{number}" for number in range(N_CLASSES)]
TEXTS = [f"{word} {word} {other}" for word, other in zip(WORDS * 2, WORDS[::-1] * 2, strict=True)]
LABELS = [f"class {number:03}" for number in range(N_CLASSES)] * 2
VECTORS = Embeddings.from_arrays(WORDS, np.random.default_rng(0).normal(size=(N_CLASSES, 5)))


def paper(**parameters: Any) -> TfcrClassifier:
    return TfcrClassifier.from_preset("paper", embeddings=VECTORS, **parameters)


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


@pytest.mark.parametrize("blocks", ["own", "all"])
def test_more_classes_than_a_table_has_divisors_are_refused_before_training(
    blocks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "MOST_GROUPS", N_CLASSES - 1)
    monkeypatch.setattr("tfcr.classifier.fit_documents", None)
    with pytest.raises(InputError, match="^found 40 divisors.*: train with fewer classes, or with averaging='length'"):
        paper(blocks=blocks).fit(TEXTS, LABELS)


@pytest.mark.parametrize("rounded_from", [0, 1 << 30])
def test_five_hundred_classes_are_scored_the_same_by_both_paths(
    rounded_from: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounding, "ROUNDED_FROM", rounded_from)
    words = [f"w{number}" for number in range(500)]
    texts = [f"{word} {word} {other}" for word, other in zip(words * 2, words[::-1] * 2, strict=True)]
    labels = [f"class {number:03}" for number in range(500)] * 2
    vectors = Embeddings.from_arrays(words, np.random.default_rng(0).normal(size=(500, 5)))
    model = TfcrClassifier.from_preset("paper", embeddings=vectors, blocks="own", C=1.0).fit(texts, labels)
    table = model.table_
    assert table.n_groups >= 500
    assert len(table.entries.groups) >= 1_000  # a word adds to the divisors of the classes where it occurred
    plain = table.score_batch(batch_of(table.count(texts, TOKENIZERS[str(model.tokenizer)])), table.unseen_rows([]))
    compiled = table.native.score_texts(texts, TOKENIZERS[str(model.tokenizer)])[0]
    np.testing.assert_allclose(compiled, plain, rtol=1e-6, atol=1e-6)
