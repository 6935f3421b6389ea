"""``tfcr evaluate``."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.runner import Run, bad_file
from tfcr import PRESETS
from tfcr.cli.evaluate import _models
from tfcr.cli.options import Training
from tfcr.schemes import SCHEMES


def test_evaluate_by_cross_validation(run: Run, data: Path, vectors_file: Path) -> None:
    result = run("evaluate", data, "-e", vectors_file, "--cv", 3)
    assert result.status == 0
    assert "precision" in result.out
    assert "class 2" in result.out
    assert re.search(r"^preset +macro-F1, mean of folds +std +pooled +accuracy\nbest ", result.out, re.MULTILINE)


def test_evaluate_as_json(run: Run, data: Path, vectors_file: Path) -> None:
    parsed = json.loads(run("evaluate", data, "-e", vectors_file, "--preset", "paper", "--cv", 3, "--json").out)
    assert parsed[0]["macro_f1"] > 0.7
    assert len(parsed[0]["folds"]) == 3
    assert parsed[0]["std"] == pytest.approx(np.std(parsed[0]["folds"]))
    assert parsed[0]["classes"][0]["documents"] == 40


def test_evaluate_compares_schemes_and_writes_predictions(
    run: Run, data: Path, vectors_file: Path, tmp_path: Path
) -> None:
    target = tmp_path / "predictions.csv"
    options = ["-e", vectors_file, "--preset", "paper", "--cv", 2]
    result = run("evaluate", data, *options, "--scheme", "all", "--predictions", target)
    assert all(name in result.out for name in SCHEMES)
    frame = pl.read_csv(target)
    assert frame.columns == ["row", "scheme", "fold", "label", "predicted", "probability"]
    assert frame.height == 120 * len(SCHEMES)
    assert frame.filter(pl.col("scheme") == "tfcr")["row"].to_list() == list(range(1, 121))


def test_evaluate_compares_schemes_within_the_preset() -> None:
    models = _models(Training(), ["kld", "tfcr"], "data.csv")
    assert {name: model.scheme for name, model in models.items()} == {"kld": "kld", "tfcr": "tfcr"}
    assert {model.parts for model in models.values()} == {PRESETS["best"]["parts"]}
    assert list(_models(Training(preset="fast"), [], "data.csv")) == ["fast"]


def test_evaluate_keeps_groups_together(run: Run, data: Path, vectors_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "predictions.csv"
    options = ["-e", vectors_file, "--preset", "paper", "--group", "who"]
    run("evaluate", data, *options, "--cv", 3, "--predictions", target)
    groups = pl.read_csv(data)["who"]
    folds = pl.read_csv(target).with_columns(groups).group_by("who").agg(pl.col("fold").n_unique())
    assert folds["fold"].to_list() == [1] * 9
    result = run("evaluate", data, *options, "--cv", 10)
    assert (result.status, "found 9 groups for 10 folds" in result.err) == (2, True)


def test_evaluate_a_model(run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data)
    assert "macro-F1" in result.out
    assert json.loads(run("evaluate", model, data, "--json").out)[0]["accuracy"] > 0.9
    moved = data.with_name("moved.csv")
    moved.write_text(data.read_text().replace("text,label,who", "text,other,body"))
    result = run("evaluate", model, moved, "--label", "other")
    assert "text: text, label: other" in result.err
    result = run("evaluate", model)
    assert (result.status, "and no data" in result.err) == (2, True)


@pytest.mark.parametrize(
    "option",
    [
        ["--scheme", "tfcr"],
        ["--head", "svm"],
        ["--seed", 0],
        ["--min-count", 1],
        ["-C", 1],
        ["--cv", 10],
        ["--min-class-size", 0],
        ["--group", "who"],
    ],
)
def test_a_model_is_evaluated_as_it_is(option: list[object], run: Run, model: Path, data: Path) -> None:
    result = run("evaluate", model, data, *option)
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        f"tfcr: found {option[0]} along with the model {model}, which is trained already; leave it out\n"
    )


def test_what_is_odd_is_reported_and_the_work_goes_on(run: Run, tmp_path: Path) -> None:
    rows = [("good film 💚", 1), ("bad film \x07", 2)] * 6
    lines = [f"{text},{label}" for text, label in rows]
    lines += [",1", "no label,", "u\u0308ber good,1", "über bad,2", "one of a kind,3"]
    path = tmp_path / "odd.csv"
    path.write_text("text,label\n" + "\n".join(lines) + "\n", "utf-8")
    result = run("evaluate", path, "--cv", 9, "--dimensions", 4)
    assert result.status == 0, result.err
    for message in (
        "1 of 17 rows have no text and are left out (row 13)",
        "1 of 17 rows have no label and are left out (row 14)",
        "10 rows repeat the text and label of another",
        "the labels are numbers (1, 2, 3); each number is a class",
        "1 classes with fewer than 2 documents are left out: 3 (1)",
        "the class 1 has 7 documents: 7 folds instead of 9",
        "word2vec is trained once on the texts of all folds, without their labels",
    ):
        assert f"note: {message}" in result.err, message


def test_small_classes_can_be_left_out(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("text,label\n" + "good a,x\nbad b,y\n" * 5 + "rare c,z\n" * 3)
    result = run("evaluate", path, "--cv", 5, "--min-class-size", 5, "--dimensions", 4)
    assert result.status == 0
    assert "1 classes with fewer than 5 documents are left out: z (3)" in result.err


def test_low_coverage_is_reported(run: Run, data: Path, tmp_path: Path) -> None:
    few = bad_file(tmp_path, "few.txt", b"common1 1 2\nw0_1 3 4\n")
    result = run("evaluate", data, "-e", few, "--cv", 2)
    assert result.status == 0
    assert re.search("^warning: .* of the tokens", result.err, re.MULTILINE)


# texts that the model was trained on, and spellings of its labels ----------------------------------------------------


def test_a_model_scored_on_its_training_texts_is_noticed(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    lines = run("evaluate", model, data).err.splitlines()
    assert any(
        line.startswith("warning: the model was trained on all 120 of these texts; its score is no news")
        for line in lines
    )
    header, *rows = data.read_text().splitlines()
    some = tmp_path / "some.csv"
    fresh = [f"w0_1 w1_2 fresh{number},class 0,g" for number in range(97)]
    some.write_text("\n".join([header, *reversed(rows[:3]), *fresh]) + "\n")
    result = run("evaluate", model, some, "--json")
    assert "warning: the model was trained on 3 of these 100 texts (3.0%), which flatter its score" in result.err
    assert json.loads(result.out)[0]["seen_in_training"] == 3
    some.write_text("\n".join([header, *fresh]) + "\n")
    assert "warning" not in run("evaluate", model, some).err


def test_the_hashes_can_be_left_out(run: Run, data: Path, tmp_path: Path) -> None:
    options = ["--preset", "fast", "--no-cv", "--no-text-hashes"]
    assert run("train", data, "-o", tmp_path / "m", *options).status == 0
    assert not list((tmp_path / "m").glob("seen-*"))
    result = run("evaluate", tmp_path / "m", data, "--json")
    assert (result.status, "warning" in result.err, "seen_in_training" in result.out) == (0, False, False)


def test_spellings_of_a_models_classes(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    shouted = tmp_path / "shouted.csv"
    shouted.write_text(data.read_text().replace(",class ", ",CLASS "))
    result = run("evaluate", model, shouted)
    assert (result.status, "--merge-labels takes other spellings for the same" in result.err) == (2, True)
    result = run("evaluate", model, shouted, "--merge-labels", "--json")
    assert json.loads(result.out)[0]["accuracy"] > 0.9
    (tmp_path / "map.csv").write_text("CLASS 0,class 0\nCLASS 1,class 1\nCLASS 2,\n")
    result = run("evaluate", model, shouted, "--label-map", tmp_path / "map.csv")
    assert result.status == 0
    assert "40 rows are left out, as the map says" in result.err
