"""Arrays in files that tfcr itself reads again: shards, pieces and checkpoints, as safetensors."""

import errno
import os
from pathlib import Path

import numpy as np

from tfcr.system.array_codec import Arrays

UNFINISHED = ".unfinished"
"""Ending of a file that is being written, and will be renamed once it is complete."""


def write_piece(path: Path, piece: Arrays) -> None:
    """Write arrays to a file."""
    from safetensors import SafetensorError  # noqa: PLC0415 - most programs need none of this
    from safetensors.numpy import save_file  # noqa: PLC0415

    try:
        # of an array with gaps, safetensors writes what lies in between
        save_file({name: np.ascontiguousarray(array) for name, array in piece.items()}, path)
    except SafetensorError as error:  # what it makes of a full disk
        raise OSError(errno.EIO, f"shards cannot be written: {error}", str(path)) from None


def write_whole(path: Path, piece: Arrays) -> None:
    """Write arrays to a file that is complete if it is there at all, even after a power failure.

    One process at a time may write to its folder.
    """
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        write_piece(unfinished, piece)
        move_whole(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def move_whole(path: Path, target: Path) -> None:
    """Rename a file that is complete, in the same file system, so that this survives a power failure."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
    path.replace(target)


def read_piece(path: Path) -> Arrays:
    """Read arrays from a file that `write_piece` made."""
    from safetensors import SafetensorError  # noqa: PLC0415
    from safetensors.numpy import load_file  # noqa: PLC0415

    try:
        return load_file(path)
    except SafetensorError as error:
        raise OSError(errno.EIO, f"shards cannot be read: {error}", str(path)) from None


def array_length(path: Path, name: str) -> int:
    """Return the length of an array in a file, which is not read."""
    from safetensors import safe_open  # noqa: PLC0415

    with safe_open(path, "numpy") as file:
        return int(file.get_slice(name).get_shape()[0])
