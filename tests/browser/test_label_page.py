"""The page of ``tfcr label`` in a real browser, against a real server that is killed and started again."""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import SCREENS, check_accessible
from tests.cli.test_label import Labelling, labelling
from tests.labelling.conftest import corpus

TEXTS, TRUTH = corpus(80)
EVIL = "<img src=x onerror=alert(1)> <script>alert(2)</script>"
CLASSES = ["sport", "politics", "weather", "<b>bold</b>"]
Visit = Callable[..., Any]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    lines = [json.dumps({"text": f"{text} {EVIL}"}) for text in TEXTS]
    (tmp_path / "<i>data.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "<i>data.jsonl"


@pytest.fixture
def visit(browser: Any) -> Iterator[Visit]:
    """Return a function that opens a page of a server; it fails on any console error, dialog or foreign request."""
    problems: list[str] = []
    contexts: list[Any] = []

    def opened(server: Labelling, **options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.on("console", lambda said: problems.append(said.text) if is_trouble(said) else None)
        page.on("request", lambda r: problems.append(r.url) if not r.url.startswith(server.address) else None)
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
        page.goto(server.address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def is_trouble(said: Any) -> bool:
    """Tell whether a message of the console is unexpected: a server that was killed refuses connections."""
    return said.type in ("error", "warning") and "ERR_CONNECTION" not in said.text and "507" not in said.text


def row_of(page: Any) -> int:
    page.wait_for_function("() => /^Row/.test(document.getElementById('asked').textContent)")
    return int(page.locator("#asked").inner_text().split()[1])


def press(page: Any, key: str) -> int:
    """Press a key that answers, wait for the next text, and return the row that was answered."""
    row = row_of(page)
    page.keyboard.press(key)
    page.wait_for_function("(row) => document.getElementById('asked').textContent !== `Row ${row}`", arg=row)
    return row


def saved(output: Path) -> dict[int, Any]:
    return {line["row"]: line["label"] for line in map(json.loads, output.read_text("utf-8").splitlines())}


@pytest.mark.slow
def test_a_round_of_labelling_survives_reload_and_kill(data: Path, tmp_path: Path, visit: Visit) -> None:
    output = tmp_path / "answers.jsonl"
    call = (data, "--classes", ",".join(CLASSES), "-o", output)
    known: dict[int, Any] = {}
    with labelling(*call) as server:
        page = visit(server)
        row = row_of(page)
        assert page.locator("#text").text_content() == f"{TEXTS[row - 1]} {EVIL}"
        assert page.locator("h1").inner_text() == "Label <i>data.jsonl"
        assert page.locator("#classes bdi").all_inner_texts() == CLASSES
        known[press(page, "1")] = "sport"
        known[press(page, "4")] = "<b>bold</b>"
        assert saved(output) == known
        known[press(page, "s")] = None
        assert page.locator("#count").inner_text() == "2 answers, 1 skipped, 77 texts left."
        page.keyboard.press("u")
        page.wait_for_function("() => /Undone/.test(document.getElementById('notice').textContent)")
        assert row_of(page) == list(known)[-1]
        del known[row_of(page)]
        assert saved(output) == known
        shown = row_of(page)
        page.reload()
        assert row_of(page) == shown
        # another class, and keys do nothing while a name is typed
        page.get_by_label("Another class").fill("u1 new")
        page.get_by_label("Another class").press("Enter")
        page.locator("#classes bdi", has_text="u1 new").wait_for()
        assert saved(output) == known
        page.locator("h1").click()
        row = row_of(page)
        page.get_by_role("button", name="u1 new").click()
        page.wait_for_function("(row) => document.getElementById('asked').textContent !== `Row ${row}`", arg=row)
        known[row] = "u1 new"
        # killed; the page sends its answer again until the server is back
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(30)
        row = row_of(page)
        page.keyboard.press("2")
        page.wait_for_function("() => /does not answer/.test(document.getElementById('notice').textContent)")
    with labelling(*call, port=server.port) as server:
        page.wait_for_function("(row) => document.getElementById('asked').textContent !== `Row ${row}`", arg=row)
        known[row] = "politics"
        assert saved(output) == known
        for _ in range(52):
            row = row_of(page)
            known[press(page, str(CLASSES.index(TRUTH[row - 1]) + 1))] = TRUTH[row - 1]
        page.wait_for_function("() => /^macro-F1 after/.test(document.getElementById('score').textContent)")
        page.get_by_role("button", name="Look for likely mistakes").click()
        page.wait_for_function("() => /^(The most|None)/.test(document.getElementById('looked').textContent)")
        page.get_by_text("The same as a table").click()
        for options in SCREENS.values():
            other = visit(server, bypass_csp=True, **options)
            assert row_of(other) != row_of(page)
            check_accessible(other)
            assert other.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert saved(output) == known


@pytest.mark.slow
def test_several_labels_and_many_classes(data: Path, tmp_path: Path, visit: Visit) -> None:
    output = tmp_path / "answers.jsonl"
    classes = [f"class {number}" for number in range(40)]
    with labelling(data, "--classes", ",".join(classes), "--several", "-o", output) as server:
        page = visit(server)
        row = row_of(page)
        page.keyboard.press("1")
        page.keyboard.press("a")
        page.keyboard.press("2")
        page.keyboard.press("2")
        pressed = page.locator("#classes [aria-pressed=true] bdi").all_inner_texts()
        assert pressed == ["class 0", "class 9"]
        page.keyboard.press("/")
        page.keyboard.type("class 39")
        assert page.locator("#classes bdi").all_inner_texts() == ["class 39"]
        page.keyboard.press("Enter")
        assert press(page, "Enter") == row
        assert saved(output) == {row: ["class 0", "class 9", "class 39"]}
        empty = press(page, "Enter")
        assert saved(output)[empty] == []
        page.get_by_label("Keys answer").uncheck()
        page.keyboard.press("s")
        assert page.locator("#count").inner_text().startswith("2 answers, 0 skipped")
        check_accessible(visit(server, bypass_csp=True, **SCREENS["narrow and dark"]))
