"""Weighting schemes: counts in, the weight of each word in each class out.

A scheme is a function from ClassCounts to a float32 array of shape (n_words, n_classes), or (n_words, 1) if the weight
does not depend on the class. To add one, write the function and add a row to SCHEMES.

`none`, `tfidf`, `kld`, `tftrr` and `tfcr` are the equations as the paper prints them. `tfcr-log`, `tfidf-class`
and `kld-all` are what the author's released program computes instead; the published scores follow the program.
`tftrr-all` is another reading of the printed TF-TRR, which is not in the program.

In the formulas, |w_c| counts the occurrences of word w in class c and |w| in all classes, N_c all word occurrences in c
and N in all classes; r stands for the documents that are not in c; df counts documents instead of occurrences, D_c the
documents in c and D all documents. Decisions where the paper is silent:

- A word that never occurs has weight 0 in every scheme, `none` included.
- P(w|r) = 0 is replaced by one occurrence in the whole corpus, 1 / N, unless the scheme says otherwise.
- Negative weights are clipped at 0: they would bring the sum of a document's weights, the divisor, near zero.

The examples share a corpus of two classes: "film" twice in each, "good" once in *pos*, "bad" once in *neg*.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError, look_up
from tfcr.system.hardware import check_fits
from tfcr.system.parameters import N_TOP, number
from tfcr.text.class_counts import ClassCounts

WEIGHT_BYTES = 32
"""Memory of a scheme for each word and class: a few arrays of float64."""
ALPHA = number("alpha", 1, 1e9)
"""Of `tftrr`; below 1, weights could be negative."""
Weights = NDArray[np.float32]
Scheme = Callable[..., Weights]
"""Called with ClassCounts alone."""


def none(counts: ClassCounts) -> Weights:
    """Return 1 for every word: the unweighted mean.

    Examples
    --------
    >>> none(ClassCounts.from_texts(["bad film film", "good film film"], ["neg", "pos"])).ravel()
    array([1., 1., 1.], dtype=float32)
    """
    return _weights((counts.word_occurrences > 0)[:, None])


def tfidf(counts: ClassCounts) -> Weights:
    """Return log(D / df(w)); the word's count in the document is multiplied in by the document vector.

    Examples
    --------
    "bad" and "good" occur in one of two documents: log 2. "film" occurs in both: log 1.

    >>> tfidf(ClassCounts.from_texts(["bad film film", "good film film"], ["neg", "pos"])).ravel().round(3)
    array([0.693, 0.   , 0.693], dtype=float32)
    """
    return _weights(_log(_ratio(counts.n_documents, counts.word_documents))[:, None])


def kld(counts: ClassCounts) -> Weights:
    """Return max(P(w|c) · log(P(w|c) / P(w|r)), 0), with P(w|c) = |w_c| / N_c.

    Examples
    --------
    "good" in *pos*: P(w|c) = 1/3; it is not in *neg*, so P(w|r) becomes 1/6: 1/3 · log 2 = 0.231.
    "film" is equally frequent in both classes: 2/3 · log 1 = 0.

    >>> kld(ClassCounts.from_texts(["bad film film", "good film film"], ["neg", "pos"])).round(3)
    array([[0.231, 0.   ],
           [0.   , 0.   ],
           [0.   , 0.231]], dtype=float32)
    """
    in_class, in_rest = _word_probabilities(counts)
    return _weights(in_class * _log(in_class / in_rest))


def tftrr(counts: ClassCounts, *, alpha: float = 1.2) -> Weights:
    """Return (log |w_c| + 1) · log(P(w|c) / P(w|r) + α), and 0 where |w_c| = 0.

    The paper does not say which tf it means; a tf per document would not fit a word table, so it is |w_c|.

    Parameters
    ----------
    counts
        The counts of the training documents.
    alpha
        At least 1, so that no weight is negative; 1.2 in the paper. To choose it, pass
        ``functools.partial(tftrr, alpha=1.5)`` as the scheme.

    Examples
    --------
    "good" in *pos*: (log 1 + 1) · log(1/3 : 1/6 + 1.2) = log 3.2 = 1.163;
    "film": (log 2 + 1) · log(1 + 1.2) = 1.335.

    >>> tftrr(ClassCounts.from_texts(["bad film film", "good film film"], ["neg", "pos"])).round(3)
    array([[1.163, 0.   ],
           [1.335, 1.335],
           [0.   , 1.163]], dtype=float32)
    """
    ALPHA.check(alpha)
    in_class, in_rest = _word_probabilities(counts)
    occurrences = counts.occurrences.toarray()
    return _weights((_log(occurrences) + (occurrences > 0)) * np.log(in_class / in_rest + alpha))


def tftrr_all(counts: ClassCounts, *, alpha: float = 1.2) -> Weights:
    """Return (log |w| + 1) · log(R + α), with R = P(w|c) / P(w|r), and R = 0 where P(w|r) = 0.

    Another reading of TF-TRR, which comes nearer to the published scores. tf counts all classes, so that a word seen
    in training weighs in every class, also where it does not occur; and a word that no other class has is neutral: it
    weighs as much in its own class as in all others.

    Parameters
    ----------
    counts
        The counts of the training documents.
    alpha
        At least 1, as in `tftrr`.

    Examples
    --------
    "good" occurs in *pos* alone, so that R is 0 in both classes: (log 1 + 1) · log 1.2 = 0.182;
    "film": (log 4 + 1) · log(1 + 1.2) = 1.882.

    >>> tftrr_all(ClassCounts.from_texts(["bad film film", "good film film"], ["neg", "pos"])).round(3)
    array([[0.182, 0.182],
           [1.882, 1.882],
           [0.182, 0.182]], dtype=float32)
    """
    ALPHA.check(alpha)
    in_class, in_rest = _word_probabilities(counts, unseen=0)
    totals = counts.word_occurrences[:, None]
    return _weights((_log(totals) + (totals > 0)) * np.log(_ratio(in_class, in_rest) + alpha))


def tfcr(counts: ClassCounts) -> Weights:
    """Return (|w_c| / N_c) · (|w_c| / |w|): the paper's TF-CR.

    Examples
    --------
    "good" in *pos*: 1/3 · 1/1; "film": 2/3 · 2/4.

    >>> tfcr(ClassCounts.from_texts(["bad film film", "good film film"], ["neg", "pos"])).round(3)
    array([[0.333, 0.   ],
           [0.333, 0.333],
           [0.   , 0.333]], dtype=float32)
    """
    occurrences = counts.occurrences.toarray()
    frequency = _ratio(occurrences, counts.class_occurrences)
    category_ratio = _ratio(occurrences, counts.word_occurrences[:, None])
    return _weights(frequency * category_ratio)


def tfcr_log(counts: ClassCounts) -> Weights:
    """Return (df_c / df) · log(df_c + 1): TF-CR as the author's program computes it.

    Examples
    --------
    "good" in *pos*: 1/1 · log 2; "film": 1/2 · log 2.

    >>> tfcr_log(ClassCounts.from_texts(["bad film film", "good film film"], ["neg", "pos"])).round(3)
    array([[0.693, 0.   ],
           [0.347, 0.347],
           [0.   , 0.693]], dtype=float32)
    """
    documents = counts.documents.toarray()
    return _weights(_ratio(documents, counts.word_documents[:, None]) * np.log1p(documents))


def tfidf_class(counts: ClassCounts) -> Weights:
    """Return (log D_c / df_c) · log(df_c + 1), and 0 where df_c = 0: the program's TF-IDF, one for each class.

    Examples
    --------
    With two documents in each class, "good" in one of *pos* and "film" in both:
    (log 2 / 1) · log 2 = 0.480 and (log 2 / 2) · log 3 = 0.381.

    >>> texts = ["bad film", "film", "good film", "film"]
    >>> tfidf_class(ClassCounts.from_texts(texts, ["neg", "neg", "pos", "pos"])).round(3)
    array([[0.48 , 0.   ],
           [0.381, 0.381],
           [0.   , 0.48 ]], dtype=float32)
    """
    documents = counts.documents.toarray()
    return _weights(_ratio(_log(counts.class_documents), documents) * np.log1p(documents))


def kld_all(counts: ClassCounts) -> Weights:
    """Return max(p · log(p / q), 0), p = df_c / D_c, q = df / D: the program's KLD, against all documents.

    Examples
    --------
    "good" in *pos*: p = 1, q = 1/2: log 2; "film": p = q = 1: 0.

    >>> kld_all(ClassCounts.from_texts(["bad film film", "good film film"], ["neg", "pos"])).round(3)
    array([[0.693, 0.   ],
           [0.   , 0.   ],
           [0.   , 0.693]], dtype=float32)
    """
    in_class = _ratio(counts.documents.toarray(), counts.class_documents)
    in_all = _ratio(counts.word_documents, counts.n_documents)[:, None]
    return _weights(in_class * _log(_ratio(in_class, in_all)))


SCHEMES: dict[str, Scheme] = {
    "none": none,
    "tfidf": tfidf,
    "kld": kld,
    "tftrr": tftrr,
    "tfcr": tfcr,
    "tfcr-log": tfcr_log,
    "tfidf-class": tfidf_class,
    "kld-all": kld_all,
    "tftrr-all": tftrr_all,
}


def resolve_scheme(scheme: str | Scheme) -> Scheme:
    """Return the scheme for a name; a callable is returned unchanged."""
    return scheme if callable(scheme) else look_up(SCHEMES, scheme, "scheme")


def scheme_name(scheme: str | Scheme) -> str:
    """Return the name of a scheme; that of a callable is for people only."""
    if isinstance(scheme, str):
        return scheme
    function = getattr(scheme, "func", scheme)
    settings = ", ".join(f"{name}={value!r}" for name, value in getattr(scheme, "keywords", {}).items())
    return f"{getattr(function, '__name__', type(function).__name__)}({settings})"


def compute_weights(scheme: str | Scheme, counts: ClassCounts) -> Weights:
    """Apply a scheme and check what it returns, since it may be the user's own."""
    n_words, n_classes = len(counts.words), len(counts.classes)
    check_fits(
        WEIGHT_BYTES * n_words * n_classes,
        f"weights of {n_words:,} words in {n_classes:,} classes",
        "give a larger min_count, fewer classes, or parts=['words'], which has no such weights",
    )
    returned: Any = resolve_scheme(scheme)(counts)
    weights = np.asarray(returned.toarray() if hasattr(returned, "toarray") else returned, np.float32)
    if weights.shape not in {(n_words, n_classes), (n_words, 1)}:
        raise InputError(
            f"the scheme {scheme_name(scheme)!r} returned an array of shape {weights.shape}; "
            f"expected ({n_words}, {n_classes}), words by classes, or ({n_words}, 1)"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError(
            f"the scheme {scheme_name(scheme)!r} returned negative, infinite or missing weights; "
            "expected numbers of at least 0"
        )
    return weights


def top_weights(scheme: str | Scheme, counts: ClassCounts, n: int) -> dict[Any, list[tuple[str, float]]]:
    """Return the words with the largest weights of each class, or of all if the scheme has one weight per word."""
    N_TOP.check(n)
    weights = compute_weights(scheme, counts)
    labels = counts.classes.tolist() if weights.shape[1] > 1 else ["all"]
    best = np.argsort(-weights, axis=0, kind="stable")[:n]
    return {
        label: [(counts.words[row], float(weights[row, number])) for row in best[:, number].tolist()]
        for number, label in enumerate(labels)
    }


class ContestedWord(NamedTuple):
    """A word that speaks for two classes, and how much for each; the first more."""

    word: str
    labels: tuple[Any, Any]
    values: tuple[float, float]


def contested_words(
    values: NDArray[Any], classes: Sequence[Any], name: Callable[[int], str], n: int
) -> list[ContestedWord]:
    """Return the words that speak most for two classes at once: those whose second largest value is largest.

    Parameters
    ----------
    values
        How much each word speaks for each class; (n_words, n_classes).
    classes
        Their labels.
    name
        From the number of a word to the word.
    n
        At most so many; words that speak for one class only are left out.

    Examples
    --------
    >>> values = np.array([[3.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 2.0, 3.0]])
    >>> contested_words(values, "abc", ["x", "y", "z"].__getitem__, 1)
    [ContestedWord(word='z', labels=('c', 'b'), values=(3.0, 2.0))]
    """
    N_TOP.check(n)
    if values.shape[1] < 2:
        return []
    seconds = np.partition(values, -2, axis=1)[:, -2]
    rows = np.argsort(-seconds, kind="stable")[:n]
    found = []
    for row in rows[seconds[rows] > 0].tolist():
        first, second = np.argsort(-values[row], kind="stable")[:2].tolist()
        pair = float(values[row, first]), float(values[row, second])
        found.append(ContestedWord(name(row), (classes[first], classes[second]), pair))
    return found


def _word_probabilities(
    counts: ClassCounts, unseen: float | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(w|c) and P(w|r), both (n_words, n_classes).

    Where P(w|r) is 0, it is replaced by `unseen`; None stands for one occurrence in the whole corpus.
    """
    occurrences = counts.occurrences.toarray()
    in_class = _ratio(occurrences, counts.class_occurrences)
    totals = counts.word_occurrences[:, None]
    # sums of fractional sample weights do not cancel to the last bit
    rest = np.where(totals - occurrences > 1e-9 * totals, totals - occurrences, 0)
    in_rest = _ratio(rest, counts.n_occurrences - counts.class_occurrences)
    one_occurrence = 1 / max(counts.n_occurrences, 1)
    return in_class, np.where(in_rest > 0, in_rest, one_occurrence if unseen is None else unseen)


def _ratio(above: Any, below: Any) -> NDArray[np.float64]:
    """Divide; 0 where the divisor is 0.

    Snap ratios within 1e-12 of 1 to 1, so that their log is 0: a document of such words must have no weight.
    """
    above, below = np.broadcast_arrays(np.asarray(above, np.float64), np.asarray(below, np.float64))
    ratio = np.divide(above, below, out=np.zeros(above.shape), where=below > 0)
    return np.where(np.abs(ratio - 1) < 1e-12, 1, ratio)


def _log(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm, and 0 for 0."""
    return np.log(values, out=np.zeros(values.shape), where=values > 0)


def _weights(values: NDArray[Any]) -> Weights:
    return np.asarray(np.maximum(values, 0), np.float32)
