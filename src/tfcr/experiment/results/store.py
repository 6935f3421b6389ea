"""Results in an SQLite file: one row for each cell, one for each of its folds, safe to kill and to share.

A fold is claimed before it is run, so that two runs at once do not run it twice. A claim holds as long as its run sends
heartbeats; the claims of a killed run are free again at once if its process can be seen to be gone. Should two runs
still run the same fold, the first result counts.
"""

import json
import math
import os
import socket
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tfcr.decision import Confusion
from tfcr.errors import ResultsError, in_one_line, look_up, shown
from tfcr.experiment.plan.cells import Cell, Settings
from tfcr.experiment.plan.corpora import CorpusFacts
from tfcr.experiment.plan.folds import ClassSizes
from tfcr.experiment.plan.profiles import resolve_profile
from tfcr.experiment.plan.word2vec import W2V_SOURCES
from tfcr.system.array_codec import as_json
from tfcr.system.limits import is_folder, is_there, parse_json

T = TypeVar("T")

APPLICATION = int.from_bytes(b"tfcr", "big")
VERSION = 2
HEARTBEAT = 5.0
SILENT = 60.0
"""Seconds without a heartbeat after which a run counts as dead."""
PATIENCE = 60.0
"""Seconds to wait for another run to finish writing."""
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged file raises; SQLite's own messages quote it, and may not be UTF-8."""

_SCHEMA = """
CREATE TABLE cells (
    key TEXT PRIMARY KEY, dataset TEXT NOT NULL, embedding TEXT NOT NULL, scheme TEXT NOT NULL, head TEXT NOT NULL,
    profile TEXT NOT NULL, size INTEGER, seed INTEGER NOT NULL, folds INTEGER NOT NULL, wanted INTEGER NOT NULL,
    settings TEXT NOT NULL, facts TEXT NOT NULL, added TEXT NOT NULL
);
CREATE TABLE folds (
    cell TEXT NOT NULL REFERENCES cells(key), fold INTEGER NOT NULL, macro_f1 REAL NOT NULL, confusion TEXT NOT NULL,
    train_documents INTEGER NOT NULL, test_documents INTEGER NOT NULL,
    coverage_words REAL NOT NULL, coverage_tokens REAL NOT NULL,
    seconds REAL NOT NULL, details TEXT NOT NULL, versions TEXT NOT NULL, finished TEXT NOT NULL, run TEXT NOT NULL,
    PRIMARY KEY (cell, fold)
);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, command TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, began TEXT NOT NULL,
    seen REAL NOT NULL
);
CREATE TABLE claims (
    cell TEXT NOT NULL, fold INTEGER NOT NULL, run TEXT NOT NULL REFERENCES runs(id), PRIMARY KEY (cell, fold)
);
CREATE VIEW results AS
    SELECT cells.*, count(fold) AS done, avg(macro_f1) AS mean_macro_f1,
        (SELECT json_group_array(macro_f1) FROM (SELECT macro_f1 FROM folds WHERE cell = cells.key ORDER BY fold))
        AS macro_f1_of_folds, sum(seconds) AS seconds, max(versions) AS versions
    FROM cells LEFT JOIN folds ON folds.cell = cells.key GROUP BY cells.key;
"""


@dataclass(frozen=True)
class FoldResult:
    """What one fold of a cell gave.

    Attributes
    ----------
    fold
        Its number, from 0.
    macro_f1
        Over the classes that count.
    confusion
        (n_classes, n_classes).
    train_documents, test_documents
        Number of documents.
    coverage_words, coverage_tokens
        The fraction of the corpus's words, and of its tokens, that have a vector; 0 without vectors.
    seconds
        As if the cell had been run alone: what cells share counts in each.
    versions
        Of Python and the libraries.
    details
        What else is worth keeping, such as what was picked; for JSON.
    """

    fold: int
    macro_f1: float
    confusion: Confusion
    train_documents: int
    test_documents: int
    coverage_words: float
    coverage_tokens: float
    seconds: float
    versions: Mapping[str, str]
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CellResult:
    """A cell, the number of folds wanted, and those that are done, in their order."""

    cell: Cell
    wanted: int
    folds: tuple[FoldResult, ...]


class Results:
    """A file of results. Make one with `open_results`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add(self, cells: Iterable[Cell], wanted: int) -> None:
        """Add cells that are to be run; one that is there already takes the new names."""
        rows = [(*_cell_row(cell, wanted), _now()) for cell in cells]
        with self._writing():
            self._connection.executemany(
                f"INSERT INTO cells VALUES ({', '.join('?' * 13)}) ON CONFLICT (key) DO UPDATE SET "  # noqa: S608
                "dataset = excluded.dataset, embedding = excluded.embedding, scheme = excluded.scheme, "
                "wanted = max(wanted, excluded.wanted), facts = excluded.facts",
                rows,
            )

    def done(self, keys: Iterable[str]) -> set[tuple[str, int]]:
        """Return the folds of these cells that are finished."""
        wanted = set(keys)
        rows = self._rows("SELECT cell, fold FROM folds")
        return {(row["cell"], row["fold"]) for row in rows if row["cell"] in wanted}

    @contextmanager
    def running(self, command: str) -> Iterator["Run"]:
        """Begin a run, which sends heartbeats until its end, and then frees its claims."""
        run = Run(self, uuid.uuid4().hex)
        with self._writing():
            self._connection.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)",
                (run.id, command, socket.gethostname(), os.getpid(), _now(), time.time()),
            )
        ended = threading.Event()
        pulse = threading.Thread(target=_beat, args=(self.path, run.id, ended), daemon=True)
        pulse.start()
        try:
            yield run
        finally:
            ended.set()
            pulse.join()
            with suppress(ResultsError), self._writing():
                self._connection.execute("DELETE FROM claims WHERE run = ?", (run.id,))

    def cells(self) -> list[CellResult]:
        """Return all cells with their finished folds, in the order in which they were added."""
        folds: dict[str, list[FoldResult]] = {}
        for row in self._rows(f"SELECT cell, {_names(FoldResult)} FROM folds ORDER BY cell, fold"):  # noqa: S608
            cell_key = row.pop("cell")
            folds.setdefault(cell_key, []).append(self._read("fold", _read_fold, row))
        cells = [
            (self._read("cell", _read_cell, row), row["wanted"])
            for row in self._rows(f"SELECT {', '.join(_CELL_COLUMNS)} FROM cells ORDER BY rowid")  # noqa: S608
        ]
        found = [CellResult(cell, wanted, tuple(folds.get(cell.key, ()))) for cell, wanted in cells]
        for result in found:
            self._read("fold", _check_confusions, result)
        return found

    def _read(self, what: str, read: Callable[[Any], T], stored: Any) -> T:
        """Return what `read` returns; raise ResultsError if what is stored is not what it should be."""
        try:
            return read(stored)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
            raise ResultsError(
                f"{self.path} holds a {what} that this tfcr cannot read ({shown(error)}); begin another file: "
                "--results FILE"
            ) from error

    def commands(self) -> list[str]:
        """Return the commands of the runs that wrote to this file, the oldest first."""
        rows = self._rows("SELECT command FROM runs ORDER BY rowid")
        return [self._read("run", lambda row: str(row["command"]), row) for row in rows]

    def under_way(self) -> int:
        """Return the number of folds that are being run now."""
        runs = self._rows("SELECT id, host, pid, seen FROM runs")
        claims = self._rows("SELECT run FROM claims")
        return self._read("run", lambda stored: _n_alive(*stored), (runs, claims))

    def copy_from(self, other: "Results") -> None:
        """Add the cells, folds and runs of another file; what is there already stays, and claims are not taken over."""
        already = {
            "cells": "ON CONFLICT (key) DO UPDATE SET wanted = max(wanted, excluded.wanted)",
            "folds": "ON CONFLICT DO NOTHING",
            "runs": "ON CONFLICT DO NOTHING",
        }
        with self._writing():
            for table, then in already.items():
                columns = [row["name"] for row in self._rows(f"PRAGMA table_info({table})")]  # ours, whatever it has
                names, holes = ", ".join(columns), ", ".join("?" * len(columns))
                rows = other._rows(f"SELECT {names} FROM {table} ORDER BY rowid")  # noqa: S608
                self._connection.executemany(
                    f"INSERT INTO {table} ({names}) VALUES ({holes}) {then}",  # noqa: S608
                    [tuple(row[name] for name in columns) for row in rows],
                )

    def content(self) -> bytes:
        """Return the whole file."""
        return self._connection.serialize()

    def _rows(self, query: str) -> list[dict[str, Any]]:
        try:
            cursor = self._connection.execute(query)
            names = [column[0] for column in cursor.description]  # of a damaged file not those that were asked for
            return [dict(zip(names, row, strict=True)) for row in cursor]
        except UNREADABLE as error:
            raise ResultsError(
                f"{self.path} cannot be read: {in_one_line(error)}; take a copy, or another file"
            ) from error

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Write all of it or nothing; what was written before is kept."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, UNREADABLE):
                raise ResultsError(
                    f"cannot write to {self.path}: {in_one_line(error)}; what was finished is kept: fix that "
                    "(is the disk full?), and run the same command again"
                ) from error
            raise


@dataclass(frozen=True)
class Run:
    """A run in progress, which alone writes results."""

    results: Results
    id: str

    def claim(self, folds: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """Claim those folds that nobody has finished or is running, and return them."""
        connection = self.results._connection
        with self.results._writing():
            others = connection.execute("SELECT id, host, pid, seen FROM runs WHERE id != ?", (self.id,))
            dead = [row[0] for row in others if _is_dead(*row[1:])]
            connection.executemany("DELETE FROM claims WHERE run = ?", [(run,) for run in dead])
            free = [
                fold
                for fold in folds
                if not connection.execute(
                    "SELECT 1 FROM folds WHERE cell = ?1 AND fold = ?2 "
                    "UNION ALL SELECT 1 FROM claims WHERE cell = ?1 AND fold = ?2",
                    fold,
                ).fetchone()
            ]
            connection.executemany("INSERT INTO claims VALUES (?, ?, ?)", [(*fold, self.id) for fold in free])
        return free

    def finish(self, cell: str, result: FoldResult) -> None:
        """Keep the result of a fold of the cell with this key; if another run was faster, its result stays."""
        row = (
            *(cell, result.fold, result.macro_f1, json.dumps(result.confusion.tolist())),
            *(result.train_documents, result.test_documents, result.coverage_words, result.coverage_tokens),
            *(
                result.seconds,
                json.dumps(result.details, default=as_json),
                json.dumps(result.versions),
                _now(),
                self.id,
            ),
        )
        connection = self.results._connection
        with self.results._writing():
            connection.execute(f"INSERT OR IGNORE INTO folds VALUES ({', '.join('?' * 13)})", row)  # noqa: S608
            connection.execute("DELETE FROM claims WHERE cell = ? AND fold = ?", (cell, result.fold))


# rows of the file --------------------------------------------------------------------------------------------------

_CELL_COLUMNS = ("key", "dataset", "embedding", "scheme", "head", "profile", "wanted", "settings", "facts")


def _cell_row(cell: Cell, wanted: int) -> tuple[Any, ...]:
    settings, facts = cell.settings, {**asdict(cell.facts), "vectors": cell.vectors}
    return (
        *(cell.key, cell.dataset, cell.embedding, cell.scheme, cell.head, cell.profile),
        *(settings.size, settings.seed, settings.folds, wanted, json.dumps(settings.to_json()), json.dumps(facts)),
    )


def _read_cell(row: Mapping[str, Any]) -> Cell:
    _check_types(row, CELL_TYPES)
    facts = parse_json(row["facts"])
    vectors = facts.pop("vectors")
    lists = {name: tuple(facts[name]) for name in ("classes", "notes")}
    names = {name: row[name] for name in _CELL_COLUMNS[:6]}
    settings = Settings.from_json(parse_json(row["settings"]))
    cell = Cell(**names, settings=settings, facts=CorpusFacts(**{**facts, **lists}), vectors=vectors)
    _check_types(vars(settings), SETTING_TYPES)
    if settings.class_sizes is not None:
        settings.class_sizes.check()
    _check_types({**vars(cell.facts), "vectors": vectors}, FACT_TYPES)
    for text in (*cell.facts.classes, *cell.facts.notes):
        _check_types({"class or note": text}, {"class or note": (str,)})
    if cell.profile:
        resolve_profile(cell.profile)
    if settings.word2vec:
        look_up(W2V_SOURCES, settings.word2vec.trained_on, "text of word2vec")
    return cell


def _read_fold(row: Mapping[str, Any]) -> FoldResult:
    _check_types(row, FOLD_TYPES)
    parsed = {name: parse_json(row[name]) for name in ("confusion", "versions", "details")}
    _check_types(parsed, {"confusion": (list,), "versions": (dict,), "details": (dict,)})
    confusion = np.array(parsed["confusion"])
    if confusion.dtype.kind not in "iuf" or not np.isfinite(confusion).all() or (confusion < 0).any():
        raise ValueError("a confusion matrix without counts")
    if not all(math.isfinite(row[name]) for name, types in FOLD_TYPES.items() if types is REAL):
        raise ValueError("a score that is no finite number")
    if row["train_documents"] < 1:
        raise ValueError("a fold without training documents")
    return FoldResult(**{**row, **parsed, "confusion": confusion})


def _check_confusions(result: CellResult) -> None:
    """Raise ValueError for a confusion matrix that does not fit the cell's classes."""
    n_classes = len(result.cell.facts.classes)
    for row in result.folds:
        if row.confusion.shape != (n_classes, n_classes):
            raise ValueError(f"a confusion matrix of shape {row.confusion.shape} for {n_classes} classes")


# SQLite does not enforce the types of columns, and JSON has none.
REAL, TEXT, WHOLE = (int, float), (str,), (int,)
CELL_TYPES = {**dict.fromkeys(_CELL_COLUMNS, TEXT), "wanted": WHOLE}
FOLD_TYPES = {
    **dict.fromkeys(("fold", "train_documents", "test_documents"), WHOLE),
    **dict.fromkeys(("macro_f1", "coverage_words", "coverage_tokens", "seconds"), REAL),
    **dict.fromkeys(("confusion", "versions", "details"), TEXT),
}
SETTING_TYPES = {
    "data": TEXT,
    "vectors": (str, type(None)),
    "size": (int, type(None)),
    "class_sizes": (ClassSizes, type(None)),
    **dict.fromkeys(("seed", "folds", "protocol"), WHOLE),
}
FACT_TYPES = {
    **dict.fromkeys(("source", "vectors"), TEXT),
    **dict.fromkeys(("documents_in_all", "documents", "training_documents"), WHOLE),
}


def _check_types(row: Mapping[str, Any], types: Mapping[str, tuple[type, ...]]) -> None:
    """Raise TypeError for the first value of another type; a bool is no number."""
    for name, allowed in types.items():
        if not isinstance(row[name], allowed) or isinstance(row[name], bool):
            wanted = " or ".join(kind.__name__ for kind in allowed)
            raise TypeError(f"{name} is {shown(row[name])}, expected {wanted}")


def _names(record: type) -> str:
    return ", ".join(field.name for field in fields(record))


# opening -----------------------------------------------------------------------------------------------------------


def open_results(path: str | Path, *, make: bool = False) -> Results:
    """Open a file of results; `make` it if there is none."""
    file = Path(path)
    if not is_there(file) and not make:
        raise ResultsError(f"{file} does not exist; expected a file of results: tfcr experiment run --results {file}")
    if is_folder(file) or not is_folder(file.absolute().parent):
        raise ResultsError(f"{file} cannot be a file of results; give --results FILE in a folder that exists")
    connection = None
    try:
        connection = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)
        _prepare(connection, file, make)
    except UNREADABLE as error:
        _close(connection)
        raise ResultsError(f"{file} cannot be used as a file of results: {in_one_line(error)}") from error
    except ResultsError:
        _close(connection)
        raise
    return Results(file, connection)


def new_results(path: Path) -> Results:
    """Return results in memory alone; `path` is for messages, and where the content will go."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    _prepare(connection, path, make=True)
    return Results(path, connection)


def _close(connection: sqlite3.Connection | None) -> None:
    if connection is not None:
        connection.close()


def _prepare(connection: sqlite3.Connection, file: Path, make: bool) -> None:
    """Check that a file is ours and of this version; create the tables if it is empty."""
    if make:
        _use_log(connection)
    connection.execute("BEGIN IMMEDIATE" if make else "BEGIN")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not tables and make:
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    others = connection.execute(
        "SELECT count(*) FROM sqlite_master WHERE type = 'trigger' OR (type != 'table' AND name IN "
        "('cells', 'folds', 'runs', 'claims'))"
    ).fetchone()[0]
    if application != APPLICATION or others:  # a view could run for ever, a trigger change what is written
        raise ResultsError(f"{file} is not a file of tfcr results; give another one: --results FILE")
    if found != VERSION:
        raise ResultsError(
            f"{file} holds results of version {found}, and this tfcr knows version {VERSION}; "
            "use the tfcr that wrote it, or begin another file: --results FILE"
        )


def _use_log(connection: sqlite3.Connection) -> None:
    """Write ahead to a log, so that readers and writers do not wait for each other; retry while it is locked."""
    for attempt in range(50):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or attempt == 49:
                raise
            time.sleep(0.1)


def _beat(path: Path, run: str, ended: threading.Event) -> None:
    """Send heartbeats. A missed one, on a full disk say, does no harm."""
    with suppress(sqlite3.Error):
        connection = sqlite3.connect(path, timeout=HEARTBEAT, isolation_level=None)
        try:
            while not ended.wait(HEARTBEAT):
                with suppress(sqlite3.Error):
                    connection.execute("UPDATE runs SET seen = ? WHERE id = ?", (time.time(), run))
        finally:
            connection.close()


def _n_alive(runs: Iterable[Mapping[str, Any]], claims: Iterable[Mapping[str, Any]]) -> int:
    """Return the number of claims of runs that are not dead."""
    alive = [run["id"] for run in runs if not _is_dead(run["host"], run["pid"], run["seen"])]
    return sum(claim["run"] in alive for claim in claims)


def _is_dead(host: Any, pid: Any, seen: Any) -> bool:
    if not (isinstance(seen, int | float) and isinstance(pid, int) and 0 < pid < 2**31):
        return True  # nothing that a run of ours wrote
    if time.time() - seen > SILENT:
        return True
    if host != socket.gethostname() or os.name != "posix":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
