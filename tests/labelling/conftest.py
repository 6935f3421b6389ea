"""A corpus of three topics, of which one is rare."""

import errno
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tfcr.labelling import Pool, Session

TOPICS = {"sport": 0.5, "politics": 0.4, "weather": 0.1}


def corpus(n: int = 200, seed: int = 0) -> tuple[list[str], list[str]]:
    """Return texts and their true labels: words of the topic, and words of all."""
    random = np.random.default_rng(seed)
    labels = random.choice(list(TOPICS), n, p=list(TOPICS.values())).tolist()
    texts = [
        " ".join(
            [f"{label}{word}" for word in random.integers(0, 12, 4)]
            + [f"any{word}" for word in random.integers(0, 30, 4)]
        )
        for label in labels
    ]
    return texts, labels


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return corpus()[0]


@pytest.fixture(scope="session")
def truth() -> list[str]:
    return corpus()[1]


@pytest.fixture(scope="session")
def pool(texts: list[str]) -> Pool:
    return Pool.of(texts)


def full_disk(*_: object) -> None:
    """Stand for a function that writes, on a disk without room."""
    raise OSError(errno.ENOSPC, "No space left on device")


Label = Callable[..., Session]


@pytest.fixture
def label(truth: list[str]) -> Label:
    """Return a function that answers so many questions of a session, and learns after every tenth if it should."""

    def answered(
        session: Session, n: int, name: Callable[[int], Any] = lambda number: truth[number], *, learn: bool = False
    ) -> Session:
        for _ in range(n):
            question = session.ask()
            assert question is not None
            session.answer(question.number, name(question.number))
            if learn and session.n_answers % 10 == 0:
                session.learn()
        return session

    return answered
