import logging
import time
from typing import Any

import pytest

from tests.labelling.conftest import corpus
from tfcr.labelling import Pool, Session
from tfcr.serving.label.trainer import Trainer, points


def wait(trainer: Trainer) -> None:
    until = time.monotonic() + 60
    while trainer.is_busy:
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.fixture
def session() -> Session:
    texts, truth = corpus(80)
    session = Session(Pool.of(texts), sorted(set(truth)))
    for _ in range(60):
        question = session.ask()
        assert question is not None
        session.answer(question.number, truth[question.number])
    return session


def test_it_learns_measures_and_fills_the_curve_after_a_restart(session: Session) -> None:
    trainer = Trainer(session)
    trainer.start()
    wait(trainer)
    assert not session.is_behind
    assert sorted(session.curve) == [60]  # after 20 and 40 answers, fewer than ten were drawn at random
    session.undo()
    trainer.wake()
    wait(trainer)
    assert sorted(session.curve) == [59]
    trainer.stop()


def test_it_goes_on_after_an_error(session: Session, monkeypatch: Any, caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise ValueError("secret text")

    trainer = Trainer(session)
    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR, "tfcr"):
        patch.setattr(session, "learn", fail)
        trainer.start()
        wait(trainer)
    assert "ValueError while learning" in caplog.text
    assert "secret" not in caplog.text
    trainer.wake()
    wait(trainer)
    assert not session.is_behind
    trainer.stop()


def test_the_curve_has_about_ten_points() -> None:
    for n in (0, 10, 21, 200, 201, 1000, 12_345):
        found = points(n)
        assert len(found) <= 10
        assert all(20 <= point < n for point in found)
