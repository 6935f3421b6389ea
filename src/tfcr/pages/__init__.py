"""What all pages share: one style, and a frame that loads nothing from elsewhere. Text from data is escaped, never run.

Pages are files that people send around: their scripts and styles are inside, and a content security policy allows just
these by their hashes, so that markup in a text, a label or a file name stays text.
"""

from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from html import escape
from math import ceil
from pathlib import Path
from string import Template

FOLDER = Path(__file__).parent

STEPS = 5
"""Strengths of colour: a word is marked by the step that its contribution reaches."""
LEAST_MARKED = 0.1
"""Of the largest contribution: words that add less are not marked, so that those which count stand out."""

__all__ = ["STEPS", "as_json_block", "content_policy", "escape", "page", "resource", "strength"]


@cache
def resource(name: str) -> str:
    """Return the text of a file beside this one: a style, a script or a template."""
    return (FOLDER / name).read_text("utf-8")


def page(title: str, body: str, *, scripts: Iterable[str] = (), connects: bool = False) -> str:
    """Return a self-contained page.

    Parameters
    ----------
    title
        Plain text.
    body
        HTML, in which text from data is escaped.
    scripts
        JavaScript of our own; data goes into a ``<script type="application/json">`` of the body, by `as_json_block`.
    connects
        Whether the scripts ask the server that the page is from; a file asks nobody.
    """
    inside = list(scripts)
    style = resource("style.css")
    return Template(resource("page.html")).substitute(
        title=escape(title),
        policy=escape(content_policy(inside, connects=connects)),
        style=style,
        body=body,
        scripts="".join(f"<script>{script}</script>\n" for script in inside),
    )


def content_policy(scripts: Iterable[str] = (), *, connects: bool = False) -> str:
    """Return what a page with these scripts may load, run and ask; a server sends it as a header too."""
    asks = "connect-src 'self'; " if connects else ""
    return (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; {asks}"
        f"style-src {_hashes([resource('style.css')])}; script-src {_hashes(list(scripts))}; img-src data:"
    )


def _hashes(texts: list[str]) -> str:
    """Return what allows these inline texts and no others."""
    found = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts]
    return " ".join(found) or "'none'"


def as_json_block(json: str, name: str) -> str:
    """Return JSON as an element that a script reads by its id; no text in it can end the element."""
    safe = json.replace("<", "\\u003c")
    return f'<script type="application/json" id="{escape(name)}">{safe}</script>'


def strength(value: float, largest: float) -> int:
    """Return the step of colour, 0 to STEPS, of a value among values up to `largest`.

    >>> [strength(value, 2.0) for value in (0.0, 0.05, -1.0, 2.0)]
    [0, 0, 3, 5]
    """
    if not largest or abs(value) < LEAST_MARKED * largest:
        return 0
    return min(STEPS, ceil(abs(value) / largest * STEPS))
