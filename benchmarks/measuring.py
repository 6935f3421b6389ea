"""How the benchmarks measure: all contestants in one run, taking turns, best of several; and what they print."""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(os.environ.get("TFCR_RESULTS") or Path(__file__).parent / "results")
"""Where results go, and what is worth keeping beside them."""
PACKAGES = ("tfcr", "numpy", "scipy", "scikit-learn", "numba", "polars", "gensim", "fasttext-numpy2")


@dataclass(frozen=True)
class Seconds:
    """The least of several turns; `cpu` of all threads."""

    cpu: float
    wall: float


@dataclass
class Contest:
    """What was measured for one row of the table: ours first, and how often faster it must be than each peer."""

    what: str
    seconds: dict[str, Seconds]
    wanted: dict[str, float] = field(default_factory=dict)
    by: str = "cpu"
    remark: str = ""

    def ratio(self, peer: str, by: str) -> float:
        """Return how many times slower a peer is."""
        ours = next(iter(self.seconds))
        return float(getattr(self.seconds[peer], by) / getattr(self.seconds[ours], by))

    def rows(self) -> list[str]:
        """Return its rows of the table."""
        found = []
        for number, (name, seconds) in enumerate(self.seconds.items()):
            ratios = [f"{self.ratio(name, by):.3g} ×" if number else "" for by in ("cpu", "wall")]
            wanted = f"{self.wanted[name]:.2g} × ({self.by})" if name in self.wanted else ""
            cells = ("" if number else self.what, name, f"{seconds.cpu:.3f}", f"{seconds.wall:.3f}", *ratios, wanted)
            found.append(f"| {' | '.join(cells)} |")
        return found


HEADER = "| what | who | CPU, s | wall, s | ratio, CPU | ratio, wall | wanted |\n|---|---|---|---|---|---|---|"


def take_turns(contestants: Mapping[str, Callable[[], Any]], turns: int = 5) -> dict[str, Seconds]:
    """Run each once to warm up, then all of them in turn; keep the least of each."""
    best: dict[str, Seconds] = {}
    for turn in range(turns + (turns > 1)):
        for name, run in contestants.items():
            wall, cpu = time.perf_counter(), time.process_time()
            run()
            seconds = Seconds(time.process_time() - cpu, time.perf_counter() - wall)
            if turn or turns == 1:
                known = best.get(name, seconds)
                best[name] = Seconds(min(known.cpu, seconds.cpu), min(known.wall, seconds.wall))
    return best


def in_new_process(script: str, *arguments: str) -> tuple[str, float, Seconds]:
    """Run a Python script; return what it printed, its peak memory in GB, and its time."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    code = (
        "import os, runpy, sys; sys.argv = sys.argv[1:]; sys.path.insert(0, os.path.dirname(sys.argv[0])); "
        "runpy.run_path(sys.argv[0], run_name='__main__'); "
        "print('peak', open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"  # its own, not its parent's
    )
    done = subprocess.run([sys.executable, "-c", code, script, *arguments], check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    *printed, peak = done.stdout.splitlines()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return "\n".join(printed), int(peak.split()[1]) / 1e6, Seconds(cpu, time.perf_counter() - began)


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except ImportError:
            found[name] = "absent"
    return found


def write_results(name: str, markdown: str, data: Any) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(markdown + "\n")
    content = {"versions": versions(), "results": data}
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1, default=_plain) + "\n")


def _plain(value: Any) -> Any:
    return asdict(value) if hasattr(value, "__dataclass_fields__") else value
