"""The 480 scores that the paper prints in its two tables."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: its subject, and the embeddings with their heads that it shows."""

    what: str
    groups: tuple[tuple[str, str], ...]

    @property
    def embeddings(self) -> tuple[str, ...]:
        """The embedding models, in the paper's order."""
        return tuple(dict.fromkeys(embedding for embedding, _ in self.groups))

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads, in the paper's order."""
        return tuple(dict.fromkeys(head for _, head in self.groups))


PAPER_TABLES: dict[str, PaperTable] = {
    "1": PaperTable("in-domain word2vec with SVM and logistic regression", (("w2v", "svm"), ("w2v", "lr"))),
    "2": PaperTable(
        "four embedding models with logistic regression",
        (("gw2v", "lr"), ("tw2v", "lr"), ("cglove", "lr"), ("wglove", "lr")),
    ),
}


@cache
def published_scores() -> dict[tuple[str, str, str, str], float]:
    """Return the published macro-F1 for each embedding, head, dataset and scheme."""
    text = files("tfcr.experiment.plan").joinpath("published-scores.csv").read_text("utf-8")
    return {
        (row["embedding"], row["classifier"], row["dataset"], row["scheme"]): float(row["macro_f1"])
        for row in csv.DictReader(text.splitlines())
    }


def paper_datasets() -> tuple[str, ...]:
    """Return the names of the paper's datasets, in the order of its tables."""
    return tuple(dict.fromkeys(dataset for _, _, dataset, _ in published_scores()))
