"""Worker processes that run cases, and the watchdog that ends and replaces them.

A worker is forked from a process that has imported everything, makes its inputs itself from the seed and a number, and
writes down which number it is at. The watchdog ends it after MOST_SECONDS with one input or beyond MOST_MEMORY; the
number tells which input it was.
"""

import faulthandler
import gc
import hashlib
import importlib
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from random import Random
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase

from tests.fuzz.cases import Case, Files, write_files
from tests.fuzz.targets import TARGETS, make_mutant, make_seeds
from tfcr.errors import TfcrError
from tfcr.text.tokenizers import TOKENIZERS

MOST_SECONDS = 10.0
MOST_MEMORY = 2 << 30
DRAWN = 60
"""How many inputs hypothesis draws at once."""
SPECIAL_EVERY, DRAWN_EVERY = 10, 6
"""One input in so many is a special one, as long as there are any, and one in so many is drawn by hypothesis."""
_MEMORY = "more than {} MB of memory"
FINE, REFUSED = "fine", "refused"
KERNELS = Path(os.environ.get("FUZZ_CACHE") or Path(__file__).parents[2] / ".fuzz-cache")
"""Where compiled code is kept from one run to the next."""
_STATE = struct.Struct("<qdqqd")
"""What a worker says of itself: the number it is at (-1: none), when that began; of its batch, how many inputs were
fine and refused, and the longest time that one took."""


@dataclass(frozen=True)
class Verdict:
    """What became of an input.

    Attributes
    ----------
    key
        FINE, REFUSED, or what went wrong and where: equal keys are one finding.
    detail
        A traceback.
    """

    key: str
    detail: str = ""

    @property
    def is_finding(self) -> bool:
        return self.key not in (FINE, REFUSED)


@dataclass
class Tally:
    """What became of the inputs of a target, and the first input of each finding."""

    inputs: int = 0
    fine: int = 0
    refused: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    findings: dict[str, tuple[int, Verdict]] = field(default_factory=dict)
    repeats: dict[str, int] = field(default_factory=dict)

    def find(self, number: int, verdict: Verdict) -> None:
        self.findings.setdefault(verdict.key, (number, verdict))
        self.repeats[verdict.key] = self.repeats.get(verdict.key, 0) + 1

    def add(self, other: "Tally") -> None:
        self.inputs += other.inputs
        self.fine += other.fine
        self.refused += other.refused
        self.seconds += other.seconds
        self.slowest = max(self.slowest, other.slowest)
        for key, found in other.findings.items():
            self.findings.setdefault(key, found)
            self.repeats[key] = self.repeats.get(key, 0) + other.repeats[key]


# inputs --------------------------------------------------------------------------------------------------------------


Seeds = dict[str, list[Files]]


def make_case(name: str, seed: str, seeds: Seeds, number: int) -> Case:
    """Return an input: the same for the same target, seed and number."""
    origin = f"FUZZ_SEED={seed} number {number}"
    special = special_cases(name)
    if number % SPECIAL_EVERY == 0 and number // SPECIAL_EVERY < len(special):
        return Case(name, special[number // SPECIAL_EVERY], f"{origin} (special)")
    target = TARGETS[name]
    if target.drawn is not None and number % DRAWN_EVERY == 1:
        draws = drawn_cases(name, f"{seed} {number // (DRAWN_EVERY * DRAWN)}")
        return Case(name, draws[number // DRAWN_EVERY % len(draws)], f"{origin} (hypothesis)")
    return Case(name, make_mutant(target, seeds[name], Random(f"{seed} {name} {number}")), origin)


@cache
def special_cases(name: str) -> list[Files]:
    return TARGETS[name].special()


@lru_cache(maxsize=8)
def drawn_cases(name: str, seed: str) -> list[Files]:
    """Return what hypothesis draws."""
    strategy = TARGETS[name].drawn
    assert strategy is not None
    found: list[Files] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=DRAWN,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(strategy())
    def collect(files: Files) -> None:
        found.append(files)

    collect()
    return found


# in the worker -------------------------------------------------------------------------------------------------------


def judge(case: Case, folder: Path) -> Verdict:
    """Run a case in an empty folder, and empty it again."""
    write_files(folder, case.files)
    _forget_peak()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[case.target].run(folder)
    except TfcrError:
        if _peak() > MOST_MEMORY:
            return Verdict(f"{_MEMORY.format(MOST_MEMORY >> 20)} before it was refused")
        return Verdict(REFUSED)
    except BaseException as error:  # a panic in Rust code is no Exception
        return Verdict(_key(error), "".join(traceback.format_exception(error, limit=-12)))
    finally:
        empty(folder)
    return Verdict(FINE) if _peak() < MOST_MEMORY else Verdict(f"{_MEMORY.format(MOST_MEMORY >> 20)} for a moment")


def _forget_peak() -> None:
    with suppress(OSError):  # not on every system
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Return the most memory that this process has used since `_forget_peak`, in bytes; 0 if that is not known."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    return 0


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _key(error: BaseException) -> str:
    """Name a finding by its kind and the last line of tfcr, or of the harness, that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/tfcr/" in frame.filename] or frames
    place = f"{'/'.join(Path(ours[-1].filename).parts[-2:])}:{ours[-1].lineno}"
    return f"{type(error).__name__} at {place} in {ours[-1].name}"


def quiet_environment(folder: Path) -> None:
    """Let a worker keep to itself: one thread, its own cache and temporary folder, no output."""
    os.environ.update(TFCR_THREADS="1", POLARS_MAX_THREADS="1", OPENBLAS_NUM_THREADS="1", RUST_BACKTRACE="0")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "TFCR_DATA"):
        os.environ.pop(name, None)
    os.environ["TFCR_DATA"] = str(folder / "nowhere")
    os.environ["TFCR_CACHE"] = str(folder / "cache")
    tempfile.tempdir = str(folder / "tmp")
    for name in ("tmp", "cache", "case"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    os.chdir(folder / "tmp")


def _work(orders: Connection, state: mmap.mmap, seeds: Seeds, seed: str, folder: Path) -> None:
    """Run batches until there are no more orders."""
    quiet_environment(folder)
    os.setpgid(0, 0)  # so that its own children end with it
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (4 * MOST_MEMORY, 4 * MOST_MEMORY))  # the watchdog looks only now and then
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log = (folder / "log").open("w")
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    faulthandler.enable(log)
    faulthandler.register(signal.SIGUSR1, log, all_threads=True)
    with suppress(EOFError):
        while True:
            order = orders.recv()
            if isinstance(order, Case):
                _note(state, 0)
                orders.send(judge(order, folder / "case"))
            else:
                name, first, last = order
                make = partial(make_case, name, seed, seeds)
                for found in _batch(range(first, last), make, state, folder / "case"):
                    orders.send(found)
                orders.send(None)


def _batch(
    numbers: range, make: Callable[[int], Case], state: mmap.mmap, folder: Path
) -> Iterator[tuple[int, Verdict]]:
    """Run numbered inputs; yield the number and verdict of each finding."""
    fine = refused = 0
    slowest = 0.0
    for number in numbers:
        _note(state, number, fine, refused, slowest)
        case = make(number)
        _note(state, number, fine, refused, slowest)  # the clock begins now
        began = time.monotonic()
        verdict = judge(case, folder)
        slowest = max(slowest, time.monotonic() - began)
        fine += verdict.key == FINE
        refused += verdict.key == REFUSED
        if verdict.is_finding:
            yield number, verdict
    _note(state, -1, fine, refused, slowest)


def _note(state: mmap.mmap, number: int, fine: int = 0, refused: int = 0, slowest: float = 0.0) -> None:
    state[:] = _STATE.pack(number, time.monotonic(), fine, refused, slowest)


# the watchdog --------------------------------------------------------------------------------------------------------


class Worker:
    """A process that runs cases; `look` says how it is."""

    def __init__(self, seeds: Seeds, seed: str, folder: Path) -> None:
        self.arguments = (seeds, seed, folder)
        self.folder = folder
        self.job: Any = None
        self.given = 0.0
        self.start()

    def start(self) -> None:
        context = get_context("fork")
        self.state = mmap.mmap(-1, _STATE.size)
        _note(self.state, -1)
        self.orders, theirs = context.Pipe()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.process = context.Process(target=_work, args=(theirs, self.state, *self.arguments), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, job: Any) -> None:
        self.job, self.given = job, time.monotonic()
        _note(self.state, -1)
        self.orders.send(job)

    def number(self) -> int:
        """Return the number of the input that is being run, -1 if none is."""
        return int(_STATE.unpack(self.state[:])[0])

    def tally(self) -> Tally:
        """Return what became of the inputs of the batch so far, without findings."""
        number, _, fine, refused, slowest = _STATE.unpack(self.state[:])
        _, first, last = self.job
        inputs = (last if number < 0 else number) - first
        return Tally(inputs, fine, refused, time.monotonic() - self.given, slowest)

    def look(self) -> Verdict | None:
        """Return what is wrong with the input that is being run, if anything is; then end the process."""
        number, began, *_ = _STATE.unpack(self.state[:])
        if not self.process.is_alive():
            self.process.join()
            return Verdict(f"the process died ({self._died()}) at {self._place()}", self._log())
        if number < 0:
            return None
        if memory_of(self.process.pid or 0) > MOST_MEMORY:
            return self._end(_MEMORY.format(MOST_MEMORY >> 20))
        if time.monotonic() - began > MOST_SECONDS:
            return self._end(f"more than {MOST_SECONDS:.0f} s")
        return None

    def unheard(self) -> Iterator[tuple[int, Verdict]]:
        """Yield the findings that a worker sent before it ended."""
        with suppress(EOFError, OSError):
            while found := self.orders.recv():
                yield found

    def _end(self, what: str) -> Verdict:
        pid = self.process.pid or 0
        os.kill(pid, signal.SIGUSR1)  # writes a traceback
        time.sleep(0.3)
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        self.process.join()
        return Verdict(f"{what} at {self._place()}", self._log())

    def _died(self) -> str:
        code = self.process.exitcode or 0
        return signal.Signals(-code).name if code < 0 else f"status {code}"

    def _log(self) -> str:
        return (self.folder / "log").read_text("utf-8", "replace")[-4000:]

    def _place(self) -> str:
        """Return the innermost line of tfcr in the traceback of the thread that worked."""
        found = [
            line.split('"') for line in self._log().splitlines() if "/tfcr/" in line and line.startswith('  File "')
        ]
        if not found:
            return "no line of tfcr"
        return f"{'/'.join(Path(found[0][1]).parts[-2:])}{found[0][2].replace(', line ', ':')}"

    def stop(self) -> None:
        self.orders.close()
        self.process.join(1)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def memory_of(pid: int) -> int:
    """Return the resident memory of a process and its children, in bytes."""
    total = 0
    with suppress(OSError, ValueError, IndexError):
        total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            total += memory_of(int(child))
    return total


@contextmanager
def workers(count: int, seed: str, names: list[str]) -> Iterator[list[Worker]]:
    """Start workers; where memory is a disk, they write to that one."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None, prefix="tfcr-fuzz-") as folder:
        warm_up()
        if "texts" in names:
            drawn_cases("texts", "0")  # reads tables of Unicode, which takes seconds
        seeds = _seeds_of(names, Path(folder))
        gc.freeze()
        started = [Worker(seeds, seed, Path(folder) / str(number)) for number in range(count)]
        try:
            yield started
        finally:
            for worker in started:
                worker.stop()


def warm_up() -> None:
    """Import and compile all that workers need, once: they are forked from this process."""
    os.environ.update(TFCR_THREADS="1", TFCR_CACHE=str(KERNELS))
    from tfcr.system.native import last_row_end
    from tfcr.text.native_counts import count_bytes

    count_bytes(["a"], TOKENIZERS["words"], ["a"], 1)  # compiled here, where no clock runs
    last_row_end(np.frombuffer(b"a,b\n", np.uint8), ord(","), True)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("models", "texts"):  # neither uses polars, which must not be used before a fork
            judge(Case(name, TARGETS[name].seeds(Path(folder))[-1]), Path(folder))
    for module in ("chardet", "fastexcel", "polars", "safetensors", "filelock", "sklearn.linear_model"):
        importlib.import_module(module)


def _seeds_of(names: list[str], folder: Path) -> Seeds:
    """Make the seeds in a process of its own: one that has used polars must not be forked."""
    context = get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def make() -> None:
        quiet_environment(folder / "seeds")
        theirs.send({name: make_seeds(name) for name in names})

    process = context.Process(target=make)
    process.start()
    theirs.close()
    try:
        seeds: Seeds = ours.recv()
    except EOFError:
        sys.exit("the seeds could not be made")
    process.join()
    return seeds


def wait_for(running: list[Worker], seconds: float) -> list[Worker]:
    """Return the workers that have an answer."""
    ready = wait([worker.orders for worker in running], seconds)
    return [worker for worker in running if worker.orders in ready]


def judge_apart(worker: Worker, case: Case) -> Verdict:
    """Run one case in a worker, under the watchdog; a worker that did not survive is replaced."""
    worker.give(case)
    while True:
        if wait_for([worker], 0.05):
            with suppress(EOFError):
                verdict: Verdict = worker.orders.recv()
                return verdict
        wrong = worker.look()
        if wrong is not None:
            worker.start()
            return wrong


def file_name(case: Case, key: str) -> str:
    return f"{case.target.replace(' ', '-')}-{hashlib.sha256(key.encode()).hexdigest()[:10]}.json"
