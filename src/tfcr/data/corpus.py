"""Labelled texts, and reading them from files: which rows can be used, and what the user is told about the others."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import IO, Any

import polars as pl

from tfcr.data.addresses import is_address
from tfcr.data.columns import Columns, choose_columns, joined_text
from tfcr.data.encoding import DataFile, source_name
from tfcr.data.labels import (
    bad_label_error,
    bad_labels,
    check_one_type,
    counted,
    label_cells,
    label_notes,
    map_labels,
    merge_spellings,
    read_label_map,
    typed_labels,
    unite_types,
    written_label,
)
from tfcr.data.options import ReadOptions, Table
from tfcr.data.readers import READERS, label_lines, read_table
from tfcr.data.several import (
    FlatLabels,
    as_tuples,
    check_sets,
    has_sets,
    holds_lists,
    list_cells,
    rows_left,
    split_cells,
)
from tfcr.data.times import read_times
from tfcr.errors import DataError, shown
from tfcr.system.files import scratch_folder
from tfcr.system.limits import is_pipe
from tfcr.text.labels import by_label

STANDARD_INPUT = "-"
NO_ROWS = "{}: no row has both a text and a label; is --text or --label the wrong column?"


@dataclass(frozen=True)
class Corpus:
    """Labelled texts.

    Attributes
    ----------
    texts, labels
        One label for each text; or a tuple of labels for each, which may be empty.
    groups
        The group of each text, if a column gives it; a group stays in one fold.
    times
        The time of each text, if a column gives it: all dates, all datetimes or all numbers.
    rows
        The number of each text's row in the file, from 1; several files are numbered consecutively.
    name
        Where they come from.
    columns, label_column
        The columns that text and label were taken from; those of the first file, if there are several.
    label_separator
        What separated several labels in a cell; None if each cell held one label, or a list.
    notes
        How the files were read and what was left out, one line each.
    unlabelled
        The rows with a text and no label, if they were asked for: number of the row → text.
    """

    texts: list[str]
    labels: list[Any]
    groups: list[Any] | None = None
    times: list[Any] | None = None
    rows: list[int] = field(default_factory=list)
    name: str = ""
    columns: tuple[str, ...] = ()
    label_column: str | None = None
    label_separator: str | None = None
    notes: tuple[str, ...] = ()
    unlabelled: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def several(self) -> bool:
        """Whether a text may have several labels."""
        return has_sets(self.labels[:1])

    def class_sizes(self) -> Counter[Any]:
        """Return how many texts each class has, in the order of first use."""
        return Counter(FlatLabels.of(self.labels).labels)

    def take(self, numbers: Sequence[int]) -> "Corpus":
        """Return some of the texts, given by their positions."""
        return replace(
            self,
            texts=[self.texts[number] for number in numbers],
            labels=[self.labels[number] for number in numbers],
            groups=[self.groups[number] for number in numbers] if self.groups else None,
            times=[self.times[number] for number in numbers] if self.times else None,
            rows=[self.rows[number] for number in numbers] if self.rows else [],
        )


def read_corpus(*paths: str | Path, **options: Any) -> Corpus:
    """Read labelled texts from one or several files.

    Parameters
    ----------
    paths
        Files and folders of any format in READERS; ``-`` is standard input.
    options
        What is known of them: the fields of ReadOptions.
    """
    return corpus_of_files(paths, ReadOptions(**options))


def corpus_of_files(paths: Sequence[str | Path], options: ReadOptions, places: Sequence[Path] | None = None) -> Corpus:
    """Read labelled texts from files, each with its own columns; `places` are copies of them, if there are."""
    labels = options.label_files
    if labels and len(labels) != len(paths):
        raise DataError(f"found {len(paths)} files and {len(labels)} files of labels; expected the same number of each")
    tables, columns, cells = [], [], []
    for number, path in enumerate(paths):
        with opened(places[number] if places else path) as file:
            table = read_table(file, options, str(path))
            if labels:
                table = _with_labels(table, Path(labels[number]), options)
            columns.append(choose_columns(table.frame, options, source_name(path), format_name=table.format))
            found = file_labels(table, columns[-1], file, options, source_name(path))
            table, found = without_bad_labels(table, found, options, source_name(path))
        cells.append(found)
        tables.append(table)
    how = [
        f"{source_name(path)}: {table.how}, {table.frame.height} rows; {chosen.described()}"
        for path, table, chosen in zip(paths, tables, columns, strict=True)
    ]
    how += [bad_row_note(source_name(path), table) for path, table in zip(paths, tables, strict=True) if table.bad]
    typed = all(READERS[table.format].typed for table in tables)
    name = ", ".join(map(source_name, paths))
    names = list(map(source_name, paths))
    cells, separator = with_several([table.format for table in tables], columns, cells, options, names)
    corpus = make_corpus(
        [table.frame for table in tables],
        columns,
        name,
        cells=[cell for of_file in of_one_type(cells) for cell in of_file],
        typed=typed,
        keep_unlabelled=options.keep_unlabelled,
        bad=_bad_rows(tables),
    )
    corpus = with_label_options(replace(corpus, label_separator=separator), options)
    return replace(corpus, notes=("\n".join(how), *corpus.notes, *_repeats(corpus), *content_notes(corpus.labels)))


def _bad_rows(tables: Sequence[Table]) -> frozenset[int]:
    """Return the positions of rows that could not be read, files one after the other."""
    starts = accumulate((table.frame.height for table in tables), initial=0)
    return frozenset(start + row for start, table in zip(starts, tables, strict=False) for row, _ in table.bad)


def bad_row_note(name: str, table: Table) -> str:
    """Return how many rows of a file could not be read, and which is the first."""
    return bad_rows_note(name, len(table.bad), table.bad[0].row + 1, table.bad[0].what)


def bad_rows_note(name: str, number: int, row: int, what: str, fate: str = "left out") -> str:
    """Return how many rows of a file could not be read, and which is the first, counted from 1."""
    if number == 1:
        return f"1 row of {name} could not be read and is {fate}, row {row:,}: {what}"
    return f"{number:,} rows of {name} could not be read and are {fate}, the first is row {row:,}: {what}"


def without_bad_labels(table: Table, cells: list[Any], options: ReadOptions, name: str) -> tuple[Table, list[Any]]:
    """Return a table and its labels; rows whose cells cannot be labels are refused, or are bad and have none."""
    bad = list(bad_labels(cells, splitting_separator(table.format, options)))
    if not bad:
        return table, cells
    if options.bad_rows == "stop":
        raise bad_label_error(name, bad[0].row + 1, bad[0].what)
    cells = list(cells)
    for row, _ in bad:
        cells[row] = None
    return replace(table, bad=tuple(sorted((*table.bad, *bad)))), cells


def cell_separator(format_name: str, options: ReadOptions) -> str | None:
    """Return what may separate several labels in a cell."""
    return READERS[format_name].label_separator or options.label_separator or options.default_separator


def splitting_separator(format_name: str, options: ReadOptions) -> str | None:
    """Return what separates several labels in a cell wherever it occurs: that of a model, if it gives several."""
    return cell_separator(format_name, options if options.several else replace(options, default_separator=None))


def with_label_options(corpus: Corpus, options: ReadOptions) -> Corpus:
    """Return a corpus whose labels are mapped and merged as the user wants, with a note on each."""
    if options.label_map is None and not options.merge_labels:
        return corpus
    labels, kept, notes = wanted_labels(corpus.labels, options, corpus.name)
    return replace(corpus.take(kept), labels=labels, notes=(*corpus.notes, *notes))


def wanted_labels(
    labels: list[Any], options: ReadOptions, name: str, sizes: list[int] | None = None
) -> tuple[list[Any], Sequence[int], list[str]]:
    """Return labels, mapped and merged as the user wants; the positions of the rows that keep one; and notes.

    Parameters
    ----------
    labels, options, name
        The labels of rows, what the user wants, and what errors call their source.
    sizes
        How many rows have these labels, if not one each.
    """
    kept: Sequence[int] = range(len(labels))
    notes: list[str] = []
    if options.label_map is not None:
        flat = FlatLabels.of(labels)
        mapped, notes = map_labels(
            flat.labels,
            read_label_map(options.label_map),
            any_spelling=options.merge_labels,
            several=has_sets(labels[:1]),
            sizes=flat.spread(sizes),
        )
        rows = flat.nest(mapped)
        kept = rows_left(labels, rows)
        labels, sizes = [rows[row] for row in kept], sizes and [sizes[row] for row in kept]
        if not FlatLabels.of(labels).labels:
            raise DataError(f"{name}: the map of labels leaves out every row; expected one that keeps some")
        labels = _checked(labels, name, typed=False)
    if options.merge_labels:
        flat = FlatLabels.of(labels)
        merged, more = merge_spellings(flat.labels, options.default_classes, flat.spread(sizes))
        labels, notes = flat.nest(merged), [*notes, *more]
    return labels, kept, notes


@contextmanager
def opened(path: str | Path) -> Iterator[Path]:
    """Give a path to read from; an address, standard input and a pipe of the shell are copied to a temporary folder."""
    if is_address(str(path)):
        from tfcr.data.remote import copied  # noqa: PLC0415 - loads what downloads need; files need nothing of it

        with scratch_folder() as folder:
            yield copied(str(path), folder)
    elif is_stream(path):
        with scratch_folder() as folder:
            copy = folder / "standard input"
            with _stream(path) as stream, copy.open("wb") as file:
                while chunk := stream.read(1 << 20):
                    file.write(chunk)
            yield copy
    elif is_pipe(Path(path)):  # which may have no writer, and reading would wait for it forever
        raise DataError(f"{path} is a pipe; expected a file, or standard input: give - instead, and < {path}")
    else:
        yield Path(path)


def is_stream(path: str | Path) -> bool:
    """Return whether a source can be read only once: ``-``, or a pipe that the shell made for ``<(command)``."""
    return str(path) == STANDARD_INPUT or (str(path).startswith("/dev/fd/") and is_pipe(Path(path)))


@contextmanager
def _stream(path: str | Path) -> Iterator[IO[bytes]]:
    if str(path) != STANDARD_INPUT:
        with Path(path).open("rb") as file:
            yield file
    elif sys.stdin is None:
        raise DataError("standard input is closed; expected data: give a file, or pipe it in")
    else:
        yield sys.stdin.buffer


def _with_labels(table: Table, file: Path, options: ReadOptions) -> Table:
    labels = list(label_lines(file, options))
    if len(labels) != table.frame.height:
        raise DataError(
            f"{file} holds {len(labels)} labels for {table.frame.height} texts; expected one label per line and text"
        )
    return replace(table, frame=table.frame.with_columns(pl.Series("label", labels)))


# rows that can be used -----------------------------------------------------------------------------------------------


def make_corpus(
    frames: Sequence[pl.DataFrame],
    columns: Sequence[Columns],
    name: str,
    *,
    cells: Sequence[Any],
    typed: bool,
    keep_unlabelled: bool = False,
    bad: Collection[int] = (),
) -> Corpus:
    """Return the labelled texts of tables, each with its own columns; rows without text or label are left out.

    Parameters
    ----------
    frames, columns
        The tables, and the columns that each has text, label and group in.
    name
        Where they come from.
    cells
        The labels of all rows, None where there is none.
    typed
        Whether all tables come from formats with types.
    keep_unlabelled
        Whether texts without a label are kept, apart from the others.
    bad
        Positions of rows that could not be read, and are counted elsewhere.
    """
    texts = [text for frame, chosen in zip(frames, columns, strict=True) for text in joined_text(frame, chosen.text)]
    for row in bad:
        texts[row] = None
    labels = by_label(lambda label: None if is_missing(label) else label, cells)
    groups = _groups(frames, columns, name) if columns[0].group else None
    is_whole = None not in texts and None not in labels
    used = [row for row in range(len(texts)) if is_whole or (texts[row] is not None and labels[row] is not None)]
    if not used:
        raise DataError(NO_ROWS.format(name))
    known, notes = united_labels([labels[row] for row in used], name, typed=typed)
    corpus = Corpus(
        texts=[text for text, label in zip(texts, labels, strict=True) if text is not None and label is not None],
        labels=known,
        groups=[groups[row] for row in used] if groups else None,
        times=_times(frames, columns, used, name) if columns[0].time else None,
        rows=[row + 1 for row in used],
        name=name,
        columns=columns[0].text,
        label_column=columns[0].label,
    )
    if keep_unlabelled and not is_whole:
        pairs = enumerate(zip(texts, labels, strict=True), start=1)
        apart = {row: text for row, (text, label) in pairs if text is not None and label is None}
        corpus = replace(corpus, unlabelled=apart)
    return replace(corpus, notes=(*_row_notes(texts, labels, bad, keep_unlabelled=keep_unlabelled), *notes))


def united_labels(labels: list[Any], name: str, *, typed: bool) -> tuple[list[Any], list[str]]:
    """Return the labels of rows as labels of one type, with a note if they were of several; see `make_corpus`."""
    flat = FlatLabels.of(labels)
    if not flat.labels:
        raise DataError(f"{name}: no row has a label; is --label the wrong column?")
    united, notes = unite_types(flat.labels, name)
    return _checked(flat.nest(united) if notes else labels, name, typed=typed), notes


def _checked(labels: list[Any], name: str, *, typed: bool) -> list[Any]:
    flat = FlatLabels.of(labels)
    of_one_type = typed_labels(flat.labels, typed=typed)
    check_one_type(of_one_type, name)
    return flat.nest(of_one_type)


def is_missing(label: Any) -> bool:
    """Return whether a cell holds no label."""
    if isinstance(label, str):
        return not label.strip()
    return label is None or (isinstance(label, float) and math.isnan(label))


def file_labels(table: Table, columns: Columns, file: Path, options: ReadOptions, name: str) -> list[Any]:
    """Return the labels of a table, None where there is none, tuples of lists; of JSON, each with its own type."""
    exact = READERS[table.format].cells
    skips = options.bad_rows == "skip"
    again = None if exact is None else partial(exact, DataFile(file, name, skips=skips), options)
    return column_labels(table.frame[str(columns.label)], again, name)


def has_exact_labels(column: pl.Series, again: Callable[[str], list[Any]] | None) -> bool:
    """Return whether a column of labels holds what its file does, so that it need not be read again."""
    return again is None or (column.dtype == pl.String and not column.str.contains(_AMBIGUOUS).any())


def column_labels(column: pl.Series, again: Callable[[str], list[Any]] | None, name: str) -> list[Any]:
    """Return the labels of a column, as `file_labels` does; `again` reads it from its file, each cell with its type."""
    if has_exact_labels(column, again) or again is None:
        return list_cells(column, name) if holds_lists(column) else label_cells(column, name)
    if not holds_lists(column):
        label_cells(column, name)  # refuses objects
    cells = again(column.name)
    if len(cells) != len(column):
        raise DataError(f"{name} holds {len(column)} or {len(cells)} objects; expected one JSON object per line")
    return as_tuples(cells)


def with_several(
    format_names: Sequence[str],
    columns: Sequence[Columns],
    cells: Sequence[list[Any]],
    options: ReadOptions,
    names: Sequence[str],
    rows: Sequence[list[int]] | None = None,
) -> tuple[list[list[Any]], str | None]:
    """Return the labels of all files as tuples if a file has several per row, and what separates them in a cell.

    A separator that the user gives must occur; that of a model's training data need not.

    Parameters
    ----------
    format_names, columns, cells, names
        For each file its format, its columns, the cells of its labels, and what errors call it.
    options
        What the user says about them.
    rows
        The rows that the cells stand in, if not 1, 2 and so on.
    """
    formats = [READERS[name] for name in format_names]
    given = options.label_separator
    lists = [has_sets(of_file) for of_file in cells]
    for name, reader, is_list in zip(names, formats, lists, strict=True):
        if given and (is_list or reader.label_separator):
            how = "lists of labels" if is_list else "a mark before each label"
            raise DataError(f"{name}: found --label-separator {given!r}, and {how}; leave it out")
    separators = [cell_separator(name, options) for name in format_names]
    found = [
        separator is not None and any(separator in cell for cell in of_file if isinstance(cell, str))
        for separator, of_file in zip(separators, cells, strict=True)
    ]
    if given and not any(found):
        example = next((cell for of_file in cells for cell in of_file if cell is not None), None)
        raise DataError(
            f"{', '.join(names)}: the label separator {given!r} never occurs in the column {columns[0].label!r}, which "
            f"holds such as {shown(example)}; give what separates its labels, or leave it out if each row has one"
        )
    marked = any(
        is_found and reader.label_separator is not None for is_found, reader in zip(found, formats, strict=True)
    )
    if not (given or marked or any(lists) or (options.several and any(separators))):
        return list(cells), None
    sets = [
        _sets_of_file(of_file, separator, typed=reader.typed)
        for of_file, separator, reader in zip(cells, separators, formats, strict=True)
    ]
    for number, (of_file, name) in enumerate(zip(sets, names, strict=True)):
        check_sets(of_file, name, rows[number] if rows else None)
    return sets, next((separator for separator in separators if separator), None)


def _sets_of_file(cells: list[Any], separator: str | None, *, typed: bool) -> list[Any]:
    """Return each cell as a tuple. An empty cell means no label where cells have no types, else that it is missing."""
    if separator and not has_sets(cells):
        return split_cells(cells, separator, empty=None if typed else ())
    return [cell if cell is None or isinstance(cell, tuple) else (cell,) for cell in cells]


_AMBIGUOUS = r"^\s*[-+\d{\[]|^\s*(true|false|null|NaN|-?Infinity)\s*$|[\x00\ufffd]"
"""Text that polars may have made of a number, a boolean, a list, an object or half of a surrogate pair."""


def of_one_type(cells: Sequence[list[Any]]) -> list[list[Any]]:
    """Return the labels of each file; as text if one file has text and another has numbers."""
    known = [[cell for cell in of_file if cell is not None] for of_file in cells]
    kinds = {frozenset(map(type, FlatLabels.of(of_file).labels)) for of_file in known}
    if len(kinds) > 1 and any(str in kind for kind in kinds):
        return [list(map(_written, of_file)) for of_file in cells]
    return list(cells)


def _written(cell: Any) -> Any:
    return tuple(map(written_label, cell)) if isinstance(cell, tuple) else written_label(cell)


def _groups(frames: Sequence[pl.DataFrame], columns: Sequence[Columns], name: str) -> list[Any]:
    """Return the group of each row; as text if the tables have different types."""
    found = [frame[str(chosen.group)] for frame, chosen in zip(frames, columns, strict=True)]
    cells = [label_cells(column, name) for column in found]
    as_text = len({column.dtype for column in found}) > 1
    return [str(cell) if as_text and cell is not None else cell for of_file in cells for cell in of_file]


def _times(frames: Sequence[pl.DataFrame], columns: Sequence[Columns], used: Sequence[int], name: str) -> list[Any]:
    return read_times([frame[str(chosen.time)] for frame, chosen in zip(frames, columns, strict=True)], used, name)


def _row_notes(
    texts: Sequence[str | None], labels: Sequence[Any], bad: Collection[int], *, keep_unlabelled: bool
) -> list[str]:
    if None not in texts and None not in labels:  # as usual: no pass in Python
        return []
    rows: dict[str, list[int]] = {"text": [], "label": [], "text and no label": []}
    for number, (text, label) in enumerate(zip(texts, labels, strict=True), start=1):
        if (text is None or label is None) and number - 1 not in bad:
            what = "label" if text is not None else "text" if label is not None else "text and no label"
            rows[what].append(number)
    return [
        row_note(
            what, len(missing), missing[:3], len(texts), "kept apart" if keep_unlabelled and what == "label" else ""
        )
        for what, missing in rows.items()
        if missing
    ]


def row_note(what: str, number: int, first: Sequence[int], n_rows: int, fate: str = "") -> str:
    """Return a line on rows that lack something: how many of all, and the first three of them."""
    rows = ", ".join(map(str, first)) + (", …" if number > len(first) else "")
    return f"{number} of {n_rows} rows have no {what} and are {fate or 'left out'} (row {rows})"


def _repeats(corpus: Corpus) -> list[str]:
    repeats = len(corpus) - len(set(zip(corpus.texts, map(str, corpus.labels), strict=True)))
    return [f"{repeats} rows repeat the text and label of another; each is kept"] if repeats else []


def content_notes(labels: Sequence[Any], sizes: Sequence[int] | None = None) -> list[str]:
    """Return what a user should know of the labels of rows; `sizes` is how many rows have them, if not one each."""
    notes, several = [], has_sets(labels[:1])
    flat = FlatLabels.of(labels)
    if several:
        of_rows = counted(map(len, labels), sizes)
        n_labels = sum(length * number for length, number in of_rows.items())
        without = f"; {of_rows[0]} have none, and count as documents of no class" if of_rows[0] else ""
        notes.append(f"several labels per row, {n_labels / of_rows.total():.2f} in the mean{without}")
    counts = counted(flat.labels, flat.spread(sizes))
    return [*notes, *label_notes(counts, several=several)]
