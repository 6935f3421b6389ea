"""Pages in a real browser; a test fails on any console message of an error, and on any request but for the page."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import NAMES, find_chromium
from tfcr.pages import resource

Open = Callable[..., Any]
"""From a page's HTML, and options of Playwright's new_context, to the page."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for the tests of one file: while it is open, an event loop runs, and no test can start its own."""
    if find_chromium() is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    from tests.browser.chromium import chromium

    with chromium() as found:
        yield found


def listen(page: Any, own: str, problems: list[str], *, asks: bool = False) -> None:
    """Note what a page must not do: complain, ask, or load anything besides itself.

    A page that `asks` may ask its server, whose address is `own`.
    """

    def note(what: str, *, if_: bool = True) -> None:
        if if_:
            problems.append(what)

    def is_own(url: str) -> bool:
        return url.startswith(f"{own}/") if asks else url == own

    page.on("console", lambda message: note(message.text, if_=message.type in ("error", "warning")))
    page.on("pageerror", lambda error: note(str(error)))
    page.on("dialog", lambda dialog: note(f"dialog {dialog.message}"))
    page.on("request", lambda request: note(f"request {request.url}", if_=not is_own(request.url)))


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


@pytest.fixture
def open_served(browser: Any) -> Iterator[Open]:
    """From the address of a server, a path, and options of Playwright's new_context, to the page."""
    problems: list[str] = []
    contexts: list[Any] = []

    def opened(address: str, path: str, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.problems = problems
        # which the policy of our pages forbids, unless a test does without it
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        listen(page, address, problems, asks=True)
        page.goto(address + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture(scope="module")
def classify(browser: Any) -> Iterator[Any]:
    """An empty page in which classify.js is loaded."""
    page = browser.new_page()
    page.goto("about:blank")
    page.add_script_tag(content=resource("classify.js"))
    page.evaluate("() => { window.models = {}; window.tokenizers = {}; }")
    yield page
    page.close()
