"""A local Dask cluster, and texts to train on."""

from collections.abc import Iterator

import numpy as np
import pytest
from distributed import Client

from tfcr.cluster import open_client
from tfcr.data import Corpus


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with open_client("local", processes=2) as client:
        yield client


def cluster_corpus(n_documents: int = 400) -> Corpus:
    """Return texts of three classes, each with words of its own, in one of ten no word of its own class."""
    random = np.random.default_rng(0)
    texts, labels = [], []
    for number in range(n_documents):
        label = number % 3
        shown = (label + 1) % 3 if random.random() < 0.1 else label
        own = [f"{'abc'[shown]}word{word}" for word in random.integers(0, 30, random.integers(2, 5))]
        common = [f"common{word}" for word in random.integers(0, 40, random.integers(3, 8))]
        texts.append(" ".join(own + common))
        labels.append(f"class {label}")
    return Corpus(texts, labels)
