"""Word vectors: loading them from any usual file, training them on one's own texts."""

from tfcr.embeddings.cache import LoadReport
from tfcr.embeddings.formats import FORMATS
from tfcr.embeddings.pretrained import KNOWN_MODELS
from tfcr.embeddings.store import AnyEmbeddings, Coverage, Embeddings, embeddings_key, resolve_embeddings

__all__ = [
    "FORMATS",
    "KNOWN_MODELS",
    "AnyEmbeddings",
    "Coverage",
    "Embeddings",
    "LoadReport",
    "embeddings_key",
    "resolve_embeddings",
]
