"""Files that are not what their names say: recognised by their first bytes, and checked before they are parsed."""

import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

from tfcr.system.limits import limit, most_unpacked, open_regular

OLE = b"\xd0\xcf\x11\xe0"
"""How files of old Office programs begin, and workbooks with a password."""
_CHUNK = 1 << 20


class Foreign(NamedTuple):
    """A kind of file: how its first bytes are recognised, what it is, and what to do with it."""

    begins: Callable[[bytes], bool]
    what: str
    advice: str


def is_xlsx(head: bytes) -> bool:
    """Return whether a file is an Excel workbook, by its first bytes."""
    return head.startswith(b"PK\x03\x04") and b"xl/" in head


def _begins(*marks: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(marks)


def _zip_with(name: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(b"PK\x03\x04") and name in head


_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)?<(?:!doctype html|html|head|body|table)\b", re.IGNORECASE | re.DOTALL
)
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\b")
_SAVE_TABLE = "open it in a spreadsheet program, and save it as .xlsx or CSV"
_UNPACK = "unpack it first, and give a file in it"
_CONVERT = "write its table as CSV, JSON lines or Parquet first"

FOREIGN: tuple[Foreign, ...] = (
    Foreign(is_xlsx, "an Excel workbook", "rename it to .xlsx, or give --format xlsx"),
    Foreign(_zip_with(b"application/vnd.oasis.opendocument"), "an OpenDocument file", _SAVE_TABLE),
    Foreign(_zip_with(b"word/"), "a Word document", "copy its texts into a CSV or text file"),
    Foreign(_begins(b"PK\x03\x04"), "a zip archive", _UNPACK),
    Foreign(_begins(b"PAR1"), "a Parquet file", "rename it to .parquet, or give --format parquet"),
    Foreign(_begins(OLE), "a file of an old Office program (.xls, .doc), or one with a password", _SAVE_TABLE),
    Foreign(_begins(b"%PDF-"), "a PDF document", "copy its texts into a CSV or text file"),
    Foreign(_begins(b"{\\rtf"), "a document in rich text", "save it as plain text"),
    Foreign(lambda head: bool(_PAGE.match(head)), "an HTML page", _SAVE_TABLE),
    Foreign(lambda head: bool(_XML.match(head)), "an XML file", f"{_SAVE_TABLE}, or {_CONVERT}"),
    Foreign(lambda head: head[257:262] == b"ustar", "a tar archive", "rename it to .tar, or give --format tar"),
    Foreign(
        _begins(b"\x1f\x8b\x08", *(b"BZh%d1AY&SY" % size for size in range(1, 10))),
        "compressed twice",
        "unpack it first",
    ),
    Foreign(_begins(b"\xfd7zXZ\x00"), "compressed with xz", "unpack it first: unxz FILE"),
    Foreign(_begins(b"\x28\xb5\x2f\xfd"), "compressed with Zstandard", "unpack it first: unzstd FILE"),
    Foreign(_begins(b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07"), "an archive", _UNPACK),
    Foreign(_begins(b"ARROW1", b"FEA1"), "an Arrow or Feather file", _CONVERT),
    Foreign(lambda head: head.startswith(b"ORC") and head[3:4] < b"\t", "an ORC file", _CONVERT),
    Foreign(_begins(b"Obj\x01"), "an Avro file", _CONVERT),
    Foreign(_begins(b"\x89HDF\r\n\x1a\n"), "an HDF5 file", _CONVERT),
    Foreign(_begins(b"SQLite format 3\x00"), "an SQLite database", _CONVERT),
    Foreign(_begins(b"\x93NUMPY"), "an array of numpy", "expected texts: vectors are given with --embeddings"),
    Foreign(_begins(b"\x80\x02", b"\x80\x03", b"\x80\x04\x95", b"\x80\x05\x95"), "a pickle", _CONVERT),
    Foreign(_begins(b"\x89PNG\r\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"), "an image", "expected texts"),
    Foreign(_begins(b"\x7fELF", b"MZ\x90\x00"), "a program", "expected texts"),
)
"""Kinds of files that people give under another name, in the order in which they are tried."""


def foreign_format(head: bytes) -> str:
    """Return what a file is and what to do with it, as the end of a sentence; empty if it is none of FOREIGN.

    >>> foreign_format(b"%PDF-1.7 ...")
    'is a PDF document, whatever its name; copy its texts into a CSV or text file'
    """
    for row in FOREIGN:
        if row.begins(head):
            return f"is {row.what}, whatever its name; {row.advice}"
    return ""


def check_parquet(path: Path) -> None:
    """Raise ValueError for a file that cannot be Parquet: one without the marks at both ends, or with a false size."""
    with open_regular(path) as file:
        size = file.seek(0, 2)
        if size < 12:
            raise ValueError("it is too short")
        file.seek(size - 8)
        end = file.read(8)
        footer = int.from_bytes(end[:4], "little")
        file.seek(0)
        if file.read(4) != b"PAR1" or end[4:] != b"PAR1" or footer > size - 12:
            raise ValueError("it does not begin and end as Parquet files do")


def check_zip(file: IO[bytes], size: int) -> None:
    """Raise ValueError for an archive that is damaged, or whose parts unpack to absurd sizes, whatever it says.

    Parameters
    ----------
    file, size
        The archive, and its size in bytes.
    """
    most = min(limit("table unpacked"), most_unpacked(size))
    unpacked = 0
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                with archive.open(entry) as part:
                    while chunk := part.read(_CHUNK):
                        unpacked += len(chunk)
                        if unpacked > most:
                            raise ValueError(f"it unpacks to more than {most >> 20} MB, and is not to be trusted")
    except (zipfile.BadZipFile, EOFError, OSError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"it is damaged ({error})") from None
