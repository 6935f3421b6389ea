"""An explanation as HTML: the text with its words marked, and what they add. For notebooks, and for pages."""

from collections.abc import Mapping, Sequence
from typing import Any

from tfcr.decision import class_position
from tfcr.pages import escape, resource, strength
from tfcr.text.tokenizers import AnyTokenizer, token_spans
from tfcr.trained.explain import Explanation, Mark

SHOWN_TERMS = 12
"""Rows of the table of terms; the others are added up in one."""
SHOWN_CLASSES = 3


def notebook_html(explanation: Explanation) -> str:
    """Return an explanation that brings its own style, in an element that styles nothing else."""
    return f'<style>{resource("style.css")}</style>\n<div class="tfcr">{explanation_html(explanation)}</div>'


def explanation_html(explanation: Explanation, level: int = 3, terms: int = SHOWN_TERMS) -> str:
    """Return an explanation as part of a page, under a heading of this level, with a table of so many terms."""
    if explanation.decision.several:
        shown = ", ".join(map(str, explanation.label)) or f"no label; the nearest is {explanation.nearest}"
    else:
        shown = str(explanation.label)
    unsure = "" if explanation.sure else " — unsure"
    parts = [
        f'<h{level}>{escape(shown)} <span class="soft">{explanation.probability:.1%}{unsure}</span></h{level}>',
        marked_text(explanation),
        legend(str(explanation.nearest)),
        _terms(explanation, terms),
        *(f'<p class="soft">{escape(line)}</p>' for line in explanation.how()),
    ]
    if explanation.unknown:
        parts.append(f'<p class="soft">Not known: {escape(", ".join(explanation.unknown))}</p>')
    if explanation.without is not None:
        rest = explanation.without
        left = rest.explanation
        parts.append(
            f"<p>Without <strong>{escape(rest.word)}</strong>: {escape(str(left.nearest))}, probability "
            f"{left.probability:.1%}.</p>"
        )
    return f"<section>{''.join(parts)}</section>"


def marked_text(explanation: Explanation, label: Any = None) -> str:
    """Return the text, each word marked by what it adds to the score of a class, by default the predicted one."""
    return _marked(explanation.text, explanation.marks(label))


def _marked(text: str, marks: Sequence[Mark]) -> str:
    largest = max((abs(mark.added) for mark in marks), default=0.0)
    parts, end = [], 0
    for mark in marks:
        step = strength(mark.added, largest)
        if not step or mark.start < end:
            continue
        kind = "for" if mark.added > 0 else "against"
        word = escape(text[mark.start : mark.end])
        parts.append(escape(text[end : mark.start]))
        parts.append(f'<mark class="{kind} s{step}" title="{mark.added:+.3f}">{word}</mark>')
        end = mark.end
    parts.append(escape(text[end:]))
    return f'<p class="words" dir="auto">{"".join(parts)}</p>'


def legend(label: str) -> str:
    """Return what the marks mean; never by colour alone."""
    return (
        '<p class="soft"><mark class="for s3">underlined</mark> speaks for '
        f'{escape(label)}, <mark class="against s3">wavy</mark> against it; the stronger the colour, the more.</p>'
    )


def _terms(explanation: Explanation, most: int) -> str:
    """Return the table of the terms that add most, either way; the last rows add up to the scores."""
    classes = explanation.order[:SHOWN_CLASSES]
    numbers = [class_position(explanation.classes, label) for label in classes]
    first = numbers[0]
    strongest = sorted(explanation.words, key=lambda word: -abs(word.contributions[first]))
    shown, rest = strongest[:most], strongest[most:]
    shown.sort(key=lambda word: -word.contributions[first])
    rows = [(word.word, [float(word.contributions[n]) for n in numbers]) for word in shown]
    if rest:
        rows.append((f"({len(rest)} more)", [float(sum(word.contributions[n] for word in rest)) for n in numbers]))
    rows.append(("(no word)", [float(explanation.baseline[n]) for n in numbers]))
    rows.append(("score", [float(explanation.scores[n]) for n in numbers]))
    if explanation.thresholds is not None:
        rows.append(("threshold", [float(explanation.thresholds[n]) for n in numbers]))
    told = "The score of a class is the sum of its column; (no word) is what it has before any word."
    if explanation.thresholds is not None:
        told += " A class whose score is above its threshold is a label."
    head = "".join(f'<th scope="col">{escape(str(label))}</th>' for label in classes)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{"".join(f"<td>{value:+.3f}</td>" for value in values)}</tr>'
        for name, values in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><thead><tr><th scope="col">adds</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
        f'<p class="soft">{told}</p>'
    )


def marked_by_words(text: str, tokenizer: AnyTokenizer, pulls: Mapping[str, float]) -> str:
    """Return a text whose words are marked by how they pull; half of a bigram goes to each of its words.

    For texts whose classifier is gone, such as that of a fold: a word pulls the same wherever it stands.
    """
    by_word: dict[str, float] = {}
    for term, pull in pulls.items():
        pieces = term.split(" ")
        for piece in pieces:
            by_word[piece] = by_word.get(piece, 0.0) + pull / len(pieces)
    marks = [Mark(start, end, by_word[word]) for word, start, end in token_spans(tokenizer, text) if by_word.get(word)]
    return _marked(text, marks)
