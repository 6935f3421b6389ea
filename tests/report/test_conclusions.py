"""Sentences that figures are put into."""

import re
from dataclasses import replace

import numpy as np

from tests.report.test_diagrams import random_result
from tfcr.evaluation import Evaluation, Figures
from tfcr.report.conclusions import conclude, confusions, what_more_texts_bring


def figures(labels: list[str], predicted: list[str], sure: float = 0.9) -> Figures:
    classes = np.unique(labels)
    chances = np.full((len(labels), len(classes)), (1 - sure) / (len(classes) - 1))
    chances[np.arange(len(labels)), np.searchsorted(classes, predicted)] = sure
    return Figures.of(
        Evaluation(np.array(labels), np.array(predicted), classes, chances, np.zeros(len(labels), np.int64), (0.5,))
    )


CONFUSING = figures(["hate"] * 40 + ["fine"] * 160, ["hate"] * 20 + ["fine"] * 20 + ["fine"] * 160)


def test_what_is_confused_is_said_with_what_to_do() -> None:
    said = conclude(CONFUSING, n_doubtful=7, with_texts=True)
    assert said.findings[0] == "Of 100 texts, 90 get the right label; always answering “fine” would get 80."
    assert "What it confuses: 50 of 100 texts of “hate” are taken for “fine” (20)." in said.findings
    assert (
        "It is weakest on “hate”: it finds 50 of 100 such texts, and of 100 that it calls so 100 are." in said.findings
    )
    assert said.next_steps[0].startswith("Label more texts of “hate” (40): with fewer than 50")
    assert said.next_steps[1].startswith("Read texts of “hate” that were taken for “fine” (click the number")
    assert "Look again at the 7 texts below for which another label is far likelier" in said.next_steps[2]
    assert "(click" not in " ".join(conclude(CONFUSING).next_steps)


def test_a_good_classifier_has_little_to_do() -> None:
    said = conclude(figures(["a"] * 100 + ["b"] * 100, ["a"] * 100 + ["b"] * 100, sure=0.99))
    assert said.findings[0] == "Of 100 texts, 100 get the right label; always answering “a” would get 50."
    assert "No class is often taken for another." in said.findings
    assert (
        "Over all labels, its probabilities are off by 1.0 points on average: they can be taken at their word."
        in said.findings
    )
    assert said.next_steps == ()


def test_probabilities_that_are_off_are_not_praised() -> None:
    said = conclude(figures(["a"] * 60 + ["b"] * 60, ["a"] * 120, sure=0.99))
    assert any("trust their order more than their size" in line for line in said.findings)


def test_a_label_that_is_less_sure_than_it_says_is_named() -> None:
    labels = ["rare"] * 60 + ["common"] * 3000
    found = figures(labels, ["rare"] * 36 + ["common"] * 24 + ["rare"] * 54 + ["common"] * 2946)
    curve = {"decided": (0.5,), "right": (0.97,), "probabilities": (0.9,)}
    said = conclude(replace(found, calibration_error=0.01, decided=curve))
    [line] = [line for line in said.findings if "off by" in line]
    assert line.startswith(
        "Over all labels, its probabilities are off by 1.0 points on average, but not of every class"
    )
    assert "a label “rare” has a probability of 90% on average, and 40% are right" in line
    [step] = [line for line in said.next_steps if "--precision" in line]
    assert (
        "97 of 100 such labels are right, but 40 of 100 of those “rare”, and 40 of 100 texts of “rare” surely" in step
    )
    [line] = [line for line in said.findings if line.startswith("What it confuses")]
    assert line.startswith("What it confuses: 40 of 100 texts of “rare” are taken for “common” (24); ")
    assert line.endswith("of 100 texts that it calls “rare”, 60 are “common” (54).")


def test_unknown_words_are_named_where_they_are_many() -> None:
    assert not any("did not occur" in line for line in conclude(CONFUSING).next_steps)
    said = conclude(replace(CONFUSING, unknown_words=0.3))
    assert any(line.startswith("30 of 100 words did not occur in training") for line in said.next_steps)


def test_confusions_are_those_of_the_matrix() -> None:
    found = confusions(Figures.of(random_result()))
    result = random_result()
    for one in found:
        count = int(((result.labels == one.label) & (result.predicted == one.predicted)).sum())
        assert (one.documents, one.share) == (count, count / int((result.labels == one.label).sum()))
    assert [one.share for one in found] == sorted((one.share for one in found), reverse=True)
    assert sum(one.documents for one in found) == len(result.mistakes())


def test_a_falling_curve_promises_nothing() -> None:
    assert what_more_texts_bring([(10, 0.5), (100, 0.71), (200, 0.70)]) == (
        "From 100 to 200 training texts macro-F1 fell by 0.010: as many more texts would help little."
    )


def test_macro_f1_is_within_its_interval() -> None:
    [sentence] = [line for line in conclude(CONFUSING).findings if "macro-F1" in line]
    score, low, high = (float(number) for number in re.findall(r"\d\.\d{3}", sentence))
    assert low <= score <= high


def test_a_curve_that_does_not_rise_is_said_to_stay() -> None:
    told = what_more_texts_bring([(100, 0.6), (200, 0.6)])
    assert told == "From 100 to 200 training texts macro-F1 stayed the same: as many more texts would help little."
