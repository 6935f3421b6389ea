"""What a server is started with: models, address, token, limits."""

import ipaddress
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tfcr.errors import InputError
from tfcr.system.parameters import check_all, number, whole

LEAST_TOKEN = 16
"""Characters of a token: fewer can be guessed."""
GENERATED = "generated"
"""As a token: make one."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
MOST_WORKERS = 256

PARAMETERS = (
    whole("max_body", 1, 2**32),
    whole("max_upload", 1, 2**40),
    whole("max_batch", 1, 1_000_000),
    whole("max_text", 1, 10_000_000),
    whole("queue", 1, 100_000),
    number("timeout", 0.1, 86_400),
)
KEEP = whole("keep_days", 1, 36_500)
WORKERS = whole("workers", 1, MOST_WORKERS)
PORT = whole("port", 0, 65_535)


@dataclass(frozen=True)
class Limits:
    """How much one request may ask, and all of them together.

    Attributes
    ----------
    max_body
        Bytes of a request's body.
    max_batch
        Texts of a request.
    max_text
        Characters of a text.
    queue
        Requests with a body that are read, wait or are scored at the same time, in each worker; others are answered
        with 503.
    timeout
        Seconds that a client may take for its headers, and for its body, and that the answer may take.
    max_upload
        Bytes of a file that is uploaded to be classified.
    """

    max_body: int = 10_000_000
    max_batch: int = 1_000
    max_text: int = 1_000_000
    queue: int = 100
    timeout: float = 30.0
    max_upload: int = 100_000_000

    def __post_init__(self) -> None:
        check_all(PARAMETERS, asdict(self))


@dataclass(frozen=True)
class Settings:
    """What a server is started with.

    Attributes
    ----------
    folders
        The models: name → folder.
    host, port
        Where it listens.
    token
        What clients must know; None if they need nothing.
    hosts
        Names that the Host header may have, besides those of this machine.
    limits
        How much is accepted.
    workers
        Processes.
    metrics
        The folder in which workers share their counters; None if there is one process.
    work
        The folder for uploaded files and what people corrected in them; None if no files are taken.
    keep_days
        Days after their last change that uploaded files are deleted.
    documents
        The folder of the documents to list, written by `write_documents`; None if there are none.
    """

    folders: Mapping[str, Path]
    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = field(default=None, repr=False)
    hosts: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    workers: int = 1
    metrics: Path | None = None
    work: Path | None = None
    keep_days: int = 30
    documents: Path | None = None

    def __post_init__(self) -> None:
        KEEP.check(self.keep_days)
        WORKERS.check(self.workers)
        PORT.check(self.port)
        if self.token is not None and not _is_token(self.token):
            raise InputError(
                f"found a token of {len(self.token)} characters; expected at least {LEAST_TOKEN}, letters, digits and "
                f"-._~ only; leave it out, or give '{GENERATED}', to have one made"
            )
        if self.token is None and not self.is_local:
            raise InputError(f"found no token for {self.host}; expected one for any address but this machine's own")

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        return is_loopback(self.host)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The names that the Host header may have, without a port, in lower case."""
        names = {*LOCAL_NAMES, in_url(self.host), *(in_url(name) for name in self.hosts)}
        if not self.is_local:
            names.add(socket.gethostname())
        return frozenset(name.lower() for name in names)

    @property
    def address(self) -> str:
        """The address as a URL."""
        return f"http://{in_url(self.host)}:{self.port}"

    @property
    def link(self) -> str:
        """What to open in a browser: the address, with the token if there is one."""
        return f"{self.address}/?token={self.token}" if self.token else f"{self.address}/"


def _is_token(token: str) -> bool:
    return len(token) >= LEAST_TOKEN and token.isascii() and all(mark.isalnum() or mark in "-._~" for mark in token)


def token_for(given: str | None, host: str) -> str | None:
    """Return the token to use: the given one, or a new one if that is asked for, or if others can connect."""
    if given == GENERATED or (not given and not is_loopback(host)):
        return secrets.token_urlsafe(32)
    return given or None


def in_url(host: str) -> str:
    """Return a host as it stands in a URL: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, as seen by itself only; a name is looked up."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    try:
        found = socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False
    return all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def name_folders(folders: Sequence[str]) -> dict[str, Path]:
    """Return the models' folders by their names.

    >>> list(name_folders(["models/spam/", "topics"]))
    ['spam', 'topics']
    """
    found: dict[str, Path] = {}
    for folder in folders:
        path = Path(os.path.abspath(folder))  # noqa: PTH100 - a link keeps its own name
        if path.name in found:
            raise InputError(
                f"found two folders of the name {path.name}: {found[path.name]} and {path}; expected different names, "
                "by which requests tell models apart: rename one, or make a link of another name"
            )
        found[path.name] = path
    return found
