"""Text classification with word embeddings weighted by class."""

from tfcr.counts import ClassCounts
from tfcr.embeddings import Embeddings
from tfcr.errors import TfcrError, TfcrWarning
from tfcr.model import TfcrClassifier, load
from tfcr.presets import PRESETS
from tfcr.schemes import SCHEMES
from tfcr.vectors import WeightedEmbeddingTransformer, WeightedEmbeddingVectorizer

__all__ = [
    "PRESETS",
    "SCHEMES",
    "ClassCounts",
    "Embeddings",
    "TfcrClassifier",
    "TfcrError",
    "TfcrWarning",
    "WeightedEmbeddingTransformer",
    "WeightedEmbeddingVectorizer",
    "load",
]
