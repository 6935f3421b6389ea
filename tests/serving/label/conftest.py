"""The application for labelling in this process, and ``tfcr label`` in a process of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.labelling.conftest import corpus
from tfcr.labelling import AnswersFile, Pool, Session
from tfcr.serving import Settings
from tfcr.serving.label import make_label_app

TEXTS, TRUTH = corpus(60)
CLASSES = ["sport", "politics", "weather"]
Desk = Callable[..., TestClient]


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


@pytest.fixture
def desk(answers: Path) -> Iterator[Desk]:
    """Return a function that starts the application, and gives a client of it."""
    opened: list[TestClient] = []

    def start(texts: list[str] = TEXTS, classes: list[str] = CLASSES, **options: Any) -> TestClient:
        pool = Pool.of(texts)
        session = Session(pool, classes, file=AnswersFile(answers, pool), several=options.pop("several", False))
        settings = Settings({}, **options)
        app = make_label_app(session, settings, "tickets <b>", str(answers))
        client = TestClient(app, base_url=settings.address, follow_redirects=False)
        client.__enter__()
        opened.append(client)
        return client

    yield start
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def client(desk: Desk) -> TestClient:
    return desk()
