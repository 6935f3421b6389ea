"""``tfcr demo``."""

from pathlib import Path

import pytest

from tests.cli.runner import Run
from tfcr import load


@pytest.mark.slow
def test_demo(run: Run, tmp_path: Path) -> None:
    result = run("demo", "-o", tmp_path / "model")
    assert result.status == 0
    assert "tfcr-log" in result.out
    assert "Type next:" in result.out
    assert load(tmp_path / "model").classes_.tolist()
