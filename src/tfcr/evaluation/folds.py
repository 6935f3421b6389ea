"""Which documents are trained and tested on: folds of cross-validation, or the older part and the newest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from tfcr.data import Corpus
from tfcr.data.several import FlatLabels, rows_left
from tfcr.errors import InputError
from tfcr.features.stratification import iterative_folds
from tfcr.system.parameters import FOLDS, SEED, whole
from tfcr.text.label_sets import AnyLabels, LabelSets

MIN_CLASS_SIZE = whole("min_class_size", 0, 10**9)
NEWEST = 0.2
"""The fraction of a corpus that is tested on if it is split by time."""


@dataclass(frozen=True)
class FoldPlan:
    """A corpus that can be split into this many folds, and notes on what was changed for it.

    `kept` are the positions of its documents in the corpus that it was made of.
    """

    corpus: Corpus
    folds: int
    notes: tuple[str, ...] = ()
    kept: Sequence[int] = ()


def plan_folds(corpus: Corpus, folds: int, *, min_class_size: int = 0) -> FoldPlan:
    """Make folds possible: leave out classes that are too small, or use fewer folds.

    Parameters
    ----------
    corpus
        Labelled texts.
    folds
        As many as asked for.
    min_class_size
        Classes with fewer documents are left out. Those with a single document always are: they cannot be both trained
        and tested on.
    """
    FOLDS.check(folds)
    MIN_CLASS_SIZE.check(min_class_size)
    notes = []
    sizes = corpus.class_sizes()
    given, kept = corpus, list(range(len(corpus)))
    small = {label: size for label, size in sizes.items() if size < max(min_class_size, 2)}
    if small:
        listed = ", ".join(f"{label} ({size})" for label, size in list(small.items())[:5]) + (
            "…" if len(small) > 5 else ""
        )
        notes.append(f"{len(small)} classes with fewer than {max(min_class_size, 2)} documents are left out: {listed}")
        corpus, kept = _without(corpus, set(small))
    sizes = corpus.class_sizes()
    if len(sizes) < 2:
        raise InputError(
            f"found {len(sizes)} class{'es' if len(sizes) != 1 else ''} with enough documents, {_largest(given)}; "
            "expected at least two: is --label the right column?"
        )
    rarest = min(sizes, key=lambda label: sizes[label])
    if corpus.several:
        if len(corpus) < folds:
            raise InputError(f"found {len(corpus)} documents for {folds} folds; expected at least as many")
        if sizes[rarest] < folds:
            n_rare = sum(size < folds for size in sizes.values())
            notes.append(
                f"{n_rare} classes have fewer documents than there are folds, {rarest!r} has {sizes[rarest]}: each "
                "counts in the folds that test it"
            )
    elif sizes[rarest] < folds:
        enough = sum(size >= folds for size in sizes.values())
        other = f" (--min-class-size {folds} leaves such classes out instead)" if enough >= 2 else ""
        notes.append(
            f"the class {rarest!r} has {sizes[rarest]} documents: {sizes[rarest]} folds instead of {folds}{other}"
        )
        folds = sizes[rarest]
    return FoldPlan(corpus, folds, tuple(notes), kept)


def _largest(corpus: Corpus) -> str:
    sizes = corpus.class_sizes()
    label, size = sizes.most_common(1)[0]
    return f"the largest of {len(sizes)} being {label!r} with {size}"


def _without(corpus: Corpus, labels: set[Any]) -> tuple[Corpus, list[int]]:
    """Return a corpus without some classes, and the positions of its documents; those with no other label are gone."""
    flat = FlatLabels.of(corpus.labels)
    rows = flat.nest([None if label in labels else label for label in flat.labels])
    kept = rows_left(corpus.labels, rows)
    numbers = corpus.rows or list(range(1, len(corpus) + 1))  # documents keep the numbers that the whole corpus gives
    return replace(corpus, labels=rows, rows=numbers).take(kept), kept


def splits(
    labels: AnyLabels, groups: Sequence[Any] | None, folds: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the training and test documents of each fold: stratified, shuffled, seeded.

    Several labels per document are stratified iteratively: see `iterative_folds`.
    """
    FOLDS.check(folds)
    SEED.check(seed)
    places = np.arange(len(labels))
    if groups is not None and len(set(groups)) < folds:
        raise InputError(
            f"found {len(set(groups))} groups for {folds} folds; expected at least as many groups as folds"
        )
    numbers = places if groups is None else np.unique([str(group) for group in groups], return_inverse=True)[1]
    if isinstance(labels, LabelSets):
        units = np.zeros((int(numbers.max()) + 1, len(labels.classes)), np.int64)
        np.add.at(units, numbers, labels.members)
        fold = iterative_folds(units, np.bincount(numbers), folds, seed)[numbers]
        yield from ((places[fold != number], places[fold == number]) for number in range(folds))
        return
    classes = np.unique(labels, return_inverse=True)[1]  # scikit-learn takes labels such as 0.5 for a regression
    if groups is None:
        yield from StratifiedKFold(folds, shuffle=True, random_state=seed).split(places, classes)
        return
    yield from StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(places, classes, numbers)


@dataclass(frozen=True)
class TimeSplit:
    """The older part of a corpus and its newest.

    Attributes
    ----------
    older, newest
        Positions of documents, in the order of the corpus.
    times
        The first and last time of the older part, and of the newest.
    new_classes
        The classes that only the newest part has, with their sizes.
    """

    older: list[int]
    newest: list[int]
    times: tuple[Any, Any, Any, Any]
    new_classes: dict[Any, int]

    def notes(self) -> list[str]:
        """Return the dates of both parts, and the classes that only the newest has, in words."""
        oldest, before, first, newest = self.times
        found = [
            f"trained on {len(self.older):,} documents from {oldest} to {before}, tested on {len(self.newest):,} from "
            f"{first} to {newest}"
        ]
        if self.new_classes:
            listed = [f"{label} ({size})" for label, size in list(self.new_classes.items())[:5]]
            more = "…" if len(self.new_classes) > 5 else ""
            found.append(
                f"{len(self.new_classes)} classes are in the newest part only, where every document of them is a "
                f"mistake: {', '.join(listed)}{more}"
            )
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the sizes and times of both parts as JSON can hold them."""
        parts = {"older": (self.older, self.times[:2]), "newest": (self.newest, self.times[2:])}
        split = {
            name: {"documents": len(documents), "from": _plain_time(times[0]), "to": _plain_time(times[1])}
            for name, (documents, times) in parts.items()
        }
        return {**split, "new_classes": list(self.new_classes)}


def _plain_time(time: Any) -> Any:
    return time if isinstance(time, int | float) else time.isoformat()


def split_by_time(corpus: Corpus, newest: float = NEWEST) -> TimeSplit:
    """Split a corpus, whose documents have times, into an older part and the newest; equal times stay together.

    The number of newest documents is the closest to the fraction `newest` that equal times allow:

        times   1  2  3  3  3       newest = .2: [3, 3, 3] rather than none
    """
    times = corpus.times or []
    ordered = sorted(times)
    starts = [place for place in range(1, len(ordered)) if ordered[place] != ordered[place - 1]]
    if not starts:
        raise InputError(
            f"found the same time in all {len(times)} rows; expected at least two times: is --time the right column?"
        )
    wanted = len(ordered) * (1 - newest)
    start = min(starts, key=lambda place: (abs(place - wanted), place))
    first = ordered[start]
    older = [place for place, time in enumerate(times) if time < first]
    tested = [place for place, time in enumerate(times) if time >= first]
    known = corpus.take(older).class_sizes()
    if len(known) < 2:
        label, size = next(iter(known.items()), (None, 0))
        raise InputError(
            f"found one class in the {len(older)} older documents, {label!r} with {size}; expected at least two: is "
            "--time the right column?"
        )
    new = {label: size for label, size in corpus.take(tested).class_sizes().items() if label not in known}
    return TimeSplit(older, tested, (ordered[0], ordered[start - 1], first, ordered[-1]), new)
