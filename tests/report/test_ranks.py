"""The critical-difference diagram, drawn and as a command."""

from pathlib import Path

import pytest

from tests.experiment.conftest import Run, assert_refused, cell_of
from tfcr.experiment import open_results
from tfcr.experiment.results.statistics import Ranking, rank_schemes
from tfcr.experiment.results.store import CellResult
from tfcr.experiment.results.summary import ranking_of, summarise
from tfcr.report import draw_ranks
from tfcr.report.drawing import PICTURE_FORMATS
from tfcr.report.page import report_page

SCHEMES = {"none": 0.5, "kld": 0.6, "tfcr": 0.7}


def cells_of(n_datasets: int) -> list[CellResult]:
    return [
        cell_of(f"data{number}", scheme, [score, score + 0.01 * number])
        for number in range(n_datasets)
        for scheme, score in SCHEMES.items()
    ]


def ranking() -> Ranking:
    [group] = summarise(cells_of(7))
    found = ranking_of(group)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", PICTURE_FORMATS)
def test_the_same_ranks_give_the_same_file(kind: str) -> None:
    first = draw_ranks(ranking(), kind, "made up")
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])
    assert draw_ranks(ranking(), kind, "made up") == first


def test_names_from_data_are_drawn_as_they_are() -> None:
    odd = rank_schemes({"$x_1$ \x1b": [0.5] * 6, "b" * 99: [0.6] * 6})
    assert draw_ranks(odd, "svg", "$\\frac$").startswith(b"<?xml")


def test_ranks_need_six_datasets() -> None:
    [group] = summarise(cells_of(5))
    assert ranking_of(group) is None
    assert list(ranking().ranks.items()) == [("tfcr", 1.0), ("kld", 2.0), ("none", 3.0)]


def store(path: Path, cells: list[CellResult]) -> Path:
    opened = open_results(path, make=True)
    opened.add([result.cell for result in cells], 2)
    with opened.running("made up") as run:
        for result in cells:
            for row in result.folds:
                run.finish(result.cell.key, row)
    opened.close()
    return path


def test_the_command(run: Run, tmp_path: Path) -> None:
    path = store(tmp_path / "r.sqlite", cells_of(6))
    shown = run("experiment", "ranks", "--results", path, "-o", tmp_path / "ranks.svg")
    assert shown.status == 0, shown.err
    assert shown.out.startswith("1.00  tfcr\n2.00  kld\n3.00  none\ncritical difference 1.35 over 6 datasets\n")
    assert (tmp_path / "ranks.svg").read_bytes().startswith(b"<?xml")
    few = store(tmp_path / "few.sqlite", cells_of(2))
    asked = ("experiment", "ranks", "--results", few, "-o", tmp_path / "x.svg")
    assert_refused(run(*asked), "found 2 datasets in gw2v .*; expected 6 or more that have all columns: run more")
    assert_refused(run(*asked, "--head", "svm"), "holds no table with two columns or more; run: tfcr experiment run")


def test_the_page_shows_it(tmp_path: Path) -> None:
    opened = open_results(store(tmp_path / "r.sqlite", cells_of(6)))
    page = report_page(opened)
    opened.close()
    assert 'alt="Critical-difference diagram: gw2v (gw2v), lr, profile equations"' in page
    assert "Cohen&#39;s d" in page
    assert "rank-biserial correlation 1.00" in page
