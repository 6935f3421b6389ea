"""Datasets that are published as tables: their columns by name, and the classes that labels stand for.

Label and text are in one file (`Delimited`), or in two that are joined by an id (`Joined`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tfcr.data.datasets.rows import Row, csv_rows, files_of, text_chunks, what_is_at
from tfcr.data.delimited import detect_separator
from tfcr.data.encoding import HEAD_BYTES, bare_lines, lines
from tfcr.errors import DataError
from tfcr.system.archives import Member, members

STARS = {
    form: f"{number} stars" if number > 1 else "1 star"
    for number in range(1, 6)
    for form in (f"{number}", f"{number}.0", f"{number}0")  # TripAdvisor's bubbles go from 10 to 50
}
POLARITIES = {name: name for name in ("positive", "negative", "neutral")}
SENTIMENTS = {"positive": "positive", "pos": "positive", "negative": "negative", "neg": "negative"}
ABUSE = {name: name for name in ("abusive", "hateful", "spam", "normal")}
DIRECTORY = {
    name.casefold(): name
    for name in (
        *("Adult", "Arts", "Business", "Computers", "Games", "Health", "Home", "Kids and Teens", "News", "Recreation"),
        *("Reference", "Regional", "Science", "Shopping", "Society", "Sports", "World"),
    )
}


# delimited files ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column: the names that a header may give it, and its number without a header, from the end if negative."""

    names: tuple[str, ...]
    number: int

    def place_in(self, header: Sequence[str]) -> int | None:
        """Return the position of the column by its name, from 0; None if the header has none of its names."""
        cells = [cell.strip().casefold() for cell in header]
        return next((cells.index(name) for name in self.names if name in cells), None)

    def place(self) -> int:
        """Return the position of the column by its number, from 0."""
        return self.number - 1 if self.number > 0 else self.number


TEXT = Column(("text", "tweet_text", "tweet", "review", "review_text", "reviewtext", "content", "body", "message"), -1)


def class_of(cell: str, classes: Mapping[str, str]) -> str | None:
    """Return the class that a cell names, in any of the spellings in use; None if it names none.

    >>> class_of("5.0", STARS), class_of("50", STARS), class_of("Top/Kids_and_Teens/News", DIRECTORY)
    ('5 stars', '5 stars', 'Kids and Teens')
    """
    if cell in classes:  # nearly always, and there may be millions
        return classes[cell]
    return classes.get(cell.strip().removeprefix("Top/").split("/")[0].replace("_", " ").casefold())


@dataclass(frozen=True)
class Delimited:
    """Delimited files: a pattern of their names, their columns, and the classes that labels stand for."""

    files: str
    label: Column
    classes: Mapping[str, str]
    text: Column = TEXT

    def rows(self, place: Path) -> Iterator[Row]:
        """Read files with or without a header; a label that is none of the classes is None."""
        for member in files_of(place, self.files, f"a delimited file of texts and the labels {self._names()}"):
            cells = _csv_cells(member)
            first = next(cells, [])
            label, text = self.label.place_in(first), self.text.place_in(first)
            if label is None or text is None:  # no header: data already
                cells, label, text = chain([first], cells), self._label_place(first), self.text.place()
            for row in cells:
                yield Row(class_of(_cell(row, label) or "", self.classes), _cell(row, text))

    def _names(self) -> str:
        return ", ".join(dict.fromkeys(self.classes.values()))

    def _label_place(self, first: Sequence[str]) -> int:
        """Return the one column whose cell is a class; if there are several or none, the default one."""
        fitting = [at for at, cell in enumerate(first) if class_of(cell, self.classes)]
        return fitting[0] if len(fitting) == 1 else self.label.place()


def _csv_cells(member: Member) -> Iterator[list[str]]:
    chunks = text_chunks(member)
    sample = next(chunks, "")
    return csv_rows(lines(chain([sample], chunks)), member, detect_separator(sample[:HEAD_BYTES]))


def _cell(cells: Sequence[str], at: int) -> str | None:
    return cells[at] if -len(cells) <= at < len(cells) and cells[at] else None


# labels in one file, texts in another ------------------------------------------------------------------------------

KEY = Column(("tweet_id", "tweetid", "id", "id_str"), 1)


@dataclass(frozen=True)
class Joined:
    """Tab-separated files of ids with labels, and others of the same ids with texts.

    The header says which is which; without one, files whose first row has a class in the label's column hold labels.
    """

    label: Column
    classes: Mapping[str, str]
    text: Column = TEXT

    def rows(self, place: Path) -> Iterator[Row]:
        """Read and join them; of an id that occurs twice, the first label and the first text count."""
        kinds = {member.where: self._kind(member) for member in members(place, nested=True)}
        missing = [kind for kind in ("labels", "texts") if kind not in kinds.values()]
        if missing:
            raise DataError(
                f"{what_is_at(place)}, and none has {' or '.join(missing)}; expected a tab-separated file of ids and "
                "labels, and one of the same ids and texts"
            )
        labels: dict[str, str | None] = {}
        for key, cell in self._all_cells(place, kinds, "labels", self.label):
            labels.setdefault(key, class_of(cell, self.classes))
        for key, cell in self._all_cells(place, kinds, "texts", self.text):
            if key in labels:
                yield Row(labels.pop(key), cell)
        yield from (Row(label, None) for label in labels.values())

    def _kind(self, member: Member) -> str:
        first = next(_tab_cells(member), [])
        if KEY.place_in(first) is not None:
            named = {"labels": self.label.place_in(first), "texts": self.text.place_in(first)}
            return next((kind for kind, at in named.items() if at is not None), "other")
        if not (_cell(first, KEY.place()) or "").isdigit():
            return "other"
        return "labels" if class_of(_cell(first, self.label.place()) or "", self.classes) else "texts"

    def _all_cells(self, place: Path, kinds: Mapping[str, str], kind: str, column: Column) -> Iterator[tuple[str, str]]:
        for member in members(place, nested=True):
            if kinds[member.where] == kind:
                yield from _keyed_cells(member, column)


def _keyed_cells(member: Member, column: Column) -> Iterator[tuple[str, str]]:
    rows = _tab_cells(member)
    header = next(rows, [])
    key, at = KEY.place_in(header), column.place_in(header)
    if key is None or at is None:
        rows, key, at = chain([header], rows), KEY.place(), column.place()
    for cells in rows:
        number, content = _cell(cells, key), _cell(cells, at)
        if number and content:
            yield number, content


def _tab_cells(member: Member) -> Iterator[list[str]]:
    """Yield cells without the quotes around them; no CSV rules, for texts have stray quotes and never a tab."""
    for line in bare_lines(text_chunks(member)):
        if line.strip():
            yield [_unquoted(cell) for cell in line.split("\t")]


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell
