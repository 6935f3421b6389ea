"""Results to report on: those of the experiments' tests."""

from tests.experiment.conftest import data, finished, run

__all__ = ["data", "finished", "run"]
