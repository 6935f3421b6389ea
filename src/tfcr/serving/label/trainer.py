"""A thread that learns while people label: first what to ask next, then how good the answers are."""

import logging
import threading

from tfcr.labelling import Session

MEASURE_EVERY = 5
"""Answers after which the score is estimated even if there are new ones to learn from."""
POINTS = 10
"""About how many points the curve has."""
SMALLEST_STEP = 20

logger = logging.getLogger("tfcr")


class Trainer:
    """Learns from a session's answers, in a thread of its own.

    Attributes
    ----------
    is_busy
        Whether it has something to do.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.is_busy = False
        self._wake = threading.Event()
        self._stopped = False
        self._measured = -1
        self._thread = threading.Thread(target=self._run, name="trainer", daemon=True)

    def start(self) -> None:
        """Begin; learn from what is there already."""
        self.wake()
        self._thread.start()

    def wake(self) -> None:
        """Say that there is a new answer."""
        self.is_busy = True
        self._wake.set()

    def stop(self, seconds: float = 10.0) -> None:
        """Finish what is being trained, and end."""
        self._stopped = True
        self._wake.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._stopped:
            self._wake.wait()
            self._wake.clear()
            try:
                while not self._stopped and self._step():
                    pass
            except Exception as error:  # the page goes on, and answers are kept; the message may quote a text
                logger.error("%s while learning; answers are kept", type(error).__name__)
            self.is_busy = self._wake.is_set()

    def _step(self) -> bool:
        """Do what is most urgent; return whether there was anything."""
        session = self.session
        if session.is_behind:
            session.learn()
            if session.is_behind and session.version - self._measured < MEASURE_EVERY:
                return True  # there are newer answers, and the score can wait for them
        if self._measured != session.version:
            self._measured = session.version
            session.measure()
            return True
        missing = [point for point in points(session.n_answers) if point not in session.curve]
        # the latest first: early ones have too few texts drawn at random
        return bool(missing) and session.measure(missing[-1]) is not None


def points(n_answers: int) -> range:
    """Return the numbers of answers that the curve should have a point at, the last of which is measured anyway.

    >>> list(points(95)), len(points(1000))
    ([20, 40, 60, 80], 9)
    """
    step = SMALLEST_STEP * max(1, -(-n_answers // (SMALLEST_STEP * POINTS)))
    return range(step, n_answers, step)
