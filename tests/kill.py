"""Kill real commands at random moments, and see what is left: ``python -P tests/kill.py [JOB...]``, or ``make kill``.

KILLS (30) is the number of kills in all, the same for each command, KILL_SEED (0) draws the moments. After each kill
the old output or the new one must be there, whole; after the next ordinary run, the new one and no file that an
undisturbed run would not leave. Most kills wait until the command writes, for the first time or a later one; the others
come at any moment.
"""

import math
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.conftest import random_corpus, random_vectors
from tests.fuzz.workers import KERNELS
from tfcr import Embeddings, TrainedModel

MOST_SECONDS = 120.0
ROUND = 4
"""At most so many kills before an ordinary run has to clear up after all of them."""


class LostError(Exception):
    """Something was lost, half-written or left behind."""


@dataclass
class Place:
    """The folder that a command works in, and what an undisturbed run left there.

    Attributes
    ----------
    folder
        Holds ``data.csv``, ``vectors.vec`` and whatever the command writes; its cache and temporary files too.
    seconds
        How long an undisturbed run takes.
    names
        All files that it leaves.
    old, new
        What `Job.content` returns before and after an undisturbed run.
    """

    folder: Path
    seconds: float = 0.0
    names: frozenset[str] = frozenset()
    old: object = None
    new: object = None


@dataclass(frozen=True)
class Job:
    """A command that writes.

    Attributes
    ----------
    command
        Its arguments.
    content
        Returns what it has written, in a form that can be compared; raises LostError if that is half-written.
    prepare
        Makes what it needs; called once.
    before
        Puts back the old output; called before each round of kills.
    grows
        Whether a killed run leaves a part of the new content, which is then resumed, instead of the old one.
    derived
        Whether it writes only what can be made again: then the content is the same before and after.
    program
        What Python runs.
    resumes
        Returns whether a killed run has left something that the next one must resume, and say so.
    """

    command: tuple[str, ...]
    content: Callable[[Path], object]
    prepare: Callable[[Path], None] = lambda folder: None
    before: Callable[[Path], None] = lambda folder: None
    grows: bool = False
    derived: bool = False
    program: tuple[str, ...] = ("-m", "tfcr")
    resumes: Callable[[Path], bool] = lambda folder: False


@dataclass
class Report:
    """How often a job was killed, how many of these kills came before its end, and what went wrong.

    `ordinary` are the runs that were not killed, `resumed` those of them that said that they resume.
    """

    kills: int = 0
    in_time: int = 0
    ordinary: int = 0
    resumed: int = 0
    problems: list[str] = field(default_factory=list)


# jobs ----------------------------------------------------------------------------------------------------------------

_OLD = "the old output, which must not be lost\n"


def _predictions(folder: Path) -> object:
    model = TrainedModel.load(folder / "model")
    return model.decision.labels(model.score_texts(random_corpus(60).texts).scores).tolist(), len(
        model.table.vocabulary
    )


def _run_here(folder: Path, *arguments: str, program: tuple[str, ...] = ("-m", "tfcr")) -> None:
    subprocess.run(
        [sys.executable, *program, *arguments], cwd=folder, env=_environment(folder), check=True, capture_output=True
    )


def _train_old(folder: Path) -> None:
    _write_corpus(folder / "old.csv", 60)
    _run_here(folder, "train", "old.csv", "-o", "model", "--no-cv", "--preset", "fast")
    shutil.copytree(folder / "model", folder / "old-model")


def _put_old_model(folder: Path) -> None:
    shutil.rmtree(folder / "model")
    shutil.copytree(folder / "old-model", folder / "model")


def _train_to_update(folder: Path) -> None:
    _write_corpus(folder / "old.csv", 60)
    _run_here(folder, "train", "old.csv", "-o", "model", "--no-cv", "--preset", "fast", "--keep-documents")
    shutil.copytree(folder / "model", folder / "old-model")


def _documents(folder: Path) -> object:
    """Return how a model predicts, and how many documents it keeps."""
    kept = TrainedModel.load(folder / "model").kept_documents()
    return _predictions(folder), None if kept is None else len(kept)


def _has_checkpoints(folder: Path) -> bool:
    """Return whether training was killed after its first shard was counted, and before its model was saved."""
    return any((folder / ".model.training").glob("*.safetensors"))


def _train_and_predict_once(folder: Path) -> None:
    _train_old(folder)
    _write_corpus(folder / "new.csv", 30_000)


def _train_and_write_large(folder: Path) -> None:
    _train_old(folder)
    (folder / "in").mkdir()
    for name, n_documents in (("a", 30_000), ("b", 90_000), ("c", 3_000)):  # of one, several and one piece
        _write_corpus(folder / "in" / f"{name}.csv", n_documents)
    shutil.copy(folder / "in" / "b.csv", folder / "new.csv")


def _drop_folder(folder: Path) -> None:
    shutil.rmtree(folder / "out", ignore_errors=True)


def _written_files(folder: Path) -> frozenset[tuple[str, bytes]]:
    """Return the files of a folder of outputs; what is unfinished is hidden."""
    return frozenset((path.name, path.read_bytes()) for path in (folder / "out").glob("[!.]*"))


def _put_old_output(folder: Path) -> None:
    for ending in ("csv", "jsonl", "parquet", "html"):
        (folder / f"out.{ending}").unlink(missing_ok=True)
    (folder / "out.csv").write_text(_OLD)


def _written(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).read_bytes() if (folder / name).exists() else None


def _write_many(folder: Path) -> None:
    _write_corpus(folder / "new.csv", 30_000)


def _count_parts(folder: Path) -> None:
    for number in range(3):
        _write_corpus(folder / f"part{number}.csv", 2000 + number)
        _run_here(folder, "counts", "make", f"part{number}.csv", "-o", f"part{number}.counts")


def _folds(folder: Path) -> frozenset[tuple[str, int, float, str]]:
    path = folder / "r.sqlite"
    if not path.exists():
        return frozenset()
    try:
        with closing(sqlite3.connect(path)) as connection:
            rows = connection.execute("SELECT cell, fold, macro_f1, confusion FROM folds").fetchall()
            claims = connection.execute("SELECT count(*) FROM claims").fetchone()[0]
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):  # killed before the first transaction
            return frozenset()
        raise LostError(f"the results cannot be read: {error}") from error
    if len(rows) != len({row[:2] for row in rows}):
        raise LostError("a fold was stored twice")
    if len(rows) == 30 and claims:
        raise LostError(f"all folds are done, and {claims} are still claimed")
    return frozenset(rows)


def _drop_results(folder: Path) -> None:
    for path in folder.glob("r.sqlite*"):
        path.unlink()
    shutil.rmtree(folder / "cache" / "experiments", ignore_errors=True)


def _vectors_as_loaded(folder: Path) -> object:
    """Return what a reader would find now; if the cache is absent or incomplete, it reads the file."""
    with _copied_cache(folder):
        vectors = Embeddings.load(folder / "large.vec")
        return vectors.words, vectors.vectors.tobytes()


@contextmanager
def _copied_cache(folder: Path) -> Iterator[None]:
    """Look at a copy of the cache: looking must not mend what the next ordinary run has to mend."""
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder / "cache", Path(copy) / "cache", symlinks=True)
        with mock.patch.dict(os.environ, TFCR_CACHE=str(Path(copy) / "cache")):
            yield


def _large_vectors(folder: Path) -> None:
    random_vectors(random_corpus(), 2).save(folder / "vectors.vec")
    words = [f"word{number}" for number in range(20_000)]
    Embeddings.from_arrays(words, np.random.default_rng(0).normal(size=(len(words), 50))).save(folder / "large.vec")


def _drop_vector_cache(folder: Path) -> None:
    section = folder / "cache" / "embeddings"
    for path in section.glob("[!.]*"):  # what killed runs left stays, for the next ordinary run to remove
        shutil.rmtree(path)


def _run_parts(folder: Path) -> None:
    for number, head in enumerate(("svm", "lr")):
        _run_here(folder, "experiment", "run", *_EXPERIMENT, "--heads", head, "--results", f"part{number}.sqlite")


def _put_old_results(folder: Path) -> None:
    shutil.copyfile(folder / "part0.sqlite", folder / "r.sqlite")


_EXPERIMENT = ("--datasets", "small=data.csv", "--embeddings", "file=vectors.vec", "--folds", "3/5", "--processes", "2")

_IN_SHARDS = ("--parts", "bigrams,plain", "--embeddings", "vectors.vec")

JOBS: dict[str, Job] = {
    "train": Job(
        ("train", "data.csv", "-o", "model", "--no-cv", "--embeddings", "vectors.vec"),
        _predictions,
        _train_old,
        _put_old_model,
    ),
    "train in shards": Job(
        ("train", "data.csv", "-o", "model", "--cv", "2", *_IN_SHARDS),
        _predictions,
        _train_old,
        _put_old_model,
        program=(str(Path(__file__).with_name("in_small_shards.py")),),
        resumes=_has_checkpoints,
    ),
    "update": Job(("update", "old-model", "data.csv", "-o", "model"), _documents, _train_to_update, _put_old_model),
    "update, weights kept": Job(
        ("update", "old-model", "data.csv", "--keep-weights", "-o", "model"), _predictions, _train_old, _put_old_model
    ),
    "predict": Job(
        ("predict", "model", "new.csv", "-o", "out.csv"), _written("out.csv"), _train_and_predict_once, _put_old_output
    ),
    "predict to JSON lines": Job(
        ("predict", "model", "new.csv", "-o", "out.jsonl"),
        _written("out.jsonl"),
        _train_and_predict_once,
        _put_old_output,
    ),
    "predict to Parquet": Job(
        ("predict", "model", "new.csv", "-o", "out.parquet"),
        _written("out.parquet"),
        _train_and_predict_once,
        _put_old_output,
    ),
    "predict, resumed": Job(
        ("predict", "model", "new.csv", "-o", "out.csv", "--resume"),
        _written("out.csv"),
        _train_and_write_large,
        _put_old_output,
    ),
    "predict folder, resumed": Job(
        ("predict", "model", "in", "-o", "out/", "--resume"),
        _written_files,
        _train_and_write_large,
        _drop_folder,
        grows=True,
    ),
    "counts make": Job(
        ("counts", "make", "new.csv", "-o", "out.csv"), _written("out.csv"), _write_many, _put_old_output
    ),
    "counts merge": Job(
        ("counts", "merge", *(f"part{number}.counts" for number in range(3)), "-o", "out.csv"),
        _written("out.csv"),
        _count_parts,
        _put_old_output,
    ),
    "export": Job(("export", "model", "--html", "out.html"), _written("out.html"), _train_old, _put_old_output),
    "experiment": Job(
        ("experiment", "run", *_EXPERIMENT, "--results", "r.sqlite"), _folds, before=_drop_results, grows=True
    ),
    "experiment merge": Job(
        ("experiment", "merge", "r.sqlite", "part1.sqlite", "-o", "r.sqlite"), _folds, _run_parts, _put_old_results
    ),
    "vector cache": Job(
        ("embeddings", "info", "large.vec", "--json"),
        _vectors_as_loaded,
        _large_vectors,
        _drop_vector_cache,
        derived=True,
    ),
}
"""The commands that are killed; each is a row of the table that is printed."""


# killing -------------------------------------------------------------------------------------------------------------


def _write_corpus(path: Path, n_documents: int) -> None:
    corpus = random_corpus(n_documents)
    rows = [f"{text.replace('_', 'x')},{label}" for text, label in zip(corpus.texts, corpus.labels, strict=True)]
    path.write_text("text,label\n" + "\n".join(rows) + "\n", "utf-8")


def _line(job: Job) -> list[str]:
    return [sys.executable, *job.program, *job.command]


def _environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "TFCR_CACHE": str(folder / "cache"),
        "TMPDIR": str(folder / "tmp"),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _names(folder: Path) -> frozenset[str]:
    """Return all files and folders of a place; what links lead to is not looked into."""
    found = set()
    for parent, folders, files in os.walk(folder):
        found |= {str((Path(parent) / name).relative_to(folder)) for name in (*folders, *files)}
    return frozenset(found)


def _stamps(folder: Path) -> dict[str, int]:
    stamps = {}
    for name in _names(folder):
        try:
            stamps[name] = (folder / name).lstat().st_mtime_ns
        except OSError:  # gone meanwhile
            stamps[name] = -1
    return stamps


def prepare(job: Job, folder: Path) -> Place:
    """Make a place, and run the command there undisturbed, to know what it leaves."""
    for name in ("cache", "tmp"):
        (folder / name).mkdir(parents=True)
    (KERNELS / "kernels").mkdir(parents=True, exist_ok=True)
    (folder / "cache" / "kernels").symlink_to(KERNELS / "kernels")
    _write_corpus(folder / "data.csv", 150)
    vectors = random_vectors(random_corpus(150))
    Embeddings.from_arrays([word.replace("_", "x") for word in vectors.words], vectors.vectors).save(
        folder / "vectors.vec"
    )
    job.prepare(folder)
    job.before(folder)
    place = Place(folder)
    place.old = job.content(folder)
    _run_here(folder, *job.command, program=job.program)
    job.before(folder)
    began = time.monotonic()
    _run_here(folder, *job.command, program=job.program)
    place.seconds = time.monotonic() - began
    place.names, place.new = _names(folder), job.content(folder)
    assert job.derived or place.new != place.old, "the old and the new output are the same: no loss would be seen"
    return place


def kill_once(job: Job, place: Place, draw: random.Random) -> bool:
    """Start the command and kill it; return whether it was still running."""
    at_change = draw.choice((0, 0, 0, 1, 1, 2, 3, 5, 8, 13))
    moment = draw.uniform(0.1, 1.1) * place.seconds
    began = time.monotonic()
    process = subprocess.Popen(
        _line(job),
        cwd=place.folder,
        env=_environment(place.folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    if at_change:
        _wait_for_changes(process, place.folder, at_change)
        time.sleep(draw.choice((0, 0.001, 0.003, 0.01, 0.03, 0.1)) * draw.random())
    else:
        while process.poll() is None and time.monotonic() - began < moment:
            time.sleep(0.001)
    if process.poll() is not None:  # the machine has less to do than before
        place.seconds = min(place.seconds, time.monotonic() - began)
    process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def _wait_for_changes(process: "subprocess.Popen[bytes]", folder: Path, changes: int) -> None:
    """Wait until the files of a place have changed so many times, or the command has ended."""
    before = _stamps(folder)
    while changes and process.poll() is None:
        now = _stamps(folder)
        changes -= now != before
        before = now
        time.sleep(0.001)


def check_killed(job: Job, place: Place, before: object) -> object:
    """Return what is there after a kill; raise LostError if it is neither the old output nor the new one."""
    found = job.content(place.folder)
    if job.grows:
        if not (isinstance(found, frozenset) and isinstance(before, frozenset) and isinstance(place.new, frozenset)):
            raise LostError(f"found {type(found).__name__}")
        if not before <= found <= place.new:
            raise LostError(f"of {len(before)} results, {len(before - found)} are lost, {len(found - place.new)} wrong")
    elif found not in (place.old, place.new):
        raise LostError("the output is neither the old one nor the new one")
    return found


def check_ordinary(job: Job, place: Place) -> bool:
    """Run the command to its end, and return whether it resumed what was left by killed ones.

    Raises LostError if the result differs, or any other file is there, or it should have resumed.
    """
    must_resume = job.resumes(place.folder)
    finished = subprocess.run(
        _line(job),
        cwd=place.folder,
        env=_environment(place.folder),
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    if finished.returncode:
        raise LostError(f"the next run failed with status {finished.returncode}: {finished.stderr.strip()[-300:]}")
    if job.content(place.folder) != place.new:
        raise LostError("the next run gave another result")
    left, lost = _names(place.folder) - place.names, place.names - _names(place.folder)
    if left or lost:
        raise LostError(f"left behind: {sorted(left)}; lost: {sorted(lost)}")
    if must_resume != ("resuming training" in finished.stderr):
        raise LostError(f"the next run {'starts over' if must_resume else 'resumes from nothing'}: {finished.stderr}")
    return must_resume


def kill_job(name: str, kills: int, seed: str, folder: Path) -> Report:
    """Kill a command so many times, a few times before each ordinary run."""
    job, draw, report = JOBS[name], random.Random(f"{seed} {name}"), Report()
    place = prepare(job, folder)
    while report.kills < kills:
        job.before(folder)
        before = job.content(folder)
        try:
            for _ in range(min(draw.randint(1, ROUND), kills - report.kills)):
                report.kills += 1
                report.in_time += kill_once(job, place, draw)
                before = check_killed(job, place, before)
            report.ordinary += 1
            report.resumed += check_ordinary(job, place)
        except (LostError, subprocess.TimeoutExpired) as error:
            report.problems.append(f"kill {report.kills}: {error}")
            _clear(place)
        except Exception as error:  # a model that cannot be loaded, say
            report.problems.append(f"kill {report.kills}: {type(error).__name__}: {error}")
            _clear(place)
    return report


def _clear(place: Place) -> None:
    """Delete what was left behind, so that the next problem is a new one."""
    for name in sorted(_names(place.folder) - place.names, reverse=True):
        path = place.folder / name
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def main() -> int:
    names, seed = sys.argv[1:] or list(JOBS), os.environ.get("KILL_SEED") or "0"
    kills = math.ceil(int(os.environ.get("KILLS") or 30) / len(names))
    with tempfile.TemporaryDirectory(prefix="tfcr-kill-") as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        places = [Path(folder) / str(number) for number in range(len(names))]
        reports = dict(
            zip(names, pool.map(lambda name, place: kill_job(name, kills, seed, place), names, places), strict=True)
        )
    print(f"{'command':24} {'kills':>6} {'in time':>8} {'ordinary runs':>14} {'resumed':>8} {'problems':>9}")
    for name, report in reports.items():
        figures = f"{report.kills:6} {report.in_time:8} {report.ordinary:14} {report.resumed:8}"
        print(f"{name:24} {figures} {len(report.problems):9}")
    for name, report in reports.items():
        for problem in report.problems:
            print(f"{name}: {problem}")
    return int(any(report.problems for report in reports.values()))


if __name__ == "__main__":
    sys.exit(main())
