"""Macro-F1 of our presets and of what people use today, on the same ten folds of real datasets.

    python benchmarks/accuracy.py [--datasets a,b] [--systems a,b] [--folds 3/10] [--size N] [--thin]
                                  [--processes N] [--results FILE] [--table]

Runs the folds that the file of results does not hold yet, as cells of an experiment, then prints the tables. Vectors
are GloVe of 100 dimensions; NAME-w2v is a system with word2vec trained on the training texts. Folds are stratified,
seed 0; ten by default, of emoji the first three. Writes benchmarks/results/accuracy.md and .json.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from accuracy_tables import COLUMNS, IN_DOMAIN, collect, data_of, markdown_of
from measuring import RESULTS, write_results
from systems import GLOVE, SYSTEMS, vector_file

from tfcr.errors import look_up
from tfcr.experiment import Reporter, Request, VectorsChoice, Word2Vec, open_results, run_experiment
from tfcr.experiment.plan.parsing import parse_dataset, parse_folds, parse_names
from tfcr.experiment.plan.request import ALL_DOCUMENTS
from tfcr.warmup import warm_up

DATASETS = {"agnews": 10, "dbpedia": 10, "davidson": 10, "semeval": 10, "20ng": 10, "emoji": 3}
"""How many of the ten folds are run."""
THIN = 0.02
"""The fraction of the last class that is kept if classes are thinned out."""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--datasets", type=parse_names, default=tuple(DATASETS), help="names, or files of texts and labels"
    )
    parser.add_argument("--systems", type=parse_names, default=COLUMNS, help=", ".join(COLUMNS))
    parser.add_argument("--folds", type=parse_folds, help="folds, or the first of them, such as 3/10")
    parser.add_argument("--size", type=int, help="number of training documents")
    parser.add_argument("--thin", action="store_true", help="thin out the training documents, class by class")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS / "accuracy.sqlite")
    parser.add_argument("--table", action="store_true", help="run nothing, print what there is")
    return parser.parse_args(arguments)


def wanted_folds(asked: argparse.Namespace, dataset: str) -> tuple[int, int]:
    """Return the number of folds of a dataset, and how many of them are run."""
    folds, first = asked.folds or (10, DATASETS.get(dataset))
    return folds, first or folds


def requests(asked: argparse.Namespace) -> Iterator[Request]:
    """Yield what is to be run, one request per dataset and kind of vectors."""
    systems = [look_up(SYSTEMS, name, "system") for name in asked.systems if not name.endswith(IN_DOMAIN)]
    in_domain = [
        look_up(SYSTEMS, name.removesuffix(IN_DOMAIN), "system") for name in asked.systems if name.endswith(IN_DOMAIN)
    ]
    for dataset in asked.datasets:
        folds, first = wanted_folds(asked, dataset)
        request = Request(
            datasets=(parse_dataset(dataset),),
            schemes=(),
            systems=tuple(systems),
            sizes=(asked.size,),
            thin=THIN if asked.thin else None,
            folds=folds,
            first_folds=first,
            sample=ALL_DOCUMENTS,
            word2vec=Word2Vec(trained_on="train"),
        )
        if any(system.needs_vectors for system in systems):
            yield replace(request, embeddings=(VectorsChoice("glove", str(vector_file(GLOVE))),))
        elif systems:
            yield request
        if in_domain:
            yield replace(request, systems=tuple(in_domain))  # the default of a request is in-domain word2vec


def main(arguments: list[str]) -> None:
    asked = parse(arguments)
    asked.results.parent.mkdir(exist_ok=True)
    with closing(open_results(asked.results, make=True)) as results:
        if not asked.table:
            warm_up()  # or the first fold would count the seconds of compiling
            reporter = Reporter(tell, lambda progress: tell(f"{progress.doing}, {progress.done} of {progress.total}"))
            command = " ".join(["accuracy.py", *arguments])
            for request in requests(asked):
                run_experiment(request, results, processes=asked.processes, command=command, reporter=reporter)
        folds = {parse_dataset(dataset).name: wanted_folds(asked, dataset) for dataset in asked.datasets}
        scores = collect(results.cells(), folds, asked.systems, asked.size, THIN if asked.thin else None)
    markdown = markdown_of(scores, _title(asked))
    write_results("-".join(["accuracy", *_variant(asked)]), markdown, data_of(scores))
    print(markdown)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _variant(asked: argparse.Namespace) -> list[str]:
    """Return what the names of the files end in, so that small training sets do not replace the whole ones."""
    return [str(asked.size)] * bool(asked.size) + ["thin"] * asked.thin


def _title(asked: argparse.Namespace) -> str:
    size = f", {asked.size} training documents" if asked.size else ""
    return f"Macro-F1, mean ± standard deviation over the folds{size}{', classes thinned out' if asked.thin else ''}."


if __name__ == "__main__":
    main(sys.argv[1:])
