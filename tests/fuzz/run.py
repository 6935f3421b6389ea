"""Fuzz for a while: ``python -P tests/fuzz/run.py [TARGET...]``, ``--replay FILE...``, or ``make fuzz``.

FUZZ_MINUTES (1), FUZZ_SEED (0) and FUZZ_WORKERS (one per core) say how long, which inputs and how many at once.
Findings are written to fuzz-findings/, one small file each, which ``--replay`` runs again. Fails if anything was found.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    # before numpy is imported: threads do not survive the forking of workers
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", POLARS_MAX_THREADS="1", TFCR_THREADS="1")

from tests.fuzz.cases import Case, Files
from tests.fuzz.targets import TARGETS
from tests.fuzz.workers import Tally, Verdict, Worker, file_name, judge_apart, make_case, wait_for, workers

FINDINGS = Path("fuzz-findings")
MINIMISE_SECONDS, MINIMISE_ALL = 5.0, 120.0
"""How long one finding is made smaller, and all of them together."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of: {', '.join(TARGETS)}; all if omitted")
    parser.add_argument("--replay", nargs="+", metavar="FILE", help="run the inputs of these files")
    parser.add_argument("--inputs", type=int, default=0, help="stop each target after so many inputs")
    arguments = parser.parse_args()
    if arguments.replay:
        return replay([Path(file) for file in arguments.replay])
    unknown = [name for name in arguments.targets if name not in TARGETS]
    if unknown:
        parser.error(f"unknown target {unknown[0]}; known: {', '.join(TARGETS)}")
    minutes = float(os.environ.get("FUZZ_MINUTES") or 1)
    seed = os.environ.get("FUZZ_SEED") or "0"
    count = int(os.environ.get("FUZZ_WORKERS") or os.cpu_count() or 1)
    return fuzz(arguments.targets or list(TARGETS), minutes, seed, count, arguments.inputs)


def replay(files: list[Path]) -> int:
    """Run kept inputs; return 1 if one of them is a finding."""
    cases = [Case.load(file) for file in files]
    found = 0
    with workers(1, "0", []) as [worker]:
        for file, case in zip(files, cases, strict=True):
            began = time.monotonic()
            verdict = judge_apart(worker, case)
            found += verdict.is_finding
            print(f"{file}\t{verdict.key}\t{time.monotonic() - began:.1f} s", flush=True)
            if verdict.detail:
                print(verdict.detail)
    return int(found > 0)


def fuzz(names: list[str], minutes: float, seed: str, count: int, most: int = 0) -> int:
    """Run inputs of all targets, each for the same time, and print what became of them."""
    tallies = {name: Tally() for name in names}
    began = time.monotonic()
    with workers(count, seed, names) as running:
        prepared = time.monotonic()
        _run(running, tallies, prepared + 60 * minutes, most or 1 << 60)
        lasted = time.monotonic() - prepared
        print(f"seed {seed}, {count} workers, {lasted:.0f} s (and {prepared - began:.0f} s to begin)\n")
        print(table(tallies, lasted), flush=True)
        enough = time.monotonic() + MINIMISE_ALL
        for name, tally in tallies.items():
            for key, (number, verdict) in tally.findings.items():
                times = tally.repeats[key]
                print(f"{_keep(name, key, number, verdict, running[0], enough)} ({times} inputs)", flush=True)
    return int(any(tally.findings for tally in tallies.values()))


STRIDE = 25
"""Inputs per batch: each has its number, whichever worker runs it."""


class _Numbers:
    """Which inputs of a target come next."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.following = 0
        self.left: list[tuple[int, int]] = []

    def take(self) -> tuple[int, int] | None:
        """Return the first number of the next batch, and the one after its last; None at the end."""
        if self.left:
            return self.left.pop()
        first, self.following = self.following, min(self.most, self.following + STRIDE)
        return (first, self.following) if first < self.following else None


def _run(running: list[Worker], tallies: dict[str, Tally], end: float, most: int) -> None:
    """Keep all workers busy until the end, each target for the same time."""
    numbers = {name: _Numbers(most) for name in tallies}
    idle, busy = list(running), list[Worker]()
    while True:
        while idle and time.monotonic() < end and numbers:
            name = min(numbers, key=lambda name: tallies[name].seconds + sum(worker.job[0] == name for worker in busy))
            batch = numbers[name].take()
            if batch is None:
                del numbers[name]
                continue
            idle[-1].give((name, *batch))
            busy.append(idle.pop())
        if not busy:
            return
        for worker in list(_collect(busy, tallies, numbers)):
            busy.remove(worker)
            idle.append(worker)


def _collect(busy: list[Worker], tallies: dict[str, Tally], numbers: dict[str, _Numbers]) -> Iterator[Worker]:
    """Take the answers that are there, replace workers that did not survive their input, and yield the idle ones."""
    ready = wait_for(busy, 0.05)
    for worker in busy:
        name, _, last = worker.job
        answer: object = ...
        if worker in ready:
            with suppress(EOFError):  # it died: seen below
                answer = worker.orders.recv()
        if isinstance(answer, tuple):
            tallies[name].find(*answer)
        elif answer is None:
            tallies[name].add(worker.tally())
            yield worker
        elif (wrong := worker.look()) is not None:
            for found in worker.unheard():
                tallies[name].find(*found)
            number = worker.number()
            tallies[name].add(worker.tally())
            tallies[name].inputs += 1
            tallies[name].find(number, wrong)
            if number + 1 < last and name in numbers:
                numbers[name].left.append((number + 1, last))
            worker.start()
            yield worker


def _keep(name: str, key: str, number: int, verdict: Verdict, worker: Worker, enough: float) -> str:
    """Write a finding to its file, as small as it can be made in a few seconds."""
    seeds, seed, _ = worker.arguments
    case = make_case(name, seed, seeds, number)
    note = ""
    if time.monotonic() < enough:
        again = judge_apart(worker, case)
        note = "" if again.key == key else f" (not again: {again.key})"
        if again.is_finding and "more than" not in again.key:
            case = minimise(case, again.key, worker)
    FINDINGS.mkdir(exist_ok=True)
    path = FINDINGS / file_name(case, key)
    replace(case, problem=f"{key}{note}\n{verdict.detail}").save(path)
    return f"{name}: {key}{note}\n    {path}"


def minimise(case: Case, key: str, worker: Worker) -> Case:
    """Cut stretches out of the files as long as the same thing goes wrong."""
    end = time.monotonic() + MINIMISE_SECONDS
    mend = TARGETS[case.target].mend
    for name in list(case.files):
        size = len(case.files.get(name, b"")) // 2
        while size >= 1 and time.monotonic() < end:
            for shorter in _shorter(case.files, name, size):
                if time.monotonic() > end:
                    break
                attempt = replace(case, files=mend(shorter))
                if name in attempt.files and judge_apart(worker, attempt).key == key:
                    case = attempt
                    break
            else:
                size //= 2
    return case


def _shorter(files: Files, name: str, size: int) -> Iterator[Files]:
    data = files.get(name, b"")
    for start in range(0, len(data), size):
        yield {**files, name: data[:start] + data[start + size :]}


def table(tallies: dict[str, Tally], seconds: float) -> str:
    """Return a row for each target: inputs, how many were fine, refused, and what was found."""
    whole = Tally()
    lines = [f"{'target':14} {'inputs':>8} {'fine':>8} {'refused':>8} {'findings':>8} {'slowest':>8}"]
    for name, tally in tallies.items():
        lines.append(_row(name, tally))
        whole.add(tally)
    total = sum(len(tally.findings) for tally in tallies.values())
    lines.append(_row("all", replace(whole, findings={str(number): (0, Verdict("")) for number in range(total)})))
    lines.append(f"{whole.inputs / max(1e-9, seconds):.0f} inputs per second")
    return "\n".join(lines) + "\n"


def _row(name: str, tally: Tally) -> str:
    return (
        f"{name:14} {tally.inputs:8,} {tally.fine:8,} {tally.refused:8,} {len(tally.findings):8} {tally.slowest:7.2f}s"
    )


if __name__ == "__main__":
    sys.exit(main())
