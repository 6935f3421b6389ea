"""What an uploaded file holds: columns, first rows, and a guess of the columns with texts and labels."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from tfcr.data.columns import choose_columns
from tfcr.data.options import ReadOptions, Table
from tfcr.data.readers import table_pieces
from tfcr.errors import DataError
from tfcr.serving.files.folder import FORMATS, Upload
from tfcr.system.limits import in_words

SHOWN_ROWS, SHOWN_COLUMNS, SHOWN_CHARACTERS = 8, 50, 200
"""What a preview holds."""
LOOKED_AT = 200
"""Rows by which columns are guessed."""
MOST_COLUMNS = 16_384
"""As many as a workbook may have; a table of more is one that was read in a wrong way."""

UNPACKED = 10
"""How many times the largest upload (--max-upload) a file may unpack to."""

READING: dict[str, tuple[str, ...]] = {
    "format": FORMATS,
    "separator": ("comma", "semicolon", "tab", "bar"),
    "quoting": ("quotes", "none"),
    "encoding": (),
    "header": ("yes", "no"),
    "sheet": (),
}
"""What a person may say about how a file is read, and the answers to choose from; otherwise it is detected."""

Look = dict[str, Any]


def options_of(said: Mapping[str, str], text: Sequence[str] = ()) -> ReadOptions:
    """Return the options of a reader from what a person said."""
    given = {name: value for name, value in said.items() if value}
    return ReadOptions(
        text=tuple(text),
        format=given.get("format"),
        encoding=given.get("encoding"),
        separator=given.get("separator"),
        quoting={"quotes": True, "none": False}.get(given.get("quoting", "")),
        header=given.get("header") != "no",
        sheet=given.get("sheet"),
    )


def tables(upload: Upload, said: Mapping[str, str]) -> Iterator[Table]:
    """Yield the table of an upload, in pieces if it is large; errors call it by the person's name."""
    return table_pieces(upload.data, options_of(said), upload.name)


def look(
    upload: Upload,
    said: Mapping[str, str],
    trained_on: Sequence[str],
    classes: Collection[str],
    tell: Callable[[int], object],
    max_upload: int,
) -> Look:
    """Read a whole file, and return what a person needs to know to have it classified.

    Parameters
    ----------
    upload, said
        The file, and what the person said of it.
    trained_on
        Columns that a model took its texts from.
    classes
        Of all models: a column that holds only these may be one of labels.
    tell
        Called with the number of rows so far.
    max_upload
        Bytes of the largest upload.

    Raises
    ------
    DataError
        If it cannot be read, unpacks to too much, or no column holds text.
    """
    found: Look | None = None
    rows, unpacked, most = 0, 0, UNPACKED * max_upload
    for table in tables(upload, said):
        unpacked += size_as_text(table.frame)
        if unpacked > most:
            raise DataError(
                f"{upload.name} unpacks to more than {in_words(most)}; expected at most {UNPACKED} times as much as a "
                "file may have: split it, or start the server with a larger --max-upload"
            )
        if found is None:
            _check_width(upload, table)
            found = _beginning(table, trained_on, classes)
        rows += table.frame.height
        tell(rows)
    if found is None:
        raise DataError(f"{upload.name} holds no rows; expected texts")
    if not found["texts"]:
        raise DataError(f"{upload.name}: no column holds text; expected one with words. {_shown(found['columns'])}")
    return {**found, "rows": rows}


def size_as_text(frame: pl.DataFrame) -> int:
    """Return about how many bytes a table has that is written with separators.

    >>> size_as_text(pl.DataFrame({"text": ["ab", None], "n": [1, 2]}))
    22
    """
    texts = frame.select(pl.col(pl.String).str.len_bytes().cast(pl.Int64).sum())
    others = frame.select(pl.exclude(pl.String)).estimated_size()
    return frame.height * frame.width + int(others) + sum(size or 0 for row in texts.rows() for size in row)


def _check_width(upload: Upload, table: Table) -> None:
    width = table.frame.width
    if width > MOST_COLUMNS:
        raise DataError(f"{upload.name} has {width:,} columns; expected at most {MOST_COLUMNS:,}, or another separator")


def _shown(columns: Sequence[str]) -> str:
    return f"Columns: {', '.join(columns[:20])}" + (", …" if len(columns) > 20 else "")


def _beginning(table: Table, trained_on: Sequence[str], classes: Collection[str]) -> Look:
    frame = table.frame.head(LOOKED_AT)
    cells = {column.name: _as_text(column) for column in frame.iter_columns()}
    texts = [name for name, column in cells.items() if column is not None and _has_words(column)]
    text = _guess_text(frame, texts, trained_on)
    shown = list(cells)[:SHOWN_COLUMNS]
    preview = [
        [_cut(None if (column := cells[name]) is None else column[row]) for name in shown] for row in _first(frame)
    ]
    return {
        "columns": list(cells),
        "shown": len(shown),
        "preview": preview,
        "how": table.how,
        "format": table.format,
        "texts": texts,
        "text": text,
        "label": _guess_label(cells, text, classes),
    }


def _first(frame: pl.DataFrame) -> range:
    return range(min(SHOWN_ROWS, frame.height))


def _as_text(column: pl.Series) -> list[str | None] | None:
    """Return cells as text; lists and objects as they look in Python; None if there is no way to show them."""
    if column.dtype.is_nested():
        return [None if cell is None else str(cell) for cell in column.to_list()]
    if column.dtype in (pl.Binary, pl.Object):
        return None
    found: list[str | None] = column.cast(pl.String, strict=False).to_list()
    return found


def _cut(cell: str | None) -> str | None:
    return cell if cell is None or len(cell) <= SHOWN_CHARACTERS else cell[:SHOWN_CHARACTERS] + "…"


def _has_words(cells: Sequence[str | None]) -> bool:
    return any(cell is not None and any(map(str.isalpha, cell)) for cell in cells)


def _guess_text(frame: pl.DataFrame, texts: Sequence[str], trained_on: Sequence[str]) -> str | None:
    """Return the column that a model was trained on, or one that is called so, or else the one with the longest cells.

    Only columns of `texts`, which hold words, count.
    """
    if len(trained_on) == 1 and trained_on[0] in texts:
        return trained_on[0]
    schema = frame.schema  # once: it is made anew each time, from all columns
    flat = [name for name in texts if not schema[name].is_nested()]
    if not flat:
        return texts[0] if texts else None
    chosen = frame.select(flat)
    try:
        return choose_columns(chosen, ReadOptions(), "", labelled=False).text[0]
    except DataError:
        lengths = chosen.select(pl.all().cast(pl.String, strict=False).str.len_chars().mean()).row(0)
        return flat[max(range(len(flat)), key=lambda at: lengths[at] or 0)]


def _guess_label(
    cells: Mapping[str, Sequence[str | None] | None], text: str | None, classes: Collection[str]
) -> str | None:
    """Return the only other column that holds nothing but classes of a model."""
    known = set(classes)
    found = [
        name
        for name, column in cells.items()
        if name != text
        and column is not None
        and (given := {cell.strip() for cell in column if cell})
        and given <= known
    ]
    return found[0] if len(found) == 1 else None
