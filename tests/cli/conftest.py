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
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write texts with wrong labels in the rows 4 and 11, a contradiction in 121 and 122, and a class of 3."""
    corpus = random_corpus()
    labels = list(corpus.labels)
    labels[3], labels[10] = "class 1", "class 2"  # they were 0 and 1
    rows = [f"{text},{label}" for text, label in zip(corpus.texts, labels, strict=True)]
    rows += ["a b c d e f g h i,class 0", "i h g f e d c b a,class 1"]
    rows += [f"rare word{number} \x1b[31m,rare" for number in range(3)]
    dates = [f"2024-{1 + number // 28:02}-{1 + number % 28:02}" for number in range(len(rows))]
    path = tmp_path_factory.mktemp("odd") / "odd.csv"
    lines = [f"{row},{date},{number}" for number, (row, date) in enumerate(zip(rows, dates, strict=True))]
    path.write_text("\n".join(["text,label,date,year", *lines]) + "\n")
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
