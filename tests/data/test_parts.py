"""Parts of files give the rows of the whole file, in its order."""

import gzip
import pickle
from pathlib import Path

import pytest

from tfcr.data import parts
from tfcr.data.labelled_stream import labelled_stream
from tfcr.data.options import ReadOptions
from tfcr.data.parts import FilePart, HeldPart
from tfcr.errors import DataError

ROWS = [(f"text number {number}, or so", "ab"[number % 2]) for number in range(60)]
FILES = {
    "plain.csv": "text;label\n" + "".join(f"{text};{label}\n" for text, label in ROWS),
    "quoted.csv": "text,label\n" + "".join(f'"{text}",{label}\n' for text, label in ROWS),
    "broken.csv": "text,label\n" + "".join(f'"{text}\nsecond line",{label}\n' for text, label in ROWS),
    "lines.jsonl": "".join(f'{{"text": "{text}", "label": "{label}"}}\n' for text, label in ROWS),
    "list.json": "[" + ",".join(f'{{"text": "{text}", "label": "{label}"}}' for text, label in ROWS) + "]",
    "fast.txt": "".join(f"__label__{label} {text}\n" for text, label in ROWS),
}
CUT = {"plain.csv", "quoted.csv", "lines.jsonl", "fast.txt"}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_BYTES", 400)


def rows_in_parts(found: list[HeldPart | FilePart]) -> list[tuple[str, str]]:
    again = pickle.loads(pickle.dumps(found))  # as another process reads them
    return [row for part in again for row in zip(*part.read(), strict=True)]


def rows_of(path: Path, options: ReadOptions | None = None) -> list[tuple[str, str]]:
    with labelled_stream([str(path)], options) as stream:
        return [row for piece in stream for row in zip(piece.texts, piece.labels, strict=True)]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_parts_hold_the_rows_of_the_file(name: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(FILES[name], encoding)
    with labelled_stream([str(path)]) as stream:
        found = list(stream.parts())
    assert (len(found) > 3) == (name in CUT and encoding != "utf-16")
    assert all(isinstance(part, FilePart) for part in found)
    assert rows_in_parts(found) == rows_of(path)
    assert len(rows_of(path)) == len(ROWS) or (name, encoding) == ("fast.txt", "utf-16")  # taken for CSV


def test_a_file_without_header_keeps_its_first_row_once(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(f"{label};{text}\n" for text, label in ROWS))
    options = ReadOptions(header=False, text=("2",), label="1")
    with labelled_stream([str(path)], options) as stream:
        found = list(stream.parts())
    assert len(found) > 3
    assert rows_in_parts(found) == rows_of(path, options)


def test_compressed_files_are_read_whole_if_small_else_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(FILES["plain.csv"].encode()))
    with labelled_stream([str(path)]) as stream:
        [whole] = stream.parts()
        assert isinstance(whole, FilePart)
        monkeypatch.setattr(parts, "WHOLE_BYTES", 10)
        held = list(stream.parts())
    assert len(held) > 2
    assert all(isinstance(part, HeldPart) for part in held)
    assert rows_in_parts([whole]) == rows_in_parts(held) == rows_of(path)


def test_some_classes_only(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(FILES["plain.csv"])
    with labelled_stream([str(path)]) as stream:
        found = rows_in_parts(list(stream.parts(frozenset("a"))))
    assert found == [row for row in ROWS if row[1] == "a"]


def test_a_file_that_a_worker_cannot_read_or_that_changed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(FILES["plain.csv"])
    with labelled_stream([str(path)]) as stream:
        part = next(stream.parts())
    path.write_text("text;label\nshort;a\n")
    with pytest.raises(DataError, match="changed while it was read"):
        part.read()
    path.unlink()
    with pytest.raises(DataError, match="expected files that all workers can read under the same path"):
        part.read()
