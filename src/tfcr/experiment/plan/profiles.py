"""Two ways to read the paper, one row each in PROFILES: its printed equations, and its author's program."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import look_up

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
    count_urls
        Whether the words of web addresses are counted.
    plain_mean
        Which words `none` averages: those ``seen`` in training, or all ``with a vector``, seen or not.
    features
        ``scaled``: centred, divided by one scale, empty blocks replaced by the average block. ``raw``: as they are. Our
        solver takes both; on raw ones it minimises the objectives of LinearSVC and liblinear's logistic regression.
    C
        Inverse regularisation strength, on those features.
    score
        The headline: ``mean`` of the folds' macro-F1, or macro-F1 of the ``pooled`` predictions.
    left_out
        The class that does not count in macro-F1, if any.
    tokenizer
        A name of TOKENIZERS, for datasets that need no other.
    """

    name: str
    what: str
    schemes: Mapping[str, str]
    counting: str
    count_urls: bool
    plain_mean: str
    features: str
    C: float
    score: str
    left_out: str | None
    tokenizer: str = PAPER_TOKENIZER

    def counted(self, classes: Sequence[str]) -> NDArray[np.bool_]:
        """Return which classes count in macro-F1; (n_classes,)."""
        return np.array([label != self.left_out for label in classes])

    def scheme(self, name: str) -> str:
        """Return the row of SCHEMES for one of the paper's names; other names stand for themselves."""
        return self.schemes.get(name, name)

    def paper_name(self, scheme: str) -> str:
        """Return the paper's name for a row of SCHEMES; the inverse of `scheme`."""
        return next((name for name, row in self.schemes.items() if row == scheme), scheme)


PROFILES: dict[str, Profile] = {
    "equations": Profile(
        name="equations",
        what="the printed formulas; features centred and scaled, C = 1; mean of the folds",
        schemes={name: name for name in PAPER_SCHEMES},
        counting="occurrences",
        count_urls=True,
        plain_mean="seen",
        features="scaled",
        C=1.0,
        score="mean",
        left_out=None,
    ),
    # TF-TRR is not in the program: the printed formula is applied to its document counts.
    "published": Profile(
        name="published",
        what="the author's program: document counts, its forms, raw features, C = 1; pooled over the folds",
        schemes={"none": "none", "tfidf": "tfidf-class", "kld": "kld-all", "tftrr": "tftrr", "tfcr": "tfcr-log"},
        counting="documents",
        count_urls=False,
        plain_mean="with a vector",
        features="raw",
        C=1.0,
        score="pooled",
        left_out="0",
    ),
}


def resolve_profile(name: str) -> Profile:
    """Return the profile of that name."""
    return look_up(PROFILES, name, "profile")
