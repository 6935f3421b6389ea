"""Columns of times: dates, times, years and seconds, and what is none of these."""

from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tfcr.data import read_corpus
from tfcr.data.times import read_times
from tfcr.errors import DataError

EAST = timezone(timedelta(hours=2))
NOON = datetime(2024, 5, 31, 12)
READ: dict[str, tuple[list[Any], list[Any]]] = {
    "years": (["2019", " 2020", "1999"], [2019, 2020, 1999]),
    "seconds": ([1577836800.5, 0.0], [1577836800.5, 0.0]),
    "seconds as text": (["1577836800", "1.5e9"], [1577836800, 1.5e9]),
    "dates": (["2024-05-31", "2024-06-01"], [date(2024, 5, 31), date(2024, 6, 1)]),
    "times": (["2024-05-31T12:00:00Z", "2024-05-31"], [NOON, datetime(2024, 5, 31)]),
    "zones": (["2024-05-31 14:00+02:00", "2024-05-31 12:00"], [NOON, NOON]),
    "typed dates": ([date(2024, 5, 31), date(2023, 1, 1)], [date(2024, 5, 31), date(2023, 1, 1)]),
    "typed times": ([datetime(2024, 5, 31, 14, tzinfo=EAST)], [NOON]),
}


@pytest.mark.parametrize("kind", READ)
def test_times_are_read(kind: str) -> None:
    cells, expected = READ[kind]
    found = read_times([pl.Series("when", cells)], range(len(cells)), "a.csv")
    assert found == expected
    assert len(set(map(type, found)) - {int, float}) <= 1


NO_TIMES: dict[str, tuple[list[Any], str]] = {
    "another order": (["2024-05-31", "31/05/2024"], "found '31/05/2024' in the column 'when', row 2; expected numbers"),
    "words": (["soon", "later"], "found 'soon' in the column 'when', row 1"),
    "an empty cell": (["2019", None, "2020"], "found None in the column 'when', row 2"),
    "not a number": (["2019", "nan"], "found 'nan' in the column 'when', row 2"),
    "both kinds": (["2019", "2020", "2024-05-31"], "found '2024-05-31' in the column 'when', row 3"),
    "a long number": (["2019", "9" * 400], "found '999.* in the column 'when', row 2"),
    "before all times": (["2024-05-31", "0001-01-01T00:00:00+14:00"], "found '0001.* in the column 'when', row 2"),
    "flags": ([True, False], "found True in the column 'when', row 1"),
    "lists": ([[1], [2]], "found .* in the column 'when', row 1"),
}


@pytest.mark.parametrize("kind", NO_TIMES)
def test_the_first_row_without_a_time_is_named(kind: str) -> None:
    cells, message = NO_TIMES[kind]
    with pytest.raises(DataError, match=message):
        read_times([pl.Series("when", cells, strict=False)], range(len(cells)), "a.csv")


def test_rows_that_do_not_count_need_no_time(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label,when\ngood,x,2020\n,x,never\nbad,y,2019\n")
    (tmp_path / "b.csv").write_text("text,label,when\nfine,x,2021\n")
    corpus = read_corpus(tmp_path / "a.csv", tmp_path / "b.csv", time="when")
    assert (corpus.times, corpus.rows) == ([2020, 2019, 2021], [1, 3, 4])
    assert corpus.take([2]).times == [2021]
    assert "time: when" in corpus.notes[0]
    (tmp_path / "b.csv").write_text("text,label,when\nfine,x,soon\n")
    with pytest.raises(DataError, match="found 'soon' in the column 'when', row 4"):
        read_corpus(tmp_path / "a.csv", tmp_path / "b.csv", time="when")
    with pytest.raises(DataError, match="unknown column for --time 'date'"):
        read_corpus(tmp_path / "a.csv", time="date")


def test_a_column_of_times_is_neither_text_nor_label(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("body,queue,date\ngood film,x,2020-01-01\nbad film,y,2020-01-02\n")
    assert read_corpus(tmp_path / "a.csv", time="date").labels == ["x", "y"]
