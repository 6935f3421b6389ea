"""What is answered, as plain data that JSON can hold: the numbers are those of `TrainedModel`, in Python."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.decision import Scores, class_position
from tfcr.errors import InputError
from tfcr.serving.models import Models, ServedModel
from tfcr.serving.problems import RETRY, RequestError
from tfcr.trained.explain import Explanation, WordContribution

MOST_PROBABILITIES = 1_000_000
"""Probabilities of all classes in one answer."""
MOST_SPANS = 1_000
"""Places of a term in a text that an explanation lists."""
MOST_EXPLAINED = 100
"""Texts that are explained at once: an explanation is many times larger than a prediction."""


def model_fields(served: ServedModel) -> dict[str, Any]:
    """Return what every answer of a model begins with."""
    return {"model": served.name, "model_hash": served.hash}


# predictions -------------------------------------------------------------------------------------------------------


def predict(served: ServedModel, texts: list[str], *, probabilities: bool = False, threads: int = 1) -> dict[str, Any]:
    """Return the answer to ``POST /predict``; compiled code takes so many threads."""
    if probabilities and len(texts) * len(served.labels) > MOST_PROBABILITIES:
        raise RequestError(
            422,
            f"found {len(texts):,} texts, and probabilities of {len(served.labels):,} classes for each",
            f"at most {MOST_PROBABILITIES:,} probabilities in one answer: fewer texts",
        )
    table, decision = served.model.table, served.model.decision
    found = table.score_texts(texts, served.model.tokenizer, threads)
    rows = _several(served, found.scores) if decision.several else _single(served, found.scores)
    for row, unknown in zip(rows, _numbers(found.unknown_fractions), strict=True):
        row["unknown_words"] = unknown
    if probabilities:
        for row, chances in zip(rows, decision.probabilities(found.scores), strict=True):
            row["probabilities"] = dict(zip(served.keys, _numbers(chances), strict=True))
    return {**model_fields(served), "predictions": rows}


def _single(served: ServedModel, scores: Scores) -> list[dict[str, Any]]:
    """Return the label of each text, the second likeliest one, and whether the label is unsure."""
    labels, decision = served.labels, served.model.decision
    chances, first, second, sure = decision.ranked(scores)
    rows = np.arange(len(scores))
    columns = zip(
        *(first.tolist(), _numbers(chances[rows, first])),
        *(second.tolist(), _numbers(chances[rows, second]), sure.tolist()),
        strict=True,
    )
    found: list[dict[str, Any]] = [
        {
            "label": labels[one] if is_sure else None,
            "probability": probability,
            "second": labels[two],
            "second_probability": second_probability,
            "unsure": not is_sure,
        }
        for one, probability, two, second_probability, is_sure in columns
    ]
    if decision.least_probabilities is not None:
        for row, likeliest in zip(found, chances.argmax(axis=1).tolist(), strict=True):
            row["likeliest"] = labels[likeliest]
    return found


def _several(served: ServedModel, scores: Scores) -> list[dict[str, Any]]:
    """Return the labels of each text and their probabilities, the likeliest first."""
    chances, members = served.model.decision.probabilities(scores), served.model.decision.margins(scores) > 0
    found = []
    for row, assigned in zip(chances, members, strict=True):
        order = sorted(np.flatnonzero(assigned).tolist(), key=lambda number: -row[number])
        found.append({"label": [served.labels[number] for number in order], "probability": _numbers(row[order])})
    return found


def _numbers(values: NDArray[Any]) -> list[float | None]:
    """Return numbers as JSON has them; it knows neither NaN nor infinity."""
    numbers: list[float | None] = values.tolist()
    return numbers if np.isfinite(values).all() else [x if x is not None and np.isfinite(x) else None for x in numbers]


def finite(value: float) -> float | None:
    """Return a number as JSON has it: None if it is NaN or infinite."""
    return float(value) if np.isfinite(value) else None


# explanations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """What an explanation is asked for: a class, by default the label's; a word to leave out; how many words."""

    label: str | None = None
    without: str | None = None
    top: int = 20


def explain(served: ServedModel, texts: Sequence[str], wanted: Wanted, deadline: float) -> dict[str, Any]:
    """Return the answer to ``POST /explain``; give up at the deadline, a time of `time.monotonic`."""
    number = None if wanted.label is None else served.class_number(wanted.label)
    found = []
    for text in texts:
        if time.monotonic() > deadline:
            raise too_late()
        found.append(_explanation(served, _explained(served, text, wanted), number, wanted))
    return {**model_fields(served), "explanations": found}


def too_late() -> RequestError:
    """Return the problem of an answer that takes too long."""
    return RequestError(
        503, "the answer took too long, and was given up", "fewer or shorter texts, or to try later", RETRY
    )


def _explained(served: ServedModel, text: str, wanted: Wanted) -> Explanation:
    try:
        return served.model.explain(text, without=wanted.without)
    except InputError:  # the word is not in this text, which is no reason to refuse the others
        return served.model.explain(text)


def _explanation(served: ServedModel, explanation: Explanation, number: int | None, wanted: Wanted) -> dict[str, Any]:
    order = np.argsort(-explanation.margins, kind="stable").tolist()
    number = order[0] if number is None else number
    shown = list(dict.fromkeys([number, *order[:2]]))[:2]  # the class that is explained, and its strongest rival
    words = sorted(explanation.words, key=lambda word: (-word.contributions[number], word.word))
    if len(words) > wanted.top:  # those that add most, either way
        strongest = sorted(range(len(words)), key=lambda at: -abs(words[at].contributions[number]))[: wanted.top]
        chosen = set(strongest)
        words, rest = [words[at] for at in sorted(chosen)], [w for at, w in enumerate(words) if at not in chosen]
    else:
        rest = []

    def of_classes(values: NDArray[Any]) -> dict[str, float | None]:
        return {served.keys[at]: finite(values[at]) for at in shown}

    found: dict[str, Any] = {
        "label": _label(served, explanation),
        "unsure": not explanation.sure,
        "probability": finite(explanation.probabilities[order[0]]),
        "explained": served.labels[number],
        "rival": served.labels[shown[1]] if len(shown) > 1 else None,
        "scores": of_classes(explanation.scores),
        "baseline": of_classes(explanation.baseline),
        "words": [_word(word, of_classes(word.contributions)) for word in words],
        "other_words": len(rest),
        "other_contributions": of_classes(sum((word.contributions for word in rest), np.zeros(len(served.labels)))),
        "unknown": list(explanation.unknown[:MOST_SPANS]),
        "how": explanation.how(),
    }
    if wanted.without is not None:
        left = explanation.without and explanation.without.explanation
        found["without"] = left and {
            "word": wanted.without,
            "label": _label(served, left),
            "probability": finite(left.probability),
        }
    return found


def _label(served: ServedModel, explanation: Explanation) -> Any:
    """Return the label, None if it is unsure; of several, the list of them."""
    if explanation.decision.several:
        return [served.labels[class_position(explanation.classes, label)] for label in explanation.label]
    return served.labels[class_position(explanation.classes, explanation.label)] if explanation.sure else None


def _word(word: WordContribution, contributions: dict[str, float | None]) -> dict[str, Any]:
    return {
        "word": word.word,
        "count": word.count,
        "unseen": word.unseen,
        "spans": [list(span) for span in word.spans[:MOST_SPANS]],
        "contributions": contributions,
    }


# about models ------------------------------------------------------------------------------------------------------


def words(served: ServedModel, top: int, label: str | None) -> dict[str, Any]:
    """Return the answer to ``GET /words``."""
    numbers = range(len(served.keys)) if label is None else [served.class_number(label)]
    found = served.top_words
    listed = {
        served.keys[number]: [{"word": word, "value": finite(value)} for word, value in found[number][:top]]
        for number in numbers
    }
    return {**model_fields(served), "words": listed}


def describe(models: Models, names: Sequence[str]) -> dict[str, Any]:
    """Return the answer to ``GET /model``."""
    return {"models": [_describe(models.get(name), models.troubles.get(name)) for name in names]}


def _describe(served: ServedModel, trouble: str | None) -> dict[str, Any]:
    model = served.model
    found = {
        **model_fields(served),
        "classes": served.labels,
        "several_labels": model.decision.several,
        "may_be_unsure": model.decision.least_probabilities is not None,
        "terms": len(model.table.vocabulary),
        "tokenizer": str(model.settings.get("tokenizer")),
        "trained": str(model.training.get("date") or ""),
        "documents": finite(model.training.get("documents") or 0),
        "scores": {str(name): finite(value) for name, value in model.scores.items()},
    }
    if trouble is not None:
        found["trouble"] = trouble
    return found


def health(models: Models) -> dict[str, Any]:
    """Return the answer to ``GET /health``."""
    return {"status": "ok", "models": {name: served.hash for name, served in models.current.items()}}
