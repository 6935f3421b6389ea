"""Texts that are nearly the same: those with different labels, and those that are trained and tested on.

Two documents are near-duplicates if they share at least SIMILARITY of their different words (Jaccard: words of both,
divided by words of either). To compare all pairs would take hours, so that MinHash picks the pairs to compare.

A document gets HASHES numbers, each the least hash value of its words by another hash function. Two documents agree in
any of them with the probability of their similarity. Pairs that agree in all BAND numbers of a band are compared:

    similarity        .5     .7     .8     .9      probability that one of 8 bands of 4 numbers agrees,
    compared         .40    .89    .985   .9998    1 - (1 - s⁴)⁸
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.decision import macro_f1_of_labels
from tfcr.evaluation.scores import Evaluation
from tfcr.system.distinct import distinct
from tfcr.text.documents import CountedDocuments
from tfcr.text.label_sets import AnyLabels, LabelSets

SIMILARITY = 0.8
HASHES, BAND = 32, 4
NEIGHBOURS = 8
"""Documents of equal numbers in a band that each is compared with, besides the first of them."""
AT_ONCE = 1 << 16
"""Pairs that are compared together."""


class DuplicateGroup(NamedTuple):
    """Documents that are nearly the same as the first of them, in increasing order, with their labels."""

    documents: tuple[int, ...]
    labels: tuple[Any, ...]


class Duplicates(NamedTuple):
    """Near-duplicates that spoil training or testing.

    Attributes
    ----------
    contradictory
        Groups whose documents have different labels, the largest first.
    across_folds
        Documents with a near-duplicate in another fold, so that the model was trained on nearly the same text.
    macro_f1_without
        Macro-F1 of all other documents taken together; None if there are none.
    """

    contradictory: tuple[DuplicateGroup, ...]
    across_folds: tuple[int, ...]
    macro_f1_without: float | None


def find_duplicates(
    documents: CountedDocuments, labels: AnyLabels, folds: NDArray[np.int64], result: Evaluation
) -> Duplicates:
    """Return the near-duplicates of a corpus.

    Parameters
    ----------
    documents, labels
        The corpus.
    folds
        The fold of each document; below 0 if it is only trained on. Those from 0 on are the documents of `result`.
    """
    originals = near_duplicates(documents)
    tested = np.flatnonzero(folds >= 0)
    across = _in_several_folds(originals, folds)[tested]
    without = None
    if across.any() and not across.all():
        without = macro_f1_of_labels(result.labels[~across], result.predicted[~across])
    return Duplicates(_contradictory(originals, labels), tuple(np.flatnonzero(across).tolist()), without)


def _contradictory(originals: NDArray[np.int64], labels: AnyLabels) -> tuple[DuplicateGroup, ...]:
    of_documents = [tuple(row) for row in labels.lists()] if isinstance(labels, LabelSets) else labels.tolist()
    groups: dict[int, list[int]] = {}
    for document in np.flatnonzero(np.bincount(originals, minlength=len(originals))[originals] > 1).tolist():
        groups.setdefault(int(originals[document]), []).append(document)
    found = [
        DuplicateGroup(tuple(group), tuple(of_documents[document] for document in group)) for group in groups.values()
    ]
    return tuple(sorted((group for group in found if len(set(group.labels)) > 1), key=lambda group: -len(group.labels)))


def _in_several_folds(originals: NDArray[np.int64], folds: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether a document has a near-duplicate in another fold than its own; (n_documents,)."""
    least, most = np.full(len(folds), np.iinfo(np.int64).max), np.full(len(folds), -1)
    np.minimum.at(least, originals, folds)
    np.maximum.at(most, originals, folds)
    return np.asarray((least < most)[originals])


def near_duplicates(documents: CountedDocuments, least: float = SIMILARITY) -> NDArray[np.int64]:
    """Return the document that each one nearly repeats: the first that is similar enough, or itself; (n_documents,).

    A document that is repeated repeats none, so that all of a group are similar to its first one. Word order and counts
    do not matter; documents without words repeat none.

    Parameters
    ----------
    documents
        Counted; bigrams do not count.
    least
        The similarity of near-duplicates.
    """
    words = sp.csr_array(documents.only_words().matrix, copy=True)
    words.data[:] = 1
    words.sort_indices()
    originals = np.arange(len(documents))
    filled = np.flatnonzero(np.diff(words.indptr))
    if len(filled) < 2:
        return originals
    first_of_same = filled[_same_sets(words[filled])]
    originals[filled] = first_of_same
    others = np.unique(first_of_same)
    pairs = others[_similar_pairs(words[others], least)]
    for later, earlier in sorted(zip(pairs[:, 1].tolist(), pairs[:, 0].tolist(), strict=True)):
        if originals[earlier] == earlier and originals[later] == later:
            originals[later] = earlier
    return np.asarray(originals[originals])  # what is the same as a near-duplicate


def _same_sets(words: sp.csr_array) -> NDArray[np.int64]:
    """Return the first document with the same words as each; documents have words.

    Equal sums of a random number for each word show it: two different sets have the same with a chance of 2⁻⁶⁴.
    """
    random = np.random.default_rng(0)
    numbers = random.integers(0, 2**64, words.shape[1], dtype=np.uint64)
    sums = np.add.reduceat(numbers[words.indices], words.indptr[:-1])
    _, firsts, places = np.unique(sums, return_index=True, return_inverse=True)
    return np.asarray(firsts[places])


def _similar_pairs(words: sp.csr_array, least: float) -> NDArray[np.int64]:
    """Return the pairs of documents that MinHash picks and that are similar, the earlier first; (n_pairs, 2)."""
    signatures = _signatures(words)
    size = words.shape[0]
    keys = [np.zeros(0, np.int64)]
    for band in range(0, HASHES, BAND):
        keys.append(_candidates(signatures[band : band + BAND], size))
    pairs = np.stack(np.divmod(distinct(np.concatenate(keys)), size), axis=1)
    parts = [pairs[start : start + AT_ONCE] for start in range(0, len(pairs), AT_ONCE)]
    return np.concatenate([np.zeros((0, 2), np.int64), *(part[_similarities(words, part) >= least] for part in parts)])


def _signatures(words: sp.csr_array) -> NDArray[np.uint32]:
    """Return the least hash value of each document's words, by each hash function; (HASHES, n_documents)."""
    random = np.random.default_rng(1)
    hashed = random.integers(0, 2**32, (HASHES, words.shape[1]), dtype=np.uint32)  # a random number is a perfect hash
    starts = words.indptr[:-1]
    return np.stack([np.minimum.reduceat(values[words.indices], starts) for values in hashed])


def _candidates(signatures: NDArray[np.uint32], size: int) -> NDArray[np.int64]:
    """Return pairs of documents that agree in all of these numbers, as earlier · size + later.

    Documents of one value stand side by side after sorting. Each is compared with the NEIGHBOURS next ones and with the
    first: of many that agree, not all pairs.
    """
    order = np.lexsort(signatures)  # stable: documents of one value stay in their order
    is_new = np.append(True, (signatures[:, order[1:]] != signatures[:, order[:-1]]).any(axis=0))
    value = np.cumsum(is_new) - 1
    first = order[np.flatnonzero(is_new)][value]
    found = [first * size + order]
    for distance in range(1, min(NEIGHBOURS, size - 1) + 1):
        same = value[distance:] == value[:-distance]
        found.append(order[:-distance][same] * size + order[distance:][same])
    keys = distinct(np.concatenate(found))
    return np.asarray(keys[keys // size != keys % size])


def _similarities(words: sp.csr_array, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of words that both documents have, as a fraction of those that one of them has."""
    shared = np.asarray((words[pairs[:, 0]] * words[pairs[:, 1]]).sum(axis=1), np.float64)
    sizes = np.diff(words.indptr)
    return np.asarray(shared / (sizes[pairs[:, 0]] + sizes[pairs[:, 1]] - shared))
