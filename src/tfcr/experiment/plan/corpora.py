"""Which documents of which dataset an experiment uses, and what is known about them once they are read."""

from dataclasses import dataclass

from tfcr.data import ReadOptions


@dataclass(frozen=True)
class CorpusPlan:
    """Which documents of which dataset are used, and how they are tokenised."""

    source: str
    options: ReadOptions
    tokenizer: str
    sample: int
    seed: int
    folds: int


@dataclass(frozen=True)
class CorpusFacts:
    """What tables and reports say about a corpus.

    Attributes
    ----------
    source
        File or dataset that it was read from.
    documents_in_all, documents
        Number of documents in the dataset, and in the sample.
    classes
        Sorted, as text.
    training_documents
        Size of the smallest training fold.
    notes
        What had to be left out.
    """

    source: str
    documents_in_all: int
    documents: int
    classes: tuple[str, ...]
    training_documents: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class CorpusHandle:
    """A prepared corpus by the name of its artefact, with what planning needs to know about it.

    Attributes
    ----------
    entry
        Name of the artefact in the cache.
    texts_hash
        Hash of all texts of the dataset, which in-domain word2vec is trained on.
    data_hash
        Hash of the sampled texts, their labels and groups.
    facts
        CorpusFacts.
    """

    entry: str
    texts_hash: str
    data_hash: str
    facts: CorpusFacts
