"""The report on a model, and explanations, in a real browser: nothing runs, nothing is loaded, all can be read."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfcr.report.model_page as on_models
from tests.browser.chromium import SCREENS, check_accessible
from tests.browser.conftest import Open
from tests.conftest import random_corpus
from tfcr import TfcrClassifier, TrainedModel
from tfcr.data import Corpus
from tfcr.evaluation import Figures, diagnose, evaluate
from tfcr.pages import page
from tfcr.text.documents import count_terms
from tfcr.trained.explanation_html import explanation_html, notebook_html

NASTY = "<script>alert(1)</script> <img src=x onerror=alert(2)> w0_1"


@pytest.fixture(scope="module")
def report() -> str:
    """The report on a model with texts, markup and a private word among them, and mistakes."""
    corpus = random_corpus(200, n_classes=3)
    labels = [str(label).replace("class 0", "<b>שלום</b>") for label in corpus.labels]
    random = np.random.default_rng(0)
    noisy = [labels[random.integers(200)] if random.random() < 0.2 else label for label in labels]
    texts = [f"{NASTY} jo@example.org {text}" for text in corpus.texts]
    model = (
        TfcrClassifier.from_preset("fast", tokenizer="whitespace", random_state=0).fit(texts[:100], noisy[:100]).model_
    )
    tested = Corpus(texts=texts[100:], labels=noisy[100:], name="new.csv")
    result = evaluate(model, tested, explain=True)
    found = on_models.Tested(
        tested,
        result,
        diagnose(result, count_terms(tested.texts, model.tokenizer)),
        "on new.csv",
        [(50, 0.5), (100, 0.6)],
    )
    return on_models.model_page(model, "tickets <i>", Figures.of(result), found)


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    corpus = random_corpus(150)
    return TfcrClassifier.from_preset("fast", random_state=0).fit(list(corpus.texts), corpus.labels).model_


@pytest.mark.parametrize("options", SCREENS.values(), ids=SCREENS)
def test_a_report_is_accessible(open_page: Open, report: str, options: dict[str, Any]) -> None:
    opened = open_page(report, bypass_csp=True, **options)
    check_accessible(opened)
    assert opened.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_click_on_a_cell_shows_its_texts(open_page: Open, report: str) -> None:
    opened = open_page(report)
    assert opened.title() == "Report on tickets <i>"
    links = opened.locator("td a")
    assert links.count() >= 3
    first = links.first
    target = opened.locator(str(first.get_attribute("href")))
    assert not target.is_visible()
    first.click()
    assert target.is_visible()
    assert "<script>alert(1)</script>" in target.inner_text()
    assert opened.locator("mark.for, mark.against").count() > 2
    words = (
        opened.locator("h2", has_text="The words of each class").locator("xpath=following-sibling::div[1]").inner_text()
    )
    assert "jo@example.org" not in words


def test_a_report_can_be_printed(open_page: Open, report: str, tmp_path: Path) -> None:
    opened = open_page(report)
    opened.emulate_media(media="print")
    assert opened.locator("h1").is_visible()
    assert len(opened.pdf()) > 5000


@pytest.mark.parametrize("options", SCREENS.values(), ids=SCREENS)
def test_an_explanation_is_coloured_and_accessible(
    open_page: Open, model: TrainedModel, options: dict[str, Any]
) -> None:
    text = f"{NASTY} w0_2 w1_1 שלום 😀"
    told = model.explain(text)
    opened = open_page(page("why", f"<h1>Why</h1>{explanation_html(told, level=2)}"), bypass_csp=True, **options)
    assert opened.locator("p.words").inner_text() == text
    shown = opened.locator("p.words mark").all_inner_texts()
    assert set(shown) <= {text[mark.start : mark.end] for mark in told.marks()}
    assert "w0_1" in shown
    background = opened.locator("p.words mark").first.evaluate("node => getComputedStyle(node).backgroundColor")
    assert background not in ("rgba(0, 0, 0, 0)", "transparent")
    check_accessible(opened)


def test_a_notebook_keeps_its_own_style(open_page: Open, model: TrainedModel) -> None:
    told = model.explain("w0_1 w1_1")
    opened = open_page(
        f"<!doctype html><title>nb</title><body style='margin: 7px'><p id=other>other</p>{notebook_html(told)}"
    )
    assert opened.evaluate("getComputedStyle(document.body).marginTop") == "7px"
    assert opened.locator(".tfcr mark").count() >= 1
