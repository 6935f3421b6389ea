"""``tfcr export``."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tests.cli.runner import Run
from tfcr import TfcrClassifier
from tfcr.data import read_corpus


def test_a_page_and_a_table_are_written(run: Run, model: Path, tmp_path: Path) -> None:
    page, table = tmp_path / "page.html", tmp_path / "table.json"
    found = run("export", model, "--html", page, "--json-table", table)
    assert found.status == 0
    lines = found.out.splitlines()
    assert lines[0].startswith(f"{page}: ")
    assert lines[1].startswith(f"{table}: ")
    assert lines[2] == "kept 26 of 26 words"
    assert lines[3] == "kept 100.00% of what all of them add to the variance of scores, by estimate"
    assert found.err == ""
    assert page.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert json.loads(table.read_text("utf-8"))["format"] == "tfcr-table"


def test_what_pruning_costs_is_measured_on_data(run: Run, model: Path, data: Path, tmp_path: Path) -> None:
    found = run(
        "export", model, "--html", tmp_path / "page.html", "--max-size", "65kB", "--data", data, "--label", "label"
    )
    assert found.status == 0, found.err
    assert "same label as the model for " in found.out
    assert "points" in found.out
    assert "trained on 120 of these texts" in found.err
    as_json = run("export", model, "--html", tmp_path / "page.html", "--data", data, "--json")
    said = json.loads(as_json.out)
    assert said["measured"]["same_label"] == 1.0
    assert said["measured"]["macro_f1_before"] == said["measured"]["macro_f1_after"]
    assert said["files"] == {str(tmp_path / "page.html"): (tmp_path / "page.html").stat().st_size}


def test_without_data_the_cost_is_said_to_be_unknown(run: Run, tmp_path: Path) -> None:
    texts = [" ".join(f"word{number}" for number in range(start, start + 9)) for start in range(0, 900, 4)]
    trained = TfcrClassifier.from_preset("fast", parts=("words",), C=1.0)
    trained.fit(texts, [f"class {number % 3}" for number in range(len(texts))]).save(tmp_path / "model")
    page = tmp_path / "page.html"
    assert "kept 905 of 905 words" in run("export", tmp_path / "model", "--html", page).out
    size = page.stat().st_size - 20_000
    found = run("export", tmp_path / "model", "--html", page, "--max-size", size)
    assert found.status == 0, found.err
    assert 0.95 * size < page.stat().st_size <= size
    kept = re.search(r"kept (\d+) of 905 words", found.out)
    assert kept is not None
    assert int(kept[1]) < 905
    assert "note: what that costs in accuracy is not known; add --data DATA to measure it" in found.err


def test_private_terms_are_reported_and_left_out(run: Run, tmp_path: Path) -> None:
    texts = ["call 5551234567 good", "write jo@example.org bad"] * 6
    trained = TfcrClassifier.from_preset("fast", tokenizer="whitespace", parts=("words",), C=1.0)
    trained.fit(texts, ["a", "b"] * 6).save(tmp_path / "model")
    found = run("export", tmp_path / "model", "--html", tmp_path / "page.html")
    assert "note: left out 1 terms that look like e-mail addresses; --keep-private keeps them" in found.err
    assert "kept 4 of 6 words" in found.out
    kept = re.search(r"kept (\d+)\.\d\d% of what all of them add", found.out)
    assert kept is not None
    assert int(kept[1]) < 90
    assert "jo@example.org" not in found.err + found.out + (tmp_path / "page.html").read_text("utf-8")
    found = run("export", tmp_path / "model", "--html", tmp_path / "page.html", "--keep-private")
    assert "left out" not in found.err
    assert "jo@example.org" in (tmp_path / "page.html").read_text("utf-8")


def test_one_file_under_two_names_is_refused(run: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for name in ("link/a", "link/../folder/a"):
        found = run("export", model, "--html", tmp_path / "folder" / "a", "--json-table", tmp_path / name)
        assert found.status == 2
        assert "for both files; give each its own name" in found.err
    assert not list((tmp_path / "folder").iterdir())


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nothing can be written to")
def test_a_folder_that_takes_no_file_is_found_before_all_work(run: Run, model: Path, tmp_path: Path) -> None:
    found = run("export", model, "--html", tmp_path / "a.html", "--json-table", "/proc/a.json")
    assert found.status == 2
    assert "cannot read or write /proc/a.json: " in found.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("stopped", "said", "written"),
    [
        ("tfcr.evaluation.evaluate", "no file was written; to start over", []),
        ("tfcr.cli.export._described", "a.html, {folder}/a.json; to write all, type the same", ["a.html", "a.json"]),
    ],
)
def test_after_ctrl_c_what_is_written_is_said(
    run: Run,
    model: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stopped: str,
    said: str,
    written: list[str],
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stopped, stop)
    monkeypatch.setattr(os, "_exit", sys.exit)
    files = ("--html", tmp_path / "a.html", "--json-table", tmp_path / "a.json")
    found = run("export", model, *files, "--data", data, "--label", "label")
    assert found.status == 130
    assert said.format(folder=tmp_path) in found.err
    assert sorted(path.name for path in tmp_path.iterdir()) == written


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "found no file to write; expected one: tfcr export MODEL --html FILE"),
        (["--html", "{folder}/a", "--json-table", "{folder}/a"], "for both files; give each its own name"),
        (["--html", "{folder}"], "is a folder; expected the name of a file"),
        (["--html", "{folder}/none/a.html"], "which is not a folder; expected the name of a file"),
        (
            ["--html", "{folder}/a", "--max-size", "huge"],
            "found --max-size 'huge'; expected a number of bytes or a size",
        ),
        (["--html", "{folder}/a", "--max-size", "9kB"], "without any term; expected at most 9.0 kB: give more room"),
        (["--html", "{folder}/a", "--label", "x"], "found --label without --data, which it is for; leave it out"),
    ],
)
def test_wrong_calls_are_refused(run: Run, model: Path, tmp_path: Path, arguments: list[str], said: str) -> None:
    found = run("export", model, *(one.format(folder=tmp_path) for one in arguments))
    assert found.status == 2
    assert said in found.err
    assert len(found.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_tokeniser_that_cannot_run_in_a_page_is_refused(run: Run, tmp_path: Path, data: Path) -> None:
    corpus = read_corpus(data)
    trained = TfcrClassifier.from_preset("fast", tokenizer="jieba", parts=("words",), C=1.0)
    trained.fit(corpus.texts, corpus.labels).save(tmp_path / "model")
    found = run("export", tmp_path / "model", "--html", tmp_path / "page.html")
    assert found.status == 2
    assert "found a model with the tokenizer 'jieba', which cannot run in a page" in found.err
    assert len(found.err.splitlines()) == 1
    assert not (tmp_path / "page.html").exists()


def test_the_name_of_a_file_cannot_command_the_terminal(run: Run, model: Path, tmp_path: Path) -> None:
    found = run("export", model, "--html", tmp_path / "<b>\x1b[31m.html")
    assert found.status == 0
    assert "<b>\\x1b[31m.html: " in found.out
