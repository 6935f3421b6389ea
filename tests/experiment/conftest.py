"""A small dataset with vectors, a request for it, and what the tests of experiments share."""

import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.runner import Result, Run, environment, run
from tests.conftest import random_corpus, random_vectors
from tfcr.embeddings import Embeddings
from tfcr.experiment import DatasetChoice, Request, Results, VectorsChoice, Word2Vec, open_results, run_experiment
from tfcr.experiment.plan.cells import Cell, Planned, Settings, corpus_plans, plan_cells
from tfcr.experiment.plan.corpora import CorpusFacts
from tfcr.experiment.results.store import CellResult, FoldResult
from tfcr.experiment.run.corpora import prepare_corpus
from tfcr.experiment.run.vectors import IdentifyVectors

__all__ = ["Result", "Run", "environment", "run"]


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("experiment") / "small.csv"
    corpus = random_corpus(150)
    # the paper's tokenizer deletes the underscore
    texts = [f"{text.replace('_', 'x')} see http://x.org/{number % 7}" for number, text in enumerate(corpus.texts)]
    rows = [f"{text},{label}" for text, label in zip(texts, corpus.labels, strict=True)]
    path.write_text("text,label\n" + "\n".join(rows) + "\n", "utf-8")
    small_vectors(0).save(path.with_name("vectors.vec"))
    return path


def small_vectors(seed: int) -> Embeddings:
    vectors = random_vectors(random_corpus(150), seed=seed)
    return Embeddings.from_arrays([word.replace("_", "x") for word in vectors.words], vectors.vectors)


@pytest.fixture
def request_(data: Path) -> Request:
    return Request(
        datasets=(DatasetChoice("small", str(data)),),
        embeddings=(VectorsChoice("file", str(data.with_name("vectors.vec"))),),
        folds=5,
        first_folds=2,
    )


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return open_results(tmp_path / "r.sqlite", make=True)


@pytest.fixture(scope="session")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the results of a table and a curve, of a dataset and vectors that stand in for the paper's."""
    path = tmp_path_factory.mktemp("results") / "r.sqlite"
    opened = open_results(path, make=True)
    request = Request(
        datasets=(DatasetChoice("20ng", str(data)), DatasetChoice("<b>&$x_1$", str(data), tokenizer="whitespace")),
        embeddings=(VectorsChoice("w2v", "w2v"),),
        heads=("lr",),
        folds=5,
        first_folds=2,
        word2vec=Word2Vec(dimensions=4, epochs=1),
    )
    run_experiment(request, opened, command="tfcr experiment run <script>alert(1)</script>")
    run_experiment(replace(request, sizes=(30, 60, None)), opened, command="tfcr experiment run --sizes 30,60,all")
    opened.close()
    return path


def stored(path: Path) -> dict[tuple[str, int], tuple[float, str]]:
    """Return score and confusion of each fold of each cell."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT cell, fold, macro_f1, confusion FROM folds").fetchall()
    connection.close()
    assert len(rows) == len({row[:2] for row in rows})
    return {(cell, fold): (score, confusion) for cell, fold, score, confusion in rows}


def plan_all(request: Request) -> list[Planned]:
    """Return the cells of a request, as the runner plans them."""
    corpora = {plan: prepare_corpus(plan) for plan in corpus_plans(request)}
    files = {
        choice.source: next(IdentifyVectors(choice.source).work())
        for choice in request.embeddings
        if choice.source != "w2v"
    }
    return list(plan_cells(request, corpora, files))


def assert_refused(result: Result, message: str) -> None:
    assert result.status == 2, result
    lines = [line for line in result.err.splitlines() if not line.startswith(("note: ", "warning: "))]
    assert len(lines) == 1, result.err
    assert re.search(message, lines[0]), lines[0]
    assert result.out == ""


def fold_row(fold: int, score: float) -> FoldResult:
    return FoldResult(fold, score, np.array([[8, 2], [1, 9]]), 180, 20, 0.5, 0.9, 1.0, {"tfcr": "0"})


def cell_of(
    dataset: str, scheme: str, scores: list[float], profile: str = "equations", seed: int = 0, **changes: Any
) -> CellResult:
    """Return made-up scores; `changes` are those of the cell."""
    settings = Settings(f"{dataset}{seed}", "hash", None, size=None, class_sizes=None, seed=seed, folds=10)
    facts = CorpusFacts(dataset, 200, 200, ("a", "b"), 180, ())
    key = f"{dataset} {scheme} {profile} {seed}"
    cell = Cell(key, dataset, "gw2v", scheme, "lr", profile, settings, facts, "gw2v")
    folds = tuple(fold_row(number, score) for number, score in enumerate(scores))
    return CellResult(replace(cell, **changes), 10, folds)


def changed_cell(result: CellResult, **changes: Any) -> CellResult:
    return CellResult(replace(result.cell, **changes), result.wanted, result.folds)
