"""The counted documents that a model keeps to be trained again, with more of them; texts are not kept.

They are shards (see `text.shards`), packed. The terms of a document ascend, so that differences are small numbers; the
bytes of equal rank of all numbers stand together, and all is compressed::

    terms of two documents    3 7 8    2 7          as stored  3 4 1    2 5
    16-bit numbers            0x0103 0x0204         as stored  03 04 01 02

What can be counted again is not stored. Everything is checked when it is read, and it is read only to train again.
"""

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import DamagedError, InputError, ModelError, in_one_line
from tfcr.system.array_codec import Arrays, get_array, get_indices, get_numbers, read_strings
from tfcr.system.limits import limit
from tfcr.system.mapped_arrays import map_file
from tfcr.text.class_counts import LEAST_WEIGHT, MOST_WEIGHT, Labels, unite_classes
from tfcr.text.label_sets import FORMS, LabelSets, NumberedLabels, class_numbers, classes_of
from tfcr.trained.format import read_data

_ARRAYS = ("words", "word_sizes", "firsts", "seconds", "sizes", "terms", "counts", "lengths")
"""What a packed shard holds."""
_TYPES: dict[int, type[np.unsignedinteger[Any]]] = {1: np.uint8, 2: np.uint16, 4: np.uint32}
_LEVEL = 6
MOST_TOKENS = (1 << 31) - 1
"""Of a document, and so the largest count of a term."""


@dataclass(frozen=True, eq=False)
class KeptDocuments:
    """Counted documents and their labels.

    Attributes
    ----------
    packed
        Shards as `pack_shard` makes them.
    labels
        Of all documents, one shard after the other.
    weights
        The weight of each document, (n_documents,); None if each is 1.
    bigrams
        Whether bigrams are counted, too.
    """

    packed: tuple[Arrays, ...]
    labels: NumberedLabels | LabelSets
    weights: NDArray[np.float64] | None
    bigrams: bool

    @classmethod
    def of(
        cls,
        shards: Iterable[Arrays],
        labels: Labels | NumberedLabels | LabelSets,
        weights: NDArray[np.float64] | None = None,
        *,
        bigrams: bool,
    ) -> "KeptDocuments":
        """Return documents of shards, packed one after the other."""
        if not isinstance(labels, LabelSets | NumberedLabels):
            classes = classes_of(labels)
            labels = NumberedLabels(classes, class_numbers(labels, classes))
        if weights is not None and (weights == 1).all():
            weights = None
        return cls(tuple(pack_shard(shard) for shard in shards), labels, weights, bigrams)

    def __len__(self) -> int:
        return len(self.labels)

    def shards(self) -> Iterator[Arrays]:
        """Yield the shards, as they were before they were packed."""
        return map(unpack_shard, self.packed)

    def sample_weight(self) -> NDArray[np.float64]:
        """Return the weight of each document; (n_documents,)."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def plus(self, more: "KeptDocuments") -> "KeptDocuments":
        """Return these documents, and more after them; raise InputError if their labels are of another kind."""
        if isinstance(self.labels, LabelSets) != isinstance(more.labels, LabelSets):
            kinds = [
                "several labels" if isinstance(some, LabelSets) else "one label" for some in (more.labels, self.labels)
            ]
            raise InputError(
                f"found {kinds[0]} per text, and a model trained on {kinds[1]} per text; expected labels as it was "
                "trained on"
            )
        weights = None
        if self.weights is not None or more.weights is not None:
            weights = np.concatenate([self.sample_weight(), more.sample_weight()])
        labels = _joined(self.labels, more.labels)
        return KeptDocuments((*self.packed, *more.packed), labels, weights, self.bigrams and more.bigrams)

    def write(self) -> Arrays:
        """Return them as arrays, of a model whose classes are those of the labels."""
        numbers = np.nonzero(self.labels.members)[1] if isinstance(self.labels, LabelSets) else self.labels.numbers
        found = {
            "bigrams": np.array([self.bigrams]),
            "labels": _smallest(numbers),
            **{f"{number}.{name}": array for number, one in enumerate(self.packed) for name, array in one.items()},
        }
        if isinstance(self.labels, LabelSets):
            found["label_sizes"] = _smallest(self.labels.members.sum(axis=1))
        if self.weights is not None:
            found["weights"] = self.weights
        return found


def _joined(one: NumberedLabels | LabelSets, two: NumberedLabels | LabelSets) -> NumberedLabels | LabelSets:
    """Return labels one after the other, over the classes of both."""
    classes = unite_classes(one.classes, two.classes)
    if isinstance(one, LabelSets) and isinstance(two, LabelSets):
        members = np.zeros((len(one) + len(two), len(classes)), np.bool_)
        members[: len(one), np.searchsorted(classes, one.classes)] = one.members
        members[len(one) :, np.searchsorted(classes, two.classes)] = two.members
        return replace(one, classes=classes, members=members)
    return NumberedLabels(classes, np.concatenate([class_numbers(labels, classes) for labels in (one, two)]))


# arrays --------------------------------------------------------------------------------------------------------------


def pack_shard(shard: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return a shard of `count_shard` in few bytes."""
    bigrams = shard["bigrams"].reshape(-1, 2)
    plain = {
        "words": shard["words.text"],
        "word_sizes": np.diff(shard["words.offsets"]),
        "firsts": np.diff(bigrams[:, 0], prepend=0),
        "seconds": bigrams[:, 1],
        "sizes": shard["sizes"],
        "terms": _differences(shard["terms"], shard["sizes"]),
        "counts": shard["counts"],
        "lengths": shard["lengths"],
    }
    return {name: _pack(array) for name, array in plain.items()}


def write_packed(path: Path, packed: Iterable[Arrays]) -> NDArray[np.int64]:
    """Write packed shards to a file, one after the other, and return the size of each array; (n_shards, n_arrays).

    So they need not fit into memory; `map_packed` finds them again.
    """
    sizes = []
    with path.open("wb") as file:
        for one in packed:
            sizes.append([len(one[name]) for name in _ARRAYS])
            for name in _ARRAYS:
                file.write(np.ascontiguousarray(one[name]).data)
        file.flush()
        os.fsync(file.fileno())
    return np.array(sizes, np.int64).reshape(-1, len(_ARRAYS))


def map_packed(path: Path, sizes: NDArray[np.int64]) -> tuple[Arrays, ...]:
    """Return the packed shards of `write_packed` as views of the file, which may be deleted while they are used."""
    content = np.frombuffer(map_file(path, "model file"), np.uint8)
    arrays = iter(np.split(content, np.cumsum(sizes.ravel())[:-1]))
    return tuple({name: next(arrays) for name in _ARRAYS} for _ in sizes)


def unpack_shard(packed: Mapping[str, NDArray[Any]]) -> Arrays:
    """Return what `pack_shard` was given; raise DamagedError if the arrays contradict each other."""
    given = {name: get_array(packed, name, "u", (None,)) for name in _ARRAYS}
    most = max(limit("unpacked harmless"), limit("unpacked ratio") * sum(array.nbytes for array in given.values()))
    found = {name: _unpack(array.astype(np.uint8), name, most) for name, array in given.items()}
    n_terms, sizes = _check_words(found), found["sizes"].astype(np.int64)
    counts, lengths = found["counts"], found["lengths"]
    if len(lengths) != len(sizes) or sizes.sum() != len(found["terms"]) or len(counts) != len(found["terms"]):
        raise DamagedError("the kept documents have other numbers of terms, counts and lengths")
    terms = _added_up(found["terms"].astype(np.int64), sizes)
    inner = np.ones(len(terms), np.bool_)
    inner[(np.cumsum(sizes) - sizes)[sizes > 0]] = False
    if len(terms) and (terms.min() < 0 or terms.max() >= n_terms or (found["terms"][inner] == 0).any()):
        raise DamagedError("the kept documents hold a term that is none, or one twice")
    if (counts.min(initial=1) < 1) or max(int(counts.max(initial=0)), int(lengths.max(initial=0))) > MOST_TOKENS:
        raise DamagedError("the kept documents hold counts that cannot be")
    n_words = len(found["word_sizes"])
    of_words = np.concatenate([[0], np.cumsum(np.where(terms < n_words, counts, 0).astype(np.int64))])
    ends = np.cumsum(sizes)
    if (of_words[ends] - of_words[ends - sizes] > lengths).any():
        raise DamagedError("the kept documents hold more words than tokens")
    firsts = np.cumsum(found["firsts"].astype(np.int64))
    return {
        "words.text": found["words"],
        "words.offsets": np.concatenate([[0], np.cumsum(found["word_sizes"].astype(np.int64))]),
        "bigrams": np.stack([firsts, found["seconds"].astype(np.int64)], axis=1).astype(np.int32),
        "frequencies": np.bincount(terms, minlength=n_terms).astype(np.int32),
        "sizes": sizes.astype(np.int32),
        "terms": terms.astype(np.int32),
        "counts": counts,
        "lengths": lengths.astype(np.int32),
    }


def _check_words(found: Arrays) -> int:
    """Return the number of terms; raise DamagedError unless words ascend, and so do bigrams of these."""
    offsets = np.concatenate([[0], np.cumsum(found["word_sizes"].astype(np.int64))])
    words = read_strings({"words.text": found["words"], "words.offsets": offsets}, "words")
    if found["words"].dtype != np.uint8 or any(one >= two for one, two in pairwise(words)):
        raise DamagedError("the words of the kept documents do not ascend")
    firsts, seconds = np.cumsum(found["firsts"].astype(np.int64)), found["seconds"].astype(np.int64)
    if len(firsts) != len(seconds) or (len(firsts) and max(firsts[-1], seconds.max()) >= len(words)):
        raise DamagedError("the bigrams of the kept documents point outside of their words")
    if (np.diff(firsts * max(1, len(words)) + seconds) <= 0).any():
        raise DamagedError("the bigrams of the kept documents do not ascend")
    if len(words) + len(firsts) > MOST_TOKENS:
        raise DamagedError("the kept documents have too many terms")
    return len(words) + len(firsts)


def _differences(terms: NDArray[Any], sizes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the differences of ascending terms, document by document.

    >>> _differences(np.array([3, 7, 8, 2, 7]), np.array([3, 0, 2])).tolist()
    [3, 4, 1, 2, 5]
    """
    found = np.asarray(np.diff(terms.astype(np.int64), prepend=0), np.int64)
    starts = (np.cumsum(sizes, dtype=np.int64) - sizes)[sizes > 0]
    found[starts] = terms[starts]
    return found


def _added_up(differences: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what `_differences` was given."""
    sums = np.concatenate([[0], np.cumsum(differences)])
    starts = np.cumsum(sizes) - sizes
    return np.asarray(sums[1:] - np.repeat(sums[starts], sizes), np.int64)


def _smallest(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers from 0 on as the smallest type of 8, 16 or 32 bits."""
    largest = int(numbers.max(initial=0))
    return numbers.astype(next(kind for kind in _TYPES.values() if largest <= np.iinfo(kind).max))


def _pack(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    """Return numbers as bytes: the size of each, then all of them, compressed."""
    small = np.ascontiguousarray(_smallest(numbers)).astype(_smallest(numbers).dtype.newbyteorder("<"))
    planes = small.view(np.uint8).reshape(len(small), small.itemsize).T.tobytes()
    return np.frombuffer(bytes([small.itemsize]) + zlib.compress(planes, _LEVEL), np.uint8)


def _unpack(packed: NDArray[np.uint8], name: str, most: int) -> NDArray[Any]:
    """Return the numbers of `_pack`; raise DamagedError if they are none, or take more than so many bytes."""
    kind = _TYPES.get(int(packed[0])) if len(packed) else None
    if kind is None:
        raise DamagedError(f"the array {name!r} of the kept documents cannot be read")
    stream = zlib.decompressobj()
    try:
        planes = stream.decompress(packed[1:].tobytes(), most)
    except zlib.error as error:
        raise DamagedError(f"the array {name!r} of the kept documents cannot be read ({in_one_line(error)})") from None
    size = np.dtype(kind).itemsize
    if not stream.eof or stream.unused_data or len(planes) % size:
        raise DamagedError(f"the array {name!r} of the kept documents is cut off, too long, or larger than allowed")
    bytes_of_each = np.frombuffer(planes, np.uint8).reshape(size, -1).T
    return np.ascontiguousarray(bytes_of_each).view(np.dtype(kind).newbyteorder("<")).ravel().astype(kind)


def read_documents(arrays: Mapping[str, NDArray[Any]], classes: Labels, form: str) -> KeptDocuments:
    """Return the documents of `write`; shards are checked, too. `form` is a name of FORMS, that of the labels."""
    packed: list[Arrays] = []
    while f"{len(packed)}.sizes" in arrays:
        packed.append({name: get_array(arrays, f"{len(packed)}.{name}", "u", (None,)) for name in _ARRAYS})
    n_documents = sum(len(unpack_shard(one)["sizes"]) for one in packed)
    bigrams = bool(get_array(arrays, "bigrams", "b", (1,)).view(np.uint8)[0])
    labels = _read_labels(arrays, classes, form, n_documents)
    weights = None
    if "weights" in arrays:
        weights = get_numbers(arrays, "weights", np.float64, (n_documents,), least=LEAST_WEIGHT).copy()
        if (weights > MOST_WEIGHT).any():
            raise DamagedError(f"the array 'weights' holds numbers above {MOST_WEIGHT:g}")
    return KeptDocuments(tuple(packed), labels, weights, bigrams)


def _read_labels(
    arrays: Mapping[str, NDArray[Any]], classes: Labels, form: str, n_documents: int
) -> NumberedLabels | LabelSets:
    if form == FORMS[0]:
        return NumberedLabels(classes, get_indices(arrays, "labels", n_documents, len(classes)).astype(np.int64))
    sizes = get_array(arrays, "label_sizes", "u", (n_documents,)).astype(np.int64)
    if (sizes > len(classes)).any():
        raise DamagedError("the array 'label_sizes' has more labels than there are classes")
    numbers = get_indices(arrays, "labels", int(sizes.sum()), len(classes))
    members = np.zeros((n_documents, len(classes)), np.bool_)
    members[np.repeat(np.arange(n_documents), sizes), numbers] = True
    return LabelSets(classes, members, form)


@dataclass(frozen=True, eq=False)
class StoredDocuments:
    """The kept documents in a model's folder, read when it is trained again; `form` is that of its labels."""

    folder: Path
    file: str
    classes: Labels
    form: str

    def read(self) -> KeptDocuments | None:
        """Return the documents; None if the model has been replaced since it was loaded."""
        try:
            arrays = read_data(self.folder, self.file)
            return read_documents(arrays, self.classes, self.form)
        except FileNotFoundError:
            return None
        except (DamagedError, LookupError, TypeError, ValueError, OverflowError, MemoryError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(
                f"{self.folder} is damaged: its kept documents: {in_one_line(error)}; get or save the model again"
            ) from None
