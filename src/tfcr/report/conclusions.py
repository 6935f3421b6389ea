"""What the figures of a classifier say, in plain words: how good it is, what it confuses, what to do next.

Every sentence is computed from the figures; a threshold below decides which ones are worth saying.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tfcr.evaluation.figures import SURE, Figures, Trust

CONFUSED = 0.1
"""A class is said to be taken for another if that happens to this share of its documents."""
WEAK = 0.8
"""A class with an F1 below is said to be weak."""
FEW = 50
"""A class with fewer documents is said to need more."""
CALIBRATED = 0.03
"""An expected calibration error below is said to be small."""
MISLEADING = 0.05
"""Probabilities of a label that are off by so much are said to mislead, even if those of all labels do not."""
RISE = 0.01
"""If macro-F1 rises by so much with the last doubling of the training texts, more of them are said to help."""
LEAST_SURE = 20
"""Sure labels of a class from which on a share of them is told."""
MOST_NAMED = 3


class Confusion(NamedTuple):
    """A class that is taken for another: how many documents, which share of its own, and of those called the other."""

    label: Any
    predicted: Any
    documents: int
    share: float
    share_of_called: float


@dataclass(frozen=True)
class Conclusions:
    """Sentences for the top of a report, and what to do next."""

    findings: tuple[str, ...]
    next_steps: tuple[str, ...]


def confusions(figures: Figures) -> list[Confusion]:
    """Return how often each class is taken for which other, the largest share first."""
    found = []
    called = [sum(column) for column in zip(*figures.confusion, strict=True)]
    for label, row in zip(figures.confusion_classes, figures.confusion, strict=True):
        for predicted, count, n_called in zip(figures.confusion_classes, row, called, strict=True):
            if count and predicted != label:
                found.append(Confusion(label, predicted, count, count / sum(row), count / n_called))
    return sorted(found, key=lambda one: (-one.share, -one.documents, str(one.label), str(one.predicted)))


def conclude(figures: Figures, *, n_doubtful: int | None = None, with_texts: bool = False) -> Conclusions:
    """Return what the figures say.

    Parameters
    ----------
    figures
        Of a cross-validation, or of a test on other texts.
    n_doubtful
        How many labels are probably wrong; None if that is not known.
    with_texts
        Whether the texts behind the figures are on the same page, and can be looked at.
    """
    findings = [
        _how_right(figures),
        _macro_f1(figures),
        *_confused(figures),
        *_weakest(figures),
        _probabilities(figures),
    ]
    return Conclusions(tuple(filter(None, findings)), tuple(_next_steps(figures, n_doubtful, with_texts)))


def _how_right(figures: Figures) -> str:
    how = "all labels right and no other" if figures.several else "the right label"
    text = f"Of 100 texts, {_of_100(figures.accuracy)} get {how}"
    trivial = figures.most_frequent_class
    if trivial is None:
        return f"{text}."
    return f"{text}; always answering “{trivial.label}” would get {_of_100(trivial.accuracy)}."


def _macro_f1(figures: Figures) -> str:
    low, high = figures.intervals["macro_f1_pooled"]
    trivial = figures.most_frequent_class
    against = "" if trivial is None else f" (always the same answer: {trivial.macro_f1_pooled:.2f})"
    return (  # of all texts together, as the interval is: the mean of folds may lie outside
        f"Its macro-F1 is {figures.macro_f1_pooled:.3f}{against}: the mean over classes, so that rare ones count as "
        f"much as frequent ones. By chance alone it could be {low:.3f} to {high:.3f} on as many texts of the same kind."
    )


def _confused(figures: Figures) -> list[str]:
    found = confusions(figures)
    named = [one for one in found if one.share >= CONFUSED][:MOST_NAMED]
    listed = [
        f"{_of_100(one.share)} of 100 texts of “{one.label}” are taken for “{one.predicted}” ({one.documents:,})"
        for one in named
    ]
    listed += [
        f"of 100 texts that it calls “{one.predicted}”, {_of_100(one.share_of_called)} are “{one.label}” "
        f"({one.documents:,})"
        for one in _spoiling(found)
        if one not in named
    ]
    if not listed:
        return ["No class is often taken for another."] if figures.confusion else []
    return [f"What it confuses: {'; '.join(listed)}."]


def _spoiling(found: Sequence[Confusion]) -> list[Confusion]:
    """Return the most frequent confusions that make up much of what is called the other class."""
    often = [one for one in found if one.share_of_called >= CONFUSED]
    return sorted(often, key=lambda one: -one.documents)[:MOST_NAMED]


def _weakest(figures: Figures) -> list[str]:
    if len(figures.classes) < 2:
        return []
    worst = min(figures.classes, key=lambda score: score.f1)
    if worst.f1 >= WEAK:
        return []
    return [
        f"It is weakest on “{worst.label}”: it finds {_of_100(worst.recall)} of 100 such texts, and of 100 that it "
        f"calls so {_of_100(worst.precision)} are."
    ]


def _probabilities(figures: Figures) -> str:
    error = figures.calibration_error
    misleading = sorted(
        (one for one in figures.trust if one.documents >= FEW and abs(one.probability - one.right) >= MISLEADING),
        key=lambda one: -abs(one.probability - one.right),
    )
    but = "; ".join(
        f"a label “{one.label}” has a probability of {one.probability:.0%} on average, and {one.right:.0%} are right"
        for one in misleading[:MOST_NAMED]
    )
    if error < CALIBRATED:
        told = f"Over all labels, its probabilities are off by {100 * error:.1f} points on average"
        return f"{told}, but not of every class: {but}." if but else f"{told}: they can be taken at their word."
    told = f"Its probabilities are off by {100 * error:.1f} points on average: trust their order more than their size"
    return f"{told}; {but}." if but else f"{told}."


def _next_steps(figures: Figures, n_doubtful: int | None, shown: bool) -> list[str]:
    steps = []
    small = [score for score in figures.classes if score.documents < FEW]
    if small:
        names = ", ".join(f"“{score.label}” ({score.documents})" for score in small[:MOST_NAMED])
        rest = f" and {len(small) - MOST_NAMED} others" if len(small) > MOST_NAMED else ""
        steps.append(
            f"Label more texts of {names}{rest}: with fewer than {FEW}, neither training nor these scores are sure."
        )
    often = [one for one in confusions(figures) if max(one.share, one.share_of_called) >= CONFUSED]
    for one in sorted(often, key=lambda one: -one.documents)[:1]:
        how = " (click the number in the table below)" if shown else ""
        steps.append(
            f"Read texts of “{one.label}” that were taken for “{one.predicted}”{how}: are they labelled by the same "
            "rule? If a person could not tell either, join the two classes or describe the difference."
        )
    if n_doubtful:
        steps.append(
            f"Look again at the {n_doubtful:,} texts below for which another label is far likelier. The classifier may "
            "be wrong there, but wrong labels are frequent among them: mend those, and train again."
        )
    if figures.decided:
        probabilities, decided, right = (figures.decided[name] for name in ("probabilities", "decided", "right"))
        places = [n for n, probability in enumerate(probabilities) if probability >= SURE]
        if places and decided[places[-1]] < 0.99:
            at = places[-1]
            steps.append(
                f"{_of_100(decided[at])} of 100 texts get a label with a probability of {SURE:.0%} or more, and "
                f"{_of_100(right[at])} of 100 such labels are right{_but_of_some(figures.trust, right[at])}. To let a "
                "person look at the others, train with a wanted share of right labels, such as --precision 0.95, which "
                "is kept for each class; --precision LABEL=0.99 asks more of one."
            )
    if figures.unknown_words > 0.15:
        steps.append(
            f"{_of_100(figures.unknown_words)} of 100 words did not occur in training: more texts, or word vectors, "
            "will help."
        )
    return steps


def _but_of_some(trust: Sequence[Trust], right: float) -> str:
    """Return which labels are right less often than others that are as sure, and which texts surely get a wrong one."""
    worse = [one for one in trust if one.sure >= LEAST_SURE and one.sure_right < right - CONFUSED]
    told = [f"{_of_100(one.sure_right)} of 100 of those “{one.label}”" for one in worse]
    missed = [one for one in trust if one.surely_missed >= CONFUSED]
    told += [f"{_of_100(one.surely_missed)} of 100 texts of “{one.label}” surely get another" for one in missed]
    return f", but {', and '.join(told[:MOST_NAMED])}" if told else ""


def what_more_texts_bring(curve: Sequence[tuple[int, float]]) -> str:
    """Return what a learning curve says: macro-F1 by the number of training texts, the last of them all.

    >>> what_more_texts_bring([(100, 0.6), (200, 0.7)])
    'From 100 to 200 training texts macro-F1 rose by 0.100: more texts would help.'
    """
    (size, score), (whole, last) = curve[-2:]
    rise = last - score
    told = "more texts would help" if rise >= RISE else "as many more texts would help little"
    change = "stayed the same" if abs(rise) < 0.0005 else f"{'rose' if rise > 0 else 'fell'} by {abs(rise):.3f}"
    return f"From {size:,} to {whole:,} training texts macro-F1 {change}: {told}."


def _of_100(share: float) -> str:
    """Return a share as a number of 100; one decimal where a whole number would say all or none.

    >>> _of_100(0.4123), _of_100(0.9969), _of_100(1.0)
    ('41', '99.7', '100')
    """
    whole = round(100 * share)
    return f"{whole}" if 0 < whole < 100 or share in (0, 1) else f"{100 * share:.1f}"
