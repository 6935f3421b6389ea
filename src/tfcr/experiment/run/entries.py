"""What the cells of an experiment share, on disk: counted corpora and vectors, each made once.

An entry is a folder of arrays, which processes map into memory and so share, and a small JSON file. It is named by
the hash of all it was made from, written beside and renamed: an entry is whole or not there. All of it can be made
again, so that the folder ``experiments`` of the cache may be deleted at any time.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.system.files import cache_folder
from tfcr.system.packed_strings import decode_words, encode_words

ENTRY_VERSION = 1
FACTS = "facts.json"


@dataclass(frozen=True)
class Entry:
    """Arrays, mapped from disk, and what is known of them."""

    arrays: Mapping[str, NDArray[Any]]
    facts: dict[str, Any]

    def strings(self, name: str) -> list[str]:
        """Return what `string_arrays` wrote."""
        return decode_words(self.arrays[f"{name}.text"], self.arrays[f"{name}.offsets"])


def string_arrays(name: str, strings: list[str]) -> dict[str, NDArray[Any]]:
    """Return strings as arrays: UTF-8 bytes and offsets."""
    text, offsets = encode_words(strings)
    return {f"{name}.text": text, f"{name}.offsets": offsets}


def digest_of(*parts: Any) -> str:
    """Return a name for what is described by these parts, as JSON."""
    text = json.dumps([ENTRY_VERSION, *parts], sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def digest_of_strings(strings: Iterable[str]) -> str:
    """Return the hash of many strings, where each one ends included."""
    hashed = hashlib.sha256()
    for string in strings:
        encoded = string.encode("utf-8", "surrogatepass")
        hashed.update(len(encoded).to_bytes(8, "little"))
        hashed.update(encoded)
    return hashed.hexdigest()[:32]


def open_entry(name: str) -> Entry | None:
    """Return an entry; None where there is none, or a damaged one."""
    folder = _folder_of(name)
    try:
        facts = json.loads((folder / FACTS).read_bytes())
        arrays = {array: _mapped(folder / f"{array}.npy") for array in facts["arrays"]}
    except (OSError, ValueError, KeyError):
        return None
    return Entry(arrays, facts)


def write_entry(name: str, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Entry:
    """Write an entry, whole or not at all, and open it."""
    folder = _folder_of(name)
    beside = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=folder.parent))
    try:
        for array, values in arrays.items():
            np.save(beside / f"{array}.npy", values, allow_pickle=False)
        (beside / FACTS).write_text(json.dumps({**facts, "arrays": list(arrays)}), "utf-8")
        _move(beside, folder, name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    entry = open_entry(name)
    if entry is None:
        raise OSError(5, "what was written cannot be read again", str(folder))
    return entry


def _folder_of(name: str) -> Path:
    return cache_folder("experiments") / name


def _mapped(path: Path) -> NDArray[Any]:
    if path.stat().st_size <= 128:  # nothing but a header: an empty array cannot be mapped
        return np.asarray(np.load(path, allow_pickle=False))
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _move(beside: Path, folder: Path, name: str) -> None:
    if folder.exists() and open_entry(name) is None:
        shutil.rmtree(folder, ignore_errors=True)
    try:
        beside.rename(folder)
    except OSError:
        if open_entry(name) is None:  # else another process was faster: its entry is as good
            raise
