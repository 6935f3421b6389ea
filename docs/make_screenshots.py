"""Make the screenshots of the docs: ``python -m docs.make_screenshots [NAME ...]``; needs chromium."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from tests.browser.chromium import chromium

from tfcr.data import load_dataset

IMAGES = Path(__file__).with_name("images")


MODULES = ("asyncio", "email", "logging", "tkinter")
TEXT = "Return the header of the message, and send it over the socket that listens for connections."


class Screenshot(NamedTuple):
    """A page: the command that writes it, what is done in it, and the size of the picture."""

    command: tuple[str, ...]
    act: Callable[[Any], object] = lambda _: None
    width: int = 820
    height: int = 680


def _run(*arguments: str, folder: Path) -> None:
    subprocess.run([sys.executable, "-m", "tfcr", *arguments], cwd=folder, check=True)  # noqa: S603 - our own


@cache
def _folder(name: str) -> Path:
    """Return a folder with a classifier of docstrings, of four modules, so that all of it fits the pictures."""
    folder = Path(name)
    corpus = load_dataset("pydocs")
    rows = pl.DataFrame({"text": corpus.texts, "label": corpus.labels}).filter(pl.col("label").is_in(MODULES))
    rows.write_csv(folder / "docstrings.csv")
    _run("train", "docstrings.csv", "--preset", "fast", "-o", "docstrings", folder=folder)
    return folder


def _type(text: str) -> Callable[[Any], object]:
    return lambda page: page.locator("#text").fill(text)


def _scroll(name: str) -> Callable[[Any], object]:
    return lambda page: page.get_by_role("heading", name=name).first.evaluate("(found) => found.scrollIntoView()")


SCREENSHOTS: dict[str, Screenshot] = {
    "export": Screenshot(("export", "docstrings", "--html"), _type(TEXT)),
    "explanation": Screenshot(("explain", "docstrings", TEXT, "--html"), height=620),
    "report": Screenshot(("report", "docstrings", "docstrings.csv", "-o"), height=760),
    "report-mistakes": Screenshot(("report", "docstrings", "docstrings.csv", "-o"), _scroll("mistakes"), height=620),
}
"""To add a page, add a row: the name of the picture, without .png; the name of the page follows its command."""


def main(names: list[str]) -> None:
    """Make the pictures of these names, by default all."""
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for name in names or SCREENSHOTS:
            shot = SCREENSHOTS[name]
            path = _folder(folder) / f"{name}.html"
            _run(*shot.command, path.name, folder=path.parent)
            page = browser.new_page(viewport={"width": shot.width, "height": shot.height})
            page.goto(path.as_uri())
            shot.act(page)
            page.locator("body").evaluate("(body) => body.ownerDocument.activeElement.blur()")
            page.screenshot(path=IMAGES / f"{name}.png")
            page.close()


if __name__ == "__main__":
    main(sys.argv[1:])
