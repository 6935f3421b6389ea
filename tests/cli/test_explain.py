"""``tfcr explain``."""

import io
import json
from pathlib import Path

import pytest

from tests.cli.runner import Run


def test_explain(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("explain", model, "w0_1 w0_2 strange")
    assert result.out.startswith("class 0\n")
    assert "not known: strange" in result.out
    parsed = json.loads(run("explain", model, "w0_1 w0_2 strange", "--json").out)
    for label, score in parsed["scores"].items():
        total = parsed["baseline"][label] + sum(word["contributions"][label] for word in parsed["words"])
        assert total == pytest.approx(score, abs=1e-6)
    monkeypatch.setattr("sys.stdin", io.StringIO("w1_1"))
    assert "w1_1" in run("explain", model, "-").out
