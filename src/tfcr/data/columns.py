"""From a table to labelled texts: which column is what, and which rows can be used."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from tfcr.data.options import ReadOptions
from tfcr.errors import DataError, unknown_name

TEXT_NAMES = ("text", "body", "content", "message", "tweet", "comment", "review", "sentence", "document", "description")
LABEL_NAMES = ("label", "class", "category", "target", "topic", "sentiment", "tag", "y")


@dataclass(frozen=True)
class Corpus:
    """Labelled texts.

    Attributes
    ----------
    texts, labels
        One label for each text.
    groups
        What each text belongs together with, if a column says so.
    rows
        The number of each text's row in the file, the first being 1; several files are counted through.
    name
        Where they come from.
    columns, label_column
        The columns that text and label were taken from.
    notes
        How the files were read and what was left out, a line each.
    """

    texts: list[str]
    labels: list[Any]
    groups: list[Any] | None = None
    rows: list[int] = field(default_factory=list)
    name: str = ""
    columns: tuple[str, ...] = ()
    label_column: str | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class Columns:
    """The columns that hold text, label and group."""

    text: tuple[str, ...]
    label: str | None
    group: str | None


def choose_columns(frame: pl.DataFrame, options: ReadOptions, name: str, *, labelled: bool = True) -> Columns:
    """Return the columns a user named or numbered, else those whose choice is plain."""
    group = _find(frame, options.group, name, "--group") if options.group else None
    label = _find(frame, options.label, name, "--label") if options.label else None
    text = tuple(_find(frame, column, name, "--text") for column in options.text)
    if labelled and label is None:
        label = _plain_label(frame, text, group, name)
    if not text:
        text = (_plain_text(frame, label, group, name),)
    if label in text:
        raise DataError(f"{name}: the column {label!r} is named for both text and label; give two different ones")
    return Columns(text, label if labelled else None, group)


def _find(frame: pl.DataFrame, wanted: str, name: str, option: str) -> str:
    if wanted in frame.columns:
        return wanted
    if wanted.isdigit() and 1 <= int(wanted) <= frame.width:
        return frame.columns[int(wanted) - 1]
    same = [column for column in frame.columns if column.lower() == wanted.lower()]
    if len(same) == 1:
        return same[0]
    raise DataError(f"{name}: {unknown_name(wanted, frame.columns, f'column for {option}')}")


def _plain_label(frame: pl.DataFrame, text: Sequence[str], group: str | None, name: str) -> str:
    others = [column for column in frame.columns if column not in text and column != group]
    named = [column for column in others if column.lower() in LABEL_NAMES]
    if len(named) == 1:
        return named[0]
    if not text and len(others) == 2:  # the shorter of two
        return min(others, key=lambda column: _mean_length(frame, column))
    if len(others) == 1:
        return others[0]
    raise DataError(f"{name}: which column holds the label? Give --label NAME; columns: {', '.join(frame.columns)}")


def _plain_text(frame: pl.DataFrame, label: str | None, group: str | None, name: str) -> str:
    others = [column for column in frame.columns if column not in (label, group)]
    named = [column for column in others if column.lower() in TEXT_NAMES]
    if len(named) == 1:
        return named[0]
    if len(others) == 1:
        return others[0]
    raise DataError(f"{name}: which column holds the text? Give --text NAME; columns: {', '.join(frame.columns)}")


def _mean_length(frame: pl.DataFrame, column: str) -> float:
    lengths = frame[column].cast(pl.String, strict=False).str.len_chars()
    return float(lengths.mean() or 0)  # type: ignore[arg-type]


def joined_text(frame: pl.DataFrame, columns: Sequence[str]) -> list[str | None]:
    """Return the text of each row, several columns joined by a line break; None where there is none."""
    cells = [frame[column].cast(pl.String, strict=False).to_list() for column in columns]
    joined = ("\n".join(cell for cell in row if cell) for row in zip(*cells, strict=True))
    return [text if text.strip() else None for text in joined]


def make_corpus(frame: pl.DataFrame, columns: Columns, name: str, how: Sequence[str]) -> Corpus:
    """Return the labelled texts of a table; rows without text or label are left out, and counted."""
    texts = joined_text(frame, columns.text)
    labels = _labels(frame, columns.label)
    groups = frame[columns.group].to_list() if columns.group else None
    used = [row for row in range(frame.height) if texts[row] is not None and labels[row] is not None]
    corpus = Corpus(
        texts=[text for row in used if (text := texts[row]) is not None],
        labels=typed_labels([labels[row] for row in used]),
        groups=[groups[row] for row in used] if groups else None,
        rows=[row + 1 for row in used],
        name=name,
        columns=columns.text,
        label_column=columns.label,
    )
    if not used:
        raise DataError(f"{name}: no row has both a text and a label; is --text or --label the wrong column?")
    notes = [*how, *_row_notes(texts, labels), *_content_notes(corpus)]
    return replace(corpus, notes=tuple(notes))


def _labels(frame: pl.DataFrame, column: str | None) -> list[Any]:
    values = frame[column].to_list() if column else [None] * frame.height
    return [None if isinstance(value, str) and not value.strip() else value for value in values]


def typed_labels(labels: list[Any]) -> list[Any]:
    """Return labels read as text as whole numbers, if all of them are written as such."""
    if all(isinstance(label, str) and _is_whole(label) for label in labels):
        return [int(label) for label in labels]
    return [label.strip() if isinstance(label, str) else label for label in labels]


def _is_whole(label: str) -> bool:
    try:
        return str(int(label)) == label.strip()
    except ValueError:
        return False


def _row_notes(texts: Sequence[str | None], labels: Sequence[Any]) -> list[str]:
    notes = []
    for what, cells in (("text", texts), ("label", labels)):
        missing = [row + 1 for row, cell in enumerate(cells) if cell is None]
        if missing:
            first = ", ".join(map(str, missing[:3])) + (", …" if len(missing) > 3 else "")
            notes.append(f"{len(missing)} of {len(cells)} rows have no {what} and are left out (row {first})")
    return notes


def _content_notes(corpus: Corpus) -> list[str]:
    notes = []
    repeats = len(corpus) - len(set(zip(corpus.texts, map(str, corpus.labels), strict=True)))
    if repeats:
        notes.append(f"{repeats} rows repeat the text and label of another; they count as often as they stand there")
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in corpus.labels):
        values = Counter(corpus.labels)
        shown = ", ".join(map(str, sorted(values)[:5])) + (", …" if len(values) > 5 else "")
        notes.append(f"the labels are numbers ({shown}); each is taken as a class of its own")
    return notes
