"""Counters for Prometheus, in its text format.

All counters stand in one array of numbers. If there are several workers, each maps its array to a file of a folder that
they share, and whoever is asked adds up the files: the counters of a worker that has ended still count.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUTES = (
    *("/predict", "/explain", "/model", "/words", "/health", "/metrics", "/openapi.json", "/docs", "/"),
    *("/try", "/try/explain", "/try/word"),
    *("/documents", "/documents/classes", "/documents/class", "/documents/list", "/documents/text"),
    *("/classify", "/files", "other"),
)
FAMILIES = ("/files",)
"""Routes that stand for all paths below them."""
STATUSES = (
    *(200, 206, 303, 304, 400, 401, 403, 404, 405, 408, 409, 413, 415, 416, 421, 422, 499, 500, 503, 507),
    "other",
)
"""499: the client hung up before its request was complete, and got no answer."""
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds."""
SINGLE = {
    "texts": ("counter", "tfcr_texts_total", "Texts that were classified or explained."),
    "accepted": ("counter", "tfcr_accepted_total", "Requests with a body that were taken into the queue."),
    "answered": ("counter", "tfcr_answered_total", "Requests of the queue that were answered."),
    "waiting": ("gauge", "tfcr_queue", "Requests that are read, wait or are scored now."),
}
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_N_ROUTES, _N_STATUSES, _N_BUCKETS = len(ROUTES), len(STATUSES), len(BUCKETS) + 1
_BUCKET_START = _N_ROUTES * _N_STATUSES
_SUM_START = _BUCKET_START + _N_ROUTES * _N_BUCKETS
_SINGLE_START = _SUM_START + _N_ROUTES
SIZE = _SINGLE_START + len(SINGLE)
_ROUTE_NUMBERS = {route: number for number, route in enumerate(ROUTES)}
_STATUS_NUMBERS: dict[object, int] = {status: number for number, status in enumerate(STATUSES)}
_SINGLE_NUMBERS = {name: _SINGLE_START + number for number, name in enumerate(SINGLE)}
_ENDING = ".counters"


class Metrics:
    """What one process counts; only the thread of its event loop writes."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.values: NDArray[np.float64] = np.zeros(SIZE)
        if folder is not None:
            self.values = np.memmap(folder / f"{os.getpid()}{_ENDING}", np.float64, "w+", shape=(SIZE,))

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a counter of SINGLE."""
        self.values[_SINGLE_NUMBERS[name]] += amount

    def get(self, name: str) -> int:
        """Return a counter of SINGLE, of this process."""
        return int(self.values[_SINGLE_NUMBERS[name]])

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answer."""
        family = next((one for one in FAMILIES if path.startswith(f"{one}/")), path)
        route = _ROUTE_NUMBERS.get(family, _N_ROUTES - 1)
        self.values[route * _N_STATUSES + _STATUS_NUMBERS.get(status, _N_STATUSES - 1)] += 1
        bucket = next((number for number, most in enumerate(BUCKETS) if seconds <= most), _N_BUCKETS - 1)
        self.values[_BUCKET_START + route * _N_BUCKETS + bucket] += 1
        self.values[_SUM_START + route] += seconds

    def total(self) -> NDArray[np.float64]:
        """Return the counters of all workers together."""
        if self.folder is None:
            return self.values
        total = np.zeros(SIZE)
        for path in self.folder.glob(f"*{_ENDING}"):
            with suppress(OSError):
                found = np.fromfile(path, np.float64)
                if len(found) == SIZE:
                    if not _is_running(path):
                        found[_SINGLE_NUMBERS["waiting"]] = 0
                    total += found
        return total

    def text(self, models: dict[str, str], replaced: int) -> str:
        """Return all metrics; `models` are names and hashes, `replaced` times that this process replaced one."""
        values = self.total()
        lines = [*_requests(values), *_durations(values)]
        for name, (kind, full, what) in SINGLE.items():
            lines += _head(full, kind, what)
            lines.append(f"{full} {_plain(values[_SINGLE_NUMBERS[name]])}")
        lines += _head("tfcr_model_info", "gauge", "The models in use, by the worker that was asked.")
        lines += [f"tfcr_model_info{{model={_quoted(name)},hash={_quoted(hash_)}}} 1" for name, hash_ in models.items()]
        lines += _head("tfcr_models_replaced_total", "counter", "Models taken up anew, by the worker that was asked.")
        lines.append(f"tfcr_models_replaced_total {replaced}")
        return "\n".join(lines) + "\n"


def _is_running(path: Path) -> bool:
    try:
        os.kill(int(path.name.removesuffix(_ENDING)), 0)
    except (ProcessLookupError, ValueError):
        return False
    except OSError:
        return True
    return True


def _head(name: str, kind: str, what: str) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]


def _requests(values: NDArray[np.float64]) -> Iterator[str]:
    yield from _head("tfcr_requests_total", "counter", "Answers by path and status.")
    counts = values[:_BUCKET_START].reshape(_N_ROUTES, _N_STATUSES)
    for route, status in np.argwhere(counts).tolist():
        name = f'tfcr_requests_total{{path="{ROUTES[route]}",status="{STATUSES[status]}"}}'
        yield f"{name} {_plain(counts[route, status])}"


def _durations(values: NDArray[np.float64]) -> Iterator[str]:
    name = "tfcr_request_seconds"
    yield from _head(name, "histogram", "Seconds from a request's headers to its answer.")
    counts = values[_BUCKET_START:_SUM_START].reshape(_N_ROUTES, _N_BUCKETS).cumsum(axis=1)
    for number, route in enumerate(ROUTES):
        if counts[number, -1]:
            limits = [*map(str, BUCKETS), "+Inf"]
            for most, count in zip(limits, counts[number], strict=True):
                yield f'{name}_bucket{{path="{route}",le="{most}"}} {_plain(count)}'
            yield f'{name}_sum{{path="{route}"}} {float(values[_SUM_START + number])!r}'
            yield f'{name}_count{{path="{route}"}} {_plain(counts[number, -1])}'


def _plain(value: Any) -> str:
    return str(int(value))


def _quoted(text: str) -> str:
    r"""Return a label's value as Prometheus quotes it.

    >>> print(_quoted('a "b"'))
    "a \"b\""
    """
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
