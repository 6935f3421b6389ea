"""Pieces that lie on the workers of a Dask cluster, and work that is done where they lie.

Each piece is the result of a task that Dask can run again: a worker that is lost takes its pieces with it, and Dask
makes them anew on the others, from the files or texts that they were counted from. A task is a function of what it is
given, so the result is the same.
"""

from __future__ import annotations

import itertools
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple

import dask
from distributed import Client, Future, wait
from distributed.client import FutureCancelledError
from distributed.comm import CommClosedError
from distributed.scheduler import KilledWorker, NoValidWorkerError

from tfcr.cluster.sending import LARGE, Sent, pack, unpack
from tfcr.errors import ClusterError, in_one_line
from tfcr.system.array_codec import Arrays
from tfcr.system.hardware import one_blas_thread
from tfcr.system.places import ByPiece, Kept, Places, Work, n_pieces

AHEAD = 2
"""Tasks for each thread of the cluster that are under way before their results are asked for."""
HELD = 2
"""Large arguments that a worker process holds ready for the next task."""
PATIENCE = 60.0
"""Seconds that all workers may be gone before we give up."""


@dataclass(frozen=True)
class KeptOnWorkers(Kept):
    """Pieces on workers; `needs` are what else must be held to make them again."""

    futures: list[Future]
    needs: list[Future]

    def __len__(self) -> int:
        return len(self.futures)


class _Given(NamedTuple):
    """Arguments as a task takes them: bytes, or a future of them; futures of their large arrays; a name if large."""

    content: Any
    arrays: list[Future]
    name: str | None = None

    def futures(self) -> list[Future]:
        """Return what must be held until the tasks are done."""
        return self.arrays if self.name is None else [self.content, *self.arrays]


class DaskPlaces(Places):
    """Pieces on the workers of a Dask cluster; see `Places`.

    Parameters
    ----------
    client
        Connected to the cluster; the caller closes it. All workers and the scheduler must have this version of tfcr.

    Attributes
    ----------
    reads_files
        Whether tasks read the files that are counted, since they run elsewhere.
    """

    reads_files = True

    def __init__(self, client: Client) -> None:
        self.client = client
        self._name = f"tfcr-{uuid.uuid4().hex[:12]}"
        self._numbers = itertools.count()
        self._sent = Sent(self._give)

    def keep(self, pieces: Iterable[Arrays]) -> KeptOnWorkers:
        """Send pieces to workers, a few at a time; the scheduler holds them too, so that none is lost."""
        return self.make(_same, pieces)

    def make(self, work: Work, items: Iterable[Any], *arguments: Any, name: str = "") -> KeptOnWorkers:
        """Keep ``work(item, *arguments)`` for each item; these are taken as workers get ready for them."""
        shared = self._packed((work, [OF_PIECE, *arguments]))
        futures: list[Future] = []
        needs = shared.futures()
        ahead = self._ahead()
        for item in items:
            if len(futures) >= ahead:
                self._wait(futures[len(futures) - ahead])
            own = self._packed([item], is_own=True)
            needs += own.arrays
            futures.append(self._submit(shared, own, ()))
        for future in futures[-ahead:]:
            self._wait(future)
        return KeptOnWorkers(futures, needs)

    def each(self, work: Work, items: Iterable[Any], *arguments: Any) -> Iterator[Any]:
        """Yield ``work(item, *arguments)`` for each item, in order; these are taken as workers get ready for them.

        What all items share, such as a model, is copied to all workers with the first item: Dask prefers a worker that
        has it, and would give that one more than its part of the items.
        """
        shared = self._packed((work, [OF_PIECE, *arguments]))

        def submitted() -> Iterator[Future]:
            for number, item in enumerate(items):
                if number == 0:
                    self._copy(shared.futures())
                yield self._submit(shared, self._packed([item], is_own=True), ())

        return self._in_order(submitted())

    def transform(self, work: Work, *arguments: Any) -> KeptOnWorkers:
        """Keep what `work` makes of each piece, where it is made."""
        kept = [argument for argument in arguments if isinstance(argument, KeptOnWorkers)]
        needs = {future.key: future for argument in kept for future in argument.needs}
        futures = []
        for shared, own, pieces in self._tasks(work, arguments):
            needs |= {future.key: future for future in (*shared.futures(), *own.arrays)}
            futures.append(self._submit(shared, own, pieces))
        return KeptOnWorkers(futures, list(needs.values()))

    def map(self, work: Work, *arguments: Any) -> Iterator[Any]:
        """Yield what `work` returns for each piece, in order; only a few are under way."""
        return self._in_order(self._submit(*task) for task in self._tasks(work, arguments))

    def drop(self, *kept: Kept) -> None:
        """Let workers forget pieces: Dask does so when nobody holds their futures."""
        for one in kept:
            if isinstance(one, KeptOnWorkers):
                one.futures.clear()
                one.needs.clear()

    # tasks

    def _tasks(self, work: Work, arguments: Sequence[Any]) -> Iterator[tuple[_Given, _Given, list[Future]]]:
        """Yield what the task of each piece takes: what all share, what it has of its own, and pieces."""
        kinds = (ByPiece, KeptOnWorkers)
        shared = self._packed((work, [OF_PIECE if isinstance(given, kinds) else given for given in arguments]))
        own = [argument for argument in arguments if isinstance(argument, kinds)]
        for number in range(n_pieces(arguments)):
            values = [_IN_PLACE if isinstance(given, KeptOnWorkers) else given.values[number] for given in own]
            pieces = [given.futures[number] for given in own if isinstance(given, KeptOnWorkers)]
            yield shared, self._packed(values, is_own=True), pieces

    def _packed(self, arguments: Any, *, is_own: bool = False) -> _Given:
        """Return arguments ready to be sent; what several tasks share and is large becomes a future."""
        content, arrays = pack(arguments)
        futures = [self._sent.of(array) for array in arrays]
        if is_own or len(content) < LARGE:
            return _Given(content, futures)
        return _Given(self._give(content), futures, self._new_key("shared"))

    def _give(self, value: Any) -> Future:
        """Return a future of a value. The scheduler holds it, and can give it to others when a worker is lost."""
        return self._run(_same, value, what="given")

    def _copy(self, futures: list[Future]) -> None:
        """Copy values to all workers. It only saves time, and a worker that is lost meanwhile is no reason to fail."""
        for future in futures:
            self._wait(future)
        if futures:
            with suppress(Exception):
                self.client.replicate(futures)

    def _submit(self, shared: _Given, own: _Given, pieces: Sequence[Future]) -> Future:
        return self._run(_call, *shared, *own[:2], list(pieces), what="work")

    def _run(self, function: Work, *arguments: Any, what: str) -> Future:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self.client.submit(function, *arguments, key=self._new_key(what), pure=False)

    def _new_key(self, what: str) -> str:
        return f"{self._name}-{what}-{next(self._numbers)}"

    # results

    def _ahead(self) -> int:
        return AHEAD * int(max(1, sum(self.client.nthreads().values())))

    def _in_order(self, futures: Iterable[Future]) -> Iterator[Any]:
        """Yield results; futures are taken a few ahead."""
        waiting: deque[Future] = deque()
        ahead = self._ahead()
        for future in futures:
            waiting.append(future)
            del future  # else the last one is held while its result is used
            if len(waiting) > ahead:
                yield self._result(waiting.popleft())
        while waiting:
            yield self._result(waiting.popleft())

    def _result(self, future: Future) -> Any:
        self._wait(future)
        return without_dask_errors(future.result)

    def _wait(self, future: Future) -> None:
        """Wait until a task is done, as long as there are workers to do it; raise its error."""
        while True:
            try:
                with self.client.as_current():
                    without_dask_errors(lambda: wait([future], timeout=PATIENCE))
            except TimeoutError:
                if not self.client.nthreads():
                    raise ClusterError(
                        f"all workers have been gone for {PATIENCE:.0f} seconds; expected some that do the work: start "
                        "them again, and type the same command"
                    ) from None
            else:
                break
        if future.status in ("error", "cancelled"):
            without_dask_errors(future.result)


OF_PIECE = "tfcr: an argument that differs from piece to piece"
_IN_PLACE = "tfcr: a piece"
"""Stand for arguments that are not the same for all pieces, and for pieces that lie on a worker."""


def _same(value: Any) -> Any:
    return value


def without_dask_errors(wanted: Callable[[], Any]) -> Any:
    """Call a function; what Dask raises when workers or the scheduler are lost becomes a ClusterError."""
    try:
        return wanted()
    except KilledWorker as error:
        raise ClusterError(
            f"{1 + error.allowed_failures} workers died doing the same task, the last at "
            f"{_address(error)}; most likely they have too little memory: start fewer with more of it each, or give a "
            "smaller --max-memory"
        ) from None
    except (FutureCancelledError, CancelledError, NoValidWorkerError, CommClosedError) as error:
        raise ClusterError(
            f"the connection to the cluster was lost ({in_one_line(error)}); expected a scheduler that stays: look "
            "into its log, and type the same command again"
        ) from None


def _address(error: KilledWorker) -> str:
    return str(getattr(error.last_worker, "address", error.last_worker))


# on workers ----------------------------------------------------------------------------------------------------------

_held: OrderedDict[str, Any] = OrderedDict()
_holding = Lock()


def _call(shared: bytes, arrays: list[Any], name: str | None, own: bytes, own_arrays: list[Any], pieces: Any) -> Any:
    """Do the work of a task, on a worker."""
    work, arguments = unpack(shared, arrays) if name is None else _held_ready(name, shared, arrays)
    of_piece, left = iter(unpack(own, own_arrays)), iter(pieces)
    filled = []
    for argument in arguments:
        value = next(of_piece) if _is(argument, OF_PIECE) else argument
        filled.append(next(left) if _is(value, _IN_PLACE) else value)
    with one_blas_thread():
        return work(*filled)


def _is(value: Any, mark: str) -> bool:
    return isinstance(value, str) and value == mark


def _held_ready(name: str, content: bytes, arrays: list[Any]) -> Any:
    """Return large arguments; those of the last tasks are held, since unpacking them takes long."""
    with _holding:
        if name not in _held:
            _held[name] = unpack(content, arrays)
        _held.move_to_end(name)
        while len(_held) > HELD:
            _held.popitem(last=False)
        return _held[name]
