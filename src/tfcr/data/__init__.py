"""Labelled texts: from files, from known datasets, or from the docstrings of the Python standard library."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfcr.data.corpus import Corpus, read_corpus
    from tfcr.data.datasets.fetch import fetch_dataset
    from tfcr.data.datasets.loading import dataset_rows, load_dataset
    from tfcr.data.datasets.pydocs import load_pydocs
    from tfcr.data.datasets.registry import DATASETS
    from tfcr.data.options import ReadOptions
    from tfcr.data.readers import READERS
    from tfcr.data.sources import load_data
    from tfcr.data.writers import WRITERS

# Loaded when first used: whoever predicts the rows of a file needs no downloads.
_HOMES = {
    "DATASETS": "tfcr.data.datasets.registry",
    "READERS": "tfcr.data.readers",
    "WRITERS": "tfcr.data.writers",
    "Corpus": "tfcr.data.corpus",
    "ReadOptions": "tfcr.data.options",
    "dataset_rows": "tfcr.data.datasets.loading",
    "fetch_dataset": "tfcr.data.datasets.fetch",
    "load_data": "tfcr.data.sources",
    "load_dataset": "tfcr.data.datasets.loading",
    "load_pydocs": "tfcr.data.datasets.pydocs",
    "read_corpus": "tfcr.data.corpus",
}

__all__ = [
    "DATASETS",
    "READERS",
    "WRITERS",
    "Corpus",
    "ReadOptions",
    "dataset_rows",
    "fetch_dataset",
    "load_data",
    "load_dataset",
    "load_pydocs",
    "read_corpus",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tfcr.data' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
