"""How long work reports its progress: a loop counts its steps; a command goes through named stages."""

import time
from collections.abc import Callable, Iterable
from threading import RLock

Progress = Callable[[int, int], None]
"""Called with the work done so far and the total."""

Tell = Callable[[str, float], None]
"""Called with what is done next, and the fraction of the work done so far."""

MOST = 0.99
"""The largest fraction before the end: no estimate is exact."""
LEAST = 0.1
"""What is left of a stage that is not over, at the least, as a fraction of its time so far."""
SHORTEST = 1e-3
"""Seconds: nothing is learned from stages that were expected to be shorter."""
MOST_SLOWER = 3.0
"""How much slower or faster than expected stages of one kind make those of another."""
BYTES_PER_SECOND = 1e7
"""The expected speed of a download."""


class Stages:
    """The stages of a command, and how much of the whole is done.

    Each stage has an expected time. What is left is the sum over the stages to come, corrected by how long stages of
    the same kind have taken so far, or if there was none, by how long all have. The fraction moves from where it is
    towards 1 at the pace that reaches 1 when nothing is left: so a wrong estimate changes its pace, but it never goes
    backwards and is 1 only at the end.

    Attributes
    ----------
    name
        What is being done.
    counted
        The steps done and in all, if the stage counts them.

    Examples
    --------
    >>> now = 0.0
    >>> stages = Stages(clock=lambda: now)
    >>> stages.expect([("counting", 1), ("fit", 4), ("fit", 5)])
    >>> stages.begin("counting")
    >>> now = 1.0
    >>> stages.begin("fit", "fold 1")
    >>> stages.fraction(), stages.seconds_left()
    (0.1, 9.0)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.name = ""
        self.counted: tuple[int, int] | None = None
        self.finished = False
        self._clock = clock
        self._to_come: list[tuple[str, float]] = []
        self._kind = ""
        self._expected = 0.0
        self._began = clock()
        self._left, self._left_at = 0.0, self._began
        self._taken: dict[str, tuple[float, float]] = {}
        self._shown, self._shown_at = 0.0, self._began
        self._lock = RLock()  # a terminal asks from a thread of its own

    def expect(self, stages: Iterable[tuple[str, float]]) -> None:
        """Set the stages to come, in order: the kind of each, and the seconds that it is expected to take."""
        with self._lock:
            self._to_come = list(stages)

    def begin(self, kind: str, name: str = "") -> None:
        """Begin the next stage of a kind; those expected before it are over, or are left out."""
        with self._lock:
            now = self._clock()
            self._end_stage(now)
            kinds = [each for each, _ in self._to_come]
            at = kinds.index(kind) if kind in kinds else -1
            self._expected = self._corrected(*self._to_come[at]) if at >= 0 else 0.0
            self._to_come = self._to_come[at + 1 :]
            self._kind, self.name, self.counted = kind, name or kind, None
            self._began = self._left_at = now
            self._left = self._expected

    def tell(self, name: str, fraction: float) -> None:
        """Report what is done next within the stage, and the fraction of the stage done so far."""
        with self._lock:
            if name:
                self.name = name
            now = self._clock()
            if fraction > 0:
                # at first what was expected counts most, later what was measured
                measured, trust = (now - self._began) / fraction, fraction**0.5 if self._expected else 1.0
                total = (1 - trust) * self._expected + trust * measured
                self._left, self._left_at = (1 - min(fraction, 1)) * total, now

    def count(self, done: int, total: int) -> None:
        """Report the steps done in the stage and in all; it is a `Progress`."""
        with self._lock:
            self.counted = done, total
            self.tell("", done / total if total else 0.0)

    def finish(self) -> None:
        """Report that all is done."""
        with self._lock:
            self._end_stage(self._clock())
            self._to_come, self.finished = [], True

    def seconds_left(self) -> float | None:
        """Return about how many seconds are left; None as long as nothing is known."""
        with self._lock:
            if self.finished:
                return 0.0
            if not self._left and not self._to_come:
                return None
            since = self._clock() - self._left_at
            # a stage that is late by some seconds is thought to need as many more
            of_stage = max(abs(self._left - since), LEAST * since)
            return of_stage + sum(self._corrected(kind, seconds) for kind, seconds in self._to_come)

    def fraction(self) -> float:
        """Return the fraction of all work that is done."""
        with self._lock:
            left = self.seconds_left()
            if left is not None:
                now = self._clock()
                step = now - self._shown_at
                if step > 0:
                    self._shown += (1 - self._shown) * step / (step + left)
                self._shown_at = now
            return 1.0 if self.finished else min(self._shown, MOST)

    def _corrected(self, kind: str, seconds: float) -> float:
        if kind in self._taken:
            taken, expected = self._taken[kind]
            return seconds * taken / expected
        taken, expected = map(sum, zip((1.0, 1.0), *self._taken.values(), strict=True))
        return seconds * min(max(taken / expected, 1 / MOST_SLOWER), MOST_SLOWER)  # the machine may be slow, or busy

    def _end_stage(self, now: float) -> None:
        """Remember how long the stage took, for those of the same kind."""
        if self._expected >= SHORTEST:
            taken, expected = self._taken.get(self._kind, (0.0, 0.0))
            # what was expected already contains the correction by earlier stages: take it out again
            planned = self._expected * (expected / taken if taken else 1.0)
            self._taken[self._kind] = taken + max(now - self._began, SHORTEST), expected + planned
            self._expected = 0.0
