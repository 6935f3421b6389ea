"""Make the screenshots of the docs: ``python -m docs.make_screenshots [NAME ...]``; needs chromium."""

import csv
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from PIL import Image
from tests.browser.chromium import chromium
from tests.serving.conftest import serving

from tfcr import TfcrClassifier
from tfcr.data import load_dataset
from tfcr.trained.export_html import export_page
from tfcr.trained.pruning import prune

IMAGES = Path(__file__).with_name("images")
COLOURS = 128


MODULES = ("asyncio", "email", "logging", "tkinter")
TEXT = "Return the header of the message, and send it over the socket that listens for connections."


class Screenshot(NamedTuple):
    """A page: what opens it in a folder and gives its address, what is done in it, and the size of the picture."""

    opened: Callable[[Path], AbstractContextManager[str]]
    act: Callable[[Any], object]
    width: int = 820
    height: int = 680


def _docstrings(modules: Sequence[str]) -> list[tuple[str, str]]:
    """Return docstrings of some modules and the modules' names, in random order."""
    corpus = load_dataset("pydocs")
    rows = [(text, str(label)) for text, label in zip(corpus.texts, corpus.labels, strict=True) if label in modules]
    Random(0).shuffle(rows)  # noqa: S311 - no secret
    return rows


def _trained(rows: Sequence[tuple[str, str]]) -> TfcrClassifier:
    texts, labels = map(list, zip(*rows, strict=True))
    return TfcrClassifier.from_preset("fast", random_state=0).fit(texts, labels)


@contextmanager
def _exported(folder: Path) -> Iterator[str]:
    """Write the page of a classifier of docstrings, of four modules, so that all of it fits the picture."""
    path = folder / "export.html"
    path.write_text(export_page(prune(_trained(_docstrings(MODULES)).model_, 5_000_000).model), "utf-8")
    yield path.as_uri()


def _served(page: str, modules: Sequence[str]) -> Callable[[Path], AbstractContextManager[str]]:
    """Return what serves a classifier that was trained on half of the docstrings, with the other half to list."""

    @contextmanager
    def opened(folder: Path) -> Iterator[str]:
        rows = _docstrings(modules)
        _trained(rows[::2]).save(folder / "docstrings")
        with (folder / "new.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("text", "label"), *rows[1::2]])
        with serving(
            folder / "docstrings", "--data", folder / "new.csv", "--text", "text", "--label", "label"
        ) as server:
            yield server.address + page

    return opened


def _type(text: str) -> Callable[[Any], object]:
    return lambda page: page.locator("#text").fill(text)


def _try(page: Any) -> None:
    """Type a text, and look up a word."""
    page.locator("#text").fill(TEXT)
    page.locator("#words mark", has_text="socket").click()
    page.wait_for_selector("#weights tr")
    page.evaluate("() => window.scrollTo(0, 0)")


def _see_mistakes(page: Any) -> None:
    """Choose a class, what it is confused with most, and a document."""
    page.locator("#class-rows button", has_text="email").click()
    page.locator("#confused button").first.click()
    page.wait_for_function("() => document.getElementById('count').textContent.includes('called')")
    page.get_by_label("Sorted by").select_option("probability")
    page.wait_for_load_state("networkidle")
    page.locator("#list button").first.click()
    page.wait_for_selector("#list .words")
    page.evaluate("() => window.scrollTo(0, 0)")


SCREENSHOTS: dict[str, Screenshot] = {
    "export": Screenshot(_exported, _type(TEXT)),
    "try": Screenshot(_served("/try", MODULES), _try, height=1020),
    "documents": Screenshot(_served("/documents", MODULES), _see_mistakes, height=1450),
}
"""To add a page, add a row: the name of the picture, without .png."""


def main(names: list[str]) -> None:
    """Make the pictures of these names, by default all."""
    with chromium() as browser:
        for name in names or SCREENSHOTS:
            shot = SCREENSHOTS[name]
            with tempfile.TemporaryDirectory() as folder, shot.opened(Path(folder)) as address:
                page = browser.new_page(viewport={"width": shot.width, "height": shot.height})
                page.goto(address)
                shot.act(page)
                page.locator("body").evaluate("(body) => body.ownerDocument.activeElement.blur()")
                picture = Image.open(BytesIO(page.screenshot()))
                picture.quantize(COLOURS).save(IMAGES / f"{name}.png", optimize=True)  # a third of the size
                page.close()


if __name__ == "__main__":
    main(sys.argv[1:])
