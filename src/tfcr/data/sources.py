"""What a user names as DATA: a path that exists, a glob, an address, a dataset's name, or ``-`` for standard input."""

import glob
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import polars as pl

from tfcr.data.addresses import is_address, scheme_of
from tfcr.data.columns import Columns, choose_columns, joined_text
from tfcr.data.corpus import (
    STANDARD_INPUT,
    Corpus,
    bad_rows_note,
    corpus_of_files,
    is_stream,
    opened,
    with_label_options,
)
from tfcr.data.encoding import source_name
from tfcr.data.options import ReadOptions, Table
from tfcr.data.parquet import is_parquet_folder
from tfcr.data.readers import READERS, table_pieces
from tfcr.errors import DataError, InputError, TfcrWarning
from tfcr.system.limits import is_file, is_folder, is_there


def load_dataset(name: str, path: str | Path | None) -> Corpus:
    """Return a dataset by its name."""
    from tfcr.data.datasets import loading  # noqa: PLC0415 - loads all that downloads need; files need nothing of it

    return loading.load_dataset(name, path)


def load_data(sources: Sequence[str], options: ReadOptions | None = None, path: str | Path | None = None) -> Corpus:
    """Return the labelled texts that a user names.

    Parameters
    ----------
    sources
        Files, folders, globs, addresses and ``-``, or one name of DATASETS.
    options
        What is known of files.
    path
        Path of the named dataset's files; searched for if omitted.
    """
    name, files = resolve_sources(sources, path)
    options = options or ReadOptions()
    if not name:
        return corpus_of_files(files, options)
    if options.label_separator:
        raise InputError(
            f"found --label-separator with the dataset {name!r}, whose documents have one label each; leave it out"
        )
    if options.time:
        raise InputError(
            f"found --time {options.time} with the dataset {name!r}, whose documents have no times; expected a file"
        )
    return with_label_options(load_dataset(name, path), options)


def load_pieces(
    sources: Sequence[str], options: ReadOptions, path: str | Path | None = None
) -> Generator[tuple[Table, Columns]]:
    """Yield tables with the columns that hold the text, in constant memory; labels need not be there.

    A folder with data files stands for these. All tables have the same columns: those that any of the files begins
    with, empty where a file lacks them. So several files are opened once more, for their columns.

    Parameters
    ----------
    sources, options, path
        As in `load_data`.
    """
    name, files = resolve_sources(sources, path)
    if name:
        corpus = load_dataset(name, path)
        frame = pl.DataFrame({"text": corpus.texts, "label": corpus.labels})
        yield Table(frame, _described(corpus)), Columns(("text",))
        return
    files = files_in_folders(files)
    if len(files) > 1 and any(map(is_stream, files)):
        raise DataError("found standard input or a pipe among several files; expected it alone, or files only")
    with ExitStack() as stack:
        places = [stack.enter_context(opened(file)) for file in files] if len(files) > 1 else files
        names = _columns_of_all(files, places, options) if len(files) > 1 else None
        for table, columns in _pieces_of_files(files, options, places):
            yield (table if names is None else replace(table, frame=_with_columns(table.frame, names))), columns


def load_texts(sources: Sequence[str], options: ReadOptions, path: str | Path | None = None) -> tuple[list[str], str]:
    """Return the texts that a user names, without empty ones, and how they were read; for `sources` see `load_data`."""
    name, files = resolve_sources(sources, path)
    if name:
        corpus = load_dataset(name, path)
        return corpus.texts, _described(corpus)
    texts: list[str] = []
    how: list[str] = []
    for table, columns in _pieces_of_files(files, options, files):
        texts += [text for text in joined_text(table.frame, columns.text) if text is not None]
        how += [table.how] if table.how else []
    return texts, "\n".join(how)


def _described(corpus: Corpus) -> str:
    return f"{corpus.name}: {len(corpus):,} documents"


def _pieces_of_files(
    files: Sequence[str], options: ReadOptions, places: Sequence[str | Path]
) -> Iterator[tuple[Table, Columns]]:
    """Yield each file's pieces with the columns of its text; only a file's first piece says how it was read.

    `places` are copies of what is elsewhere, or the files themselves.
    """
    for file, path in zip(files, places, strict=True):
        name, n_bad, n_rows, first = source_name(file), 0, 0, None
        with opened(path) as place:
            for number, table in enumerate(table_pieces(place, options, file)):
                n_bad += len(table.bad)
                first = first or next((one._replace(row=n_rows + one.row) for one in table.bad), None)
                n_rows += table.frame.height
                columns = choose_columns(table.frame, options, name, labelled=False)
                how = f"{name}: {table.how}; {columns.described()}" if number == 0 else ""
                yield replace(table, how=how, cells=None), columns
        if first is not None:
            warnings.warn(bad_rows_note(name, n_bad, first.row + 1, first.what, "empty"), TfcrWarning, stacklevel=2)


def resolve_sources(sources: Sequence[str], path: str | Path | None = None) -> tuple[str, list[str]]:
    """Return the name of the dataset that is meant, or an empty name and the files.

    Parameters
    ----------
    sources
        What the user gave.
    path
        Where the files of a named dataset are; it makes sense with a dataset's name only.
    """
    if path is None and all(source == STANDARD_INPUT or is_there(Path(source)) for source in sources):
        return "", [file for source in sources for file in _files(source)]
    from tfcr.data.datasets.registry import DATASETS  # noqa: PLC0415 - see load_dataset

    datasets = [source for source in sources if source in DATASETS and (path is not None or not is_there(Path(source)))]
    if path is not None and list(sources) != datasets[:1]:
        raise InputError(
            f"found --path {path} with {', '.join(sources)}; expected it with a dataset's name: {', '.join(DATASETS)}"
        )
    if datasets and len(sources) > 1:
        raise InputError(
            f"found the dataset {datasets[0]!r} among several sources; expected it alone, or files only "
            f"(./{datasets[0]} for a file of that name)"
        )
    return (datasets[0], []) if datasets else ("", [file for source in sources for file in _files(source)])


def _files(source: str) -> list[str]:
    """Return the files of a path, an address, a glob or ``-``; what does not exist is refused."""
    if is_address(source):
        from tfcr.data.remote import local_path, remote_files  # noqa: PLC0415 - see load_dataset

        return _files(local_path(source)) if scheme_of(source) == "file" else remote_files(source)
    if source == STANDARD_INPUT or is_there(Path(source)):
        return [source]
    found = sorted(glob.glob(source, recursive=True))  # noqa: PTH207 - Path.glob takes no absolute pattern
    if not found:
        what = "matches no file" if glob.has_magic(source) else "does not exist"
        raise DataError(
            f"{source} {what}; expected a data file, a folder, a glob, a dataset's name (tfcr datasets list), or - for "
            "standard input"
        )
    return found


def files_in_folders(files: Sequence[str]) -> list[str]:
    """Return files, and for a folder the data files in it, by their names; one without any has a folder per class."""
    endings = tuple(
        ending + packed
        for reader in READERS.values()
        for ending in reader.endings
        for packed in ("", ".gz", ".bz2")
        if ending != "/"
    )
    found: list[str] = []
    for file in files:
        path = Path(file)
        inside = sorted(path.iterdir()) if file != STANDARD_INPUT and is_folder(path) else []
        if any(map(is_folder, inside)) and is_parquet_folder(path):  # one table, whose folders may name columns
            inside = []
        names = [str(one) for one in inside if is_file(one) and one.name.lower().endswith(endings)]
        found += [name for name in names if not Path(name).name.startswith(".")] or [file]
    return found


def _columns_of_all(files: Sequence[str], places: Sequence[str | Path], options: ReadOptions) -> list[str]:
    pieces = (table_pieces(Path(place), options, file) for file, place in zip(files, places, strict=True))
    found = [next(of_file).frame.columns for of_file in pieces]
    return list(dict.fromkeys(name for columns in found for name in columns))


def _with_columns(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the table with these columns, as text; those that it lacks are empty."""
    late = [name for name in frame.columns if name not in names]
    if late:
        raise DataError(
            f"found the column {late[0]!r} only after the first rows of its file; expected those that the files begin "
            "with: predict one file at a time, with -o FILE.jsonl"
        )
    absent = [pl.lit(None, pl.String).alias(name) for name in names if name not in frame.columns]
    return frame.with_columns(absent).select(names).cast(pl.String, strict=False)
