"""The page of an experiment."""

import re
from html.parser import HTMLParser
from pathlib import Path

from tests.experiment.conftest import (
    Run,
)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("src", "href", "xlink:href", "data")]


def test_the_page_is_self_contained_and_escaped(finished: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    shown = run("experiment", "report", "--results", finished, "-o", target)
    assert shown.status == 0, shown.err
    page = target.read_text("utf-8")
    found = Tags()
    found.feed(page)
    assert not {"script", "link", "iframe"} & set(found.tags)
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in found.links)
    assert not re.search(r"url\((?!#)", page)
    assert found.tags.count("img") == 1
    assert "b" not in found.tags
    assert "&lt;b&gt;&amp;$x_1$" in page
    for text in (
        "tfcr experiment run &lt;script&gt;",
        "tfcr experiment run --sizes 30,60,all",
        "without labels",
        "Profile equations",
        " is best on ",
        "tokeniser",
        "numpy",
        ".896",
    ):
        assert text in page, text
    assert "{&#39;" not in page
    assert "cells" not in page.split("<h2>")[0].partition("<main")[2]
