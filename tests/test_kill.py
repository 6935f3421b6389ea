"""Each command, killed five times at random moments."""

from pathlib import Path

import pytest

from tests.kill import JOBS, kill_job


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_nothing_is_lost_and_nothing_left_behind(name: str, tmp_path: Path) -> None:
    report = kill_job(name, kills=5, seed="0", folder=tmp_path / "place")
    assert report.problems == []
    assert report.kills == 5
