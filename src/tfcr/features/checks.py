"""What all estimators check and prepare before they fit: classes, seeds, counts, and vectors for the words."""

import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from tfcr.embeddings import Embeddings
from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.errors import CorpusWarning, EmbeddingsError, InputError, shown
from tfcr.text.class_counts import ClassCounts, Labels
from tfcr.text.label_sets import GivenLabels, LabelSets, classes_of
from tfcr.text.shards import Documents

LOW_COVERAGE = 0.5
"""Warn if a smaller fraction of the tokens has a vector."""
LONG_FIT = 120.0
"""Warn if a fit is expected to take more seconds, and another setting would take far fewer."""


def class_names(classes: Labels) -> list[str]:
    """Return the classes as text, for the names of columns."""
    return [str(label) for label in classes.tolist()]


def check_classes(classes: Labels) -> None:
    """Raise InputError if there are fewer than two classes."""
    if len(classes) < 2:
        found = f"one class only, {classes.tolist()[0]!r}" if len(classes) else "no documents"
        raise InputError(f"found {found}; expected documents of at least two classes")


def check_seed(random_state: object) -> int | None:
    """Return the seed if it is an integer, else None; raise InputError for an invalid random_state."""
    try:
        check_random_state(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"found random_state={shown(random_state)}; expected a whole number from 0 to 2**32 - 1, "
            "a RandomState or None"
        ) from None
    return int(random_state) if isinstance(random_state, int | np.integer) else None


def count_classes(
    documents: Documents, labels: GivenLabels, sample_weight: NDArray[np.float64], min_count: float
) -> tuple[ClassCounts, ClassCounts]:
    """Return the class counts of all words, and of those that occur at least `min_count` times."""
    n_used = int(np.count_nonzero(sample_weight))
    empty = np.flatnonzero((documents.lengths == 0) & (sample_weight > 0))
    if n_used < len(documents):
        used = np.flatnonzero(sample_weight)
        documents, labels, sample_weight = documents.rows(used), labels[used], sample_weight[used]
    check_classes(classes_of(labels))
    _warn_of_empty(empty, n_used)
    _warn_of_constant(labels)
    counts = ClassCounts.from_documents(documents, labels, sample_weight=sample_weight)
    kept = counts.at_least(min_count)
    if not len(kept.words):
        raise InputError(
            f"found no word that occurs {min_count:g} times in {n_used} texts; "
            "expected texts with words, or a lower min_count"
        )
    return counts, kept


def vectors_of_words(embeddings: Embeddings, counts: ClassCounts) -> NDArray[np.float32]:
    """Return a vector for each counted word; warn if too few of them have one."""
    check_coverage(embeddings, counts)
    return embeddings.of_words(counts.words)


def check_coverage(embeddings: Embeddings, counts: ClassCounts) -> None:
    """Raise EmbeddingsError if no counted word has a vector; warn if too few of them have one."""
    coverage = embeddings.coverage(counts)
    if coverage.words == 0:
        examples = ", ".join(repr(word) for word in counts.words[:3])
        raise EmbeddingsError(
            f"none of the {len(counts.words)} words of the corpus ({examples}, …) has a vector in "
            f"{embeddings.name}; are they of the same language, and the tokenizer the right one?"
        )
    if coverage.tokens < LOW_COVERAGE:
        warnings.warn(
            f"only {coverage.tokens:.0%} of the tokens ({coverage.words:.0%} of the distinct words) have a "
            f"vector in {embeddings.name}; {_better_vectors(embeddings)}",
            CorpusWarning,
            stacklevel=2,
        )


def seconds_of_all_blocks(n_documents: int, n_classes: int, dimensions: int) -> float:
    """Return about how many seconds a linear head takes if each class sees the blocks of all classes.

    Each of ``n_classes`` outputs has ``n_classes * dimensions`` columns. Measured on one processor: 1.3 s for 5,000
    documents of 20 classes and 50 dimensions, 6 s for 100 classes, 20 s for 200; 11 s for 100 classes and 100
    dimensions.

    >>> round(seconds_of_all_blocks(5000, 1000, 50) / 60)
    10
    """
    return n_documents / 1000 * n_classes * (0.015 + 2e-6 * dimensions * n_classes)


def warn_of_slow_blocks(n_documents: int, n_classes: int, dimensions: int) -> None:
    """Warn before a fit whose classes see the blocks of all classes, if there are so many that it takes long."""
    seconds = seconds_of_all_blocks(n_documents, n_classes, dimensions)
    own = n_documents / 1000 * n_classes * 0.005
    if seconds > LONG_FIT and seconds > 3 * own:
        warnings.warn(
            f"blocks='all' with {n_classes:,} classes and {n_documents:,} documents: each class sees the blocks of "
            f"all, and one fit takes about {seconds / 60:,.0f} minutes; with blocks='own', where each class sees its "
            f"own block, about {max(own, 60) / 60:,.0f}",
            CorpusWarning,
            stacklevel=2,
        )


def _better_vectors(embeddings: Embeddings) -> str:
    """Return what to try if too few tokens have a vector: something else than what is in use."""
    if embeddings.name == IN_DOMAIN:
        return "there are too few texts to train vectors on: give more, or vectors from a file, or use words alone"
    return f"vectors trained on these texts ({IN_DOMAIN}) may do better"


def _warn_of_empty(empty: NDArray[np.int64], n_used: int) -> None:
    if len(empty):
        warnings.warn(
            f"{len(empty)} of {n_used} texts contain no words, the first is number {empty[0]} (counted from 0); "
            "only their labels are used",
            CorpusWarning,
            stacklevel=2,
        )


def _warn_of_constant(labels: GivenLabels) -> None:
    """Warn of classes that no document has, or every one: there is nothing to learn about them."""
    if not isinstance(labels, LabelSets):
        return
    for has_all, what, then in ((True, "every document has", "always"), (False, "no document has", "never")):
        found = labels.classes[(labels.members == has_all).all(axis=0)].tolist()
        if found:
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            warnings.warn(
                f"{what} the class {', '.join(map(repr, found[:3]))}{more}: it will {then} be predicted; leave it out, "
                "or give documents that tell it from the others",
                CorpusWarning,
                stacklevel=2,
            )
