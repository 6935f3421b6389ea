"""What the page Try shows: an explanation as `pages/view.js` takes it, and the weights of a word.

Classes are numbers here, and positions those of JavaScript: UTF-16 units.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import class_position
from tfcr.schemes import SCHEMES, compute_weights
from tfcr.serving.answers import finite, model_fields
from tfcr.serving.models import ServedModel
from tfcr.serving.problems import RequestError
from tfcr.text.tokenizers import token_spans
from tfcr.trained.explain import Explanation, WordContribution

SHOWN_CLASSES, SHOWN_COLUMNS, SHOWN_TERMS = 10, 3, 12
"""Bars, columns and rows that view.js shows."""
SHOWN_UNKNOWN = 51
"""Unknown words that are listed; one more than view.js shows, so that it sees that there are more."""
MARKED = 20_001
"""UTF-16 units of a text that are shown with marks; view.js may show one more than 20,000, to cut no character."""
SHOWN_SCHEMES = ("tfcr", "tfidf", "kld", "tftrr", "none", *(name for name in SCHEMES if "-" in name))
"""Those of the paper first, then those that its program has."""
TERM_WORDS = 2
"""Words of the longest term, a bigram."""


def explanation(served: ServedModel, text: str, known: str, shown: int | None) -> dict[str, Any]:
    """Return a text's label, and what its words say for a class.

    Parameters
    ----------
    served
        The model.
    text
        The text.
    known
        The hash of the model whose classes the page knows; those of another one are sent along.
    shown
        The number of the class, in the model of that hash; None: the predicted one.
    """
    found = served.model.explain(text)
    order = np.argsort(-found.margins, kind="stable").tolist()
    is_known = known == served.hash
    viewed = _class(served, shown) if is_known and shown is not None else order[0]
    columns = list(dict.fromkeys([viewed, *order[:SHOWN_COLUMNS]]))[:SHOWN_COLUMNS]
    bars = {viewed, *(range(len(order)) if len(order) <= SHOWN_CLASSES else order[:SHOWN_CLASSES])}
    terms, others = _strongest(found.words, viewed)
    model = {} if is_known else {"classes": served.keys, "several": found.decision.several}
    return {
        **model_fields(served),
        **model,
        "order": order[:SHOWN_CLASSES],
        "viewed": viewed,
        "probabilities": _of(bars, found.probabilities),
        "labels": _labels(served, found),
        "sure": found.sure,
        "scores": _of(columns, found.scores),
        "baseline": _of(columns, found.baseline),
        "margins": _of(columns, found.margins),
        "terms": [{"term": term.word, "added": _of(columns, term.contributions)} for term in terms],
        "others": {"terms": len(others), "added": _of(columns, _sum(others, len(order)))},
        "marks": _marks(found, viewed),
        "unknown": list(found.unknown[:SHOWN_UNKNOWN]),
        "how": _how(found),
    }


def _class(served: ServedModel, number: int) -> int:
    if not 0 <= number < len(served.keys):
        raise RequestError(
            404,
            f"found no class of the number {number} in the model {served.name}",
            f"one from 0 to {len(served.keys) - 1}",
        )
    return number


def _of(numbers: Iterable[int], values: NDArray[Any]) -> dict[int, float | None]:
    return {number: finite(values[number]) for number in numbers}


def _labels(served: ServedModel, found: Explanation) -> list[str]:
    labels = found.label if found.decision.several else [found.label]
    return [served.keys[class_position(found.classes, label)] for label in labels]


def _strongest(
    words: Sequence[WordContribution], number: int
) -> tuple[Sequence[WordContribution], Sequence[WordContribution]]:
    """Return the terms that add most to a class's score, either way, and the others."""
    ranked = sorted(words, key=lambda word: -abs(word.contributions[number]))
    return ranked[:SHOWN_TERMS], ranked[SHOWN_TERMS:]


def _sum(words: Sequence[WordContribution], n_classes: int) -> NDArray[np.float64]:
    return sum((word.contributions for word in words), np.zeros(n_classes))


def _marks(found: Explanation, number: int) -> list[tuple[int, int, float | None]]:
    """Return where each word begins and ends, and what it adds there; of a long text, of its beginning."""
    units = utf16_offsets(found.text[:MARKED])
    marks = found.marks(found.classes.tolist()[number], until=len(units) - 1)
    placed = [(int(units[mark.start]), int(units[mark.end]), finite(mark.added)) for mark in marks]
    return [mark for mark in placed if mark[1] <= MARKED]


def utf16_offsets(text: str) -> NDArray[np.int64]:
    """Return where each character begins in UTF-16, and where the last one ends; (n_characters + 1,).

    >>> utf16_offsets("a😀b").tolist()
    [0, 1, 3, 4]
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    return np.concatenate([[0], np.cumsum(1 + (codes > 0xFFFF))])


def _how(found: Explanation) -> str:
    """Return in a sentence how label and probability followed from the scores."""
    lines = found.how()
    if found.decision.several:
        lines.append("every class is assigned whose score is above its threshold")
    said = "; ".join(lines)
    return f"{said[:1].upper()}{said[1:]}."


# a word ------------------------------------------------------------------------------------------------------------


def word_weights(served: ServedModel, word: str, text: str) -> dict[str, Any]:
    """Return a term's weight in every class by each scheme, and what it adds to every score in a text.

    Without class counts there are no weights, and `kept` is false. Of a term that is not in the text, `added` is what
    it adds `alone`, in a text of its own; None if it adds nothing there either.
    """
    term = " ".join(_tokens(served, word))
    counts = served.class_counts
    found = {**model_fields(served), "word": term, "classes": served.keys, "kept": counts is not None}
    added = _added(served, term, text)
    found["alone"] = added is None
    found["added"] = _added(served, term, term) if added is None else added
    place = -1 if counts is None else bisect_left(counts.words, term)
    if counts is None or place == len(counts.words) or counts.words[place] != term:
        return {**found, "occurrences": None, "documents": None, "schemes": {}}
    row = counts.take(np.array([place]))
    weights = {name: compute_weights(name, row)[0] for name in SHOWN_SCHEMES}
    return {
        **found,
        "occurrences": row.occurrences.toarray()[0].tolist(),
        "documents": row.documents.toarray()[0].tolist(),
        "schemes": {
            name: np.broadcast_to(of_classes, len(served.keys)).tolist() for name, of_classes in weights.items()
        },
    }


def _tokens(served: ServedModel, word: str) -> list[str]:
    """Return the tokens of a word or bigram as it is written."""
    tokens = [token.token for token in token_spans(served.model.tokenizer, word)]
    if not 1 <= len(tokens) <= TERM_WORDS:
        raise RequestError(422, f"found {len(tokens)} words to look up", "one, or two that follow each other")
    return tokens


def _added(served: ServedModel, term: str, text: str) -> list[float | None] | None:
    """Return what a term adds to the score of each class in a text; None if it is not there."""
    if not text:
        return None
    words = [word for word in served.model.explain(text).words if word.word == term]
    return [finite(value) for value in _sum(words, len(served.keys))] if words else None
