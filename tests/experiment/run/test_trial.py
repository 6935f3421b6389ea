"""Shared work is done once and timed as if it were not shared."""

from dataclasses import replace

import pytest

from tests.experiment.conftest import (
    plan_all,
)
from tfcr.experiment import (
    Request,
)
from tfcr.experiment.run.trial import Fold, SharedWork
from tfcr.system.hardware import memory_limit


class Clock:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("tfcr.experiment.run.trial.time.perf_counter", clock)
    return clock


def test_each_system_is_timed_as_if_it_ran_alone(clock: Clock) -> None:
    work = SharedWork()
    made: list[str] = []

    def take(what: str, seconds: float) -> str:
        made.append(what)
        clock.now += seconds
        return what

    def features() -> str:
        work.get("counts", lambda: take("counts", 1))
        return take("features", 2)

    def head(seconds: float) -> str:
        work.get("counts", lambda: take("counts", 1))
        work.get("features", features)
        return take("head", seconds)

    assert work.run_alone(lambda: head(5)) == ("head", 8)
    assert work.run_alone(lambda: head(4)) == ("head", 7)
    assert work.run_alone(lambda: take("other", 3)) == ("other", 3)
    assert made == ["counts", "features", "head", "head", "other"]
    work.drop("features")
    assert "features" not in work
    assert work.run_alone(lambda: head(1)) == ("head", 4)


def test_only_the_last_features_are_held(request_: Request) -> None:
    planned = plan_all(replace(request_, heads=("lr",)))
    fold = Fold(planned[0].corpus.entry, planned[0].cell.settings, 0, planned[0].vectors, memory_limit())
    for one in planned:
        one.system.run(fold)
    held = [key for key in fold.work._values if isinstance(key, tuple) and key[0] == "features"]
    assert held == [("features", "tfcr", "equations")]
