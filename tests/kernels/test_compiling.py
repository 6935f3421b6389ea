"""Compiled code is kept for its user, where it can be."""

import os
import stat
import subprocess
import sys
from pathlib import Path


def test_compiled_code_is_kept_for_its_user_alone(tmp_path: Path) -> None:
    code = "from tfcr.text.documents import count_terms; count_terms(['word ' * 300_000])"
    environment = {**os.environ, "TFCR_CACHE": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    folder = tmp_path / "kernels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.rglob("*.nbc"))


def test_a_machine_without_a_cache_works(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    code = "from tfcr.text.documents import count_terms; print(count_terms(['word ' * 300_000]).matrix.sum())"
    environment = {**os.environ, "TFCR_CACHE": str(tmp_path / "file")}
    result = subprocess.run([sys.executable, "-c", code], check=True, env=environment, capture_output=True, text=True)
    assert result.stdout == "300000\n"
