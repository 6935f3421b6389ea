"""Documents read row by row from the files of a dataset, so that it need not be held: what its readers share.

Bytes that are not UTF-8 become the replacement character: one bad byte shall not stop the reading of a gigabyte.
"""

import codecs
import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tfcr.errors import DataError
from tfcr.system.archives import Member, members


class Row(NamedTuple):
    """A document, with None for what is missing."""

    label: str | None
    text: str | None


def text_chunks(member: Member) -> Iterator[str]:
    """Decode a file; what is not UTF-8 becomes the replacement character."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    for chunk in member.chunks():
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def lines(chunks: Iterable[str]) -> Iterator[str]:
    """Yield lines with their ends; only a line break ends one, whatever else str.splitlines takes for one."""
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


def csv_rows(text: Iterable[str], member: Member, separator: str = ",") -> Iterator[list[str]]:
    """Yield the cells of delimited lines, quoted ones too; a file that is none is named."""
    csv.field_size_limit(1 << 30)
    try:
        yield from (cells for cells in csv.reader(text, delimiter=separator) if cells)
    except csv.Error as error:
        raise DataError(f"{member.where} cannot be read as delimited text ({error}); get the file again") from None


def files_of(place: Path, pattern: str, expected: str) -> Iterator[Member]:
    """Yield the files of a place whose names match; one file alone is taken whatever its name."""
    found = False
    for member in members(place, nested=True):
        if member.where == str(place) or re.fullmatch(pattern, member.base, re.IGNORECASE):
            found = True
            yield member
    if not found:
        raise DataError(f"{what_is_at(place)}; expected {expected}")


def what_is_at(place: Path) -> str:
    """Say which files are at a place, for an error."""
    names = [member.name for member in members(place, nested=True)]
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return f"{place} holds {shown or 'nothing'}"
