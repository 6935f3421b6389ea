"""Predictions for files: reading, scoring and writing overlap, in pieces, and a killed run can be resumed.

files --read_ahead--> tables --predict_frame--> tables with three more columns --write_behind--> file, journal
"""

import hashlib
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tfcr.data.addresses import file_name, is_address
from tfcr.data.columns import Columns
from tfcr.data.corpus import is_stream
from tfcr.data.options import Table
from tfcr.data.resumable import TableFile, complete_record, journal_of, part_of, resumable_file
from tfcr.data.sources import files_in_folders, resolve_sources
from tfcr.data.writers import WRITERS, Style, check_target, frame_writer
from tfcr.errors import DataError, InputError
from tfcr.predict_table import NO_EXTRAS, Extras, Summary, added_classes, added_columns, free_names, predict_frame
from tfcr.system.journal import Journal, opened_journal
from tfcr.system.limits import is_folder, is_there
from tfcr.system.pipeline import read_ahead, write_behind
from tfcr.trained.model import TrainedModel

ROWS = 40_000
"""At most how many rows are scored and written at once: so much is done again after a kill."""
FOLDER_JOURNAL = ".tfcr-journal"

Pieces = Generator[tuple[Table, Columns]]
Note = Callable[[str], object]
Elsewhere = Callable[..., Iterator[Any]]
"""Calls a function for each item, with more arguments, and yields what it returns: see `DaskPlaces.each`."""


# what is written -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """What is read together, and the file that its predictions go to; None is standard output."""

    sources: tuple[str, ...]
    path: Path | None


def targets_of(sources: Sequence[str], output: str | None, place: str | None = None) -> list[Target]:
    """Return what to write: one file for all sources, or into a folder one for each file.

    Raises
    ------
    DataError
        If a file cannot be written, or two inputs would be written to the same one, or an input would be replaced.
    """
    if output is None or not is_output_folder(output):
        check_target(output)
        return [Target(tuple(sources), None if output is None else Path(output))]
    folder = Path(output)
    if not is_folder(folder.parent):
        raise DataError(f"the folder {folder.parent} does not exist; make it first: mkdir -p {folder}")
    name, files = resolve_sources(sources, place)
    if name or any(map(is_stream, files)):
        raise DataError(
            f"found the folder {output} to write to, and {', '.join(sources)}; expected files: give -o FILE"
        )
    files = files_in_folders(files)
    found: dict[Path, str] = {}
    inputs = {Path(file).resolve() for file in files}
    for file in files:
        path = folder / output_name(file)
        WRITERS[path.suffix[1:]].check()
        if path in found:
            raise DataError(f"{found[path]} and {file} would both be written to {path}; predict one of them by itself")
        if path.resolve() in inputs:
            raise DataError(f"{path} is an input; expected another folder to write to: -o FOLDER/")
        found[path] = file
    folder.mkdir(exist_ok=True)
    return [Target((file,), path) for path, file in found.items()]


def is_output_folder(output: str) -> bool:
    """Return whether a user means a folder: one that exists, or a name that ends with a slash."""
    return output.endswith("/") or is_folder(Path(output))


def output_name(source: str) -> str:
    """Return the name of an input's output: its own, but with an ending that can be written.

    Examples
    --------
    >>> output_name("in/a.csv.gz"), output_name("in/b.json"), output_name("in/notes.txt")
    ('a.csv', 'b.jsonl', 'notes.csv')
    """
    if is_address(source):
        name = file_name(source)
    else:
        name = Path(source).resolve().name if Path(source).name in ("", "..") else Path(source).name
    for packed in (".gz", ".bz2"):
        name = name.removesuffix(packed)
    stem, dot, ending = name.rpartition(".")
    if ending.lower() in WRITERS and stem:
        return f"{stem}.{ending.lower()}"
    others = {"ndjson": "jsonl", "json": "jsonl", "tab": "tsv", "pq": "parquet", "xlsm": "xlsx"}
    return f"{stem if dot and stem else name}.{others.get(ending.lower(), 'csv')}"


# what a run depends on -----------------------------------------------------------------------------------------------


@contextmanager
def run_journal(
    targets: Sequence[Target], output: str | None, model: str, options: Mapping[str, Any], *, resume: bool, note: Note
) -> Iterator[Journal | None]:
    """Give the journal of a run; None if it cannot be resumed: one that reads or writes anything but files.

    Parameters
    ----------
    targets
        What is read and written.
    output
        The file or folder to write, None for standard output.
    model
        The model's folder.
    options
        All other options that rows depend on.
    resume
        Whether to resume an earlier run.
    note
        Called with what the user may want to know.
    """
    unlike_files = [source for target in targets for source in target.sources if not is_there(Path(source))]
    unlike_files += [source for target in targets for source in target.sources if is_stream(source)]
    if output is None or unlike_files:
        if resume:
            what = f"{unlike_files[0]} to read" if unlike_files else "no file to write"
            raise InputError(f"found --resume, and {what}; expected files to read, and -o FILE")
        yield None
        return
    path = Path(output)
    place = path / FOLDER_JOURNAL if is_output_folder(output) else journal_of(path)
    state = hashlib.sha256((Path(model) / "config.json").read_bytes()).hexdigest()
    depends_on = {"version of tfcr": version("tfcr"), "model": state, "set of options": dict(options)}
    with opened_journal(place, depends_on, resume=resume, what=output) as journal:
        if not journal.resumes:
            if resume:
                note(f"found no run of {output} to resume; starting at the first row")
            _drop_parts(place)
        try:
            yield journal
        except BaseException:
            if not journal.is_worth_resuming():
                journal.remove()
            raise


def _drop_parts(journal: Path) -> None:
    """Delete what earlier runs with this journal left unfinished; a part with a journal of its own is another run's."""
    if journal.name == FOLDER_JOURNAL:
        for part in journal.parent.glob(".*.tfcr-part"):
            if not part.with_suffix(".tfcr-journal").exists():
                part.unlink()


class Predicted(NamedTuple):
    """What was predicted, whether an earlier run had written it all, and what the user may want to know."""

    summary: Summary
    was_complete: bool = False
    notes: tuple[str, ...] = ()


def state_of(sources: Sequence[str]) -> list[list[int]]:
    """Return the size and time of each file, and of all files of a folder."""
    paths = [Path(source) for source in sources]
    files = [file for path in paths for file in (sorted(path.rglob("*")) if path.is_dir() else [path])]
    return [[status.st_size, status.st_mtime_ns] for status in (file.stat() for file in files)]


# predicting ----------------------------------------------------------------------------------------------------------


def predict_target(
    model: TrainedModel,
    target: Target,
    pieces: Pieces,
    style_of: Callable[[Table], tuple[str, Style]],
    journal: Journal | None,
    *,
    extras: Extras = NO_EXTRAS,
    note: Note = lambda line: None,
    tell: Callable[[int], object] = lambda size: None,
    elsewhere: Elsewhere | None = None,
) -> Predicted:
    """Predict what is read, and write it.

    Parameters
    ----------
    model
        The model.
    target
        What is read, and where predictions go.
    pieces
        The tables that are read.
    style_of
        From the first table to the format and the style to write.
    journal
        Of the run, if it can be resumed.
    extras
        What rows tell besides label, probability and unknown words.
    note
        Called with what the user may want to know.
    tell
        Called with the size of what was read so far, in bytes.
    elsewhere
        Predicts tables somewhere else, such as on a cluster; in order.
    """
    classes = added_classes(model)
    inputs = state_of(target.sources) if journal is not None else None
    if journal is not None and target.path is not None:
        done = complete_record(target.path, journal, inputs)
        if done is not None:
            return Predicted(Summary.restored(classes, done["notes"]), was_complete=True)
    with closing(pieces):
        first = next(pieces)  # on this thread: it may wait for standard input, which Ctrl-C must be able to stop
        added = added_columns(model, [], extras)
        names = free_names(first[0].frame.columns, added.columns)
        kind, style = style_of(first[0])
        types = dict(zip(names, added.dtypes, strict=True))
        fixed = tuple(name for name, of_column in types.items() if of_column in (pl.Float64, pl.List(pl.Float64)))
        style = replace(style, fixed=fixed, lists=tuple(names[:2]) if model.decision.several else ())
        with _opened(target.path, kind, style, journal, inputs) as file:
            if file.rows:
                note(f"{target.path}: resuming after {file.rows:,} rows")
            summary = Summary(classes) if file.notes is None else Summary.restored(classes, file.notes)
            read = 0

            def add(predicted: tuple[pl.DataFrame, Any]) -> None:
                file.add(*predicted)

            with read_ahead(_rows_after(file.rows, first, pieces)) as tables, write_behind(add) as write:
                for table, frame in _predicted(model, tables, names, extras, elsewhere):
                    note(table.how)
                    summary.add(frame, names)
                    write((frame, summary.state()))
                    read += int(table.frame.estimated_size())
                    tell(read)
    return Predicted(summary)


def can_map(targets: Sequence[Target]) -> bool:
    """Return whether each target is a file by itself, made of files: whoever shares the disk can predict it."""
    sources = [source for target in targets for source in target.sources]
    return len(targets) > 1 and not any(is_stream(source) or is_address(source) for source in sources)


def map_targets(
    work: Callable[..., Any],
    targets: Sequence[Target],
    model: TrainedModel,
    journal: Journal | None,
    elsewhere: Elsewhere,
    *arguments: Any,
) -> Iterator[tuple[Target, Predicted | DataError]]:
    """Yield what was predicted for each target, or why it was not; each is read, predicted and written elsewhere.

    Parameters
    ----------
    work
        Predicts and writes one target, given the arguments; returns the state of its summary, the size of its file and
        what the user may want to know, or a DataError.
    targets
        Those for which `can_map` holds.
    model, journal
        The model, and the journal of the run: it records files that are complete.
    elsewhere
        Calls `work` for each target, in order.
    arguments
        What else `work` takes.
    """
    classes = added_classes(model)
    inputs = {target: state_of(target.sources) if journal is not None else None for target in targets}
    known = {
        target: record
        for target in targets
        if journal is not None
        and target.path is not None
        and (record := complete_record(target.path, journal, inputs[target])) is not None
    }
    found = elsewhere(work, [target for target in targets if target not in known], *arguments)
    for target in targets:
        if target in known:
            yield target, Predicted(Summary.restored(classes, known[target]["notes"]), was_complete=True)
            continue
        written = next(found)
        if isinstance(written, DataError):
            yield target, written
            continue
        state, size, notes = written
        path = target.path
        if path is None or not is_there(path) or path.stat().st_size != size:
            yield (
                target,
                DataError(
                    f"{path} was written by a worker, and is not here; expected a folder that all workers share: give "
                    "one, or predict without --dask"
                ),
            )
            continue
        summary = Summary.restored(classes, state)
        if journal is not None:
            part_of(path).unlink(missing_ok=True)  # what a run on this machine had begun
            journal.add(path.name, summary.rows, size, inputs=inputs[target], notes=state, complete=True)
        yield target, Predicted(summary, notes=tuple(notes))


def _predicted(
    model: TrainedModel,
    tables: Iterator[tuple[Table, Columns]],
    names: Sequence[str],
    extras: Extras,
    elsewhere: Elsewhere | None,
) -> Iterator[tuple[Table, pl.DataFrame]]:
    """Yield tables, each also with its predictions."""
    if elsewhere is None:
        for table, columns in tables:
            yield table, predict_frame(model, table.frame, columns.text, names=names, extras=extras)
        return
    sent: deque[Table] = deque()

    def items() -> Iterator[tuple[pl.DataFrame, tuple[str, ...]]]:
        for table, columns in tables:
            sent.append(table)
            yield table.frame.select(columns.text), tuple(columns.text)

    for added in elsewhere(predict_tables, items(), model, tuple(names), extras):
        table = sent.popleft()
        yield table, table.frame.with_columns(added)


def predict_tables(
    item: tuple[pl.DataFrame, tuple[str, ...]], model: TrainedModel, names: tuple[str, ...], extras: Extras
) -> pl.DataFrame:
    """Return the columns that are added to a table of texts."""
    frame, columns = item
    return predict_frame(model, frame, columns, names=names, extras=extras).select(names)


@contextmanager
def _opened(path: Path | None, kind: str, style: Style, journal: Journal | None, inputs: Any) -> Iterator[TableFile]:
    if journal is not None and path is not None:
        with resumable_file(path, style, journal, inputs) as file:
            yield file
    else:
        with frame_writer(None if path is None else str(path), kind, style) as write:
            yield TableFile(write)


def _rows_after(done: int, first: tuple[Table, Columns], others: Pieces) -> Pieces:
    """Yield the tables in slices of at most ROWS rows, without the first `done` rows; what was said of them stays."""
    said = ""
    for table, columns in _chained(first, others):
        said = "\n".join(filter(None, (said, table.how)))
        skipped = min(done, table.frame.height)
        done -= skipped
        for start in range(skipped, table.frame.height, ROWS):
            yield replace(table, frame=table.frame.slice(start, ROWS), how=said), columns
            said = ""


def _chained(first: tuple[Table, Columns], others: Pieces) -> Pieces:
    yield first
    yield from others
