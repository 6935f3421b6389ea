"""Explanations: contributions that add up, and where terms stand in the text."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import plain_classifier, random_corpus, random_vectors
from tests.several import several_corpus
from tfcr import TfcrClassifier, load
from tfcr.data import Corpus
from tfcr.decision import RULES
from tfcr.errors import InputError
from tfcr.features.blocks import BLOCKS
from tfcr.text.terms import find_terms
from tfcr.trained import explain


@pytest.mark.parametrize("parts", [["words", "vectors"], ["bigrams"], ["words", "bigrams", "vectors"]])
@pytest.mark.parametrize("blocks", BLOCKS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_of_all_parts_add_up_to_the_score(
    n_classes: int, blocks: str, parts: list[str], tmp_path: Path
) -> None:
    corpus = random_corpus(150, n_classes=n_classes)
    texts = list(corpus.texts)
    model = plain_classifier(parts=parts, embeddings=random_vectors(corpus, 5), blocks=blocks, C=None)
    model.fit(texts, corpus.labels)
    for text in [*texts[:5], texts[0] * 3, "", "never seen"]:
        told = model.explain(text)
        added = told.baseline + sum((word.contributions for word in told.words), np.zeros(n_classes))
        np.testing.assert_allclose(added, told.scores, atol=1e-4)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.decision_function(texts), model.decision_function(texts))
    assert again.part_weights_ == model.part_weights_


def test_explanations_of_chinese_show_characters_and_bigrams_where_they_stand() -> None:
    texts = ["港股缩量回调2D", "港股大涨", "倚天屠龙记2D", "屠龙记概览"] * 3
    model = TfcrClassifier.from_preset("best", parts=["words", "bigrams"], embeddings=None)
    text = "ＮＥＷＳ：港股か\u3099缩量2D"  # composing moves what follows
    found = model.fit(texts, ["stocks", "stocks", "game", "game"] * 3).explain(text)
    spans = {word.word: [text[start:end] for start, end in word.spans] for word in found.words}
    assert spans == {
        word: [word.replace(" ", "").replace("d", "D")] for word in ("港", "股", "缩", "量", "2d", "港 股", "缩 量")
    }
    assert found.unknown == ("ｎｅｗｓ", "：", "が")


def explained() -> TfcrClassifier:
    corpus = random_corpus(150)
    model = plain_classifier(parts=["words", "bigrams", "vectors"], embeddings=random_vectors(corpus, 5), C=None)
    return model.fit(list(corpus.texts), corpus.labels)


MODEL = explained()


@given(st.lists(st.sampled_from(["w0_1", "w0_2", "w1_1", "W0_1", "new", "!", "é", "😀", "نص"]), max_size=12))
@settings(max_examples=60, deadline=None)
def test_marks_cover_words_and_add_up_to_all_contributions(words: list[str]) -> None:
    text = "  ".join(words)
    told = MODEL.explain(text)
    for label in told.classes.tolist():
        marks = told.marks(label)
        assert sum(mark.added for mark in marks) == pytest.approx(sum(told.contributions(label).values()), abs=1e-9)
        assert all(text[mark.start : mark.end].strip() == text[mark.start : mark.end] != "" for mark in marks)
        assert all(one.end <= two.start for one, two in pairwise(marks))
        assert not any(" " in text[mark.start : mark.end] for mark in marks)  # bigrams stand on their words


def test_the_runner_up_and_what_made_the_difference() -> None:
    told = MODEL.explain("w0_1 w0_2 w1_1")
    label, other = told.order[:2]
    assert (told.label, told.runner_up) == (label, other)
    numbers = [told.classes.tolist().index(name) for name in (label, other)]
    base = told.baseline[numbers[0]] - told.baseline[numbers[1]]
    total = base + sum(told.difference().values())
    assert total == pytest.approx(told.scores[numbers[0]] - told.scores[numbers[1]], abs=1e-6)
    assert list(told.difference().values()) == sorted(told.difference().values(), reverse=True)
    assert told.probability == pytest.approx(float(told.probabilities.max()))


def test_a_text_without_a_word_is_explained_beside_it() -> None:
    told = MODEL.explain("w0_1, W0_1 and w1_1", without="W0_1")
    assert told.without is not None
    assert told.without.count == 2
    assert told.without.explanation.scores == pytest.approx(MODEL.explain(",  and w1_1").scores)
    with pytest.raises(InputError, match="found no 'w2_1' in the text"):
        MODEL.explain("w0_1", without="w2_1")
    with pytest.raises(InputError, match="found no '' in the text"):
        MODEL.explain("w0_1", without="")


def test_a_table_of_terms() -> None:
    told = MODEL.explain("w0_1 w0_2 new")
    frame = told.to_frame()
    assert frame.columns == ["term", "count", "unseen", "spans", "class 0", "class 1", "class 2"]
    assert frame["term"].to_list() == [word.word for word in told.words]
    assert frame["class 1"].sum() == pytest.approx(sum(told.contributions("class 1").values()))
    assert MODEL.explain("").to_frame().height == 0


def test_the_label_is_the_one_that_predict_picks_under_every_rule() -> None:
    corpus = random_corpus(150)
    for parameters in ({"decision": "probability"}, {"costs": {("class 0", "class 1"): 20.0}}, {"class_weight": None}):
        model = TfcrClassifier.from_preset("fast", random_state=0, **parameters).fit(list(corpus.texts), corpus.labels)
        for text in ["w0_1", "w1_1 w0_1", "w2_1 w1_1", "", "zzz"]:
            told = model.explain(text)
            assert told.label == told.order[0] == model.predict([text])[0]
            assert told.probabilities == pytest.approx(model.predict_proba([text])[0])
            assert str(told).startswith(f"{told.label}  ")


def test_how_it_was_decided_is_told_in_words() -> None:
    corpus = random_corpus(150)
    model = TfcrClassifier.from_preset("fast", random_state=0, precision=0.5).fit(list(corpus.texts), corpus.labels)
    lines = model.explain("w0_1 w0_2").how()
    assert lines[0].startswith("probability of class 0: ")
    assert "calibrated: " in lines[0]
    assert lines[1].startswith("picked: the largest score; the runner-up is class ")
    assert lines[2] == "class 0 is always decided: sure"
    for least, told in ((2.0, "never decided: unsure"), (0.3, "decided from a probability of 0.300 on: sure")):
        decision = replace(model.model_.decision, least_probabilities=np.full(3, least))
        trained = replace(model.model_, decision=decision)
        assert trained.explain("w0_1 w0_2").how()[2] == f"class 0 is {told}"


def test_notebooks_show_markup_as_text() -> None:
    shown = MODEL.explain("<b>w0_1</b> & w1_1")._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>w0_1" not in shown
    assert '<mark class="' in shown
    assert shown.startswith("<style>")


def test_two_classes_are_explained_by_both_signs() -> None:
    corpus = random_corpus(150, n_classes=2)
    model = TfcrClassifier.from_preset("fast", random_state=0).fit(list(corpus.texts), corpus.labels)
    told = model.explain("w0_1 w0_2")
    assert told.scores[0] == -told.scores[1]
    assert told.label == model.predict(["w0_1 w0_2"])[0]
    assert told.sure


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_probability_follows_from_the_scores_as_the_explanation_and_the_card_tell(
    n_classes: int, tmp_path: Path
) -> None:
    corpus = random_corpus(150, n_classes=n_classes)
    model = TfcrClassifier.from_preset("fast", embeddings=None, random_state=0).fit(corpus.texts, corpus.labels)
    found = model.explain(corpus.texts[0])
    scale = float(found.how()[0].split("calibrated: the softmax of ")[1].split(" ")[0])
    offsets = model.model_.decision.calibration.offsets  # type: ignore[union-attr]
    logits = scale * found.scores + offsets
    log_odds = np.log(found.probabilities) - np.log(found.probabilities[0])
    np.testing.assert_allclose(logits - logits[0], log_odds, rtol=5e-3, atol=5e-3)
    model.save(tmp_path / "model")
    assert f": {scale:.3f} times the score" in (tmp_path / "model" / "README.md").read_text("utf-8")


def test_thresholds_are_those_that_labels_are_assigned_by(tmp_path: Path) -> None:
    texts, labels = several_corpus()
    for decision in RULES:
        model = TfcrClassifier.from_preset("fast", embeddings=None, decision=decision, random_state=0)
        model.fit(texts, labels)
        for text in texts[:40]:
            found = model.explain(text)
            assert found.thresholds is not None
            assert found.classes[found.scores > found.thresholds].tolist() == found.label
            assert '<th scope="row">threshold</th>' in found._repr_html_()
    assert f"no label; the nearest is {model.explain('').nearest}" in model.explain("")._repr_html_()
    model.save(tmp_path / "model")
    assert "those with a probability above one half" in (tmp_path / "model" / "README.md").read_text("utf-8")


def test_what_notebooks_show_styles_nothing_else(corpus: Corpus) -> None:
    model = TfcrClassifier.from_preset("fast", embeddings=None, parts=("words",)).fit(corpus.texts, corpus.labels)
    shown = model.explain(corpus.texts[0])._repr_html_()
    style = shown.partition("<style>")[2].partition("</style>")[0]
    rules = re.sub(r"@media[^{]*|/\*.*?\*/", "", style, flags=re.DOTALL)
    selectors = [part.strip() for rule in re.findall(r"([^{}]+)\{", rules) for part in rule.split(",")]
    assert [selector for selector in selectors if selector and ".tfcr" not in selector] == []


def test_long_texts_are_explained_one_by_one(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    model = TfcrClassifier.from_preset("fast", embeddings=None, parts=("words",)).fit(corpus.texts, corpus.labels)
    texts = [*corpus.texts[:9], "", corpus.texts[9] * 5]
    expected = model.model_.strongest_terms(texts, 2)
    held: list[list[str]] = []
    found = find_terms

    def remembered(some: list[str], *more: Any, **given: Any) -> Any:
        held.append(some)
        return found(some, *more, **given)

    monkeypatch.setattr(explain, "find_terms", remembered)
    monkeypatch.setattr(explain, "AT_ONCE", 3 * 100)
    assert model.model_.strongest_terms(texts, 2) == expected
    assert [text for some in held for text in some] == texts
    assert all(len(some) == 1 or sum(map(len, some)) <= 100 for some in held)


def test_words_of_a_class_speak_for_it() -> None:
    corpus = random_corpus(90)
    texts = [text if label != "class 0" else "zero" for text, label in zip(corpus.texts, corpus.labels, strict=True)]
    model = TfcrClassifier.from_preset("fast", random_state=0).fit(texts, corpus.labels)
    found = model.top_words(50)
    assert all(value > 0 for words in found.values() for _, value in words)
    assert found["class 0"][0][0] == "zero"
    assert len(found["class 0"]) < 50
