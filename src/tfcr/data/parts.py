"""Files in parts that other processes read by themselves, each a stretch of whole rows: what workers of a cluster count.

The first pass over the files is made here; it tells the columns, what each label becomes, and how the file is written.
Then a part needs no more than its stretch of bytes::

    text,label | a,x | b,y | c,x      ->      text,label | b,y | c,x      by the bytes of two lines, and the first line

| file | parts |
|---|---|
| lines: JSON lines, fastText, CSV without line breaks in cells; not compressed, in an encoding with single-byte line breaks | stretches of PART_BYTES |
| any other of at most WHOLE_BYTES, unpacked | the whole file |
| any other; standard input; what was downloaded | texts that are read here, and sent |
"""  # noqa: E501

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcr.data.encoding import DataFile, encoding_of
from tfcr.data.readers import table_pieces
from tfcr.errors import DataError, in_one_line
from tfcr.system.files import scratch_folder
from tfcr.system.limits import is_packed

if TYPE_CHECKING:
    from tfcr.data.labelled_stream import LabelledPiece, LabelledStream, StreamedFile

PART_BYTES = 1 << 23
"""About how much of a file is a part."""
WHOLE_BYTES = 1 << 26
"""Files up to this size, unpacked, are read whole if they cannot be cut."""
CUT_FORMATS = {"csv": True, "tsv": True, "jsonl": False, "fasttext": False, "lines": False}
"""Formats of lines, and whether the first line tells the columns of all."""
LINE_ENCODINGS = ("utf-8", "utf-8-sig", "ascii", "latin-1", "iso-8859", "cp125", "koi8")
"""Beginnings of names of encodings in which a byte 10 is a line break, wherever it stands."""

Labelled = tuple[list[str], list[Any]]


class HeldPart(NamedTuple):
    """Texts and labels that were read here."""

    texts: list[str]
    labels: list[Any]

    def read(self) -> Labelled:
        """Return them."""
        return self.texts, self.labels

    def of(self, kept: frozenset[Any] | None) -> "HeldPart":
        """Return those of some classes; None: all."""
        if kept is None:
            return self
        used = [number for number, label in enumerate(self.labels) if label in kept]
        return HeldPart([self.texts[number] for number in used], [self.labels[number] for number in used])


@dataclass(frozen=True)
class FilePart:
    """A stretch of a file, or all of it, to be read by whoever can read the file.

    Attributes
    ----------
    file, becomes
        The file, with what the first pass found, and what its labels become.
    start, end
        The first byte of the stretch, and the first after it; all of the file if `end` is None.
    before
        What is put before the stretch: the first line of the file, if it tells the columns.
    kept
        The classes that are used; None: all.
    """

    file: "StreamedFile"
    becomes: Mapping[Any, Any] = field(repr=False)
    start: int = 0
    end: int | None = None
    before: bytes = b""
    kept: frozenset[Any] | None = None

    def read(self) -> Labelled:
        """Return texts and labels."""
        try:
            if self.file.place.is_file():
                status, [(_, size, time, _)] = self.file.place.stat(), self.file.fingerprint.files
                if (status.st_size, status.st_mtime_ns) != (size, time):  # numbers of files differ between machines
                    raise self.file.changed()
            texts, labels = self._whole() if self.end is None else self._stretch(self.end)
        except OSError as error:
            raise DataError(
                f"cannot read {self.file.place} on a worker: {in_one_line(error)}; expected files that all workers can "
                "read under the same path, as on a shared disk"
            ) from None
        return HeldPart(texts, labels).of(self.kept).read()

    def _whole(self) -> Labelled:
        if not self.file.place.exists():
            raise FileNotFoundError(2, "no such file")
        return self._labelled(table_pieces(self.file.place, self.file.options, self.file.source, self.file.facts))

    def _stretch(self, end: int) -> Labelled:
        """Read a stretch as a file of its own."""
        with self.file.place.open("rb") as opened:
            opened.seek(self.start)
            content = opened.read(end - self.start)
        if not content.strip():
            return [], []
        facts = self.file.facts
        options = replace(self.file.options, format=self.file.survey.format)
        if "form" in facts:
            options = replace(options, separator=facts["form"].separator)
        with scratch_folder() as folder:  # what a killed worker leaves is removed by the next
            place = folder / "part"
            place.write_bytes(self.before + content)
            tables = table_pieces(place, options, self.file.source, dict(facts))
            skipped = 1 if self.before and not options.header else 0  # the first line, which is a row of another part
            return self._labelled(tables, skipped)

    def _labelled(self, tables: Iterator[Any], skipped: int = 0) -> Labelled:
        texts: list[str] = []
        labels: list[Any] = []
        for table in tables:
            some, of_some, used = self.file.labelled(table, self.becomes)
            unwanted = sum(used[:skipped])
            texts += some[unwanted:]
            labels += of_some[unwanted:]
            skipped = 0
        return texts, labels


def stream_parts(stream: "LabelledStream", kept: frozenset[Any] | None = None) -> Iterator[HeldPart | FilePart]:
    """Yield the parts of all files, in their order; of some classes only, if given."""
    for number, (file, becomes) in enumerate(stream.files()):
        if _is_elsewhere(file) and (cuts := _cuts(file)) is not None:
            before = _first_line(file) if CUT_FORMATS[file.survey.format] else b""
            for start, end in pairwise(cuts):
                yield FilePart(file, becomes, start, end, before if start else b"", kept)
        elif _is_elsewhere(file) and file.fingerprint.unpacked_bytes() <= WHOLE_BYTES:
            yield FilePart(file, becomes, kept=kept)
        else:
            yield from _read_here(stream.pieces_of(number), kept)


def _read_here(pieces: "Iterable[LabelledPiece]", kept: frozenset[Any] | None) -> Iterator[HeldPart]:
    texts: list[str] = []
    labels: list[Any] = []
    size = 0
    for piece in pieces:
        for text, label in zip(piece.texts, piece.labels, strict=True):
            if kept is None or label in kept:
                texts.append(text)
                labels.append(label)
                size += len(text)
            if size >= PART_BYTES:
                yield HeldPart(texts, labels)
                texts, labels, size = [], [], 0
    if texts:
        yield HeldPart(texts, labels)


def _is_elsewhere(file: "StreamedFile") -> bool:
    """Return whether the file lies where the user says, so that others can read it: no copy of what was downloaded."""
    return file.is_in_place and file.label_file is None


def _cuts(file: "StreamedFile") -> list[int] | None:
    """Return where parts begin, and the end of the file; None if it cannot be cut."""
    if file.survey.format not in CUT_FORMATS or is_packed(file.place):
        return None
    data = DataFile(file.place, file.source, file.facts)
    head = data.head()
    form = file.facts.get("form")
    if form is not None and form.quoting and (not form.is_regular or form.notes):  # line breaks inside cells
        return None
    is_list = file.survey.format == "jsonl" and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    encoding = encoding_of(data, file.options).name.lower()
    if is_list or b"\n" not in head or not encoding.startswith(LINE_ENCODINGS):
        return None
    size = file.fingerprint.size
    parts = max(1, round(size / PART_BYTES))
    wanted = [size * number // parts for number in range(1, parts)]
    with file.place.open("rb") as opened:
        found = {0, size}
        for place in wanted:
            opened.seek(place)
            opened.readline()
            found.add(min(opened.tell(), size))
    return sorted(found)


def _first_line(file: "StreamedFile") -> bytes:
    """Return the first line that is not blank, with its line break."""
    with file.place.open("rb") as opened:
        return next(line for line in opened if line.strip())
