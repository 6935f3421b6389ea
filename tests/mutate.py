"""Mutate the modules that decide (see ``[tool.mutmut]``), and count the mutants that the tests kill.

``python -P tests/mutate.py [PATTERN...]`` runs mutmut, for some mutants only if patterns such as ``tfcr.schemes*`` are
given, prints a row per module and fails if fewer than 85 % of the mutants die. Survivors that change nothing stand in
tests/mutants.md.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
from mutmut.__main__ import cli
from mutmut.stats import status_by_exit_code

ENOUGH = 0.85
DEAD = ("killed", "timeout", "segfault")


def main(patterns: list[str]) -> int:
    # forked children must not find threads of their parent half-way through their work
    os.environ.update(OPENBLAS_NUM_THREADS="1", TFCR_THREADS="1")
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined]  # mutmut 3.8 with pytest 9.1
    cli(["run", "--max-children", "2", *patterns], standalone_mode=False)
    return report(Path("mutants"))


def report(folder: Path) -> int:
    """Print how many mutants of each module died; return 1 if too few did."""
    total: Counter[str] = Counter()
    print(f"{'module':40} mutants  killed timeout survived  dead")
    for path in sorted(folder.rglob("*.py.meta")):
        codes = json.loads(path.read_text("utf-8"))["exit_code_by_key"].values()
        found = Counter(status_by_exit_code[code] for code in codes)
        if found:
            print(row(str(path.relative_to(folder).with_suffix("")), found))
        total += found
    print(row("all", total))
    return int(fraction_dead(total) < ENOUGH)


def row(name: str, found: Counter[str]) -> str:
    survived = found.total() - sum(found[status] for status in DEAD) - found["not checked"]
    numbers = f"{found.total():7} {found['killed']:7} {found['timeout']:7} {survived:8}"
    return f"{name:40} {numbers}  {fraction_dead(found):.1%}"


def fraction_dead(found: Counter[str]) -> float:
    return sum(found[status] for status in DEAD) / max(1, found.total() - found["not checked"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
