"""The vectors of a corpus's words: in-domain word2vec, trained once and kept, or those of a file or known model."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tfcr.embeddings import Embeddings
from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.errors import DamagedError, EmbeddingsError, InputError
from tfcr.experiment.plan.folds import Indices
from tfcr.experiment.plan.vectors import VectorFacts, VectorsPlan
from tfcr.experiment.plan.word2vec import Word2Vec
from tfcr.experiment.run.corpora import SECTION, PreparedCorpus, open_corpus, read_whole
from tfcr.system.array_codec import get_array, read_strings, write_strings
from tfcr.system.artifacts import (
    Artifact,
    ArtifactWriter,
    digest_of,
    digest_of_strings,
    drop_artifact,
    make_artifact,
    open_artifact,
    read_artifact,
)


@dataclass(frozen=True)
class IdentifyVectors:
    """The task of hashing the vectors of a file."""

    source: str

    def work(self) -> Iterator[VectorFacts]:
        """Yield what is known about them."""
        loaded = Embeddings.load(self.source)
        hashed = hashlib.sha256(np.ascontiguousarray(loaded.vectors).data)
        hashed.update(digest_of_strings(loaded.words).encode())
        hashed.update((loaded.segmentation or "").encode())
        yield VectorFacts(hashed.hexdigest()[:32], len(loaded), loaded.dimensions)


@dataclass(frozen=True)
class WordVectors:
    """A vector for each word of a corpus.

    Attributes
    ----------
    vectors
        float32 (n_words, dimensions), zeros for a word without one.
    found
        Which words have one; (n_words,).
    coverage_words, coverage_tokens
        The fraction of the words, and of the tokens, that have one.
    """

    vectors: NDArray[np.float32]
    found: NDArray[np.bool_]
    coverage_words: float
    coverage_tokens: float


@dataclass(frozen=True)
class PrepareVectors:
    """The task of loading or training the vectors of a corpus's words, unless that was done before."""

    plan: VectorsPlan

    def work(self) -> Iterator[str]:
        """Yield the name of their artefact."""
        name = _entry_name(self.plan)
        make_artifact(SECTION, name, self._write)
        yield name

    def _write(self, writer: ArtifactWriter) -> None:
        _write_aligned(writer, open_corpus(self.plan.corpus_entry), _load_or_train(self.plan), self.plan.length)


def open_vectors(plan: VectorsPlan, corpus: PreparedCorpus, train: Indices) -> WordVectors:
    """Return the vectors of a corpus's words; those of a training fold are trained now unless they are there."""
    if not plan.per_fold:
        return _open_aligned(_entry_name(plan))
    part = _training_texts(corpus, train)
    name = digest_of("part", plan.identity, digest_of_strings(part))
    make_artifact(SECTION, name, lambda writer: _write_aligned(writer, corpus, _trained(plan, part), plan.length))
    return _open_aligned(name)


def open_embeddings(plan: VectorsPlan, corpus: PreparedCorpus, train: Indices) -> Embeddings:
    """Return the same vectors as Embeddings, with the words that the corpus does not hold."""
    found = _trained(plan, _training_texts(corpus, train)) if plan.per_fold else _load_or_train(plan)
    if plan.length is None:
        return found
    if found.segmentation is not None:
        raise InputError(
            f"found vectors of sub-words ({found.name}) for a preset, to be scaled to length {plan.length:g}; expected "
            "vectors of words: leave out --vector-length"
        )
    return Embeddings.from_arrays(found.words, scale_vectors(found.vectors, plan.length), name=found.name)


def scale_vectors(vectors: NDArray[np.float32], length: float | None) -> NDArray[np.float32]:
    """Return each vector scaled to a length; zeros stay zeros. None: as they are.

    Examples
    --------
    >>> scale_vectors(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32), 0.5)
    array([[0.3, 0.4],
           [0. , 0. ]], dtype=float32)
    """
    if length is None:
        return vectors
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors * np.divide(length, norms, out=np.zeros_like(norms), where=norms > 0), np.float32)


def _training_texts(corpus: PreparedCorpus, train: Indices) -> list[str]:
    texts = corpus.texts()
    return [texts[row] for row in train.tolist()]


def _entry_name(plan: VectorsPlan) -> str:
    return digest_of("vectors", plan.corpus_entry, plan.identity)


def _load_or_train(plan: VectorsPlan) -> Embeddings:
    if plan.word2vec is None:
        return Embeddings.load(plan.source)
    name = digest_of("trained", plan.digest)
    return read_artifact(SECTION, name, lambda writer: _write_trained(writer, plan), _read_trained)


def _read_trained(artifact: Artifact) -> Embeddings:
    words, vectors = read_strings(artifact.arrays, "words"), get_array(artifact.arrays, "vectors", "f", (None, None))
    try:
        return Embeddings.from_arrays(words, vectors, name=IN_DOMAIN)
    except InputError as error:
        raise DamagedError(f"trained vectors are damaged: {error}") from None


def _write_trained(writer: ArtifactWriter, plan: VectorsPlan) -> None:
    trained = _trained(plan, read_whole(plan.corpus).texts)
    writer.write({"vectors": trained.vectors, **write_strings("words", trained.words)})


def _trained(plan: VectorsPlan, texts: list[str]) -> Embeddings:
    settings = {key: value for key, value in asdict(plan.word2vec or Word2Vec()).items() if key != "trained_on"}
    return Embeddings.train(texts, seed=plan.corpus.seed, tokenizer=plan.corpus.tokenizer, **settings)


def _write_aligned(
    writer: ArtifactWriter, corpus: PreparedCorpus, embeddings: Embeddings, length: float | None
) -> None:
    words = corpus.documents.vocabulary.words
    found = embeddings.has_vector(words)
    if not found.any():
        raise EmbeddingsError(
            f"none of the {len(words)} words of the corpus has a vector in {embeddings.name}; "
            "are they of the same language, and the tokenizer the right one?"
        )
    of_words, of_tokens = coverage(corpus, found)
    writer.facts |= {"coverage_words": of_words, "coverage_tokens": of_tokens}
    writer.write({"vectors": scale_vectors(embeddings.of_words(words), length), "found": found})


def coverage(corpus: PreparedCorpus, found: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the fraction of a corpus's words, and of its tokens, that have a vector."""
    occurrences = np.asarray(corpus.documents.matrix.sum(axis=0), np.float64)
    return float(found.mean()), float(occurrences[found].sum() / max(occurrences.sum(), 1))


@lru_cache(maxsize=2)
def _open_aligned(name: str) -> WordVectors:
    artifact = open_artifact(SECTION, name)
    if artifact is None:
        raise OSError(2, "prepared vectors are gone from the cache; run the same command again", name)
    try:
        return _read_aligned(artifact)
    except DamagedError:
        drop_artifact(SECTION, name)
        raise OSError(2, "prepared vectors are damaged and were deleted; run the same command again", name) from None


def _read_aligned(artifact: Artifact) -> WordVectors:
    vectors = get_array(artifact.arrays, "vectors", "f", (None, None))
    found = get_array(artifact.arrays, "found", "b", (len(vectors),))
    of_words, of_tokens = (artifact.facts.get(name) for name in ("coverage_words", "coverage_tokens"))
    if not isinstance(of_words, float) or not isinstance(of_tokens, float):
        raise DamagedError("the coverage is missing")
    return WordVectors(vectors, found, of_words, of_tokens)
