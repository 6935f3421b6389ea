"""What a model remembers of its training texts: a hash of each, to notice when it is scored on them.

A text's hash is 64 bits of BLAKE2b, of the text without surrounding blanks; labels do not count. The hashes are sorted,
so that the order of the texts leaves no trace, and at most MOST_KEPT are kept: of a larger corpus the smallest ones,
which are a random sample of the texts, so that what is found among them can be scaled up.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.errors import DamagedError, ModelError
from tfcr.system.array_codec import Arrays, get_array
from tfcr.system.distinct import distinct
from tfcr.trained.format import read_data

MOST_KEPT = 1_000_000
"""Hashes in a model: 8 MB at most."""

Hashes = NDArray[np.uint64]


def hash_texts(texts: Iterable[str]) -> Hashes:
    """Return 64 bits for each text; (n_documents,)."""
    digests = (hashlib.blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


class Seen(NamedTuple):
    """How many of some texts a model was trained on, and whether that is exact or scaled up from a sample."""

    texts: int
    is_exact: bool


@dataclass(frozen=True, eq=False)
class TrainingTexts:
    """The hashes of the texts that a model was trained on.

    Attributes
    ----------
    hashes
        Sorted; all, or the smallest MOST_KEPT.
    distinct
        The number of different texts.
    """

    hashes: Hashes
    distinct: int

    @classmethod
    def of(cls, texts: Iterable[str]) -> "TrainingTexts":
        """Return the hashes of these texts."""
        return cls.of_hashes([hash_texts(texts)])

    @classmethod
    def of_hashes(cls, hashes: Sequence[Hashes]) -> "TrainingTexts":
        """Return hashes that were found in several places."""
        different = distinct(np.concatenate(hashes))
        return cls(different[:MOST_KEPT].copy(), len(different))

    def plus(self, more: "TrainingTexts") -> "TrainingTexts":
        """Return the hashes of both; of large ones, the number of different texts is estimated.

        >>> TrainingTexts.of(["one", "two"]).plus(TrainingTexts.of(["two", "three"])).distinct
        3
        """
        different = distinct(np.concatenate([self.hashes, more.hashes]))
        known = len(self.hashes) + len(more.hashes)
        estimate = round((self.distinct + more.distinct) * len(different) / max(1, known))
        return TrainingTexts(different[:MOST_KEPT].copy(), max(estimate, len(different)))

    def count(self, texts: Sequence[str]) -> Seen:
        """Return how many of these texts are among them.

        Examples
        --------
        >>> TrainingTexts.of(["one", "two"]).count(["two ", "two", "three"])
        Seen(texts=2, is_exact=True)
        """
        asked = hash_texts(texts)
        is_exact = len(self.hashes) == self.distinct
        told = asked if is_exact else asked[asked <= self.hashes[-1]]  # larger ones may have been left out
        found = int(np.isin(told, self.hashes).sum())
        return Seen(found if is_exact else round(found * len(asked) / max(1, len(told))), is_exact)

    def write(self) -> Arrays:
        """Return them as arrays."""
        return {"hashes": self.hashes, "distinct": np.array([self.distinct])}


@dataclass(frozen=True)
class StoredTexts:
    """The hashes in a model's folder, read when they are needed: prediction does not need them."""

    folder: Path
    file: str

    def read(self) -> TrainingTexts | None:
        """Return the hashes; None if the model has been replaced since it was loaded."""
        try:
            arrays = read_data(self.folder, self.file)
            hashes = get_array(arrays, "hashes", "u", (None,)).astype(np.uint64)
            distinct = int(get_array(arrays, "distinct", "i", (1,))[0])
        except FileNotFoundError:
            return None
        except DamagedError as error:
            raise ModelError(f"{self.folder} is damaged: {error}; get or save the model again") from None
        if not len(hashes) <= distinct or (len(hashes) < distinct and len(hashes) == 0):
            raise ModelError(
                f"{self.folder} is damaged: it has {len(hashes)} hashes of {distinct} texts; save it again"
            )
        return TrainingTexts(np.sort(hashes), distinct)
