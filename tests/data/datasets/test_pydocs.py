"""The embedded corpus."""

from collections import Counter
from pathlib import Path

import pytest

from tfcr import TfcrWarning
from tfcr.data import load_pydocs
from tfcr.data.datasets import pydocs


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


def test_a_damaged_cache_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path))
    monkeypatch.setattr(pydocs, "_docstrings", lambda: [("a", "one two"), ("b", "three")])
    assert load_pydocs(1).labels == ["a", "b"]
    file = next((tmp_path / "pydocs").glob("*.json"))
    whole = file.read_bytes()
    for damaged in (whole.replace(b"one", b"ten"), whole[:-1], b"[" * 100_000, b"9" * 5000, b"[[1, 2], 3]", b""):
        file.write_bytes(damaged)
        with pytest.warns(TfcrWarning, match="the cache entry pydocs is damaged"):
            assert load_pydocs(1).texts == ["one two", "three"]
    assert file.read_bytes() == whole
