"""schemathesis asks what the OpenAPI description allows, and what it does not, and looks for faults in the answers."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving.conftest import KEPT, TOKEN, serving

LIMITS = ("--max-text", "2000", "--max-batch", "50")  # so that texts at the limit are sent too, and soon


@pytest.mark.slow
@pytest.mark.parametrize("token", [None, TOKEN])
def test_schemathesis_finds_no_fault(token: str | None, tmp_path: Path) -> None:
    with serving(KEPT, *LIMITS, *(["--token", token] if token else [])) as server:
        header = ["--header", f"Authorization: Bearer {token}"] if token else []
        command = ["run", f"{server.address}/openapi.json", "--max-examples", "60", "--seed", "1", *header]
        code = "import sys; from schemathesis.cli import schemathesis; sys.exit(schemathesis())"
        # in a process of its own, and in an empty folder: it keeps what it finds
        result = subprocess.run(
            [sys.executable, "-c", code, *command],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=600,
            check=False,
        )
        status, said = server.stop()
    assert result.returncode == 0, result.stdout[-20_000:]
    assert "Tested: 6" in result.stdout
    assert status == 0
    assert "Error" not in said
