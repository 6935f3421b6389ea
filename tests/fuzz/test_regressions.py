"""Inputs that once went wrong, each replayed in a worker with its limits of time and memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.cases import Case

FOLDER = Path(__file__).parent / "regressions"
FILES = sorted(FOLDER.glob("*.json"))
RUN = Path(__file__).with_name("run.py")


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """Replay all files in a process of its own: one that has used polars, as this may have, must not be forked."""
    environment = {**os.environ, "FUZZ_CACHE": os.environ["TFCR_CACHE"]}
    command = [sys.executable, "-P", str(RUN), "--replay", *map(str, FILES)]
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, errors="replace")
    rows = [line.split("\t") for line in out.stdout.splitlines() if line.count("\t") == 2]
    assert len(rows) == len(FILES), out.stderr
    return {Path(row[0]).name: row[1] for row in rows}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_once_went_wrong_is_fine_or_refused(file: Path, verdicts: dict[str, str]) -> None:
    assert verdicts[file.name] in ("fine", "refused")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_regression_file_is_small_and_kept_as_it_was(file: Path, tmp_path: Path) -> None:
    assert file.stat().st_size < 20_000
    case = Case.load(file)
    case.save(tmp_path / "again.json")
    assert Case.load(tmp_path / "again.json") == case
