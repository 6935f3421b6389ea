"""Connecting to a Dask cluster, or starting one on this machine; what cannot work is refused before any long work."""

import asyncio
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from platform import python_version_tuple

import dask
from distributed import Client, LocalCluster
from distributed.comm import CommClosedError, connect
from distributed.security import Security
from distributed.versions import VersionMismatchWarning

from tfcr.errors import ClusterError, in_one_line
from tfcr.system.files import scratch_folder
from tfcr.system.hardware import n_processors

LOCAL = "local"
CONNECTING, WORKERS = 10.0, 30.0
"""Seconds until a scheduler must answer, and until it must have a worker."""
_NO_MEMORY_MANAGER = {"distributed.scheduler.active-memory-manager.start": False}
"""It would delete the copies of word vectors on all workers but one, which then are sent again for each pass."""


@contextmanager
def open_client(address: str, *, processes: int | None = None) -> Iterator[Client]:
    """Give a client of a cluster whose workers have this version of tfcr.

    Parameters
    ----------
    address
        Of a scheduler, such as ``tcp://host:8786`` or ``tls://host:8786`` (Dask's own settings name the certificates);
        or ``local``, for a cluster of processes on this machine, which ends with the block.
    processes
        Of a local cluster; by default one per processor.

    Raises
    ------
    ClusterError
        If no scheduler answers, it has no workers, or these have another version of tfcr or Python.
    """
    with ExitStack() as stack:
        if address == LOCAL:
            client = stack.enter_context(_local_client(processes or n_processors()))
        else:
            client = stack.enter_context(_connected(address))
            _await_workers(client, address)
            check_versions(client)
            stack.enter_context(_without_memory_manager(client))
        yield client


@contextmanager
def _local_client(processes: int) -> Iterator[Client]:
    """Start processes with one thread each, which listen to this machine only and write to a temporary folder."""
    with (
        scratch_folder() as folder,
        _quiet(),
        dask.config.set(_NO_MEMORY_MANAGER),
        LocalCluster(
            n_workers=processes,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # any free port; without bokeh there is no dashboard at all
            worker_dashboard_address="127.0.0.1:0",
            local_directory=str(folder),
            silence_logs=logging.CRITICAL,
            env={"TFCR_THREADS": "1", "POLARS_MAX_THREADS": "1"},
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    _check_scheduler(address)
    with _quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionMismatchWarning)  # we check what matters to us
        with Client(address, timeout=CONNECTING, set_as_default=False) as client:
            yield client


def _check_scheduler(address: str) -> None:
    """Raise ClusterError if no scheduler answers; a Client would try again and again, and closes slowly."""
    try:
        with _quiet(), ThreadPoolExecutor(1) as pool:  # a notebook has an event loop of its own
            kind = pool.submit(lambda: asyncio.run(asyncio.wait_for(_kind_of(address), CONNECTING))).result()
    except (OSError, ValueError, TypeError, RuntimeError, CommClosedError) as error:
        if "ssl_context" in str(error):
            raise ClusterError(
                f"found {address}, and no certificates; expected Dask's settings to name them: "
                "DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …TLS__CLIENT__CERT and …TLS__CLIENT__KEY, see docs/cluster.md"
            ) from None
        cause = error.__cause__ if isinstance(error.__cause__, CommClosedError) else error
        reason = re.sub(r"^in <.*?>: (\w+: )?", "", in_one_line(cause)) if str(cause) else "no answer"
        raise ClusterError(
            f"found no Dask scheduler at {address} ({reason}); expected one that answers within "
            f"{CONNECTING:.0f} seconds: start it with dask scheduler, or type --dask {LOCAL}"
        ) from None
    if kind != "Scheduler":
        raise ClusterError(f"found a Dask {kind.lower()} at {address}; expected the address of the scheduler")


async def _kind_of(address: str) -> str:
    """Return what answers at an address: Scheduler, Worker or Nanny."""
    settings = Security().get_connection_args("client")
    comm = await connect(address, timeout=CONNECTING / 2, **settings)
    try:
        await comm.write({"op": "identity", "reply": True})
        answer = await comm.read()
        return str(answer["type"]) if isinstance(answer, dict) and "type" in answer else "unknown"
    finally:
        comm.abort()


def _await_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKERS)
    except TimeoutError:
        raise ClusterError(
            f"the scheduler at {address} has had no workers for {WORKERS:.0f} seconds; expected one at least: start "
            f"some with dask worker {address}"
        ) from None


def check_versions(client: Client) -> None:
    """Raise ClusterError if a worker has no tfcr, or another version of it or of Python."""
    ours = _ours()
    for worker, theirs in sorted(client.run(_teller(), on_error="return").items()):
        if isinstance(theirs, BaseException):
            raise ClusterError(f"the worker {worker} does not answer: {in_one_line(theirs)}; start it again")
        for what, wanted, install in (
            ("tfcr", ours["tfcr"], f"pip install tfcr=={ours['tfcr']} there, and start the worker again"),
            ("Python", ours["Python"], "start the worker with that Python"),
        ):
            if theirs[what] != wanted:
                has = f"has {what} {theirs[what]}" if theirs[what] else f"has no {what}"
                raise ClusterError(f"the worker {worker} {has}; expected {what} {wanted}, as here: {install}")


def _ours() -> dict[str, str]:
    return {"tfcr": version("tfcr"), "Python": ".".join(python_version_tuple()[:2])}


def _teller() -> Callable[[], dict[str, str]]:
    """Return a function that tells versions; it is sent as code, since a worker may have no tfcr to import it from."""

    def tell() -> dict[str, str]:
        import importlib.metadata  # noqa: PLC0415
        import platform  # noqa: PLC0415

        try:
            found = importlib.metadata.version("tfcr")
        except importlib.metadata.PackageNotFoundError:
            found = ""
        return {"tfcr": found, "Python": ".".join(platform.python_version_tuple()[:2])}

    tell.__module__ = "__main__"
    return tell


@contextmanager
def _without_memory_manager(client: Client) -> Iterator[None]:
    """Stop Dask's memory manager for as long as we use a cluster, if it runs."""
    runs = bool(client.amm.running())
    if runs:
        client.amm.stop()
    try:
        yield
    finally:
        if runs:
            with suppress(Exception):  # the scheduler may be gone
                client.amm.start()


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's log off the screen: what matters of it we say ourselves, in one line."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
