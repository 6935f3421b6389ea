"""Which settings come nearest to the published scores? The paper gives neither those of its word2vec nor its TF-TRR.

    python benchmarks/published_search.py [--lengths none,0.4,1] [--kinds cbow,skip-gram] [--dimensions 100,300]
                                          [--window 5] [--epochs 5,10] [--min-count 2,5] [--datasets 20ng,semeval]
                                          [--folds 1/10] [--processes N] [--results FILE] [--table]

Crosses all that is given and runs each setting in the profile `published`: none, TF-IDF, KLD, TF-CR and two readings of
TF-TRR, with SVM and LR, which are the ten published scores of each dataset. Then ranks all settings of the file of
results by their distance: the sum of absolute differences to the published scores, each TF-TRR reading by itself. It
may be stopped at any time; the same command resumes it, and another one adds to the same file.
"""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import measuring

from tfcr import SCHEMES, ClassCounts
from tfcr.experiment import Request, Word2Vec, open_results, run_experiment
from tfcr.experiment.plan.own_schemes import own_scheme
from tfcr.experiment.plan.parsing import parse_dataset, parse_folds, parse_names, parse_numbers
from tfcr.experiment.plan.profiles import PAPER_SCHEMES
from tfcr.experiment.plan.published import published_scores
from tfcr.experiment.results.store import CellResult
from tfcr.schemes import Weights

PROFILE = "published"
HEADS = ("svm", "lr")
TFTRR = "tftrr"
KINDS = {"cbow": False, "skip-gram": True}
MOST_SHOWN = 40


def tftrr_of_class(counts: ClassCounts) -> Weights:
    """Return the printed TF-TRR with the tf of the class; `published` may have another reading under its name."""
    return SCHEMES["tftrr"](counts)


READINGS = {"tf of the class": "tftrr_of_class", "tf of all classes": "tftrr-all"}
"""How TF-TRR is read: a function of this file, or a row of SCHEMES."""


@dataclass(frozen=True)
class Setting:
    """One of the settings that are tried: the vectors, and how TF-TRR is read."""

    vectors: str
    reading: str


Scores = dict[tuple[str, str, str], float]
"""By dataset, head and scheme."""


def parse(arguments: list[str]) -> argparse.Namespace:
    numbers = {"dimensions": "100", "window": "5", "epochs": "10", "min-count": "2"}
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--lengths", type=parse_names, default=("none",), help="of word vectors; none: as they are")
    parser.add_argument("--kinds", type=parse_names, default=("cbow",), help=", ".join(KINDS))
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=lambda text: parse_numbers(text, "a setting"), default=default)
    parser.add_argument("--datasets", type=parse_names, default="20ng,semeval", help="of the paper, or NAME=FILE")
    parser.add_argument("--folds", type=parse_folds, default="1/10", help="folds, or the first of them")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--results", type=Path, default=measuring.RESULTS / "published-search.sqlite")
    parser.add_argument("--table", action="store_true", help="run nothing, print what there is")
    return parser.parse_args(arguments)


def requests(asked: argparse.Namespace) -> Iterable[Request]:
    """Yield a request for each setting."""
    own = own_scheme(f"{__file__}:{tftrr_of_class.__name__}")
    folds, first_folds = asked.folds
    settings = product(asked.kinds, asked.dimensions, asked.window, asked.epochs, asked.min_count, asked.lengths)
    for kind, dimensions, window, epochs, min_count, length in settings:
        yield Request(
            datasets=tuple(map(parse_dataset, asked.datasets)),
            schemes=(*(name for name in PAPER_SCHEMES if name != TFTRR), *READINGS.values()),
            own_schemes={own.name: own},
            heads=HEADS,
            profiles=(PROFILE,),
            folds=folds,
            first_folds=first_folds,
            word2vec=Word2Vec(dimensions, window, epochs, KINDS[kind], min_count),
            vector_length=0 if length == "none" else float(length),
        )


def scores_of(results: Iterable[CellResult]) -> dict[Setting, Scores]:
    """Return the scores of each setting; other schemes than TF-TRR count for every reading of it."""
    found: dict[Setting, Scores] = {}
    for result in results:
        cell = result.cell
        if not result.folds or cell.profile != PROFILE:
            continue
        score = sum(fold.macro_f1 for fold in result.folds) / len(result.folds)
        # before the name of one's own scheme, a hash stands in the settings
        stored = str(cell.settings.system["scheme"])
        reading = next((reading for reading, scheme in READINGS.items() if stored.endswith(scheme)), None)
        scheme = TFTRR if reading else cell.scheme
        for one in [reading] if reading else READINGS:
            found.setdefault(Setting(cell.vectors, one), {})[cell.dataset, cell.head, scheme] = score
    return found


def distance(scores: Mapping[tuple[str, str, str], float], dataset: str) -> float | None:
    """Return the sum of absolute differences to the ten published scores of a dataset; None if one is missing."""
    published = {
        (dataset, head, scheme): published_scores()["w2v", head, dataset, scheme]
        for head, scheme in product(HEADS, PAPER_SCHEMES)
    }
    if not set(published) <= set(scores):
        return None
    return sum(abs(scores[key] - value) for key, value in published.items())


def table_of(found: Mapping[Setting, Scores], datasets: Sequence[str]) -> str:
    """Return the settings in Markdown, the nearest first: those that have all datasets, then the others."""
    figures = list(product(HEADS, PAPER_SCHEMES))
    titles = ["word2vec", "TF-TRR", "dataset", "distance", *(f"{scheme} {head}" for head, scheme in figures)]
    rows = [titles, ["---"] * len(titles)]
    for dataset in datasets:
        published = [published_scores()["w2v", head, dataset, scheme] for head, scheme in figures]
        rows.append(["published", "", dataset, "", *map(_score, published)])
    ranked = []
    for setting, scores in found.items():
        known = {name: value for name in datasets if (value := distance(scores, name)) is not None}
        ranked.append((-len(known), sum(known.values()), setting, scores, known))
    for _, total, setting, scores, known in sorted(ranked, key=lambda row: row[:2])[:MOST_SHOWN]:
        for dataset, own in known.items():
            cells = [scores[dataset, head, scheme] for head, scheme in figures]
            rows.append([setting.vectors, setting.reading, dataset, f"{own:.3f} of {total:.3f}", *map(_score, cells)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _score(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def main(arguments: list[str]) -> None:
    asked = parse(arguments)
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    with closing(open_results(asked.results, make=True)) as results:
        for request in [] if asked.table else requests(asked):
            print(request.word2vec, "length", request.vector_length, file=sys.stderr, flush=True)
            run_experiment(request, results, processes=asked.processes)
        print(table_of(scores_of(results.cells()), [parse_dataset(name).name for name in asked.datasets]))


if __name__ == "__main__":
    main(sys.argv[1:])
