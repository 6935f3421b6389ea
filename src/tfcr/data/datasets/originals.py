"""The formats that the paper's datasets are published in, read row by row.

A reader takes the place of the files (one file, a folder, or an archive of them) and yields a `Row` per document.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from tfcr.data.datasets.delimited import STARS, class_of
from tfcr.data.datasets.rows import Row, csv_rows, files_of, mended, text_chunks, text_lines
from tfcr.data.encoding import bare_lines
from tfcr.errors import DataError, TfcrError
from tfcr.system.archives import Member, members
from tfcr.system.limits import parse_json

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
    for member in files_of(place, r"(train|test)\.csv", "train.csv or test.csv"):
        form = _zhang_form(member)
        for number, *texts in form.cells:
            text = "\n".join(cell for cell in texts if cell)
            label = _zhang_label(number, names, form.first, member)
            yield Row(label, text.replace("\\n", "\n") if escaped else text)


def _class_names(place: Path) -> list[str]:
    for member in members(place, nested=True):
        if member.base == "classes.txt":
            return [line.strip() for line in text_lines(member) if line.strip()]
    return []


class _Form(NamedTuple):
    """The cells of each row, and the number of the first class."""

    cells: Iterator[list[str]]
    first: int


def _zhang_form(member: Member) -> _Form:
    """Distinguish the original, CSV with classes from 1, from a common copy with unquoted texts and classes from 0."""
    rest = text_lines(member)
    head = next(rest, "")
    everything = chain([head], rest)
    if ',"' in head:
        return _Form(csv_rows(everything, member), 1)
    return _Form((line.split(",", 1) for line in bare_lines(everything) if line.strip()), 0)


def _zhang_label(number: str, names: Sequence[str], first: int, member: Member) -> str:
    digits = number.strip()
    last = first + (len(names) or 99) - 1
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10 and first <= int(digits) <= last):
        expected = f"{first} to {last}" + (", a line of classes.txt" if names else "")
        raise DataError(f"{member.where}: found the class {number[:40]!r}; expected {expected}")
    return names[int(digits) - first] if names else f"class {digits}"


# McAuley's reviews: JSON lines -------------------------------------------------------------------------------------


def amazon_rows(place: Path) -> Iterator[Row]:
    """Read one JSON object per line, with ``reviewText`` and ``overall``."""
    for member in files_of(place, r"(?!meta_).*\.json(\.gz)?", "a file such as reviews_Books.json.gz"):
        for number, line in enumerate(text_lines(member), start=1):
            if line.strip():
                yield _review(line, f"{member.where}, line {number}")


def _review(line: str, where: str) -> Row:
    try:
        record = parse_json(line)
        return Row(class_of(str(record["overall"]), STARS), mended(str(record.get("reviewText") or "")))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        shown = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise DataError(f"{where}: {shown}; expected a JSON object with reviewText and overall") from None


# AG's corpus: XML --------------------------------------------------------------------------------------------------


def news_rows(place: Path) -> Iterator[Row]:
    """Read news articles: title and description make the text, category the label."""
    for member in files_of(place, r".*\.xml(\.\w+)?", "newsspace200.xml.bz"):
        for article in _articles(member):
            text = "\n".join(part for name in ("title", "description") if (part := article.get(name)))
            yield Row(article.get("category") or None, text)


MOST_ARTICLE = 1 << 24
"""An article of more characters, or of more fields, is refused."""
MOST_FIELDS = 1000
MOST_DEPTH = 100


def _articles(member: Member) -> Iterator[dict[str, str]]:
    """Yield the fields of each article: all are siblings, so that a repeated field begins the next article."""
    done: list[dict[str, list[str]]] = [{}]
    opened: list[str] = []
    size = 0

    def start(name: str, attributes: Mapping[str, str]) -> None:
        nonlocal size
        opened.append(name)
        if name in done[-1]:
            done.append({})
            size = 0
        if len(opened) > MOST_DEPTH or len(done[-1]) > MOST_FIELDS:
            raise _no_article(member)

    def text(data: str) -> None:
        nonlocal size
        size += len(data)
        if len(opened) > 1:
            done[-1].setdefault(opened[-1], []).append(data)  # joined once: adding to a string is quadratic
            if size > MOST_ARTICLE:
                raise _no_article(member)

    def end(name: str) -> None:
        opened.pop()
        if opened:
            done[-1].setdefault(name, [])

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.CharacterDataHandler, parser.EndElementHandler = start, text, end
    parser.EntityDeclHandler = _refuse_entities(member)
    for _ in _parse(parser, member):
        yield from map(_joined, done[:-1])
        del done[:-1]
    yield from map(_joined, done)


def _parse(parser: expat.XMLParserType, member: Member) -> Iterator[None]:
    """Parse a file chunk by chunk; what is not XML, or not in a known encoding, is refused."""
    fed = 0
    try:
        for chunk in member.chunks():
            parser.Parse(chunk)
            fed += len(chunk)
            if fed - parser.CurrentByteIndex > MOST_ARTICLE:  # a tag or comment without end is scanned again each time
                raise _no_article(member)
            yield
        parser.Parse(b"", True)
    except TfcrError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:
        raise DataError(f"{member.where} is not valid XML, or is truncated ({error}); get the file again") from None


def _joined(article: Mapping[str, Sequence[str]]) -> dict[str, str]:
    return {name: "".join(parts) for name, parts in article.items()}


def _no_article(member: Member) -> DataError:
    return DataError(
        f"{member.where} holds more than {MOST_ARTICLE >> 20} million characters, {MOST_FIELDS} fields or {MOST_DEPTH} "
        "nested elements in one place; expected news articles: get the file again"
    )


def _refuse_entities(member: Member) -> Callable[..., None]:
    """Return a handler that refuses entities: nested ones grow a few lines to gigabytes."""

    def refuse(*declared: object) -> None:
        raise DataError(
            f"{member.where} declares the entity {declared[0]!r}; expected plain XML: it is not to be trusted"
        )

    return refuse


# SemEval: id, label, text; one file per year -------------------------------------------------------------------------

_SEMEVAL_FILE = r"twitter-.*A\.txt|SemEval2017-task4-test\.subtask-A.*\.txt"


def semeval_rows(place: Path) -> Iterator[Row]:
    """Read all years in the order of their names; of an id that occurs twice, the first label counts."""
    files = files_of(place, _SEMEVAL_FILE, "files such as twitter-2013train-A.txt")
    years = [(member.base, list(_tweets(member))) for member in files]
    rows: dict[str, Row] = {}
    for _, tweets in sorted(years, key=lambda year: year[0]):
        for number, row in tweets:
            rows.setdefault(number, row)
    yield from rows.values()


def _tweets(member: Member) -> Iterator[tuple[str, Row]]:
    for line in bare_lines(text_chunks(member)):
        cells = line.split("\t")
        if len(cells) >= 3 and cells[1] and cells[2] and cells[2] != "Not Available":
            yield cells[0], Row(cells[1], _unescape(cells[2]))


def _unescape(text: str) -> str:
    r"""Turn the literal \u2019 of some files into the character."""
    return mended(re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match.group(1), 16)), text))
