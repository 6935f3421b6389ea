"""Downloads: atomic, resumed after an interruption, checked by size and hash, safe with several processes.

An unfinished download is kept beside the target as ``.name.part``, with a note of the file and version it belongs to.
Only a file of the right size and hash gets the final name.
"""

import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from typing import IO, Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from tfcr.errors import DownloadError
from tfcr.system.files import locked, write_file
from tfcr.system.progress import Progress

CHUNK = 1 << 18
TIMEOUT = 30.0
"""Seconds without data after which a connection counts as lost."""
TRIES = 5
"""Give up after this many connections in a row without new data."""
PAUSE = 1.0
"""Seconds before the second attempt; each later pause is twice as long."""

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Download:
    """A file on the web.

    Attributes
    ----------
    url
        http or https.
    name
        The file name on disk.
    size, sha256
        Checked if known.
    tried
        The date of the last successful download; empty: never tried by us.
    """

    url: str
    name: str
    size: int | None = None
    sha256: str = ""
    tried: str = ""


def download(
    wanted: Download,
    folder: Path,
    *,
    again: bool = False,
    progress: Progress | None = None,
    tell: Tell | None = None,
    timeout: float = TIMEOUT,
) -> Path:
    """Download a file if it is missing, and return its path.

    Parameters
    ----------
    wanted
        The file.
    folder
        Created if missing.
    again
        Download it even if it exists; the old file is kept until the new one is complete.
    progress
        Called with the number of bytes done and the total.
    tell
        Called with messages for the user: that a download is resumed, retried or waited for.
    timeout
        Seconds to wait for data.
    """
    _check_address(wanted.url)
    tell = tell or (lambda text: None)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target, lock = folder / wanted.name, folder / f".{wanted.name}.lock"
    with locked(lock, lambda: tell(f"another process is downloading {wanted.name}; waiting for it"), remove=True):
        if again or not target.exists():
            part = _Part(wanted, folder / f".{wanted.name}.part")
            _receive_all(part, progress or (lambda done, total: None), tell, timeout)
            _check_sum(part)
            part.finish(target)
    return target


def _check_address(url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError(f"found the address {url}; expected one that starts with https:// or http://")


# unfinished downloads -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Version:
    """The version of a file that a part belongs to: its URL, its size, and the server's ETag or date for it."""

    url: str
    total: int | None = None
    mark: str = ""


class _Part:
    """The first bytes of a file, and the note of which version they belong to."""

    def __init__(self, wanted: Download, path: Path) -> None:
        self.wanted = wanted
        self.path = path
        self.note = path.with_name(path.name + "-of")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    @property
    def version(self) -> _Version | None:
        """The version of the part; None if there is nothing to resume."""
        try:
            version = _Version(**json.loads(self.note.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None
        return version if version.url == self.wanted.url and self.size else None

    def start(self, version: _Version) -> None:
        """Start from the first byte. The note is written first, so that every part has one."""
        self.path.unlink(missing_ok=True)
        write_file(self.note, json.dumps(asdict(version)).encode())
        self.path.touch()

    def finish(self, target: Path) -> None:
        """Flush the file to disk and give it its final name."""
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        self.path.replace(target)
        self.note.unlink(missing_ok=True)

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


# receiving ---------------------------------------------------------------------------------------------------------


class _CutError(Exception):
    """The connection broke or the server is busy: worth another attempt."""


def _receive_all(part: _Part, progress: Progress, tell: Tell, timeout: float) -> None:
    """Connect until the file is complete; give up after TRIES connections without new data."""
    most = part.size
    failures = 0
    if part.version is not None:
        tell(f"{part.wanted.name}: resuming at {_in_words(part.size)}")
    while True:
        try:
            _receive(part, progress, timeout)
        except _CutError as cut:
            failures = 1 if part.size > most else failures + 1
            most = max(most, part.size)
            if failures >= TRIES:
                raise DownloadError(_given_up(part, cut)) from cut
            tell(f"{part.wanted.name}: {cut} after {_in_words(part.size)}; trying again")
            time.sleep(PAUSE * 2 ** (failures - 1))
        else:
            return


def _given_up(part: _Part, cut: _CutError) -> str:
    kept = f"; {_in_words(part.size)} are kept: type the same command again to resume"
    return f"{part.wanted.url}: {cut}, {TRIES} times in a row{kept if part.size else '; try again later'}"


def _receive(part: _Part, progress: Progress, timeout: float) -> None:
    """Request the missing bytes and append them."""
    version = part.version
    if version is not None and part.size == version.total:
        return  # complete, but the process ended before the last check
    with _ask(part, version, timeout) as answer:
        offered = _read_head(part, version, answer)
        for chunk in _chunks(answer):
            _append(part, chunk)
            progress(part.size, max(offered.total or 0, part.size))
    if offered.total is not None and part.size < offered.total:
        raise _CutError("the connection ended early")


def _ask(part: _Part, version: _Version | None, timeout: float) -> Any:
    """Send the request; raise _CutError for what is worth another attempt, DownloadError for a final refusal."""
    headers = {"User-Agent": "tfcr", "Accept-Encoding": "identity"}
    if version is not None:
        headers["Range"] = f"bytes={part.size}-"
        if version.mark:
            headers["If-Range"] = version.mark
    try:
        return _opener().open(request.Request(part.wanted.url, headers=headers), timeout=timeout)  # noqa: S310 - checked
    except HTTPError as error:
        error.close()
        if error.code == 416:  # the range does not exist: the file has changed
            part.drop()
            raise _CutError("the file has changed on the server") from None
        if error.code in (408, 429) or error.code >= 500:
            raise _CutError(f"the server answers {error.code} {error.reason}") from None
        raise DownloadError(
            f"{part.wanted.url}: the server answers {error.code} {error.reason}; expected the file {part.wanted.name}"
        ) from None
    except URLError as error:
        raise _CutError(f"no connection ({error.reason})") from None
    except (OSError, HTTPException) as error:
        raise _CutError(f"no connection ({error or type(error).__name__})") from None


class _SafeRedirects(request.HTTPRedirectHandler):
    """Follows redirects, but never from https to an unencrypted address."""

    def redirect_request(
        self, req: request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> request.Request | None:
        if req.type == "https" and urlsplit(newurl).scheme != "https":
            raise DownloadError(f"{req.full_url} leads to {newurl}; expected an address that starts with https://")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> request.OpenerDirector:
    """Return an opener for http and https alone: a redirect must not lead to a local file or ftp."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler(),
        request.HTTPHandler(),
        request.HTTPSHandler(),
        _SafeRedirects(),
        request.HTTPDefaultErrorHandler(),
        request.HTTPErrorProcessor(),
        request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _read_head(part: _Part, version: _Version | None, answer: Any) -> _Version:
    """Check the headers of the answer, and prepare the part for its content."""
    headers = answer.headers
    if headers.get_content_type() == "text/html":
        raise DownloadError(f"{part.wanted.url}: the server sends a web page; expected the file {part.wanted.name}")
    begins, total = _extent(headers, answer.status)
    offered = _Version(part.wanted.url, total, headers.get("ETag") or headers.get("Last-Modified") or "")
    _check_size(part, offered)
    if offered.mark.startswith("W/"):  # a weak ETag does not guarantee the same bytes
        offered = _Version(offered.url, offered.total)
    if begins == 0:  # the first request, or the server ignores Range
        part.start(offered)
    elif version is None or begins != part.size or total != version.total:
        part.drop()
        raise _CutError("the server sends another range than requested")
    _check_space(part, offered)
    return offered


def _extent(headers: Any, status: int) -> tuple[int, int | None]:
    """Return the position of the answer's first byte, and the size of the whole file."""
    if status == 206:
        kind, _, rest = headers.get("Content-Range", "").partition(" ")
        span, _, total = rest.partition("/")
        begins = span.partition("-")[0]
        if kind == "bytes" and begins.isdigit():
            return int(begins), int(total) if total.isdigit() else None
        return -1, None
    length = headers.get("Content-Length", "")
    return 0, int(length) if length.isdigit() else None


def _check_size(part: _Part, offered: _Version) -> None:
    expected = part.wanted.size
    if expected is not None and offered.total is not None and offered.total != expected:
        part.drop()
        raise DownloadError(
            f"{part.wanted.url}: the server offers {offered.total:,} bytes; expected {expected:,}: it is another file"
        )


def _check_space(part: _Part, offered: _Version) -> None:
    missing = (offered.total or 0) - part.size
    free = shutil.disk_usage(part.path.parent).free
    if missing > free:
        raise DownloadError(
            f"{part.wanted.name} needs {_in_words(missing)} more, and {part.path.parent} has {_in_words(free)} left; "
            "make room, or set TFCR_CACHE to a folder on a larger disk"
        )


def _chunks(answer: Any) -> Iterator[bytes]:
    while True:
        try:
            chunk = answer.read(CHUNK)
        except (OSError, HTTPException) as error:
            raise _CutError(f"the connection was cut ({error or type(error).__name__})") from None
        if not chunk:
            return
        yield chunk


def _append(part: _Part, chunk: bytes) -> None:
    try:
        with part.path.open("ab") as file:
            file.write(chunk)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DownloadError(
            f"no space left in {part.path.parent} after {_in_words(part.size)} of {part.wanted.name}; make room and "
            "type the same command again to resume"
        ) from error


def _check_sum(part: _Part) -> None:
    """Raise DownloadError for a wrong size or hash; the file is deleted, since no part of it can be trusted."""
    size, sha256 = part.wanted.size, part.wanted.sha256
    if size is not None and part.size != size:
        found = f"{part.size:,} bytes; expected {size:,}"
    elif sha256 and (sum_of_part := _sha256(part.path)) != sha256:
        found = f"the SHA-256 sum {sum_of_part}; expected {sha256}"
    else:
        return
    part.drop()
    raise DownloadError(f"{part.wanted.url}: found {found}: it is another file, or damaged, and was not kept")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _in_words(size: int) -> str:
    """Return a number of bytes with a unit.

    >>> _in_words(15_223_170)
    '15.2 MB'
    """
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
