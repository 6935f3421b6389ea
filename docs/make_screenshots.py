"""Make the screenshots of the docs: ``python -m docs.make_screenshots [NAME ...]``; needs chromium."""

import csv
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.browser.chromium import chromium
from tests.serving.conftest import serving

from tfcr import TfcrClassifier, TrainedModel
from tfcr.data import load_dataset
from tfcr.trained.export_html import export_page
from tfcr.trained.pruning import prune

IMAGES = Path(__file__).with_name("images")


MODULES = ("asyncio", "email", "logging", "tkinter")
TEXT = "Return the header of the message, and send it over the socket that listens for connections."


class Screenshot(NamedTuple):
    """A page: what makes its HTML, or its path at a server; what is done in it; the size of the picture."""

    html: Callable[[], str] | str
    act: Callable[[Any], object]
    width: int = 820
    height: int = 680


def _docstrings() -> list[tuple[str, str]]:
    """Return docstrings of four modules, with their modules, so that all classes fit the picture."""
    corpus = load_dataset("pydocs")
    return [(text, label) for text, label in zip(corpus.texts, corpus.labels, strict=True) if label in MODULES]


def _model(rows: list[tuple[str, str]]) -> TrainedModel:
    found: TrainedModel = (
        TfcrClassifier.from_preset("fast", random_state=0).fit(*map(list, zip(*rows, strict=True))).model_
    )
    return found


def _exported() -> str:
    """Return the page of a classifier of docstrings."""
    return export_page(prune(_model(_docstrings()), 5_000_000).model)


@contextmanager
def _served() -> Iterator[str]:
    """Run a server of a classifier that has seen every other docstring; give its address."""
    with tempfile.TemporaryDirectory() as folder:
        _model(_docstrings()[::2]).save(Path(folder) / "modules")
        with serving(Path(folder) / "modules", "--work", Path(folder) / "work") as server:
            yield server.address


def _correct(page: Any) -> None:
    """Upload the other docstrings, correct some labels by keyboard, and explain one."""
    buffer = io.StringIO(newline="")
    rows = [(" ".join(text.split())[:160], label) for text, label in _docstrings()[1::2]][:400]
    csv.writer(buffer).writerows([("docstring", "module"), *rows])
    file = {"name": "docstrings.csv", "mimeType": "text/csv", "buffer": buffer.getvalue().encode()}
    page.locator("#file").set_input_files(file)
    page.get_by_role("button", name="Classify").click()
    page.locator("#said", has_text="rows are classified").wait_for(timeout=120_000)
    page.locator("#order").select_option("least")
    page.locator("#range", has_text="Rows 1 to 50").wait_for()
    page.locator("#help").evaluate("(help) => help.removeAttribute('open')")
    page.locator("#rows tr").first.focus()
    for key in ("3", "j", "e"):
        page.keyboard.press(key)
    page.locator(".aside .words").wait_for()
    page.locator("#rows-title").evaluate("(title) => title.scrollIntoView()")


def _type(text: str) -> Callable[[Any], object]:
    return lambda page: page.locator("#text").fill(text)


SCREENSHOTS: dict[str, Screenshot] = {
    "export": Screenshot(_exported, _type(TEXT)),
    "files": Screenshot("/classify", _correct, 1000, 700),
}
"""To add a page, add a row: the name of the picture, without .png."""


@contextmanager
def _address_of(shot: Screenshot) -> Iterator[str]:
    """Give the address of a page: of a file, or of a server that runs meanwhile."""
    if isinstance(shot.html, str):
        with _served() as address:
            yield address + shot.html
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(shot.html(), "utf-8")
        yield path.as_uri()


def main(names: list[str]) -> None:
    """Make the pictures of these names, by default all."""
    with chromium() as browser:
        for name in names or SCREENSHOTS:
            shot = SCREENSHOTS[name]
            with _address_of(shot) as address:
                page = browser.new_page(viewport={"width": shot.width, "height": shot.height})
                page.goto(address)
                shot.act(page)
                page.locator("body").evaluate("(body) => body.ownerDocument.activeElement.blur()")
                page.screenshot(path=IMAGES / f"{name}.png")
                page.close()


if __name__ == "__main__":
    main(sys.argv[1:])
