"""What the figures of a classifier say, in plain words: how good it is, what it confuses, what to do next.

Every sentence is computed from the figures; a threshold below decides which ones are worth saying.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tfcr.evaluation.figures import Figures

CONFUSED = 0.1
"""A class is said to be taken for another if that happens to this share of its documents."""
WEAK = 0.8
"""A class with an F1 below is said to be weak."""
FEW = 50
"""A class with fewer documents is said to need more."""
CALIBRATED = 0.03
"""An expected calibration error below is said to be small."""
SURE = 0.9
"""The probability that a decided share is told for."""
RISE = 0.01
"""If macro-F1 rises by so much with the last doubling of the training texts, more of them are said to help."""
MOST_NAMED = 3


class Confusion(NamedTuple):
    """A class that is taken for another: how many of its documents, and which share of them."""

    label: Any
    predicted: Any
    documents: int
    share: float


@dataclass(frozen=True)
class Conclusions:
    """Sentences for the top of a report, and what to do next."""

    findings: tuple[str, ...]
    next_steps: tuple[str, ...]


def confusions(figures: Figures) -> list[Confusion]:
    """Return how often each class is taken for which other, the largest share first."""
    found = []
    for label, row in zip(figures.confusion_classes, figures.confusion, strict=True):
        for predicted, count in zip(figures.confusion_classes, row, strict=True):
            if count and predicted != label:
                found.append(Confusion(label, predicted, count, count / sum(row)))
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
    against = "" if trivial is None else f", against {trivial.macro_f1_pooled:.2f} for always the same answer"
    return (  # of all texts together, as the interval is: the mean of folds may lie outside
        f"Its macro-F1, in which every class counts the same, is {figures.macro_f1_pooled:.3f}{against}. With "
        f"other texts of the same kind it would be between {low:.3f} and {high:.3f} (95 %)."
    )


def _confused(figures: Figures) -> list[str]:
    named = [one for one in confusions(figures) if one.share >= CONFUSED][:MOST_NAMED]
    if not named:
        return ["No class is often taken for another."] if figures.confusion else []
    listed = [f"{_of_100(one.share)} of 100 texts of “{one.label}” are taken for “{one.predicted}”" for one in named]
    return [f"What it confuses: {'; '.join(listed)}."]


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
    if error < CALIBRATED:
        return f"Its probabilities can be taken at their word: they are off by {100 * error:.1f} points on average."
    return f"Its probabilities are off by {100 * error:.1f} points on average: trust their order more than their size."


def _next_steps(figures: Figures, n_doubtful: int | None, shown: bool) -> list[str]:
    steps = []
    small = [score for score in figures.classes if score.documents < FEW]
    if small:
        names = ", ".join(f"“{score.label}” ({score.documents})" for score in small[:MOST_NAMED])
        rest = f" and {len(small) - MOST_NAMED} others" if len(small) > MOST_NAMED else ""
        steps.append(
            f"Label more texts of {names}{rest}: with fewer than {FEW}, neither training nor these scores are sure."
        )
    for one in [one for one in confusions(figures) if one.share >= CONFUSED][:1]:
        how = " (click the cell in the table below)" if shown else ""
        steps.append(
            f"Read texts of “{one.label}” that were taken for “{one.predicted}”{how}: are they labelled by the same "
            "rule? If a person could not tell either, join the two classes or describe the difference."
        )
    if n_doubtful:
        steps.append(f"Check the {n_doubtful:,} labels that are probably wrong; mend them and train again.")
    if figures.decided:
        probabilities, decided, right = (figures.decided[name] for name in ("probabilities", "decided", "right"))
        places = [n for n, probability in enumerate(probabilities) if probability >= SURE]
        if places and decided[places[-1]] < 0.99:
            at = places[-1]
            steps.append(
                f"{_of_100(decided[at])} of 100 texts get a label with a probability of {SURE:.0%} or more, and "
                f"{_of_100(right[at])} of 100 such labels are right. If that is what you need, train with --precision "
                "and let a person look at the rest."
            )
    if figures.unknown_words > 0.15:
        steps.append(
            f"{_of_100(figures.unknown_words)} of 100 words did not occur in training: more texts, or word vectors, "
            "will help."
        )
    return steps


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
