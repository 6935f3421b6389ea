"""What a request gets that cannot be answered: one line of JSON with what was found and what was expected."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tfcr.errors import TfcrError

RETRY = {"retry-after": "1"}


class RequestError(TfcrError):
    """A request that cannot be answered.

    Parameters
    ----------
    status
        Of HTTP.
    error
        What was found.
    expected
        What was expected, or what to do.
    headers
        Further headers of the answer.
    """

    def __init__(self, status: int, error: str, expected: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.expected = expected
        self.headers = dict(headers or {})

    @property
    def body(self) -> bytes:
        """The answer's body."""
        return to_json({"error": self.error, "expected": self.expected})


def internal_error() -> RequestError:
    """Return what is answered if the fault is ours; the log has its place in the source."""
    return RequestError(500, "an error of the server", "to report it to whoever runs the server")


def to_json(data: Any) -> bytes:
    r"""Return data as JSON in UTF-8; half of a surrogate pair, which UTF-8 lacks, is escaped.

    >>> to_json({"label": "größer"}).decode(), to_json("\ud800")
    ('{"label":"größer"}', b'"\\ud800"')
    """
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(data, allow_nan=False, separators=(",", ":")).encode()


def one_of(names: Sequence[str]) -> str:
    """Return names as an answer lists them."""
    shown = ", ".join(name[:80] for name in names[:60])
    return f"one of {shown}" + (f", and {len(names) - 60} more" if len(names) > 60 else "")
