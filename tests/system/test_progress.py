"""Stages: what is shown of work whose time was estimated well, badly or not at all."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcr.system.progress import MOST, Stages

SECONDS = st.floats(0, 1e4)


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stages(clock: Clock) -> Stages:
    return Stages(clock)


def test_right_estimates_give_the_true_fraction_and_time(clock: Clock, stages: Stages) -> None:
    stages.begin("reading")
    clock.now = 10  # nobody knew how long that would take
    assert (stages.fraction(), stages.seconds_left()) == (0.0, None)
    stages.expect([("vectors", 30), ("fit", 30), ("fit", 30)])
    stages.begin("vectors")
    for now, kind in {10: "", 20: "", 40: "fit", 60: "", 70: "fit"}.items():
        clock.now = now
        if kind:
            stages.begin(kind)
        assert stages.fraction() == pytest.approx(now / 100)
        assert stages.seconds_left() == pytest.approx(100 - now)


def test_it_moves_within_a_stage_that_reports_nothing(clock: Clock, stages: Stages) -> None:
    stages.expect([("loading", 10)])
    stages.begin("loading")
    shown = []
    for clock.now in (2, 4, 9, 15, 40):
        shown.append(stages.fraction())
    assert shown == sorted(set(shown))
    assert shown[:3] == pytest.approx([0.2, 0.4, 0.9])
    assert stages.seconds_left() == 30.0  # it is late by as much


def test_a_stage_corrects_those_of_its_kind(clock: Clock, stages: Stages) -> None:
    stages.expect([("fit", 1), ("fit", 2), ("fit", 1)])
    stages.begin("fit")
    clock.now = 10
    stages.begin("fit")
    assert stages.seconds_left() == pytest.approx(30)
    clock.now = 20  # half the time that is now expected
    stages.begin("fit")
    assert stages.seconds_left() == pytest.approx(20 / 3)  # 20 s were taken for 3 that were planned


def test_a_busy_machine_is_slower_at_everything(clock: Clock, stages: Stages) -> None:
    stages.expect([("vectors", 9), ("fit", 10)])
    stages.begin("vectors")
    clock.now = 19
    stages.begin("fit")
    assert stages.seconds_left() == pytest.approx(20)


def test_steps_that_are_counted_outweigh_the_estimate(clock: Clock, stages: Stages) -> None:
    stages.expect([("vectors", 10)])
    stages.begin("vectors")
    clock.now = 90
    stages.count(9, 10)
    assert stages.counted == (9, 10)
    left = stages.seconds_left()
    assert left is not None
    assert 9 < left < 10.1
    stages.tell("saving them", 0.95)
    assert stages.name == "saving them"


def test_steps_alone_are_enough(clock: Clock, stages: Stages) -> None:
    stages.begin("predicting")
    stages.count(0, 0)
    assert stages.seconds_left() is None
    clock.now = 10
    stages.count(1, 4)
    assert (stages.fraction(), stages.seconds_left()) == (0.25, 30.0)


def test_stages_that_are_left_out_cost_nothing(clock: Clock, stages: Stages) -> None:
    stages.expect([("vectors", 100), ("fit", 10), ("saving", 1)])
    stages.begin("fit", "fold 1 of 1")
    assert (stages.name, stages.seconds_left()) == ("fold 1 of 1", 11.0)
    clock.now = 10
    stages.begin("checking")  # one that nobody expected
    assert stages.seconds_left() == 1.0


@given(st.lists(st.tuples(st.sampled_from("abc"), SECONDS, SECONDS, st.lists(st.floats(0, 1.5)))))
def test_never_backwards_and_never_done_before_the_end(work: list[tuple[str, float, float, list[float]]]) -> None:
    clock = Clock()
    stages = Stages(clock)
    stages.begin("reading")
    stages.expect([(kind, expected) for kind, expected, _, _ in work])
    shown = [stages.fraction()]
    for kind, _, taken, steps in work:
        stages.begin(kind)
        for step in steps:
            clock.now += taken / (len(steps) + 1)
            stages.tell("step", step)
            shown.append(stages.fraction())
        clock.now += taken / (len(steps) + 1)
        shown.append(stages.fraction())
    assert shown == sorted(shown)
    assert shown[0] == 0
    assert shown[-1] <= MOST
    stages.finish()
    assert (stages.fraction(), stages.seconds_left()) == (1.0, 0.0)
