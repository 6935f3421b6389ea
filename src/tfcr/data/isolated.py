"""Parquet files and workbooks are parsed in a process of their own.

Their parsers are compiled code: a damaged file can abort the process, or take all memory. Then only that process ends.
"""

import io
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import IO, Any

import polars as pl

from tfcr.errors import DataError
from tfcr.system.limits import limit

_PROGRAM = Path(__file__).with_name("isolated_child.py")
_HEADER = struct.Struct("<cQ")
_WAIT_SECONDS = 120.0
_BYTES_PER_SECOND = 1_000_000
"""A table must arrive in this time, more for large files; where the system can, processor time is limited as well."""
_DIED = "it is damaged, or needs too much memory or time"


def parse_isolated(
    kind: str, path: Path, content: bytes | None = None, *, size: int | None = None, **options: Any
) -> Iterator[dict[str, Any] | pl.DataFrame]:
    """Yield the tables, and the facts by name, that another process finds in a file.

    Parameters
    ----------
    kind
        ``parquet``, ``parquet files`` or ``xlsx``.
    path, content
        The file, or the bytes to parse instead.
    size
        In bytes, if it is not that of the file or content: limits depend on it.
    options
        See the function of that kind in `isolated_child`.

    Raises
    ------
    ValueError
        If the file cannot be parsed; the message says why, and names no file.
    """
    if size is None:
        size = len(content) if content is not None else path.stat().st_size
    request = {"kind": kind, "path": None if content is not None else os.fspath(path.resolve()), "size": size}
    most = max(limit("table unpacked"), limit("unpacked ratio") * size)
    command = [sys.executable, "-P", str(_PROGRAM), json.dumps({**request, "most": most, **options})]
    try:
        child = subprocess.Popen(  # noqa: S603 - our own program
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise DataError(f"cannot start the process that reads {kind}: {error.strerror or error}") from error
    with child:
        try:
            with suppress(OSError), child.stdin as pipe:  # type: ignore[union-attr]  # it may have ended already
                pipe.write(content or b"")
            yield from _messages(child, _WAIT_SECONDS + size / _BYTES_PER_SECOND, 2 * most)
        finally:
            child.kill()


def _messages(child: "subprocess.Popen[bytes]", wait: float, most: int) -> Iterator[dict[str, Any] | pl.DataFrame]:
    """Yield what the process sends; it ends with a message, or has died."""
    while True:
        timer = Timer(wait, child.kill)
        timer.start()
        try:
            mark, payload = _next_message(child.stdout, most)  # type: ignore[arg-type]
        finally:
            timer.cancel()
        if mark == b"t":
            yield _table(payload)
        elif mark == b"i":
            yield json.loads(payload)
        elif mark == b"e":
            raise ValueError(payload.decode("utf-8", "replace"))
        else:
            return


def _next_message(pipe: IO[bytes], most: int) -> tuple[bytes, bytes]:
    header = pipe.read(_HEADER.size)
    if len(header) == _HEADER.size:
        mark, size = _HEADER.unpack(header)
        payload = pipe.read(size) if size <= most else b""
        if len(payload) == size:
            return mark, payload
    raise ValueError(_DIED)


def _table(payload: bytes) -> pl.DataFrame:
    try:
        return pl.read_ipc_stream(io.BytesIO(payload))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise ValueError(_DIED) from None
