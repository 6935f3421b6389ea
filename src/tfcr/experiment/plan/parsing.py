"""Grids as users write them: names, numbers, training sizes, folds, and sources under another name."""

from pathlib import Path

from tfcr.errors import InputError, shown
from tfcr.experiment.plan.request import DatasetChoice, VectorsChoice
from tfcr.system.limits import is_there

LARGEST = 10**12
"""The largest number in a grid: no dataset has as many documents."""
MAX_SIZES = 10_000
"""Training sizes of a grid; each is a cell for every scheme, head, dataset and seed."""
PAPER_SIZES = "1000:90000:1000,all"


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names of ``a,b,c``."""
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def parse_numbers(text: str, what: str) -> tuple[int, ...]:
    """Return the whole numbers of ``0,1,2``."""
    return tuple(parse_number(part, what) for part in parse_names(text))


def parse_sizes(text: str) -> tuple[int | None, ...]:
    """Return training sizes: numbers, ``first:last:step`` with the last one included, and ``all``.

    Examples
    --------
    >>> parse_sizes("1000:3000:1000,5000,all")
    (1000, 2000, 3000, 5000, None)
    """
    sizes: set[int] = set()
    for part in parse_names(text):
        if part == "all":
            continue
        numbers = [parse_number(number, "training size") for number in part.split(":")]
        if len(numbers) not in (1, 3) or min(numbers) < 1:
            raise InputError(f"found the training size {shown(part)}; expected a number, FIRST:LAST:STEP, or all")
        some = numbers if len(numbers) == 1 else range(numbers[0], numbers[1] + 1, numbers[2])
        if len(sizes) + len(some) > MAX_SIZES:
            raise InputError(
                f"found {len(some):,} training sizes in {shown(part)}; expected at most {MAX_SIZES:,} in all: give a "
                "larger STEP"
            )
        sizes.update(some)
    return (*sorted(sizes), *([None] if "all" in parse_names(text) else []))


def parse_folds(text: str) -> tuple[int, int | None]:
    """Return the number of folds, and how many of them are run.

    Examples
    --------
    >>> parse_folds("10"), parse_folds("3/10")
    ((10, None), (10, 3))
    """
    first, slash, of = text.partition("/")
    return (parse_number(of, "folds"), parse_number(first, "folds")) if slash else (parse_number(first, "folds"), None)


def parse_number(text: str, what: str) -> int:
    """Return a whole number."""
    try:
        number = int(text.strip().replace("_", ""))
    except ValueError:  # no number, or one of thousands of digits
        raise InputError(f"found {shown(text)} for {what}; expected a whole number") from None
    if abs(number) > LARGEST:
        raise InputError(f"found {shown(text)} for {what}; expected a whole number up to {LARGEST:,}")
    return number


def parse_dataset(text: str) -> DatasetChoice:
    """Return the dataset of ``NAME``, ``FILE`` or ``NAME=SOURCE``; a stand-in takes the original's name."""
    name, source = _named(text)
    return DatasetChoice(name, source)


def parse_vectors(text: str) -> VectorsChoice:
    """Return the vectors of ``NAME``, ``FILE`` or ``NAME=SOURCE``."""
    name, source = _named(text)
    return VectorsChoice(name, source)


def _named(text: str) -> tuple[str, str]:
    name, equals, source = text.partition("=")
    return (name.strip(), source.strip()) if equals and not is_there(Path(text)) else (Path(text).name, text)
