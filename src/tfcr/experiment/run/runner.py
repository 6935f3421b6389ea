"""Run an experiment: read the datasets, plan the cells, get the vectors, run what is not done yet, keep each result."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.experiment.plan.cells import Cell, Planned, corpus_plans, plan_cells, shared_work, size_notes
from tfcr.experiment.plan.request import W2V_SOURCES, Request
from tfcr.experiment.results.store import Results, Run
from tfcr.experiment.run.corpora import CorpusFacts, CorpusPlan, PrepareCorpus
from tfcr.experiment.run.processes import Finished, Note, Pool, Task, open_pool
from tfcr.experiment.run.trial import FoldResult, RunFold
from tfcr.experiment.run.vectors import FileFacts, IdentifyVectors, PrepareVectors

WAITING = 0.5
"""Seconds between two looks at what another run is working on."""


@dataclass(frozen=True)
class Standing:
    """How far a run is: folds done and in all, the seconds left if known, and what is being done."""

    done: int
    total: int
    seconds_left: float | None
    doing: str


@dataclass(frozen=True)
class Outcome:
    """What a run did: the cells asked for, the folds that were there already, and those run now."""

    cells: int
    folds_before: int
    folds_run: int


@dataclass
class Teller:
    """Tells the user how far the run is, and each note once."""

    note: Callable[[str], None] = lambda text: None
    standing: Callable[[Standing], None] = lambda standing: None
    _told: set[str] = field(default_factory=set)

    def tell(self, text: str) -> None:
        """Pass on a note, unless it was told before."""
        if text not in self._told:
            self._told.add(text)
            self.note(text)

    def show(self, doing: str) -> None:
        """Show what is being done before there are folds to count."""
        self.standing(Standing(0, 0, None, doing))


def run_experiment(
    request: Request,
    results: Results,
    *,
    processes: int = 1,
    command: str = "",
    teller: Teller | None = None,
) -> Outcome:
    """Run all cells of a request that the file of results does not hold yet.

    Parameters
    ----------
    request
        The grid.
    results
        Where results go, each as soon as it is there.
    processes
        How many cells run at once.
    command
        What the user typed, kept with the results.
    teller
        Where progress and notes go.
    """
    request.check()
    teller = teller or Teller()
    with results.running(command) as run, open_pool(processes, _most_tasks(request)) as pool:
        corpora = _prepare_corpora(request, pool, teller)
        files = _identify_files(request, pool, teller)
        planned = _unique(plan_cells(request, corpora, files))
        _tell_notes(request, corpora, teller)
        results.add([plan.cell for plan in planned], len(request.wanted_folds()))
        work = _Work(planned, request.wanted_folds(), results)
        before = work.n_done
        _prepare_vectors(work.unfinished(), pool, teller)
        _run_folds(work, run, pool, teller)
    return Outcome(len(planned), before, work.n_run)


def _most_tasks(request: Request) -> int:
    rows = len(request.datasets) * len(request.embeddings) * len(request.profiles) * len(request.seeds)
    return rows * len(request.sizes) * len(request.wanted_folds())


def _unique(planned: Iterable[Planned]) -> list[Planned]:
    """Return each cell once: two names for the same thing are one cell."""
    return list({plan.cell.key: plan for plan in planned}.values())


def _tell_notes(request: Request, corpora: dict[CorpusPlan, CorpusFacts], teller: Teller) -> None:
    for (dataset, _, _), plan in corpus_plans(request).items():
        for text in corpora[plan].notes:
            teller.tell(f"{dataset}: {text}")
    for text in size_notes(request, corpora):
        teller.tell(text)
    if any(embedding.source == IN_DOMAIN for embedding in request.embeddings):
        teller.tell(W2V_SOURCES[request.word2vec.trained_on])


# what cells share --------------------------------------------------------------------------------------------------


def _prepare_corpora(request: Request, pool: Pool, teller: Teller) -> dict[CorpusPlan, CorpusFacts]:
    plans = list(dict.fromkeys(corpus_plans(request).values()))
    teller.show("reading and counting datasets")
    return dict(zip(plans, _all_of([PrepareCorpus(plan) for plan in plans], pool, teller), strict=True))


def _identify_files(request: Request, pool: Pool, teller: Teller) -> dict[str, FileFacts]:
    sources = list(dict.fromkeys(row.source for row in request.embeddings if row.source != IN_DOMAIN))
    teller.show("looking at vectors")
    return dict(zip(sources, _all_of([IdentifyVectors(source) for source in sources], pool, teller), strict=True))


def _prepare_vectors(unfinished: list[Planned], pool: Pool, teller: Teller) -> None:
    plans = dict.fromkeys(plan.vectors for plan in unfinished if not plan.vectors.per_fold)
    teller.show("getting vectors")
    _all_of([PrepareVectors(plan) for plan in plans], pool, teller)


@dataclass(frozen=True)
class _Numbered:
    """A task whose only event carries a number, to tell the events of several tasks apart."""

    number: int
    task: Task

    def work(self) -> Any:
        for event in self.task.work():
            yield self.number, event


def _all_of(tasks: Sequence[Task], pool: Pool, teller: Teller) -> list[Any]:
    """Do tasks of one event each, and return the events in the order of the tasks."""
    waiting = [_Numbered(number, task) for number, task in enumerate(tasks)]
    found: dict[int, Any] = {}
    while waiting or pool.busy():
        while waiting and pool.idle():
            pool.give(waiting.pop(0))
        for event in pool.events():
            if isinstance(event, Note):
                teller.tell(event.text)
            elif not isinstance(event, Finished):
                found[event[0]] = event[1]
    return [found[number] for number in range(len(tasks))]


# the folds ---------------------------------------------------------------------------------------------------------


class _Work:
    """Which folds are done, under way, and left."""

    def __init__(self, planned: list[Planned], folds: range, results: Results) -> None:
        self.results = results
        self.planned = {plan.cell.key: plan for plan in planned}
        self.folds = {(key, fold) for key in self.planned for fold in folds}
        self.done = results.done(self.planned) & self.folds
        self.n_done = len(self.done)
        self.n_run = 0
        self.groups = [(group, fold) for group in shared_work(planned) for fold in folds]
        self.work_run = 0.0
        self.began = time.monotonic()

    def unfinished(self) -> list[Planned]:
        """Return the cells with folds to run."""
        left = {key for key, _ in self.folds - self.done}
        return [plan for key, plan in self.planned.items() if key in left]

    def next_task(self, run: Run, memory: int) -> RunFold | None:
        """Claim the first folds that nobody is running; groups with none left are dropped."""
        self.groups = [(group, fold) for group, fold in self.groups if self._left(group, fold)]
        for group, fold in self.groups:
            claimed = set(run.claim(self._left(group, fold)))
            if claimed:  # what another run has claimed may be free again later
                cells = tuple(plan for plan in group if (plan.cell.key, fold) in claimed)
                return RunFold(cells, fold, memory)
        self._look_again()
        return None

    def _left(self, group: list[Planned], fold: int) -> list[tuple[str, int]]:
        return [(plan.cell.key, fold) for plan in group if (plan.cell.key, fold) not in self.done]

    def _look_again(self) -> None:
        """See what other runs have finished meanwhile."""
        self.done = self.results.done(self.planned) & self.folds

    def add(self, result: FoldResult) -> Cell:
        """Count a fold as done."""
        self.done.add((result.cell, result.fold))
        self.n_run += 1
        self.work_run += _expected(self.planned[result.cell])
        return self.planned[result.cell].cell

    def standing(self, doing: str) -> Standing:
        """Tell how far the run is; what is left takes as long a document as what was run."""
        left = sum(_expected(self.planned[key]) for key, _ in self.folds - self.done)
        seconds = (time.monotonic() - self.began) * left / self.work_run if self.work_run else None
        return Standing(len(self.done), len(self.folds), seconds, doing)


def _expected(planned: Planned) -> float:
    """Return what a fold of a cell costs, in documents to train on."""
    return float(planned.cell.size or planned.corpus.training_documents)


def _run_folds(work: _Work, run: Run, pool: Pool, teller: Teller) -> None:
    work.began = time.monotonic()
    teller.standing(work.standing("running"))
    while work.folds - work.done:
        while pool.idle() and (task := work.next_task(run, pool.memory)):
            pool.give(task)
        if not pool.busy() and work.folds - work.done:
            teller.tell("another run is working on the cells that are left; waiting for it")
            time.sleep(WAITING)
        for event in pool.events():
            if isinstance(event, Note):
                teller.tell(event.text)
            elif isinstance(event, FoldResult):
                cell = work.add(event)
                run.finish(event, cell)
                teller.standing(work.standing(f"{cell.dataset} {cell.embedding} {cell.head} {cell.scheme}"))
