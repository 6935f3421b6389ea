"""Text classification with word embeddings weighted by class."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfcr.classifier import TfcrClassifier, load
    from tfcr.embeddings import Embeddings
    from tfcr.errors import TfcrError, TfcrWarning
    from tfcr.presets import PRESETS
    from tfcr.schemes import SCHEMES
    from tfcr.text.class_counts import ClassCounts
    from tfcr.trained.model import TrainedModel
    from tfcr.transformers import WeightedEmbeddingTransformer, WeightedEmbeddingVectorizer

# Loaded when first used, so that ``tfcr --help`` need not wait for scikit-learn.
_HOMES = {
    "PRESETS": "tfcr.presets",
    "SCHEMES": "tfcr.schemes",
    "ClassCounts": "tfcr.text.class_counts",
    "Embeddings": "tfcr.embeddings",
    "TfcrClassifier": "tfcr.classifier",
    "TfcrError": "tfcr.errors",
    "TfcrWarning": "tfcr.errors",
    "WeightedEmbeddingTransformer": "tfcr.transformers",
    "WeightedEmbeddingVectorizer": "tfcr.transformers",
    "TrainedModel": "tfcr.trained.model",
    "load": "tfcr.classifier",
}

__all__ = [
    "PRESETS",
    "SCHEMES",
    "ClassCounts",
    "Embeddings",
    "TfcrClassifier",
    "TfcrError",
    "TfcrWarning",
    "TrainedModel",
    "WeightedEmbeddingTransformer",
    "WeightedEmbeddingVectorizer",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tfcr' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
