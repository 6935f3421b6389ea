"""Each test of datasets begins with no data and no remembered place."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each test begin with no data and no remembered place."""
    monkeypatch.setenv("TFCR_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TFCR_CACHE", str(tmp_path / "cache"))
