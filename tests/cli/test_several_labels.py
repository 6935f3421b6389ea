"""Every command, with several labels per document."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.cli.runner import Run
from tests.several import several_corpus


@pytest.fixture(scope="module")
def csv_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("several") / "data.csv"
    texts, labels = several_corpus()
    rows = [f"{text},{';'.join(own)}" for text, own in zip(texts, labels, strict=True)]
    path.write_text("text,label\n" + "\n".join(rows) + "\n", "utf-8")
    return path


@pytest.fixture(scope="module")
def json_file(csv_file: Path) -> Path:
    path = csv_file.with_suffix(".jsonl")
    texts, labels = several_corpus()
    rows = [json.dumps({"text": text, "labels": own}) for text, own in zip(texts, labels, strict=True)]
    path.write_text("\n".join(rows) + "\n", "utf-8")
    return path


@pytest.fixture
def several_model(run: Run, csv_file: Path) -> Path:
    path = csv_file.with_name("model")
    if not path.exists():
        options = ["--label-separator", ";", "--preset", "fast", "--cv", 3]
        result = run("train", csv_file, *options, "-o", path)
        assert result.status == 0
        assert "micro-F1: " in result.out
    return path


def test_evaluate_by_cross_validation(run: Run, json_file: Path, tmp_path: Path) -> None:
    target = tmp_path / "predictions.csv"
    result = run("evaluate", json_file, "--preset", "fast", "--cv", 3, "--predictions", target)
    assert result.status == 0
    assert "micro-F1" in result.out
    frame = pl.read_csv(target)
    assert frame.columns == ["row", "scheme", "fold", "label", "predicted", "probability"]
    assert "fruit;pet" in frame["label"].to_list() + frame["predicted"].to_list()
    lists = run("evaluate", json_file, "--preset", "fast", "--cv", 3, "--predictions", target.with_suffix(".jsonl"))
    assert lists.status == 0
    assert isinstance(json.loads(target.with_suffix(".jsonl").read_text().splitlines()[0])["predicted"], list)


def test_what_has_no_meaning_is_left_out(run: Run, tmp_path: Path) -> None:
    texts, labels = several_corpus()
    labels[-2:] = [["new"], ["new", "pet"]]
    texts[-1] = texts[-2]
    rows = [
        json.dumps({"text": text, "labels": own, "year": number})
        for number, (text, own) in enumerate(zip(texts, labels, strict=True))
    ]
    (tmp_path / "data.jsonl").write_text("\n".join(rows) + "\n", "utf-8")
    options = ["--text", "text", "--label", "labels", "--preset", "fast", "--time", "year"]
    shown = run("evaluate", tmp_path / "data.jsonl", *options, "--plot", tmp_path / "plots")
    assert shown.status == 0, shown.err
    assert "Confus" not in shown.out
    assert "mistakes" not in shown.out
    assert "rows 149 new, 150 new + pet\n" in shown.out
    assert "1 classes are in the newest part only, where every document of them is a mistake: new (2)" in shown.err
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["reliability.png"]
    [found] = json.loads(run("evaluate", tmp_path / "data.jsonl", *options, "--json").out)
    assert (found["documents"], found["confusion"], found["hardest"]) == (30, [], [])
    assert "confused_pairs" not in found
    assert {score["label"]: score["recall"] for score in found["classes"]}["new"] == 0
    assert found["near_duplicates"]["contradictory"][0]["labels"] == [["new"], ["new", "pet"]]


def test_evaluate_a_model(run: Run, several_model: Path, csv_file: Path, json_file: Path, data: Path) -> None:
    for file in (csv_file, json_file):
        [found] = json.loads(run("evaluate", several_model, file, "--json").out)
        assert found["micro_f1"] > 0.95
    other = run("evaluate", several_model, data)
    assert other.status == 2
    assert "which the model does not know" in other.err


def test_a_model_of_one_label_refuses_several(run: Run, model: Path, json_file: Path) -> None:
    result = run("evaluate", model, json_file, "--text", "text", "--label", "labels")
    assert result.status == 2
    assert "found several labels per document" in result.err
    assert "the model gives one" in result.err


def test_predict_joins_labels_in_csv_and_lists_them_in_json(
    run: Run, several_model: Path, csv_file: Path, json_file: Path, tmp_path: Path
) -> None:
    result = run("predict", several_model, csv_file)
    assert result.status == 0
    frame = pl.read_csv(result.out.encode())
    both = frame.filter(pl.col("label") == "fruit;pet")
    assert {frozenset(cell.split(";")) for cell in both["predicted"]} == {frozenset({"fruit", "pet"})}
    assert all(len(cell.split(";")) == 2 for cell in both["probability"])
    assert "predicted no label:" in result.err
    rows = [json.loads(line) for line in run("predict", several_model, json_file).out.splitlines()]
    assert all(sorted(row["predicted"]) == sorted(row["labels"]) for row in rows)
    assert all(len(row["predicted"]) == len(row["probability"]) for row in rows)
    target = tmp_path / "out.parquet"
    run("predict", several_model, csv_file, "-o", target)
    assert pl.read_parquet(target).schema["predicted"] == pl.List(pl.String)
    run("predict", several_model, csv_file, "-o", tmp_path / "out.csv", "--label-separator", " + ")
    assert " + " in (tmp_path / "out.csv").read_text("utf-8")


def test_predict_refuses_a_separator_that_a_label_contains(run: Run, several_model: Path, csv_file: Path) -> None:
    result = run("predict", several_model, csv_file, "--label-separator", "u")
    assert result.status == 2
    assert "the label 'fruit' contains 'u', which separates several labels in a cell" in result.err


def test_explain_shows_thresholds(run: Run, several_model: Path) -> None:
    result = run("explain", several_model, "an apple in a bus")
    assert result.out.startswith("fruit, road\n")
    assert "threshold" in result.out
    assert "assigned" in result.out
    found = json.loads(run("explain", several_model, "an apple in a bus", "--json").out)
    assert sorted(found["label"]) == ["fruit", "road"]
    assert set(found["thresholds"]) == {"fruit", "pet", "road"}
    assert run("explain", several_model, "it was").out.startswith("no label: no score is above its threshold")


def test_words_of_data_and_of_a_model(run: Run, several_model: Path, json_file: Path) -> None:
    for source in (several_model, json_file):
        found = json.loads(run("words", source, "--top", 4, "--json").out)
        assert {word["word"] for word in found["fruit"]} == {"apple", "pear", "juice", "sweet"}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (("a|b", "b"), "the label separator ';' never occurs"),
        (("a;;b", "b"), "found an empty label"),
        (("a;a", "b"), "found a label twice"),
        ((";", ";"), "found an empty label"),
    ],
)
def test_bad_cells_are_refused_in_one_line(run: Run, cells: tuple[str, ...], message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("text,label\n" + "".join(f"t,{cell}\n" for cell in cells), "utf-8")
    result = run("train", path, "--label-separator", ";", "-o", tmp_path / "model")
    assert result.status == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1
