"""Tables in every format."""

import csv
import io
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
from tfcr.experiment.results.printing import write_difference, write_score
from tfcr.experiment.results.summary import Group, summarise
from tfcr.experiment.results.tables import (
    TABLE_FORMATS,
    select,
)


def groups_of(path: Path) -> list[Group]:
    opened = open_results(path)
    cells = opened.cells()
    opened.close()
    return summarise(cells)


def test_how_numbers_are_written() -> None:
    assert [write_score(value) for value in (0.5, 0.0004, 1.0, None)] == [".500", ".000", "1.000", "–"]
    assert [write_difference(value) for value in (0.018, -0.02, None)] == ["+.018", "−.020", "–"]


@pytest.mark.parametrize("name", TABLE_FORMATS)
def test_every_format(name: str, finished: Path, run: Run) -> None:
    shown = run("experiment", "table", "--results", finished, "--format", name)
    assert shown.status == 0, shown.err
    assert "tfcr" in shown.out
    if name != "csv":
        assert "on the whole dataset's text without labels" in shown.out, name


def test_tables_that_are_not_there(finished: Path, run: Run) -> None:
    assert run("experiment", "table", "--results", finished, "--table", 2).status == 2
    assert_refused(run("experiment", "table", "--results", finished, "--profile", "published"), "no finished cell")


def test_csv_and_json_can_be_read_again(finished: Path) -> None:
    groups = groups_of(finished)
    rows = list(csv.DictReader(io.StringIO(TABLE_FORMATS["csv"](groups))))
    parsed = json.loads(TABLE_FORMATS["json"](groups))
    assert len(rows) == len(parsed[0]["scores"]) == 10
    assert float(rows[0]["mean"]) == parsed[0]["scores"][0]["mean"]
    assert {row["published"] for row in rows if row["dataset"].startswith("<b>")} == {""}
    assert [row["published"] for row in rows if row["dataset"] == "20ng (small.csv)"][-1] == "0.896"
    assert len(parsed[0]["scores"][0]["macro_f1_of_folds"]) == 2


def test_markdown_is_well_formed(finished: Path) -> None:
    lines = [line for line in TABLE_FORMATS["markdown"](groups_of(finished)).splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1


@pytest.mark.parametrize("name", ["text", "markdown", "latex", "paper"])
def test_what_tables_show_is_said_in_words(name: str) -> None:
    cells = [cell_of("20ng", scheme, [score, score]) for scheme, score in (("tfcr", 0.9), ("kld", 0.5))]
    assert "tfcr is best on 20ng, with a macro-F1 of 0.900." in TABLE_FORMATS[name](summarise(cells))


def test_the_order_of_the_papers_tables() -> None:
    cells = [cell_of("20ng", "tfcr", [0.5, 0.6], profile) for profile in ("published", "equations")]
    chosen = select(summarise(cells), table="2")
    assert [group.place.profile for group in chosen] == ["equations", "published"]
    assert select(summarise(cells), table="1") == []
    assert len(select(summarise(cells), profile="published")) == 1
