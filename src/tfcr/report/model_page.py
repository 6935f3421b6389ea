"""The report on a model: one page that says how good it is, what it confuses, and why.

Without data it shows what the model keeps of its cross-validation. With data also the texts: those behind each cell of
the confusion matrix, the most confident mistakes with their words, and labels that are probably wrong.
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure as Picture

from tfcr.data import Corpus
from tfcr.decision import Reliability
from tfcr.evaluation import Diagnosis, Evaluation, Figures
from tfcr.evaluation.diagnosis import DOUBTFUL_ODDS
from tfcr.evaluation.scores import DecidedCurve
from tfcr.pages import page, strength
from tfcr.report.conclusions import conclude, what_more_texts_bring
from tfcr.report.diagrams import draw_decided, draw_reliability
from tfcr.report.drawing import saved, under
from tfcr.text.private import kind_of_private
from tfcr.text.tokenizers import AnyTokenizer
from tfcr.trained.explanation_html import marked_by_words
from tfcr.trained.model import TrainedModel

MOST_CLASSES = 30
"""Classes of a confusion matrix; of more, those with most mistakes are shown."""
MOST_WITH_SHARES = 10
"""Classes of a confusion matrix that has room for percentages."""
MOST_TEXTS = 10
"""Texts of one cell of the confusion matrix."""
MOST_CHARACTERS = 1_000
"""Of a text that is shown; the rest is cut."""
MOST_LISTED = 20
MOST_DOUBTFUL = 1_000
"""Texts with a doubtful label: the first MOST_LISTED are seen at once, the others when they are asked for."""
TOP_WORDS = 15
MORE_WORDS = 30
"""So many are looked at: those that look like addresses, phone or card numbers are left out."""


@dataclass(frozen=True)
class Tested:
    """Labelled texts, what was predicted for them, and what to look at next.

    Attributes
    ----------
    corpus, result, diagnosis
        The texts, the predictions and the findings.
    how
        How it was tested, as the end of a sentence.
    curve
        Macro-F1 by the number of training documents, if it was asked for.
    """

    corpus: Corpus
    result: Evaluation
    diagnosis: Diagnosis
    how: str
    curve: Sequence[tuple[int, float]] = ()


def model_page(model: TrainedModel, name: str, figures: Figures | None, tested: Tested | None = None) -> str:
    """Return the report on a model.

    Parameters
    ----------
    model, name
        The model, and what to call it.
    figures
        Of its cross-validation, or of `tested`; None if there are none.
    tested
        The texts behind the figures.
    """
    template = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    ).from_string(files("tfcr.report").joinpath("model.html.jinja").read_text("utf-8"))
    title = f"Report on {name}"
    found = model.top_words(MORE_WORDS)
    public = {label: [one for one in words if not kind_of_private(one[0])] for label, words in found.items()}
    n_doubtful = None if tested is None else len(tested.diagnosis.label_errors)
    body = template.render(
        title=title,
        version=version("tfcr"),
        training=model.training,
        settings=model.settings,
        figures=figures,
        tested=tested,
        how=tested.how if tested else how_cross_validated(len(figures.fold_scores)) if figures else "",
        conclusions=figures and conclude(figures, n_doubtful=n_doubtful, with_texts=tested is not None),
        small=[] if figures is None else [score for score in figures.classes if score.documents < 10],
        sizes=_sizes(model),
        confusion=figures and figures.confusion and _confusion(figures, tested),
        pictures={} if figures is None else _pictures(figures),
        words={label: words[:TOP_WORDS] for label, words in public.items()},
        contested=[word for word in model.contested_terms(MORE_WORDS) if not kind_of_private(word.word)][:TOP_WORDS],
        n_private=sum(map(len, found.values())) - sum(map(len, public.values())),
        mistakes=[] if tested is None else _mistakes(tested, model.tokenizer),
        label_errors=[] if tested is None else _label_errors(tested),
        contradictory=[] if tested is None else _contradictory(tested),
        curve_told=what_more_texts_bring(tested.curve) if tested and tested.curve else "",
        most_listed=MOST_LISTED,
        doubtful_odds=DOUBTFUL_ODDS,
    )
    return page(title, body)


def how_cross_validated(folds: int) -> str:
    """Return how a classifier was cross-validated, as the end of a sentence."""
    return f"by {folds}-fold cross-validation: trained {folds} times, each time without the texts that it then labels"


def _sizes(model: TrainedModel) -> list[tuple[Any, float]]:
    """Return each class, and the number of its training texts."""
    return list(zip(model.classes.tolist(), model.training["documents_per_class"], strict=True))


@dataclass(frozen=True)
class Cell:
    """A cell of the confusion matrix: number and share of the row, shade, and the place of its texts, if any."""

    documents: int
    share: str
    shade: str
    anchor: str = ""


@dataclass(frozen=True)
class CellTexts:
    """The texts behind a cell of the confusion matrix."""

    anchor: str
    label: Any
    predicted: Any
    documents: int
    texts: Sequence[Mapping[str, Any]]


def _confusion(figures: Figures, tested: Tested | None) -> dict[str, Any]:
    """Return the confusion matrix of the classes with most mistakes, and the texts behind its cells."""
    matrix = np.array(figures.confusion)
    wrong = matrix.sum(axis=0) + matrix.sum(axis=1) - 2 * np.diag(matrix)
    kept = np.sort(np.argsort(-wrong, kind="stable")[:MOST_CLASSES]).tolist()
    classes = [figures.confusion_classes[number] for number in kept]
    behind = {} if tested is None else _texts_of_cells(tested)
    rows, texts = [], []
    for row, label in zip(kept, classes, strict=True):
        cells = []
        for column, predicted in zip(kept, classes, strict=True):
            count = int(matrix[row, column])
            step = strength(float(count), float(max(matrix[row].sum(), 1)))
            shade = " ".join(filter(None, (f"s{step}" if step else "", "right" if row == column else "")))
            found = behind.get((label, predicted), [])
            anchor = f"cell-{row}-{column}" if found else ""
            share = f"{count / matrix[row].sum():.0%}" if count and len(kept) <= MOST_WITH_SHARES else ""
            cells.append(Cell(count, share, shade, anchor))
            if found:
                texts.append(CellTexts(anchor, label, predicted, count, found))
        rows.append((label, cells))
    return {"classes": classes, "rows": rows, "texts": texts, "left_out": len(figures.confusion_classes) - len(kept)}


def _texts_of_cells(tested: Tested) -> dict[tuple[Any, Any], list[dict[str, Any]]]:
    """Return some texts of each cell, the surest first."""
    result = tested.result
    found: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    labels, predicted = np.asarray(result.labels).tolist(), np.asarray(result.predicted).tolist()
    for place in np.argsort(-result.confidences, kind="stable").tolist():
        cell = found.setdefault((labels[place], predicted[place]), [])
        if len(cell) < MOST_TEXTS:
            cell.append(_text(tested, place) | {"probability": float(result.confidences[place])})
    return found


def _text(tested: Tested, place: int) -> dict[str, Any]:
    text = tested.corpus.texts[place]
    rows = tested.corpus.rows
    shown = text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
    return {"row": rows[place] if rows else place + 1, "text": shown}


def _mistakes(tested: Tested, tokenizer: AnyTokenizer) -> list[dict[str, Any]]:
    """Return the most confident mistakes, their words marked by how they pull towards the predicted label."""
    pulls = {} if tested.result.words is None else tested.result.words.mistakes
    found = []
    for mistake in tested.diagnosis.mistakes[:MOST_LISTED]:
        shown = _text(tested, mistake.document)
        # words are escaped where they are marked
        marked = Markup(marked_by_words(shown["text"], tokenizer, pulls.get(mistake.document, {})))  # noqa: S704
        found.append({**shown, "mistake": mistake, "marked": marked})
    return found


def _label_errors(tested: Tested) -> list[dict[str, Any]]:
    return [
        {**_text(tested, error.document), "error": error} for error in tested.diagnosis.label_errors[:MOST_DOUBTFUL]
    ]


def _contradictory(tested: Tested) -> list[dict[str, Any]]:
    groups = tested.diagnosis.duplicates.contradictory[:MOST_LISTED]
    return [
        {
            "text": _text(tested, group.documents[0])["text"],
            "rows": [
                (_text(tested, place)["row"], label) for place, label in zip(group.documents, group.labels, strict=True)
            ],
        }
        for group in groups
    ]


def _pictures(figures: Figures) -> dict[str, str]:
    """Return the pictures of the figures as addresses that hold them."""
    calibration = {name: np.array(values) for name, values in figures.calibration.items()}
    drawn: dict[str, Picture] = {}
    with under("report"):
        drawn["reliability"] = draw_reliability(Reliability(**calibration))
        if figures.decided:
            drawn["decided"] = draw_decided(
                DecidedCurve(**{name: np.array(values) for name, values in figures.decided.items()})
            )
        return {
            name: f"data:image/svg+xml;base64,{b64encode(saved(picture, 'svg')).decode()}"
            for name, picture in drawn.items()
        }
