"""What the parameters of estimators and functions may be: one row for each, and one way to say what is wrong.

A row is made by `number`, `whole` or `flag`. Its `check` returns the value, or raises InputError with
what was found and what was expected:

    >>> whole("dimensions", 1, 10_000).check(1.5)
    Traceback (most recent call last):
    tfcr.errors.InputError: found dimensions=1.5; expected a whole number from 1 to 10000
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfcr.errors import InputError, shown


@dataclass(frozen=True)
class Parameter:
    """A parameter: its name, whether a value is right, and what is expected, in words."""

    name: str
    accepts: Callable[[Any], bool]
    expected: str

    def check(self, value: Any) -> Any:
        """Return the value; raise InputError if it cannot be used."""
        if not self.accepts(value):
            raise InputError(f"found {self.name}={shown(value)}; expected {self.expected}")
        return value

    def or_none(self, meaning: str) -> "Parameter":
        """Return the same parameter that may also be None."""
        return Parameter(
            self.name, lambda value: value is None or self.accepts(value), f"{self.expected}, or None {meaning}"
        )


def check_all(table: Iterable[Parameter], values: Mapping[str, Any]) -> None:
    """Check the values of all parameters in a table."""
    for parameter in table:
        parameter.check(values[parameter.name])


def number(name: str, least: float, most: float) -> Parameter:
    """Return a parameter that is a number from `least` to `most`; a bool is none, and text neither."""
    return Parameter(
        name, lambda value: _is_number(value) and least <= value <= most, f"a number from {least:g} to {most:g}"
    )


def whole(name: str, least: int, most: int) -> Parameter:
    """Return a parameter that is a whole number; 2.0 is none, as in range()."""
    return Parameter(
        name, lambda value: _is_whole(value) and least <= value <= most, f"a whole number from {least} to {most}"
    )


def zero_or(parameter: Parameter) -> Parameter:
    """Return the same parameter that may also be 0."""
    zero = number(parameter.name, 0, 0)
    return Parameter(
        parameter.name,
        lambda value: zero.accepts(value) or parameter.accepts(value),
        f"0, or {parameter.expected}",
    )


def flag(name: str) -> Parameter:
    """Return a parameter that is True or False."""
    return Parameter(name, lambda value: isinstance(value, bool | np.bool_), "True or False")


MIN_COUNT = number("min_count", 0, 1e9)
DIMENSIONS = whole("dimensions", 1, 10_000)
N_TOP = whole("n", 0, 10**9)
SEED = whole("seed", 0, 2**32 - 1)
FOLDS = whole("folds", 2, 10_000)
UNLABELLED = Parameter(
    "unlabelled",
    lambda value: value is None or (isinstance(value, Iterable) and not isinstance(value, str | bytes)),
    "a list of texts, or None",
)
MAX_MEMORY = Parameter(
    "max_memory",
    lambda value: value is None or isinstance(value, str) or _is_number(value),
    "a number of bytes or a size such as '4GB', or None",
)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
