"""Ways to read the paper, one row each in PROFILES: its printed equations, its author's program, and variants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import look_up
from tfcr.experiment.plan.word2vec import Word2Vec

PAPER_SCHEMES = ("none", "tfidf", "kld", "tftrr", "tfcr")
"""The columns of the paper's tables, in its order."""
PAPER_TOKENIZER = "paper"


@dataclass(frozen=True)
class Profile:
    """One way to read the paper.

    Attributes
    ----------
    name, what
        For people.
    schemes
        The row of SCHEMES for each of the paper's five names.
    counting
        ``occurrences``, or ``documents``: a word counts once in each document.
    counted_text
        Of which text words are counted: the ``whole``, or what the author's ``program`` counts: without web addresses,
        and without stretches that white space other than spaces, tabs and line breaks joins.
    plain_mean
        Which words `none` averages: those ``seen`` in training, or all ``with a vector``, seen or not.
    term_frequency
        How the count n of a word in a document enters its vector: as the ``count``, or as its ``log``, 1 + log n.
    blocks
        ``all``: the vectors weighted for each class, side by side. ``label``: Ko's rule, one block: training documents
        are weighted for the class of their label, others for the class with the largest sum of weights.
    features
        ``scaled``: centred, divided by one scale, empty blocks replaced by the average block. ``raw``: as they are. Our
        solver takes both; on raw ones it minimises the objectives of LinearSVC and liblinear's logistic regression.
    C
        Inverse regularisation strength, on those features.
    score
        The headline: ``mean`` of the folds' macro-F1, or macro-F1 of the ``pooled`` predictions.
    left_out
        The class that does not count in macro-F1, if any.
    vector_length
        Each vector of in-domain word2vec is scaled to this length; None for the vectors as they are. Vectors of files
        always stay as they are.
    word2vec
        How in-domain word2vec is trained.
    tokenizer
        A name of TOKENIZERS, for datasets that need no other.
    """

    name: str
    what: str
    schemes: Mapping[str, str]
    counting: str
    counted_text: str
    plain_mean: str
    term_frequency: str
    blocks: str
    features: str
    C: float
    score: str
    left_out: str | None
    vector_length: float | None
    word2vec: Word2Vec
    tokenizer: str = PAPER_TOKENIZER

    def settings(self) -> dict[str, Any]:
        """Return all that a cell's result depends on, but for scheme and vectors, which are among its settings.

        Choices that came later are left out where they are as before, or results that people have would not count.
        """
        later = {"counted_text": "whole", "term_frequency": "count", "blocks": "all"}
        elsewhere = ("what", "schemes", "word2vec", "vector_length", *later)
        chosen = {name: value for name, value in vars(self).items() if name not in elsewhere}
        changed = {name: getattr(self, name) for name, before in later.items() if getattr(self, name) != before}
        return {**chosen, "count_urls": self.counted_text == "whole", **changed}

    def counted(self, classes: Sequence[str]) -> NDArray[np.bool_]:
        """Return which classes count in macro-F1; (n_classes,)."""
        return np.array([label != self.left_out for label in classes])

    def scheme(self, name: str) -> str:
        """Return the row of SCHEMES for one of the paper's names; other names stand for themselves."""
        return self.schemes.get(name, name)

    def paper_name(self, scheme: str) -> str:
        """Return the paper's name for a row of SCHEMES; the inverse of `scheme`."""
        return next((name for name, row in self.schemes.items() if row == scheme), scheme)


_EQUATIONS = Profile(
    name="equations",
    what="the printed formulas; features centred and scaled, C = 1; mean of the folds",
    schemes={name: name for name in PAPER_SCHEMES},
    counting="occurrences",
    counted_text="whole",
    plain_mean="seen",
    term_frequency="count",
    blocks="all",
    features="scaled",
    C=1.0,
    score="mean",
    left_out=None,
    vector_length=None,
    word2vec=Word2Vec(),
)
# TF-TRR is not in the program: the reading, the length of vectors and the settings of word2vec are those that come
# nearest to the published scores (docs/reproduction.md).
_PUBLISHED = Profile(
    name="published",
    what="the author's program: document counts, its forms, raw features, C = 1; pooled over the folds; what it leaves "
    "open, as it comes nearest to the published scores",
    schemes={"none": "none", "tfidf": "tfidf-class", "kld": "kld-all", "tftrr": "tftrr-all", "tfcr": "tfcr-log"},
    counting="documents",
    counted_text="program",
    plain_mean="with a vector",
    term_frequency="count",
    blocks="all",
    features="raw",
    C=1.0,
    score="pooled",
    left_out="0",
    vector_length=0.7,
    word2vec=Word2Vec(dimensions=100, window=5, epochs=5, skip_gram=True, min_count=5),
)
PROFILES: dict[str, Profile] = {
    "equations": _EQUATIONS,
    "published": _PUBLISHED,
    "ko": replace(
        _PUBLISHED, name="ko", what="as published, but Ko's rule in place of the concatenation", blocks="label"
    ),
    "log-tf": replace(
        _EQUATIONS,
        name="log-tf",
        what="the printed formulas, with 1 + log n for a word's count n in a document",
        term_frequency="log",
    ),
}


def resolve_profile(name: str) -> Profile:
    """Return the profile of that name."""
    return look_up(PROFILES, name, "profile")
