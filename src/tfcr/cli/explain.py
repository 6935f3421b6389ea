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
    return {
        "label": explanation.label,
        "scores": dict(zip(classes, explanation.scores.tolist(), strict=True)),
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


def print_explanation(explanation: "Explanation", top: int) -> None:
    """Print the contributions of the words to the scores of the most likely classes."""
    order = (-explanation.scores).argsort()[:SHOWN_CLASSES]
    labels = [str(explanation.classes.tolist()[number]) for number in order]
    shown = sorted(explanation.words, key=lambda word: -abs(word.contributions[order[0]]))[:top]
    shown.sort(key=lambda word: -word.contributions[order[0]])
    rest = [word for word in explanation.words if word not in shown]
    rows: list[tuple[Any, ...]] = [(word.word, *(float(word.contributions[n]) for n in order)) for word in shown]
    if rest:
        rows.append((f"({len(rest)} more words)", *(float(sum(w.contributions[n] for w in rest)) for n in order)))
    rows.append(("(no word)", *(float(explanation.baseline[n]) for n in order)))
    rows.append(("score", *(float(explanation.scores[n]) for n in order)))
    print(f"{printable(str(explanation.label))}\n")
    print_table(("adds", *labels), rows)
    if explanation.unknown:
        print(f"\nnot known: {printable(', '.join(explanation.unknown[:20]))}")
