"""The door: who may ask, how much, and how many at once. No text gets past it into a log.

Checks stand in the order in which they refuse: Host, Origin, token, room in the queue, size and time of the body.
A body that is refused is still read to its end, as far as it is reasonable, and thrown away: a client that is sending
reads no answer before. An uploaded file is handed on in parts, and never held as a whole.
"""

import asyncio
import hmac
import ipaddress
import logging
import re
import time
import traceback
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tfcr.serving.metrics import Metrics
from tfcr.serving.problems import RETRY, RequestError, internal_error
from tfcr.serving.settings import Settings

WITH_BODY = frozenset({"label", "predict", "explain", "try", "files"})
"""First parts of paths whose requests have a body of JSON, and go through the queue."""
UPLOADS = frozenset({"/files"})
"""Paths whose requests have a file as their body, which is read in parts."""
MOST_UPLOADS = 4
"""Files that each worker receives at the same time: a slow one takes no place of the queue."""
PART = 1 << 16
"""Bytes of an uploaded file that are handed on at once, and must arrive within the time that a request may take."""
OPEN = frozenset({"/health"})
"""Paths that need no token: for load balancers."""
MOST_DISCARDED = 1 << 27
"""Bytes of a refused body that are read and thrown away."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""What every answer tells browsers."""
POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
"""Content security policy of answers that bring none of their own."""
MOST_PARAMETERS = 20
"""Parameters of the link that holds the token."""
HUNG_UP = 499
JSON = "application/json"
FILE = "application/octet-stream"
_LINK = re.compile(rb"(^|&)token=")

logger = logging.getLogger("tfcr")


class HungUpError(Exception):
    """The client has gone before its request was complete."""


class Guard:
    """Stands around the application."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self.app = app
        self.limits = settings.limits
        self.metrics = metrics
        self.hosts = settings.allowed_hosts
        self.takes_addresses = not settings.is_local
        self.bearer = None if settings.token is None else f"Bearer {settings.token}".encode()
        self.token = None if settings.token is None else settings.token.encode()
        self.use_port(settings.port)
        # not the token itself: whoever reads the cookie cannot make it a header
        self.cookie = "" if self.token is None else hmac.new(self.token, b"cookie", sha256).hexdigest()
        self.waiting = 0
        self.uploading = 0

    def use_port(self, port: int) -> None:
        """Name the cookie by the port: browsers share cookies between the ports of a machine."""
        self.cookie_name = f"tfcr-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        began, answer = time.perf_counter(), _Answer(send)
        headers: dict[bytes, bytes] = dict(scope["headers"])
        try:
            await self._admit(scope, headers, receive, answer)
        except RequestError as problem:
            await answer.refuse(problem)
        except HungUpError:
            pass
        except Exception as error:
            _log(error)
            await answer.refuse(internal_error())
        self.metrics.count(scope["path"], answer.status or HUNG_UP, time.perf_counter() - began)

    async def _admit(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, answer: "_Answer") -> None:
        has_body = scope["method"] == "POST" and scope["path"].lstrip("/").partition("/")[0] in WITH_BODY
        is_upload = has_body and scope["path"] in UPLOADS
        try:
            self._check_host(headers)
            _check_origin(headers)
            if self.token is not None and scope["path"] not in OPEN:
                if scope["method"] == "GET" and _LINK.search(scope["query_string"]):
                    await answer.redirect(*self._entrance(scope))
                    return
                self._check_token(headers)
            if has_body:
                self._check_body(headers, is_upload=is_upload)
        except RequestError:
            if has_body:
                await self._discard(headers, receive, 0)
            raise
        if not has_body:
            await self.app(scope, receive, answer.send)
            return
        if is_upload:
            await self._pass_on(scope, headers, receive, answer)
            return
        self.waiting += 1
        self.metrics.add("accepted")
        self.metrics.add("waiting")
        try:
            scope["tfcr.body"] = await self._read(headers, receive)
            await self.app(scope, receive, answer.send)
        finally:
            self.waiting -= 1
            self.metrics.add("waiting", -1)
            if answer.is_complete:
                self.metrics.add("answered")

    # who may ask ---------------------------------------------------------------------------------------------------

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse names that are not ours: a page elsewhere may have had its name led to this address."""
        host = host_name(headers.get(b"host", b"").decode("latin-1"))
        if host not in self.hosts and not (self.takes_addresses and _is_address(host)):
            known = ", ".join(sorted(self.hosts))
            raise RequestError(
                421, f"found the Host {host[:80]!r}", f"one of {known}; tfcr serve --allow-host adds others"
            )

    def _check_token(self, headers: dict[bytes, bytes]) -> None:
        given = headers.get(b"authorization", b"")
        if self.bearer is not None and hmac.compare_digest(given, self.bearer):
            return
        if hmac.compare_digest(_cookie(headers, self.cookie_name).encode(), self.cookie.encode()):
            return
        found = "no token" if not given else "a wrong token"
        expected = "the header Authorization: Bearer TOKEN, or in a browser the link that was printed at the start"
        raise RequestError(401, f"found {found}", expected, {"www-authenticate": "Bearer"})

    def _entrance(self, scope: Scope) -> tuple[str, str]:
        """Return the page that the printed link leads to, without the token, and the cookie that takes its place."""
        query: dict[str, list[str]] = {}
        with suppress(ValueError):  # more parameters than any link of ours has
            query = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=MOST_PARAMETERS)
        given = query.pop("token", [""])[-1].encode()
        if not hmac.compare_digest(given, self.token or b""):
            raise RequestError(401, "found a wrong token in the link", "the link that was printed at the start")
        rest = urlencode(query, doseq=True)
        secure = "; Secure" if scope["scheme"] == "https" else ""
        # never to another host: //elsewhere is one
        place = quote("/" + scope["path"].lstrip("/\\")) + (f"?{rest}" if rest else "")
        return place, f"{self.cookie_name}={self.cookie}; HttpOnly; SameSite=Strict; Path=/{secure}"

    # how much, and how many at once --------------------------------------------------------------------------------

    def _check_body(self, headers: dict[bytes, bytes], *, is_upload: bool) -> None:
        kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
        expected = FILE if is_upload else JSON
        if kind != expected:
            raise RequestError(415, f"found the content type {kind[:80]!r}", expected)
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise RequestError(415, "found a compressed body", "a body that is not compressed")
        length = headers.get(b"content-length", b"0")
        if not length.isdigit():
            raise RequestError(400, "found a Content-Length that is no number", "the number of bytes of the body")
        if is_upload:
            if int(length) > self.limits.max_upload:
                raise self._file_too_large(int(length))
            if self.uploading >= MOST_UPLOADS:
                raise RequestError(503, f"{self.uploading} files are being uploaded", "to try again later", RETRY)
            return
        if int(length) > self.limits.max_body:
            raise self._too_large(int(length))
        if self.waiting >= self.limits.queue:
            raise RequestError(
                503, f"the queue is full: {self.waiting} requests are being answered", "to try again later", RETRY
            )

    def _too_large(self, size: int) -> RequestError:
        return RequestError(
            413, f"found a body of {size:,} bytes or more", f"at most {self.limits.max_body:,}: send several requests"
        )

    def _file_too_large(self, size: int) -> RequestError:
        return RequestError(
            413,
            f"found a file of {size:,} bytes or more",
            f"at most {self.limits.max_upload:,}: split it, or start the server with a larger --max-upload",
        )

    async def _pass_on(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, answer: "_Answer") -> None:
        """Let the application read a file in parts; what it leaves is thrown away before it answers."""
        upload = scope["tfcr.upload"] = Upload(self, receive)

        async def send(message: Message) -> None:
            if upload.has_hung_up:
                return
            if message["type"] == "http.response.start" and not upload.is_complete:
                await self._discard(headers, receive, max(1, upload.size))
            await answer.send(message)

        self.uploading += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.uploading -= 1

    async def _read(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.timeout):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise HungUpError
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.limits.max_body:
                        break
                    if not message.get("more_body"):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise RequestError(
                408,
                f"the body was not complete after {self.limits.timeout:g} s",
                "all of it within that time",
                {"connection": "close"},
            ) from None
        parts.clear()
        await self._discard(headers, receive, size)
        raise self._too_large(size)

    async def _discard(self, headers: dict[bytes, bytes], receive: Receive, size: int) -> None:
        """Read the rest of a body and throw it away, unless the client waits to be told to send it."""
        if not size and b"100-continue" in headers.get(b"expect", b"").lower():
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self.limits.timeout):
                while size <= MOST_DISCARDED:
                    message = await receive()
                    size += len(message.get("body", b""))
                    if message["type"] == "http.disconnect" or not message.get("more_body"):
                        return


class Upload:
    """The body of a request as a file that arrives in parts.

    Attributes
    ----------
    size
        Bytes that have arrived.
    is_complete, has_hung_up
        Whether all have arrived; whether the client has gone before it was answered.
    """

    def __init__(self, guard: Guard, receive: Receive) -> None:
        self._guard, self._receive = guard, receive
        self.size = 0
        self.is_complete = self.has_hung_up = False

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the file in parts of about PART bytes, each of which must arrive in time.

        Raises
        ------
        RequestError
            If the file is too large, or too slow.
        HungUpError
            If the client has gone.
        """
        while not self.is_complete:
            try:
                async with asyncio.timeout(self._guard.limits.timeout):
                    found = await self._next()
            except TimeoutError:
                raise RequestError(
                    408,
                    f"less than {PART:,} bytes of the file arrived in {self._guard.limits.timeout:g} s",
                    "a faster connection, or a smaller file",
                    {"connection": "close"},
                ) from None
            if self.size > self._guard.limits.max_upload:
                raise self._guard._file_too_large(self.size)
            yield found

    def give_up(self) -> NoReturn:
        """Answer nothing: the client has gone."""
        self.has_hung_up = True
        raise HungUpError

    async def _next(self) -> bytes:
        found = bytearray()
        while len(found) < PART and not self.is_complete:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.give_up()
            found += message.get("body", b"")
            self.is_complete = not message.get("more_body")
        self.size += len(found)
        return bytes(found)


class _Answer:
    """Passes an answer on, with the headers that every answer has, and notices how far it has got."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0
        self.is_complete = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": _with_defaults(message.get("headers", ()))}
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.is_complete = True

    async def refuse(self, problem: RequestError) -> None:
        if not self.status:  # otherwise it is too late: a part of another answer has been sent
            await self._send_all(problem.status, {"content-type": JSON, **problem.headers}, problem.body)

    async def redirect(self, place: str, cookie: str) -> None:
        await self._send_all(303, {"location": place, "set-cookie": cookie}, b"")

    async def _send_all(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        named = {**headers, "content-length": str(len(body))}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self.send({"type": "http.response.body", "body": body})


_DEFAULTS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
_POLICY = (b"content-security-policy", POLICY.encode())


def _with_defaults(headers: Any) -> list[tuple[bytes, bytes]]:
    found = [*headers, *_DEFAULTS]
    return found if any(name == _POLICY[0] for name, _ in headers) else [*found, _POLICY]


def _check_origin(headers: Mapping[bytes, bytes]) -> None:
    """Refuse requests of pages from elsewhere; programs send no Origin."""
    origin = headers.get(b"origin")
    if origin is None:
        return
    with suppress(ValueError):
        if urlsplit(origin.decode("latin-1")).netloc.lower() == headers.get(b"host", b"").decode("latin-1").lower():
            return
    raise RequestError(
        403, f"found the Origin {origin[:80].decode('latin-1')!r}", "a page of this server, or no browser"
    )


def host_name(host: str) -> str:
    """Return a Host header without its port, in lower case.

    >>> host_name("LocalHost:8765"), host_name("[::1]:80"), host_name("")
    ('localhost', '[::1]', '')
    """
    name, _, port = host.rpartition(":")
    return (name if name and port.isdecimal() else host).lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _cookie(headers: Mapping[bytes, bytes], name: str) -> str:
    """Return a cookie; those that other programs of this machine have set may be of any form."""
    for pair in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        given, _, value = pair.partition("=")
        if given.strip() == name:
            return value.strip()
    return ""


def _log(error: Exception) -> None:
    """Log where an error arose, and not what it says: that may quote a text."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    where = ", ".join(f"{Path(place.filename).name}:{place.lineno}" for place in places)
    logger.error("%s at %s", type(error).__name__, where)
