"""Why a text got its label: what each word adds to each class's score."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.text.class_counts import Labels
from tfcr.text.tokenizers import AnyTokenizer, Token, token_spans
from tfcr.trained.word_table import WordTable

Spans = dict[str, list[tuple[int, int]]]


@dataclass(frozen=True)
class WordContribution:
    """A word of the text, what it adds to each class's score, and where it stands in the text."""

    word: str
    count: int
    contributions: NDArray[np.float64]
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Explanation:
    """An exact account of the scores of one text: ``baseline + Σ contributions = scores``.

    It accounts for this score and forecasts no other: without a word, the others' shares change too.

    Attributes
    ----------
    text
        As it was given.
    label
        The predicted class.
    classes
        All classes, sorted.
    scores
        One for each class; of two classes, one is the other's negative.
    baseline
        What no word adds. Where blocks are averaged by weights, it is the score of an average training document, and
        each word's part is how far it leads away from that.
    words
        The known words of the text, the one that speaks most for the label first.
    unknown
        The words that the model does not know; they add nothing.
    """

    text: str
    label: Any
    classes: Labels
    scores: NDArray[np.float64]
    baseline: NDArray[np.float64]
    words: tuple[WordContribution, ...]
    unknown: tuple[str, ...]

    def contributions(self, label: Any = None) -> dict[str, float]:
        """Return what each word adds to the score of a class, by default the predicted one."""
        number = self._number(self.label if label is None else label)
        found = {word.word: float(word.contributions[number]) for word in self.words}
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def __str__(self) -> str:
        number = self._number(self.label)
        lines = [
            f"{self.label}  {self.scores[number]:+.3f}",
            f"  {self.baseline[number]:+.3f}  (no word)",
        ]
        shown = [word for word in self.words if abs(word.contributions[number]) >= 0.0005]
        lines += [f"  {word.contributions[number]:+.3f}  {word.word}" for word in shown]
        if self.unknown:
            lines.append(f"  not known: {', '.join(self.unknown)}")
        return "\n".join(lines)

    def _number(self, label: Any) -> int:
        found = np.flatnonzero(self.classes == label)
        if not len(found):
            raise InputError(f"unknown class {label!r}; known: {', '.join(map(str, self.classes.tolist()))}")
        return int(found[0])


def explain_text(text: str, table: WordTable, classes: Labels, tokenizer: AnyTokenizer) -> Explanation:
    """Account for the scores of one text, word by word."""
    if not isinstance(text, str):
        raise InputError(f"found {type(text).__name__}; expected one text, a string")
    document = table.count([text], tokenizer)
    rows, contributions = table.contributions(document.matrix, int(document.lengths[0]))
    scores = _per_class(table.decision(document))[0]
    parts = _per_class(contributions)
    tokens = token_spans(tokenizer, text)
    of_words, uses_bigrams = _spans_of_words(tokens), _spans_of_pairs(tokens, table, tokenizer)
    spans = [(of_words if row < table.known.n_words else uses_bigrams).get(table.words[row], ()) for row in rows]
    words = [
        WordContribution(table.words[row], int(count), part, tuple(where))
        for row, count, part, where in zip(rows, document.matrix.data, parts, spans, strict=True)
    ]
    best = int(np.argmax(scores))
    words.sort(key=lambda word: (-word.contributions[best], word.word))
    known = {word.word for word in words}
    return Explanation(
        text=text,
        label=classes.tolist()[best],
        classes=classes,
        scores=scores,
        baseline=_per_class(table.intercepts[None])[0],
        words=tuple(words),
        unknown=tuple(dict.fromkeys(token for token, _, _ in tokens if token not in known)),
    )


def top_words(table: WordTable, classes: Labels, n: int) -> dict[Any, list[tuple[str, float]]]:
    """Return, for each class, the words that raise its score most over the training documents."""
    scores = _per_class(table.influences())
    best = np.argsort(-scores, axis=0, kind="stable")[:n]
    return {
        label: [(table.words[row], float(scores[row, number])) for row in best[:, number]]
        for number, label in enumerate(classes.tolist())
    }


def _per_class(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one column for each class: the one output of two classes shows both signs."""
    return np.concatenate([-scores, scores], axis=1) if scores.shape[1] == 1 else scores


def _spans_of_words(found: Sequence[Token]) -> Spans:
    """Return where each word stands."""
    spans: Spans = {}
    for token, start, end in found:
        spans.setdefault(token, []).append((start, end))
    return spans


def _spans_of_pairs(found: Sequence[Token], table: WordTable, tokenizer: AnyTokenizer) -> Spans:
    """Return where each pair of neighbouring words stands, from the first letter to the last."""
    if not table.n_bigrams:
        return {}
    joined = table.known.joined([token for token, _, _ in found], tokenizer)
    spans: Spans = {}
    for one, two in pairwise(found[place] for place in joined):
        spans.setdefault(f"{one.token} {two.token}", []).append((one.start, two.end))
    return spans
