"""What ``tfcr evaluate`` prints of a single classifier: what to look at next."""

import json
import re
from pathlib import Path
from typing import Any

from tests.cli.runner import COLUMNS, Run


def test_what_to_look_at_next(run: Run, odd: Path) -> None:
    result = run("evaluate", odd, *COLUMNS, "--preset", "fast", "--cv", 3)
    assert result.status == 0, result.err
    assert re.search(r"^95 % intervals by bootstrap: macro-F1 \(pooled\) 0\.\d+ to ", result.out, re.MULTILINE)
    assert re.search(r"^unknown words: \d+\.\d% ", result.out, re.MULTILINE)
    assert re.search(r"^Classes with fewer than 10 documents.*\n.*\nrare +3 +\d", result.out, re.MULTILINE)
    assert re.search(r"^Confusion matrix.*\n +1 +2 +3 +4\n1 class 0 ", result.out, re.MULTILINE)
    assert re.search(r"^Most confused.*\nlabel +predicted +documents +of the label", result.out, re.MULTILINE)
    mistakes = result.out.split("Most confident mistakes")[1]
    assert re.search(r"^row 4: class 1, predicted class 0 \(\d\.\d+\); to class 0: \w", mistakes, re.MULTILINE)
    assert re.search(r"^row 11: labelled class 2, but class 1 is \d+ times as likely", mistakes, re.MULTILINE)
    assert "rows 121 class 0, 122 class 1\n    a b c d e f g h i\n" in mistakes
    assert re.search(r"texts have a near-duplicate in another fold; macro-F1 of the other texts is \d", mistakes)
    assert "\x1b" not in result.out
    assert all(len(line) <= 120 for line in result.out.splitlines() if line.startswith("    "))


def test_json_holds_everything(run: Run, odd: Path) -> None:
    [found] = json.loads(run("evaluate", odd, *COLUMNS, "--preset", "fast", "--cv", 3, "--json").out)
    assert sum(map(sum, found["confusion"])) == found["documents"] == 125
    assert found["confusion_classes"] == ["class 0", "class 1", "class 2", "rare"]
    assert {"macro_f1_pooled", "micro_f1", "accuracy"} == set(found["intervals"])
    assert found["most_frequent_class"]["label"] == "class 1"
    errors = {error["row"]: error for error in found["likely_label_errors"]}
    assert errors[4]["likelier"] == "class 0"
    assert errors[4]["text"].startswith("w0_")
    mistake = next(mistake for mistake in found["confident_mistakes"] if mistake["row"] == 4)
    assert set(mistake["towards_predicted"][0]) == {"word", "adds"}
    assert found["confused_pairs"][0]["documents"] >= 1
    contradictory = found["near_duplicates"]["contradictory"]
    assert {"rows": [121, 122], "labels": ["class 0", "class 1"]}.items() <= contradictory[-1].items()
    assert len(found["calibration"]["sizes"]) == 15
    assert len(found["folds"]) == 3
    small = next(score for score in found["classes"] if score["label"] == "rare")
    assert small["f1_interval"][0] <= small["f1"] <= small["f1_interval"][1]


def test_every_key_is_documented(run: Run, odd: Path, model: Path, data: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text("utf-8")
    by_time = json.loads(run("evaluate", odd, *COLUMNS, "--preset", "fast", "--time", "year", "--json").out)
    of_model = json.loads(run("evaluate", model, data, "--json").out)

    def keys(value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(keys, value[:3]))
        return set().union(value, *map(keys, value.values())) if isinstance(value, dict) else set()

    assert [key for key in sorted(keys([*by_time, *of_model])) if f"`{key}`" not in page] == []


def test_a_single_text_of_a_model(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("text,label\nw0_1 w0_2,class 1\n")
    result = run("evaluate", model, tmp_path / "one.csv", "--plot", tmp_path / "plots")
    assert result.status == 0, result.err
    assert re.search(r"^row 1: class 1, predicted class 0 \(", result.out, re.MULTILINE)
    assert re.search(r"^class 1 +1 +0\.000 +0\.000 to 0\.\d+", result.out, re.MULTILINE)


def test_a_model_is_diagnosed_too(run: Run, odd: Path, model: Path, tmp_path: Path) -> None:
    some = tmp_path / "some.csv"
    some.write_text("\n".join(odd.read_text().splitlines()[:60]) + "\n")
    [found] = json.loads(run("evaluate", model, some, *COLUMNS, "--json").out)
    mistake = next(mistake for mistake in found["confident_mistakes"] if mistake["row"] == 4)
    assert mistake["towards_predicted"][0]["word"].startswith("w0_")
    assert found["near_duplicates"]["across_folds"] == []


def test_comparing_stays_short(run: Run, data: Path, vectors_file: Path) -> None:
    options = ["-e", vectors_file, "--preset", "paper", "--cv", 2, "--scheme", "tfcr", "--scheme", "none"]
    result = run("evaluate", data, *options)
    assert "Confusion" not in result.out
    assert len(result.out.splitlines()) == 8
    found = json.loads(run("evaluate", data, *options, "--json").out)
    assert [one["name"] for one in found] == ["tfcr", "none"]
    assert "confusion" not in found[0]
