"""``tfcr evaluate``."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.cli.runner import COLUMNS, Run, bad_file
from tfcr import PRESETS, TfcrClassifier, TrainedModel
from tfcr.cli.evaluate import _models
from tfcr.cli.options import Training
from tfcr.schemes import SCHEMES


def test_evaluate_by_cross_validation(run: Run, data: Path, vectors_file: Path) -> None:
    result = run("evaluate", data, "-e", vectors_file, "--cv", 3)
    assert result.status == 0
    assert "precision" in result.out
    assert "class 2" in result.out
    assert re.search(
        r"^preset +macro-F1, mean of folds +std +pooled +micro-F1 +accuracy\nbest ", result.out, re.MULTILINE
    )


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
        ["--time", "who"],
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


# pictures ----------------------------------------------------------------------------------------------------------


def test_pictures(run: Run, odd: Path, tmp_path: Path) -> None:
    result = run("evaluate", odd, *COLUMNS, "--preset", "fast", "--cv", 2, "--plot", tmp_path / "new" / "pictures")
    assert result.status == 0, result.err
    names = sorted(path.name for path in (tmp_path / "new" / "pictures").iterdir())
    assert names == ["confusion.png", "decided.png", "reliability.png"]
    assert f"note: drawn: {tmp_path / 'new' / 'pictures' / 'confusion.png'}" in result.err


# the newest part -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["date", "year"])
def test_train_on_the_older_part_and_test_on_the_newest(column: str, run: Run, odd: Path, tmp_path: Path) -> None:
    target = tmp_path / "predictions.csv"
    options = [*COLUMNS, "--preset", "fast", "--time", column]
    result = run("evaluate", odd, *options, "--predictions", target)
    assert result.status == 0, result.err
    dates = {"date": "2024-01-01 to 2024-04-16, tested on 25 from 2024-04-17 to ", "year": "0 to 99, tested on 25 "}
    assert f"note: trained on 100 documents from {dates[column]}" in result.err
    assert "1 classes are in the newest part only, where every document of them is a mistake: rare (3)" in result.err
    assert pl.read_csv(target)["row"].to_list() == list(range(101, 126))
    assert re.search(r"^ +macro-F1 +micro-F1 +accuracy\nfast ", result.out, re.MULTILINE)
    [found] = json.loads(run("evaluate", odd, *options, "--json").out)
    assert found["split"]["older"]["documents"] == 100
    assert found["split"]["new_classes"] == ["rare"]
    assert found["documents"] == 25
    rows = {mistake["row"] for mistake in found["confident_mistakes"]}
    assert {123, 124, 125} <= rows <= set(range(101, 126))
    assert [121, 122] in [group["rows"] for group in found["near_duplicates"]["contradictory"]]
    result = run("evaluate", odd, *options, "--min-class-size", 5)
    assert "1 classes with fewer than 5 documents are left out: rare (3)" in result.err


def test_nothing_of_the_newest_part_is_seen_in_training(
    run: Run, odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    count = TfcrClassifier.count

    def counting(model: TfcrClassifier, texts: list[str]) -> Any:
        counted.append(len(texts))
        return count(model, texts)

    monkeypatch.setattr(TfcrClassifier, "count", counting)
    assert run("evaluate", odd, *COLUMNS, "--preset", "fast", "--time", "year").status == 0
    assert counted == [100]


# bars and bad input --------------------------------------------------------------------------------------------------


def test_a_bar_for_pipelines(run: Run, odd: Path) -> None:
    options = [*COLUMNS, "--preset", "fast", "--cv", 2]
    result = run("evaluate", odd, *options, "--min-macro-f1", 0.1)
    assert (result.status, "below" in result.err) == (0, False)
    result = run("evaluate", odd, *options, "--min-macro-f1", 1)
    assert result.status == 1
    assert re.search(
        r"^tfcr: macro-F1 0\.\d{4} is below 1, which --min-macro-f1 asks for\n\Z", result.err, re.MULTILINE
    )
    assert "95 % intervals" in result.out


BAD: dict[str, tuple[list[str], str]] = {
    "a bar above 1": (["--min-macro-f1", "80"], "found --min-macro-f1=80.0; expected a number from 0 to 1"),
    "a bar below 0": (["--min-macro-f1", "-0.1"], "found --min-macro-f1=-0.1; expected a number from 0 to 1"),
    "no number": (["--min-macro-f1", "nan"], "found --min-macro-f1=nan; expected a number from 0 to 1"),
    "words": (["--min-macro-f1", "good"], "Invalid value for '--min-macro-f1'"),
    "no times": (["--time", "text"], "in the column 'text', row 1; expected numbers such as years"),
    "an unknown column": (["--time", "day"], "unknown column for --time 'day'; known: text, label, date, year"),
    "time and folds": (["--time", "date", "--cv", "5"], "found --cv along with --time date, but it is for cross-"),
    "time and groups": (["--time", "date", "--group", "year"], "found --group along with --time date"),
    "a file to plot to": (["--plot", "FILE"], "which is not a folder; expected one, or a new name"),
    "a folder below a file": (["--plot", "FILE/x"], "cannot be made"),
    "no name": (["--plot", ""], "found --plot '', which is not a folder"),
    "pictures of all": (["--plot", "x", "--scheme", "all"], "found --plot along with several schemes"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_options(kind: str, run: Run, odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("")
    options, message = BAD[kind]
    result = run("evaluate", odd, *COLUMNS, *options)
    assert (result.status, result.out) == (2, "")
    [line] = [line for line in result.err.splitlines() if not line.startswith("note: ")]
    assert line.startswith("tfcr: ")
    assert message in line


def test_a_dataset_has_no_times(run: Run) -> None:
    result = run("evaluate", "pydocs", "--time", "date")
    assert (result.status, result.err) == (
        2,
        "tfcr: found --time date with the dataset 'pydocs', whose documents have no times; expected a file\n",
    )


def test_pictures_without_the_extra(run: Run, odd: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("tfcr.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("evaluate", odd, *COLUMNS, "--plot", tmp_path / "x")
    assert (result.status, result.out) == (2, "")
    assert "needs the extra 'report'; install it with: pip install 'tfcr[report]'" in result.err
    assert not (tmp_path / "x").exists()


def test_training_prints_its_figures(run: Run, data: Path, tmp_path: Path) -> None:
    result = run("train", data, "-o", tmp_path / "m", "--preset", "fast", "--cv", 2, "--json")
    found = json.loads(result.out)["figures"]
    assert found["documents"] == 120
    assert found == TrainedModel.load(tmp_path / "m").measured()
    result = run("train", data, "-o", tmp_path / "n", "--preset", "fast", "--no-cv", "--json")
    assert json.loads(result.out)["figures"] is None
