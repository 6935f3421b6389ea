"""``tfcr explain``."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfcr.cli.help import output_option
from tfcr.cli.options import Json, Model
from tfcr.cli.output import print_json, print_table, printable

if TYPE_CHECKING:
    from tfcr.trained.explain import Explanation

SHOWN_CLASSES = 3
MOST_CLASSES = 8
"""Columns of a text with several labels: all of its labels, as far as they fit a terminal."""


def explain(
    model: Model,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The text; - for standard input.", show_default=False)],
    top: Annotated[int, output_option("--top", metavar="N", help="Number of words to show.", min=1)] = 20,
    json: Json = False,
) -> None:
    """Show what each word adds to each class's score. The rows sum to the score.

    \b
    tfcr explain model "the printer does not print"
    """
    from tfcr.trained.explain import MAX_CHARACTERS
    from tfcr.trained.model import TrainedModel

    # no more than shows that it is too long
    given = sys.stdin.read(MAX_CHARACTERS + 1) if text == "-" else text
    explanation = TrainedModel.load(model).explain(given)
    if json:
        print_json(_as_json(explanation))
    else:
        print_explanation(explanation, top)


def _as_json(explanation: "Explanation") -> dict[str, Any]:
    classes = [str(label) for label in explanation.classes.tolist()]
    limits = explanation.thresholds
    thresholds = {} if limits is None else {"thresholds": dict(zip(classes, limits.tolist(), strict=True))}
    return {
        "label": explanation.label,
        "scores": dict(zip(classes, explanation.scores.tolist(), strict=True)),
        **thresholds,
        "baseline": dict(zip(classes, explanation.baseline.tolist(), strict=True)),
        "words": [
            {
                "word": word.word,
                "count": word.count,
                "spans": word.spans,
                "contributions": dict(zip(classes, word.contributions.tolist(), strict=True)),
            }
            for word in explanation.words
        ],
        "unknown": list(explanation.unknown),
    }


def _heading(explanation: "Explanation") -> str:
    if explanation.thresholds is None:
        return str(explanation.label)
    return ", ".join(map(str, explanation.label)) or "no label: no score is above its threshold"


def print_explanation(explanation: "Explanation", top: int) -> None:
    """Print the contributions of the words to the scores of the most likely classes."""
    limits = explanation.thresholds
    n_shown = SHOWN_CLASSES if limits is None else max(SHOWN_CLASSES, min(len(explanation.label), MOST_CLASSES))
    order = (-explanation.margins).argsort()[:n_shown]
    labels = [str(explanation.classes.tolist()[number]) for number in order]
    shown = sorted(explanation.words, key=lambda word: -abs(word.contributions[order[0]]))[:top]
    shown.sort(key=lambda word: -word.contributions[order[0]])
    rest = [word for word in explanation.words if word not in shown]
    rows: list[tuple[Any, ...]] = [(word.word, *(float(word.contributions[n]) for n in order)) for word in shown]
    if rest:
        rows.append((f"({len(rest)} more words)", *(float(sum(w.contributions[n] for w in rest)) for n in order)))
    rows.append(("(no word)", *(float(explanation.baseline[n]) for n in order)))
    rows.append(("score", *(float(explanation.scores[n]) for n in order)))
    if limits is not None:
        rows.append(("threshold", *(float(limits[n]) for n in order)))
        rows.append(("assigned", *("yes" if explanation.margins[n] > 0 else "no" for n in order)))
    print(f"{printable(_heading(explanation))}\n")
    print_table(("adds", *labels), rows)
    if explanation.unknown:
        print(f"\nnot known: {printable(', '.join(explanation.unknown[:20]))}")
