"""Make the screenshots of the docs: ``python -m docs.make_screenshots [NAME ...]``; needs chromium."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.browser.chromium import chromium

from tfcr import TfcrClassifier
from tfcr.data import load_dataset
from tfcr.trained.export_html import export_page
from tfcr.trained.pruning import prune

IMAGES = Path(__file__).with_name("images")


MODULES = ("asyncio", "email", "logging", "tkinter")
TEXT = "Return the header of the message, and send it over the socket that listens for connections."


class Screenshot(NamedTuple):
    """A page: the function that makes its HTML, what is done in it, and the size of the picture."""

    html: Callable[[], str]
    act: Callable[[Any], object]
    width: int = 820
    height: int = 680


def _exported() -> str:
    """Return the page of a classifier of docstrings, of four modules, so that all of it fits the picture."""
    corpus = load_dataset("pydocs")
    rows = [row for row in zip(corpus.texts, corpus.labels, strict=True) if row[1] in MODULES]
    model = TfcrClassifier.from_preset("fast", random_state=0).fit(*map(list, zip(*rows, strict=True))).model_
    return export_page(prune(model, 5_000_000).model)


def _type(text: str) -> Callable[[Any], object]:
    return lambda page: page.locator("#text").fill(text)


SCREENSHOTS: dict[str, Screenshot] = {"export": Screenshot(_exported, _type(TEXT))}
"""To add a page, add a row: the name of the picture, without .png."""


def main(names: list[str]) -> None:
    """Make the pictures of these names, by default all."""
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for name in names or SCREENSHOTS:
            shot = SCREENSHOTS[name]
            path = Path(folder) / f"{name}.html"
            path.write_text(shot.html(), "utf-8")
            page = browser.new_page(viewport={"width": shot.width, "height": shot.height})
            page.goto(path.as_uri())
            shot.act(page)
            page.locator("body").evaluate("(body) => body.ownerDocument.activeElement.blur()")
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()


if __name__ == "__main__":
    main(sys.argv[1:])
