"""The promises that only real data can put to the test."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import plain_classifier
from tfcr import Embeddings, load
from tfcr.data import Corpus
from tfcr.features.blocks import AVERAGINGS, BLOCKS

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("averaging", AVERAGINGS)
def test_a_thousand_posts_are_explained_exactly_and_survive_the_disk(
    newsgroups: Corpus, shared_data: Path, tmp_path: Path, blocks: str, averaging: str
) -> None:
    order = np.random.default_rng(0).permutation(len(newsgroups))
    train, test = order[:4000], order[4000:5000]
    vectors = Embeddings.load(shared_data / "embeddings" / "glove.6B.100d.subset.bin")
    model: Any = plain_classifier(embeddings=vectors, head="lr", blocks=blocks, averaging=averaging)
    model.fit([newsgroups.texts[i] for i in train], [newsgroups.labels[i] for i in train])
    texts = [newsgroups.texts[i] for i in test]
    scores = model.decision_function(texts)
    for text, score in zip(texts, scores, strict=True):
        explanation = model.explain(text)
        total = explanation.baseline + sum(word.contributions for word in explanation.words)
        np.testing.assert_allclose(total, score, atol=1e-4)
    model.save(tmp_path / "model")
    np.testing.assert_allclose(load(tmp_path / "model").decision_function(texts), scores, atol=1e-4)


def test_tfcr_beats_plain_averages_on_real_posts(newsgroups: Corpus, shared_data: Path) -> None:
    order = np.random.default_rng(0).permutation(len(newsgroups))
    train, test = order[:5000], order[5000:7000]
    vectors = Embeddings.load(shared_data / "embeddings" / "glove.6B.50d.first60k.txt.gz")
    scores = {}
    for scheme in ("none", "tfcr", "tfcr-log"):
        model = plain_classifier(embeddings=vectors, scheme=scheme, head="lr")
        model.fit([newsgroups.texts[i] for i in train], [newsgroups.labels[i] for i in train])
        scores[scheme] = model.score([newsgroups.texts[i] for i in test], [newsgroups.labels[i] for i in test])
    assert scores["none"] < scores["tfcr"] < scores["tfcr-log"]
