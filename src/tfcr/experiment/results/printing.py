"""How scores are written, and the rows of a table as every format prints them."""

from collections.abc import Callable
from dataclasses import dataclass

from tfcr.experiment.results.statistics import Comparison
from tfcr.experiment.results.summary import Group, Score


@dataclass(frozen=True)
class Line:
    """A line of a dataset's rows: its title, and how each score is written."""

    name: str
    write: Callable[[Score], str]


def write_score(value: float | None) -> str:
    """Write a score as the paper does.

    Examples
    --------
    >>> write_score(0.9116), write_score(1), write_score(None)
    ('.912', '1.000', '–')
    """
    return "–" if value is None else f"{value:.3f}".removeprefix("0")


def write_difference(value: float | None) -> str:
    """Write a difference with its sign."""
    return "–" if value is None else f"{value:+.3f}".replace("+0", "+").replace("-0", "−")


def _write_mean(score: Score) -> str:
    part = "" if len(score.folds) == score.wanted else f" ({len(score.folds)}/{score.wanted})"
    return f"{write_score(score.mean)} ±{write_score(score.std)}{part}"


LINES: dict[str, Line] = {
    "mean": Line("mean ± std", _write_mean),
    "pooled": Line("pooled", lambda score: write_score(score.pooled)),
    "published": Line("published", lambda score: write_score(score.published)),
    "difference": Line("difference", lambda score: write_difference(score.difference)),
}


ABOUT = ("folds", "documents", "vectors for")
"""Columns after the scores: what a row was measured on."""
_HEADLINES = {"mean": "mean of", "pooled": "over the pooled predictions of"}


@dataclass(frozen=True)
class Row:
    """A printed row: its dataset, the line's title, its cells, and the number of the best cell, if it is marked."""

    dataset: str
    line: str
    cells: list[str]
    winner: int | None


@dataclass(frozen=True)
class Printed:
    """A table as it is printed."""

    title: str
    columns: list[str]
    rows: list[Row]
    tests: tuple[Comparison, ...]
    notes: list[str]


def printed(group: Group) -> Printed:
    """Lay out a table: for each dataset, our scores, the published ones, and the difference."""
    rows = []
    headline = group.place.headline
    shown = {name: line for name, line in LINES.items() if is_shown(name, group)}
    for dataset, scores in group.rows.items():
        winner = group.columns.index(group.winner(dataset))
        for number, (name, line) in enumerate(shown.items()):
            cells = [line.write(scores[column]) if column in scores else "–" for column in group.columns]
            about = [group.folds_of(dataset), group.sample_of(dataset), coverage_of(scores)]
            head = dataset if number == 0 else ""
            cells += about if number == 0 else [""] * len(about)
            rows.append(Row(head, line.name, cells, winner if name == headline else None))
    notes = [
        f"macro-F1, {_HEADLINES[headline]} the folds that each row names; the best of each row is marked, and the "
        "difference is our score minus the published one",
        *group.notes,
    ]
    return Printed(group.place.title, ["dataset", "", *group.columns, *ABOUT], rows, group.tests, notes)


def is_shown(line: str, group: Group) -> bool:
    """Return whether a line has anything to show in a table."""
    if line not in ("published", "difference"):
        return True
    return any(score.published is not None for row in group.rows.values() for score in row.values())


def coverage_of(scores: dict[str, Score]) -> str:
    """Return how much of a dataset has vectors, in words; empty if no column uses any."""
    some = next((score for score in scores.values() if score.coverage_words), None)  # not every system has vectors
    return f"{some.coverage_tokens:.0%} of tokens, {some.coverage_words:.0%} of words" if some else ""
