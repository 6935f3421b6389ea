"""A case: the files that one input consists of, kept as one small JSON file that can be replayed."""

import base64
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Files = dict[str, bytes]
"""Contents by path within a folder. A path that ends in ``@link`` is a symbolic link to what its content names; one
that ends in ``@fifo`` is a named pipe."""


@dataclass(frozen=True)
class Case:
    """An input for a target.

    Attributes
    ----------
    target
        A name of TARGETS.
    files
        What the target reads.
    origin
        Seed and number, or what it is about.
    problem
        What went wrong when it was found: its key, and a traceback.
    """

    target: str
    files: Files
    origin: str = ""
    problem: str = ""

    def save(self, path: Path) -> None:
        content = {
            "target": self.target,
            "origin": self.origin,
            "problem": self.problem.splitlines(),
            "files": {name: _as_json(data) for name, data in self.files.items()},
        }
        path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> "Case":
        content = json.loads(path.read_text("utf-8"))
        files = {name: _from_json(data) for name, data in content["files"].items()}
        return cls(content["target"], files, content["origin"], "\n".join(content["problem"]))


def _as_json(data: bytes) -> Any:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if text.encode() == data and len(data) < 4000:
        return {"text": text}
    return {"zlib": base64.b64encode(zlib.compress(data, 9)).decode()}


def _from_json(stored: dict[str, str]) -> bytes:
    return stored["text"].encode() if "text" in stored else zlib.decompress(base64.b64decode(stored["zlib"]))


def write_files(folder: Path, files: Files) -> None:
    """Write the files of a case into an empty folder; a name that the system does not allow is passed over.

    Links come last: nothing is written through one.
    """
    for name, content in sorted(files.items(), key=lambda file: file[0].endswith(("@link", "@fifo"))):
        try:
            _write(folder / name, content)
        except (OSError, ValueError):  # a name with NUL or a slash too many, or a file where a folder must be
            continue


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.name.rpartition("@")[2]
    bare = path.with_name(path.name.removesuffix(f"@{kind}"))
    if os.path.lexists(bare):
        return
    if kind == "link":
        bare.symlink_to(os.fsdecode(content))
    elif kind == "fifo":
        os.mkfifo(bare)
    else:
        path.write_bytes(content)


def read_files(folder: Path) -> Files:
    """Return all files below a folder, by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }
