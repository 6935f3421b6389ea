"""The texts that can be asked for: counted once, with a short vector each."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.presets import PRESETS
from tfcr.text.documents import CountedDocuments, check_texts, count_terms

DIMENSIONS = 50
"""Of the short vectors: enough to tell topics apart, and few enough to compare many texts."""
SAMPLE = 5_000
"""Texts that the directions of the short vectors are learned from, at most; all texts are then projected."""
POWER_STEPS = 3
"""Of the randomised decomposition."""
SEED = 0

Vectors = NDArray[np.float32]
"""One row per text, of length 1, or of 0 for a text without known words."""


@dataclass(frozen=True)
class Pool:
    """Texts, of which some have a label already.

    Attributes
    ----------
    texts
        All texts.
    labels
        For each text its label, a tuple of several, or None; as they were given with the texts.
    rows
        The number of each text in the file that it comes from.
    documents
        The texts, counted.
    """

    texts: list[str]
    labels: list[Any]
    rows: list[int]
    documents: CountedDocuments

    @classmethod
    def of(cls, texts: Sequence[str], labels: Sequence[Any] | None = None, rows: Sequence[int] | None = None) -> "Pool":
        """Return the pool of some texts; without numbers of rows, they are counted from 1."""
        known = check_texts(texts)
        if len(set(known)) < 2:
            raise InputError(f"found {len(set(known))} different texts; expected at least two to choose from")
        given = [None] * len(known) if labels is None else list(labels)
        numbers = list(range(1, len(known) + 1)) if rows is None else list(rows)
        return cls(known, given, numbers, count_terms(known, PRESETS["fast"]["tokenizer"]))

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def fingerprint(self) -> str:
        """16 digits that change with the texts or their order."""
        found = sha256()
        for text in self.texts:
            content = text.encode("utf-8", "surrogatepass")
            found.update(len(content).to_bytes(8, "little") + content)
        return found.hexdigest()[:16]

    @cached_property
    def firsts(self) -> NDArray[np.int64]:
        """The positions of the texts that can be asked for: of texts that are the same, the first."""
        first: dict[str, int] = {}
        for number, text in enumerate(self.texts):
            first.setdefault(text, number)
        return np.fromiter(first.values(), np.int64, len(first))

    @cached_property
    def vectors(self) -> Vectors:
        """The TF-IDF of each text, reduced to a few dimensions (LSA): texts of one topic point one way."""
        weighted = _tfidf(self.documents)
        rank = min(DIMENSIONS, *weighted.shape) - 1
        if rank < 1:
            return np.ones((len(self), 1), np.float32)
        return _unit(weighted @ _directions(weighted, rank))


def _tfidf(documents: CountedDocuments) -> sp.csr_array:
    """Return sublinear TF-IDF with L2 norm of the words that two texts hold; float32 (n_texts, n_words)."""
    frequencies = documents.document_frequencies()
    common = np.flatnonzero(frequencies >= 2)
    found = documents.matrix[:, common].astype(np.float32)
    found.data = 1 + np.log(found.data)
    idf = np.log((1 + len(documents)) / (1 + frequencies[common])) + 1
    found = sp.csr_array(found @ sp.diags_array(idf.astype(np.float32)))
    lengths = np.sqrt(np.asarray((found * found).sum(axis=1), np.float32))
    return sp.csr_array(sp.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ found)


def _directions(weighted: sp.csr_array, rank: int) -> NDArray[np.float32]:
    """Return the strongest directions of a sample of the texts; (n_words, rank)."""
    random = np.random.default_rng(SEED)
    n_texts = weighted.shape[0]
    sample = weighted if n_texts <= SAMPLE else weighted[np.sort(random.choice(n_texts, SAMPLE, replace=False))]
    # a randomised range of the words' side; some steps of the power method sharpen it
    directions = random.standard_normal((sample.shape[1], rank + 10)).astype(np.float32)
    for _ in range(POWER_STEPS):
        directions = np.linalg.qr(sample.T @ (sample @ directions))[0]
    small = sample @ directions
    _, _, turned = np.linalg.svd(small, full_matrices=False)
    return np.asarray(directions @ turned[:rank].T, np.float32)


def _unit(vectors: NDArray[np.float32]) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 1e-6, lengths, 1), np.float32)
