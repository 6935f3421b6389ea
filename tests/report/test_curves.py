"""Learning curves."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiment.conftest import (
    Run,
    assert_refused,
    cell_of,
    changed_cell,
)
from tfcr.experiment import (
    open_results,
)
from tfcr.experiment.results.summary import Figure, summarise_curves
from tfcr.report.curves import LOOKS, _draw, draw_curves, in_papers_order, scheme_looks
from tfcr.report.drawing import PICTURE_FORMATS


def small_figure() -> Figure:
    whole = cell_of("20ng", "tfcr", [0.6, 0.8])
    small = changed_cell(whole, key="small", settings=replace(whole.cell.settings, size=90))
    small = replace(small, folds=tuple(replace(row, train_documents=90) for row in small.folds))
    [figure] = summarise_curves([small, whole])
    return figure


@pytest.mark.parametrize("kind", PICTURE_FORMATS)
def test_the_same_curves_give_the_same_file(kind: str) -> None:
    first = draw_curves(small_figure(), kind)
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])
    assert draw_curves(small_figure(), kind) == first


def test_panels_stand_in_the_papers_order_four_in_a_row() -> None:
    figure = small_figure()
    panel = figure.panels["20ng"]
    names = ["mine", "semeval", "hate (davidson)", "dbpedia, 90 of 100 documents", "20ng"]
    many = replace(figure, panels=dict.fromkeys(names, panel))
    assert in_papers_order(many) == [*names[:0:-1][:1], names[3], names[2], names[1], names[0]]
    picture = _draw(many)
    assert [axes.get_title() for axes in picture.axes if axes.axison] == in_papers_order(many)
    assert [axes.get_xlabel() for axes in picture.axes[:5]] == ["", *["training documents"] * 4]
    assert [axes.get_ylabel() for axes in picture.axes[:5]] == ["macro-F1", "", "", "", "macro-F1"]


def test_the_command(finished: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "curves.svg"
    shown = run("experiment", "curve", "--results", finished, "-o", target)
    assert shown.status == 0, shown.err
    assert "2 panels written" in shown.out
    assert "on the whole dataset's text without labels" in shown.err
    assert target.read_bytes().startswith(b"<?xml")
    assert_refused(
        run("experiment", "curve", "--results", finished, "-o", tmp_path / "x.png", "--head", "svm"), "no curve"
    )


def test_lines_differ_in_more_than_colour(finished: Path) -> None:
    for part in zip(*LOOKS, strict=True):
        assert len(set(part)) == len(LOOKS)
    opened = open_results(finished)
    [figure] = summarise_curves(opened.cells())
    opened.close()
    assert list(scheme_looks(figure)) == ["none", "tfidf", "kld", "tftrr", "tfcr"]
    curve = figure.panels["20ng (small.csv)"]["tfcr"]
    assert curve.sizes == [30, 60, 120]


def test_without_the_extra(finished: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("tfcr.report")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in (["curve", "-o", tmp_path / "x.png"], ["report", "-o", tmp_path / "x.html"]):
        shown = run("experiment", *command, "--results", finished)
        assert_refused(shown, "needs the extra 'report'; install it with: pip install 'tfcr.report.'")
