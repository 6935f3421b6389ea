"""A small data file, vectors for it, and a model trained on both."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.runner import run
from tests.conftest import random_corpus, random_vectors
from tfcr.classifier import TfcrClassifier
from tfcr.data import read_corpus

__all__ = ["run"]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "data.csv"
    corpus = random_corpus()
    pairs = zip(corpus.texts, corpus.labels, strict=True)
    rows = [f"{text},{label},g{number % 9}" for number, (text, label) in enumerate(pairs)]
    path.write_text("text,label,who\n" + "\n".join(rows) + "\n", "utf-8")
    return path


@pytest.fixture(scope="session")
def vectors_file(data: Path) -> Path:
    path = data.with_name("vectors.vec")
    random_vectors(random_corpus()).save(path)
    return path


@pytest.fixture(scope="session")
def model(data: Path, vectors_file: Path) -> Path:
    corpus = read_corpus(data)
    trained = TfcrClassifier.from_preset("paper", tokenizer="words", embeddings=str(vectors_file))
    trained.fit(corpus.texts, corpus.labels)
    trained.model_ = replace(trained.model_, training={**trained.training_, "columns": ["text"]})
    trained.save(data.with_name("model"))
    return data.with_name("model")
