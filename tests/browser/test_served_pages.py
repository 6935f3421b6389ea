"""The pages Try and Documents of ``tfcr serve``, as a user meets them."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import SCREENS, check_accessible
from tests.browser.conftest import Open
from tests.browser.test_export_page import HOSTILE, marks, python_marks
from tests.conftest import plain_classifier, random_corpus, random_vectors
from tests.serving.conftest import serving
from tests.several import several_corpus
from tfcr import TfcrClassifier, TrainedModel
from tfcr.trained.explanation_html import marked_text

TEXT = "W0_1 w0_2, w1_3 <b>common1</b> & 😀 w2_4 neverseen"
WAIT = 20_000
"""Milliseconds that an answer may take on a busy machine."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two models, of one label and of several, and a file of documents."""
    found = tmp_path_factory.mktemp("served")
    corpus = random_corpus()
    trained = plain_classifier(tokenizer="symbols", embeddings=random_vectors(corpus))
    trained.fit(corpus.texts, corpus.labels).save(found / "one")
    texts, labels = several_corpus()
    TfcrClassifier.from_preset("fast", random_state=0).fit(texts, labels).save(found / "several")
    rows: list[tuple[str, str]] = [*zip(corpus.texts, corpus.labels, strict=True)]
    rows[:2] = [("w0_1 w0_2 w0_3 <img src=x onerror=alert(1)>", "class 2"), ("w1_1", "")]
    rows[2:5] = [(f"w0_{number}", HOSTILE[number]) for number in range(3)]
    with (found / "data.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return found


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    options = ("--data", folder / "data.csv", "--text", "text", "--label", "label")
    with serving(folder / "one", folder / "several", *options) as server:
        yield server.address


def typed(page: Any, text: str, answer: str) -> None:
    """Type a text, and wait for its answer."""
    page.locator("#text").fill(text)
    shown = "([answer, text]) => document.getElementById('answer').textContent.startsWith(answer) && "
    shown += "document.getElementById('words').textContent === text"
    page.wait_for_function(shown, arg=[answer, text], timeout=WAIT)


def test_a_text_is_explained_as_it_is_typed(open_served: Open, address: str, folder: Path) -> None:
    model = TrainedModel.load(folder / "one")
    page = open_served(address, "/try")
    page.wait_for_function("() => document.querySelectorAll('#classes button').length === 3", timeout=WAIT)
    page.locator("#text").press_sequentially("w1_1 w1_2")
    page.wait_for_function("() => document.getElementById('answer').textContent.startsWith('class 1 ')", timeout=WAIT)
    explanation = model.explain(TEXT)
    typed(page, TEXT, f"{explanation.label} {explanation.probability:.1%}")
    assert marks(page) == python_marks(page, marked_text(explanation))
    # another class, by click and by list
    other = explanation.runner_up
    page.get_by_role("button", name=other).click()
    page.wait_for_function(
        "(other) => document.querySelector('.chosen').textContent === other", arg=other, timeout=WAIT
    )
    assert marks(page) == python_marks(page, marked_text(explanation, other))
    page.get_by_label("Words for and against").select_option("the predicted class")
    page.wait_for_function("(x) => document.querySelector('.chosen').textContent === x", arg=explanation.label)
    # a word by click, and one by keyboard
    page.locator("#words mark").first.click()
    page.wait_for_function("() => document.querySelectorAll('#weights tr').length === 3", timeout=WAIT)
    assert page.locator("#weight-head th").all_inner_texts()[:6] == [
        *("class", "adds", "occurrences", "documents", "tfcr", "tfidf"),
    ]
    page.locator("#word").fill("neverseen")
    page.locator("#word").press("Enter")
    page.wait_for_function(
        "() => document.getElementById('said').textContent.includes('no class counts')", timeout=WAIT
    )
    # markup is shown, half of a surrogate pair is no trouble
    text = " w0_1 ".join(HOSTILE)
    typed(page, text, model.explain(text).label)
    page.evaluate("() => { const text = document.getElementById('text'); text.value = 'w2_1 w2_2 \\ud83d'; }")
    page.locator("#text").dispatch_event("input")
    page.wait_for_function("() => document.getElementById('answer').textContent.startsWith('class 2 ')", timeout=WAIT)
    # the other model, with several labels
    page.get_by_label("Model").select_option("several")
    several = TrainedModel.load(folder / "several")
    text = several_corpus()[0][0]
    expected = several.explain(text)
    typed(page, text, ", ".join(expected.label) or "no label")
    assert "threshold" in page.locator("#terms").inner_text()
    assert "above its threshold" in page.locator("#how").inner_text()


def test_late_answers_are_dropped_and_trouble_is_told(open_served: Open, address: str) -> None:
    page = open_served(address, "/try")
    typed(page, "w1_1", "class 1 ")
    page.context.set_offline(True)
    page.locator("#text").fill("w2_1 w2_2")
    page.wait_for_function("() => document.getElementById('trouble').textContent.includes('cannot be reached')")
    page.locator("#text").fill("w0_1 w0_2 w0_3")  # newer than what is still being asked for
    page.context.set_offline(False)
    page.wait_for_function("() => document.getElementById('answer').textContent.startsWith('class 0 ')", timeout=WAIT)
    assert page.locator("#trouble").inner_text() == ""
    assert page.locator("#words").inner_text() == "w0_1 w0_2 w0_3"
    failed = [problem for problem in page.problems if "ERR_INTERNET_DISCONNECTED" in problem]
    assert failed == page.problems
    page.problems.clear()
    # an answer that comes after another class was chosen is not shown as that class's
    page.get_by_role("button", name="class 1").click()
    page.get_by_role("button", name="class 2").click()
    page.wait_for_function("() => document.querySelector('.chosen').textContent === 'class 2'", timeout=WAIT)
    page.wait_for_timeout(300)
    assert page.locator(".chosen").inner_text() == "class 2"


def test_documents_are_listed_and_explained(open_served: Open, address: str, folder: Path) -> None:
    page = open_served(address, "/documents")
    page.wait_for_function("() => document.querySelectorAll('#list tr').length === 50", timeout=WAIT)
    names = page.locator("#class-rows th").all_inner_texts()
    assert names[:3] == ["class 0", "class 1", "class 2"]
    assert sorted(page.locator("#class-rows th").all_text_contents()[3:]) == sorted(HOSTILE)
    # pages
    page.get_by_role("button", name="Next page").click()
    page.wait_for_function("() => document.getElementById('page').textContent.startsWith('page 2 of')", timeout=WAIT)
    # a class, what it is confused with, and its documents
    page.get_by_role("button", name="class 2", exact=True).click()
    page.wait_for_function("() => document.getElementById('one-title').textContent === 'class 2'", timeout=WAIT)
    assert page.evaluate("() => document.activeElement.id") == "one-title"
    page.locator("#confused").get_by_text("class 2 → class 0").click()
    page.wait_for_function(
        "() => document.getElementById('count').textContent.includes('called class 0')", timeout=WAIT
    )
    page.get_by_role("button", name="explain row 1", exact=True).press("Enter")
    page.wait_for_selector("#list mark.for", timeout=WAIT)
    model = TrainedModel.load(folder / "one")
    expected = model.explain("w0_1 w0_2 w0_3 <img src=x onerror=alert(1)>")
    assert f"{expected.label} {expected.probability:.1%}" in page.locator("#list").inner_text()
    assert page.locator("#list .words").text_content() == expected.text
    assert page.locator("img").count() == 0
    # what is shown is in the address: after a reload it is the same
    count = page.locator("#count").inner_text()
    page.reload()
    page.wait_for_function("(count) => document.getElementById('count').textContent === count", arg=count, timeout=WAIT)
    # in Try, and documents without a label
    page.get_by_role("button", name="explain row 1", exact=True).click()
    page.get_by_role("link", name="Open it in Try").click()
    page.wait_for_function("() => document.getElementById('answer').textContent.startsWith('class 0 ')", timeout=WAIT)
    assert page.locator("#text").input_value() == expected.text
    page.goto(f"{address}/documents")
    page.get_by_role("button", name="1 without a label").click()
    page.wait_for_function(
        "() => document.getElementById('count').textContent.includes('without a label')", timeout=WAIT
    )
    assert page.locator("#list tr").count() == 1


@pytest.mark.parametrize("path", ["/try", "/documents"])
def test_pages_are_accessible_on_any_screen(open_served: Open, address: str, path: str) -> None:
    for screen in SCREENS.values():
        page = open_served(address, path, bypass_csp=True, **screen)
        if path == "/try":
            typed(page, f"{TEXT} {'verylong' * 50}", "class")
            page.locator("#words mark").first.click()
            page.wait_for_selector("#weights tr", timeout=WAIT)
        else:
            page.wait_for_selector("#list tr", timeout=WAIT)
            page.get_by_role("button", name="class 2", exact=True).click()
            page.wait_for_selector("#one:not([hidden])", timeout=WAIT)
            page.locator("#list button").first.click()
            page.wait_for_selector("#list .words", timeout=WAIT)
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        check_accessible(page)
        page.context.close()
