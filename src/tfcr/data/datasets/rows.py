"""What the readers of datasets share: rows, read one by one so that a dataset need not fit into memory.

The sources publish UTF-8, so nothing is detected. Bytes that are not UTF-8 become the replacement character: one bad
byte shall not stop the reading of a gigabyte.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tfcr.data.delimited import csv_cells
from tfcr.data.encoding import decode_chunks, lines
from tfcr.errors import DataError
from tfcr.system.archives import Member, members


class Row(NamedTuple):
    """A document; what is missing is None."""

    label: str | None
    text: str | None


def text_lines(member: Member) -> Iterator[str]:
    """Yield the lines of a file with their ends."""
    return lines(text_chunks(member))


def text_chunks(member: Member) -> Iterator[str]:
    """Decode a file; what is not UTF-8 becomes the replacement character."""
    return decode_chunks(member.chunks(), "utf-8-sig", member.where, errors="replace")


def mended(text: str) -> str:
    r"""Join surrogate pairs that come from escapes; replace a lone surrogate, which no text can hold.

    >>> mended("\ud83d\ude00 \ud83d.") == "\U0001f600 \ufffd."
    True
    """
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def csv_rows(text: Iterable[str], member: Member, separator: str = ",") -> Iterator[list[str]]:
    """Yield the cells of delimited lines, which may be quoted; an error names the file."""
    try:
        yield from (cells for cells in csv_cells(text, separator) if cells)
    except csv.Error as error:
        raise DataError(f"{member.where} cannot be read as delimited text ({error}); get the file again") from None


def files_of(place: Path, pattern: str, expected: str) -> Iterator[Member]:
    """Yield the files of a place whose names match; if the place is one file, it is taken whatever its name."""
    found = False
    for member in members(place, nested=True):
        if member.where == str(place) or re.fullmatch(pattern, member.base, re.IGNORECASE):
            found = True
            yield member
    if not found:
        raise DataError(f"{what_is_at(place)}; expected {expected}")


def what_is_at(place: Path) -> str:
    """Describe the files at a place, for an error."""
    names = [member.name for member in members(place, nested=True)]
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return f"{place} holds {shown or 'nothing'}"
