"""Running the application with uvicorn: one process, or several that share the address and the model's memory."""

import asyncio
import errno
import gc
import logging
import math
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.supervisors.multiprocess import Multiprocess

from tfcr.errors import InputError
from tfcr.serving.app import make_app
from tfcr.serving.documents.scored import ScoredDocuments
from tfcr.serving.guard import Guard
from tfcr.serving.models import Models
from tfcr.serving.settings import Settings
from tfcr.system.files import scratch_folder
from tfcr.system.hardware import n_threads

BACKLOG = 2048
"""Connections that wait to be accepted."""
KEEP_ALIVE = 20
"""Seconds after which a connection without a request is closed."""
START = 120
"""Seconds that a worker may take to answer its supervisor: it loads the model first."""


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """uvicorn's protocol, with a limit on the time that the headers of a request may take; it has none itself."""

    seconds = 30.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._timer = self.loop.call_later(self.seconds, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Wait no longer once headers are complete; begin to wait if they are not."""
        super().data_received(data)
        if not self._is_waiting():
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        super().connection_lost(exc)

    def _is_waiting(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._is_waiting() and not self.transport.is_closing():
            self.transport.close()


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; connections wait in it until the server has started."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise InputError(f"found the host {host}, which has no address ({error}); expected such as 127.0.0.1") from None
    found = socket.socket(family, kind, protocol)
    try:
        if os.name != "nt":  # there it would let two servers share a port
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        raise InputError(_refused(host, port, error)) from None
    return found


def _refused(host: str, port: int, error: OSError) -> str:
    reasons = {
        errno.EADDRINUSE: "another program listens there; give another one: --port 0 takes any that is free",
        errno.EACCES: "you may not listen there; give a port of 1024 or more",
        errno.EADDRNOTAVAIL: "it is no address of this machine; expected such as 127.0.0.1",
    }
    return f"cannot listen on {host}, port {port}: {reasons.get(error.errno or 0, error.strerror or error)}"


def serve(
    settings: Settings, started: Callable[[Settings], object], make: Callable[[Settings], Guard] = make_app
) -> None:
    """Serve until SIGTERM or Ctrl-C, and answer what was accepted before.

    Parameters
    ----------
    settings
        What to serve, and where.
    started
        Called once clients can connect, with the settings and the port that was found.
    make
        Makes the application, if there is one process.

    Raises
    ------
    ModelError, InputError
        If a model cannot be loaded, or the address not be used.
    KeyboardInterrupt
        After Ctrl-C.
    """
    several = settings.workers > 1
    if several:
        models = Models(settings.folders)  # so that a model that cannot be loaded is refused here, in one line
        if settings.documents is not None:
            ScoredDocuments(settings.documents, models, n_threads())  # once, for all workers
        del models
        gc.collect()  # the workers load their own
    with scratch_folder() if several else nullcontext() as shared:
        app = None if several else make(settings)
        listening = open_socket(settings.host, settings.port)
        settings = replace(settings, port=listening.getsockname()[1], metrics=shared)
        if app is not None:
            app.use_port(settings.port)
        started(settings)
        if app is not None:
            _run_here(settings, app, listening)
        else:
            _run_workers(settings, listening)


def _config(settings: Settings, app: Any, **options: Any) -> uvicorn.Config:
    PatientProtocol.seconds = settings.limits.timeout
    return uvicorn.Config(
        app,
        http=PatientProtocol,
        ws="none",
        log_level="warning",
        access_log=False,  # it would hold the token of the link
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=math.ceil(2 * settings.limits.timeout) + 1,
        backlog=BACKLOG if settings.workers == 1 else 1,
        lifespan="on",
        **options,
    )


def _run_here(settings: Settings, app: Guard, listening: socket.socket) -> None:
    before = signal.signal(signal.SIGTERM, _ignore)  # uvicorn raises it again at the end
    try:
        uvicorn.Server(_config(settings, app)).run(sockets=[listening])
    finally:
        signal.signal(signal.SIGTERM, before)


def _ignore(*_: Any) -> None:
    """Take a signal that has been obeyed already."""


class Workers(Multiprocess):
    """uvicorn's supervisor, which remembers Ctrl-C, and keeps the queue of connections long.

    asyncio accepts as many connections at once as its backlog: the first worker to wake up would take them all, and
    keep them. Workers therefore have a backlog of 1, and the supervisor makes that of their common socket long again.
    """

    interrupted = False

    def keep_subprocess_alive(self) -> None:
        """Look after the workers, every half second."""
        for listening in self.sockets:
            listening.listen(BACKLOG)
        super().keep_subprocess_alive()

    def terminate_all(self) -> None:
        """Take no more connections, and let the workers end."""
        for listening in self.sockets:
            listening.close()
        super().terminate_all()

    def handle_int(self) -> None:
        """Begin to end."""
        self.interrupted = True
        super().handle_int()


def _run_workers(settings: Settings, listening: socket.socket) -> None:
    config = _config(
        settings,
        partial(make_worker, settings),
        factory=True,
        workers=settings.workers,
        timeout_worker_healthcheck=START,
    )
    workers = Workers(config, sockets=[listening])
    workers.run()
    if workers.interrupted:
        raise KeyboardInterrupt


def make_worker(settings: Settings) -> Guard:
    """Return the application of one worker process."""
    logger = logging.getLogger("tfcr")
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("note: %(message)s"))
        logger.addHandler(handler)
    PatientProtocol.seconds = settings.limits.timeout
    return make_app(settings)
