"""Which vectors the words of a corpus get, named by the hash of what they come from."""

from dataclasses import asdict, dataclass
from pathlib import Path

from tfcr.experiment.plan.corpora import CorpusHandle, CorpusPlan
from tfcr.experiment.plan.word2vec import Word2Vec
from tfcr.system.artifacts import digest_of


@dataclass(frozen=True)
class VectorFacts:
    """What is known about a file of vectors: the hash of its words and numbers, and how many there are."""

    digest: str
    words: int
    dimensions: int


@dataclass(frozen=True)
class VectorsPlan:
    """Which vectors a corpus's words get.

    Attributes
    ----------
    source
        A file or known name, or ``w2v`` for in-domain word2vec.
    digest
        Hash of the file's content, or of the texts and settings of word2vec; vectors of any length share it.
    description
        For tables and reports.
    word2vec
        None if the vectors come from a file.
    corpus, corpus_entry
        The corpus, and the name of its artefact.
    length
        Each vector is scaled to this length; None for their own.
    """

    source: str
    digest: str
    description: str
    word2vec: Word2Vec | None
    corpus: CorpusPlan
    corpus_entry: str
    length: float | None = None

    @property
    def identity(self) -> str:
        """The hash of the vectors as the cells see them, scaled or not."""
        return self.digest if self.length is None else digest_of("scaled", self.digest, self.length)

    @property
    def per_fold(self) -> bool:
        """Whether each training fold has vectors of its own."""
        return self.word2vec is not None and self.word2vec.trained_on == "train"


def plan_vectors(
    source: str,
    word2vec: Word2Vec,
    corpus: CorpusPlan,
    handle: CorpusHandle,
    file: VectorFacts | None,
    length: float | None = None,
) -> VectorsPlan:
    """Plan the vectors of a `file`, or of in-domain word2vec if it is None; each scaled to a `length`, if any."""
    scaled = "" if length is None else f", scaled to length {length:g}"
    if file is not None:
        description = f"{Path(source).name}, {file.words:,} words × {file.dimensions} dimensions{scaled}"
        return VectorsPlan(source, file.digest, description, None, corpus, handle.entry, length)
    texts = handle.data_hash if word2vec.trained_on == "train" else handle.texts_hash
    digest = digest_of("word2vec", texts, corpus.tokenizer, asdict(word2vec), corpus.seed)
    return VectorsPlan(source, digest, word2vec.described() + scaled, word2vec, corpus, handle.entry, length)
