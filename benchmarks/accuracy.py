"""Macro-F1 of our presets and of what people use today, on the same ten folds of real datasets.

    python benchmarks/accuracy.py [--datasets a,b] [--systems a,b] [--folds 3/10] [--size N] [--thin]
                                  [--processes N] [--results FILE] [--table]

Runs the folds that the file of results does not hold yet, system by system, then prints the tables. Folds are
stratified, seed 0; by default ten, of emoji the first three. Writes benchmarks/results/accuracy.md and .json.
"""

import argparse
import sys
from contextlib import closing
from itertools import product
from pathlib import Path

from accuracy_folds import FoldTask, TrainingPart, plan_cell, run_missing
from accuracy_tables import collect, data_of, markdown_of
from measuring import RESULTS, write_results
from systems import SYSTEMS

from tfcr.experiment import open_results
from tfcr.experiment.plan.cells import Cell

DATASETS = {"agnews": 10, "dbpedia": 10, "davidson": 10, "semeval": 10, "20ng": 10, "emoji": 3}
"""How many of the ten folds are run."""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", type=_names, default=list(DATASETS), help="names, or files of texts and labels")
    parser.add_argument("--systems", type=_names, default=list(SYSTEMS), help=", ".join(SYSTEMS))
    parser.add_argument("--folds", type=_folds, help="the first so many of so many folds, such as 3/10")
    parser.add_argument("--size", type=int, help="train on so many documents")
    parser.add_argument("--thin", action="store_true", help="thin out the training documents, class by class")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "accuracy.sqlite")
    parser.add_argument("--table", action="store_true", help="run nothing, print what there is")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    return text.split(",")


def _folds(text: str) -> tuple[int, int]:
    first, of = map(int, text.split("/"))
    return first, of


def plan(asked: argparse.Namespace) -> list[tuple[Cell, int]]:
    """Return what is asked for, system by system: each cell, and how many of its folds."""
    part = TrainingPart(asked.size, asked.thin)
    cells = {}
    for dataset in asked.datasets:  # the outer loop, so that each is read once
        first, of = asked.folds or (DATASETS.get(dataset, 10), 10)
        for system in asked.systems:
            cells[system, dataset] = plan_cell(dataset, system, of, part), first
    return [cells[place] for place in product(asked.systems, asked.datasets)]


def main(arguments: list[str]) -> None:
    asked = parse(arguments)
    asked.results.parent.mkdir(exist_ok=True)
    planned = plan(asked)
    with closing(open_results(asked.results, make=True)) as results:
        if not asked.table:
            for cell, first in planned:
                results.add([cell], first)
            tasks = [FoldTask(cell, fold) for cell, first in planned for fold in range(first)]
            run_missing(tasks, results, asked.processes, " ".join(["accuracy.py", *arguments]), tell)
        scores = collect(results.cells(), {cell.key: first for cell, first in planned})
    markdown = markdown_of(scores, _title(asked))
    write_results("-".join(["accuracy", *_variant(asked)]), markdown, data_of(scores))
    print(markdown)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _variant(asked: argparse.Namespace) -> list[str]:
    """Name small sets, so that they do not take the place of the whole ones."""
    return [str(asked.size)] * bool(asked.size) + ["thin"] * asked.thin


def _title(asked: argparse.Namespace) -> str:
    size = f", {asked.size} training documents" if asked.size else ""
    return f"Macro-F1, mean ± spread of the folds{size}{', classes thinned out' if asked.thin else ''}."


if __name__ == "__main__":
    main(sys.argv[1:])
