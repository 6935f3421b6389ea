"""Why a text got its label: what each term adds to each class's score."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import Decision, class_position, class_scores
from tfcr.errors import InputError, shown
from tfcr.kernels.actions import UNKNOWN_SYMBOL
from tfcr.schemes import ContestedWord, contested_words
from tfcr.system.parameters import N_TOP
from tfcr.text.class_counts import Labels
from tfcr.text.label_sets import LabelSets
from tfcr.text.terms import find_terms, skipped_in_bigrams
from tfcr.text.tokenizers import AnyTokenizer, Token, is_symbol, token_spans
from tfcr.text.vocabulary import Vocabulary
from tfcr.trained.word_table import WordTable

MAX_CHARACTERS = 1_000_000
"""Longest text that is explained; the position of every token takes a hundred times the memory of the text."""

AT_ONCE = 1 << 25
"""Characters times outputs of the texts whose contributions are held at once, one number for each term and output."""


@dataclass(frozen=True)
class WordContribution:
    """A term of the text, what it adds to each class's score, and where it stands in the text.

    An `unseen` word did not occur in training: it is scored from its pieces. A `bigram` stands on two words.
    """

    word: str
    count: int
    contributions: NDArray[np.float64]
    spans: tuple[tuple[int, int], ...]
    unseen: bool = False
    bigram: bool = False


class Mark(NamedTuple):
    """A word where it stands in the text, and what it adds there to the score of a class, its bigrams included."""

    start: int
    end: int
    added: float


@dataclass(frozen=True)
class Explanation:
    """An exact account of the scores of one text: ``baseline + Σ contributions = scores``.

    It explains this score; it does not predict what the score would be without a word: see `without`.

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
    probabilities
        One per class.
    decision
        How label and probabilities followed from the scores.
    without
        The same text without a word, if that was asked for; else None.
    """

    text: str
    label: Any
    classes: Labels
    scores: NDArray[np.float64]
    baseline: NDArray[np.float64]
    words: tuple[WordContribution, ...]
    unknown: tuple[str, ...]
    probabilities: NDArray[np.float64]
    decision: Decision
    without: "Without | None" = None

    @property
    def thresholds(self) -> NDArray[np.float64] | None:
        """If texts have several labels: the score of each class above which it is assigned; else None."""
        return self.decision.limits if self.decision.several else None

    @property
    def outputs(self) -> NDArray[np.float64]:
        """The scores as the decision takes them: one of two classes, of which a text has one; (1, n_outputs)."""
        return self.scores[None, 1:] if self.decision.n_outputs < len(self.classes) else self.scores[None]

    @property
    def margins(self) -> NDArray[np.float64]:
        """What labels are picked by: the largest; of several labels, how far each score is above its threshold."""
        return np.asarray(self.decision.margins(self.outputs)[0])

    @property
    def order(self) -> list[Any]:
        """The classes, the one that is picked first, then the runner-up."""
        return [self.classes.tolist()[number] for number in np.argsort(-self.margins, kind="stable").tolist()]

    @property
    def nearest(self) -> Any:
        """The class that is furthest above its threshold, or the least below; of one label, the predicted one."""
        return self.order[0]

    @property
    def runner_up(self) -> Any:
        """The class that would have been picked next."""
        return self.order[1]

    @property
    def probability(self) -> float:
        """The probability of the label; of several, of the nearest."""
        return float(self.probabilities[class_position(self.classes, self.nearest)])

    @property
    def sure(self) -> bool:
        """Whether the label is probable enough for the precision that the model was trained for."""
        return self.decision.several or bool(self.decision.sure(self.outputs)[0])

    def contributions(self, label: Any = None) -> dict[str, float]:
        """Return what each term adds to the score of a class, by default the predicted one; largest first.

        Of several labels, the default is `nearest`.
        """
        return self._added(self._numbered(label))

    def difference(self, label: Any = None, other: Any = None) -> dict[str, float]:
        """Return how much more each term adds to one class than to another, by default the label and the runner-up.

        Largest first. The differences, and that of the baselines, add up to the difference of the scores.
        """
        return self._added(self._numbered(label), self._numbered(self.runner_up if other is None else other))

    def _added(self, number: int, less: int | None = None) -> dict[str, float]:
        found: dict[str, float] = {}
        for word in self.words:  # a tokeniser may give a word that is spelled like a bigram of two others
            added = word.contributions[number] - (0.0 if less is None else word.contributions[less])
            found[word.word] = found.get(word.word, 0.0) + float(added)
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def _numbered(self, label: Any) -> int:
        return class_position(self.classes, self.nearest if label is None else label)

    def marks(self, label: Any = None, *, until: int | None = None) -> list[Mark]:
        """Return each word where it stands, and what it adds there to the score of a class; in the text's order.

        A term that stands in several places adds the same in each, and half of a bigram goes to each of its two words.
        Words that add nothing are left out. They add up to what all terms add. Of a long text, those `until` a
        character may be enough.
        """
        number = self._numbered(label)
        placed = [
            (word, word.spans if until is None else [span for span in word.spans if span[1] <= until])
            for word in self.words
        ]
        added = {span: 0.0 for word, spans in placed if not word.bigram for span in spans}
        starts, ends = {span[0]: span for span in added}, {span[1]: span for span in added}
        for word, spans in placed:
            share = float(word.contributions[number]) / max(1, len(word.spans))
            for start, end in spans:
                covered = (starts[start], ends[end]) if word.bigram else ((start, end),)
                for span in covered:
                    added[span] += share / len(covered)
        return [Mark(*span, value) for span, value in sorted(added.items()) if value]

    def how(self) -> list[str]:
        """Return in words how probability and label followed from the scores."""
        return account_of_decision(self)

    def to_frame(self) -> Any:
        """Return a polars DataFrame with a row for each term, and a column for each class."""
        import polars as pl  # noqa: PLC0415 - prediction needs numpy alone

        frame = pl.DataFrame(
            [
                pl.Series("term", [word.word for word in self.words], pl.String),
                pl.Series("count", [word.count for word in self.words], pl.Int64),
                pl.Series("unseen", [word.unseen for word in self.words], pl.Boolean),
                pl.Series("spans", [[*map(list, word.spans)] for word in self.words], pl.List(pl.List(pl.Int64))),
            ]
        )
        added = np.array([word.contributions for word in self.words]).reshape(len(self.words), len(self.classes))
        names = [f"class {label}" if label in frame.columns else str(label) for label in self.classes.tolist()]
        return frame.with_columns(pl.Series(name, column) for name, column in zip(names, added.T, strict=True))

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        from tfcr.trained.explanation_html import notebook_html  # noqa: PLC0415 - the shell needs none

        return notebook_html(self)

    def __str__(self) -> str:
        lines = [line for label in self._shown_labels() for line in self._account(label)]
        lines += [f"  {line}" for line in self.how()]
        if self.unknown:
            lines.append(f"  not known: {', '.join(self.unknown)}")
        return "\n".join(lines)

    def _shown_labels(self) -> list[Any]:
        """Return the predicted classes, the best first; if there are none, the nearest."""
        return self.order[: max(1, len(self.label))] if self.decision.several else [self.label]

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


@dataclass(frozen=True)
class Without:
    """A text without a word: the word, how often it stood there, and the explanation of what is left."""

    word: str
    count: int
    explanation: Explanation


def account_of_decision(explanation: Explanation) -> list[str]:
    """Return in words how probability, label and "unsure" followed from the scores.

    Examples
    --------
    Two classes whose scores are 1 and -1, without calibration:

    >>> decision = Decision(np.array(["a", "b"]), "multinomial")
    >>> account_of_decision(
    ...     Explanation(
    ...         "", "a", decision.classes, np.array([1.0, -1.0]), np.zeros(2), (), (), np.array([0.7, 0.3]), decision
    ...     )
    ... )
    ['probability of a: 0.700, not calibrated', 'picked: the largest score; the runner-up is b']
    """
    decision, label = explanation.decision, explanation.nearest
    number = class_position(explanation.classes, label)
    known = decision.calibration
    how = "not calibrated"
    if known is not None:
        scale = known.scale / 2 if decision.n_outputs == 1 else known.scale  # one output is two logits apart
        function = "sigmoid" if decision.several else "softmax"
        how = f"calibrated: the {function} of {scale:.3f} × score {known.offsets[number]:+.3f}"
    lines = [f"probability of {label}: {explanation.probabilities[number]:.3f}, {how}"]
    if decision.several:
        return lines
    if decision.costs is not None:
        picked = f"the least expected cost, {-explanation.margins[number]:.3f}"
    elif decision.rule == "probability" and known is not None:
        picked = "the largest probability"
    else:
        picked = "the largest score"
    lines.append(f"picked: {picked}; the runner-up is {explanation.runner_up}")
    if decision.least_probabilities is not None:
        least = float(decision.least_probabilities[number])
        if least > 1:
            needed = "never decided"
        else:
            needed = f"decided from a probability of {least:.3f} on" if least > 0 else "always decided"
        lines.append(f"{label} is {needed}: {'sure' if explanation.sure else 'unsure'}")
    return lines


def explain_text(
    text: str, table: WordTable, decision: Decision, tokenizer: AnyTokenizer, without: str | None = None
) -> Explanation:
    """Explain the scores of one text, term by term; and those of the text without a word, if one is given."""
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
    first_unseen, n_words = len(table.vocabulary), table.vocabulary.n_words
    words = [
        WordContribution(
            vocabulary.name(term),
            count,
            part,
            tuple(spans.get(term, ())),
            unseen=term >= first_unseen,
            bigram=n_words <= term < first_unseen,
        )
        for term, count, part in zip(batch.words.tolist(), batch.counts.tolist(), contributions, strict=True)
        if term < first_unseen or part.any()
    ]
    best = int(decision.margins(scores).argmax(axis=1)[0])
    assigned = decision.assigned(scores)
    words.sort(key=lambda word: (-word.contributions[best], word.word))
    scored = {word.word for word in words if word.unseen}
    explanation = Explanation(
        text=text,
        label=assigned.lists()[0] if isinstance(assigned, LabelSets) else decision.classes.tolist()[best],
        classes=decision.classes,
        scores=class_scores(scores)[0],
        baseline=class_scores(table.intercepts),
        words=tuple(words),
        unknown=tuple(word for word in unknown if word not in scored),
        probabilities=decision.probabilities(scores)[0],
        decision=decision,
    )
    if without is None:
        return explanation
    rest, count = _without(text, tokens, without, tokenizer)
    return replace(explanation, without=Without(without, count, explain_text(rest, table, decision, tokenizer)))


def _without(text: str, tokens: Sequence[Token], word: str, tokenizer: AnyTokenizer) -> tuple[str, int]:
    """Return a text without the tokens that a word is made of, however it is written there, and their number."""
    gone = {token.token for token in token_spans(tokenizer, word)}
    spans = [(token.start, token.end) for token in tokens if token.token in gone]
    if not spans:
        raise InputError(f"found no {shown(word)} in the text; expected one of its words to leave out")
    kept, end = [], 0
    for start, stop in spans:
        kept.append(text[end:start])
        end = stop
    return " ".join([*kept, text[end:]]), len(spans)


def strongest_terms(
    texts: Sequence[str], table: WordTable, decision: Decision, tokenizer: AnyTokenizer, n: int
) -> list[list[str]]:
    """Return the terms of each text that add most to the score of its label, at most n; of several, to the nearest.

    Terms that speak against the label are left out.
    """
    found: list[list[str]] = []
    for some in _in_parts(texts, AT_ONCE // decision.n_outputs):
        terms = find_terms(some, tokenizer, table.vocabulary, unseen=bool(table.pieces))
        batch, unseen = terms.batch, table.unseen_rows(terms.unseen)
        labels = decision.winners(table.score_batch(batch, unseen))
        added = class_scores(table.contributions(batch, unseen))
        of_label = added[np.arange(len(added)), labels[batch.documents()]]
        vocabulary = table.vocabulary.with_unseen(terms.unseen)
        for first, end in pairwise(batch.starts.tolist()):
            best = _largest(of_label[first:end], n)
            found.append([vocabulary.name(int(batch.words[first + at])) for at in best if of_label[first + at] > 0])
    return found


def _in_parts(texts: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """Yield texts some at a time: at least one, and no more than have so many characters.

    >>> list(_in_parts(["abcd", "ef", "g", "hijk"], 3))
    [['abcd'], ['ef', 'g'], ['hijk']]
    """
    start, size = 0, 0
    for place, text in enumerate(texts):
        size += len(text)
        if size > most and place > start:
            yield texts[start:place]
            start, size = place, len(text)
    if start < len(texts):
        yield texts[start:]


def top_words(table: WordTable, decision: Decision, n: int) -> dict[Any, list[tuple[str, float]]]:
    """Return, for each class, the terms that raise its score most over the training documents; fewer if fewer do."""
    N_TOP.check(n)
    influences = class_scores(table.influences())
    return {
        label: [(table.vocabulary.name(term), float(column[term])) for term in _largest(column, n) if column[term] > 0]
        for label, column in zip(decision.classes.tolist(), influences.T, strict=True)
    }


def contested_terms(table: WordTable, decision: Decision, n: int) -> list[ContestedWord]:
    """Return the terms that raise the scores of two classes most over the training documents."""
    influences = class_scores(table.influences())
    return contested_words(influences, decision.classes.tolist(), table.vocabulary.name, n)


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
