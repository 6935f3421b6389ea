"""Labels of one type: what can be a label, and why something cannot.

Whatever passes here can be trained on, saved in a model, and read back as the same label: nothing is merged, and
nothing is refused after training.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import shown

LONGEST = 1_000
"""Characters of a label. One label of a megabyte would make an array of fixed width need a megabyte per document."""
_EXACT = 2**53
"""Integers up to here are the same as numbers with a decimal point."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

_KINDS: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "boolean": (bool, np.bool_),  # before integer: a bool is an int
    "integer": (int, np.integer),
    "number": (float, np.floating),
}


class LabelError(ValueError):
    """A label that cannot be used, and whether it could be if it were written as text.

    The caller says where it was found, and what to do.
    """

    def __init__(self, message: str, *, as_text: bool = True) -> None:
        super().__init__(message)
        self.as_text = as_text


_HASHABLE = {str, int, float, bool, type(None)}


def distinct(labels: Sequence[Any]) -> Sequence[Any]:
    """Return each label once, in the order of first use, if all that are not None have one type; else all labels.

    Of several types, 1, 1.0 and True are equal, though they are different labels.

    >>> distinct(["b", "a", "b"]), distinct([1, True])
    (['b', 'a'], [1, True])
    """
    kinds = set(map(type, labels))
    return list(dict.fromkeys(labels)) if len(kinds - {type(None)}) <= 1 and kinds <= _HASHABLE else labels


def by_label(function: Callable[[Any], Any], labels: Sequence[Any]) -> list[Any]:
    """Return a pure function of each label; it is called once for each `distinct` one."""
    once = distinct(labels)
    if once is labels:
        return list(map(function, labels))
    known = dict(zip(once, map(function, once), strict=True))
    return list(map(known.__getitem__, labels))


def label_array(values: Iterable[Any]) -> NDArray[Any]:
    """Return labels as an array of one type; raise LabelError, which says what was found and expected.

    Parameters
    ----------
    values
        Text, booleans, integers or other numbers, none of them missing. Integers and numbers may be mixed where that
        is exact.

    Examples
    --------
    >>> label_array([2, 1]), label_array([2, 1.5])
    (array([2, 1]), array([2. , 1.5]))
    >>> label_array([1, "1"])
    Traceback (most recent call last):
        ...
    tfcr.text.labels.LabelError: found labels of the types int, str, such as 1 and '1'; expected one type
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in _CHECKS_OF_ARRAYS:
        return _CHECKS_OF_ARRAYS[values.dtype.kind](values)
    labels = values.tolist() if isinstance(values, np.ndarray) else list(values)
    examples: dict[str, Any] = {}
    one_type = len(set(map(type, labels))) == 1  # the usual case: looking at each label takes long
    for number, label in enumerate(labels[:1] if one_type else labels):
        examples.setdefault(_kind_of(label, number), label)
    kinds = set(examples)
    if kinds == {"integer", "number"}:
        return _numbers_of(labels)
    if len(kinds) > 1:
        names = ", ".join(sorted(type(label).__name__ for label in examples.values()))
        examples_shown = " and ".join(map(shown, list(examples.values())[:2]))
        raise LabelError(f"found labels of the types {names}, such as {examples_shown}; expected one type")
    return _CHECKS[kinds.pop()](labels) if kinds else np.asarray(labels)


def _kind_of(label: Any, number: int) -> str:
    for kind, types in _KINDS.items():
        if isinstance(label, types):
            return kind
    raise LabelError(
        f"label number {number} (counted from 0), {shown(label)}, is of type {type(label).__name__}; "
        "expected one label for each text, a string, number or boolean"
    )


def _texts(labels: Sequence[str]) -> NDArray[Any]:
    for label in set(labels):
        if len(label) > LONGEST:
            raise LabelError(
                f"found a label of {len(label):,} characters, {shown(label)}; expected at most {LONGEST:,}: are these "
                "the texts?",
                as_text=False,
            )
        if label.endswith("\0"):  # which numpy would drop, and so merge two labels
            raise LabelError(f"found the label {label!r}; expected none that ends in a NUL character", as_text=False)
        if _LONE_SURROGATE.search(label):
            raise LabelError(
                f"found the label {label!r}, with half of a surrogate pair; expected Unicode text: write it anew",
                as_text=False,
            )
    return np.asarray(labels, dtype=str)


def fits_integer(label: int) -> bool:
    """Return whether an integer can be a label: one of 64 bits, which a model is saved with."""
    return -(2**63) <= label < 2**63


def _integers(labels: Sequence[int]) -> NDArray[Any]:
    for extreme in (min(labels), max(labels)):
        if not fits_integer(int(extreme)):
            raise LabelError(f"found the label {shown(int(extreme))}; expected integers from -2**63 to 2**63 - 1")
    return np.asarray(labels, dtype=np.int64)


def _numbers(labels: Sequence[float] | NDArray[Any]) -> NDArray[Any]:
    found = np.asarray(labels)
    if not np.isfinite(found).all():
        raise LabelError(f"found the label {found[~np.isfinite(found)][0]}; expected finite numbers")
    if not (found.astype(np.float64) == found).all():
        raise LabelError(f"found labels of type {found.dtype} that float64 cannot hold; expected float64")
    return found.astype(np.float64) if found.dtype.itemsize > 8 else found


def _numbers_of(labels: Sequence[Any]) -> NDArray[Any]:
    for label in labels:
        if isinstance(label, int | np.integer) and abs(int(label)) > _EXACT:
            raise LabelError(
                f"found the label {shown(int(label))} among numbers with a decimal point, which would round it; "
                "expected integers only, or numbers up to 2**53"
            )
    return _numbers([float(label) for label in labels])


def _unsigned_array(labels: NDArray[Any]) -> NDArray[Any]:
    return labels if labels.size == 0 or fits_integer(int(labels.max())) else _integers(labels.tolist())


def _text_array(labels: NDArray[Any]) -> NDArray[Any]:
    """Look at the labels one by one only if some are long or hold a surrogate; this runs for every fold."""
    codes = np.ascontiguousarray(labels, labels.dtype.newbyteorder("=")).view(np.uint32)
    is_odd = labels.dtype.itemsize > 4 * LONGEST or ((codes >= 0xD800) & (codes <= 0xDFFF)).any()
    if is_odd:
        _texts(labels.tolist())
    return labels


_CHECKS: dict[str, Callable[[Any], NDArray[Any]]] = {
    "text": _texts,
    "boolean": lambda labels: np.asarray(labels, dtype=bool),
    "integer": _integers,
    "number": _numbers,
}
_CHECKS_OF_ARRAYS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "b": lambda labels: labels,
    "i": lambda labels: labels,
    "u": _unsigned_array,
    "f": _numbers,
    "U": _text_array,
}
"""By the kind of a numpy type; others are looked at one by one."""
