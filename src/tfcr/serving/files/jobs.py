"""Reading and classifying uploads in the background: one thread for each worker, one upload after the other.

The worker that is asked does it, and holds the lock of the upload meanwhile; how far it is stands in files, so that all
workers can tell. If a worker is killed, the lock is free although the work is not done: then the upload is *stopped*,
and can be resumed by any worker, after the last part that is on disk.
"""

import logging
import queue
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, NamedTuple

import polars as pl

from tfcr.data.columns import joined_text
from tfcr.data.several import holds_lists, split_cells
from tfcr.decision import UNSURE
from tfcr.errors import TfcrError, in_one_line
from tfcr.predict_table import OUTPUT_SEPARATOR, Extras, added_columns, may_be_unsure, predict_frame
from tfcr.serving.files.folder import State, Upload, is_full
from tfcr.serving.files.looking import Look, look, tables
from tfcr.serving.files.rows import Corrections
from tfcr.serving.models import Models, ServedModel
from tfcr.serving.problems import RequestError, one_of
from tfcr.system.files import written_beside

PART_ROWS = 5_000
"""At most how many rows are classified at once: so much is done again after a kill."""
TELL_EVERY = 0.5
"""Seconds between two notes of how far reading is."""
END_SECONDS = 5.0
"""How long a server that stops waits for the part that is being classified."""
COLUMN = "column"
"""How a piece of the file is called that only has the column of labels."""

logger = logging.getLogger("tfcr")


class Task(NamedTuple):
    """What is done to an upload, by whoever holds the lock that the file is."""

    upload: Upload
    lock: IO[bytes]
    work: Callable[[Upload], None]


class Jobs:
    """The background thread of one worker."""

    def __init__(self, models: Models, max_upload: int) -> None:
        self.models, self.max_upload = models, max_upload
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def read(self, upload: Upload, said: Mapping[str, str]) -> None:
        """Begin to look at an upload, in the way that a person says; what was classified before is forgotten."""
        upload.check_data()

        def state(before: State) -> State:
            if before.get("said", said) != said and upload.journal.position():
                raise RequestError(
                    409,
                    "labels of this file have been corrected, and rows may be others if it is read in another way",
                    "to upload it once more, and to read that in another way",
                )
            return {"stage": "reading", "said": dict(said), "done": 0}

        self._begin(upload, state, self._look)

    def classify(self, upload: Upload, model: str | None, text: str, label: str | None) -> None:
        """Begin to classify an upload, or resume it if the same was stopped before."""
        upload.check_data()
        served = self.models.get(model)

        def state(before: State) -> State:
            if before["stage"] in ("received", "reading") or before.get("of") == "reading":
                raise RequestError(409, "the file has not been read yet", "to read it first")
            _check_columns(upload.read("look.json"), text, label)
            job = _job(served, text, label)
            _check_corrections(upload, several=job["several"])
            old = before.get("job", {})
            begun: State = {"parts": [], "attempt": secrets.token_hex(4)}
            if all(old.get(name) == value for name, value in job.items()):
                begun = {"parts": before["parts"], "attempt": before["attempt"]}
            done = sum(begun["parts"])
            return {"stage": "classifying", "said": before["said"], "job": job, **begun, "done": done}

        self._begin(upload, state, lambda one: self._classify(one, served))

    def _begin(self, upload: Upload, state: Callable[[State], State], work: Callable[[Upload], None]) -> None:
        """Take the lock, say that the work has begun, and leave it to the thread."""
        lock = upload.lock()
        try:
            upload.write_state(state(upload.state()))
        except BaseException:
            lock.close()
            raise
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="files", daemon=True)
                self._thread.start()
        self._tasks.put(Task(upload, lock, work))

    def close(self) -> None:
        """Stop after the part that is being classified; what is left can be resumed."""
        self._ends.set()
        self._tasks.put(None)
        if self._thread is not None:
            self._thread.join(END_SECONDS)

    # on the thread -------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None and not self._ends.is_set():
            with task.lock:
                self._try(task)

    def _try(self, task: Task) -> None:
        """Work; what goes wrong is said in the state. A full disk cannot hold that: then it is stopped."""
        try:
            task.work(task.upload)
        except BaseException as error:  # the thread must go on, also if polars panics: that is no Exception
            if isinstance(error, OSError) and not task.upload.folder.exists():
                return  # deleted meanwhile
            with suppress(Exception):  # a damaged state, for instance
                state = task.upload.state()
                task.upload.write_state({**state, "stage": "failed", "of": state["stage"], "error": _said(error)})

    def _look(self, upload: Upload) -> None:
        state, told = upload.state(), 0.0

        def tell(rows: int) -> None:
            nonlocal told
            if time.monotonic() > told + TELL_EVERY:
                told = time.monotonic()
                upload.write_state({**state, "done": rows})

        served = list(self.models.current.values())
        classes = {key for one in served for key in one.keys}
        trained_on = served[0].model.training.get("columns") or ()
        found = look(upload, state["said"], trained_on, classes, tell, self.max_upload)
        upload.write("look.json", found)
        upload.write_state({"stage": "ready", "said": state["said"]})

    def _classify(self, upload: Upload, served: ServedModel) -> None:
        state = upload.state()
        folder = upload.folder / f"parts-{state['attempt']}"
        for other in upload.folder.glob("parts-*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        parts = list(state["parts"])
        for frame in _after(sum(parts), upload, state):
            found = classified(frame, served, state["job"])
            with written_beside(folder / f"{len(parts):05}.arrow") as file:
                found.write_ipc(file)
            parts.append(found.height)
            upload.write_state({**state, "parts": parts, "done": sum(parts)})
            if self._ends.is_set():
                return
        upload.write_state({**state, "stage": "done", "parts": parts, "done": sum(parts)})


def _said(error: BaseException) -> str:
    if isinstance(error, RequestError):
        return f"{error.error}; expected {error.expected}"
    if isinstance(error, TfcrError):
        return in_one_line(error)
    if isinstance(error, OSError) and is_full(error):
        return "the disk of the server is full; delete files that are no longer needed, and try again"
    logger.error("%s in the background", type(error).__name__)  # not what it says: that may quote a text
    return "an error of the server; report it to whoever runs the server"


def _check_columns(found: Look, text: str, label: str | None) -> None:
    for column, what in ((text, "text"), (label, "labels")):
        if column is not None and column not in found["columns"]:
            raise RequestError(422, f"found no column {column[:80]!r} for the {what}", one_of(found["columns"]))
    if text == label:
        raise RequestError(422, f"found {text[:80]!r} for both text and labels", "two different columns")


def _check_corrections(upload: Upload, *, several: bool) -> None:
    """Raise RequestError if rows have been corrected to labels of a kind that the model does not give."""
    found = Corrections()
    found.read_on(upload)
    if any(isinstance(label, list) != several for label in found.labels.values()):
        kinds = ("several labels", "one label") if several else ("one label", "several labels")
        raise RequestError(
            409,
            f"this model gives a text {kinds[0]}, and rows of this file have been corrected to {kinds[1]}",
            "a model of that kind, or to upload the file once more",
        )


def _job(served: ServedModel, text: str, label: str | None) -> dict[str, Any]:
    model = served.model
    return {
        "model": served.name,
        "hash": served.hash,
        "classes": served.labels,
        "several": bool(model.decision.several),
        "may_be_unsure": may_be_unsure(model),
        "separator": model.training.get("label_separator") or OUTPUT_SEPARATOR,
        "text": text,
        "label": label,
    }


def _after(done: int, upload: Upload, state: State) -> Iterator[pl.DataFrame]:
    """Yield the rows after the first `done`, in parts."""
    for table in tables(upload, state["said"]):
        skipped = min(done, table.frame.height)
        done -= skipped
        for start in range(skipped, table.frame.height, PART_ROWS):
            yield table.frame.slice(start, PART_ROWS)


# a part --------------------------------------------------------------------------------------------------------------


def classified(frame: pl.DataFrame, served: ServedModel, job: Mapping[str, Any]) -> pl.DataFrame:
    """Return what is kept of rows: text, given label, whether both agree, and what ``tfcr predict --second`` adds.

    ``label`` is the predicted label as text, of an unsure row the likeliest; of several labels a list.
    """
    text, given = str(job["text"]), job["label"]
    model, several = served.model, bool(job["several"])
    texts = pl.DataFrame({"text": pl.Series(joined_text(_with(frame, text), [text]), dtype=pl.String)})
    extras = Extras(second=not several)
    names = added_columns(model, [], extras).columns
    found = predict_frame(model, texts, ["text"], names=names, extras=extras)
    found = found.with_columns(pl.col(pl.Float64).fill_nan(None))  # which JSON does not know
    unsure = (
        (found["predicted"] == UNSURE) if job["may_be_unsure"] else pl.Series([False]).new_from_index(0, found.height)
    )
    label = found["predicted"]
    if job["may_be_unsure"]:
        label = label.zip_with(~unsure.fill_null(value=False), found["likeliest"])
    found = found.with_columns(unsure.fill_null(value=False).alias("unsure"), as_keys(label).alias("label"))
    if given is None:
        return found.with_columns(pl.lit(None, pl.String).alias("given"), pl.lit(None, pl.Boolean).alias("agrees"))
    cells = _given(_with(frame, given)[given], job)
    agrees = _agreement(found["label"].to_list(), cells)
    separator = str(job["separator"])
    shown = [None if cell is None else separator.join(cell) for cell in cells]
    return found.with_columns(pl.Series("given", shown, pl.String), pl.Series("agrees", agrees, pl.Boolean))


def _with(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return rows with a column, empty if this piece of the file lacks it."""
    return frame if column in frame.columns else frame.with_columns(pl.lit(None, pl.String).alias(column))


def as_keys(labels: pl.Series) -> pl.Series:
    """Return labels as text, spelled as Python spells them, which is how requests name them.

    >>> as_keys(pl.Series([True, None])).to_list(), as_keys(pl.Series([[1], [2, 3]])).to_list()
    (['True', None], [['1'], ['2', '3']])
    """
    if labels.dtype == pl.List:
        lists = [None if cell is None else [str(label) for label in cell] for cell in labels.to_list()]
        return pl.Series(labels.name, lists, pl.List(pl.String))
    if labels.dtype == pl.String:
        return labels
    return pl.Series(labels.name, [None if cell is None else str(cell) for cell in labels.to_list()], pl.String)


def _given(column: pl.Series, job: Mapping[str, Any]) -> list[tuple[str, ...] | None]:
    """Return the given labels of each row; None where there is none."""
    keys = {str(label).lower(): str(label) for label in job["classes"] if isinstance(label, bool)}
    if holds_lists(column):
        rows: Sequence[Any] = column.to_list()
    else:
        cells = column.cast(pl.String, strict=False).to_list() if not column.dtype.is_nested() else [None] * len(column)
        separator = str(job["separator"])
        rows = (
            split_cells(cells, separator, empty=None)
            if job["several"]
            else [None if cell is None or not cell.strip() else (cell.strip(),) for cell in cells]
        )
    return [
        None if row is None else tuple(keys.get(str(one).lower(), str(one)) if keys else str(one) for one in row)
        for row in rows
    ]


def _agreement(predicted: Sequence[Any], given: Sequence[tuple[str, ...] | None]) -> list[bool | None]:
    """Return whether a row's predicted labels are the given ones; None where one of both is missing."""
    return [
        None if label is None or one is None else set(label if isinstance(label, list) else [label]) == set(one)
        for label, one in zip(predicted, given, strict=True)
    ]
