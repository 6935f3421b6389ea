"""Tasks of an experiment on the workers of a Dask cluster; this process alone writes the results.

Tasks hand corpora and vectors on through the cache folder (``TFCR_CACHE``), which all workers must share.
"""

import logging
from typing import Any

from distributed import Client, Future, wait

from tfcr.cluster.dask import without_dask_errors
from tfcr.errors import TfcrError
from tfcr.experiment.run.processes import PATIENCE, Finished, Note, Task, TaskError, events_of
from tfcr.system.hardware import memory_limit


class DaskPool:
    """A task for each thread of a cluster at a time; see `Pool`. The events of a task come when it is done."""

    def __init__(self, client: Client) -> None:
        self.client = client
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        self.memory = min([memory_limit(), *map(_memory, workers)])
        self._most = int(max(1, sum(client.nthreads().values())))
        self._under_way: list[Future] = []

    def idle(self) -> bool:
        """Return whether a thread has no task."""
        return len(self._under_way) < self._most

    def busy(self) -> bool:
        """Return whether a task is under way."""
        return bool(self._under_way)

    def give(self, task: Task) -> None:
        """Begin a task."""
        self._under_way.append(self.client.submit(_events, task, pure=False))

    def events(self) -> list[Any]:
        """Wait a moment, and return the events of tasks that are done."""
        if not self._under_way:
            return []
        try:
            with self.client.as_current():
                without_dask_errors(lambda: wait(self._under_way, timeout=PATIENCE, return_when="FIRST_COMPLETED"))
        except TimeoutError:
            return []
        done = [future for future in self._under_way if future.done()]
        self._under_way = [future for future in self._under_way if not future.done()]
        events: list[Any] = []
        for future in done:
            try:
                events += without_dask_errors(future.result)
            except TfcrError as error:
                raise TaskError(str(error)) from None
            events.append(Finished())
        return events


def _memory(worker: Any) -> int:
    """Return what the features of a task may take on a worker: half of its part, as on this machine."""
    return int(worker["memory_limit"] or memory_limit()) // 2 // max(1, int(worker["nthreads"]))


def _events(task: Task) -> list[Any]:
    """Do a task, on a worker, and return its events, and what was logged as notes."""
    logger, logged = logging.getLogger("tfcr"), _Logged()
    before, logger.handlers = logger.handlers, [logged]
    try:
        found = list(events_of(task))
    finally:
        logger.handlers = before
    return [*logged.notes, *found]


class _Logged(logging.Handler):
    """Collects what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[Note] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line of the log."""
        text = record.getMessage()
        self.notes.append(Note(text, text))
