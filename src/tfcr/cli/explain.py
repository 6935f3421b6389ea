"""``tfcr explain``."""

import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tfcr.cli.help import input_option, output_option
from tfcr.cli.options import Json, Model, Reading, refuse_given, with_options
from tfcr.cli.output import note, print_json, print_styled, print_table, printable
from tfcr.cli.pages import check_page, write_page

if TYPE_CHECKING:
    from rich.text import Text

    from tfcr.trained.explain import Explanation
    from tfcr.trained.model import TrainedModel

SHOWN_CLASSES = 3
MOST_CLASSES = 8
"""Columns of a text with several labels: all of its labels, as far as they fit a terminal."""
FIRST_ROWS = "1-20"
MOST_ROWS = 10_000
MARKED = {
    "for": ("bold blue", "bold white on blue"),
    "against": ("italic dark_orange3", "italic black on dark_orange3"),
}
"""How a terminal shows words that speak for and against the label: weakly, and strongly; never by colour alone."""


@with_options
def explain(
    context: typer.Context,
    model: Model,
    reading: Reading,
    given: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The text; - for standard input.", show_default=False)
    ] = None,
    file: Annotated[
        str | None, input_option("--file", metavar="FILE", help="Explain rows of this file instead of one text.")
    ] = None,
    rows: Annotated[
        str, input_option("--rows", metavar="ROWS", help="Rows of the file, such as 3,7,10-12; the first is 1.")
    ] = FIRST_ROWS,
    without: Annotated[
        str | None,
        output_option("--without", metavar="WORD", help="Show what changes without this word.", show_default="none"),
    ] = None,
    top: Annotated[int, output_option("--top", metavar="N", help="Number of words to show.", min=1)] = 20,
    html: Annotated[
        str | None,
        output_option("--html", metavar="FILE", help="Write a page instead, which needs nothing else."),
    ] = None,
    json: Json = False,
) -> None:
    """Show what each word adds to each class's score. The rows sum to the score.

    \b
    tfcr explain model "the printer does not print"
    tfcr explain model "the printer does not print" --without printer
    tfcr explain model --file new.csv --rows 1-50 --html why.html
    """
    from tfcr.errors import InputError
    from tfcr.trained.model import TrainedModel

    if (given is None) == (file is None):
        both = "a text and --file" if file else "no text"
        raise InputError(f"found {both}; expected one of them: tfcr explain MODEL TEXT, or tfcr explain MODEL --file F")
    if file is None:
        refuse_given(context, FOR_FILES_ONLY, "along with a text, but it is for --file")
    elif without is not None:
        raise InputError("found --without along with --file; expected one text: tfcr explain MODEL TEXT --without WORD")
    if html is not None:
        check_page(html, "--html")
    loaded = TrainedModel.load(model)
    if file is not None:
        found = _explained_rows(loaded, reading, file, rows)
    else:
        found = iter([(None, loaded.explain(_read(given or ""), without=without))])
    if html is not None:
        text, explained = _page(model, found, top)
        write_page(html, text)
        note(f"written to {html}: {explained} explained")
        return
    for row, explanation in found:
        if json:
            print_json(({} if row is None else {"row": row}) | _as_json(explanation))
        else:
            if row is not None:
                print(f"row {row}")
            _show(explanation, top)
            if row is not None:
                print()


FOR_FILES_ONLY = ("rows", *Reading.__dataclass_fields__)
"""Options that have no effect on a text."""


def _read(text: str) -> str:
    from tfcr.trained.explain import MAX_CHARACTERS

    # no more than shows that it is too long
    return sys.stdin.read(MAX_CHARACTERS + 1) if text == "-" else text


def parse_rows(text: str) -> list[range]:
    """Return the ranges of rows that a user names.

    >>> parse_rows("3, 7,10-12")
    [range(3, 4), range(7, 8), range(10, 13)]
    """
    from tfcr.errors import InputError

    found = []
    for part in text.split(","):
        first, dash, last = (piece.strip() for piece in part.partition("-"))
        numbers = [first, last if dash else first]
        if not all(number.isascii() and number.isdigit() and len(number) < 16 for number in numbers):
            raise InputError(f"found --rows {text!r}; expected numbers and ranges of rows, such as 3,7,10-12")
        start, end = map(int, numbers)
        if not 0 < start <= end:
            raise InputError(f"found --rows {text!r}; expected rows from 1 on, the smaller one of a range first")
        found.append(range(start, end + 1))
    if sum(map(len, found)) > MOST_ROWS:
        raise InputError(f"found {sum(map(len, found)):,} rows in --rows; expected at most {MOST_ROWS:,} at once")
    return found


def _explained_rows(
    model: "TrainedModel", reading: Reading, file: str, rows: str
) -> "Iterator[tuple[int | None, Explanation]]":
    """Yield the rows of a file that are wanted, with their numbers; rows without text are left out."""
    from tfcr.data.columns import joined_text
    from tfcr.errors import DataError

    wanted = parse_rows(rows)
    last = max(part.stop for part in wanted) - 1
    number, explained, empty = 0, 0, []
    with closing(reading.pieces([file], model.training)) as pieces:
        for table, columns in pieces:
            note(table.how)
            for text in joined_text(table.frame, columns.text):
                number += 1
                if number <= last and any(number in part for part in wanted):
                    if text is None:
                        empty.append(number)
                        continue
                    explained += 1
                    yield number, model.explain(text)
            if number > last:  # the rest of a large file is not read
                break
    if empty:
        note(f"{len(empty)} of these rows have no text, the first is row {empty[0]}")
    if not explained and not empty:
        raise DataError(f"{file} has {number} rows; expected some of --rows {rows}")
    if number > last and rows == FIRST_ROWS:
        note(f"these are the first rows of {file}; --rows {last + 1}-{min(number, MOST_ROWS)} explains others")


def _page(model: str, found: "Iterator[tuple[int | None, Explanation]]", top: int) -> tuple[str, int]:
    """Return a page of explanations, and how many there are."""
    from pathlib import Path

    from tfcr.pages import escape, page
    from tfcr.trained.explanation_html import explanation_html

    parts = [
        (f"<h2>Row {row}</h2>" if row is not None else "") + explanation_html(explanation, 2 if row is None else 3, top)
        for row, explanation in found
    ]
    which = "this label" if len(parts) == 1 else "these labels"
    title = f"Why {Path(model).name} picked {which}"
    return page(title, f"<h1>{escape(title)}</h1>\n" + "\n".join(parts)), len(parts)


def _show(explanation: "Explanation", top: int) -> None:
    """Print an explanation; in a terminal, the text with its words marked too."""
    print_explanation(explanation, top, marked=sys.stdout.isatty())
    print()
    for line in explanation.how():
        print(printable(line))
    if explanation.without is not None:
        print(f"\n{_changed(explanation)}")


def _changed(explanation: "Explanation") -> str:
    assert explanation.without is not None  # noqa: S101 - asked for by the caller
    word, left = explanation.without.word, explanation.without.explanation
    before, after = explanation.nearest, left.nearest
    number = explanation.classes.tolist().index(before)
    what = f"still {after}" if before == after else f"{after} instead of {before}"
    return printable(
        f"without {word}: {what}; the probability of {before} goes from {explanation.probability:.3f} to "
        f"{left.probabilities[number]:.3f}, its score from {explanation.scores[number]:+.3f} to "
        f"{left.scores[number]:+.3f}"
    )


def marked_words(explanation: "Explanation") -> "Text":
    """Return the text as a terminal shows it, each word by what it adds to the label's score."""
    from rich.text import Text

    from tfcr.pages import STEPS, strength

    marks = explanation.marks()
    largest = max((abs(mark.added) for mark in marks), default=0.0)
    shown, end = Text(), 0
    for mark in marks:
        step = strength(mark.added, largest)
        if step and mark.start >= end:
            style = MARKED["for" if mark.added > 0 else "against"][2 * step > STEPS]
            shown.append(printable(explanation.text[end : mark.start]))
            shown.append(printable(explanation.text[mark.start : mark.end]), style)
            end = mark.end
    shown.append(printable(explanation.text[end:]))
    legend = Text("\n\n")
    legend.append("bold", MARKED["for"][0])
    legend.append(f" speaks for {printable(str(explanation.nearest))}, ", "dim")
    legend.append("italic", MARKED["against"][0])
    legend.append(" against it\n", "dim")
    return shown.append(legend)


def _as_json(explanation: "Explanation") -> dict[str, Any]:
    classes = [str(label) for label in explanation.classes.tolist()]
    limits = explanation.thresholds
    thresholds = {} if limits is None else {"thresholds": dict(zip(classes, limits.tolist(), strict=True))}
    return {
        "label": explanation.label,
        "sure": explanation.sure,
        "runner_up": explanation.runner_up,
        "probabilities": dict(zip(classes, explanation.probabilities.tolist(), strict=True)),
        "how": explanation.how(),
        "scores": dict(zip(classes, explanation.scores.tolist(), strict=True)),
        **thresholds,
        "baseline": dict(zip(classes, explanation.baseline.tolist(), strict=True)),
        "words": [
            {
                "word": word.word,
                "count": word.count,
                "spans": word.spans,
                "unseen": word.unseen,
                "contributions": dict(zip(classes, word.contributions.tolist(), strict=True)),
            }
            for word in explanation.words
        ],
        "unknown": list(explanation.unknown),
        **({} if explanation.without is None else _without_as_json(explanation)),
    }


def _without_as_json(explanation: "Explanation") -> dict[str, Any]:
    assert explanation.without is not None  # noqa: S101 - asked for by the caller
    return {"without": {"word": explanation.without.word, **_as_json(explanation.without.explanation)}}


def _heading(explanation: "Explanation") -> str:
    if explanation.thresholds is None:
        return str(explanation.label)
    return ", ".join(map(str, explanation.label)) or "no label: no score is above its threshold"


def print_explanation(explanation: "Explanation", top: int, *, marked: bool = False) -> None:
    """Print the contributions of the words to the scores of the most likely classes, below the text if `marked`."""
    limits = explanation.thresholds
    n_shown = SHOWN_CLASSES if limits is None else max(SHOWN_CLASSES, min(len(explanation.label), MOST_CLASSES))
    order = (-explanation.margins).argsort()[:n_shown]
    labels = [str(explanation.classes.tolist()[number]) for number in order]
    strongest = sorted(explanation.words, key=lambda word: -abs(word.contributions[order[0]]))
    shown, rest = strongest[:top], strongest[top:]
    shown.sort(key=lambda word: -word.contributions[order[0]])
    rows: list[tuple[Any, ...]] = [(word.word, *(float(word.contributions[n]) for n in order)) for word in shown]
    if rest:
        rows.append((f"({len(rest)} more words)", *(float(sum(w.contributions[n] for w in rest)) for n in order)))
    rows.append(("(no word)", *(float(explanation.baseline[n]) for n in order)))
    rows.append(("score", *(float(explanation.scores[n]) for n in order)))
    if limits is not None:
        rows.append(("threshold", *(float(limits[n]) for n in order)))
        rows.append(("assigned", *("yes" if explanation.margins[n] > 0 else "no" for n in order)))
    print(f"{printable(_heading(explanation))}{'' if explanation.sure else ' (unsure)'}\n")
    if marked:
        print_styled(marked_words(explanation))
    print_table(("adds", *labels), rows)
    if explanation.unknown:
        print(f"\nnot known: {printable(', '.join(explanation.unknown[:20]))}")
