"""Precision, costs, and what predict tells besides the label."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.runner import Run
from tfcr.trained.model import TrainedModel


@pytest.fixture(scope="module")
def posts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of three classes, of which a third is unclear."""
    random = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("posts") / "posts.csv"
    labels = random.choice(["bill", "order", "refund"], 360).tolist()
    words = [label if random.random() < 0.7 else "hello" for label in labels]
    texts = [f"{word} w{random.integers(40)} w{random.integers(40)}" for word in words]
    path.write_text("text,queue\n" + "".join(f"{t},{q}\n" for t, q in zip(texts, labels, strict=True)))
    return path


@pytest.fixture
def unsure(run: Run, posts: Path, tmp_path: Path) -> Path:
    model = tmp_path / "model"
    result = run("train", posts, "--label", "queue", "--preset", "fast", "--precision", "0.9", "--no-cv", "-o", model)
    assert result.status == 0, result.err
    assert "decided at the wanted precision, out of fold: 0." in result.out
    return model


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.csv"
    path.write_text("id,text\n1,refund w1\n2,hello w2\n3,\n")
    return path


def test_rows_that_are_not_sure_enough_get_their_two_likeliest_labels(run: Run, unsure: Path, new: Path) -> None:
    result = run("predict", unsure, new, "--json")
    first, second, empty = map(json.loads, result.out.splitlines())
    assert first["predicted"] == first["likeliest"] == "refund"
    assert second["predicted"] == "unsure"
    assert {second["likeliest"], second["second"]} < {"bill", "order", "refund"}
    assert second["probability"] >= second["second_probability"] > 0
    assert set(empty) == {"id", "text", *first}
    assert empty["predicted"] is None
    assert "unsure: 1 rows (50.0%), with their two likeliest labels" in result.err
    model = TrainedModel.load(unsure)
    assert model.decide(["refund w1", "hello w2"]) == ["refund", None]


def test_a_resumed_run_counts_what_is_unsure(run: Run, unsure: Path, new: Path, tmp_path: Path) -> None:
    assert run("predict", unsure, new, "-o", tmp_path / "out" / "", "--second").status == 2  # no folder out yet
    result = run("predict", unsure, new, "-o", tmp_path / "out.csv", "--second")
    assert "unsure: 1 rows" in result.err
    frame = pl.read_csv(tmp_path / "out.csv")
    assert frame.columns == [
        *("id", "text", "predicted", "probability", "unknown_words", "likeliest", "second", "second_probability")
    ]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "xlsx"])
def test_all_that_predict_can_tell(run: Run, model: Path, ending: str, tmp_path: Path) -> None:
    new, out = tmp_path / "new.csv", tmp_path / f"out.{ending}"
    new.write_text("text\nw0_1 w0_2 w1_1\nw1_1 w1_2\nnever\n")
    assert run("predict", model, new, "--second", "--all-probabilities", "--why", "2", "-o", out).status == 0
    readers = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet, "xlsx": pl.read_excel}
    frame: pl.DataFrame = readers[ending](out)  # type: ignore[operator]
    classes = TrainedModel.load(model).classes.tolist()
    assert frame.columns == [
        *("text", "predicted", "probability", "unknown_words", "second", "second_probability"),
        *(f"probability_{label}" for label in classes),
        "why",
    ]
    loaded = TrainedModel.load(model)
    chances = loaded.predict_proba(frame["text"].to_list())
    shown = frame.select(f"probability_{label}" for label in classes).to_numpy()
    np.testing.assert_allclose(shown, chances, atol=1e-4)
    order = np.argsort(-chances, axis=1)
    assert frame["second"].to_list() == [classes[number] for number in order[:, 1].tolist()]
    for text, why in frame.select("text", "why").iter_rows():
        expected = [word for word, added in loaded.explain(text).contributions().items() if added > 0][:2]
        assert sorted((why or "").split(", ") if why else []) == sorted(expected)


def test_costs_move_labels(run: Run, posts: Path, new: Path, tmp_path: Path) -> None:
    costs = tmp_path / "costs.csv"
    costs.write_text("true,predicted,cost\nbill,refund,30\norder,refund,30\n")
    train = ("train", posts, "--label", "queue", "--preset", "fast", "--no-cv", "-o")
    assert run(*train, tmp_path / "plain").status == 0
    assert run(*train, tmp_path / "costly", "--costs", costs).status == 0
    new.write_text("text\n" + "".join(f"hello w{n}\n" for n in range(40)))
    later = run("predict", tmp_path / "plain", new, "--costs", costs)
    assert later.out == run("predict", tmp_path / "costly", new).out
    assert ",refund," not in later.out
    assert ",refund," in run("predict", tmp_path / "plain", new).out


BAD_TRAINING: list[tuple[list[str], str]] = [
    (
        ["--precision", "2"],
        "found --precision '2'; expected a number between 0 and 1, such as 0.95, or one for a class",
    ),
    (["--precision", "nan"], "found --precision 'nan'"),
    (["--precision", "refund="], "found --precision 'refund='"),
    (["--precision", "0.9", "--precision", "0.8"], "found --precision twice for all classes; give it once"),
    (["--precision", "funds=0.9"], "unknown class 'funds'; known: bill, order, refund. Did you mean 'refund'?"),
    (
        ["--precision", "0.99999"],
        "the precision that is wanted cannot be had: no training text gets a label that surely",
    ),
    (["--precision", "bill=0.99999"], "a precision of 0.99999 for bill cannot be had"),
    (["--costs", "missing.csv"], "missing.csv does not exist"),
]


@pytest.mark.parametrize(("options", "message"), BAD_TRAINING)
def test_what_cannot_be_trained_is_refused(
    run: Run, posts: Path, options: Sequence[str], message: str, tmp_path: Path
) -> None:
    result = run("train", posts, "--label", "queue", "--preset", "fast", "--no-cv", *options, "-o", tmp_path / "model")
    assert result.status == 2
    assert message in result.err
    assert len(result.err.splitlines()[-1]) < 400
    assert not (tmp_path / "model").exists()


def test_costs_of_unknown_classes_are_refused(run: Run, posts: Path, unsure: Path, new: Path, tmp_path: Path) -> None:
    costs = tmp_path / "costs.csv"
    costs.write_text("bill,egg,3\n")
    train = ("train", posts, "--label", "queue", "--preset", "fast", "--no-cv", "-o", tmp_path / "plain")
    result = run(*train, "--costs", costs)
    assert (result.status, "unknown class 'egg'" in result.err) == (2, True)
    assert run(*train).status == 0
    result = run("predict", tmp_path / "plain", new, "--costs", costs)
    assert (result.status, "unknown class 'egg'" in result.err) == (2, True)
    result = run("predict", unsure, new, "--costs", costs)
    assert (result.status, "was trained for a precision of other labels" in result.err) == (2, True)


def test_a_class_named_unsure_is_refused_where_it_would_be_ambiguous(run: Run, posts: Path, tmp_path: Path) -> None:
    renamed = tmp_path / "posts.csv"
    renamed.write_text(posts.read_text().replace(",refund\n", ",unsure\n"))
    train = ("train", renamed, "--label", "queue", "--preset", "fast", "--no-cv", "-o", tmp_path / "model")
    assert run(*train).status == 0
    assert run("predict", tmp_path / "model", renamed).status == 0
    result = run(*train, "--precision", "0.9")
    assert result.status == 2
    assert "and a class named 'unsure', which stands for texts that are not decided" in result.err


def test_several_labels_have_no_second(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "several.csv"
    data.write_text("text,label\n" + "a b,x;y\na,x\nb,y\n" * 6)
    train = ("train", data, "--label-separator", ";", "--preset", "fast", "--no-cv", "-o", tmp_path / "model")
    assert run(*train).status == 0
    result = run("predict", tmp_path / "model", data, "--second")
    assert (result.status, "found --second, and a model that gives several labels" in result.err) == (2, True)
    result = run("predict", tmp_path / "model", data, "--all-probabilities", "--why", "1")
    assert "probability_x,probability_y,why" in result.out.splitlines()[0]
    for option in (("--precision", "0.9"), ("--costs", data)):
        assert run(*train, *option).status == 2


@pytest.mark.parametrize("why", ["-1", "x", "1001"])
def test_a_number_of_words_that_is_none(run: Run, model: Path, why: str, data: Path) -> None:
    assert run("predict", model, data, "--why", why).status == 2


def test_evaluate_tells_how_often_decided_labels_are_right(run: Run, posts: Path) -> None:
    call = ("evaluate", posts, "--label", "queue", "--preset", "fast", "--precision", "0.9", "--cv", "3")
    result = run(*call)
    assert "Decided at the wanted precision: " in result.out
    [parsed] = json.loads(run(*call, "--json").out)
    found = parsed["at_precision"]
    decided = sum(row["decided"] for row in found["classes"])
    assert found["share_decided"] == pytest.approx(decided / 360)
    assert 0.5 < found["share_decided"] < 0.85
    assert found["right"] > 0.9
