"""From the bytes of a file to text: reading them once, detecting the encoding, decoding."""

import codecs
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tfcr.data.addresses import is_address, shown_address
from tfcr.data.options import ReadOptions
from tfcr.errors import DataError
from tfcr.system.archives import file_chunks

T = TypeVar("T")

SMALL_BYTES = 1 << 24
"""A file that unpacks to at most this many bytes is held in memory; a larger one is read again for each pass."""
HEAD_BYTES = 1 << 16
"""How much of a file's beginning, or of its evidence, is enough to detect format, encoding and separator."""

Chunks = Callable[[], Iterator[bytes]]
"""Starts a pass over the bytes of a file."""


class DataFile:
    """A file to read; its bytes are unpacked if it is packed by gzip or bzip2.

    Parameters
    ----------
    path
        Where it is.
    name
        What messages call it; the path if empty.
    facts
        What was detected when it was read before: passes over the whole file that need not be repeated. What is
        detected now is added.
    skips
        Whether rows that cannot be read are left out; then NO_TEXT stands for bytes that are not in the encoding.
    """

    def __init__(self, path: Path, name: str = "", facts: dict[str, Any] | None = None, *, skips: bool = False) -> None:
        self.path = path
        self.name = source_name(name or path)
        self.skips = skips
        self._facts = {} if facts is None else facts

    def fact(self, name: str, detect: Callable[[], T]) -> T:
        """Return what is known of the file, or else detect it."""
        if name not in self._facts:
            self._facts[name] = detect()
        found: T = self._facts[name]
        return found

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes of the file: from memory if it is small, else from disk."""
        content, is_all = self._beginning
        return iter([content]) if is_all else file_chunks(self.path)

    def head(self) -> bytes:
        """Return the first bytes of the file."""
        return self._beginning[0][:HEAD_BYTES]

    @cached_property
    def _beginning(self) -> tuple[bytes, bool]:
        """The file's first bytes, slightly more than SMALL_BYTES at most, and whether they are all."""
        chunks, size = [], 0
        for chunk in file_chunks(self.path):
            chunks.append(chunk)
            size += len(chunk)
            if size > SMALL_BYTES:
                return b"".join(chunks[:1]), False
        return b"".join(chunks), True


def source_name(source: str | Path) -> str:
    """Return what messages call a file, an address or ``-``, as text that can be printed and stored."""
    name = str(source)
    if is_address(name):
        name = shown_address(name)
    return "standard input" if name == "-" else printable(name)


def printable(name: str) -> str:
    r"""Return a file's name as text that can be printed and stored: bytes that are not UTF-8 become ``\xe9``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


# detecting -----------------------------------------------------------------------------------------------------------

ENCODINGS = "utf-8, utf-16, cp1252, latin-1, gb18030, cp932, cp1251"
"""Examples for messages."""
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NO_FILES = (
    "idna",
    "punycode",
    "undefined",
    "unicode-escape",
    "unicode_escape",
    "raw-unicode-escape",
    "raw_unicode_escape",
)
"""Codecs of Python that are encodings of text, but not of files."""

# What chardet may choose from. Its full list has relics that win on short texts (MacLatin2 for English with curly
# quotes), so only encodings that files in use have, each a superset where there are several (gb18030 of GBK, cp932 of
# Shift-JIS, cp949 of EUC-KR).
_CANDIDATES = (
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "iso-8859-2", "iso-8859-5", "koi8-r"),
    *("cp866", "gb18030", "big5", "cp932", "euc-jp", "cp949"),
)
_WESTERN = "cp1252"
_OVER_WESTERN = 1.7
"""Another encoding must be so many times as likely as cp1252, which is by far the most common one."""
_LEAST_CONFIDENCE = 0.05
_SURE_CONFIDENCE = 0.1
_CLEARLY = 1.25
"""A choice is sure if no encoding that reads the text differently comes closer than this factor."""
_LEAST_LINES = 10
_PER_DAMAGED = 10
"""A file is damaged UTF-8 if it has so many non-ASCII lines in UTF-8, and so many for each one that is not."""
_ENOUGH_DAMAGED = 1000
"""After so many lines that are not UTF-8 it can be told."""
_CONTROLS = re.compile("[\x80-\x9f]")
"""Control characters that no text holds; they appear where letters of DOS are read as ISO 8859."""


class Encoding(NamedTuple):
    """An encoding by Python's name, and whether its detection is sure."""

    name: str
    is_sure: bool = True

    def __str__(self) -> str:
        return self.name if self.is_sure else f"{self.name} (not sure: if texts look wrong, give --encoding NAME)"


def detect_encoding(chunks: Chunks) -> Encoding:
    """Return the encoding of a file: by byte order mark, else UTF-8 if all of it is valid, else by its letters.

    The file is read up to three times; UTF-8, the usual case, takes one pass.
    """
    head = next(chunks(), b"")[:HEAD_BYTES]
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return Encoding(name)
    if wide := _utf16_without_mark(head):
        return Encoding(wide)
    if _can_decode(chunks(), "utf-8") or _is_mostly_utf8(chunks()):
        return Encoding("utf-8")
    guess = _guess(_non_ascii_lines(chunks()))
    for encoding in (guess, Encoding(_WESTERN, is_sure=False)):
        if _can_decode(chunks(), encoding.name):
            return encoding
    return Encoding("latin-1", is_sure=False)  # which decodes any bytes


def encoding_of(file: DataFile, options: ReadOptions) -> Encoding:
    """Return the encoding that the user gave, else the detected one."""
    if options.encoding:
        return given_encoding(options.encoding, file.head())
    return file.fact("encoding", lambda: detect_encoding(file.chunks))


def given_encoding(name: str, head: bytes) -> Encoding:
    """Return the encoding that the user names; the byte order of UTF-16 and UTF-32 is detected if no mark tells it.

    Parameters
    ----------
    name
        Any name that Python knows for an encoding of text.
    head
        The first bytes of the file.
    """
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError, ImportError):
        raise DataError(f"unknown encoding {name!r}; for example: {ENCODINGS}") from None
    if codec.name in _NO_FILES or not getattr(codec, "_is_text_encoding", True):
        raise DataError(f"found the encoding {name!r}, which no text file has; for example: {ENCODINGS}")
    if codec.name in ("utf-16", "utf-32") and not head.startswith(tuple(_BYTE_ORDER_MARKS)):
        is_big = head[0::2].count(0) > head[1::2].count(0)
        return Encoding(f"{codec.name}-{'be' if is_big else 'le'}")
    return Encoding(name)


def _utf16_without_mark(head: bytes) -> str | None:
    """Recognise UTF-16 by its zero bytes: in Latin text, every second byte is one."""
    sample = head[:4096]
    if len(sample) < 4:
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    most = 0.7 * len(sample) / 2
    if odd > most and even == 0:
        return "utf-16-le"
    return "utf-16-be" if even > most and odd == 0 else None


def _can_decode(chunks: Iterable[bytes], name: str) -> bool:
    decoder = codecs.getincrementaldecoder(name)()
    try:
        for chunk in chunks:
            decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True


def _is_mostly_utf8(chunks: Iterable[bytes]) -> bool:
    """Return whether a file is UTF-8 but for a few damaged lines: no other encoding looks like it by chance."""
    found: Counter[bool] = Counter()
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        found.update(_can_decode([line], "utf-8") for line in whole if not line.isascii())
        is_other = found[False] > _ENOUGH_DAMAGED and found[True] < _PER_DAMAGED * found[False]
        if is_other or len(rest) > HEAD_BYTES:  # one long line: texts have shorter ones
            return False
    return found[True] >= max(_LEAST_LINES, _PER_DAMAGED * found[False])


def _non_ascii_lines(chunks: Iterable[bytes]) -> bytes:
    """Return the first HEAD_BYTES of lines with a byte above 127: a few of them drown among thousands in English."""
    found = bytearray()
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if not line.isascii():
                found += line + b"\n"
        if len(rest) > HEAD_BYTES:  # one long line: do not look at it again and again
            found += b"" if rest.isascii() else rest
            rest = b""
        if len(found) >= HEAD_BYTES:
            break
    else:
        found += b"" if rest.isascii() else rest
    return bytes(found[:HEAD_BYTES])


def _guess(evidence: bytes) -> Encoding:
    """Return the most likely encoding of text that is not UTF-8.

    chardet compares pairs of letters with those of many languages. charset-normalizer was measured too, and takes
    English, French and Spanish in cp1252 for cp1250; docs/formats.md has the table.
    """
    import chardet  # noqa: PLC0415 - loads slowly, and UTF-8 files do not need it

    found = chardet.detect_all(evidence, ignore_threshold=True, include_encodings=_CANDIDATES)
    likely = {codecs.lookup(row["encoding"]).name: row["confidence"] for row in found if row["encoding"]}
    texts = {name: evidence.decode(name, "replace") for name in {*likely, _WESTERN}}
    likely = {name: confidence for name, confidence in likely.items() if not _CONTROLS.search(texts[name])}
    best = max(likely, key=lambda name: likely[name], default=_WESTERN)
    if likely.get(best, 0.0) < max(_LEAST_CONFIDENCE, _OVER_WESTERN * likely.get(_WESTERN, 0.0)):
        best = _WESTERN
    confidence = likely.get(best, 0.0)
    has_rival = any(other * _CLEARLY > confidence and texts[name] != texts[best] for name, other in likely.items())
    least = _LEAST_CONFIDENCE if best == _WESTERN else _SURE_CONFIDENCE
    return Encoding(best, is_sure=confidence >= least and not has_rival)


NO_TEXT = "\ufdd1"
"""Stands for bytes that are not in the encoding, where their rows are left out: no character, so no text holds it."""
codecs.register_error("tfcr-no-text", lambda error: (NO_TEXT, getattr(error, "end", 0)))

# decoding ------------------------------------------------------------------------------------------------------------


def decode_chunks(chunks: Iterable[bytes], encoding: str, where: object, errors: str = "strict") -> Iterator[str]:
    """Yield the text of a file without its byte order mark; bytes that are not in the encoding are named.

    Parameters
    ----------
    chunks, encoding
        The bytes of the file, and the name of their encoding.
    where
        What errors call the file.
    errors
        ``strict``, or ``replace`` to read on with replacement characters, or ``tfcr-no-text`` with NO_TEXT instead.
    """
    try:
        decoder = codecs.getincrementaldecoder(encoding)(errors)
    except LookupError:
        raise DataError(f"unknown encoding {encoding!r}; for example: {ENCODINGS}") from None
    position, line = 0, 1
    for number, chunk in enumerate(chunks):
        kept = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise _not_in_encoding(where, encoding, position - kept + error.start, line + _lines(error)) from None
        except UnicodeError:
            raise _not_in_encoding(where, encoding, position, line) from None
        position += len(chunk)
        line += text.count("\n")
        yield text.removeprefix("\ufeff") if number == 0 else text
    try:
        yield decoder.decode(b"", final=True)
    except UnicodeError:
        raise _not_in_encoding(where, encoding, position, line) from None


def utf8_chunks(file: DataFile, encoding: str) -> Iterator[bytes]:
    """Yield the text of a file in UTF-8, without its byte order mark; see `decode_chunks`."""
    if encoding != "utf-8" or file.skips:
        for text in decode_chunks(file.chunks(), encoding, file.name, "tfcr-no-text" if file.skips else "strict"):
            try:
                yield text.encode()
            except UnicodeEncodeError:
                raise DataError(f"{file.name} holds half of a surrogate pair; expected text in {encoding}") from None
        return
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for number, chunk in enumerate(file.chunks()):  # decoded only to see that it can be
            decoder.decode(chunk)
            yield chunk.removeprefix(codecs.BOM_UTF8) if number == 0 else chunk
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        deque(decode_chunks(file.chunks(), encoding, file.name), maxlen=0)  # which names the byte
        raise


def decode(content: bytes, encoding: str, where: object) -> str:
    """Return the text of bytes in memory; see `decode_chunks`."""
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except (UnicodeError, LookupError):
        return "".join(decode_chunks([content], encoding, where))  # which names the byte


def _lines(error: UnicodeDecodeError) -> int:
    return error.object[: error.start].count(b"\n")


def _not_in_encoding(where: object, encoding: str, position: int, line: int) -> DataError:
    return DataError(
        f"{where}: byte {position}, in line {line}, is not {encoding}; "
        f"give the file's encoding, as in --encoding latin-1 (others: {ENCODINGS}), or leave such rows out: "
        "--bad-rows skip"
    )


def lines(chunks: Iterable[str]) -> Iterator[str]:
    r"""Yield lines with their ends; only ``\n`` ends one, whatever else str.splitlines takes for an end."""
    held: list[str] = []  # the beginning of a line, in parts: joined once, so that a long line takes linear time
    for chunk in chunks:
        first, end, others = chunk.partition("\n")
        held.append(first)
        if end:
            yield "".join(held) + "\n"
            *whole, rest = others.split("\n")
            yield from (line + "\n" for line in whole)
            held = [rest]
    if any(held):
        yield "".join(held)


def bare_lines(chunks: Iterable[str]) -> Iterator[str]:
    """Yield lines without their ends."""
    return (line.removesuffix("\n").removesuffix("\r") for line in lines(chunks))
