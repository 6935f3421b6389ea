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


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Open]:
    problems: list[str] = []
    contexts = []

    def opened(html: str, **options: Any) -> Any:
        path = tmp_path / f"page {len(contexts)}.html"
        path.write_text(html, "utf-8")
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: message.type in ("error", "warning") and problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: request.url == path.as_uri() or problems.append(f"request {request.url}"))
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
