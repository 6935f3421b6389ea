"""Make the screenshots of the docs: ``python -m docs.make_screenshots [NAME ...]``; needs chromium."""

import csv
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from PIL import Image
from tests.browser.chromium import chromium
from tests.cli.test_label import labelling
from tests.serving.conftest import serving

from tfcr.data import load_dataset

IMAGES = Path(__file__).with_name("images")
COLOURS = 128
MODULES = ("asyncio", "email", "logging", "tkinter")
"""Four classes, so that all of them fit the pictures."""
COLUMNS = ("--text", "text", "--label", "label")
ANSWERS = 120
TEXT = "Return the header of the message, and send it over the socket that listens for connections."

Opened = Callable[[Path], AbstractContextManager[str]]


class Screenshot(NamedTuple):
    """A page: what opens it in a folder and gives its address, what is done in it, and the size of the picture."""

    opened: Opened
    act: Callable[[Any], object] = lambda _: None
    width: int = 820
    height: int = 680


def _docstrings() -> list[tuple[str, str]]:
    """Return docstrings and the names of their modules, in random order."""
    corpus = load_dataset("pydocs")
    rows = [(text, str(label)) for text, label in zip(corpus.texts, corpus.labels, strict=True) if label in MODULES]
    Random(0).shuffle(rows)  # noqa: S311 - no secret
    return rows


def _write(path: Path, rows: Sequence[tuple[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


def _run(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "tfcr", *arguments], cwd=folder, check=True)  # noqa: S603 - our own


def _train(folder: Path) -> None:
    """Write docstrings.csv and new.csv, half of the docstrings each, and train on the first."""
    rows = _docstrings()
    _write(folder / "docstrings.csv", rows[::2])
    _write(folder / "new.csv", rows[1::2])
    _run(folder, "train", "docstrings.csv", "--preset", "fast", *COLUMNS, "-o", "docstrings")


def _written(*command: str) -> Opened:
    """Return what opens the page that a command writes; its name follows the last option."""

    @contextmanager
    def opened(folder: Path) -> Iterator[str]:
        _train(folder)
        _run(folder, *command, "page.html")
        yield (folder / "page.html").as_uri()

    return opened


def _served(page: str) -> Opened:
    """Return what opens a page of a server that has new.csv to list."""

    @contextmanager
    def opened(folder: Path) -> Iterator[str]:
        _train(folder)
        model, data, work = folder / "docstrings", folder / "new.csv", folder / "work"
        with serving(model, "--data", data, *COLUMNS, "--work", work) as server:
            yield server.address + page

    return opened


@contextmanager
def _labelled(folder: Path) -> Iterator[str]:
    """Open the page of tfcr label after some answers, which are the true ones."""
    rows = _docstrings()
    data, classes = folder / "docstrings.csv", ",".join(MODULES)
    _write(data, rows)
    with labelling(data, "--no-labels", "--classes", classes, "-o", folder / "answers.jsonl") as server:
        state = server.get("/label/state")
        for _ in range(ANSWERS):
            row = state["question"]["row"]
            state = server.post("/label/answer", {"row": row, "label": rows[row - 1][1]})
        while server.get("/label/state")["busy"]:
            time.sleep(1)
        yield server.address


def _type(page: Any) -> None:
    page.locator("#text").fill(TEXT)


def _scroll(name: str) -> Callable[[Any], object]:
    return lambda page: page.get_by_role("heading", name=name).first.evaluate("(found) => found.scrollIntoView()")


def _try(page: Any) -> None:
    """Type a text, and look up a word."""
    _type(page)
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


def _correct(page: Any) -> None:
    """Upload docstrings, correct some labels by keyboard, and explain one."""
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


_report = _written("report", "docstrings", "docstrings.csv", "-o")
SCREENSHOTS: dict[str, Screenshot] = {
    "export": Screenshot(_written("export", "docstrings", "--html"), _type),
    "explanation": Screenshot(_written("explain", "docstrings", TEXT, "--html"), height=620),
    "report": Screenshot(_report, height=760),
    "report-mistakes": Screenshot(_report, _scroll("mistakes"), height=620),
    "try": Screenshot(_served("/try"), _try, height=1020),
    "documents": Screenshot(_served("/documents"), _see_mistakes, height=1450),
    "files": Screenshot(_served("/classify"), _correct, 1000, 700),
    "label": Screenshot(_labelled, lambda page: page.wait_for_selector("#curve .line"), height=900),
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
                picture = Image.open(io.BytesIO(page.screenshot()))
                picture.quantize(COLOURS).save(IMAGES / f"{name}.png", optimize=True)  # a third of the size
                page.close()


if __name__ == "__main__":
    main(sys.argv[1:])
