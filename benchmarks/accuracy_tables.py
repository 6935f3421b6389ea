"""What the accuracy benchmark prints: scores, tests of ours against the peers, and seconds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from measuring import versions
from systems import SYSTEMS

from tfcr import PRESETS
from tfcr.experiment.results.statistics import corrected_resampled_t
from tfcr.experiment.results.store import CellResult, FoldResult

BASELINE = "tfidf"
IN_DOMAIN = "-w2v"
"""What the column of a system with in-domain word2vec ends in."""
COLUMNS = (*SYSTEMS, f"best{IN_DOMAIN}")
TIMES = (("train", "cpu"), ("train", "wall"), ("predict", "cpu"), ("predict", "wall"))

Scores = dict[str, dict[str, CellResult]]
"""By dataset and column; only cells with a finished fold."""


@dataclass(frozen=True)
class Difference:
    """By how many points one system is above another on the folds that both have; p if there are several."""

    points: float
    p: float | None

    def shown(self) -> str:
        """Return it for people."""
        return f"{self.points:+.2f} | {'' if self.p is None else f'{self.p:.3f}'}"


def collect(
    found: Iterable[CellResult],
    folds: Mapping[str, tuple[int, int]],
    systems: Sequence[str],
    size: int | None,
    thin: float | None,
) -> Scores:
    """Return the newest results by dataset and column; `folds` are those of each dataset, and how many are wanted."""
    newest: dict[tuple[str, str], CellResult] = {}
    for result in found:
        cell, settings = result.cell, result.cell.settings
        n_folds, first = folds.get(cell.dataset, (0, 0))
        rows = tuple(row for row in result.folds if row.fold < first)
        if rows and (settings.folds, settings.size, settings.thin) == (n_folds, size, thin):
            column = cell.scheme + (IN_DOMAIN if settings.word2vec else "")
            newest[cell.dataset, column] = CellResult(cell, first, rows)
    return {
        dataset: {name: newest[dataset, name] for name in systems if (dataset, name) in newest}
        for dataset in folds
        if any(known == dataset for known, _ in newest)
    }


def is_ours(column: str) -> bool:
    return column.removesuffix(IN_DOMAIN) in PRESETS


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
        "Seconds per fold, with picking, without loading or training vectors:",
        table(["dataset", "system", *(f"{part}, {by}" for part, by in TIMES)], time_rows(scores)),
        f"Versions: {shown}.",
    ]
    return "\n\n".join(parts)


def table(header: Sequence[str], rows: Iterable[str]) -> str:
    """Return a Markdown table of ready rows."""
    return "\n".join([f"| {' | '.join(header)} |", "|---" * len(header) + "|", *(f"| {row} |" for row in rows)])


def systems_of(scores: Scores) -> list[str]:
    """Return the columns that have results, in the order of COLUMNS."""
    return [name for name in COLUMNS if any(name in row for row in scores.values())]


def score_rows(scores: Scores) -> Iterable[str]:
    for dataset, row in scores.items():
        best = max(row, key=lambda name: mean_of(row[name]))
        cells = [_score(row[name], name == best) if name in row else "" for name in systems_of(scores)]
        yield " | ".join([dataset, *cells])


def _score(result: CellResult, best: bool) -> str:
    mean = f"{mean_of(result):.4f}"
    std = np.std([row.macro_f1 for row in result.folds])
    done = "" if len(result.folds) == result.wanted else f" ({len(result.folds)} of {result.wanted} folds)"
    return f"{f'**{mean}**' if best else mean} ± {std:.4f}{done}"


def comparison_rows(scores: Scores) -> Iterable[str]:
    for dataset, row in scores.items():
        peers = {name: result for name, result in row.items() if not is_ours(name)}
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


def mean_seconds(folds: Sequence[FoldResult]) -> dict[str, float]:
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
            "settings": result.cell.settings.to_json(),
        }
        for dataset, row in scores.items()
        for name, result in row.items()
    ]
