"""Word vectors: loading them from files, training them on texts."""

from tfcr.embeddings.automatic import resolve_tables
from tfcr.embeddings.cache import LoadReport
from tfcr.embeddings.formats import FORMATS
from tfcr.embeddings.pretrained import PRETRAINED
from tfcr.embeddings.store import AnyEmbeddings, Coverage, Embeddings, embeddings_key, resolve_embeddings, sources_of

__all__ = [
    "FORMATS",
    "PRETRAINED",
    "AnyEmbeddings",
    "Coverage",
    "Embeddings",
    "LoadReport",
    "embeddings_key",
    "resolve_embeddings",
    "resolve_tables",
    "sources_of",
]
