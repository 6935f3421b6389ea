"""Pages in a real browser; a test fails on any console message of an error, and on any request but for the page."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import NAMES, find_chromium
from tfcr.pages import resource

Open = Callable[..., Any]
"""From a page's HTML, and options of Playwright's new_context, to the page."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if find_chromium() is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    from tests.browser.chromium import chromium

    with chromium() as found:
        yield found


def listen(page: Any, own: str, problems: list[str]) -> None:
    """Note what a page must not do: complain, ask, or load anything besides itself."""

    def note(what: str, *, if_: bool = True) -> None:
        if if_:
            problems.append(what)

    page.on("console", lambda message: note(message.text, if_=message.type in ("error", "warning")))
    page.on("pageerror", lambda error: note(str(error)))
    page.on("dialog", lambda dialog: note(f"dialog {dialog.message}"))
    page.on("request", lambda request: note(f"request {request.url}", if_=request.url != own))


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    problems: list[str] = []
    contexts: list[Any] = []

    def opened(html: str, **options: Any) -> Any:
        path = tmp_path / f"page {len(contexts)}.html"
        path.write_text(html, "utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        listen(page, path.as_uri(), problems)
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="session")
def classify(browser: Any) -> Iterator[Any]:
    """An empty page in which classify.js is loaded."""
    page = browser.new_page()
    page.goto("about:blank")
    page.add_script_tag(content=resource("classify.js"))
    page.evaluate("() => { window.models = {}; window.tokenizers = {}; }")
    yield page
    page.close()
