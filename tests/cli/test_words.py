"""``tfcr words``."""

import json
from pathlib import Path

import pytest

from tests.cli.runner import Run
from tfcr import SCHEMES, load
from tfcr.report.drawing import PICTURE_FORMATS


def test_words_of_data_and_of_a_model(run: Run, data: Path, model: Path) -> None:
    parsed = json.loads(run("words", data, "--scheme", "tfcr", "--top", 3, "--json").out)
    assert all(entry["word"].startswith(f"w{label[-1]}_") for label, entries in parsed.items() for entry in entries[:1])
    assert "class 0" in run("words", model, "--top", 2).out
    assert "all" in run("words", data, "--scheme", "tfidf").out


def test_words_checks_its_options_before_the_data_is_read(run: Run) -> None:
    assert "unknown scheme 'tf-cr'" in run("words", "no-such-data.csv", "--scheme", "tf-cr").err
    assert "unknown tokenizer 'x'" in run("words", "no-such-data.csv", "--tokenizer", "x").err


def test_a_model_shows_its_own_words(run: Run, model: Path, data: Path) -> None:
    for option in (["--tokenizer", "words"], ["--label", "label"]):
        result = run("words", model, *option)
        assert (result.status, f"found {option[0]} along with the model" in result.err) == (2, True)
    result = run("words", model, data)
    assert (result.status, "expected a model alone, or data alone" in result.err) == (2, True)


def test_schemes_side_by_side(run: Run, data: Path, model: Path) -> None:
    result = run("words", data, "--scheme", "tfcr", "--scheme", "kld", "--top", 3)
    assert result.out.count("rank") == 3
    assert "tfcr" in result.out
    assert "kld" in result.out
    both = json.loads(run("words", data, "--scheme", "tfcr", "--scheme", "kld", "--top", 3, "--json").out)
    alone = json.loads(run("words", data, "--scheme", "kld", "--top", 3, "--json").out)
    assert both["kld"] == alone
    of_model = json.loads(run("words", model, "--scheme", "kld", "--top", 3, "--json").out)
    assert of_model == alone
    every = json.loads(run("words", data, "--scheme", "all", "--top", 1, "--json").out)
    assert list(every) == list(SCHEMES)


def test_words_that_two_classes_fight_over(run: Run, data: Path, model: Path) -> None:
    found = json.loads(run("words", data, "--scheme", "tfidf-class", "--contested", "--top", 5, "--json").out)
    assert len(found) == 5
    assert all(entry["values"][0] >= entry["values"][1] > 0 for entry in found)
    assert all(entry["labels"][0] != entry["labels"][1] for entry in found)
    seconds = [entry["values"][1] for entry in found]
    assert seconds == sorted(seconds, reverse=True)
    result = run("words", model, "--contested")
    assert "speaks for" in result.out
    assert "no word speaks for two classes" in run("words", data, "--scheme", "tfidf", "--contested").err


@pytest.mark.parametrize("kind", PICTURE_FORMATS)
def test_words_as_a_picture(run: Run, model: Path, kind: str, tmp_path: Path) -> None:
    result = run("words", model, "--top", 5, "--plot", tmp_path / f"words.{kind}")
    assert result.status == 0
    assert "class 0" in result.out
    assert (tmp_path / f"words.{kind}").stat().st_size > 1000


def test_bad_calls(run: Run, model: Path, tmp_path: Path) -> None:
    calls: list[tuple[list[object], str]] = [
        (["--contested", "--scheme", "tfcr", "--scheme", "kld"], "found --contested along with several schemes"),
        (["--plot", "words.txt"], "expected a file that ends in one of .png, .svg, .pdf"),
        (["--plot", tmp_path / "no" / "words.png"], "does not exist; make it first"),
    ]
    for options, message in calls:
        result = run("words", model, *options)
        assert (result.status, message in result.err) == (2, True)
    load(model).save(tmp_path / "small", counts=False)
    result = run("words", tmp_path / "small", "--scheme", "tfcr")
    assert (result.status, "was saved without its counts; give the training data" in result.err) == (2, True)
