"""The card of a saved model, for people."""

from pathlib import Path

from tests.conftest import plain_classifier
from tfcr import Embeddings
from tfcr.data import Corpus


def test_the_card_tells_what_and_how_good(corpus: Corpus, vectors: Embeddings, tmp_path: Path) -> None:
    model = plain_classifier(embeddings=vectors).fit(corpus.texts, corpus.labels)
    model.save(tmp_path / "model", scores={"macro-F1, 10 folds": 0.91234})
    card = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert "| macro-F1, 10 folds | 0.912 |" in card
    assert "120 documents" in card
    assert "| class 0 | 40 |" in card
    assert "| scheme | tfcr-log |" in card
    model.save(tmp_path / "model")
    assert "Not measured" in (tmp_path / "model" / "README.md").read_text("utf-8")
