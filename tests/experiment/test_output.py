"""What comes out of the experiments: tables in five formats, curves, one page, and how far a run is."""

import csv
import io
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.runner import Run, run
from tests.experiment.test_experiment import assert_refused, data
from tfcr.experiment.plan.cells import Cell
from tfcr.experiment.results.published import paper_datasets
from tfcr.experiment.results.store import CellResult, FoldRow
from tfcr.experiment.results.summary import Group, summarise, summarise_curves
from tfcr.experiment.results.tables import (
    TABLE_FORMATS,
    as_latex,
    as_text,
    latex_escape,
    select,
    write_difference,
    write_score,
)

assert run
assert data


@pytest.fixture(scope="session")
def results(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the results of a table and a curve, of a dataset and vectors that stand in for the paper's."""
    from tfcr.experiment import DatasetChoice, Request, VectorsChoice, Word2Vec, open_results, run_experiment

    path = tmp_path_factory.mktemp("results") / "r.sqlite"
    opened = open_results(path, make=True)
    request = Request(
        datasets=(DatasetChoice("20ng", str(data)), DatasetChoice("<b>&$x_1$", str(data), tokenizer="whitespace")),
        embeddings=(VectorsChoice("w2v", "w2v"),),
        heads=("lr",),
        folds=5,
        first_folds=2,
        word2vec=Word2Vec(dimensions=4, epochs=1),
    )
    run_experiment(request, opened, command="tfcr experiment run <script>alert(1)</script>")
    run_experiment(replace(request, sizes=(30, 60, None)), opened, command="tfcr experiment run --sizes 30,60,all")
    opened.close()
    return path


def fold_row(fold: int, score: float, confusion: Mapping[str, int] | None = None) -> FoldRow:
    return FoldRow(fold, score, np.array([[8, 2], [1, 9]]), 180, 20, 0.5, 0.9, 1.0, {"tfcr": "0"})


def cell_of(dataset: str, scheme: str, scores: list[float], profile: str = "equations", seed: int = 0) -> CellResult:
    settings = {"word2vec": None, "data": f"{dataset}{seed}", "profile": {"left_out": None}}
    facts = {
        "source": dataset,
        "documents": 200,
        "documents_in_all": 200,
        "classes": ["a", "b"],
        "training_documents": 180,
        "vectors": "gw2v",
        "notes": [],
    }
    key = f"{dataset} {scheme} {profile} {seed}"
    cell = Cell(key, dataset, "gw2v", scheme, "lr", profile, None, seed, 10, settings, facts)
    return CellResult(cell, 10, tuple(fold_row(number, score) for number, score in enumerate(scores)))


def test_scores_stand_beside_the_published_ones() -> None:
    cells = [cell_of("20ng", "none", [0.70, 0.72]), cell_of("20ng", "tfcr", [0.93, 0.95])]
    [group] = summarise(cells)
    best = group.rows["20ng"]["tfcr"]
    assert (best.score, best.published, best.spread) == pytest.approx((0.94, 0.922, 0.01))
    assert best.difference == pytest.approx(0.018)
    assert best.pooled == pytest.approx((2 * 16 / (20 + 18) + 2 * 18 / (20 + 22)) / 2)
    assert group.winner("20ng") == "tfcr"
    assert group.schemes == ["none", "tfcr"]
    text = as_text([group])
    assert ".940 ±.010 (2/10)*" in text
    assert "+.018" in text
    assert "90% of tokens, 50% of words" in text
    assert "corrected resampled t-test, 20ng: tfcr against none" in text
    assert "with 1, fewer than 6" in text


def test_a_part_of_a_dataset_is_told() -> None:
    some = cell_of("dbpedia", "tfcr", [0.5, 0.6])
    assert any("dbpedia: 200 documents, a part of the dataset's 630,000" in note for note in summarise([some])[0].notes)
    whole = changed_cell(some, facts={**some.cell.facts, "documents": 630_000, "documents_in_all": 630_000})
    assert not any("a part of" in note for note in summarise([whole])[0].notes)


def test_the_headline_is_the_profiles() -> None:
    [group] = summarise([cell_of("20ng", "tfcr", [0.2, 0.3], "published")])
    score = group.rows["20ng"]["tfcr"]
    assert score.score == score.pooled != score.mean


def test_repeats_are_joined_and_changed_data_is_kept_apart() -> None:
    [group] = summarise([cell_of("20ng", "tfcr", [0.2, 0.3], seed=seed) for seed in (0, 1)])
    assert len(group.rows["20ng"]["tfcr"].folds) == 4
    assert group.folds_run == "2 of 10 folds, repeated with 2 seeds"
    one, two = cell_of("20ng", "none", [0.2, 0.3]), cell_of("20ng", "tfcr", [0.2, 0.3])
    changed = CellResult(
        Cell(**{**vars(two.cell), "settings": {**two.cell.settings, "data": "changed"}}), two.wanted, two.folds
    )
    [group] = summarise([one, changed])
    assert list(group.rows) == ["20ng [20ng0]", "20ng [change]"]
    again = changed_cell(two, key="again", seed=1, settings=changed.cell.settings)  # the whole of it, so the same hash
    [group] = summarise([one, changed, again])
    assert list(group.rows) == ["20ng [20ng0]", "20ng [change]"]


def changed_cell(result: CellResult, **changes: Any) -> CellResult:
    return CellResult(replace(result.cell, **changes), result.wanted, result.folds)


def test_results_of_other_code_are_not_mixed() -> None:
    old, new = cell_of("20ng", "mine", [0.2, 0.3]), cell_of("20ng", "mine", [0.4, 0.5])
    [group] = summarise([changed_cell(old, key="old"), new])
    assert list(group.rows["20ng"]["mine"].folds.values()) == [0.4, 0.5]
    assert any("20ng: an older result for mine" in note for note in group.notes)
    [group] = summarise([new])
    assert not any("older" in note for note in group.notes)


def test_the_tests_are_about_the_marked_scheme() -> None:
    good = np.array([[10, 0], [0, 10]])
    one, two = cell_of("20ng", "none", [0.9, 0.9], "published"), cell_of("20ng", "tfcr", [0.8, 0.8], "published")
    pooled = CellResult(two.cell, two.wanted, tuple(replace(row, confusion=good) for row in two.folds))
    [group] = summarise([one, pooled])
    assert group.winner("20ng") == "tfcr"
    assert [test.compared for test in group.tests] == ["20ng: tfcr against none"]


def test_all_points_of_a_panel_show_the_same_folds() -> None:
    small = changed_cell(cell_of("20ng", "tfcr", [0.2, 0.4]), key="small", size=90)
    small = CellResult(small.cell, 2, tuple(replace(row, train_documents=90) for row in small.folds))
    [figure] = summarise_curves([small, cell_of("20ng", "tfcr", [0.6, 0.8, 0.1, 0.1])])
    assert figure.panels["20ng"]["tfcr"].means == pytest.approx([0.3, 0.7])
    assert "20ng: 2 of 10 folds" in figure.notes


def test_across_datasets() -> None:
    draw = np.random.default_rng(0)
    cells = [
        cell_of(dataset, scheme, (draw.random(3) * 0.1 + gain).tolist())
        for dataset in paper_datasets()[:7]
        for scheme, gain in (("none", 0.4), ("kld", 0.5), ("tfcr", 0.7))
    ]
    [group] = summarise(cells)
    named = {test.test for test in group.tests}
    assert named == {"corrected resampled t-test", "Friedman test", "Wilcoxon signed-rank test"}
    assert all(test.p < 0.05 for test in group.tests if test.test != "corrected resampled t-test")


def groups_of(path: Path) -> list[Group]:
    from tfcr.experiment import open_results

    opened = open_results(path)
    cells = opened.cells()
    opened.close()
    return summarise(cells)


def test_how_numbers_are_written() -> None:
    assert [write_score(value) for value in (0.5, 0.0004, 1.0, None)] == [".500", ".000", "1.000", "–"]
    assert [write_difference(value) for value in (0.018, -0.02, None)] == ["+.018", "−.020", "–"]
    assert latex_escape("a_b & 5 % \\ {x}") == r"a\_b \& 5 \% \textbackslash{} \{x\}"


def test_every_format(results: Path, run: Run) -> None:
    for name in TABLE_FORMATS:
        shown = run("experiment", "table", "--results", results, "--format", name)
        assert shown.status == 0, shown.err
        assert "tfcr" in shown.out
        if name != "csv":
            assert "on the whole dataset's text without labels" in shown.out, name
    assert run("experiment", "table", "--results", results, "--table", 2).status == 2
    assert_refused(run("experiment", "table", "--results", results, "--profile", "published"), "no finished cell")


def test_csv_and_json_can_be_read_again(results: Path) -> None:
    groups = groups_of(results)
    rows = list(csv.DictReader(io.StringIO(TABLE_FORMATS["csv"](groups))))
    parsed = json.loads(TABLE_FORMATS["json"](groups))
    assert len(rows) == len(parsed[0]["scores"]) == 10
    assert float(rows[0]["mean"]) == parsed[0]["scores"][0]["mean"]
    assert {row["published"] for row in rows if row["dataset"].startswith("<b>")} == {""}
    assert [row["published"] for row in rows if row["dataset"] == "20ng (small.csv)"][-1] == "0.896"
    assert len(parsed[0]["scores"][0]["macro_f1_of_folds"]) == 2


def test_markdown_and_latex_are_well_formed(results: Path) -> None:
    groups = groups_of(results)
    lines = [line for line in TABLE_FORMATS["markdown"](groups).splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    latex = as_latex(groups)
    rows = [line for line in latex.splitlines() if line.endswith("\\\\")]
    assert len({row.count("&") - row.count("\\&") for row in rows}) == 1
    for command in ("\\toprule", "\\midrule", "\\bottomrule", "\\textbf{", "\\$x\\_1\\$"):
        assert command in latex
    assert latex.count("\\begin{") == latex.count("\\end{")


def test_the_order_of_the_papers_tables() -> None:
    cells = [cell_of("20ng", "tfcr", [0.5, 0.6], profile) for profile in ("published", "equations")]
    chosen = select(summarise(cells), table="2")
    assert [group.place.profile for group in chosen] == ["equations", "published"]
    assert select(summarise(cells), table="1") == []
    assert len(select(summarise(cells), profile="published")) == 1


def test_curves(results: Path, run: Run, tmp_path: Path) -> None:
    for kind, magic in {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}.items():
        target = tmp_path / f"curves.{kind}"
        shown = run("experiment", "curve", "--results", results, "-o", target)
        assert shown.status == 0, shown.err
        assert "2 panels written" in shown.out
        assert "on the whole dataset's text without labels" in shown.err
        first = target.read_bytes()
        assert first.startswith(magic)
        run("experiment", "curve", "--results", results, "-o", target)
        assert target.read_bytes() == first
    assert_refused(
        run("experiment", "curve", "--results", results, "-o", tmp_path / "x.png", "--head", "svm"), "no curve"
    )


def test_lines_differ_in_more_than_colour(results: Path) -> None:
    from tfcr.experiment import open_results
    from tfcr.report.curves import LOOKS, scheme_looks

    for part in zip(*LOOKS, strict=True):
        assert len(set(part)) == len(LOOKS)
    opened = open_results(results)
    [figure] = summarise_curves(opened.cells())
    opened.close()
    assert list(scheme_looks(figure)) == ["none", "tfidf", "kld", "tftrr", "tfcr"]
    curve = figure.panels["20ng (small.csv)"]["tfcr"]
    assert curve.sizes == [30, 60, 120]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attributes if name in ("src", "href", "xlink:href", "data")]


def test_the_page_is_self_contained_and_escaped(results: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    shown = run("experiment", "report", "--results", results, "-o", target)
    assert shown.status == 0, shown.err
    page = target.read_text("utf-8")
    found = Tags()
    found.feed(page)
    assert not {"script", "link", "iframe", "img"} & set(found.tags)
    assert all(link.startswith("#") for link in found.links)
    assert not re.search(r"url\((?!#)", page)
    assert found.tags.count("svg") == 1
    assert "b" not in found.tags
    assert "&lt;b&gt;&amp;$x_1$" in page
    for text in (
        "tfcr experiment run &lt;script&gt;",
        "tfcr experiment run --sizes 30,60,all",
        "without labels",
        "Profile equations",
        "numpy",
        ".896",
    ):
        assert text in page, text


def test_status(results: Path, run: Run) -> None:
    shown = run("experiment", "status", "--results", results)
    assert "all done" in shown.out
    parsed = json.loads(run("experiment", "status", "--results", results, "--json").out)
    assert [row["folds_done"] for row in parsed["rows"]] == [30, 30]
    assert parsed["folds_under_way"] == 0


def test_what_is_left(run: Run, tmp_path: Path) -> None:
    from tfcr.experiment import open_results

    opened = open_results(tmp_path / "r.sqlite", make=True)
    opened.add([cell_of("20ng", "tfcr", []).cell], 10)
    opened.close()
    assert "10 folds left, 0 of them under way" in run("experiment", "status", "--results", tmp_path / "r.sqlite").out
    assert_refused(run("experiment", "table", "--results", tmp_path / "r.sqlite"), "holds no finished cell")


def test_without_the_extra(results: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("tfcr.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in (["curve", "-o", tmp_path / "x.png"], ["report", "-o", tmp_path / "x.html"]):
        shown = run("experiment", *command, "--results", results)
        assert_refused(shown, "needs the extra 'report'; install it with: pip install 'tfcr.report.'")


def test_a_run_from_the_command_line(run: Run, data: Path, tmp_path: Path) -> None:
    code = "import numpy as np\ndef ones(counts):\n    return np.ones((len(counts.words), 1), np.float32)\n"
    (tmp_path / "mine.py").write_text(code)
    target = tmp_path / "r.sqlite"
    arguments = ["--datasets", f"20ng={data}", "--embeddings", f"wglove={data.with_name('vectors.vec')}"]
    arguments += ["--schemes", "none,tfcr", "--heads", "lr", "--folds", "2/5", "--profile", "equations,published"]
    arguments += ["--scheme-from", f"{tmp_path / 'mine.py'}:ones", "--processes", "1", "--results", str(target)]
    shown = run("experiment", "run", "--table", "2", *arguments)
    assert shown.status == 0, shown.err
    assert "6 cells, 12 folds: 0 were there, 12 run now" in shown.out
    assert json.loads(run("experiment", "run", *arguments, "--json").out)["folds_run"] == 0
    table = run("experiment", "table", "--results", target, "--table", "2", "--profile", "equations").out
    assert "wglove (vectors.vec, 24 words × 8 dimensions), lr, profile equations" in table
    assert "20ng: small.csv stands in for the paper's dataset" in table
    rows = json.loads(run("experiment", "table", "--results", target, "--json").out)
    scores = {row["scheme"]: row for row in rows[0]["scores"]}
    assert scores["ones"]["mean"] == scores["none"]["mean"]
    assert (scores["tfcr"]["published"], scores["ones"]["published"]) == (0.928, None)


def test_the_time_left_in_words() -> None:
    from tfcr.cli.experiment import _time

    assert [_time(seconds) for seconds in (None, 20, 600, 7500)] == [
        "",
        "about 20 s left",
        "about 10 min left",
        "about 2 h 5 min left",
    ]
