"""What the accuracy benchmark prints: scores, tests of ours against the peers, and seconds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from measuring import versions
from systems import SYSTEMS

from tfcr.experiment.results.statistics import corrected_resampled_t
from tfcr.experiment.results.store import CellResult, FoldRow

BASELINE = "tfidf"
TIMES = (("train", "cpu"), ("train", "wall"), ("predict", "cpu"), ("predict", "wall"))

Scores = dict[str, dict[str, CellResult]]
"""By dataset and system; only cells with a finished fold."""


@dataclass(frozen=True)
class Difference:
    """By how many points one system is above another on the folds that both have; p where there are several."""

    points: float
    p: float | None

    def shown(self) -> str:
        """Return it for people."""
        return f"{self.points:+.2f} | {'' if self.p is None else f'{self.p:.3f}'}"


def collect(found: Iterable[CellResult], wanted: Mapping[str, int]) -> Scores:
    """Return the results of these cells, in the order of their keys; of each the first folds that are wanted."""
    by_key = {result.cell.key: result for result in found}
    scores: Scores = {}
    for key, first in wanted.items():
        if key in by_key and (folds := tuple(row for row in by_key[key].folds if row.fold < first)):
            cell = by_key[key].cell
            scores.setdefault(cell.dataset, {})[cell.scheme] = CellResult(cell, first, folds)
    return scores


def mean_of(result: CellResult) -> float:
    return float(np.mean([row.macro_f1 for row in result.folds]))


def compare(one: CellResult, two: CellResult) -> Difference | None:
    """Compare two systems fold by fold."""
    ours, theirs = ({row.fold: row for row in result.folds} for result in (one, two))
    common = sorted(set(ours) & set(theirs))
    if not common:
        return None
    a, b = ([rows[fold].macro_f1 for fold in common] for rows in (ours, theirs))
    test_to_train = float(np.mean([ours[fold].test_documents / ours[fold].train_documents for fold in common]))
    p = corrected_resampled_t(a, b, test_to_train)[1] if len(common) > 1 else None
    return Difference(100 * float(np.mean(a) - np.mean(b)), p)


# tables --------------------------------------------------------------------------------------------------------------


def markdown_of(scores: Scores, title: str) -> str:
    """Return all tables."""
    shown = ", ".join(f"{name} {number}" for name, number in versions().items())
    parts = [
        title,
        table(["dataset", *systems_of(scores)], score_rows(scores)),
        "Ours against TF-IDF and against the best peer: points of macro-F1, p of the corrected resampled t-test.",
        table(["dataset", "system", f"to `{BASELINE}`", "p", "best peer", "to it", "p"], comparison_rows(scores)),
        f"Average difference to `{BASELINE}`, in points:",
        table(["system", "points", "datasets"], average_rows(scores)),
        "Seconds a fold, picking included:",
        table(["dataset", "system", *(f"{part}, {by}" for part, by in TIMES)], time_rows(scores)),
        f"Versions: {shown}.",
    ]
    return "\n\n".join(parts)


def table(header: Sequence[str], rows: Iterable[str]) -> str:
    """Return a Markdown table of ready rows."""
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", *(f"| {row} |" for row in rows)])


def systems_of(scores: Scores) -> list[str]:
    """Return the systems that have results, in the order of SYSTEMS."""
    return [name for name in SYSTEMS if any(name in row for row in scores.values())]


def score_rows(scores: Scores) -> Iterable[str]:
    for dataset, row in scores.items():
        best = max(row, key=lambda name: mean_of(row[name]))
        cells = [_score(row[name], name == best) if name in row else "" for name in systems_of(scores)]
        yield " | ".join([dataset, *cells])


def _score(result: CellResult, best: bool) -> str:
    mean = f"{mean_of(result):.4f}"
    spread = np.std([row.macro_f1 for row in result.folds])
    done = "" if len(result.folds) == result.wanted else f" ({len(result.folds)} of {result.wanted} folds)"
    return f"{f'**{mean}**' if best else mean} ± {spread:.4f}{done}"


def comparison_rows(scores: Scores) -> Iterable[str]:
    for dataset, row in scores.items():
        peers = {name: result for name, result in row.items() if not SYSTEMS[name].ours}
        best = max(peers, key=lambda name: mean_of(peers[name]), default=None)
        for name in (name for name in row if name not in peers):
            against = [compare(row[name], peers[peer]) if peer in peers else None for peer in (BASELINE, best)]
            first, second = (found.shown() if found else " | " for found in against)
            yield f"{dataset} | {name} | {first} | {best or ''} | {second}"


def average_rows(scores: Scores) -> Iterable[str]:
    for name in systems_of(scores):
        both = [row for row in scores.values() if name in row and BASELINE in row]
        found = [difference.points for row in both if (difference := compare(row[name], row[BASELINE]))]
        if found and name != BASELINE:
            yield f"{name} | {np.mean(found):+.2f} | {len(found)}"


def time_rows(scores: Scores) -> Iterable[str]:
    for dataset, row in scores.items():
        for name, result in row.items():
            seconds = mean_seconds(result.folds)
            yield " | ".join([dataset, name, *(f"{value:.2f}" for value in seconds.values())])


def mean_seconds(folds: Sequence[FoldRow]) -> dict[str, float]:
    return {f"{part} {by}": float(np.mean([row.details[part][by] for row in folds])) for part, by in TIMES}


def data_of(scores: Scores) -> list[Mapping[str, Any]]:
    """Return what goes to the JSON file."""
    return [
        {
            "dataset": dataset,
            "system": name,
            "macro_f1": mean_of(result),
            "folds": {row.fold: row.macro_f1 for row in result.folds},
            "picked": {row.fold: row.details["picked"] for row in result.folds},
            "seconds": mean_seconds(result.folds),
            "settings": result.cell.settings,
        }
        for dataset, row in scores.items()
        for name, result in row.items()
    ]
