"""Corpora small enough to check by hand, random ones for properties, and the shared data where it is at hand."""

import hashlib
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings

import tfcr
from tests.file_server import running, server, small_newsgroups  # noqa: F401 - fixtures
from tfcr import Embeddings, TfcrClassifier
from tfcr.data import Corpus, read_corpus

settings.register_profile("tfcr", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tfcr")

collect_ignore = ["mutate.py"]  # no test is in it, and importing mutmut takes long
DATA = Path(os.environ.get("TFCR_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def pytest_configure(config: pytest.Config) -> None:
    """Keep the tests out of the user's cache; what takes long to make is shared between workers and runs.

    Before any test is imported: many import `tfcr.system.native`, which looks once where compiled code is kept.
    numba notices a change of a kernel's own file only, not of one that it calls: the key covers all of them.
    """
    # coverage traces every new thread, and CPython refuses to install two trace functions at once: a rare failure
    threading.settrace(None)
    own = tempfile.TemporaryDirectory(prefix="tfcr-tests-")
    config.add_cleanup(own.cleanup)
    sources = sorted(Path(tfcr.__file__).with_name("kernels").glob("*.py"))
    key = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    assert config.cache is not None
    (Path(own.name) / "kernels").symlink_to(config.cache.mkdir(f"tfcr-kernels-{key}"))
    (Path(own.name) / "pydocs").symlink_to(config.cache.mkdir("tfcr-pydocs"))  # takes seconds to make
    os.environ["TFCR_CACHE"] = own.name
    os.environ["TFCR_STATE"] = str(Path(own.name) / "state")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not DATA.exists():
        pytest.skip(f"the shared datasets are not at {DATA}; set TFCR_DATA")
    return DATA


@pytest.fixture(scope="session")
def newsgroups(shared_data: Path) -> Corpus:
    return read_corpus(shared_data / "20ng" / "20news-bydate.tar.gz", encoding="latin-1")


def random_corpus(n_documents: int = 120, n_classes: int = 3, seed: int = 0) -> Corpus:
    """Return made-up texts in which each class prefers words of its own."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for number in range(n_documents):
        label = number % n_classes
        own = [f"w{label}_{word}" for word in random.integers(0, 6, random.integers(2, 5))]
        common = [f"common{word}" for word in random.integers(0, 8, random.integers(1, 5))]
        texts.append(" ".join(own + common))
        labels.append(f"class {label}")
    return Corpus(texts, labels)


def random_vectors(corpus: Corpus, dimensions: int = 8, seed: int = 0) -> Embeddings:
    words = sorted({word for text in corpus.texts for word in text.split()})
    # one word in ten has no vector, as in real life
    kept = [word for number, word in enumerate(words) if number % 10 != 9]
    return Embeddings.from_arrays(kept, np.random.default_rng(seed).normal(size=(len(kept), dimensions)))


@pytest.fixture(scope="session")
def corpus() -> Corpus:
    return random_corpus()


@pytest.fixture(scope="session")
def vectors(corpus: Corpus) -> Embeddings:
    return random_vectors(corpus)


def plain_classifier(**parameters: Any) -> TfcrClassifier:
    """Return a classifier without stacking: one part, C = 1, the paper's blocks, unless other parameters are given."""
    return TfcrClassifier.from_preset("paper", **{"tokenizer": "words", **parameters})


# for `make mutate`: few examples, the same ones for every mutant, and no search for the smallest
settings.register_profile(
    "mutate",
    deadline=None,
    max_examples=10,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
