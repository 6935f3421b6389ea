"""Stages that overlap: one thread reads ahead, another writes behind, and memory stays bounded.

    read --at most AHEAD items--> work of this thread --at most AHEAD items--> write

Items keep their order. An error of a stage is raised in the thread that uses it; when the body ends, for whatever
reason, both threads have ended too. Where only one thread is to be used (TFCR_THREADS=1), stages do not overlap.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from queue import Queue
from threading import Event, Thread
from typing import TypeVar

from tfcr.system.hardware import n_threads

T = TypeVar("T")

AHEAD = 2
"""Items that wait between two stages: enough to overlap, few enough for constant memory."""


class _End:
    """The last item of a queue."""


@contextmanager
def read_ahead(items: Generator[T]) -> Iterator[Iterator[T]]:
    """Give the same items, made on another thread while this one works; the generator is closed at the end."""
    if n_threads() == 1:
        with closing(items):
            yield items
        return
    queue: Queue[T | _End] = Queue(AHEAD)
    errors: list[BaseException] = []
    stopped, all_taken = Event(), Event()

    def make() -> None:
        try:
            for item in items:
                queue.put(item)
                if stopped.is_set():
                    break
            items.close()
        except BaseException as error:
            errors.append(error)
        finally:
            queue.put(_End())

    def take() -> Iterator[T]:
        while not isinstance(item := queue.get(), _End):
            yield item
        all_taken.set()
        if errors:
            raise errors[0]

    thread = Thread(target=make, name="read ahead", daemon=True)
    thread.start()
    try:
        yield take()
    finally:
        stopped.set()
        while not all_taken.is_set() and not isinstance(queue.get(), _End):
            pass  # make room, so that the thread sees that it has to stop
        thread.join()


@contextmanager
def write_behind(write: Callable[[T], None]) -> Iterator[Callable[[T], None]]:
    """Give a function that hands an item to another thread, which writes it; at the end all are written.

    After an error, in the body or of `write`, the items that wait are dropped.
    """
    if n_threads() == 1:
        yield write
        return
    queue: Queue[T | _End] = Queue(AHEAD)
    errors: list[BaseException] = []
    stopped = Event()

    def write_all() -> None:
        while not isinstance(item := queue.get(), _End):
            if errors or stopped.is_set():
                continue
            try:
                write(item)
            except BaseException as error:
                errors.append(error)

    def hand_over(item: T) -> None:
        if errors:
            raise errors[0]
        queue.put(item)

    thread = Thread(target=write_all, name="write behind", daemon=True)
    thread.start()
    try:
        yield hand_over
    except BaseException:
        stopped.set()
        raise
    finally:
        queue.put(_End())
        thread.join()
    if errors:
        raise errors[0]
