"""Labelled texts: from files, from known datasets, or from the Python standard library's own documentation."""

from tfcr.corpus.columns import Corpus
from tfcr.corpus.datasets import DATASETS
from tfcr.corpus.loading import read_corpus
from tfcr.corpus.named import dataset_rows, fetch_dataset, load_data, load_dataset
from tfcr.corpus.options import ReadOptions
from tfcr.corpus.pydocs import load_pydocs
from tfcr.corpus.tables import READERS

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
