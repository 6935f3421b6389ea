"""``tfcr update``."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.cli.runner import Run
from tfcr import TrainedModel
from tfcr.heads import large

READING = ("--text", "text", "--label", "label")


@pytest.fixture
def parts(data: Path, tmp_path: Path) -> list[Path]:
    """The rows of the data in three files; the second has a class more."""
    head, *rows = data.read_text("utf-8").splitlines()
    files = [tmp_path / f"part{number}.csv" for number in range(3)]
    more = ["grapes and wine,drinks,g1", "wine or grapes,drinks,g2", "red grapes wine,drinks,g3"]
    for file, some in zip(files, (rows[:60], [*rows[60:90], *more], rows[90:]), strict=True):
        file.write_text("\n".join([head, *some]) + "\n", "utf-8")
    return files


@pytest.mark.parametrize("preset", ["fast", "best", "paper"])
def test_updates_equal_training_at_once(
    preset: str, run: Run, parts: list[Path], vectors_file: Path, tmp_path: Path
) -> None:
    how = ("--preset", preset, *(() if preset == "fast" else ("--embeddings", vectors_file)))
    run("train", parts[0], *READING, *how, "--no-cv", "--keep-documents", "-o", tmp_path / "m")
    result = run("update", tmp_path / "m", parts[1])
    assert "33 documents and 5 words added, 93 documents in all" in result.out
    assert "new classes: drinks" in result.out
    assert "macro-F1 of the old model on the new documents" in result.out
    facts = json.loads(run("update", tmp_path / "m", parts[2], "--json").out)
    assert (facts["added"]["documents"], facts["added"]["classes"]) == (30, [])
    assert [entry["documents"] for entry in facts["training"]["updates"]] == [33, 30]
    run("train", *parts, *READING, *how, "--no-cv", "-o", tmp_path / "whole")
    texts = [line.split(",")[0] for part in parts for line in part.read_text().splitlines()[1:]]
    one, two = (TrainedModel.load(tmp_path / name).score_texts(texts).scores for name in ("m", "whole"))
    np.testing.assert_allclose(one, two, atol=1e-4)
    if preset != "paper":  # whose vectors know none of these words
        assert "drinks" in TrainedModel.load(tmp_path / "m").predict(["grapes and wine"])


def test_files_that_do_not_fit_are_added_as_a_stream(
    run: Run, parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("train", parts[0], *READING, "--preset", "fast", "--no-cv", "--keep-documents", "-o", tmp_path / "m")
    for fits, name in ((True, "whole"), (False, "stream")):
        monkeypatch.setattr("tfcr.evaluation.streams.fits_into_memory", lambda *given, fits=fits: fits)
        printed = run("update", tmp_path / "m", *parts[1:], "--cv", 2, "-o", tmp_path / name)
        assert printed.status == 0, printed.err
        (tmp_path / f"{name}.out").write_text(printed.out.replace(name, "model"))
    assert (tmp_path / "whole.out").read_text() == (tmp_path / "stream.out").read_text()
    one, two = (TrainedModel.load(tmp_path / name) for name in ("whole", "stream"))
    texts = [line.split(",")[0] for part in parts for line in part.read_text().splitlines()[1:]]
    np.testing.assert_array_equal(one.score_texts(texts).scores, two.score_texts(texts).scores)
    kept = [model.kept_documents() for model in (one, two)]
    assert [None if some is None else len(some) for some in kept] == [123, 123]
    again = run("update", tmp_path / "stream", parts[1])
    assert "33 of these texts are in the model already, and count again" in again.err


def test_an_update_that_was_stopped_is_resumed(
    run: Run, parts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "SAMPLE_DOCUMENTS", 50)
    monkeypatch.setattr(large, "LEAST_SAMPLE", 50)
    monkeypatch.setattr("tfcr.evaluation.streams.fits_into_memory", lambda *given: False)
    run("train", parts[0], *READING, "--preset", "fast", "--no-cv", "--keep-documents", "-o", tmp_path / "m")
    update = ("update", tmp_path / "m", *parts[1:], "-o", tmp_path / "new")

    def fail(*given: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tfcr.classifier.collapse", fail)
        printed = run(*update)
    assert printed.status == 2
    assert "to resume, type the same command again" in printed.err
    printed = run(*update)
    assert printed.status == 0, printed.err
    assert "resuming training: a strength is picked for lexical; fitted: lexical" in printed.err
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_cross_validation_and_another_folder(run: Run, parts: list[Path], tmp_path: Path) -> None:
    run("train", parts[0], *READING, "--preset", "fast", "--no-cv", "--keep-documents", "-o", tmp_path / "m")
    result = run("update", tmp_path / "m", parts[2], "--cv", 3, "-o", tmp_path / "new")
    assert "macro-F1, mean of 3 folds" in result.out
    assert TrainedModel.load(tmp_path / "m").training["documents"] == 60
    assert TrainedModel.load(tmp_path / "new").training["documents"] == 90


def test_weights_are_kept(run: Run, parts: list[Path], tmp_path: Path) -> None:
    run("train", parts[0], *READING, "--preset", "fast", "--no-cv", "-o", tmp_path / "m")
    refused = run("update", tmp_path / "m", parts[1])
    assert (refused.status, "keeps no documents" in refused.err, "--keep-weights" in refused.err) == (2, True, True)
    before = json.loads((tmp_path / "m" / "config.json").read_text())
    result = run("update", tmp_path / "m", parts[2], "--keep-weights")
    assert "30 documents and 0 words added, 90 documents in all" in result.out
    assert "the word weights are kept" in result.err
    assert json.loads((tmp_path / "m" / "config.json").read_text())["files"] != before["files"]
    assert run("update", tmp_path / "m", parts[1], "--keep-weights").status == 0
    assert "drinks" in TrainedModel.load(tmp_path / "m").predict(["grapes and wine"])
    assert run("explain", tmp_path / "m", "grapes and wine").status == 0
    assert run("export", tmp_path / "m", "--html", tmp_path / "m.html").status == 0


def test_bad_calls(run: Run, parts: list[Path], tmp_path: Path) -> None:
    run("train", parts[0], *READING, "--preset", "fast", "--no-cv", "--keep-documents", "-o", tmp_path / "m")
    (tmp_path / "numbers.csv").write_text("text,label\na,1\nb,2\n")
    calls: list[tuple[tuple[object, ...], str]] = [
        ((tmp_path / "none", parts[1]), "does not exist"),
        ((tmp_path / "m", tmp_path / "none.csv"), "does not exist"),
        ((tmp_path / "m", parts[1], "--keep-weights", "--cv", 3), "along with --keep-weights"),
        ((tmp_path / "m", parts[1], "--group", "who"), "old ones have no groups"),
        ((tmp_path / "m", parts[1], "--max-memory", "x"), "max_memory"),
    ]
    for call, message in calls:
        result = run("update", *call)
        assert (result.status, message in result.err) == (2, True), result.err
    refused = run("train", parts[0], *READING, "--preset", "paper", "--keep-documents", "-o", tmp_path / "x")
    assert (refused.status, "tfcr embeddings train" in refused.err) == (2, True)
