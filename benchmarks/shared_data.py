"""The real datasets beside the project, for benchmarks and slow tests."""

import csv
import os
import re
from collections.abc import Callable
from pathlib import Path

from tfcr.corpus import Corpus, read_corpus

DATA = Path(os.environ.get("TFCR_DATA") or Path(__file__).resolve().parents[1] / ".." / "shared" / "data")
VECTORS = DATA / "embeddings" / "glove.6B.100d.subset.bin"


def newsgroups() -> Corpus:
    return read_corpus(DATA / "20ng" / "20news-bydate.tar.gz", encoding="latin-1")


def semeval() -> Corpus:
    rows: dict[str, tuple[str, str]] = {}
    for file in sorted((DATA / "semeval").glob("*.txt")):
        for line in file.read_text("utf-8").split("\n"):
            fields = line.rstrip("\r").split("\t")
            if len(fields) >= 3:
                rows.setdefault(fields[0], (fields[1], _unescape(fields[2])))
    return Corpus([text for _, text in rows.values()], [label for label, _ in rows.values()])


def davidson() -> Corpus:
    return read_corpus(DATA / "davidson" / "labeled_data.csv", text="tweet", label="class")


def agnews() -> Corpus:
    with (DATA / "agnews" / "test.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    return Corpus([f"{title} {text}" for _, title, text in rows], [label for label, _, _ in rows])


def dbpedia() -> Corpus:
    lines = (DATA / "dbpedia" / "train.csv").read_text("utf-8").strip("\n").split("\n")
    pairs = [line.split(",", 1) for line in lines]
    return Corpus([text for _, text in pairs], [label for label, _ in pairs])


DATASETS: dict[str, Callable[[], Corpus]] = {
    "20ng": newsgroups,
    "semeval": semeval,
    "davidson": davidson,
    "agnews": agnews,
    "dbpedia": dbpedia,
}


def _unescape(text: str) -> str:
    r"""Turn the literal \u2019 of some files into the character."""
    return re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match.group(1), 16)), text)
