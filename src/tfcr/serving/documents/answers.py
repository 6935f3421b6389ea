"""What the page Documents is told, as plain data."""

from typing import Any

from tfcr.serving.answers import finite, model_fields
from tfcr.serving.documents.results import STATUSES, Results, Wanted
from tfcr.serving.documents.scoring import UNKNOWN
from tfcr.serving.problems import RequestError, one_of

PER_PAGE = 50
"""Documents of a page."""
SHOWN_CHARACTERS = 300
"""Characters of a text in a list."""
SHOWN_CONFUSIONS = 20
SHOWN_WORDS = 30

_STATUS_NAMES = list(STATUSES)


def class_number(results: Results, label: str) -> int:
    """Return the number of a class that a request names; labels that the model does not know count too."""
    if label not in results.numbers:
        raise RequestError(404, f"found no class {label[:80]!r} in {results.documents.name}", one_of(results.names))
    return results.numbers[label]


def classes(results: Results) -> dict[str, Any]:
    """Return how many documents of each class there are, and how many are right."""
    rows = results.counts().tolist()
    named = zip(results.names, rows, strict=True)
    return {
        **model_fields(results.served),
        "data": results.documents.name,
        "documents": len(results.documents),
        "of_status": {name: int((results.status == number).sum()) for name, number in STATUSES.items()},
        "several": results.served.model.decision.several,
        "trained_on": None if (seen := int(results.predictions.seen[0])) == UNKNOWN else seen,
        "classes": [_class(results, name, row) for name, row in named if any(row) or name in results.served.numbers],
    }


def _class(results: Results, name: str, row: list[int]) -> dict[str, Any]:
    right, wrong, unsure, predicted = row
    return {
        "label": name,
        "known": name in results.served.numbers,
        "documents": right + wrong + unsure,
        "right": right,
        "wrong": wrong,
        "unsure": unsure,
        "predicted": predicted,
    }


def one_class(results: Results, label: str) -> dict[str, Any]:
    """Return a class: its documents, what it is confused with both ways, and its words."""
    number = class_number(results, label)
    labels, instead, counts = results.confusions
    known = number < len(results.served.keys)
    words = results.served.top_words[number][:SHOWN_WORDS] if known else []
    return {
        **model_fields(results.served),
        **_class(results, label, results.counts()[number].tolist()),
        "called": _confused(results, instead[labels == number], counts[labels == number]),
        "holds": _confused(results, labels[instead == number], counts[instead == number]),
        "words": [{"word": word, "value": finite(value)} for word, value in words],
    }


def _confused(results: Results, others: Any, counts: Any) -> list[dict[str, Any]]:
    pairs = list(zip(others.tolist(), counts.tolist(), strict=True))[:SHOWN_CONFUSIONS]
    return [{"label": results.names[other], "documents": count} for other, count in pairs]


def listed(results: Results, wanted: Wanted, page: int) -> dict[str, Any]:
    """Return a page of documents, from page 1 on."""
    found = results.listed(wanted)
    shown = found[(page - 1) * PER_PAGE : page * PER_PAGE].tolist()
    return {
        **model_fields(results.served),
        "total": len(found),
        "page": page,
        "pages": max(1, -(-len(found) // PER_PAGE)),
        "documents": [_document(results, number) for number in shown],
    }


def _document(results: Results, number: int) -> dict[str, Any]:
    text, predictions = results.documents.texts[number], results.predictions
    return {
        "number": number,
        "row": int(results.documents.rows[number]),
        "text": text[:SHOWN_CHARACTERS],
        "cut": len(text) > SHOWN_CHARACTERS,
        "labels": results.labels_of(number),
        "predicted": results.assigned_to(number),
        "nearest": results.names[int(predictions.nearest[number])],
        "probability": finite(float(predictions.probability[number])),
        "status": _STATUS_NAMES[int(results.status[number])],
    }


def text(results: Results, number: int, most: int) -> dict[str, Any]:
    """Return the text of a document, at most so many characters of it."""
    if not 0 <= number < len(results.documents):
        raise RequestError(
            404, f"found no document of the number {number}", f"one from 0 to {len(results.documents) - 1}"
        )
    found = results.documents.texts[number]
    return {**_document(results, number), "text": found[:most], "cut": len(found) > most}
