"""What the accuracy benchmark prints: scores, tests of ours against the peers, averages, the learning curve, CPU time.

A row is a dataset with a training size or class sizes. Points of the learning curve have a table of their own, and do
not count in tests and averages: only rows with FEW documents per class do.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from measuring import versions
from systems import SYSTEMS

from tfcr import PRESETS
from tfcr.experiment import ClassSizes
from tfcr.experiment.results.statistics import corrected_resampled_t, holm
from tfcr.experiment.results.store import CellResult, FoldResult

FEW = 10
"""Documents per class of the smallest rows."""
SMALL = 1000
"""Training documents at which averages over small rows end, and those over large ones begin."""
SIGNIFICANT = 0.05
IN_DOMAIN = "-w2v"
"""What the column of a system with in-domain word2vec ends in."""
COLUMNS = (*SYSTEMS, f"best{IN_DOMAIN}")
TIMES = (("train", "cpu"), ("train", "wall"), ("predict", "cpu"), ("predict", "wall"))


@dataclass(frozen=True)
class Row:
    """A row of the table: what was trained on."""

    dataset: str
    size: int | None
    class_sizes: ClassSizes | None
    folds: int

    @property
    def name(self) -> str:
        """The row's title."""
        size = f"{self.size:,} documents" if self.size else ""
        classes = self.class_sizes.described() if self.class_sizes else ""
        return ", ".join(filter(None, (self.dataset, size, classes)))

    @property
    def is_balanced(self) -> bool:
        """Whether each class has the same number of training documents: a point of the learning curve."""
        return bool(self.class_sizes and self.class_sizes.most and not self.class_sizes.zipf and not self.size)

    @property
    def counts(self) -> bool:
        """Whether the row counts in tests and averages."""
        return not self.is_balanced or (self.class_sizes is not None and self.class_sizes.most == FEW)

    def place(self) -> tuple[Any, ...]:
        """Return what rows are sorted by: few documents per class, small training sizes, skewed classes, all."""
        classes = self.class_sizes or ClassSizes()
        kind = (not self.class_sizes and not self.size, bool(classes.zipf), bool(self.size))
        return (*kind, self.size or 0, classes.zipf, classes.most or 0)


Scores = dict[Row, dict[str, CellResult]]
"""By row and column; only cells with a finished fold."""


@dataclass(frozen=True)
class Difference:
    """By how many points one system is above another on the folds that both have; p if there are several."""

    points: float
    p: float | None

    @property
    def is_significant(self) -> bool:
        """Whether chance alone rarely gives such a difference."""
        return self.p is not None and self.p < SIGNIFICANT

    def shown(self) -> str:
        """Return it for people."""
        text = f"{self.points:+.2f}" + ("" if self.p is None else f" ({self.p:.3f})")
        return f"**{text}**" if self.is_significant else text


def collect(found: Iterable[CellResult], systems: Sequence[str] = COLUMNS) -> Scores:
    """Return the newest results by row and column, in the order of rows and of columns."""
    newest: Scores = {}
    for result in found:
        cell, settings = result.cell, result.cell.settings
        if result.folds and not cell.of_paper:
            row = Row(cell.dataset, settings.size, settings.class_sizes, settings.folds)
            newest.setdefault(row, {})[cell.scheme + (IN_DOMAIN if settings.word2vec else "")] = result
    order = {dataset: number for number, dataset in enumerate(dict.fromkeys(row.dataset for row in newest))}
    scores = {
        row: {name: newest[row][name] for name in systems if name in newest[row]}
        for row in sorted(newest, key=lambda row: (*row.place(), order[row.dataset]))
    }
    return {row: cells for row, cells in scores.items() if cells}


def is_ours(column: str) -> bool:
    return column.removesuffix(IN_DOMAIN) in PRESETS


def systems_of(scores: Scores) -> list[str]:
    """Return the columns that have results, in the order of COLUMNS."""
    return [name for name in COLUMNS if any(name in cells for cells in scores.values())]


def mean_of(result: CellResult) -> float:
    return float(np.mean([row.macro_f1 for row in result.folds]))


def documents_of(cells: Mapping[str, CellResult]) -> int:
    """Return the number of training documents of a row."""
    return round(np.mean([row.train_documents for result in cells.values() for row in result.folds]))


# tests ---------------------------------------------------------------------------------------------------------------


def compare(one: CellResult, two: CellResult) -> Difference | None:
    """Compare two systems fold by fold.

    The test corrects for training sets that overlap, by the ratio of test to training documents of the folds. A part of
    the training fold overlaps less, if at all, so that the ratio of the whole folds is enough for it too.
    """
    ours, theirs = ({row.fold: row.macro_f1 for row in result.folds} for result in (one, two))
    common = sorted(set(ours) & set(theirs))
    if not common:
        return None
    a, b = ([rows[fold] for fold in common] for rows in (ours, theirs))
    test_to_train = 1 / (one.cell.settings.folds - 1)
    p = corrected_resampled_t(a, b, test_to_train)[1] if len(common) > 1 else None
    return Difference(100 * float(np.mean(a) - np.mean(b)), p)


def compare_rows(scores: Scores, ours: str, peer: str) -> dict[Row, Difference]:
    """Compare two systems on all rows that count and that both have; Holm's method corrects p over these rows."""
    found = {
        row: difference
        for row, cells in scores.items()
        if row.counts and {ours, peer} <= set(cells) and (difference := compare(cells[ours], cells[peer]))
    }
    tested = {row: difference.p for row, difference in found.items() if difference.p is not None}
    corrected = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {row: replace(difference, p=corrected.get(row)) for row, difference in found.items()}


def pairs_of(scores: Scores) -> list[tuple[str, str]]:
    """Return each of our systems with each peer."""
    names = systems_of(scores)
    return [(ours, peer) for ours in names if is_ours(ours) for peer in names if not is_ours(peer)]


# tables --------------------------------------------------------------------------------------------------------------


def markdown_of(scores: Scores) -> str:
    """Return all tables, what they come to first."""
    shown = ", ".join(f"{name} {number}" for name, number in versions().items())
    parts = [
        *_averages(scores),
        "### Scores",
        "Macro-F1, mean ± standard deviation over the folds.",
        table(_header(systems_of(scores)), score_rows(scores)),
        *_curve(scores),
        *_tests(scores),
        *_times(scores),
        f"Versions: {shown}.",
    ]
    return "\n\n".join(parts)


def _averages(scores: Scores) -> Iterable[str]:
    names, averages = systems_of(scores), list(average_rows(scores))
    yield "### On average"
    if averages:
        yield (
            "Average difference over the rows, in points, with the number of rows; and on how many rows ours is "
            "significantly above and below."
        )
        yield table(["ours", "peer", *(name for name, _ in SELECTIONS), "above", "below"], averages)
    yield "Mean macro-F1 over the rows that all of these systems have:"
    yield table(["rows", "number", *names], mean_rows(scores))


def _curve(scores: Scores) -> Iterable[str]:
    if any(row.is_balanced for row in scores):
        yield "### Learning curve"
        yield "Macro-F1 by training documents per class."
        yield table(["dataset", "per class", *systems_of(scores)], curve_rows(scores))


def _tests(scores: Scores) -> Iterable[str]:
    for ours in filter(is_ours, systems_of(scores)):
        peers = [peer for one, peer in pairs_of(scores) if one == ours]
        if peers:
            yield f"### `{ours}` against each peer"
            yield (
                "Points of macro-F1, and p of the corrected resampled t-test with Holm's correction over the rows; "
                f"bold if below {SIGNIFICANT}."
            )
            yield table(["row", *peers], test_rows(scores, ours, peers))


def _times(scores: Scores) -> Iterable[str]:
    yield "### CPU time"
    for part, what in (
        ("train", "of training, with picking, without loading or training vectors"),
        ("predict", "of prediction"),
    ):
        yield f"CPU seconds per 1,000 documents {what}:"
        yield table(["row", "training documents", *systems_of(scores)], time_rows(scores, part))


def table(header: Sequence[str], rows: Iterable[str]) -> str:
    """Return a Markdown table of ready rows."""
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", *(f"| {row} |" for row in rows)])


def _header(names: Sequence[str]) -> list[str]:
    return ["row", "training documents", "classes", *names]


def score_rows(scores: Scores) -> Iterable[str]:
    for row, cells in scores.items():
        if row.counts:
            classes = len(next(iter(cells.values())).cell.facts.classes)
            yield " | ".join([row.name, f"{documents_of(cells):,}", str(classes), *_scores(cells, systems_of(scores))])


def _scores(cells: Mapping[str, CellResult], names: Sequence[str]) -> list[str]:
    best = max(cells, key=lambda name: mean_of(cells[name]))
    return [_score(cells[name], name == best) if name in cells else "" for name in names]


def _score(result: CellResult, best: bool) -> str:
    mean = f"{mean_of(result):.4f}"
    std = np.std([row.macro_f1 for row in result.folds])
    done = "" if len(result.folds) == result.wanted else f" ({len(result.folds)} of {result.wanted} folds)"
    return f"{f'**{mean}**' if best else mean} ± {std:.4f}{done}"


def test_rows(scores: Scores, ours: str, peers: Sequence[str]) -> Iterable[str]:
    found = {peer: compare_rows(scores, ours, peer) for peer in peers}
    for row in scores:
        differences = [found[peer].get(row) for peer in peers]
        if any(differences):
            yield " | ".join([row.name, *(one.shown() if one else "" for one in differences)])


SELECTIONS: tuple[tuple[str, Callable[[int], bool]], ...] = (
    ("all rows", lambda documents: True),
    (f"{SMALL:,} documents or fewer", lambda documents: documents <= SMALL),
    (f"{SMALL:,} documents or more", lambda documents: documents >= SMALL),
)
"""Which rows are averaged, by their number of training documents."""


def average_rows(scores: Scores) -> Iterable[str]:
    for ours, peer in pairs_of(scores):
        found = compare_rows(scores, ours, peer)
        if found:
            averages = [
                _average([one.points for row, one in found.items() if chosen(documents_of(scores[row]))])
                for _, chosen in SELECTIONS
            ]
            significant = [one.points > 0 for one in found.values() if one.is_significant]
            yield " | ".join([ours, peer, *averages, str(sum(significant)), str(len(significant) - sum(significant))])


def _average(points: Sequence[float]) -> str:
    return f"{np.mean(points):+.2f} ({len(points)})" if points else ""


def mean_rows(scores: Scores) -> Iterable[str]:
    names = systems_of(scores)
    common = {row: cells for row, cells in scores.items() if row.counts and set(names) <= set(cells)}
    for what, chosen in SELECTIONS:
        rows = [cells for cells in common.values() if chosen(documents_of(cells))]
        if rows:
            means = [np.mean([mean_of(cells[name]) for cells in rows]) for name in names]
            yield " | ".join([what, str(len(rows)), *(f"{mean:.4f}" for mean in means)])


def time_rows(scores: Scores, part: str) -> Iterable[str]:
    for row, cells in scores.items():
        if row.counts:
            shown = [
                f"{cpu_per_thousand(cells[name], part):.3g}" if name in cells else "" for name in systems_of(scores)
            ]
            yield " | ".join([row.name, f"{documents_of(cells):,}", *shown])


def cpu_per_thousand(result: CellResult, part: str) -> float:
    """Return the CPU seconds of a part, ``train`` or ``predict``, for each thousand of its documents."""
    timed = [row for row in result.folds if part in row.details]
    documents = sum(row.train_documents if part == "train" else row.test_documents for row in timed)
    return 1000 * sum(float(row.details[part]["cpu"]) for row in timed) / max(documents, 1)


def curve_rows(scores: Scores) -> Iterable[str]:
    points = [row for row in scores if row.is_balanced]
    for dataset in dict.fromkeys(row.dataset for row in points):
        for row in (row for row in points if row.dataset == dataset):
            most = row.class_sizes.most if row.class_sizes else None
            yield " | ".join([dataset, f"{most:,}", *_scores(scores[row], systems_of(scores))])


# data ----------------------------------------------------------------------------------------------------------------


def mean_seconds(folds: Sequence[FoldResult]) -> dict[str, float]:
    timed = [row for row in folds if "train" in row.details]
    return {f"{part} {by}": float(np.mean([row.details[part][by] for row in timed])) for part, by in TIMES if timed}


def data_of(scores: Scores) -> list[Mapping[str, Any]]:
    """Return what goes to the JSON file."""
    return [
        {
            "row": row.name,
            "dataset": row.dataset,
            "system": name,
            "macro_f1": mean_of(result),
            "folds": {one.fold: one.macro_f1 for one in result.folds},
            "picked": {one.fold: one.details.get("picked") for one in result.folds},
            "seconds": mean_seconds(result.folds),
            "settings": result.cell.settings.to_json(),
        }
        for row, cells in scores.items()
        for name, result in cells.items()
    ]
