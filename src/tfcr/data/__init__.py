"""Labelled texts: from files, from known datasets, or from the Python standard library's own documentation."""

from tfcr.data.columns import Corpus
from tfcr.data.datasets.pydocs import load_pydocs
from tfcr.data.datasets.registry import DATASETS
from tfcr.data.named import dataset_rows, fetch_dataset, load_data, load_dataset
from tfcr.data.options import ReadOptions
from tfcr.data.readers import READERS
from tfcr.data.sources import read_corpus

__all__ = [
    "DATASETS",
    "READERS",
    "Corpus",
    "ReadOptions",
    "dataset_rows",
    "fetch_dataset",
    "load_data",
    "load_dataset",
    "load_pydocs",
    "read_corpus",
]
