"""The datasets that have a name everywhere in tfcr, one row each in DATASETS."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tfcr.corpus.columns import Corpus
from tfcr.corpus.loading import read_corpus
from tfcr.corpus.options import ReadOptions
from tfcr.corpus.pydocs import load_pydocs
from tfcr.corpus.tables import read_label_lines, read_table
from tfcr.errors import DataError, look_up
from tfcr.files import data_folders


@dataclass(frozen=True)
class Dataset:
    """A dataset: what it is, where its files lie below a data folder, and how they are read.

    Attributes
    ----------
    what
        For people.
    folder
        Below a folder of TFCR_DATA; empty for one that needs no files.
    read
        From that folder to the texts.
    documents, classes
        As they are read here.
    paper
        Whether it is one of the paper's sixteen, whole or in part.
    tokenizer
        The one it needs, if not the default.
    """

    what: str
    folder: str
    read: Callable[[Path], Corpus]
    documents: int
    classes: int
    paper: str = ""
    tokenizer: str = ""


def _read_newsgroups(folder: Path) -> Corpus:
    return read_corpus(folder / "20news-bydate.tar.gz", encoding="latin-1")


def _read_semeval(folder: Path) -> Corpus:
    """Read all years in the order of their names; of an id that comes twice, the first label counts."""
    rows: dict[str, tuple[str, str]] = {}
    options = ReadOptions(format="tsv", quoting=False, header=False, encoding="utf-8")
    for file in sorted(folder.glob("*.txt")):
        frame = read_table(file, options).frame
        for number, label, text in frame.select("1", "2", "3").iter_rows():
            if label and text:
                rows.setdefault(number, (label, _unescape(text)))
    return Corpus([text for _, text in rows.values()], [label for label, _ in rows.values()])


def _unescape(text: str) -> str:
    r"""Turn the literal \u2019 of some files into the character."""
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match.group(1), 16)), text)


def _read_davidson(folder: Path) -> Corpus:
    corpus = read_corpus(folder / "labeled_data.csv", text=("tweet",), label="class")
    return _renamed(corpus, ["hate", "offensive", "neither"])


def _read_agnews(folder: Path) -> Corpus:
    corpus = read_corpus(folder / "test.csv", text=("2", "3"), label="1", header=False)
    return _renamed(corpus, read_label_lines(folder / "classes.txt"), first=1)


def _read_dbpedia(folder: Path) -> Corpus:
    corpus = read_corpus(folder / "train.csv", text=("2",), label="1", header=False, columns=2, separator=",")
    return _renamed(corpus, read_label_lines(folder / "classes.txt"), first=1)


def _read_emoji(folder: Path) -> Corpus:
    parts = ("train", "val", "test")
    corpus = read_corpus(
        *(folder / f"{part}_text.txt" for part in parts),
        format="lines",
        label_files=tuple(str(folder / f"{part}_labels.txt") for part in parts),
    )
    return _renamed(corpus, [line.split("\t")[2].strip("_") for line in read_label_lines(folder / "mapping.txt")])


def _read_thucnews(folder: Path) -> Corpus:
    files = (folder / "dev.txt", folder / "test.txt")
    corpus = read_corpus(*files, text=("1",), label="2", format="tsv", header=False, quoting=False)
    return _renamed(corpus, read_label_lines(folder / "class.txt"))


def _renamed(corpus: Corpus, names: list[str], first: int = 0) -> Corpus:
    """Return the corpus with names in place of the numbers of its classes."""
    return replace(corpus, labels=[names[int(label) - first] for label in corpus.labels])


DATASETS: dict[str, Dataset] = {
    "pydocs": Dataset("docstrings of Python's standard library, by module", "", lambda folder: load_pydocs(), 3397, 14),
    "20ng": Dataset("20 Newsgroups, by date", "20ng", _read_newsgroups, 18_846, 20, paper="the same set"),
    "semeval": Dataset(
        "SemEval 2013 to 2017, task A: sentiment of tweets", "semeval", _read_semeval, 61_853, 3, paper="61,767 there"
    ),
    "dbpedia": Dataset("DBpedia abstracts by kind of thing", "dbpedia", _read_dbpedia, 14_000, 14, paper="a part"),
    "davidson": Dataset("hate speech and offensive language in tweets", "davidson", _read_davidson, 24_783, 3),
    "agnews": Dataset("AG news, test part", "agnews", _read_agnews, 7_600, 4),
    "emoji": Dataset("tweets by the emoji they held", "emoji", _read_emoji, 100_000, 20),
    "thucnews": Dataset("Chinese news titles", "thucnews", _read_thucnews, 20_000, 10, tokenizer="jieba"),
}


def load_data(sources: Sequence[str], **options: Any) -> Corpus:
    """Return the labelled texts that a user names: paths that exist, standard input, or a dataset's name."""
    if len(sources) == 1 and sources[0] in DATASETS and not Path(sources[0]).exists():
        return load_dataset(sources[0])
    return read_corpus(*sources, **options)


def load_dataset(name: str) -> Corpus:
    """Return the texts of a dataset, or say where its files are looked for."""
    dataset = look_up(DATASETS, name, "dataset")
    corpus = dataset.read(dataset_folder(name))
    return replace(corpus, name=name, columns=())


def dataset_folder(name: str) -> Path:
    """Return the folder that holds the files of a dataset; of one without files, any."""
    dataset = DATASETS[name]
    if not dataset.folder:
        return Path()
    folders = [folder / dataset.folder for folder in data_folders()]
    for folder in folders:
        if folder.is_dir():
            return folder
    looked = f"looked in {', '.join(map(str, folders))}" if folders else "TFCR_DATA is not set"
    raise DataError(
        f"the files of the dataset {name!r} are not on this machine ({looked}); set TFCR_DATA to the folder that "
        f"holds {dataset.folder}/"
    )


def is_ready(name: str) -> bool:
    """Tell whether a dataset's files are on this machine."""
    try:
        dataset_folder(name)
    except DataError:
        return False
    return True
