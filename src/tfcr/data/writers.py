"""Tables to files, written completely or not at all, or to standard output; large ones piece by piece.

To add a format, write a generator that yields a function to add a table, and add a row to WRITERS. If rows can be
appended to a file, write a class like `JsonRows` instead: then a killed run can be resumed in the middle of a file.
"""

import codecs
import io
import math
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, Protocol

import polars as pl

from tfcr.data.dialect import delimited_rows
from tfcr.data.options import Dialect, Table
from tfcr.data.readers import READERS
from tfcr.errors import DataError, MissingExtraError, look_up
from tfcr.system.files import scratch_folder, written_beside
from tfcr.system.limits import is_folder

DIGITS = 4
"""After the point, of a probability."""

Write = Callable[[pl.DataFrame], None]
"""Adds a table to a file."""


@dataclass(frozen=True)
class Style:
    """How a table is written.

    Attributes
    ----------
    dialect
        Of delimited text; None: that of the format.
    guard
        Whether cells of delimited text that begin like a formula get an apostrophe, so that spreadsheets show text.
    fixed
        Columns of numbers that are rounded to DIGITS digits after the point.
    numbers
        Whether text that is a number becomes a number in a workbook: right where cells have no types.
    lists, label_separator
        Columns of lists, and what joins them in formats that hold none.
    """

    dialect: Dialect | None = None
    guard: bool = True
    fixed: tuple[str, ...] = ()
    numbers: bool = True
    lists: tuple[str, ...] = ()
    label_separator: str = ";"


class Rows(Protocol):
    """Turns tables into bytes that are appended to those before.

    `state` is what the bytes to come depend on, as JSON: given to a new one, it goes on from there.
    """

    @property
    def state(self) -> Any:
        """What the next bytes depend on."""

    def __call__(self, frame: pl.DataFrame) -> bytes:
        """Return the rows of a table; a header comes before the first."""


@dataclass(frozen=True)
class Writer:
    """A format of tables; the file's ending is its name.

    Attributes
    ----------
    what
        What it is, for help and documentation.
    write_to
        Takes an open file and a Style, and yields a `Write` for it.
    separator
        Between columns, if it is delimited text.
    check
        Raises MissingExtraError if the format cannot be written on this machine.
    rows
        Makes `Rows` from a Style and a state, if rows can be appended to a file.
    holds_lists
        Whether a cell can be a list.
    """

    what: str
    write_to: Callable[[IO[bytes], Style], Iterator[Write]]
    separator: str | None = None
    check: Callable[[], object] = lambda: None
    rows: Callable[[Style, Any], Rows] | None = None
    holds_lists: bool = False


class DelimitedRows:
    """Rows of delimited text; their state is the columns, and what the encoder remembers, such as a byte order mark."""

    def __init__(self, style: Style, state: Any = None) -> None:
        self._style, self._dialect = style, style.dialect or Dialect()
        self._names: list[str] = []
        self._encoder = codecs.getincrementalencoder(self._dialect.encoding)()
        if state is not None:
            self._names = [str(name) for name in state[0]]
            self._encoder.setstate(int(state[1]))

    @property
    def state(self) -> list[Any]:
        """The names of the columns, and the state of the encoder."""
        return [list(self._names), self._encoder.getstate()]

    def __call__(self, frame: pl.DataFrame) -> bytes:
        """Return the rows of a table, after a header if they are the first."""
        is_first = not self._names
        ordered = _ordered(frame, self._names)
        style = self._style
        plain = tuple(name for name in style.fixed if name not in style.lists)
        rows = delimited_rows(_as_text(ordered, style), self._dialect, guard=style.guard, header=is_first, plain=plain)
        if codecs.lookup(self._dialect.encoding).name == "utf-8":
            return rows
        try:
            return self._encoder.encode(rows.decode())
        except UnicodeEncodeError as error:
            raise DataError(
                f"cannot write {error.object[error.start]!r} in {self._dialect.encoding}, the encoding of the input; "
                "give --output-encoding utf-8"
            ) from None


class JsonRows:
    """Rows as JSON lines; they depend on none before."""

    state: Any = None

    def __init__(self, style: Style, state: Any = None) -> None:
        pass

    def __call__(self, frame: pl.DataFrame) -> bytes:
        """Return a line for each row."""
        buffer = io.BytesIO()
        frame.write_ndjson(buffer)
        return buffer.getvalue()


def _ordered(frame: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return a table with the columns of the first one, whose names it adds to `names`."""
    new = [name for name in frame.columns if name not in names]
    if names and new:
        raise DataError(
            f"found the column {new[0]!r} only after the first rows were written; "
            "write JSON lines, where rows may differ: -o FILE.jsonl"
        )
    names.extend(new)
    empty = pl.repeat(None, frame.height, dtype=pl.String, eager=True)
    return pl.DataFrame([frame[name] if name in frame.columns else empty.alias(name) for name in names])


def _as_text(frame: pl.DataFrame, style: Style) -> pl.DataFrame:
    """Return all cells as text."""
    _check_flat(frame)
    numbers = [name for name in style.fixed if name in frame.columns and name not in style.lists]
    fixed = [pl.col(name).cast(pl.Decimal(18, DIGITS)) for name in numbers]
    return frame.with_columns(fixed).cast(pl.String)


def _check_flat(frame: pl.DataFrame) -> None:
    for name, dtype in frame.schema.items():
        if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
            raise DataError(
                f"cannot write such a table: the column {name!r} holds {str(dtype).lower()}; JSON lines hold anything: "
                "-o FILE.jsonl"
            )


def _write_rows(make: Callable[[Style, Any], Rows], file: IO[bytes], style: Style) -> Iterator[Write]:
    rows = make(style, None)

    def write(frame: pl.DataFrame) -> None:
        file.write(rows(frame))

    yield write


def _write_parquet(file: IO[bytes], style: Style) -> Iterator[Write]:
    """Collect the pieces in files of their own: nothing can be appended to a Parquet file."""
    with scratch_folder() as folder:
        parts: list[Path] = []
        types: dict[Any, pl.DataType] = {}

        def write(frame: pl.DataFrame) -> None:
            parts.append(folder / f"{len(parts)}.parquet")
            known: dict[Any, Any] = {name: types[name] for name in frame.columns if name in types}
            frame.cast(known).write_parquet(parts[-1])  # pieces of incompatible types fail now, not at the end
            types.update(frame.schema | known)

        yield write
        whole = pl.concat([pl.scan_parquet(part) for part in parts], how="diagonal_relaxed")
        whole.sink_parquet(file)


# Excel ---------------------------------------------------------------------------------------------------------------

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_576, 16_384, 32_767
"""What a sheet of Excel can hold."""
_EXACT_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?")
_EXACT_DIGITS = 15
"""A number that a workbook gives back as it was written."""


def _import_xlsxwriter() -> Any:
    try:
        import xlsxwriter  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("writing Excel workbooks", "excel") from None
    return xlsxwriter


def _write_xlsx(file: IO[bytes], style: Style) -> Iterator[Write]:
    """Write text as text, never as a formula or a link; rows go to a temporary file, so that memory stays constant."""
    with scratch_folder() as folder:
        as_text = {"strings_to_formulas": False, "strings_to_urls": False}
        options = {"constant_memory": True, "tmpdir": str(folder), **as_text}
        workbook = _import_xlsxwriter().Workbook(file, options)
        sheet = workbook.add_worksheet("predictions")
        fixed = workbook.add_format({"num_format": f"0.{'0' * DIGITS}"})
        names: list[str] = []
        rows = 0

        def write(frame: pl.DataFrame) -> None:
            nonlocal rows
            is_first = not names
            ordered = _ordered(frame, names)
            _check_sheet(ordered, rows + is_first)
            formats = [fixed if name in style.fixed else None for name in names]
            for row in ([tuple(names)] if is_first else []) + ordered.rows():
                for column, cell in enumerate(row):
                    _write_cell(sheet, rows, column, cell, formats[column], numbers=style.numbers and rows > 0)
                rows += 1

        try:
            yield write
            workbook.close()
        except Exception as error:  # xlsxwriter makes its own of an OSError
            _forget_archive(error)
            raise
        finally:
            sheet._opt_close()  # the temporary file, if writing failed: Windows deletes no open file


def _forget_archive(error: BaseException | None) -> None:
    """Delete the archive that xlsxwriter could not finish: it would complain on its own, when its file is closed."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda _: None
    try:
        while error is not None:
            traceback.clear_frames(error.__traceback__)
            error = error.__context__
    finally:
        sys.unraisablehook = hook


def _check_sheet(frame: pl.DataFrame, rows_before: int) -> None:
    """Raise DataError for what Excel cannot hold, instead of cutting it off."""
    _check_flat(frame)
    if rows_before + frame.height > MOST_ROWS or frame.width > MOST_COLUMNS:
        raise DataError(
            f"found more than {MOST_ROWS:,} rows or {MOST_COLUMNS:,} columns, which no sheet of Excel can hold; write "
            "CSV: -o FILE.csv"
        )
    for column in frame.select(pl.col(pl.String)).iter_columns():
        longest = column.str.len_chars().max()
        if isinstance(longest, int) and longest > MOST_CHARACTERS:
            raise DataError(
                f"found a cell of {longest:,} characters in the column {column.name!r}; a cell of Excel holds "
                f"{MOST_CHARACTERS:,}: write CSV: -o FILE.csv"
            )


def _write_cell(sheet: Any, row: int, column: int, cell: Any, cell_format: Any, *, numbers: bool) -> None:
    match cell:
        case None:
            pass
        case bool():
            sheet.write_boolean(row, column, cell)
        case int() | float() if _is_exact(str(cell)) or (isinstance(cell, float) and math.isfinite(cell)):
            sheet.write_number(row, column, cell, cell_format)
        case str() if numbers and _is_exact(cell):
            sheet.write_number(row, column, float(cell))
        case _:
            sheet.write_string(row, column, str(cell))


def _is_exact(text: str) -> bool:
    return _EXACT_NUMBER.fullmatch(text) is not None and sum(map(str.isdigit, text)) <= _EXACT_DIGITS


WRITERS: dict[str, Writer] = {
    "csv": Writer(
        "comma-separated values, or with the separator of the input",
        partial(_write_rows, DelimitedRows),
        ",",
        rows=DelimitedRows,
    ),
    "tsv": Writer("tab-separated values", partial(_write_rows, DelimitedRows), "\t", rows=DelimitedRows),
    "jsonl": Writer("one JSON object per line", partial(_write_rows, JsonRows), rows=JsonRows, holds_lists=True),
    "parquet": Writer("Parquet", _write_parquet, holds_lists=True),
    "xlsx": Writer("an Excel workbook (`pip install 'tfcr[excel]'`)", _write_xlsx, check=_import_xlsxwriter),
}


def style_like(table: Table, path: str | None, *, json: bool = False) -> tuple[str, Style]:
    """Return the format to write, and a style that follows what was read.

    A file has the format of its ending. Standard output has that of the input if it is text of rows, else CSV.
    Delimited text keeps the separator of the input if both have the same format.

    Parameters
    ----------
    table
        What was read.
    path
        The file to write; None is standard output.
    json
        Whether standard output is to be JSON lines.
    """
    of_input = table.format if table.format in ("csv", "tsv", "jsonl") else "csv"
    name = format_of(path) if path is not None else "jsonl" if json else of_input
    separator = look_up(WRITERS, name, "format to write").separator
    numbers = table.format not in READERS or not READERS[table.format].typed
    if separator is None:
        return name, Style(numbers=numbers)
    dialect = table.dialect or Dialect(separator)
    dialect = dialect if table.format == name else replace(dialect, separator=separator)
    return name, Style(dialect, numbers=numbers)


def format_of(path: str) -> str:
    """Return the format that the ending of a file means."""
    return Path(path).suffix.removeprefix(".")


def check_target(path: str | None) -> None:
    """Refuse a file that cannot be written, before any long work."""
    if path is None:
        return
    if not format_of(path):
        raise DataError(
            f"found {path} as the file to write, which has no ending; expected one of .{', .'.join(WRITERS)}. predict "
            "without -o writes to standard output"
        )
    look_up(WRITERS, format_of(path), "format to write").check()
    if not is_folder(Path(path).parent):
        raise DataError(f"the folder {Path(path).parent} does not exist; make it first: mkdir -p {Path(path).parent}")


@contextmanager
def frame_writer(path: str | None, default: str, style: Style | None = None) -> Iterator[Write]:
    """Give a function that adds a table to a file, or to standard output.

    Parameters
    ----------
    path
        The file, which appears when all is written; its ending is its format. None is standard output.
    default
        The format of standard output.
    style
        How to write it; by default as the format is usually written.
    """
    name = default if path is None else format_of(path)
    writer = look_up(WRITERS, name, "format to write")
    style = complete_style(style or Style(), writer)
    with named_errors(path):
        if path is None:
            if sys.stdout is None:
                raise DataError("standard output is closed; give a file: -o FILE")
            with contextmanager(writer.write_to)(sys.stdout.buffer, style) as write:
                yield lambda frame: write(as_held(frame, writer, style))
            sys.stdout.buffer.flush()
            return
        with written_beside(Path(path)) as file, contextmanager(writer.write_to)(file, style) as write:
            yield lambda frame: write(as_held(frame, writer, style))


def complete_style(style: Style, writer: Writer) -> Style:
    """Return a style with the dialect of a format, if it has none."""
    if writer.separator is not None and style.dialect is None:
        return replace(style, dialect=Dialect(writer.separator))
    return style


@contextmanager
def named_errors(path: str | None) -> Iterator[None]:
    """Make DataError or OSError of what polars raises while it writes."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        if "(os error " in str(error):  # a full disk, which polars calls a damaged file
            raise OSError(f"{path or 'standard output'}: {str(error).splitlines()[0]}") from error
        reason = str(error).splitlines()[0]
        raise DataError(f"cannot write such a table: {reason}; JSON lines hold anything: -o FILE.jsonl") from error


def as_held(frame: pl.DataFrame, writer: Writer, style: Style) -> pl.DataFrame:
    """Return a table with rounded numbers, and with lists as the format holds them: joined if it holds none."""
    for name in style.fixed:
        if name in frame.columns:
            is_list = frame.schema[name] == pl.List
            rounded = _rounded_lists(frame[name]).cast(pl.List(pl.Float64)) if is_list else frame[name].round(DIGITS)
            frame = frame.with_columns(rounded)
    if writer.holds_lists:
        return frame
    return frame.with_columns(_joined(frame[name], style) for name in style.lists)


def _joined(column: pl.Series, style: Style) -> pl.Series:
    """Return lists as text, with the separator between; a row without a list stays empty."""
    cells = _rounded_lists(column) if column.name in style.fixed else column
    return cells.cast(pl.List(pl.String)).list.join(style.label_separator)


def _rounded_lists(column: pl.Series) -> pl.Series:
    return column.cast(pl.List(pl.Decimal(18, DIGITS)))


def write_frame(frame: pl.DataFrame, path: str | None, default: str, style: Style | None = None) -> None:
    """Write one table."""
    with frame_writer(path, default, style) as write:
        write(frame)
