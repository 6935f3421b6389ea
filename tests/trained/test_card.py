"""The card of a saved model, for people."""

from dataclasses import replace
from pathlib import Path

from tests.conftest import plain_classifier
from tfcr import Embeddings, TrainedModel
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


def test_the_card_tells_what_is_kept_of_the_texts(corpus: Corpus, vectors: Embeddings, tmp_path: Path) -> None:
    model = plain_classifier(embeddings=vectors).fit([*corpus.texts[:-1], corpus.texts[0]], corpus.labels)
    model.save(tmp_path / "model")
    n_texts = len(set(corpus.texts[:-1]))
    assert f"hashes of {n_texts} training texts" in (tmp_path / "model" / "README.md").read_text("utf-8")
    model.save(tmp_path / "model", hashes=False)
    assert "no hashes" in (tmp_path / "model" / "README.md").read_text("utf-8")


def test_names_that_are_not_utf_8(corpus: Corpus, vectors: Embeddings, tmp_path: Path) -> None:
    model = plain_classifier(embeddings=vectors).fit(corpus.texts, corpus.labels)
    model.model_ = replace(model.model_, training={**model.training_, "data": "caf\udce9.csv"})
    model.save(tmp_path / "model", scores={"macro-F1 \udce9": 0.5})
    assert TrainedModel.load(tmp_path / "model").training["data"] == "caf\udce9.csv"
