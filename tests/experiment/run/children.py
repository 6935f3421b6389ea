"""What runs in other processes; in a module of its own, which they can import quickly."""

import os
import signal
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfcr.experiment import DatasetChoice, Request, VectorsChoice, open_results, run_experiment
from tfcr.experiment.plan.systems import Predictions
from tfcr.experiment.run.trial import Fold
from tfcr.system.hardware import memory_limit


def folds_in(path: Path) -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
            count = int(connection.execute("SELECT count(*) FROM folds").fetchone()[0])
        connection.close()
    except sqlite3.OperationalError:  # not there yet
        return 0
    return count


@dataclass(frozen=True)
class Dies:
    """Waits for the results of others, then kills its process."""

    path: Path
    after: int
    name: str = "dies"
    needs_vectors: bool = False
    tokenizer: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def run(self, fold: Fold) -> Predictions:
        assert fold.max_memory * 2 <= memory_limit()  # it is one of two processes
        while folds_in(self.path) < self.after:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


def kill_request(data: Path) -> Request:
    vectors = VectorsChoice("file", str(data.with_name("vectors.vec")))
    return Request((DatasetChoice("small", str(data)),), (vectors,), folds=5, first_folds=3)


def run_in_child(request: Request, path: Path, kill_after: int, start: Any = None) -> None:
    """Run an experiment; kill the process in the middle of writing, after so many steps of writing."""
    steps = 0

    def count_step(statement: str) -> None:
        nonlocal steps
        steps += statement.startswith(("INSERT", "DELETE", "COMMIT"))
        if steps == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    opened = open_results(path, make=True)
    opened._connection.set_trace_callback(count_step)
    if start is not None:
        start.wait()
    run_experiment(request, opened, command="in a child")
