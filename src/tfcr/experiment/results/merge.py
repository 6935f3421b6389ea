"""Join files of results: those of job arrays, say, where each job wrote a file of its own.

A cell is known by the hash of its settings, so that the same cell of two files is one. A fold that several files hold
is kept once if they agree on its confusion matrix; if they do not, something that no setting names differed, and
neither is right to take: merging is refused.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tfcr.errors import InputError, ResultsError
from tfcr.experiment.plan.cells import Cell
from tfcr.experiment.results.store import CellResult, FoldResult, new_results, open_results
from tfcr.system.files import write_file
from tfcr.system.limits import is_there


@dataclass(frozen=True)
class Merged:
    """What was joined: files, cells, folds, and how many folds more than one file held."""

    files: int
    cells: int
    folds: int
    held_twice: int


def merge_results(files: Sequence[str | Path], output: str | Path) -> Merged:
    """Write all cells, folds and runs of some files of results into one; it may be one of them."""
    paths, target = [Path(file) for file in files], Path(output)
    _check_paths(paths, target)
    known: dict[tuple[str, int], tuple[FoldResult, Path]] = {}
    cells: set[str] = set()
    held_twice = 0
    with closing(new_results(target)) as joined:
        for path in paths:
            with closing(open_results(path)) as opened:
                for result in opened.cells():
                    cells.add(result.cell.key)
                    held_twice += _add_folds(result, path, known)
                joined.copy_from(opened)
        _refuse_in_use(target)
        write_file(target, joined.content())
    return Merged(len(paths), len(cells), len(known), held_twice)


def _check_paths(paths: Sequence[Path], target: Path) -> None:
    places = [path.resolve() for path in paths]
    twice = next((path for path, place in zip(paths, places, strict=True) if places.count(place) > 1), None)
    if twice is not None:
        raise InputError(f"found {twice} twice; expected each file of results once")
    if is_there(target) and target.resolve() not in places:
        raise ResultsError(
            f"{target} exists already; name it among the files to add to it, or give another file: -o FILE"
        )


def _refuse_in_use(target: Path) -> None:
    """Refuse to replace a file that another process has open: SQLite deletes its log when the last one closes it."""
    if is_there(target.with_name(f"{target.name}-wal")):
        raise ResultsError(f"{target} is in use by a run; wait for its end, or give another file: -o FILE")


def _add_folds(result: CellResult, path: Path, known: dict[tuple[str, int], tuple[FoldResult, Path]]) -> int:
    """Add the folds of a cell to those known, and return how many were known already."""
    held = 0
    for row in result.folds:
        before = known.setdefault((result.cell.key, row.fold), (row, path))
        if before[1] == path:
            continue
        held += 1
        if not np.array_equal(before[0].confusion, row.confusion):
            raise ResultsError(
                f"{before[1]} and {path} differ in fold {row.fold + 1} of {_name(result.cell)} (macro-F1 "
                f"{before[0].macro_f1:.4f} and {row.macro_f1:.4f}), though its settings are the same; expected one "
                "result, but other versions or another machine gave another: leave out one of the files"
            )
    return held


def _name(cell: Cell) -> str:
    names = (cell.dataset, cell.embedding, cell.head, cell.scheme, cell.profile and f"profile {cell.profile}")
    return " ".join(filter(None, names))
