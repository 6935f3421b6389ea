"""Macro-F1 of our presets and of what people use today, on the same ten folds of real datasets.

    python benchmarks/accuracy.py [--rows few,1000,5000,skewed,many,curve,all] [--datasets a,b] [--systems a,b]
                                  [--size N] [--per-class 5,10,20] [--zipf 1] [--folds 3/10]
                                  [--processes N] [--results FILE] [--table] [--keep]

Runs the folds that the file of results does not hold yet, as cells of an experiment, then prints the tables of all that
it holds. `best` takes the vectors that "auto" chooses; others that need vectors have GloVe of 100 dimensions, and
NAME-w2v is a preset with word2vec trained on the training texts. Folds are stratified, seed 0; ten by default, the
first three of the learning curve and of emoji with all documents or skewed classes. Writes accuracy.md and
accuracy.json to benchmarks/results, or to the folder that TFCR_RESULTS names.

The folds behind the tables of docs/accuracy.md are kept in folds.sqlite.xz, to which --keep adds. A new file of results
begins with those of the peers, which do not depend on our code; to measure them again, delete it. With --table and no
file of results, all that is kept is shown.
"""

import argparse
import json
import lzma
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from pathlib import Path

import measuring
import numpy as np
import scipy.sparse as sp
from accuracy_tables import COLUMNS, FEW, IN_DOMAIN, collect, data_of, markdown_of
from logistic_descent import descend
from many_classes import MANY, many_classes
from systems import GLOVE, SYSTEMS, vector_file

from tfcr import PRESETS
from tfcr.data import load_data
from tfcr.errors import look_up
from tfcr.experiment import (
    ClassSizes,
    DatasetChoice,
    Reporter,
    Request,
    VectorsChoice,
    Word2Vec,
    open_results,
    resolve_system,
    run_experiment,
)
from tfcr.experiment.plan.parsing import parse_dataset, parse_folds, parse_names, parse_numbers
from tfcr.experiment.plan.peers import is_installed
from tfcr.experiment.plan.request import ALL_DOCUMENTS
from tfcr.experiment.results.store import Results
from tfcr.system.files import written_beside
from tfcr.warmup import warm_up

DATASETS = ("agnews", "davidson", "dbpedia", "semeval", "20ng", "emoji")
FOLDS = 10
KEPT = Path(__file__).with_name("folds.sqlite.xz")
"""The folds that were measured before."""
CURVE = (5, FEW, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10**9)
"""Documents per class of the learning curve; the last is as many as the smallest class has."""


@dataclass(frozen=True)
class Rows:
    """Rows of the table: each dataset with each training size and each of the class sizes, all crossed.

    Attributes
    ----------
    datasets
        Their names.
    sizes, class_sizes
        Training sizes; None for all documents.
    first_folds
        How many of the ten folds are run.
    fewer_folds
        The same for single datasets.
    """

    datasets: tuple[str, ...] = DATASETS
    sizes: tuple[int | None, ...] = (None,)
    class_sizes: tuple[ClassSizes | None, ...] = (None,)
    first_folds: int = FOLDS
    fewer_folds: tuple[tuple[str, int], ...] = ()


ROWS = {
    "few": Rows(class_sizes=(ClassSizes(FEW),)),
    "1000": Rows(sizes=(1000,)),
    "5000": Rows(sizes=(5000,)),
    "skewed": Rows(("20ng", "dbpedia", "emoji"), class_sizes=(ClassSizes(zipf=1),), fewer_folds=(("emoji", 3),)),
    "many": Rows((MANY,), class_sizes=(ClassSizes(FEW), ClassSizes(50, zipf=0.33), ClassSizes(zipf=1))),
    "curve": Rows(class_sizes=tuple(map(ClassSizes, CURVE)), first_folds=3),
    "all": Rows(fewer_folds=(("emoji", 3),)),
}
"""Of `many`, the second row has 50 to 10 documents per class, the third 135 to 2."""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=parse_names, help=", ".join(ROWS))
    parser.add_argument("--datasets", type=parse_names, help="only these of the rows; or files of texts and labels")
    parser.add_argument("--systems", type=parse_names, help=", ".join(COLUMNS))
    parser.add_argument("--size", type=lambda text: parse_numbers(text, "--size"), help="training documents")
    parser.add_argument(
        "--per-class",
        type=lambda text: parse_numbers(text, "--per-class"),
        help="training documents of each class; more than the smallest class has: as many as it has",
    )
    parser.add_argument("--zipf", type=float, default=0.0, help="class sizes by Zipf's law with this exponent")
    parser.add_argument("--folds", type=parse_folds, help="folds, or the first of them, such as 3/10")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--results", type=Path, default=measuring.RESULTS / "accuracy.sqlite")
    parser.add_argument("--table", action="store_true", help="run nothing, print what there is")
    parser.add_argument("--keep", action="store_true", help=f"write all folds to {KEPT.name}")
    asked = parser.parse_args(arguments)
    if asked.rows and (asked.size or asked.per_class or asked.zipf):
        parser.error("found --rows with --size, --per-class or --zipf; expected one of both")
    return asked


def wanted_rows(asked: argparse.Namespace) -> list[Rows]:
    """Return the rows to run: those named, or those of the sizes given; of the datasets given."""
    if asked.size or asked.per_class or asked.zipf:
        class_sizes = [ClassSizes(most, asked.zipf) for most in asked.per_class or (None,)]
        rows = [Rows(sizes=asked.size or (None,), class_sizes=tuple(class_sizes))]
        if class_sizes == [ClassSizes()]:
            rows = [replace(rows[0], class_sizes=(None,))]
    else:
        rows = [look_up(ROWS, name, "rows") for name in asked.rows or ("all",)]
    if not asked.datasets:
        return rows
    if asked.rows:
        return [
            replace(one, datasets=some)
            for one in rows
            if (some := tuple(name for name in asked.datasets if name in one.datasets))
        ]
    return [replace(one, datasets=asked.datasets) for one in rows]


def wanted_systems(asked: argparse.Namespace) -> tuple[str, ...]:
    """Return the systems asked for, or all that can run."""
    if asked.systems:
        return tuple(asked.systems)
    absent = [name for name, system in SYSTEMS.items() if not is_installed(system)]
    if absent:
        tell(f"left out: {', '.join(absent)}; to run them: pip install 'tfcr[bench-encoders]'")
    return tuple(name for name in COLUMNS if name not in absent)


def requests(asked: argparse.Namespace) -> Iterator[Request]:
    """Yield what is to be run, one request per dataset, class sizes and kind of vectors."""
    names = wanted_systems(asked)
    systems = tuple(look_up(SYSTEMS, name, "system") for name in names if not name.endswith(IN_DOMAIN))
    in_domain = tuple(resolve_system(name.removesuffix(IN_DOMAIN)) for name in names if name.endswith(IN_DOMAIN))
    for rows in wanted_rows(asked):
        for name in rows.datasets:
            dataset = many_classes() if name == MANY else parse_dataset(name)
            folds, first = asked.folds or (FOLDS, dict(rows.fewer_folds).get(name, rows.first_folds))
            for class_sizes in dict.fromkeys(fitting(sizes, dataset, folds) for sizes in rows.class_sizes):
                request = Request(
                    datasets=(dataset,),
                    schemes=(),
                    systems=systems,
                    sizes=rows.sizes,
                    class_sizes=class_sizes,
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
                    yield replace(request, systems=in_domain)  # the default of a request is in-domain word2vec


def fitting(sizes: ClassSizes | None, dataset: DatasetChoice, folds: int) -> ClassSizes | None:
    """Return the class sizes with no more documents per class than the smallest class has to train on."""
    if sizes is None or sizes.most is None or sizes.zipf:
        return sizes
    return replace(sizes, most=min(sizes.most, _smallest(dataset.source, folds)))


@cache
def _smallest(source: str, folds: int) -> int:
    smallest = min(Counter(load_data([source]).labels).values())
    return smallest - ceil(smallest / folds)


def kept_folds(path: Path, *, ours: bool) -> None:
    """Write the folds that were measured before to a new file of results: those of peers, and ours if wanted."""
    if not KEPT.exists():
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(lzma.decompress(KEPT.read_bytes()))
        if not ours:
            with closing(sqlite3.connect(copy)) as results:
                marks = ", ".join("?" * len(PRESETS))
                results.execute(f"DELETE FROM cells WHERE scheme IN ({marks})", tuple(PRESETS))
                results.execute("DELETE FROM folds WHERE cell NOT IN (SELECT key FROM cells)")
                results.commit()
        with written_beside(path) as beside:
            beside.write(copy.read_bytes())


def keep(path: Path) -> None:
    """Add the folds of a file of results to KEPT, in place of older ones; without what names this machine."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "folds.sqlite"
        kept_folds(copy, ours=True)
        if not copy.exists():
            copy.write_bytes(path.read_bytes())
        with closing(sqlite3.connect(copy)) as kept:
            kept.execute("ATTACH ? AS results", (str(path),))
            kept.execute("CREATE TEMP TABLE before AS SELECT key, wanted FROM main.cells")
            for table in ("cells", "folds"):
                kept.execute(f"INSERT OR REPLACE INTO main.{table} SELECT * FROM results.{table}")
            for table in ("claims", "runs"):  # they name processes and the machine
                kept.execute(f"DELETE FROM main.{table}")
            kept.execute("DELETE FROM main.cells WHERE key NOT IN (SELECT cell FROM main.folds)")
            # a later run of fewer folds, such as the learning curve's, takes none of the others away
            kept.execute(
                "UPDATE main.cells SET wanted = MAX(cells.wanted, before.wanted) "
                "FROM temp.before WHERE before.key = cells.key"
            )
            for key, facts in kept.execute("SELECT key, facts FROM main.cells").fetchall():
                known = json.loads(facts)
                named = json.dumps({**known, "source": Path(known["source"]).name})
                kept.execute("UPDATE main.cells SET facts = ? WHERE key = ?", (named, key))
            kept.commit()
            kept.execute("DETACH results")
            kept.execute("VACUUM")
        with written_beside(KEPT) as beside:
            beside.write(lzma.compress(copy.read_bytes(), preset=9))


def main(arguments: list[str]) -> None:
    asked = parse(arguments)
    asked.results.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = asked.results
        if asked.table and not path.exists():
            path = Path(folder) / path.name  # or a later run would not measure ours again
        if not path.exists():
            kept_folds(path, ours=asked.table)
        with closing(open_results(path, make=True)) as results:
            if not asked.table:
                warm_up()  # or the first fold would count the seconds of compiling
                descend(sp.csr_array(np.eye(2)), np.ones((2, 1)), np.ones((2, 1)), tolerance=1.0)
                run_all(results, asked, arguments)
            scores = collect(results.cells(), asked.systems or COLUMNS)
        if asked.keep:
            keep(path)
    markdown = markdown_of(scores)
    measuring.write_results("accuracy", markdown, data_of(scores))
    print(markdown)


def run_all(results: Results, asked: argparse.Namespace, arguments: list[str]) -> None:
    """Run the folds that are missing."""
    reporter = Reporter(tell, lambda progress: tell(f"{progress.doing}, {progress.done} of {progress.total}"))
    command = " ".join(["accuracy.py", *arguments])
    for request in requests(asked):
        run_experiment(request, results, processes=asked.processes, command=command, reporter=reporter)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
