"""The file of answers: JSON lines that ``tfcr train`` reads, complete before an answer is acknowledged.

    {"text": "paper jam", "label": "hardware", "row": 17, "chosen": "unsure", "corpus": "3f0c…"}
    {"text": "asdf", "label": null, "row": 3, "chosen": "random", "corpus": "3f0c…"}

Each text has one line, with its row in the data, how it was chosen, and a fingerprint of the data. A text that was
skipped has no label, so that training leaves it out. With each answer the file is written anew beside the old one and
renamed: whenever the process is killed, the file holds every answer that was acknowledged, once, and no half of a line.
Some thousand lines take a few milliseconds.
"""

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfcr.data.readers import READERS
from tfcr.errors import DataError, InputError
from tfcr.labelling.pool import Pool
from tfcr.system.files import hidden_beside, open_locked, write_file
from tfcr.system.limits import is_folder, is_there, open_regular, parse_json

ENDINGS = READERS["jsonl"].endings
FIELDS = ("text", "label", "row", "chosen", "corpus")
"""What every line has; one that was looked at again and kept has ``checked`` too."""


@dataclass(frozen=True)
class Answer:
    """What a person said of a text.

    Attributes
    ----------
    label
        The label, a tuple of several, or None if the text was skipped.
    chosen
        How the text was chosen: `spread`, `unsure`, `random` or `given`.
    checked
        Whether a person looked at it again and kept it.
    """

    label: Any
    chosen: str
    checked: bool = False


Answers = Mapping[int, Answer]
"""From a text's position in the pool to its answer, in the order of the answers."""


class AnswersFile:
    """The file of answers, which one process has at a time."""

    def __init__(self, path: Path, pool: Pool) -> None:
        self.path = path
        self.pool = pool
        self.places = {row: number for number, row in enumerate(pool.rows)}
        self._lines: dict[int, tuple[Answer, bytes]] = {}

    def read(self) -> dict[int, Answer]:
        """Return the answers of the file; none if there is no file, or nothing in it.

        Raises
        ------
        DataError
            If it is something else, or belongs to other data.
        """
        if not is_there(self.path):
            return {}
        with open_regular(self.path) as file:
            lines = file.read().split(b"\n")
        found: dict[int, Answer] = {}
        for number, line in enumerate(lines, start=1):
            if line.strip():
                record = self._record(line, number)
                found[self.places[record["row"]]] = _answer(record)
        return found

    def write(self, answers: Answers) -> None:
        """Write all answers; once this returns they are on disk.

        Raises
        ------
        OSError
            If they cannot be written, as on a full disk: then the file is as it was.
        """
        known = self._lines
        lines = {
            number: known[number]
            if number in known and known[number][0] == answer
            else (answer, self._line(number, answer))
            for number, answer in answers.items()
        }
        write_file(self.path, b"".join(line for _, line in lines.values()))
        _sync_folder(self.path.parent)
        self._lines = lines

    def _line(self, number: int, answer: Answer) -> bytes:
        record = {
            "text": self.pool.texts[number],
            "label": list(answer.label) if isinstance(answer.label, tuple) else answer.label,
            "row": self.pool.rows[number],
            "chosen": answer.chosen,
            "corpus": self.pool.fingerprint,
            **({"checked": True} if answer.checked else {}),
        }
        try:
            return json.dumps(record, ensure_ascii=False).encode() + b"\n"
        except UnicodeEncodeError:  # half of a surrogate pair
            return json.dumps(record).encode() + b"\n"

    def _record(self, line: bytes, number: int) -> dict[str, Any]:
        """Return a line as a record of this pool."""
        try:
            record = parse_json(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or not set(FIELDS) <= set(record) or not _is_label(record["label"]):
            raise DataError(
                f"{self.path}, line {number}: found something else than an answer of tfcr label; expected a new "
                "file, or one that tfcr label wrote: give another -o"
            )
        if record["corpus"] != self.pool.fingerprint:
            raise DataError(
                f"{self.path} has answers for other data: other texts, another order, or other columns; expected the "
                "data that they were given for, or another -o"
            )
        if type(record["row"]) is not int or record["row"] not in self.places:
            raise DataError(f"{self.path}, line {number}: found row {record['row']!r}, which the data does not have")
        return record


def _is_label(label: Any) -> bool:
    return (
        label is None or isinstance(label, str) or (isinstance(label, list) and all(isinstance(x, str) for x in label))
    )


def _answer(record: Mapping[str, Any]) -> Answer:
    label = record["label"]
    return Answer(
        tuple(label) if isinstance(label, list) else label, str(record["chosen"]), bool(record.get("checked"))
    )


def _sync_folder(folder: Path) -> None:
    """Have the new name on disk too, for the case that power fails; where that cannot be done, it is not."""
    if os.name == "nt":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def opened_answers(path: Path, pool: Pool) -> Iterator[AnswersFile]:
    """Give the file of answers, which no other process can open meanwhile.

    Raises
    ------
    InputError
        If its name does not end in .jsonl, or another process has it.
    DataError
        If it cannot be there.
    """
    if not path.name.lower().endswith(ENDINGS):
        raise InputError(f"found the output {path}; expected a file that ends in {' or '.join(ENDINGS)}")
    if is_folder(path):
        raise DataError(f"{path} is a folder; expected a file to write")
    if not is_folder(path.parent):
        raise DataError(f"the folder {path.parent} does not exist; make it first: mkdir -p {path.parent}")
    place = hidden_beside(path, ".tfcr-lock")
    try:
        lock = open_locked(place)
    except OSError as error:
        reason = os.strerror(error.errno or errno.EIO)
        raise DataError(
            f"cannot write to the folder {path.parent}: {reason}; expected one that you may write to"
        ) from None
    if lock is None:
        raise InputError(f"another tfcr label is writing {path}; expected one at a time: stop it, or give another -o")
    with lock:
        try:
            yield AnswersFile(path, pool)
        finally:
            with suppress(OSError):
                place.unlink()
