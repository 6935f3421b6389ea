"""Why a text got its label: what each term adds to each class's score."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import Decision, class_position, class_scores
from tfcr.errors import InputError
from tfcr.kernels.actions import UNKNOWN_SYMBOL
from tfcr.system.parameters import N_TOP
from tfcr.text.class_counts import Labels
from tfcr.text.label_sets import LabelSets
from tfcr.text.terms import find_terms, skipped_in_bigrams
from tfcr.text.tokenizers import AnyTokenizer, Token, is_symbol, token_spans
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.word_table import WordTable

MAX_CHARACTERS = 1_000_000
"""Longest text that is explained; the position of every token takes a hundred times the memory of the text."""

AT_ONCE = 200
"""Texts whose contributions are held at once: one number for each term and class."""


@dataclass(frozen=True)
class WordContribution:
    """A term of the text, what it adds to each class's score, and where it stands in the text.

    An `unseen` word did not occur in training: it is scored from its pieces.
    """

    word: str
    count: int
    contributions: NDArray[np.float64]
    spans: tuple[tuple[int, int], ...]
    unseen: bool = False


@dataclass(frozen=True)
class Explanation:
    """An exact account of the scores of one text: ``baseline + Σ contributions = scores``.

    It explains this score; it does not predict what the score would be without a word.

    Attributes
    ----------
    text
        As it was given.
    label
        The predicted class; if texts have several labels, the list of them.
    classes
        All classes, sorted.
    scores
        One per class; of two classes of which a text has one, one is the negative of the other.
    baseline
        The score without any word. If blocks are averaged by weights, it is the score of an average training document,
        and the contribution of a word is how far it leads away from that.
    words
        The terms of the text that add something, by decreasing contribution to the label; of several, to `nearest`.
    unknown
        The words that neither occurred in training nor have known pieces; they add nothing.
    thresholds
        If texts have several labels: the score of each class above which it is assigned; else None.
    """

    text: str
    label: Any
    classes: Labels
    scores: NDArray[np.float64]
    baseline: NDArray[np.float64]
    words: tuple[WordContribution, ...]
    unknown: tuple[str, ...]
    thresholds: NDArray[np.float64] | None = None

    @property
    def margins(self) -> NDArray[np.float64]:
        """How far each score is above its threshold; of one label, the scores."""
        return self.scores if self.thresholds is None else self.scores - self.thresholds

    @property
    def nearest(self) -> Any:
        """The class that is furthest above its threshold, or the least below; of one label, that of the best score."""
        return self.classes.tolist()[int(np.argmax(self.margins))]

    def contributions(self, label: Any = None) -> dict[str, float]:
        """Return what each term adds to the score of a class, by default the predicted one; largest first.

        Of several labels, the default is `nearest`.
        """
        if label is None:
            label = self.label if self.thresholds is None else self.nearest
        number = class_position(self.classes, label)
        found: dict[str, float] = {}
        for word in self.words:  # a tokeniser may give a word that is spelled like a bigram of two others
            found[word.word] = found.get(word.word, 0.0) + float(word.contributions[number])
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def __str__(self) -> str:
        lines = [line for label in self._shown_labels() for line in self._account(label)]
        if self.unknown:
            lines.append(f"  not known: {', '.join(self.unknown)}")
        return "\n".join(lines)

    def _shown_labels(self) -> list[Any]:
        """Return the predicted classes, the best first; if there are none, the nearest."""
        if self.thresholds is None:
            return [self.label]
        order = np.argsort(-self.margins, kind="stable")
        return [self.classes.tolist()[number] for number in order[: max(1, len(self.label))].tolist()]

    def _account(self, label: Any) -> list[str]:
        number = class_position(self.classes, label)
        limit = ""
        if self.thresholds is not None:
            how = "assigned" if label in self.label else "not assigned"
            limit = f", {how}: the threshold is {self.thresholds[number]:+.3f}"
        shown = sorted(self.words, key=lambda word: (-word.contributions[number], word.word))
        return [
            f"{label}  {self.scores[number]:+.3f}{limit}",
            f"  {self.baseline[number]:+.3f}  (no word)",
            *(
                f"  {word.contributions[number]:+.3f}  {word.word}"
                for word in shown
                if abs(word.contributions[number]) >= 0.0005
            ),
        ]


def explain_text(text: str, table: WordTable, decision: Decision, tokenizer: AnyTokenizer) -> Explanation:
    """Explain the scores of one text, term by term."""
    if not isinstance(text, str):
        raise InputError(f"found {type(text).__name__}; expected one text, a string")
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"found a text of {len(text):,} characters to explain; expected at most {MAX_CHARACTERS:,}: "
            "give a part of it"
        )
    found = find_terms([text], tokenizer, table.vocabulary, unseen=bool(table.pieces))
    batch, unseen = found.batch, table.unseen_rows(found.unseen)
    contributions = class_scores(table.contributions(batch, unseen))
    scores = table.score_batch(batch, unseen)
    tokens = token_spans(tokenizer, text)
    vocabulary = table.vocabulary.with_unseen(found.unseen)
    spans, unknown = _spans_of_terms(tokens, table.vocabulary, found.unseen, tokenizer)
    first_unseen = len(table.vocabulary)
    words = [
        WordContribution(vocabulary.name(term), count, part, tuple(spans.get(term, ())), term >= first_unseen)
        for term, count, part in zip(batch.words.tolist(), batch.counts.tolist(), contributions, strict=True)
        if term < first_unseen or part.any()
    ]
    best = int(decision.margins(scores).argmax(axis=1)[0])
    assigned = decision.assigned(scores)
    words.sort(key=lambda word: (-word.contributions[best], word.word))
    scored = {word.word for word in words if word.unseen}
    return Explanation(
        text=text,
        label=assigned.lists()[0] if isinstance(assigned, LabelSets) else decision.classes.tolist()[best],
        classes=decision.classes,
        scores=class_scores(scores)[0],
        baseline=class_scores(table.intercepts),
        words=tuple(words),
        unknown=tuple(word for word in unknown if word not in scored),
        thresholds=decision.limits if decision.several else None,
    )


def strongest_terms(
    texts: Sequence[str], table: WordTable, decision: Decision, tokenizer: AnyTokenizer, n: int
) -> list[list[str]]:
    """Return the terms of each text that add most to the score of its label, at most n; of several, to the nearest.

    Terms that speak against the label are left out.
    """
    found: list[list[str]] = []
    for start in range(0, len(texts), AT_ONCE):
        terms = find_terms(texts[start : start + AT_ONCE], tokenizer, table.vocabulary, unseen=bool(table.pieces))
        batch, unseen = terms.batch, table.unseen_rows(terms.unseen)
        labels = decision.winners(table.score_batch(batch, unseen))
        added = class_scores(table.contributions(batch, unseen))
        of_label = added[np.arange(len(added)), labels[batch.documents()]]
        vocabulary = table.vocabulary.with_unseen(terms.unseen)
        for first, end in pairwise(batch.starts.tolist()):
            best = _largest(of_label[first:end], n)
            found.append([vocabulary.name(int(batch.words[first + at])) for at in best if of_label[first + at] > 0])
    return found


def top_words(table: WordTable, decision: Decision, n: int) -> dict[Any, list[tuple[str, float]]]:
    """Return, for each class, the terms that raise its score most over the training documents."""
    N_TOP.check(n)
    influences = class_scores(table.influences())
    return {
        label: [(table.vocabulary.name(term), float(influences[term, number])) for term in _largest(column, n)]
        for number, (label, column) in enumerate(zip(decision.classes.tolist(), influences.T, strict=True))
    }


def _largest(values: NDArray[np.float64], n: int) -> list[int]:
    """Return the places of the n largest values, the first of equal ones first; only these are sorted."""
    least = np.partition(values, -n)[-n] if n < len(values) else -np.inf
    places = np.flatnonzero(values >= least)
    found: list[int] = places[np.argsort(-values[places], kind="stable")][:n].tolist()
    return found


def _spans_of_terms(
    tokens: Sequence[Token], vocabulary: Vocabulary, unseen: Sequence[str], tokenizer: AnyTokenizer
) -> tuple[dict[int, list[tuple[int, int]]], list[str]]:
    """Return the positions of each term, and the different words that are not in the vocabulary.

    A bigram reaches from its first word to the end of its second: "so good!" gives so (0, 2), good (3, 7), so good
    (0, 7).
    """
    spans: dict[int, list[tuple[int, int]]] = {}
    different = list(dict.fromkeys(token.token for token in tokens))
    known = dict(zip(different, vocabulary.find_words(different).tolist(), strict=True))
    new = {word: len(vocabulary) + number for number, word in enumerate(unseen)}
    for token in tokens:
        spans.setdefault(new.get(token.token, known[token.token]), []).append((token.start, token.end))
    if len(vocabulary.bigrams):
        skipped = skipped_in_bigrams(vocabulary, tokenizer)
        joined = [token for token in tokens if not _is_skipped(token.token, known[token.token], skipped)]
        pairs = np.array([(known[one.token], known[two.token]) for one, two in pairwise(joined)]).reshape(-1, 2)
        found = vocabulary.bigram_lexicon.find(pairs)
        for number, (one, two) in zip(found.tolist(), pairwise(joined), strict=True):
            if number >= 0:
                spans.setdefault(vocabulary.n_words + number, []).append((one.start, two.end))
    return spans, [word for word in different if known[word] < 0]


def _is_skipped(token: str, number: int, skipped: NDArray[np.bool_]) -> bool:
    """Return whether bigrams skip a token, whose word has this number, -1 if it is unknown."""
    return bool(skipped[number] if number >= 0 else skipped[UNKNOWN_SYMBOL] and is_symbol(token))
