"""Chromium, headless, for tests, screenshots and benchmarks of pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""It runs as root in containers, and asks no server for anything of its own."""

SCREENS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 360, "height": 640}},
    "narrow and dark": {"viewport": {"width": 320, "height": 640}, "color_scheme": "dark"},
}


def find_chromium() -> str | None:
    """Return the path of a browser on this machine; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser, and stop it afterwards."""
    path = find_chromium()
    if path is None:
        raise SystemExit(f"found none of {', '.join(NAMES)}; install one: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


def check_accessible(page: Any) -> None:
    """Fail on any serious problem that axe-core finds; the page is to be opened with bypass_csp=True.

    axe-core is a script of the test's own, which the page's policy would not let in.
    """
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []
