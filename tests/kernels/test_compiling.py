"""Compiled code is kept for its user, where it can be."""

import os
import stat
import subprocess
import sys
from pathlib import Path

# the smallest kernel: one that takes less than a second to compile
CODE = """
import numpy as np
from tfcr.system.native import last_row_end
print(last_row_end(np.frombuffer(b"a,b\\nc", np.uint8), ord(","), True))
"""


def run(cache: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "TFCR_CACHE": str(cache)}
    return subprocess.run([sys.executable, "-c", CODE], check=True, env=environment, capture_output=True, text=True)


def test_compiled_code_is_kept_for_its_user_alone(tmp_path: Path) -> None:
    first = run(tmp_path)
    assert first.stdout == "4\n"
    assert "compiling fast code, which takes some seconds, and only the first time" in first.stderr
    folder = tmp_path / "kernels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbc"))
    assert run(tmp_path).stderr == ""


def test_a_machine_without_a_cache_works(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    result = run(tmp_path / "file")
    assert result.stdout == "4\n"
    assert "each time, since the cache folder cannot be written" in result.stderr
