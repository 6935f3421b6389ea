"""Tasks on several processes: each yields events, which come back as they happen.

Processes are spawned, so that no lock or thread of the parent is copied. They share the processors: each gets its part
of the threads. They end with their parent, however that ends. With one process, tasks run in the parent itself.
"""

import logging
import multiprocessing
import os
import re
import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol

from tfcr.errors import CorpusWarning, TfcrError, TfcrWarning
from tfcr.system.hardware import memory_limit, n_processors

THREAD_SETTINGS = (
    "TFCR_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
PATIENCE = 1.0
"""Seconds after which `events` returns even if nothing happened."""


class Task(Protocol):
    """Something to do, which can be sent to another process."""

    def work(self) -> Iterator[Any]:
        """Do it, yielding events."""


@dataclass(frozen=True)
class Note:
    """Something that the user should know; of several with the same `about`, the first is enough."""

    text: str
    about: str
    is_warning: bool = False


@dataclass(frozen=True)
class Finished:
    """A task is done."""


@dataclass(frozen=True)
class _Refused:
    text: str


@dataclass(frozen=True)
class _Failed:
    text: str


class TaskError(TfcrError):
    """A task could not be done, or its process died."""


def events_of(task: Task) -> Iterator[Any]:
    """Do a task: yield its events, and our warnings as notes."""
    steps = task.work()
    nothing = object()
    while True:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TfcrWarning)
            event = next(steps, nothing)
        yield from (_as_note(warning.message) for warning in caught)
        if event is nothing:
            return
        yield event


def _as_note(warning: Warning | str) -> Note:
    text = str(warning)
    # the figures differ from fold to fold, but the first note says enough
    return Note(text, re.sub(r"\d+", "", text) if isinstance(warning, CorpusWarning) else text, is_warning=True)


class Pool(Protocol):
    """Where tasks run; `memory` is what the features of each may take, in bytes."""

    memory: int

    def idle(self) -> bool:
        """Return whether another task can be given."""

    def busy(self) -> bool:
        """Return whether a task is under way."""

    def give(self, task: Task) -> None:
        """Begin a task."""

    def events(self) -> list[Any]:
        """Wait a moment, and return the events since."""


@contextmanager
def open_pool(processes: int, most_tasks: int) -> Iterator[Pool]:
    """Open a pool of processes, no more than there can be tasks."""
    count = max(1, min(processes, most_tasks))
    if count == 1:
        yield _Inline(memory_limit())
        return
    pool = _Processes(count, max(1, n_processors() // count), memory_limit() // count)
    try:
        yield pool
    finally:
        pool.close()


class _Inline:
    """One task at a time, in this process."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._under_way: Iterator[Any] | None = None

    def idle(self) -> bool:
        return self._under_way is None

    def busy(self) -> bool:
        return self._under_way is not None

    def give(self, task: Task) -> None:
        self._under_way = events_of(task)

    def events(self) -> list[Any]:
        if self._under_way is None:
            return []
        event = next(self._under_way, None)
        if event is None:
            self._under_way = None
            return [Finished()]
        return [event]


class _Processes:
    """Several tasks at a time, in processes of their own."""

    def __init__(self, count: int, threads: int, memory: int) -> None:
        self.memory = memory
        context = multiprocessing.get_context("spawn")
        self._idle: list[Connection] = []
        self._workers: dict[Connection, SpawnProcess] = {}
        with _environment(dict.fromkeys(THREAD_SETTINGS, str(threads))), _without_interrupts():
            for _ in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs,), daemon=True)
                process.start()
                theirs.close()
                self._workers[ours] = process
                self._idle.append(ours)

    def idle(self) -> bool:
        return bool(self._idle)

    def busy(self) -> bool:
        return len(self._idle) < len(self._workers)

    def give(self, task: Task) -> None:
        connection = self._idle.pop()
        try:
            connection.send(task)
        except OSError:
            raise TaskError(_death(self._workers[connection])) from None

    def events(self) -> list[Any]:
        events = []
        for connection in wait([connection for connection in self._workers if connection not in self._idle], PATIENCE):
            assert isinstance(connection, Connection)  # noqa: S101 - it is one of ours
            try:
                event = connection.recv()
            except (EOFError, OSError):
                raise TaskError(_death(self._workers[connection])) from None
            if isinstance(event, _Refused):
                raise TaskError(event.text)
            if isinstance(event, _Failed):
                raise RuntimeError(f"a task failed:\n{event.text}")
            if isinstance(event, Finished):
                self._idle.append(connection)
            events.append(event)
        return events

    def close(self) -> None:
        for connection, process in self._workers.items():
            connection.close()
            process.terminate()
        for process in self._workers.values():
            process.join()


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Change the environment for processes that start meanwhile; libraries read it when they are imported."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C for processes that start meanwhile: the parent decides what it means, and gets it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _death(process: SpawnProcess) -> str:
    process.join(PATIENCE)
    status = process.exitcode or 0
    how = f"was killed by signal {-status}" if status < 0 else "ended"
    return (
        f"a process of the experiment {how}, perhaps for want of memory; what was finished is kept: "
        "run the same command again, with fewer --processes"
    )


def _serve(connection: Connection) -> None:
    """Do the tasks that come, until the parent goes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.getLogger("tfcr").handlers = [_Sent(connection)]
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        _do(task, connection)


class _Sent(logging.Handler):
    """Sends what is logged to the parent, which shows it as it shows all notes."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self.connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        self.connection.send(Note(text, text))


def _do(task: Task, connection: Connection) -> None:
    try:
        for event in events_of(task):
            connection.send(event)
        connection.send(Finished())
    except TfcrError as error:
        connection.send(_Refused(str(error)))
    except MemoryError:
        connection.send(_Refused("not enough memory; run the same command again with fewer --processes"))
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        connection.send(_Refused(f"cannot read or write{where}: {error.strerror or error}"))
    except Exception:  # whatever it is, the parent shows it
        connection.send(_Failed(traceback.format_exc()))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
