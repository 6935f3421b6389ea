"""The folds of the accuracy benchmark: which there are, how one is run, and how those that are missing are run.

Results go through the experiments' file of results: a killed run goes on where it was, two runs share the work, and a
finished fold is never run twice.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from measuring import Seconds
from numpy.typing import NDArray
from systems import SYSTEMS, vectors_digest

from tfcr.data import load_data
from tfcr.errors import look_up
from tfcr.experiment.plan.cells import Cell
from tfcr.experiment.plan.folds import Places, Split, cut_folds, training_part
from tfcr.experiment.results.scoring import confusion_of
from tfcr.experiment.results.store import Results, Run
from tfcr.experiment.run.processes import Note, Pool, open_pool
from tfcr.experiment.run.runner import WAITING
from tfcr.experiment.run.trial import FoldResult
from tfcr.system.artifacts import digest_of, digest_of_strings
from tfcr.warmup import warm_up

PROTOCOL = 1
"""Raised when folds are cut or scored in another way: everything is run again."""
SEED = 0
LEAST_SHARE = 0.02
"""Of the last class, where rare classes are thinned out."""


@dataclass(frozen=True)
class TrainingPart:
    """What of a fold's training part is used: at most `size` documents, rare classes thinned out or not."""

    size: int | None = None
    thin: bool = False


@dataclass(frozen=True)
class Data:
    """A dataset in memory; labels as text."""

    texts: NDArray[np.object_]
    labels: NDArray[np.str_]
    groups: list[Any] | None
    digest: str


@lru_cache(maxsize=2)
def read_data(source: str) -> Data:
    """Return a dataset by its name, or a file of texts and labels."""
    corpus = load_data([source])
    labels = [str(label) for label in corpus.labels]
    digest = digest_of_strings([*corpus.texts, *labels, *map(str, corpus.groups or [])])
    return Data(np.array(corpus.texts, dtype=object), np.array(labels), corpus.groups, digest)


# planning ------------------------------------------------------------------------------------------------------------


def plan_cell(source: str, system: str, folds: int, part: TrainingPart) -> Cell:
    """Return the cell of a dataset and a system."""
    row, data = look_up(SYSTEMS, system, "system"), read_data(source)
    settings = {
        "protocol": PROTOCOL,
        "data": data.digest,
        "system": system,
        "parameters": row.parameters,
        "revision": row.revision,
        "vectors": vectors_digest(row.vectors),
        "size": part.size,
        "thin": LEAST_SHARE if part.thin else None,
        "seed": SEED,
        "folds": folds,
        "profile": {"left_out": None},  # how the file of results is to score
    }
    facts = {"source": source, "classes": np.unique(data.labels).tolist(), "documents": len(data.labels)}
    return Cell(
        key=digest_of("accuracy", settings),
        dataset=source,
        embedding=row.vectors or "none",
        scheme=system,
        head="",
        profile="accuracy benchmark",
        size=part.size,
        seed=SEED,
        folds=folds,
        settings=settings,
        facts=facts,
    )


# one fold ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FoldTask:
    """The task of running one fold of a cell, in whatever process."""

    cell: Cell
    fold: int

    def work(self) -> Iterator[FoldResult]:
        """Train, predict, and yield the result."""
        data = read_data(self.cell.dataset)
        split = split_of(data, self.cell, self.fold)
        model = SYSTEMS[self.cell.scheme].make()
        texts, labels = data.texts[split.train].tolist(), data.labels[split.train]
        _, training = timed(lambda: model.fit(texts, labels))
        asked = data.texts[split.test].tolist()
        predicted, prediction = timed(lambda: model.predict(asked))
        classes, true = np.unique(data.labels, return_inverse=True)
        yield FoldResult(
            cell=self.cell.key,
            fold=self.fold,
            confusion=confusion_of(true[split.test], np.searchsorted(classes, predicted), len(classes)),
            train_documents=len(split.train),
            test_documents=len(split.test),
            coverage_words=0.0,  # not every system has vectors
            coverage_tokens=0.0,
            seconds=training.wall + prediction.wall,
            details={
                "train": vars(training),
                "predict": vars(prediction),
                "picked": getattr(model, "picked", None),
            },
        )


def timed(run: Callable[[], Any]) -> tuple[Any, Seconds]:
    """Return what a function returns, and its time."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    return found, Seconds(time.process_time() - cpu, time.perf_counter() - wall)


def split_of(data: Data, cell: Cell, fold: int) -> Split:
    """Return the rows to train on and those to test on."""
    whole = cut_folds(data.labels, data.groups, cell.folds, cell.seed)[fold]
    train = thin_out(whole.train, data.labels, cell.seed, fold) if cell.settings["thin"] else whole.train
    return Split(training_part(train, cell.size, cell.seed, fold), whole.test)


def thin_out(train: Places, labels: NDArray[np.str_], seed: int, fold: int) -> Places:
    """Keep all of the first class, less and less of the next ones, and a small share of the last, but two documents."""
    random = np.random.default_rng([seed, fold])
    classes = np.unique(labels)
    shares = LEAST_SHARE ** np.linspace(0, 1, len(classes))
    kept = []
    for label, share in zip(classes, shares, strict=True):
        rows = train[labels[train] == label]
        kept.append(random.permutation(rows)[: max(2, round(share * len(rows)))])
    return np.sort(np.concatenate(kept))


# all that are missing ------------------------------------------------------------------------------------------------


def run_missing(
    tasks: Sequence[FoldTask], results: Results, processes: int, command: str, tell: Callable[[str], None]
) -> None:
    """Run the folds that are not done, in their order; wait for those that another run is working on."""
    cells = {task.cell.key: task.cell for task in tasks}
    if _left(tasks, cells, results):
        warm_up()  # or the first fold would count the seconds of compiling
    with results.running(command) as run, open_pool(processes, len(tasks)) as pool:
        while left := _left(tasks, cells, results):
            tell(f"{len(left)} folds to run")
            if not _pass_through(left, cells, run, pool, tell):
                tell("another run is working on them")
                time.sleep(10 * WAITING)


def _left(tasks: Sequence[FoldTask], cells: dict[str, Cell], results: Results) -> list[FoldTask]:
    done = results.done(cells)
    return [task for task in tasks if (task.cell.key, task.fold) not in done]


def _pass_through(
    waiting: list[FoldTask], cells: dict[str, Cell], run: Run, pool: Pool, tell: Callable[[str], None]
) -> int:
    """Run each fold that can be claimed, and return how many."""
    ended = 0
    while waiting or pool.busy():
        while waiting and pool.idle():
            task = waiting.pop(0)
            if run.claim([(task.cell.key, task.fold)]):
                pool.give(task)
        for event in pool.events():
            if isinstance(event, FoldResult):
                run.finish(event, cells[event.cell])
                ended += 1
                tell(_progress(event, cells[event.cell], len(waiting)))
            elif isinstance(event, Note):
                tell(f"note: {event.text}")
    return ended


def _progress(result: FoldResult, cell: Cell, left: int) -> str:
    picked = result.details["picked"]
    which = f"{cell.dataset} {cell.scheme} fold {result.fold + 1}"
    return f"{which}: {result.seconds:.1f} s{f', picked {picked}' if picked else ''}; {left} waiting"
