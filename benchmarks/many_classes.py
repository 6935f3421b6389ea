"""A dataset of over a hundred classes: those of our six datasets, and modules of the Python standard library.

`make_many_classes` writes texts and labels to a file beside the results; they are never part of the repository.
Docstrings vary with the Python version, so that figures of this dataset hold for one version only.
"""

from collections.abc import Mapping
from pathlib import Path

import measuring
import numpy as np
import polars as pl

from tfcr.data import Corpus, load_data
from tfcr.data.datasets.pydocs import load_pydocs
from tfcr.experiment import DatasetChoice
from tfcr.system.files import written_beside

MANY = "many-class"
SOURCES = ("20ng", "agnews", "davidson", "dbpedia", "emoji", "semeval")
LEAST_DOCSTRINGS = 30
"""Docstrings that a module must have to be a class."""
MOST = 150
"""Documents of a class, so that no source has most of the documents."""


def many_classes() -> DatasetChoice:
    """Return the dataset, made now if its file is not there."""
    path = measuring.RESULTS / f"{MANY}.parquet"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        corpora = {name: load_data([name]) for name in SOURCES} | {"pydocs": load_pydocs(LEAST_DOCSTRINGS)}
        with written_beside(path) as file:
            join(corpora).write_parquet(file)
    return DatasetChoice(MANY, str(path))


def join(corpora: Mapping[str, Corpus], most: int = MOST, seed: int = 0) -> pl.DataFrame:
    """Return texts and labels of all corpora, at most so many of each class; labels begin with the corpus's name."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for name, corpus in corpora.items():
        of_corpus = np.array(list(map(str, corpus.labels)))
        for label in np.unique(of_corpus):
            rows = np.sort(random.permutation(np.flatnonzero(of_corpus == label))[:most])
            texts += [corpus.texts[row] for row in rows]
            labels += [f"{name}/{label}"] * len(rows)
    return pl.DataFrame({"text": texts, "label": labels})


if __name__ == "__main__":
    made = pl.read_parquet(Path(many_classes().source))
    sizes = made.group_by("label").len().sort("len", "label", descending=[True, False])
    print(f"{len(made):,} documents, {len(sizes)} classes")
    for row in sizes.iter_rows():
        print(*row)
