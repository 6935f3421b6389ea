"""Texts and labels of a file in a folder of their own: written once at the start, and mapped by every worker.

Labels are numbers of a list, since a document may have none or several:

    labels        ["bug", "wish"]
    label_starts  [0 1 1 3]        document 0 has labels[0:1] of the next line, document 1 none, document 2 two
    label_numbers [1 0 1]          so document 0 is a wish, document 2 is both
"""

import json
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcr.data.corpus import Corpus
from tfcr.system.packed_strings import PackedWords, encode_words

_ARRAYS = ("offsets", "rows", "is_labelled", "label_starts", "label_numbers")


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents with their labels.

    Attributes
    ----------
    name
        Where they come from.
    labels
        The different labels, as text.
    texts
        In the order of the file; n_documents of them, mapped into memory.
    rows
        Their numbers in the file, from 1; (n_documents,).
    is_labelled
        Whether each has a label, or is known to have none of them; (n_documents,).
    label_starts, label_numbers
        The labels of each document: see above.
    """

    name: str
    labels: list[str]
    texts: PackedWords
    rows: NDArray[np.int64]
    is_labelled: NDArray[np.bool_]
    label_starts: NDArray[np.int64]
    label_numbers: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def load(cls, folder: Path) -> "Documents":
        """Return the documents that `write_documents` wrote."""
        about = json.loads((folder / "about.json").read_text("utf-8"))
        arrays: dict[str, Any] = {name: np.load(folder / f"{name}.npy") for name in _ARRAYS}
        texts = PackedWords(np.load(folder / "texts.npy", mmap_mode="r"), arrays.pop("offsets"))
        return cls(about["name"], about["labels"], texts, **arrays)


def write_documents(corpus: Corpus, folder: Path) -> None:
    """Write the documents of a corpus, those without a label among the others, in the order of the file."""
    rows = corpus.rows or list(range(1, len(corpus) + 1))
    labelled = zip(rows, corpus.texts, corpus.labels, strict=True)
    found: list[tuple[int, str, Any]] = [*labelled, *((row, text, None) for row, text in corpus.unlabelled.items())]
    found.sort(key=lambda one: one[0])
    several = corpus.several
    sets = [() if label is None else map(str, label) if several else (str(label),) for _, _, label in found]
    of_each = [list(dict.fromkeys(labels)) for labels in sets]
    numbers: dict[str, int] = {
        label: number for number, label in enumerate(sorted({x for one in of_each for x in one}))
    }
    text, offsets = encode_words([text for _, text, _ in found])
    arrays: dict[str, NDArray[Any]] = {
        "texts": text,
        "offsets": offsets,
        "rows": np.array([row for row, _, _ in found], np.int64),
        "is_labelled": np.array([label is not None for _, _, label in found], np.bool_),
        "label_starts": np.cumsum([0, *map(len, of_each)], dtype=np.int64),
        "label_numbers": np.array([numbers[label] for labels in of_each for label in labels], np.int64),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    about = {"name": _without_folders(corpus.name), "labels": list(numbers)}
    (folder / "about.json").write_text(json.dumps(about), "utf-8")


def _without_folders(names: str) -> str:
    """Return the names of files as clients see them: where they are is none of their business.

    >>> _without_folders("data/a.csv, b.csv")
    'a.csv, b.csv'
    """
    return ", ".join(PurePath(name).name or name for name in names.split(", "))
