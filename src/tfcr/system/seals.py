"""Seals: what files held when they were written, so that a file that changed on disk since is not trusted.

A seal is a small JSON file with the hash of each file and its stamp: size, time, inode. As long as a file has its
stamp, it is trusted, which takes microseconds. After that its content is hashed once: if it is what was written, the
new stamp is noted; if not, the seal is broken.

    {"vectors.raw": {"sha256": "9f86d0…", "stamp": [80000000, 1763337600000000000, 1311]}, …}
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tfcr.system.files import write_file
from tfcr.system.limits import open_regular, parse_json, read_regular


def write_seal(seal: Path, sums: Mapping[Path, str]) -> None:
    """Write a seal of files that are complete, given the SHA-256 of each."""
    entries = {path.name: {"sha256": sum_, "stamp": _stamp(path)} for path, sum_ in sums.items()}
    write_file(seal, json.dumps(entries).encode())


def broken_by(seal: Path, files: list[Path]) -> str | None:
    """Return what is wrong with the first of these files that is not as it was sealed, or with the seal; else None."""
    try:
        entries = parse_json(read_regular(seal, "settings"))
        changed = [path for path in files if _stamp(path) != entries[path.name]["stamp"]]
        for path in changed:
            if sum_of(path) != entries[path.name]["sha256"]:
                return f"{path.name} is not what was written"
            entries[path.name]["stamp"] = _stamp(path)
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"{type(error).__name__} at its seal"
    if changed:
        with suppress(OSError):  # a read-only place: hashed again the next time
            write_file(seal, json.dumps(entries).encode())
    return None


def sum_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _stamp(path: Path) -> list[Any]:
    status = os.stat(path)  # noqa: PTH116 - quicker
    return [status.st_size, status.st_mtime_ns, status.st_ino]
