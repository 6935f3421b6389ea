"""Several processes give what one gives, and a process that dies is reported."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.experiment.conftest import (
    stored,
)
from tests.experiment.run.children import Dies
from tfcr.experiment import (
    Reporter,
    Request,
    Results,
    open_results,
    run_experiment,
)
from tfcr.experiment.run.processes import TaskError


def test_processes(request_: Request, results: Results, tmp_path: Path) -> None:
    run_experiment(request_, results)
    other = open_results(tmp_path / "other.sqlite", make=True)
    seen: list[tuple[int, int]] = []
    reporter = Reporter(on_progress=lambda progress: seen.append((progress.done, progress.total)))
    asked = replace(request_, systems=(Dies(other.path, after=20),))
    with pytest.raises(TaskError, match="killed by signal 9, perhaps for want of memory; what was finished"):
        run_experiment(asked, other, processes=2, command="tfcr experiment run …", reporter=reporter)
    assert stored(other.path) == stored(results.path)
    assert seen[-1] == (20, 22)
    assert other.commands() == ["tfcr experiment run …"]
    other.close()
