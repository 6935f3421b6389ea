"""The embedded corpus."""

from collections import Counter

import pytest

from tfcr.data import load_pydocs


@pytest.fixture
def _own_places() -> None:
    """Keep the cache of the session: collecting the docstrings takes seconds."""


def test_pydocs_is_real_text_with_classes_of_some_size() -> None:
    corpus = load_pydocs()
    sizes = Counter(corpus.labels)
    assert len(sizes) >= 8
    assert min(sizes.values()) >= 100
    assert {"asyncio", "email", "tkinter"} <= set(sizes)
    assert all(len(text.split()) >= 5 for text in corpus.texts)
    again = load_pydocs()
    assert (corpus.texts, corpus.labels) == (again.texts, again.labels)
    assert len(load_pydocs(50)) > len(corpus)
