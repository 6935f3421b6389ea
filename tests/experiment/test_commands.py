"""The commands of `tfcr experiment`."""

import json
from pathlib import Path

import pytest

from tests.experiment.conftest import (
    Run,
    assert_refused,
    cell_of,
)
from tfcr.experiment import (
    open_results,
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "found nothing to run; give --table 1"),
        (["run", "--table", "3"], "unknown table '3'; known: 1, 2"),
        (["run", "no.toml"], "no.toml does not exist"),
        (["run", "--datasets", "pydocs", "--sizes", "many"], "found 'many' for training size"),
        (["run", "--datasets", "pydocs", "--folds", "11/10"], "found 11 of 10 folds"),
        (["run", "--datasets", "pydocs", "--w2v-from", "test"], "unknown text for --w2v-from 'test'"),
        (["run", "--datasets", "pydocs,pydocs=pydocs"], "found 'pydocs' twice among the datasets"),
        (["run", "--datasets", "no.csv", "--processes", "1"], "no.csv does not exist"),
        (["run", "--datasets", "three.csv", "--processes", "1"], "Give --label NAME.*in an experiment, by text"),
        (["run", "--datasets", "good.csv", "--embeddings", "no.vec", "--processes", "1"], "no.vec does not exist"),
        (["run", "--datasets", "pydocs", "--systems", "good"], "unknown system 'good'; known: .*best"),
        (["run", "--datasets", "pydocs", "--scheme-from", "x"], "expected FILE.py:FUNCTION"),
        (["run", "--datasets", "pydocs", "--processes", "0"], "'--processes'"),
        (["table", "--results", "none.sqlite"], "does not exist; expected a file of results"),
        (["table", "--format", "word"], "unknown format 'word'; known: text, markdown, latex, paper, csv, json"),
        (["curve", "-o", "x.doc"], "unknown format of a picture 'doc'; known: png, svg, pdf"),
        (["report", "--results", "none.sqlite"], "does not exist"),
        (["status", "--results", "none.sqlite"], "does not exist"),
    ],
)
def test_commands_that_are_refused(
    arguments: list[str], message: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TFCR_DATA", str(tmp_path))
    (tmp_path / "good.csv").write_text("text,label\n" + "one,a\ntwo,b\n" * 20)
    (tmp_path / "three.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
    assert_refused(run("experiment", *arguments), message)


def test_a_run_from_the_command_line(run: Run, data: Path, tmp_path: Path) -> None:
    code = "import numpy as np\ndef ones(counts):\n    return np.ones((len(counts.words), 1), np.float32)\n"
    (tmp_path / "mine.py").write_text(code)
    target = tmp_path / "r.sqlite"
    arguments = ["--datasets", f"20ng={data}", "--embeddings", f"wglove={data.with_name('vectors.vec')}"]
    arguments += ["--schemes", "none,tfcr", "--heads", "lr", "--folds", "2/5", "--profile", "equations,published"]
    arguments += ["--systems", "fast"]
    arguments += ["--scheme-from", f"{tmp_path / 'mine.py'}:ones", "--processes", "1", "--results", str(target)]
    shown = run("experiment", "run", "--table", "2", *arguments)
    assert shown.status == 0, shown.err
    assert "7 cells, 14 folds: 0 were there, 14 run now" in shown.out
    assert json.loads(run("experiment", "run", *arguments, "--json").out)["folds_run"] == 0
    table = run("experiment", "table", "--results", target, "--table", "2", "--profile", "equations").out
    assert "wglove (vectors.vec, 24 words × 8 dimensions), lr, profile equations" in table
    assert "20ng: small.csv stands in for the paper's dataset" in table
    rows = json.loads(run("experiment", "table", "--results", target, "--json").out)
    scores = {row["scheme"]: row for row in rows[0]["scores"]}
    assert scores["ones"]["mean"] == scores["none"]["mean"]
    assert list(scores) == ["none", "tfcr", "ones", "fast"]
    assert (scores["tfcr"]["published"], scores["ones"]["published"]) == (0.928, None)


def test_status(finished: Path, run: Run) -> None:
    shown = run("experiment", "status", "--results", finished)
    assert "all done" in shown.out
    parsed = json.loads(run("experiment", "status", "--results", finished, "--json").out)
    assert [row["folds_done"] for row in parsed["rows"]] == [30, 30]
    assert parsed["folds_under_way"] == 0


def test_what_is_left(run: Run, tmp_path: Path) -> None:
    opened = open_results(tmp_path / "r.sqlite", make=True)
    opened.add([cell_of("20ng", "tfcr", []).cell], 10)
    opened.close()
    assert "10 folds left, 0 of them under way" in run("experiment", "status", "--results", tmp_path / "r.sqlite").out
    assert_refused(run("experiment", "table", "--results", tmp_path / "r.sqlite"), "holds no finished cell")
