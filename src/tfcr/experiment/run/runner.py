"""Run an experiment: read the datasets, plan the cells, get the vectors, run the missing folds, keep each result."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from tfcr.embeddings.pretrained import IN_DOMAIN
from tfcr.experiment.plan.cells import Cell, Planned, corpus_plans, plan_cells, shared_work, size_notes
from tfcr.experiment.plan.corpora import CorpusHandle, CorpusPlan
from tfcr.experiment.plan.request import Request
from tfcr.experiment.plan.vectors import VectorFacts
from tfcr.experiment.plan.word2vec import W2V_SOURCES
from tfcr.experiment.results.store import Results, Run
from tfcr.experiment.run.corpora import PrepareCorpus
from tfcr.experiment.run.processes import Finished, Note, Pool, Task, open_pool
from tfcr.experiment.run.trial import RunFold
from tfcr.experiment.run.vectors import IdentifyVectors, PrepareVectors

WAITING = 0.5
"""Seconds between two looks at what another run is working on."""


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: folds done and in all, the seconds left if known, and what is being done."""

    done: int
    total: int
    seconds_left: float | None
    doing: str


@dataclass(frozen=True)
class Outcome:
    """What a run did: cells asked for, folds that were there already, and folds run now."""

    cells: int
    folds_before: int
    folds_run: int


@dataclass
class Reporter:
    """Where notes, progress and warnings go; each note and warning is passed on once."""

    on_note: Callable[[str], None] = lambda text: None
    on_progress: Callable[[RunProgress], None] = lambda progress: None
    on_warning: Callable[[str], None] = lambda text: None
    _noted: set[str] = field(default_factory=set)

    def note(self, text: str) -> None:
        """Pass on a note, unless it was passed on before."""
        self.pass_on(Note(text, text))

    def pass_on(self, note: Note) -> None:
        """Pass on a note or warning, unless one about the same was passed on before."""
        if note.about not in self._noted:
            self._noted.add(note.about)
            (self.on_warning if note.is_warning else self.on_note)(note.text)

    def doing(self, what: str) -> None:
        """Report what is being done before there are folds to count."""
        self.on_progress(RunProgress(0, 0, None, what))


def run_experiment(
    request: Request,
    results: Results,
    *,
    processes: int = 1,
    command: str = "",
    reporter: Reporter | None = None,
    given_pool: Pool | None = None,
) -> Outcome:
    """Run all folds of a request that the file of results does not hold yet.

    Parameters
    ----------
    request
        The grid.
    results
        Where results go, each as soon as it is there.
    processes
        How many folds run at once.
    command
        What the user typed, kept with the results.
    reporter
        Where notes and progress go.
    given_pool
        Where folds run, instead of processes of this machine.
    """
    request.check()
    reporter = reporter or Reporter()
    opened = open_pool(processes, _most_tasks(request)) if given_pool is None else nullcontext(given_pool)
    with results.running(command) as run, opened as pool:
        corpora = _prepare_corpora(request, pool, reporter)
        files = _identify_files(request, pool, reporter)
        planned = _unique(plan_cells(request, corpora, files))
        _note_all(request, corpora, planned, reporter)
        results.add([plan.cell for plan in planned], len(request.wanted_folds()))
        work = _Work(planned, request.wanted_folds(), results)
        before = work.n_done
        _prepare_vectors(work.unfinished(), pool, reporter)
        _run_folds(work, run, pool, reporter)
    return Outcome(len(planned), before, work.n_run)


def _most_tasks(request: Request) -> int:
    rows = len(request.embeddings) * len(request.profiles) * bool(request.schemes)
    rows += (len(request.embeddings) + 1) * len(request.systems)
    return len(request.datasets) * rows * len(request.seeds) * len(request.sizes) * len(request.wanted_folds())


def _unique(planned: Iterable[Planned]) -> list[Planned]:
    """Return each cell once: two names for the same thing are one cell."""
    return list({plan.cell.key: plan for plan in planned}.values())


def _note_all(
    request: Request, corpora: dict[CorpusPlan, CorpusHandle], planned: list[Planned], reporter: Reporter
) -> None:
    for corpus, dataset in corpus_plans(request).items():
        for text in corpora[corpus].facts.notes:
            reporter.note(f"{dataset}: {text}")
    for text in size_notes(request, corpora):
        reporter.note(text)
    for plan in planned:
        if plan.vectors and plan.vectors.word2vec:
            reporter.note(W2V_SOURCES[plan.vectors.word2vec.trained_on])


# what cells share --------------------------------------------------------------------------------------------------


def _prepare_corpora(request: Request, pool: Pool, reporter: Reporter) -> dict[CorpusPlan, CorpusHandle]:
    plans = list(corpus_plans(request))
    reporter.doing("reading and counting datasets")
    return dict(zip(plans, _all_of([PrepareCorpus(plan) for plan in plans], pool, reporter), strict=True))


def _identify_files(request: Request, pool: Pool, reporter: Reporter) -> dict[str, VectorFacts]:
    sources = list(dict.fromkeys(row.source for row in request.embeddings if row.source != IN_DOMAIN))
    reporter.doing("looking at vectors")
    return dict(zip(sources, _all_of([IdentifyVectors(source) for source in sources], pool, reporter), strict=True))


def _prepare_vectors(unfinished: list[Planned], pool: Pool, reporter: Reporter) -> None:
    plans = dict.fromkeys(plan.vectors for plan in unfinished if plan.vectors and not plan.vectors.per_fold)
    reporter.doing("getting vectors")
    _all_of([PrepareVectors(plan) for plan in plans], pool, reporter)


@dataclass(frozen=True)
class _Numbered:
    """A task whose only event carries a number, to tell the events of several tasks apart."""

    number: int
    task: Task

    def work(self) -> Any:
        for event in self.task.work():
            yield self.number, event


def _all_of(tasks: Sequence[Task], pool: Pool, reporter: Reporter) -> list[Any]:
    """Do tasks of one event each, and return the events in the order of the tasks."""
    waiting = [_Numbered(number, task) for number, task in enumerate(tasks)]
    found: dict[int, Any] = {}
    while waiting or pool.busy():
        while waiting and pool.idle():
            pool.give(waiting.pop(0))
        for event in pool.events():
            if isinstance(event, Note):
                reporter.pass_on(event)
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
        """Claim the first folds that nobody is running; drop groups with none left."""
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

    def add(self, key: str, fold: int) -> Cell:
        """Count a fold as done, and return its cell."""
        self.done.add((key, fold))
        self.n_run += 1
        self.work_run += _expected(self.planned[key])
        return self.planned[key].cell

    def progress(self, doing: str) -> RunProgress:
        """Return how far the run is; each document left takes as long as one that was run."""
        left = sum(_expected(self.planned[key]) for key, _ in self.folds - self.done)
        seconds = (time.monotonic() - self.began) * left / self.work_run if self.work_run else None
        return RunProgress(len(self.done), len(self.folds), seconds, doing)


def _expected(planned: Planned) -> float:
    """Return what a fold of a cell costs, in training documents."""
    return float(planned.cell.settings.size or planned.corpus.facts.training_documents)


def _run_folds(work: _Work, run: Run, pool: Pool, reporter: Reporter) -> None:
    work.began = time.monotonic()
    reporter.on_progress(work.progress("running"))
    while work.folds - work.done:
        while pool.idle() and (task := work.next_task(run, pool.memory)):
            pool.give(task)
        if not pool.busy() and work.folds - work.done:
            reporter.note("another run is working on the cells that are left; waiting for it")
            time.sleep(WAITING)
        for event in pool.events():
            if isinstance(event, Note):
                reporter.pass_on(event)
            elif not isinstance(event, Finished):
                key, result = event
                cell = work.add(key, result.fold)
                run.finish(key, result)
                names = (cell.dataset, cell.embedding, cell.head, cell.scheme, f"fold {result.fold + 1}")
                reporter.on_progress(work.progress(" ".join(filter(None, names))))
