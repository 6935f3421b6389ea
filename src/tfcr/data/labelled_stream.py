"""Labelled texts of files larger than memory: the rows of `corpus.corpus_of_files`, piece by piece, as often as needed.

files --label_survey--> what each label becomes, class sizes, notes        one pass, when it is first asked for
files --table_pieces--> texts, labels                                      one pass for each iteration
"""

import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tfcr.data.columns import Columns, choose_columns, joined_text
from tfcr.data.corpus import Corpus, column_labels, corpus_of_files, has_exact_labels, opened
from tfcr.data.encoding import source_name
from tfcr.data.fingerprint import Fingerprint
from tfcr.data.json_lines import json_texts
from tfcr.data.label_survey import ColumnSurvey, FileSurvey, Key, LabelSurvey, label_survey, look_up_labels
from tfcr.data.options import ReadOptions, Table
from tfcr.data.parts import FilePart, HeldPart, stream_parts
from tfcr.data.readers import label_lines, table_pieces
from tfcr.data.several import holds_lists
from tfcr.data.sources import load_data, resolve_sources
from tfcr.errors import DataError, InputError

HELD_ROWS = 100_000
"""How many rows of a dataset, which is in memory anyway, make a piece."""


class LabelledPiece(NamedTuple):
    """Labelled texts of a file, one after the other.

    Attributes
    ----------
    texts, labels
        As those of a Corpus: one label for each text, or a tuple of several.
    rows
        The number of each text's row, from 1; several files are numbered consecutively.
    first_row
        The number of the first row in its file that the piece was read from, whether it is used or not.
    file
        What messages call the file.
    """

    texts: list[str]
    labels: list[Any]
    rows: NDArray[np.int64]
    first_row: int
    file: str


def labelled_stream(
    sources: Sequence[str],
    options: ReadOptions | None = None,
    path: str | Path | None = None,
    *,
    on_bad_row: str | None = None,
) -> "LabelledStream":
    """Return the labelled texts that a user names, to be read in constant memory.

    Nothing is read yet, but standard input and pipes, which are copied to a temporary file.

    Parameters
    ----------
    sources, options, path
        As in `load_data`. Groups, times and texts without label cannot be read in this way.
    on_bad_row
        A name of BAD_ROWS: what is done about a row that cannot be read; as the options say if None.
    """
    options = options or ReadOptions()
    if on_bad_row is not None:
        options = replace(options, bad_rows=on_bad_row)
    for what, given in (("--group", options.group), ("--time", options.time)):
        if given:
            raise InputError(
                f"found {what} {given}, and data that is read in pieces; expected data that fits into memory: give "
                f"more with --max-memory, or leave {what} out"
            )
    if options.keep_unlabelled:
        raise InputError("found data that is read in pieces; texts without a label cannot be kept apart")
    name, files = resolve_sources(sources, path)
    if name:
        return LabelledStream([], options, load_data(sources, options, path))
    return LabelledStream(files, options)


class LabelledStream:
    """Labelled texts, read anew for each iteration, in constant memory.

    Iterating yields LabelledPiece. The first pass over the files is made when something that depends on all rows is
    first asked for. Used as a context manager, or closed, it deletes the copy of standard input.

    Parameters
    ----------
    files
        Files of any format in READERS. Those that cannot be read in pieces (a JSON list, a workbook, a folder per class
        and archives of such) are held in memory one at a time.
    options
        What is known of them.
    held
        Labelled texts that are in memory, instead of files.

    Attributes
    ----------
    name
        Where the texts come from.
    """

    def __init__(self, files: Sequence[str], options: ReadOptions, held: Corpus | None = None) -> None:
        if options.label_files and len(options.label_files) != len(files):
            raise DataError(
                f"found {len(files)} files and {len(options.label_files)} files of labels; expected the same number of "
                "each"
            )
        self._options, self._held = options, held
        self._stack = ExitStack()
        weakref.finalize(self, self._stack.close)
        labels = options.label_files or [None] * len(files)
        self._files = [
            StreamedFile(self._stack.enter_context(opened(file)), str(file), options, Path(label) if label else None)
            for file, label in zip(files, labels, strict=True)
        ]
        self.name = held.name if held else ", ".join(source_name(file) for file in files)

    def __enter__(self) -> "LabelledStream":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete copies of what can be read only once."""
        self._stack.close()

    # what is known before anything is read

    @property
    def bytes(self) -> int:
        """About how many bytes all texts and labels take: the size of the files, unpacked by a typical factor."""
        if self._held is not None:
            return sum(map(len, self._held.texts))
        return sum(file.fingerprint.unpacked_bytes() for file in self._files)

    def corpus(self) -> Corpus:
        """Return all of it in memory: the same texts and labels, as `load_data` returns them."""
        if self._held is not None:
            return self._held
        places = [file.place for file in self._files]
        return corpus_of_files([file.source for file in self._files], self._options, places)

    def made_from(self) -> dict[str, Any] | None:
        """Return what the texts and labels depend on, as JSON: the same again if nothing has changed.

        None if they are read from standard input, were copied from elsewhere, or are those of a dataset.
        """
        if self._held is not None or not all(file.is_in_place for file in self._files):
            return None
        beside = [file.label_file for file in self._files if file.label_file is not None]
        if isinstance(self._options.label_map, str | Path):
            beside.append(Path(self._options.label_map))
        fingerprints = [file.fingerprint for file in self._files]
        fingerprints += [Fingerprint.of(path, str(path)) for path in beside]
        files = [[str(Path(file).absolute()), *state] for found in fingerprints for file, *state in found.files]
        return {"files": files, "options": {name: repr(value) for name, value in vars(self._options).items()}}

    # what the first pass tells

    @cached_property
    def survey(self) -> LabelSurvey:
        """What the labels of all rows become."""
        return label_survey([file.survey for file in self._files], self._options)

    @property
    def class_sizes(self) -> "Counter[Any]":
        """How many rows each class has, in the order of first use."""
        return self._held.class_sizes() if self._held is not None else self.survey.class_sizes

    @property
    def classes(self) -> list[Any]:
        """The classes, sorted."""
        return sorted(self.class_sizes)

    @property
    def n_rows(self) -> int:
        """How many rows are used: each a text with its label."""
        return len(self._held) if self._held is not None else self.survey.n_rows

    @property
    def several(self) -> bool:
        """Whether a text may have several labels."""
        return self._held.several if self._held is not None else self.survey.several

    @property
    def notes(self) -> tuple[str, ...]:
        """How the files are read and what is left out, one line each; repeated rows are not counted."""
        return self._held.notes if self._held is not None else self.survey.notes

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that texts are taken from; those of the first file."""
        return self._held.columns if self._held is not None else self._files[0].survey.columns.text

    @property
    def label_column(self) -> str | None:
        """The column that labels are taken from; that of the first file."""
        return self._held.label_column if self._held is not None else self._files[0].survey.columns.label

    @property
    def label_separator(self) -> str | None:
        """What separates several labels in a cell; None if each cell holds one, or a list."""
        return self._held.label_separator if self._held is not None else self.survey.label_separator

    # rows

    def __iter__(self) -> Iterator[LabelledPiece]:
        if self._held is not None:
            yield from _held_pieces(self._held)
            return
        for number in range(len(self._files)):
            yield from self.pieces_of(number)

    def pieces_of(self, number: int) -> Iterator[LabelledPiece]:
        """Yield the pieces of one of the files, by its number."""
        file = self._files[number]
        before = sum(other.survey.n_rows for other in self._files[:number])
        first_row = 1
        for table in file.checked_pieces():
            texts, labels, used = file.labelled(table, self.survey.becomes[number])
            yield LabelledPiece(texts, labels, np.flatnonzero(used) + before + first_row, first_row, file.name)
            first_row += len(used)

    def files(self) -> "list[tuple[StreamedFile, Mapping[Key, Any]]]":
        """Return the files, each with what its labels become; none if the texts are in memory."""
        return list(zip(self._files, self.survey.becomes, strict=True)) if self._held is None else []

    def parts(self, kept: frozenset[Any] | None = None) -> "Iterator[HeldPart | FilePart]":
        """Yield the rows in parts that other processes may read; of some classes only, if given."""
        if self._held is not None:
            return (HeldPart(piece.texts, piece.labels).of(kept) for piece in _held_pieces(self._held))
        return stream_parts(self, kept)

    def texts(self) -> "StreamedTexts":
        """Return the texts alone, one by one, as often as needed."""
        return StreamedTexts(self)


@dataclass(frozen=True)
class StreamedTexts:
    """The texts of a stream; each iteration reads them anew."""

    stream: LabelledStream

    def __iter__(self) -> Iterator[str]:
        return (text for piece in self.stream for text in piece.texts)

    def __len__(self) -> int:
        return self.stream.n_rows


def _held_pieces(corpus: Corpus) -> Iterator[LabelledPiece]:
    rows = np.asarray(corpus.rows or range(1, len(corpus) + 1), dtype=np.int64)
    for start in range(0, len(corpus), HELD_ROWS):
        piece = slice(start, start + HELD_ROWS)
        first = int(rows[start])
        yield LabelledPiece(corpus.texts[piece], corpus.labels[piece], rows[piece], first, corpus.name)


# one file ------------------------------------------------------------------------------------------------------------


@dataclass
class StreamedFile:
    """A file that is read several times, and must not change between.

    Attributes
    ----------
    place, source
        Where it is, and what the user called it.
    options
        What the user says about it.
    label_file
        Its labels, one per line, if another file has them.
    """

    place: Path
    source: str
    options: ReadOptions
    label_file: Path | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What messages call it."""
        return source_name(self.source)

    @property
    def is_in_place(self) -> bool:
        """Whether it lies where the user says, so that others can read it, and later runs find it there."""
        return Path(self.source) == self.place

    @cached_property
    def fingerprint(self) -> Fingerprint:
        """Its state when it was first looked at."""
        return Fingerprint.of(self.place, self.name)

    def changed(self) -> DataError:
        """Return the error for a file that is not as it was."""
        return self.fingerprint.changed(self.name)

    @cached_property
    def survey(self) -> FileSurvey:
        """The first pass; it is repeated if the first piece has not told the columns."""
        seen, found = ColumnSurvey(self.options, self.name), None
        for number, table in enumerate(self.pieces()):
            seen.add(table)
            if number == 0:
                found = self._begun(table)
            if found is not None:
                self._add(found, table)
        columns = seen.choose()
        if found is None or found.columns != columns:
            found = FileSurvey(self.name, columns, self.options)
            for table in self.pieces():
                self._add(found, table)
        for column, types in found.text_types.items():
            if types and all(dtype.is_nested() for dtype in types):  # which is refused
                joined_text(pl.DataFrame(schema={column: next(iter(types))}), [column])
        return found

    def _begun(self, table: Table) -> FileSurvey | None:
        try:
            columns = choose_columns(table.frame, self.options, self.name, format_name=table.format)
        except DataError:  # columns that only later rows have
            return None
        return FileSurvey(self.name, columns, self.options)

    def _add(self, found: FileSurvey, table: Table) -> None:
        table = _completed(table, found.columns)
        column = table.frame[str(found.columns.label)]
        is_plain = has_exact_labels(column, table.cells) and not holds_lists(column)
        cells = column if is_plain else column_labels(column, table.cells, self.name)
        found.add(table, cells, _with_texts(table, [name for name in found.columns.text if _is_nested(table, name)]))

    def labelled(self, table: Table, becomes: Mapping[Key, Any]) -> tuple[list[str], list[Any], list[bool]]:
        """Return the texts and labels of a piece, and which of its rows they are."""
        texts = joined_text(self.as_texts(table), self.survey.columns.text)
        try:
            labels = look_up_labels(self.labels(table), becomes)
        except KeyError:
            raise self.changed() from None
        used = [label is not None and text is not None for text, label in zip(texts, labels, strict=True)]
        return (
            [text for text, is_used in zip(texts, used, strict=True) if is_used and text is not None],
            [label for label, is_used in zip(labels, used, strict=True) if is_used],
            used,
        )

    def labels(self, table: Table) -> list[Any]:
        """Return the cells of the labels of a piece."""
        table = _completed(table, self.survey.columns)
        return column_labels(table.frame[str(self.survey.columns.label)], table.cells, self.name)

    def as_texts(self, table: Table) -> pl.DataFrame:
        """Return a piece whose texts are written as in a table of the whole file."""
        table = _completed(table, self.survey.columns)
        mixed = {name: kinds for name, kinds in self.survey.text_types.items() if len(kinds) > 1}
        numbers = {name: kinds for name, kinds in mixed.items() if all(kind.is_numeric() for kind in kinds)}
        frame = _with_texts(table, [name for name in mixed if name not in numbers])
        return frame.cast({name: _united(kinds) for name, kinds in numbers.items()})

    # pieces

    def checked_pieces(self) -> Iterator[Table]:
        """Yield the tables of the file again; raise DataError if it is not as it was."""
        survey = self.survey
        n_rows = 0
        for table in self.pieces():
            n_rows += table.frame.height
            yield table
        if n_rows != survey.n_rows:
            raise self.changed()

    def pieces(self) -> Iterator[Table]:
        """Yield the tables of the file; raise DataError if it changes."""
        self.fingerprint.check(self.place, self.name)
        try:
            tables = table_pieces(self.place, self.options, self.source, self.facts)
            yield from tables if self.label_file is None else self._with_labels(tables, self.label_file)
        except DataError:
            self.fingerprint.check(self.place, self.name)  # which may be the reason
            raise
        self.fingerprint.check(self.place, self.name)

    def _with_labels(self, tables: Iterator[Table], file: Path) -> Iterator[Table]:
        labels = label_lines(file, self.options)
        n_texts = n_labels = 0
        for table in tables:
            found = list(islice(labels, table.frame.height))
            n_texts, n_labels = n_texts + table.frame.height, n_labels + len(found)
            found += [""] * (table.frame.height - len(found))
            yield replace(table, frame=table.frame.with_columns(pl.Series("label", found, pl.String)))
        n_labels += sum(1 for _ in labels)
        if n_labels != n_texts:
            raise DataError(f"{file} holds {n_labels} labels for {n_texts} texts; expected one label per line and text")


def _completed(table: Table, columns: Columns) -> Table:
    """Return a piece with all columns that are used; those that it lacks are empty."""
    absent = [name for name in (*columns.text, str(columns.label)) if name not in table.frame.columns]
    if not absent:
        return table
    return replace(table, frame=table.frame.with_columns(pl.lit(None, pl.Null).alias(name) for name in absent))


def _united(kinds: Iterable[pl.DataType]) -> pl.DataType:
    frames = [pl.DataFrame(schema={"number": kind}) for kind in kinds]
    return pl.concat(frames, how="vertical_relaxed").schema["number"]


def _is_nested(table: Table, column: str) -> bool:
    return table.cells is not None and table.frame.schema[column].is_nested()


def _with_texts(table: Table, columns: Sequence[str]) -> pl.DataFrame:
    """Return a piece with some columns as text, from JSON as `read_table` has it."""
    if table.cells is None:
        return table.frame
    return table.frame.with_columns(json_texts(column, table.cells(column)) for column in columns)
