"""Which columns of a table hold text, label, group and time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import polars as pl

from tfcr.data.options import ReadOptions
from tfcr.errors import DataError, shown_names, unknown_name

TEXT_NAMES = ("text", "body", "content", "message", "tweet", "comment", "review", "sentence", "document", "description")
LABEL_NAMES = ("label", "class", "category", "target", "topic", "sentiment", "tag", "y")
SEVERAL_NAMES = ("labels", "classes", "categories", "targets", "topics", "tags")
"""Names of columns with several labels per row, which count if none of LABEL_NAMES is there."""
ONE_TEXT_PER_LINE = "For a file with one text per line, give --format lines"


@dataclass(frozen=True)
class Columns:
    """The columns that hold text, label, group and time."""

    text: tuple[str, ...]
    label: str | None = None
    group: str | None = None
    time: str | None = None

    def described(self) -> str:
        """Return them in words."""
        parts = [f"text: {' + '.join(self.text)}"]
        parts += [f"label: {self.label}"] if self.label else []
        parts += [f"group: {self.group}"] if self.group else []
        parts += [f"time: {self.time}"] if self.time else []
        return ", ".join(parts)


_ONE_COLUMN = {
    "xlsx": "If the texts are on another sheet, give --sheet NAME or its number",
    "jsonl": "Write one JSON object per text, one per line or in a list",
    "parquet": "Add a column of labels",
}
"""What to do about a table of one column, by the format of its file."""


def choose_columns(
    frame: pl.DataFrame,
    options: ReadOptions,
    name: str,
    *,
    labelled: bool = True,
    format_name: str = "",
    lengths: Mapping[str, float] | None = None,
) -> Columns:
    """Return the columns that the user named or numbered, else the model's, else those detected by name.

    Parameters
    ----------
    frame
        The table.
    options
        What the user says about it.
    name
        What errors call it.
    labelled
        Whether it must have a column of labels.
    format_name
        The format of its file, for hints.
    lengths
        The mean length of each column, if the table is not all of its file.
    """
    if labelled and frame.width == 1:
        hint = _ONE_COLUMN.get(format_name, f"{ONE_TEXT_PER_LINE}, and its labels with --labels-from FILE")
        raise DataError(f"{name}: found one column, {frame.columns[0][:40]!r}; expected texts and labels. {hint}")
    group = _find(frame, options.group, name, "--group") if options.group else None
    time = _find(frame, options.time, name, "--time") if options.time else None
    aside = (group, time)
    label = _find(frame, options.label, name, "--label") if options.label else None
    text = tuple(_find(frame, column, name, "--text") for column in options.text) or _default_text(frame, options, name)
    if labelled and label is None:
        has_default = options.default_label in frame.columns
        label = options.default_label if has_default else _plain_label(frame, text, aside, name, lengths)
    if not text:
        text = (_plain_text(frame, (label, *aside), name),)
    if label in text:
        raise DataError(f"{name}: the column {label!r} is named for both text and label; give two different ones")
    return Columns(text, label if labelled else None, group, time)


def _default_text(frame: pl.DataFrame, options: ReadOptions, name: str) -> tuple[str, ...]:
    missing = [column for column in options.default_text if column not in frame.columns]
    if missing and frame.columns == ["text"]:
        return ("text",)
    if missing:
        hint = f". {ONE_TEXT_PER_LINE}" if frame.width == 1 else ""
        raise DataError(
            f"{name}: the model was trained on the columns {', '.join(options.default_text)}, and there is no "
            f"{missing[0]!r}; give --text NAME; columns: {shown_names(frame.columns)}{hint}"
        )
    return options.default_text


def _find(frame: pl.DataFrame, wanted: str, name: str, option: str) -> str:
    if wanted in frame.columns:
        return wanted
    if wanted.isdecimal() and len(wanted) < 10 and 1 <= int(wanted) <= frame.width:
        return frame.columns[int(wanted) - 1]
    same = [column for column in frame.columns if column.lower() == wanted.lower()]
    if len(same) == 1:
        return same[0]
    raise DataError(f"{name}: {unknown_name(wanted, frame.columns, f'column for {option}')}")


def _plain_label(
    frame: pl.DataFrame,
    text: Sequence[str],
    aside: Sequence[str | None],
    name: str,
    lengths: Mapping[str, float] | None = None,
) -> str:
    others = [column for column in frame.columns if column not in (*text, *aside)]
    for names in (LABEL_NAMES, SEVERAL_NAMES):
        named = [column for column in others if column.lower() in names]
        if len(named) == 1:
            return named[0]
        if named:
            break
    if not text and len(others) == 2:  # the shorter of two
        return min(others, key=lambda column: mean_length(frame, column) if lengths is None else lengths[column])
    if len(others) == 1:
        return others[0]
    raise DataError(f"{name}: which column holds the label? Give --label NAME; columns: {shown_names(frame.columns)}")


def _plain_text(frame: pl.DataFrame, aside: Sequence[str | None], name: str) -> str:
    others = [column for column in frame.columns if column not in aside]
    named = [column for column in others if column.lower() in TEXT_NAMES]
    if len(named) == 1:
        return named[0]
    if len(others) == 1:
        return others[0]
    raise DataError(f"{name}: which column holds the text? Give --text NAME; columns: {shown_names(frame.columns)}")


def mean_length(frame: pl.DataFrame, column: str) -> float:
    """Return the mean number of characters of the cells that are not empty."""
    if frame.schema[column].is_nested():  # which is neither; what the column is used for says so
        return 0.0
    lengths = frame[column].cast(pl.String, strict=False).str.len_chars()
    return float(lengths.mean() or 0)  # type: ignore[arg-type]


def joined_text(frame: pl.DataFrame, columns: Sequence[str]) -> list[str | None]:
    """Return the text of each row, several columns joined by a line break; None where there is none."""
    cells = [_text_cells(frame[column]) for column in columns]
    if len(cells) == 1:  # the usual case
        return [text if text and text.strip() else None for text in cells[0]]
    joined = ("\n".join(cell for cell in row if cell) for row in zip(*cells, strict=True))
    return [text if text.strip() else None for text in joined]


def rows_with_text(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    r"""Return for each row whether `joined_text` finds a text, by polars alone.

    >>> rows_with_text(pl.DataFrame({"a": ["x", "\u3000\x1c", None]}), ["a"]).to_list()
    [True, False, False]
    """
    found = [_as_text(frame[column]).str.contains(_NO_BLANK).fill_null(value=False) for column in columns]
    return reduce(or_, found)


_NO_BLANK = r"[^\s-]"
"""A character that `str.strip` keeps; for Rust, the separators of ASCII are no blanks."""


def _text_cells(column: pl.Series) -> list[str | None]:
    cells: list[str | None] = _as_text(column).to_list()
    return cells


def _as_text(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration):
        raise DataError(
            f"the column {column.name!r} holds {str(dtype).lower()} instead of text; expected text: give another "
            "column with --text NAME"
        )
    return column.cast(pl.String, strict=False)


def column_names(frame: pl.DataFrame, *, header: bool) -> list[str]:
    """Return the names that the first row gives the columns, or their numbers; the cells are text."""
    numbers = column_numbers(frame.width)
    if not header:
        return numbers
    names: dict[str, None] = {}  # in order, and quick to look up: a file may have 100,000 columns
    for number, cell in zip(numbers, frame.row(0), strict=True):
        name = (cell or "").strip() or number
        while name in names:  # twice for a, a (3), a
            name = f"{name} ({number})"
        names[name] = None
    return list(names)


def column_numbers(width: int) -> list[str]:
    """Return "1", "2" and so on, the names of columns without a header."""
    return [str(number + 1) for number in range(width)]
