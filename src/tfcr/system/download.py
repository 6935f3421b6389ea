"""Downloads: atomic, resumed after an interruption, checked by size and hash, safe with several processes.

An unfinished download is kept beside the target as ``.name.part``, with a note of the file and version it belongs to.
Only a file of the right size and hash gets the final name, and a seal by which later damage is noticed. Size and time
of every download are limited by rows of `system.limits`.
"""

import errno
import io
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import IO, Any
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from tfcr.errors import DownloadError
from tfcr.system.files import locked, write_file
from tfcr.system.limits import in_words, is_there, limit, parse_json, read_regular
from tfcr.system.progress import Progress
from tfcr.system.seals import broken_by, sum_of, write_seal

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
        part_path = folder / f".{wanted.name}.part"
        if again or not target.exists():
            part = _Part(wanted, part_path)
            _receive_all(part, progress or (lambda done, total: None), tell, timeout)
            part.finish(target, _check_sum(part))
        elif not part_path.exists():
            part_path.with_name(part_path.name + "-of").unlink(missing_ok=True)  # left by a process killed at its end
    return target


def seal_download(target: Path, sha256: str) -> None:
    """Note what a downloaded or unpacked file holds."""
    write_seal(_seal_of(target), {target: sha256})


def changed_since_download(place: Path) -> str | None:
    """Return what is wrong with a downloaded file, or the files of a folder, if it changed on disk since; else None.

    Files that have no seal are not ours to judge.
    """
    try:
        files = sorted(place.iterdir())
    except OSError:  # a file; or a folder that cannot be listed, which its reader tells
        files = [place]
    broken = (broken_by(_seal_of(file), [file]) for file in files if is_there(_seal_of(file)))
    return next((what for what in broken if what), None)


def _seal_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.seal")


def _check_address(url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise DownloadError(f"found the address {url}; expected one that starts with https:// or http://")


# unfinished downloads -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Version:
    """The version of a file that a part belongs to: its URL, its size, and the server's ETag and date for it."""

    url: str
    total: int | None = None
    etag: str = ""
    modified: str = ""

    @property
    def mark(self) -> str:
        """What If-Range takes: a weak ETag does not guarantee the same bytes."""
        return self.modified if self.etag.startswith("W/") else self.etag or self.modified


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
            version = _Version(**parse_json(read_regular(self.note, "settings")))
        except (OSError, ValueError, TypeError):
            return None
        sure = isinstance(version.mark, str) and (version.mark or self.wanted.sha256)
        return version if sure and version.url == self.wanted.url and self.size else None

    def start(self, version: _Version) -> None:
        """Start from the first byte. The note is written first, so that every part has one."""
        self.path.unlink(missing_ok=True)
        write_file(self.note, json.dumps(asdict(version)).encode())
        self.path.touch()

    def finish(self, target: Path, sha256: str) -> None:
        """Flush the file to disk, give it its final name, and seal it."""
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())
        _seal_of(target).unlink(missing_ok=True)  # that of an older version
        self.path.replace(target)
        self.note.unlink(missing_ok=True)
        seal_download(target, sha256)

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


# receiving ---------------------------------------------------------------------------------------------------------


class _CutError(Exception):
    """The connection broke or the server is busy: worth another attempt."""


class _SlowError(OSError):
    """Less data than `download rate`: worth another attempt, but not many, however much has come."""


def _receive_all(part: _Part, progress: Progress, tell: Tell, timeout: float) -> None:
    """Connect until the file is complete; give up after TRIES connections without new data."""
    most = part.size
    failures = slow = 0
    if part.version is not None:
        tell(f"{part.wanted.name}: resuming at {in_words(part.size)}")
    while True:
        try:
            _receive(part, progress, timeout)
        except _CutError as cut:
            failures = 1 if part.size > most else failures + 1
            slow += isinstance(cut.__cause__, _SlowError)
            most = max(most, part.size)
            if max(failures, slow) >= TRIES:
                raise DownloadError(_given_up(part, cut)) from cut
            tell(f"{part.wanted.name}: {cut} after {in_words(part.size)}; trying again")
            time.sleep(PAUSE * 2 ** (failures - 1))
        else:
            return


def _given_up(part: _Part, cut: _CutError) -> str:
    kept = f"; {in_words(part.size)} are kept: type the same command again to resume"
    return f"{part.wanted.url}: {cut}, {TRIES} times in a row{kept if part.version else '; try again later'}"


def _receive(part: _Part, progress: Progress, timeout: float) -> None:
    """Request the missing bytes and append them."""
    version = part.version
    if version is not None and part.size == version.total:
        return  # complete, but the process ended before the last check
    with _ask(part, version, timeout) as answer:
        offered = _read_head(part, version, answer)
        most = offered.total if offered.total is not None else part.wanted.size or limit("download")
        for chunk in _chunks(answer, most - part.size):
            if part.size + len(chunk) > most:
                part.drop()
                raise DownloadError(
                    f"{part.wanted.url}: the server sends more than {most:,} bytes; expected no more: it is another "
                    "file"
                )
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
    except DownloadError:
        raise
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
        slow = error.reason if isinstance(error.reason, _SlowError) else None
        raise _CutError(f"no connection ({error.reason})") from slow
    except (OSError, HTTPException) as error:
        raise _CutError(f"no connection ({error or type(error).__name__})") from error
    except ValueError as error:  # an address that cannot be, to which the server leads
        raise DownloadError(
            f"{part.wanted.url} leads nowhere ({error}); expected an address of http or https"
        ) from None


class _Paced(io.RawIOBase):
    """What a server sends: no slower than `download rate`, and no more than `most` bytes.

    A connection's own timeout starts again with every byte, and the standard library reads lines of headers and chunks
    without end.
    """

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.most = limit("download head")
        self.received = self.lately = 0
        self.waited = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        began = time.monotonic()
        n_read: int = self.raw.readinto(buffer) or 0
        self.waited += time.monotonic() - began  # only what the server takes: we may be slow too
        self.received += n_read
        self.lately += n_read
        if self.received > self.most:
            raise OSError(f"the server sends more than {in_words(self.most)} around its data")
        if self.waited > limit("download window"):
            if self.lately < limit("download rate") * self.waited:
                raise _SlowError(f"slower than {limit('download rate'):,} bytes per second")
            self.waited = self.lately = 0
        return n_read

    def close(self) -> None:
        self.raw.close()
        super().close()


class _PacedResponse(HTTPResponse):
    def __init__(self, sock: Any, *rest: Any, **named: Any) -> None:
        super().__init__(sock, *rest, **named)
        self.paced = _Paced(self.fp.detach())
        self.fp = io.BufferedReader(self.paced)


class _PacedConnection(HTTPConnection):
    response_class = _PacedResponse


class _PacedSecureConnection(HTTPSConnection):
    response_class = _PacedResponse


class _PacedHandler(request.HTTPHandler):
    def http_open(self, req: request.Request) -> HTTPResponse:
        return self.do_open(_PacedConnection, req)


class _PacedSecureHandler(request.HTTPSHandler):
    def https_open(self, req: request.Request) -> HTTPResponse:
        return self.do_open(_PacedSecureConnection, req)


class _SafeRedirects(request.HTTPRedirectHandler):
    """Follows redirects, but never from https to an unencrypted address."""

    max_redirections = limit("redirects")

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
        _PacedHandler(),
        _PacedSecureHandler(),
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
    if answer.status not in (200, 206):
        raise DownloadError(f"{part.wanted.url}: the server answers {answer.status}; expected the file")
    if headers.get_content_type() == "text/html":
        raise DownloadError(f"{part.wanted.url}: the server sends a web page; expected the file {part.wanted.name}")
    begins, total = _extent(headers, answer.status)
    offered = _Version(part.wanted.url, total, headers.get("ETag") or "", headers.get("Last-Modified") or "")
    _check_size(part, offered)
    if begins == 0:  # the first request, or the server ignores Range
        part.start(offered)
    elif version is None or begins != part.size:
        part.drop()
        raise _CutError("the server sends another range than requested")
    elif version != offered:  # it should have sent the whole file then, but servers break that promise
        part.drop()
        raise _CutError("the file has changed on the server")
    _check_space(part, offered)
    return offered


def _extent(headers: Any, status: int) -> tuple[int, int | None]:
    """Return the position of the answer's first byte, and the size of the whole file."""
    if status == 206:
        kind, _, rest = headers.get("Content-Range", "").partition(" ")
        span, _, total = rest.partition("/")
        begins, _, ends = span.partition("-")
        first, last, size = _number(begins), _number(ends), _number(total)
        if kind == "bytes" and first is not None and last is not None and (size is None or first <= last < size):
            return first, size
        return -1, None
    return 0, _number(headers.get("Content-Length", ""))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


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
            f"{part.wanted.name} needs {in_words(missing)} more, and {part.path.parent} has {in_words(free)} left; "
            "make room, or set TFCR_CACHE to a folder on a larger disk"
        )


def _chunks(answer: Any, expected: int) -> Iterator[bytes]:
    """Yield the content as it comes; what the server wraps it in may be as large again."""
    answer.paced.most = answer.paced.received + 2 * expected + limit("download head")
    while True:
        try:
            chunk = answer.read1(CHUNK)
        except (OSError, HTTPException, ValueError) as error:
            raise _CutError(f"the connection was cut ({error or type(error).__name__})") from error
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
            f"no space left in {part.path.parent} after {in_words(part.size)} of {part.wanted.name}; make room and "
            "type the same command again to resume"
        ) from error


def _check_sum(part: _Part) -> str:
    """Return the hash; raise DownloadError for a wrong size or hash, and delete the file: none of it can be trusted."""
    size, expected = part.wanted.size, part.wanted.sha256
    sha256 = sum_of(part.path)
    if size is not None and part.size != size:
        found = f"{part.size:,} bytes; expected {size:,}"
    elif expected and sha256 != expected:
        found = f"the SHA-256 sum {sha256}; expected {expected}"
    else:
        return sha256
    part.drop()
    raise DownloadError(f"{part.wanted.url}: found {found}: it is another file, or damaged, and was not kept")
