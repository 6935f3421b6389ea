"""Datasets as the cells see them: read, sampled and counted once, and kept where all processes find them."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.data import Corpus, load_data
from tfcr.errors import DamagedError, DataError
from tfcr.evaluation import plan_folds
from tfcr.experiment.plan.corpora import CorpusFacts, CorpusHandle, CorpusPlan
from tfcr.experiment.plan.folds import cut_folds, sample_documents
from tfcr.system.array_codec import get_array, get_indices, read_sparse, read_strings, write_sparse, write_strings
from tfcr.system.artifacts import (
    Artifact,
    ArtifactWriter,
    digest_of,
    digest_of_strings,
    drop_artifact,
    open_artifact,
    read_artifact,
)
from tfcr.text.documents import CountedDocuments, count_terms
from tfcr.text.vocabulary import Vocabulary

SECTION = "experiments"
"""The section of the cache for all that the cells of experiments share."""

_HOST, _PATH = r"[\w-]+(?:\.[\w-]+)*", r"(?:/[^/\s]*)*"
_URL = re.compile(rf"\w+://{_HOST}{_PATH}")
"""Web addresses as the author's program finds them: of ``http://a.org:80/x`` it leaves ``:80/x``."""
_JOINED = re.compile(r"[^ \t\r\n]*[^\S \t\r\n][^ \t\r\n]*")
"""What the program takes for one word, though white space is in it: it splits at spaces, and has one text per line."""


@dataclass(frozen=True)
class PreparedCorpus:
    """A sampled and counted corpus, its arrays mapped from disk.

    Attributes
    ----------
    documents
        CountedDocuments over all words of the sample.
    program_counts
        The counts of the text that the author's program counts, without web addresses; (n_documents, n_words).
    labels
        The number of each document's class; (n_documents,).
    classes
        Sorted, as text.
    groups
        The number of each document's group; None if there are no groups.
    """

    documents: CountedDocuments
    program_counts: sp.csr_array
    labels: NDArray[np.int64]
    classes: NDArray[np.str_]
    groups: list[int] | None
    artifact: Artifact

    def texts(self) -> list[str]:
        """Return the texts of the sample."""
        return read_strings(self.artifact.arrays, "texts")


@dataclass(frozen=True)
class PrepareCorpus:
    """The task of reading, sampling and counting a dataset, unless that was done before."""

    plan: CorpusPlan

    def work(self) -> Iterator[CorpusHandle]:
        """Yield its handle."""
        yield prepare_corpus(self.plan)


def prepare_corpus(plan: CorpusPlan) -> CorpusHandle:
    """Read a dataset, take the sample, count its words, and keep all of it on disk."""
    corpus = read_whole(plan)
    texts_hash = digest_of_strings(corpus.texts)
    labels_hash = digest_of_strings([*map(str, corpus.labels), *map(str, corpus.groups or [])])
    name = digest_of("corpus 2", texts_hash, labels_hash, asdict(plan) | {"source": "", "options": ""})
    known = read_artifact(SECTION, name, partial(_write_corpus, plan, corpus), _read_facts)
    facts = CorpusFacts(
        source=Path(plan.source).name,
        documents_in_all=len(corpus),
        documents=known["documents"],
        classes=tuple(known["classes"]),
        training_documents=known["training_documents"],
        notes=tuple(known["notes"]),
    )
    return CorpusHandle(name, texts_hash, known["data_hash"], facts)


FACTS: dict[str, type] = {
    "data_hash": str,
    "documents": int,
    "classes": list,
    "training_documents": int,
    "notes": list,
}


def _read_facts(artifact: Artifact) -> dict[str, Any]:
    """Return the facts of a prepared corpus; raise DamagedError if they are not what was written."""
    for name, kind in FACTS.items():
        found = artifact.facts.get(name)
        texts = found if isinstance(found, list) else []
        if type(found) is not kind or not all(isinstance(text, str) for text in texts):
            raise DamagedError(f"the fact {name!r} is missing, or of another type")
    _read_corpus(artifact)
    return artifact.facts


def read_whole(plan: CorpusPlan) -> Corpus:
    """Return all labelled texts of a dataset."""
    try:
        corpus = load_data([plan.source], plan.options)
    except DataError as error:
        hint = " (in an experiment, by text = … and label = … in its TOML file)" if "--" in str(error) else ""
        raise DataError(f"{error}{hint}") from None
    if corpus.several:
        raise DataError(
            f"{corpus.name}: found several labels per document; an experiment, as the paper, takes one each: "
            f"compare presets with tfcr evaluate {plan.source}"
        )
    return corpus


def _write_corpus(plan: CorpusPlan, corpus: Corpus, writer: ArtifactWriter) -> None:
    sample = corpus.take(sample_documents(len(corpus), plan.sample, plan.seed).tolist())
    planned = plan_folds(sample, plan.folds, min_class_size=plan.folds)
    sample = planned.corpus
    documents = count_terms(sample.texts, plan.tokenizer)
    documents.matrix.sort_indices()  # now, while the arrays are writable
    classes, labels = np.unique(list(map(str, sample.labels)), return_inverse=True)
    groups = [] if sample.groups is None else np.unique(list(map(str, sample.groups)), return_inverse=True)[1].tolist()
    folds = cut_folds(labels, groups or None, plan.folds, plan.seed)
    writer.facts |= {
        "data_hash": digest_of_strings([*sample.texts, *map(str, sample.labels), *map(str, groups)]),
        "documents": len(sample),
        "classes": classes.tolist(),
        "training_documents": min(len(fold.train) for fold in folds),
        "notes": list(planned.notes),
    }
    arrays = {
        **write_sparse("counts", documents.matrix),
        **write_sparse("uncounted", _uncounted(sample.texts, documents, plan.tokenizer)),
        "lengths": documents.lengths,
        "labels": labels.astype(np.int64),
        "groups": np.array(groups, np.int64),
        **write_strings("words", documents.vocabulary.words),
        **write_strings("texts", sample.texts),
    }
    writer.write(arrays)


def program_text(text: str) -> str:
    r"""Return what the author's program counts the words of.

    Examples
    --------
    A no-break space joins two words into one that no document vector finds:

    >>> program_text("see http://a.org/b/?c=1 for no\u00a0break spaces")
    'see  for  spaces'
    """
    return _JOINED.sub("", _URL.sub("", text.strip()).strip())


def _uncounted(texts: list[str], documents: CountedDocuments, tokenizer: str) -> sp.csr_array:
    """Return what the author's program leaves out: counts of the whole texts minus counts of what it counts."""
    counted = [program_text(text) for text in texts]
    pairs = enumerate(zip(counted, texts, strict=True))
    places = np.array([place for place, (some, text) in pairs if len(some) < len(text.strip())], np.int64)
    stripped = count_terms([counted[place] for place in places.tolist()], tokenizer, documents.vocabulary)
    left_out = sp.coo_array(documents.matrix[places] - stripped.matrix)
    return sp.coo_array((left_out.data, (places[left_out.row], left_out.col)), shape=documents.matrix.shape).tocsr()


@lru_cache(maxsize=2)
def open_corpus(name: str) -> PreparedCorpus:
    """Open a prepared corpus."""
    artifact = open_artifact(SECTION, name)
    try:
        if artifact is not None:
            return _read_corpus(artifact)
    except (DamagedError, LookupError, TypeError, ValueError):
        drop_artifact(SECTION, name)
    raise OSError(2, "a prepared corpus is gone from the cache; run the same command again", name)


def _read_corpus(artifact: Artifact) -> PreparedCorpus:
    arrays = artifact.arrays
    words, lengths = read_strings(arrays, "words"), get_array(arrays, "lengths", "i", (None,))
    labels = get_indices(arrays, "labels", len(lengths), len(artifact.facts["classes"]))
    groups = get_array(arrays, "groups", "i", (None,))
    if len(groups) not in (0, len(lengths)):
        raise DamagedError("there are fewer groups than documents")
    shape = (len(lengths), len(words))
    counts, uncounted = (read_sparse(arrays, part, shape, "fiu") for part in ("counts", "uncounted"))
    return PreparedCorpus(
        documents=CountedDocuments(Vocabulary(words), counts, lengths),
        program_counts=_less(counts, uncounted),
        labels=np.array(labels),
        classes=np.array(artifact.facts["classes"]),
        groups=groups.tolist() or None,
        artifact=artifact,
    )


def _less(counts: sp.csr_array, uncounted: sp.csr_array) -> sp.csr_array:
    if not uncounted.nnz:
        return counts
    rest = sp.csr_array(counts - uncounted)
    rest.eliminate_zeros()
    return rest
