"""Pictures: how all of them are written, and the colours and signs that they share (those of Okabe and Ito)."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure as Picture

PICTURE_FORMATS: dict[str, dict[str, Any]] = {
    # without dates, the same picture is the same file
    "png": {"dpi": 160},
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "pdf": {"metadata": {"CreationDate": None}},
}
LONGEST_NAME = 24
BLUE = "#0072B2"


def settings(title: str) -> Any:
    """Return how pictures look; `title` makes the ids of an SVG its own, since pages hold several."""
    return {
        "svg.hashsalt": title,
        "text.parse_math": False,
        "font.size": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }


def saved(picture: Picture, kind: str) -> bytes:
    """Return a picture as a file; `kind` is a name of PICTURE_FORMATS. To be called under `settings`."""
    content = io.BytesIO()
    picture.savefig(content, format=kind, **PICTURE_FORMATS[kind])
    return content.getvalue()


@contextmanager
def under(title: str) -> Iterator[None]:
    """Give the context in which a picture is drawn and saved."""
    with mpl.rc_context(settings(title)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # a script that no installed font has
        yield


def shown_name(name: str) -> str:
    r"""Return a label or a word as a picture shows it: no control characters, which no SVG may hold, and not too long.

    >>> shown_name("red \x1b[31m")
    'red ?[31m'
    """
    plain = "".join(character if character.isprintable() else "?" for character in name[:LONGEST_NAME])
    return plain if len(name) <= LONGEST_NAME else f"{plain[:-1]}…"
