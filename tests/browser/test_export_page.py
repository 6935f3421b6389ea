"""The page that ``tfcr export --html`` writes, as a user meets it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.browser.chromium import SCREENS, check_accessible
from tests.browser.conftest import Open
from tests.conftest import plain_classifier, random_corpus, random_vectors
from tfcr import TfcrClassifier, TrainedModel
from tfcr.decision import Decision
from tfcr.errors import CorpusWarning
from tfcr.trained.explanation_html import marked_text
from tfcr.trained.export_html import export_page

TEXT = "W0_1 w0_2, w1_3 <b>common1</b> & 😀 w2_4 neverseen"
MARKS = "(words) => [...words.querySelectorAll('mark')].map((mark) => [mark.className, mark.title, mark.textContent])"


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    corpus = random_corpus()
    trained = plain_classifier(tokenizer="symbols", embeddings=random_vectors(corpus))
    found: TrainedModel = trained.fit(corpus.texts, corpus.labels).model_
    return found


def typed(page: Any, text: str) -> Any:
    page.locator("#text").fill(text)
    return page


def marks(page: Any) -> Any:
    return page.locator("#words").evaluate(MARKS)


def python_marks(page: Any, html: str) -> Any:
    """Return the marks of HTML that Python made, as the browser parses it."""
    return page.evaluate(f"(html) => ({MARKS})(new DOMParser().parseFromString(html, 'text/html'))", html)


def test_text_is_labelled_and_coloured_as_python_does(open_page: Open, model: TrainedModel) -> None:
    page = open_page(export_page(model))
    assert page.locator("#answer").inner_text() == "Type or paste a text"
    for text in (TEXT, "common1", "w1_2 w1_3 w0_1", ""):
        typed(page, text)
        expected = model.explain(text)
        if text:
            assert page.locator("#answer").inner_text() == f"{expected.label} {expected.probability:.1%}"
        assert page.locator("#words").text_content() == text
        assert marks(page) == python_marks(page, marked_text(expected))
    assert page.locator("#unknown").inner_text() == ""


def test_every_key_press_counts(open_page: Open, model: TrainedModel) -> None:
    page = open_page(export_page(model))
    page.locator("#text").press_sequentially("w1_1 w1_2")
    assert page.locator("#answer").inner_text().startswith("class 1 ")
    assert page.locator("#terms th").all_inner_texts()[-2:] == ["(no word)", "score"]


def test_another_class_is_chosen_by_click_key_or_list(open_page: Open, model: TrainedModel) -> None:
    page = typed(open_page(export_page(model)), TEXT)
    explanation = model.explain(TEXT)
    buttons = {name: page.get_by_role("button", name=name) for name in map(str, model.classes)}
    assert buttons[explanation.label].get_attribute("aria-pressed") == "true"
    other = explanation.runner_up
    buttons[other].click()
    assert buttons[other].get_attribute("aria-pressed") == "true"
    assert marks(page) == python_marks(page, marked_text(explanation, other))
    assert page.locator("#head th").all_inner_texts()[1] == other
    buttons[other].press("Enter")  # a second time: back to the predicted class
    assert marks(page) == python_marks(page, marked_text(explanation))
    page.get_by_label("Words for and against").select_option(other)
    assert marks(page) == python_marks(page, marked_text(explanation, other))
    assert page.locator(".chosen").inner_text() == other


HOSTILE = ["</script><script>alert(1)</script>", "<img src=x onerror=alert(2)>", "'\"&amp; \u202eגב"]


def test_markup_is_shown_and_never_run(open_page: Open, model: TrainedModel) -> None:
    labels = np.array(sorted(HOSTILE))
    hostile = replace(model, decision=replace(model.decision, classes=labels))
    page = typed(open_page(export_page(hostile)), " w0_1 ".join(HOSTILE))
    assert page.locator("#words").text_content() == " w0_1 ".join(HOSTILE)
    assert page.locator("#classes button").all_text_contents() == labels.tolist()
    assert page.title().startswith("Text classifier: ")
    assert page.locator("img").count() == 0
    assert page.locator("script:not([type])").count() == 3


def test_words_of_a_model_cannot_end_the_script(open_page: Open) -> None:
    texts = ["</script><script>alert(1)</script> good", "<!-- <script> bad"] * 5
    trained = TfcrClassifier.from_preset("fast", tokenizer="whitespace", parts=("words",), C=1.0)
    found = trained.fit(texts, ["a", "b"] * 5).model_
    page = typed(open_page(export_page(found)), texts[0])
    assert page.locator("#answer").inner_text().startswith("a ")
    assert texts[0].split()[0] in page.locator("#terms th").all_text_contents()


def test_right_to_left_and_emoji(open_page: Open) -> None:
    texts = ["שלום עולם 😀", "مرحبا بالعالم 👩‍👩‍👧", "u\u0308ber 东京"] * 4
    found = TfcrClassifier.from_preset("fast", C=1.0).fit(texts, ["he", "ar", "other"] * 4).model_
    page = open_page(export_page(found))
    for text in texts[:3]:
        typed(page, text)
        assert page.locator("#words").text_content() == text
        assert marks(page) == python_marks(page, marked_text(found.explain(text)))
    typed(page, texts[0])
    assert page.locator("#words").evaluate("(words) => getComputedStyle(words).direction") == "rtl"


def test_unsure_labels_are_called_so(open_page: Open, model: TrainedModel) -> None:
    decision = replace(model.decision, least_probabilities=np.full(3, 0.999))
    page = typed(open_page(export_page(replace(model, decision=decision))), "w0_1 w1_1")
    assert page.locator("#answer").inner_text().endswith("— unsure")
    assert "from a probability of 0.999 on" in page.locator("#how").inner_text()


def test_several_labels_or_none(open_page: Open, model: TrainedModel) -> None:
    for limit, answer in ((-99.0, "class 0, class 1, class 2"), (99.0, "no label; the nearest is class 0")):
        decision = Decision(model.classes, "independent", "lists", np.full(3, limit))
        page = typed(open_page(export_page(replace(model, decision=decision))), "w0_1 w0_2")
        assert page.locator("#answer").inner_text().startswith(answer)
        assert page.locator("#terms th").all_inner_texts()[-1] == "threshold"


def test_many_classes_show_the_likeliest(open_page: Open) -> None:
    corpus = random_corpus(200, n_classes=25)
    found = plain_classifier(embeddings=random_vectors(corpus)).fit(corpus.texts, corpus.labels).model_
    page = typed(open_page(export_page(found)), corpus.texts[17])
    explanation = found.explain(corpus.texts[17])
    assert page.locator("#classes button").all_inner_texts() == explanation.order[:10]
    page.get_by_label("Words for and against").select_option(explanation.order[-1])
    assert page.locator("#head th").all_inner_texts()[1] == explanation.order[-1]


def test_a_class_without_words(open_page: Open) -> None:
    trained = TfcrClassifier.from_preset("fast", parts=("words",), tokenizer="words", C=1.0)
    with pytest.warns(CorpusWarning, match="contain no words"):
        found = trained.fit(["good fine", "bad worse", "..."] * 5, ["a", "b", "empty"] * 5).model_
    page = typed(open_page(export_page(found)), "good worse")
    page.get_by_label("Words for and against").select_option("empty")
    assert page.locator("#words").text_content() == "good worse"
    assert marks(page) == python_marks(page, marked_text(found.explain("good worse"), "empty"))
    assert typed(page, "").locator("#terms th").all_inner_texts() == ["(no word)", "score"]


@pytest.mark.parametrize("screen", SCREENS)
def test_no_serious_accessibility_problem(open_page: Open, model: TrainedModel, screen: str) -> None:
    check_accessible(typed(open_page(export_page(model), bypass_csp=True, **SCREENS[screen]), TEXT))


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_wider_than_the_screen(open_page: Open, model: TrainedModel, screen: str) -> None:
    page = typed(open_page(export_page(model), **SCREENS[screen]), f"{TEXT} {'verylong' * 50}")
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")


def test_dark_mode_is_dark_and_print_is_white(open_page: Open, model: TrainedModel) -> None:
    page = typed(open_page(export_page(model), color_scheme="dark"), TEXT)
    background = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(23, 24, 28)"
    page.emulate_media(media="print")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    assert not page.locator("#text").is_visible()
    assert page.locator("#words").is_visible()
    assert page.locator("#classes button").first.is_visible()  # the names of the classes
    assert page.pdf().startswith(b"%PDF")


def test_the_policy_lets_nothing_in(open_page: Open, model: TrainedModel) -> None:
    html = export_page(model)
    assert "default-src 'none'" in html.replace("&#x27;", "'")
    assert " style=" not in html.split("<body>")[1].split('<script type="application/json"')[0]
    assert "innerHTML" not in html
    assert open_page(html).evaluate("() => performance.getEntriesByType('resource').length") == 0


def test_a_long_text_is_counted_and_its_beginning_shown(open_page: Open, model: TrainedModel) -> None:
    text = "w1_1 w1_2 common3 😀 " * 1_500
    page = typed(open_page(export_page(model)), text)
    page.wait_for_function("() => document.getElementById('answer').textContent.startsWith('class 1 ')")
    shown, units = page.locator("#words").text_content(), len(text.encode("utf-16-le")) // 2
    assert text.startswith(shown)
    first = len(shown.encode("utf-16-le")) // 2
    assert 20_000 <= first <= 20_001
    said = f"The first {first} characters are shown; the other {units - first} are counted."
    assert page.locator("#cut").inner_text() == said
    assert f"{model.explain(text).probability:.1%}" in page.locator("#answer").inner_text()


@pytest.mark.slow
def test_of_10_mb_the_beginning_is_taken(open_page: Open, model: TrainedModel) -> None:
    page = open_page(export_page(model))
    page.locator("#text").focus()
    page.keyboard.insert_text("w1_1 w1_2 common3 x " * 500_000)
    page.wait_for_function("() => document.getElementById('answer').textContent.startsWith('class 1 ')", timeout=60_000)
    assert page.locator("#full").inner_text() == "Longer texts are cut: the first 100000 characters are taken."
    assert len(page.locator("#text").input_value()) == 100_000
