"""From the bytes of a file to UTF-8 text: unpacking, telling the encoding, transcoding as a stream."""

import codecs
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tfcr.errors import DataError
from tfcr.system.archives import file_chunks
from tfcr.system.files import is_packed

ENCODINGS = "utf-8, utf-16, cp1252, latin-1"
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_NOT_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"


def first_bytes(path: Path, size: int = 1 << 16) -> bytes:
    """Return the beginning of a file, unpacked."""
    return next(file_chunks(path), b"")[:size]


def detect_encoding(path: Path) -> str:
    """Tell a file's encoding: by its byte order mark, else UTF-8 if all of it is, else what Windows would have used."""
    head = first_bytes(path)
    for mark, encoding in _BOMS.items():
        if head.startswith(mark):
            return encoding
    if wide := _utf16_without_mark(head):
        return wide
    decoder, western = codecs.getincrementaldecoder("utf-8")(), True
    utf8 = True
    for chunk in file_chunks(path):
        if utf8:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                utf8 = False
        western = western and not any(byte in chunk for byte in _NOT_IN_CP1252)
    if utf8:
        return "utf-8"
    return "cp1252" if western else "latin-1"


def _utf16_without_mark(head: bytes) -> str | None:
    """Tell UTF-16 by its zero bytes: in Latin text, every second byte is one."""
    sample = head[:4096]
    if len(sample) < 4:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    most = 0.7 * len(sample) / 2
    if odd > most and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > most and odd == 0 else None


def decoded_chunks(path: Path, encoding: str) -> Iterator[str]:
    """Yield the text of a file; bytes that are not in the encoding are named by line and byte."""
    try:
        decoder = codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise DataError(f"unknown encoding {encoding!r}; for example: {ENCODINGS}") from None
    position, line = 0, 1
    first = True
    for chunk in file_chunks(path):
        kept = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise _not_in_encoding(path, encoding, position - kept + error.start, line + _lines(error)) from None
        position += len(chunk)
        line += text.count("\n")
        yield text.removeprefix("\ufeff") if first else text
        first = False
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise _not_in_encoding(path, encoding, position, line) from None


def _lines(error: UnicodeDecodeError) -> int:
    return error.object[: error.start].count(b"\n")


def _not_in_encoding(path: Path, encoding: str, position: int, line: int) -> DataError:
    return DataError(
        f"{path}: byte {position}, in line {line}, is not {encoding}; "
        f"give the file's encoding, as in --encoding latin-1 (others: {ENCODINGS})"
    )


@contextmanager
def as_utf8(path: Path, encoding: str) -> Iterator[Path]:
    """Give the path of the file's text in UTF-8: the file itself where it is that, else a temporary copy."""
    if encoding == "utf-8" and not first_bytes(path, 3).startswith(codecs.BOM_UTF8) and not is_packed(path):
        for _ in decoded_chunks(path, encoding):
            pass  # only to find what is not UTF-8, and name it
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "text"
        with copy.open("w", encoding="utf-8", newline="") as file:
            file.writelines(decoded_chunks(path, encoding))
        yield copy
