"""In-domain word2vec: repeatable, reporting progress, reading whole documents."""

import numpy as np
import pytest

from tfcr import Embeddings
from tfcr.errors import EmbeddingsError


def test_training_is_repeatable_and_reports_progress() -> None:
    texts = ["the cat sat on the mat", "the dog sat on the rug"] * 30
    seen: list[tuple[int, int]] = []
    settings = {"dimensions": 8, "epochs": 2, "min_count": 1}
    one = Embeddings.train(texts, **settings, progress=lambda done, total: seen.append((done, total)))  # type: ignore[arg-type]
    two = Embeddings.train(texts, **settings)  # type: ignore[arg-type]
    other = Embeddings.train(texts, **settings, seed=1)  # type: ignore[arg-type]
    np.testing.assert_array_equal(one.vectors, two.vectors)
    assert not np.array_equal(one.vectors, other.vectors)
    assert seen[-1] == (120, 120)
    assert (one.name, one.dimensions) == ("w2v", 8)
    assert set(one.words) == {"the", "cat", "sat", "on", "mat", "dog", "rug"}


def test_training_reads_documents_longer_than_gensim_does() -> None:
    trained = Embeddings.train(["a " * 10_000 + "late " * 5], dimensions=2, epochs=1)
    assert "late" in trained


def test_training_on_too_little() -> None:
    with pytest.raises(EmbeddingsError, match="no word occurs 2 times in the 1 texts given"):
        Embeddings.train(["every word once"])
