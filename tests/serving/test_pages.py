"""Pages for people: complete, from nowhere else, and text in them is text."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.serving.conftest import Connect
from tfcr import TfcrClassifier
from tfcr.serving.pages import PAGES

EVIL = '<script>alert("1")</script>'


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


@pytest.mark.parametrize("path", PAGES)
def test_markup_in_names_and_labels_is_shown_and_not_run(
    path: str, connect: Connect, tmp_path: Path, documents: Path
) -> None:
    folder = tmp_path / "<b onclick=x>"
    TfcrClassifier.from_preset("fast").fit(["good", "bad"] * 20, [EVIL, "fine"] * 20).save(folder)
    answer = connect(folder, documents=documents).get(path)
    tags = Tags()
    tags.feed(answer.text)
    assert EVIL not in answer.text
    assert "b" not in tags.found
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    allowed = re.search(r"script-src ([^;]+);", answer.headers["content-security-policy"])
    assert allowed is not None
    assert "unsafe" not in allowed[1]
    assert tags.found.count("script") == allowed[1].count("'sha256-")  # scripts of our own, each allowed by its hash
    assert "&lt;b onclick=x&gt;" in answer.text


def test_pages_load_nothing_from_elsewhere(connect: Connect, documents: Path) -> None:
    client = connect(documents=documents)
    for path in PAGES:
        tags = Tags()
        tags.feed(client.get(path).text)
        assert "/try" in tags.links
        assert not any(link.startswith(("http:", "https:", "//")) for link in tags.links)
        for link in tags.links:
            assert client.get(link if link.startswith("/") else f"/{link}").status_code == 200


def test_a_page_that_this_server_has_not_is_not_in_the_menu(client: TestClient) -> None:
    assert 'href="/documents"' not in client.get("/").text
    assert client.get("/documents").status_code == 404


def test_the_interface_is_described_in_full(client: TestClient) -> None:
    page, openapi = client.get("/docs").text, client.get("/openapi.json").json()
    assert set(openapi["paths"]) == {"/predict", "/explain", "/model", "/words", "/health", "/metrics"}
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            assert f"<code>{method.upper()} {path}</code>" in page
            for status in operation["responses"]:
                assert f">{status}<" in page
    for shape in ("PredictRequest", "ExplainRequest"):
        for field in openapi["components"]["schemas"][shape]["properties"]:
            assert f"<code>{field}</code>" in page
    assert re.search(r"curl http://127.0.0.1:8765/predict -H", page)
