"""``tfcr experiment run|table|curve|ranks|report|status|merge``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tfcr.cli.help import Command, Group, input_option, output_option
from tfcr.cli.options import Dask, Json, dask_places, with_options
from tfcr.cli.output import BETWEEN_NOTES, if_stopped, note, print_json, print_table, time_left, warn

if TYPE_CHECKING:
    from tfcr.cluster import DaskPlaces
    from tfcr.experiment.plan.request import Request
    from tfcr.experiment.results.summary import Figure
    from tfcr.experiment.results.summary import Group as Table
    from tfcr.experiment.run.runner import Outcome, RunProgress

    Placed = TypeVar("Placed", Figure, Table)

app = typer.Typer(cls=Group, help="The paper's experiments, or your own in the same grid.", no_args_is_help=True)

grid_option = partial(typer.Option, rich_help_panel="Grid")
word2vec_option = partial(typer.Option, rich_help_panel="In-domain word2vec")
ResultsFile = Annotated[str, input_option("--results", metavar="FILE", help="SQLite file with the results.")]
Picture = Annotated[
    str,
    output_option(
        "--output", "-o", metavar="FILE", help="Picture to write ({pictures}, by its ending).", show_default=False
    ),
]
OneHead = Annotated[str | None, output_option("--head", metavar="NAME", help="Only this head, one of {heads}.")]
OneVectors = Annotated[str | None, output_option("--embeddings", metavar="NAME", help="Only these vectors.")]
OneProfile = Annotated[
    str | None, output_option("--profile", metavar="NAME", help="Only this profile, one of {profiles}.")
]
DEFAULT_RESULTS = "experiments.sqlite"


@dataclass(frozen=True)
class Grid:
    """The lists that are crossed; one that is not given is the paper's, or the file's."""

    datasets: Annotated[
        str | None,
        grid_option(
            "--datasets",
            metavar="NAMES",
            help="Datasets or data files; hate=davidson runs davidson under the name hate.",
        ),
    ] = None
    schemes: Annotated[
        str | None,
        grid_option(
            "--schemes",
            metavar="NAMES",
            help="Weighting schemes: {schemes}.",
            show_default="none,tfidf,kld,tftrr,tfcr",
        ),
    ] = None
    embeddings: Annotated[
        str | None,
        grid_option(
            "--embeddings",
            metavar="NAMES",
            help="w2v, known names or files, such as w2v,wglove=glove.6B.100d.txt.",
            show_default="w2v",
        ),
    ] = None
    systems: Annotated[
        str | None,
        grid_option(
            "--systems",
            metavar="NAMES",
            help="What to run beside the schemes: presets ({presets}), or what people use today ({peers}).",
            show_default="none",
        ),
    ] = None
    heads: Annotated[
        str | None,
        grid_option("--heads", metavar="NAMES", help="Linear classifiers: {heads}.", show_default="svm,lr"),
    ] = None
    sizes: Annotated[
        str | None,
        grid_option(
            "--sizes", metavar="LIST", help="Training sizes: numbers, FIRST:LAST:STEP, all.", show_default="all"
        ),
    ] = None
    folds: Annotated[
        str | None,
        grid_option("--folds", metavar="N", help="Number of folds; 3/10 runs the first 3 of 10.", show_default="10"),
    ] = None
    profile: Annotated[
        str | None,
        grid_option(
            "--profile",
            metavar="NAMES",
            help="Of {profiles}: equations is the printed formulas, published the author's program.",
            show_default="equations",
        ),
    ] = None
    seeds: Annotated[
        str | None,
        grid_option("--seeds", metavar="LIST", help="Random seeds, one repeat each.", show_default="0"),
    ] = None
    vector_length: Annotated[
        float | None,
        grid_option(
            "--vector-length",
            metavar="LENGTH",
            help="Scale every word vector to this length; 0: none.",
            show_default="the profile's for w2v; others as they are",
        ),
    ] = None
    sample: Annotated[
        int | None,
        grid_option("--sample", metavar="N", help="Maximum number of documents per dataset.", show_default="100000"),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Return the given lists as parameters of a Request."""
        from tfcr.experiment.plan.parsing import (
            parse_dataset,
            parse_folds,
            parse_names,
            parse_numbers,
            parse_sizes,
            parse_vectors,
        )

        parsers: dict[str, Callable[[str], dict[str, Any]]] = {
            "datasets": lambda text: {"datasets": tuple(map(parse_dataset, parse_names(text)))},
            "schemes": lambda text: {"schemes": parse_names(text)},
            "embeddings": lambda text: {"embeddings": tuple(map(parse_vectors, parse_names(text)))},
            "systems": lambda text: {"systems": parse_names(text)},
            "heads": lambda text: {"heads": parse_names(text)},
            "sizes": lambda text: {"sizes": parse_sizes(text)},
            "folds": lambda text: dict(zip(("folds", "first_folds"), parse_folds(text), strict=True)),
            "profile": lambda text: {"profiles": parse_names(text)},
            "seeds": lambda text: {"seeds": parse_numbers(text, "seeds")},
        }
        numbers = {"sample": self.sample, "vector_length": self.vector_length}
        found: dict[str, Any] = {name: value for name, value in numbers.items() if value is not None}
        for name, parse in parsers.items():
            text = getattr(self, name)
            if text is not None:
                found |= parse(text)
        return found


@dataclass(frozen=True)
class InDomain:
    """How in-domain word2vec is trained."""

    dimensions: Annotated[
        int | None,
        word2vec_option("--dimensions", metavar="N", help="Length of each vector.", min=1, show_default="100"),
    ] = None
    window: Annotated[
        int | None,
        word2vec_option("--window", metavar="N", help="Context words on either side.", min=1, show_default="5"),
    ] = None
    epochs: Annotated[
        int | None,
        word2vec_option("--epochs", metavar="N", help="Number of passes over the texts.", min=1, show_default="10"),
    ] = None
    skip_gram: Annotated[
        bool | None, word2vec_option("--skip-gram/--cbow", help="Kind of word2vec.", show_default="cbow")
    ] = None
    min_count: Annotated[
        int | None,
        word2vec_option("--min-count", metavar="N", help="Rarer words get no vector.", min=1, show_default="2"),
    ] = None
    trained_on: Annotated[
        str | None,
        word2vec_option(
            "--w2v-from",
            metavar="dataset|train",
            help="Texts to train on: the whole dataset without labels, or each training part alone.",
            show_default="dataset",
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the settings that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}


@app.command(cls=Command)
@with_options
def run(
    grid: Grid,
    in_domain: InDomain,
    file: Annotated[
        str | None, typer.Argument(metavar="FILE.toml", help="Your own experiment.", show_default=False)
    ] = None,
    table: Annotated[
        str | None,
        grid_option("--table", metavar="1|2", help="The paper's table 1 (w2v; svm, lr) or 2 (four models; lr)."),
    ] = None,
    curve: Annotated[
        bool, grid_option("--curve", help="The paper's figure: training sizes from 1,000 to 90,000, lr.")
    ] = False,
    scheme_from: Annotated[
        list[str] | None,
        grid_option("--scheme-from", metavar="CODE", help="Your own scheme: FILE.py:FUNCTION or MODULE:FUNCTION."),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes", metavar="N", help="Cells that run at once.", min=1, show_default="one per processor"
        ),
    ] = None,
    dask: Dask = None,
    results: ResultsFile = DEFAULT_RESULTS,
    json: Json = False,
) -> None:
    """Run part of the paper's grid, or your own. Finished folds are not run again: stop and resume at any time.

    \b
    tfcr experiment run --table 1 --datasets 20ng,semeval --profile equations,published
    tfcr experiment run --table 2 --embeddings wglove=glove.6B.100d.txt --datasets 20ng
    tfcr experiment run --curve --datasets 20ng --folds 3/10 --sizes 1000:10000:1000,15000:90000:5000,all
    tfcr experiment run my.toml --scheme-from my_schemes.py:square_root
    """
    from tfcr.errors import InputError

    if_stopped(f"finished folds are kept in {results}; to resume, type the same command again")
    request = _request(file, table, curve, scheme_from or [], grid, in_domain)
    if dask is not None and processes is not None:
        raise InputError("found --dask along with --processes; expected one of both: leave out --processes")
    with dask_places(dask) as places:
        outcome = _run(request, results, processes, places)
    if json:
        print_json({"results": results, **vars(outcome)})
        return
    print(
        f"{outcome.cells} cells, {outcome.folds_before + outcome.folds_run} folds: "
        f"{outcome.folds_before} were there, {outcome.folds_run} run now"
    )
    print(f"Next: tfcr experiment table --results {results}")


def _request(
    file: str | None, table: str | None, curve: bool, schemes: list[str], grid: Grid, in_domain: InDomain
) -> "Request":
    """Return what is asked for, checked, and print notes on what was left out."""
    from tfcr.experiment.plan.gridfile import read_grid
    from tfcr.experiment.plan.grids import make_request
    from tfcr.experiment.plan.own_schemes import own_scheme
    from tfcr.experiment.plan.request import with_own_schemes

    file_parameters = read_grid(file) if file else None
    request, notes = make_request(table=table, curve=curve, file=file_parameters, given=grid.parameters())
    request = with_own_schemes(request, [own_scheme(text) for text in schemes])
    request = request.training_word2vec(in_domain.given())
    request.check()
    for line in notes:
        note(line)
    return request


def _run(request: "Request", results: str, processes: int | None, places: "DaskPlaces | None") -> "Outcome":
    """Run the folds that the file of results does not hold yet."""
    import shlex
    import sys
    from contextlib import closing

    from tfcr.experiment.results.store import open_results
    from tfcr.experiment.run.runner import Reporter, run_experiment
    from tfcr.system.hardware import n_processors

    pool = None
    if places is not None:
        from tfcr.experiment.run.dask_pool import DaskPool

        pool = DaskPool(places.client)
    with closing(open_results(results, make=True)) as opened, _standing_bar() as show:
        return run_experiment(
            request,
            opened,
            processes=processes or n_processors(),
            command=f"tfcr {shlex.join(sys.argv[1:])}",
            reporter=Reporter(note, show, warn),
            given_pool=pool,
        )


@app.command(cls=Command)
def table(
    results: ResultsFile = DEFAULT_RESULTS,
    table: Annotated[
        str | None, output_option("--table", metavar="1|2", help="Only what the paper's table 1 or 2 shows.")
    ] = None,
    profile: OneProfile = None,
    format: Annotated[str, output_option("--format", metavar="NAME", help="One of {tables}.")] = "text",
    json: Json = False,
) -> None:
    """Print our scores beside the published ones. Standard deviation, coverage and tests are shown.

    \b
    tfcr experiment table --table 1 --format markdown
    """
    from tfcr.errors import ResultsError, look_up
    from tfcr.experiment.results.store import open_results
    from tfcr.experiment.results.summary import summarise
    from tfcr.experiment.results.tables import TABLE_FORMATS, select

    write = look_up(TABLE_FORMATS, "json" if json else format, "format")
    opened = open_results(results)
    groups = select(summarise(opened.cells()), table=table, profile=profile)
    opened.close()
    if not groups:
        raise ResultsError(f"{results} holds no finished cell of that table or profile; see: tfcr experiment status")
    print(write(groups))


@app.command(cls=Command)
def curve(
    output: Picture,
    results: ResultsFile = DEFAULT_RESULTS,
    profile: OneProfile = None,
    head: OneHead = None,
    embeddings: OneVectors = None,
) -> None:
    """Draw macro-F1 against training size. One panel per dataset, one line per scheme.

    \b
    tfcr experiment curve -o curves.png
    """
    from pathlib import Path

    from tfcr.errors import look_up
    from tfcr.experiment.results.store import open_results
    from tfcr.experiment.results.summary import summarise_curves
    from tfcr.report import PICTURE_FORMATS, draw_curves
    from tfcr.system.files import write_file

    kind = Path(output).suffix.removeprefix(".").lower()
    look_up(PICTURE_FORMATS, kind, "format of a picture")
    opened = open_results(results)
    figures = summarise_curves(opened.cells())
    opened.close()
    wanted = {"profile": profile, "head": head, "embedding": embeddings}
    given = {name: value for name, value in wanted.items() if value}
    chosen = _one_place(figures, given, results, "curve of two sizes or more")
    write_file(Path(output), draw_curves(chosen, kind))
    for line in chosen.notes:
        note(line)
    print(f"{chosen.place.title}: {len(chosen.panels)} panels written to {output}")


@app.command(cls=Command)
def ranks(
    output: Picture,
    results: ResultsFile = DEFAULT_RESULTS,
    profile: OneProfile = None,
    head: OneHead = None,
    embeddings: OneVectors = None,
) -> None:
    """Draw mean ranks over datasets. The critical-difference diagram; needs six datasets or more.

    \b
    tfcr experiment ranks -o ranks.svg
    """
    from pathlib import Path

    from tfcr.errors import ResultsError, look_up
    from tfcr.experiment.results.statistics import FEWEST_DATASETS
    from tfcr.experiment.results.store import open_results
    from tfcr.experiment.results.summary import ranking_of, summarise
    from tfcr.report import PICTURE_FORMATS, draw_ranks
    from tfcr.system.files import write_file

    kind = Path(output).suffix.removeprefix(".").lower()
    look_up(PICTURE_FORMATS, kind, "format of a picture")
    opened = open_results(results)
    groups = [group for group in summarise(opened.cells()) if len(group.columns) > 1]
    opened.close()
    wanted = {"profile": profile, "head": head, "embedding": embeddings}
    given = {name: value for name, value in wanted.items() if value}
    group = _one_place(groups, given, results, "table with two columns or more")
    ranking = ranking_of(group)
    if ranking is None:
        raise ResultsError(
            f"found {len(group.rows)} datasets in {group.place.title}; expected {FEWEST_DATASETS} or more that have "
            "all columns: run more with tfcr experiment run --datasets"
        )
    write_file(Path(output), draw_ranks(ranking, kind, group.place.title))
    for name, rank in ranking.ranks.items():
        print(f"{rank:.2f}  {name}")
    print(f"critical difference {ranking.critical_difference:.2f} over {ranking.n_datasets} datasets")
    print(f"{group.place.title}: written to {output}")


def _one_place(found: "list[Placed]", wanted: dict[str, str], results: str, what: str) -> "Placed":
    """Return the only table or figure of a place that was asked for."""
    from tfcr.errors import ResultsError

    kept = [one for one in found if all(getattr(one.place, name) == value for name, value in wanted.items())]
    if not kept:
        raise ResultsError(f"{results} holds no {what}; run: tfcr experiment run")
    if len(kept) > 1:
        titles = "; ".join(one.place.title for one in kept)
        raise ResultsError(f"found {len(kept)} of them ({titles}); choose with --profile, --head, --embeddings")
    return kept[0]


@app.command(cls=Command)
def report(
    output: Annotated[
        str, output_option("--output", "-o", metavar="FILE", help="HTML page to write.")
    ] = "experiments.html",
    results: ResultsFile = DEFAULT_RESULTS,
) -> None:
    """Write one HTML page with tables, curves and settings. It includes the commands to repeat the run.

    \b
    tfcr experiment report -o report.html
    """
    from pathlib import Path

    from tfcr.experiment.results.store import open_results
    from tfcr.report import report_page
    from tfcr.system.files import write_file

    opened = open_results(results)
    page = report_page(opened)
    opened.close()
    write_file(Path(output), page.encode("utf-8"))
    print(f"written to {output}")


@app.command(cls=Command)
def status(results: ResultsFile = DEFAULT_RESULTS, json: Json = False) -> None:
    """Show how much is done and how much is left.

    \b
    tfcr experiment status
    """
    from tfcr.experiment.results.store import open_results
    from tfcr.experiment.results.summary import progress_of

    opened = open_results(results)
    rows = progress_of(opened.cells())
    running = opened.under_way()
    opened.close()
    if json:
        print_json({"results": results, "folds_under_way": running, "rows": [vars(row) for row in rows]})
        return
    columns = ("profile", "dataset", "vectors", "head", "cells", "done", "folds", "folds left", "seconds")
    print_table(columns, [tuple(vars(row).values()) for row in rows])
    left = sum(row.folds_left for row in rows)
    print(f"\n{left} folds left, {running} of them under way" if left else "\nall done")


@app.command(cls=Command)
def merge(
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Files of results.", show_default=False)],
    output: Annotated[
        str,
        output_option("--output", "-o", metavar="FILE", help="File to write; may be one of FILES.", show_default=False),
    ],
    json: Json = False,
) -> None:
    """Join files of results into one. The same folds must agree.

    \b
    tfcr experiment merge job-1.sqlite job-2.sqlite -o experiments.sqlite
    """
    from tfcr.experiment.results.merge import merge_results

    if_stopped(f"{output} was not written; to start over, type the same command again")
    merged = merge_results(files, output)
    if json:
        print_json({"results": output, **vars(merged)})
        return
    print(f"{merged.files} files: {merged.cells} cells, {merged.folds} folds, {merged.held_twice} of them held twice")
    print(f"Next: tfcr experiment table --results {output}")


@contextmanager
def _standing_bar() -> "Iterator[Callable[[RunProgress], None]]":
    """Show progress on standard error: a moving bar, or one note per minute if it is no terminal."""
    import sys
    import time

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    shown = sys.stderr.isatty()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    told = time.monotonic()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task("", total=None, left="")

        def show(standing: "RunProgress") -> None:
            nonlocal told
            left = "" if standing.seconds_left is None else time_left(standing.seconds_left)
            bar.update(
                task, description=standing.doing, completed=standing.done, total=standing.total or None, left=left
            )
            if not shown and left and time.monotonic() - told > BETWEEN_NOTES:
                told = time.monotonic()
                note(f"{standing.done} of {standing.total} folds done, {left}")

        yield show
