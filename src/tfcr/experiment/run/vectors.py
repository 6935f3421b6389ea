"""The vectors of a corpus's words: in-domain word2vec, trained once and kept, or those of a file or known model."""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tfcr.embeddings import Embeddings
from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.errors import EmbeddingsError
from tfcr.experiment.plan.folds import Places
from tfcr.experiment.plan.request import Word2Vec
from tfcr.experiment.run.corpora import SECTION, CorpusFacts, CorpusPlan, PreparedCorpus, open_corpus, read_whole
from tfcr.system.array_codec import read_strings, write_strings
from tfcr.system.artifacts import (
    Artifact,
    ArtifactWriter,
    digest_of,
    digest_of_strings,
    make_artifact,
    open_artifact,
    read_artifact,
)


@dataclass(frozen=True)
class FileFacts:
    """What is known of vectors from a file: the hash of their words and numbers, and how many there are."""

    digest: str
    words: int
    dimensions: int


@dataclass(frozen=True)
class IdentifyVectors:
    """The task of telling which vectors a file holds."""

    source: str

    def work(self) -> Iterator[FileFacts]:
        """Yield what is known of them."""
        loaded = Embeddings.load(self.source)
        hashed = hashlib.sha256(np.ascontiguousarray(loaded.vectors).data)
        hashed.update(digest_of_strings(loaded.words).encode())
        yield FileFacts(hashed.hexdigest()[:32], len(loaded), loaded.dimensions)


@dataclass(frozen=True)
class VectorsPlan:
    """Which vectors a corpus's words get: those of `source`, or in-domain word2vec where it is ``w2v``.

    `digest` tells the vectors apart: the hash of a file's content, or of the texts and settings of word2vec. `what`
    tells people.
    """

    source: str
    digest: str
    what: str
    word2vec: Word2Vec | None
    corpus: CorpusPlan
    corpus_entry: str

    @property
    def per_fold(self) -> bool:
        """Whether each training part has vectors of its own."""
        return self.word2vec is not None and self.word2vec.trained_on == "train"


def plan_vectors(
    source: str, word2vec: Word2Vec, corpus: CorpusPlan, facts: CorpusFacts, file: FileFacts | None
) -> VectorsPlan:
    """Name the vectors by the hash of what they come from: of the `file`, or of texts and settings where it is None."""
    if file is not None:
        what = f"{Path(source).name}, {file.words:,} words × {file.dimensions} dimensions"
        return VectorsPlan(source, file.digest, what, None, corpus, facts.entry)
    texts = facts.data_hash if word2vec.trained_on == "train" else facts.texts_hash
    digest = digest_of("word2vec", texts, corpus.tokenizer, asdict(word2vec), corpus.seed)
    return VectorsPlan(source, digest, word2vec.described(), word2vec, corpus, facts.entry)


@dataclass(frozen=True)
class WordVectors:
    """A vector for each word of a corpus.

    Attributes
    ----------
    vectors
        float32 (n_words, dimensions), zeros where there is none.
    found
        Which words have one; (n_words,).
    coverage_words, coverage_tokens
        The share of the words, and of the running words, that have one.
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
        """Yield the name of their entry."""
        name = _entry_name(self.plan)
        make_artifact(SECTION, name, self._write)
        yield name

    def _write(self, writer: ArtifactWriter) -> None:
        _write_aligned(writer, open_corpus(self.plan.corpus_entry), _load_or_train(self.plan))


def open_vectors(plan: VectorsPlan, corpus: PreparedCorpus, train: Places) -> WordVectors:
    """Return the vectors of a corpus's words; those trained on a training part are trained now if they are new."""
    if not plan.per_fold:
        return _open_aligned(_entry_name(plan))
    texts = corpus.texts()
    part = [texts[place] for place in train.tolist()]
    name = digest_of("part", plan.digest, digest_of_strings(part))
    make_artifact(SECTION, name, lambda writer: _write_aligned(writer, corpus, _trained(plan, part)))
    return _open_aligned(name)


def _entry_name(plan: VectorsPlan) -> str:
    return digest_of("vectors", plan.corpus_entry, plan.digest)


def _load_or_train(plan: VectorsPlan) -> Embeddings:
    if plan.word2vec is None:
        return Embeddings.load(plan.source)
    name = digest_of("trained", plan.digest)
    return read_artifact(SECTION, name, lambda writer: _write_trained(writer, plan), _read_trained)


def _read_trained(artifact: Artifact) -> Embeddings:
    words, vectors = read_strings(artifact.arrays, "words"), artifact.arrays["vectors"]
    return Embeddings.from_arrays(words, vectors, name=IN_DOMAIN)


def _write_trained(writer: ArtifactWriter, plan: VectorsPlan) -> None:
    trained = _trained(plan, read_whole(plan.corpus).texts)
    writer.write({"vectors": trained.vectors, **write_strings("words", trained.words)})


def _trained(plan: VectorsPlan, texts: list[str]) -> Embeddings:
    settings = {key: value for key, value in asdict(plan.word2vec or Word2Vec()).items() if key != "trained_on"}
    return Embeddings.train(texts, seed=plan.corpus.seed, tokenizer=plan.corpus.tokenizer, **settings)


def _write_aligned(writer: ArtifactWriter, corpus: PreparedCorpus, embeddings: Embeddings) -> None:
    words = corpus.documents.words
    found = embeddings.rows(words) >= 0
    if not found.any():
        raise EmbeddingsError(
            f"none of the {len(words)} words of the corpus has a vector in {embeddings.name}; "
            "are they of the same language, and the tokenizer the right one?"
        )
    occurrences = np.asarray(corpus.documents.matrix.sum(axis=0), np.float64)
    writer.facts |= {
        "coverage_words": float(found.mean()),
        "coverage_tokens": float(occurrences[found].sum() / max(occurrences.sum(), 1)),
    }
    writer.write({"vectors": embeddings.of_words(words), "found": found})


@lru_cache(maxsize=2)
def _open_aligned(name: str) -> WordVectors:
    artifact = open_artifact(SECTION, name)
    if artifact is None:
        raise OSError(2, "what was prepared is gone from the cache; run the same command again", name)
    arrays, facts = artifact.arrays, artifact.facts
    return WordVectors(arrays["vectors"], arrays["found"], facts["coverage_words"], facts["coverage_tokens"])
