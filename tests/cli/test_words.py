"""``tfcr words``."""

import json
from pathlib import Path

from tests.cli.runner import Run


def test_words_of_data_and_of_a_model(run: Run, data: Path, model: Path) -> None:
    parsed = json.loads(run("words", data, "--scheme", "tfcr", "--top", 3, "--json").out)
    assert all(entry["word"].startswith(f"w{label[-1]}_") for label, entries in parsed.items() for entry in entries[:1])
    assert "class 0" in run("words", model, "--top", 2).out
    assert "all" in run("words", data, "--scheme", "tfidf").out


def test_words_checks_its_options_before_the_data_is_read(run: Run) -> None:
    assert "unknown scheme 'tf-cr'" in run("words", "no-such-data.csv", "--scheme", "tf-cr").err
    assert "unknown tokenizer 'x'" in run("words", "no-such-data.csv", "--tokenizer", "x").err


def test_a_model_shows_its_own_words(run: Run, model: Path, data: Path) -> None:
    for option in (["--scheme", "tfcr-log"], ["--tokenizer", "words"], ["--label", "label"]):
        result = run("words", model, *option)
        assert (result.status, f"found {option[0]} along with the model" in result.err) == (2, True)
    result = run("words", model, data)
    assert (result.status, "expected a model alone, or data alone" in result.err) == (2, True)
