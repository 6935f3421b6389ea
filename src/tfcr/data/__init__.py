"""Labelled texts: from files, from known datasets, or from the docstrings of the Python standard library."""

from tfcr.data.corpus import Corpus, read_corpus
from tfcr.data.datasets.fetch import fetch_dataset
from tfcr.data.datasets.loading import dataset_rows, load_dataset
from tfcr.data.datasets.pydocs import load_pydocs
from tfcr.data.datasets.registry import DATASETS
from tfcr.data.options import ReadOptions
from tfcr.data.readers import READERS
from tfcr.data.sources import load_data
from tfcr.data.writers import WRITERS

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
