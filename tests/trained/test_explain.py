"""Explanations: contributions that add up, and where terms stand in the text."""

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr import TfcrClassifier, load
from tfcr.features.blocks import BLOCKS


@pytest.mark.parametrize("parts", [["words", "vectors"], ["bigrams"], ["words", "bigrams", "vectors"]])
@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_of_all_parts_add_up_to_the_score(
    n_classes: int, blocks: str, parts: list[str], tmp_path: Path
) -> None:
    corpus = random_corpus(150, n_classes=n_classes)
    texts = list(corpus.texts)
    model = plain_classifier(parts=parts, embeddings=random_vectors(corpus, 5), blocks=blocks, C=None)
    model.fit(texts, corpus.labels)
    for text in [*texts[:5], texts[0] * 3, "", "never seen"]:
        told = model.explain(text)
        added = told.baseline + sum((word.contributions for word in told.words), np.zeros(n_classes))
        np.testing.assert_allclose(added, told.scores, atol=1e-4)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(texts), model.decision_function(texts))
    assert again.part_weights_ == model.part_weights_


def test_explanations_of_chinese_show_characters_and_bigrams_where_they_stand() -> None:
    texts = ["港股缩量回调2D", "港股大涨", "倚天屠龙记2D", "屠龙记概览"] * 3
    model = TfcrClassifier.from_preset("best", parts=["words", "bigrams"], embeddings=None)
    text = "ＮＥＷＳ：港股か\u3099缩量2D"  # composing moves what follows
    found = model.fit(texts, ["stocks", "stocks", "game", "game"] * 3).explain(text)
    spans = {word.word: [text[start:end] for start, end in word.spans] for word in found.words}
    assert spans == {
        word: [word.replace(" ", "").replace("d", "D")] for word in ("港", "股", "缩", "量", "2d", "港 股", "缩 量")
    }
    assert found.unknown == ("ｎｅｗｓ", "：", "が")
