"""Labelled texts: from files, or from the Python standard library's own documentation."""

from tfcr.corpus.pydocs import load_pydocs
from tfcr.corpus.readers import READERS, Corpus, read_corpus

__all__ = ["READERS", "Corpus", "load_pydocs", "read_corpus"]
