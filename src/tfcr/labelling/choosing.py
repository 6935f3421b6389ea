"""Which texts to ask for next.

Three ways, each for a reason:

    spread    while little is known: texts in the middle of groups of like texts, the largest groups first
    unsure    once a classifier can tell: of the texts that it is least sure of, some that are far apart
    random    every fifth: drawn from all texts alike, so that the score can be estimated from them

Every fifth text of the corpus is set aside at the start, at random. Random questions come from these alone, other
questions from the others, and the classifier that chooses never sees the first. Otherwise questions would avoid texts
like those that were drawn, since their labels are known; and a classifier without these, which is what tells the score,
would look worse than it is.
"""

import numpy as np
from numpy.typing import NDArray

from tfcr.labelling.pool import Vectors

SPREAD, UNSURE, RANDOM, GIVEN = "spread", "unsure", "random", "given"
"""How a text was chosen; labels that the file has are `given`."""
RANDOM_EVERY = 5
"""Every fifth question is drawn at random, from every fifth text."""
START = 16
"""Answers that were not drawn at random before questions follow the classifier: one of few texts is sure of the wrong
things."""
LEAST_SURE = 0.1
"""Fraction of the texts, the least sure ones, among which questions are spread."""
MOST_KNOWN = 100
"""Texts with an answer that the first questions keep away from, at most."""
LOOKED_THROUGH = 20_000
"""Texts that are compared with each other, at most: a sample of more is as good."""
GROUPING_STEPS = 10

Numbers = NDArray[np.int64]
"""Positions of texts in the pool."""


def spread_texts(vectors: Vectors, open_texts: Numbers, known: Numbers, n: int, random: np.random.Generator) -> Numbers:
    """Return texts from the middle of groups of like texts; groups with a known text come last.

    There are as many groups as known and wanted texts together (k-means), so that each wanted text finds a group of its
    own. A text in the middle of its group stands for many others; one at the edge of the corpus for none.

    Parameters
    ----------
    vectors
        Of all texts.
    open_texts, known
        The texts that may be asked for, and those that have an answer.
    n
        How many are wanted.
    random
        Where groups begin.
    """
    some = _sample(open_texts, random)
    known = known if len(known) <= MOST_KNOWN else random.choice(known, MOST_KNOWN, replace=False)
    n = min(n, len(some))
    looked = np.concatenate([some, known])
    n_groups = min(len(looked), n + len(known))
    groups, centres = group_texts(vectors[looked], n_groups, random)
    of_some, of_known = groups[: len(some)], groups[len(some) :]
    sizes = np.bincount(of_some, minlength=n_groups)
    is_known = np.bincount(of_known, minlength=n_groups) > 0
    order = sorted(range(n_groups), key=lambda group: (is_known[group], -sizes[group]))
    closeness = np.einsum("td,td->t", vectors[some], centres[of_some])
    # by how close they are to the middle of their group, the closest last
    ranked = [
        some[inside[np.argsort(closeness[inside], kind="stable")]].tolist() for inside in _members(of_some, order)
    ]
    found: list[int] = []
    while len(found) < n:  # one of each group, then the next of each
        found += [texts.pop() for texts in ranked if texts]
    return np.array(found[:n], np.int64)


def _members(groups: Numbers, order: list[int]) -> list[Numbers]:
    return [np.flatnonzero(groups == group) for group in order]


def unsure_texts(
    vectors: Vectors, margins: NDArray[np.float64], open_texts: Numbers, n: int, random: np.random.Generator
) -> Numbers:
    """Return texts that are far apart among the least sure.

    The least sure ones alone are often of one kind, and a second of a kind teaches little. Each next text is drawn by
    its squared distance from those that are drawn already (k-means++).

    Parameters
    ----------
    vectors
        Of all texts.
    margins
        How sure a classifier is of each open text; (n_open,).
    open_texts
        The texts that may be asked for.
    n
        How many are wanted.
    random
        What draws.
    """
    n = min(n, len(open_texts))
    n_least = max(n, int(np.ceil(LEAST_SURE * len(open_texts))))
    least = open_texts[np.argpartition(margins, n_least - 1)[:n_least]]
    least = _sample(least, random)
    return least[far_apart(vectors[least], n, random)]


def far_apart(vectors: Vectors, n: int, random: np.random.Generator) -> Numbers:
    """Draw rows by their squared distance from those drawn before (k-means++); (n,)."""
    distances = np.ones(len(vectors))
    found: list[int] = []
    for _ in range(n):
        distances[found] = 0
        total = distances.sum()
        # rows that are the same as drawn ones have distance 0, and come when nothing else is left
        chances = distances / total if total > 0 else np.isin(np.arange(len(vectors)), found, invert=True)
        chances = chances / chances.sum()
        found.append(int(random.choice(len(vectors), p=chances)))
        distances = np.minimum(distances, np.maximum(2 - 2 * (vectors @ vectors[found[-1]]), 0).astype(np.float64))
    return np.array(found, np.int64)


def group_texts(vectors: Vectors, n_groups: int, random: np.random.Generator) -> tuple[Numbers, Vectors]:
    """Return the group of each row, and the direction of each group: k-means of directions."""
    centres = vectors[far_apart(vectors, n_groups, random)]
    groups = np.zeros(len(vectors), np.int64)
    for _ in range(GROUPING_STEPS):
        groups = np.argmax(vectors @ centres.T, axis=1)
        sums = np.zeros_like(centres)
        np.add.at(sums, groups, vectors)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.where(lengths > 0, lengths, 1), centres)
    return groups, centres


def _sample(texts: Numbers, random: np.random.Generator) -> Numbers:
    """Return at most so many of the texts as can be compared with each other."""
    if len(texts) <= LOOKED_THROUGH:
        return texts
    return np.sort(random.choice(texts, LOOKED_THROUGH, replace=False))
