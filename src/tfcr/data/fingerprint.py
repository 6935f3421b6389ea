"""What tells that a file is still the one that was read before: its size, its time and its place on disk."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tfcr.errors import DataError, in_one_line
from tfcr.system.limits import is_file, is_packed

UNPACKED = 4
"""About how many times as large as a Parquet file, a workbook or a compressed file its text is."""
_PACKED_ENDINGS = (".parquet", ".pq", ".xlsx", ".xlsm")


@dataclass(frozen=True)
class Fingerprint:
    """The state of a file, or of all files of a folder.

    Attributes
    ----------
    size
        In bytes.
    files
        For each file its path, size, time of last change in nanoseconds, and number in the file system.
    """

    size: int
    files: tuple[tuple[str, int, int, int], ...]

    @classmethod
    def of(cls, path: Path, name: str) -> "Fingerprint":
        """Return the fingerprint of a file or folder that messages call `name`."""
        try:
            found = [(str(file), file.stat()) for file in _files(path)]
        except OSError as error:
            raise DataError(f"cannot read {name}: {in_one_line(error)}") from error
        files = tuple((file, status.st_size, status.st_mtime_ns, status.st_ino) for file, status in found)
        return cls(sum(status.st_size for _, status in found), files)

    def check(self, path: Path, name: str) -> None:
        """Raise DataError if the file or folder is not as it was."""
        now = Fingerprint.of(path, name)
        if now != self:
            raise self.changed(name, now)

    def changed(self, name: str, now: "Fingerprint | None" = None) -> DataError:
        """Return the error for a file that has changed; `now` is its fingerprint, if that tells it."""
        how = f": it had {self.size:,} bytes, and has {now.size:,}" if now and now.size != self.size else ""
        return DataError(
            f"{name} changed while it was read{how}; expected a file that nobody writes to: wait until it is complete, "
            "or copy it, and type the same command again"
        )

    def unpacked_bytes(self) -> int:
        """Return about how many bytes the texts take: UNPACKED times the size of what is compressed."""
        return sum(size * (UNPACKED if _is_compressed(Path(file)) else 1) for file, size, *_ in self.files)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        yield from (file for name in sorted(names) if is_file(file := Path(folder, name)))


def _is_compressed(path: Path) -> bool:
    try:
        return path.name.lower().endswith(_PACKED_ENDINGS) or is_packed(path)
    except OSError:
        return False
