"""The formats that the paper's datasets come in from their sources, read row by row.

A reader takes the place of the files (one file, a folder, or an archive of them) and yields a label and a text for each
document, None for what is missing; so tens of millions of reviews can be gone through without holding them. Bytes that
are not UTF-8 become the replacement character: one bad byte shall not stop the reading of a gigabyte.
"""

import codecs
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from tfcr.archives import Member, members
from tfcr.corpus.delimited import separator_of
from tfcr.errors import DataError


class Row(NamedTuple):
    """A document, with None for what is missing."""

    label: str | None
    text: str | None


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


# lines -------------------------------------------------------------------------------------------------------------


def _text_chunks(member: Member) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    for chunk in member.chunks():
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _lines(chunks: Iterable[str]) -> Iterator[str]:
    """Yield lines with their ends; only a line break ends one."""
    rest = ""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split("\n")
        yield from (line + "\n" for line in whole)
    if rest:
        yield rest


def mended(text: str) -> str:
    r"""Join the halves that escapes write some characters in; replace a half alone, which no text can hold.

    >>> mended("\ud83d\ude00 \ud83d.") == "\U0001f600 \ufffd."
    True
    """
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _csv_rows(lines: Iterable[str], member: Member, separator: str = ",") -> Iterator[list[str]]:
    csv.field_size_limit(1 << 30)
    try:
        yield from (cells for cells in csv.reader(lines, delimiter=separator) if cells)
    except csv.Error as error:
        raise DataError(f"{member.where} cannot be read as delimited text ({error}); get the file again") from None


def _files(place: Path, pattern: str, expected: str) -> Iterator[Member]:
    """Yield the files of a place whose names match; one file alone is taken whatever its name."""
    found = False
    for member in members(place, nested=True):
        if member.where == str(place) or re.fullmatch(pattern, member.base, re.IGNORECASE):
            found = True
            yield member
    if not found:
        raise DataError(f"{_found(place)}; expected {expected}")


def _found(place: Path) -> str:
    """Say which files are at a place, for an error."""
    names = [member.name for member in members(place, nested=True)]
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return f"{place} holds {shown or 'nothing'}"


# Zhang's sets: train.csv and test.csv of class number and texts ----------------------------------------------------


def zhang_rows(place: Path, *, escaped: bool = True) -> Iterator[Row]:
    r"""Read train.csv and test.csv, columns class number and one or more of text, and classes.txt if it is there.

    Parameters
    ----------
    place
        A folder or an archive.
    escaped
        Whether ``\n`` stands for a line break, as the sets' own description has it.
    """
    names = _class_names(place)
    for member in _files(place, r"(train|test)\.csv", "train.csv or test.csv"):
        form = _zhang_form(member)
        for number, *texts in form.cells:
            text = "\n".join(cell for cell in texts if cell)
            label = _zhang_label(number, names, form.first, member)
            yield Row(label, text.replace("\\n", "\n") if escaped else text)


def _class_names(place: Path) -> list[str]:
    for member in members(place, nested=True):
        if member.base == "classes.txt":
            return [line.strip() for line in _lines(_text_chunks(member)) if line.strip()]
    return []


class _Form(NamedTuple):
    """The cells of each row, and the number of the first class."""

    cells: Iterator[list[str]]
    first: int


def _zhang_form(member: Member) -> _Form:
    """Tell the original, CSV with classes from 1, from a copy in use with bare texts and classes from 0."""
    lines = _lines(_text_chunks(member))
    head = next(lines, "")
    everything = chain([head], lines)
    if ',"' in head:
        return _Form(_csv_rows(everything, member), 1)
    return _Form((line.rstrip("\r\n").split(",", 1) for line in everything if line.strip()), 0)


def _zhang_label(number: str, names: Sequence[str], first: int, member: Member) -> str:
    digits = number.strip()
    last = first + (len(names) or 99) - 1
    if not (digits.isascii() and digits.isdigit() and first <= int(digits) <= last):
        expected = f"{first} to {last}" + (", a line of classes.txt" if names else "")
        raise DataError(f"{member.where}: found the class {number[:40]!r}; expected {expected}")
    return names[int(digits) - first] if names else f"class {digits}"


# McAuley's reviews: JSON lines -------------------------------------------------------------------------------------


def amazon_rows(place: Path) -> Iterator[Row]:
    """Read JSON objects, one a line, with ``reviewText`` and ``overall``."""
    for member in _files(place, r"(?!meta_).*\.json(\.gz)?", "a file such as reviews_Books.json.gz"):
        for number, line in enumerate(_lines(_text_chunks(member)), start=1):
            if line.strip():
                yield _review(line, f"{member.where}, line {number}")


def _review(line: str, where: str) -> Row:
    try:
        record = json.loads(line)
        return Row(class_of(str(record["overall"]), STARS), mended(str(record.get("reviewText") or "")))
    except (ValueError, TypeError, KeyError) as error:
        shown = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{where}: {shown}; expected a JSON object with reviewText and overall") from None


# AG's corpus: XML --------------------------------------------------------------------------------------------------


def news_rows(place: Path) -> Iterator[Row]:
    """Read news articles: title and description make the text, category the label."""
    for member in _files(place, r".*\.xml(\.\w+)?", "newsspace200.xml.bz"):
        for article in _articles(member):
            text = "\n".join(part for name in ("title", "description") if (part := article.get(name)))
            yield Row(article.get("category") or None, text)


def _articles(member: Member) -> Iterator[dict[str, str]]:
    """Yield the fields of each article: all are siblings, so that one that comes again begins another article."""
    done: list[dict[str, str]] = [{}]
    opened: list[str] = []

    def start(name: str, attributes: Mapping[str, str]) -> None:
        opened.append(name)
        if name in done[-1]:
            done.append({})

    def text(data: str) -> None:
        if len(opened) > 1:
            done[-1][opened[-1]] = done[-1].get(opened[-1], "") + data

    def end(name: str) -> None:
        opened.pop()
        if opened:
            done[-1].setdefault(name, "")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.CharacterDataHandler, parser.EndElementHandler = start, text, end
    parser.EntityDeclHandler = _refuse_entities(member)
    try:
        for chunk in member.chunks():
            parser.Parse(chunk)
            yield from done[:-1]
            del done[:-1]
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise DataError(f"{member.where} is no XML, or truncated ({error}); get the file again") from None
    yield from done


def _refuse_entities(member: Member) -> Callable[..., None]:
    """Return a handler for declarations that a few lines can grow to gigabytes by."""

    def refuse(*declared: object) -> None:
        raise DataError(
            f"{member.where} declares the entity {declared[0]!r}; expected plain XML: it is not to be trusted"
        )

    return refuse


# SemEval: id, label, text, a file a year ---------------------------------------------------------------------------

_SEMEVAL_FILE = r"twitter-.*A\.txt|SemEval2017-task4-test\.subtask-A.*\.txt"


def semeval_rows(place: Path) -> Iterator[Row]:
    """Read all years in the order of their names; of an id that comes twice, the first label counts."""
    files = _files(place, _SEMEVAL_FILE, "files such as twitter-2013train-A.txt")
    years = [(member.base, list(_tweets(member))) for member in files]
    rows: dict[str, Row] = {}
    for _, tweets in sorted(years, key=lambda year: year[0]):
        for number, row in tweets:
            rows.setdefault(number, row)
    yield from rows.values()


def _tweets(member: Member) -> Iterator[tuple[str, Row]]:
    for line in _lines(_text_chunks(member)):
        cells = line.rstrip("\r\n").split("\t")
        if len(cells) >= 3 and cells[1] and cells[2] and cells[2] != "Not Available":
            yield cells[0], Row(cells[1], _unescape(cells[2]))


def _unescape(text: str) -> str:
    r"""Turn the literal \u2019 of some files into the character."""
    return mended(re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match.group(1), 16)), text))


# delimited files ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column: the names that a header may give it, and its number where there is none, from the end if negative."""

    names: tuple[str, ...]
    number: int

    def place_in(self, header: Sequence[str]) -> int | None:
        """Return where the column stands by its name, from 0; None if no cell is one."""
        cells = [cell.strip().casefold() for cell in header]
        return next((cells.index(name) for name in self.names if name in cells), None)

    def place(self) -> int:
        """Return where the column stands by its number, from 0."""
        return self.number - 1 if self.number > 0 else self.number


TEXT = Column(("text", "tweet_text", "tweet", "review", "review_text", "reviewtext", "content", "body", "message"), -1)


def class_of(cell: str, classes: Mapping[str, str]) -> str | None:
    """Return the class that a cell names in one of the ways in use; None if it names none.

    >>> class_of("5.0", STARS), class_of("50", STARS), class_of("Top/Kids_and_Teens/News", DIRECTORY)
    ('5 stars', '5 stars', 'Kids and Teens')
    """
    if cell in classes:  # nearly always, and there may be millions
        return classes[cell]
    return classes.get(cell.strip().removeprefix("Top/").split("/")[0].replace("_", " ").casefold())


@dataclass(frozen=True)
class Delimited:
    """Delimited files: which they are in a folder, their columns, and the classes that labels stand for."""

    files: str
    label: Column
    classes: Mapping[str, str]
    text: Column = TEXT

    def rows(self, place: Path) -> Iterator[Row]:
        """Read them, with or without a header; a row whose label is none of the classes has none."""
        for member in _files(place, self.files, f"a delimited file of texts and the labels {self._names()}"):
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
        """Return the one column whose cell is a class; if there are several or none, the usual one."""
        fitting = [at for at, cell in enumerate(first) if class_of(cell, self.classes)]
        return fitting[0] if len(fitting) == 1 else self.label.place()


def _csv_cells(member: Member) -> Iterator[list[str]]:
    chunks = _text_chunks(member)
    sample = next(chunks, "")
    return _csv_rows(_lines(chain([sample], chunks)), member, separator_of(sample[: 1 << 16]))


def _cell(cells: Sequence[str], at: int) -> str | None:
    return cells[at] if -len(cells) <= at < len(cells) and cells[at] else None


# labels in one file, texts in another ------------------------------------------------------------------------------

KEY = Column(("tweet_id", "tweetid", "id", "id_str"), 1)


@dataclass(frozen=True)
class Joined:
    """Tab-separated files of ids with labels, and others of the same ids with texts.

    Which is which is told from the header, else from whether the first row's cell at the label's number is a class.
    """

    label: Column
    classes: Mapping[str, str]
    text: Column = TEXT

    def rows(self, place: Path) -> Iterator[Row]:
        """Read and join them; of an id that comes twice, the first label and the first text count."""
        kinds = {member.where: self._kind(member) for member in members(place, nested=True)}
        missing = [kind for kind in ("labels", "texts") if kind not in kinds.values()]
        if missing:
            raise DataError(
                f"{_found(place)}, and none has {' or '.join(missing)}; expected a tab-separated file of ids and "
                "labels, and one of the same ids and texts"
            )
        labels: dict[str, str | None] = {}
        for key, cell in self._all_pairs(place, kinds, "labels", self.label):
            labels.setdefault(key, class_of(cell, self.classes))
        for key, cell in self._all_pairs(place, kinds, "texts", self.text):
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

    def _all_pairs(self, place: Path, kinds: Mapping[str, str], kind: str, column: Column) -> Iterator[tuple[str, str]]:
        for member in members(place, nested=True):
            if kinds[member.where] == kind:
                yield from _pairs(member, column)


def _pairs(member: Member, column: Column) -> Iterator[tuple[str, str]]:
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
    """Yield cells as they stand, without the quotes around them: texts hold stray quotes, and never a tab."""
    for line in _lines(_text_chunks(member)):
        if line.strip():
            yield [_unquoted(cell) for cell in line.rstrip("\r\n").split("\t")]


def _unquoted(cell: str) -> str:
    if len(cell) > 1 and cell[0] == cell[-1] == '"':
        return cell[1:-1].replace('""', '"')
    return cell
