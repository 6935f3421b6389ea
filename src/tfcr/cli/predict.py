"""``tfcr predict``."""

import sys
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tfcr.cli.help import output_option
from tfcr.cli.options import COSTS_HELP, Dask, Data, Model, Reading, Writing, dask_places, read_costs, with_options
from tfcr.cli.output import if_stopped, note, progress_bar, warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfcr.data.options import Table
    from tfcr.data.writers import Style
    from tfcr.errors import DataError
    from tfcr.predict_files import Predicted, Target
    from tfcr.predict_table import Extras
    from tfcr.system.journal import Journal
    from tfcr.trained.model import TrainedModel


@with_options
def predict(
    model: Model,
    data: Data,
    reading: Reading,
    writing: Writing,
    output: Annotated[
        str | None,
        output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write ({writers}, by its ending); or a folder, such as out/, for one file per input, of the "
            "same name.",
            show_default="standard output, as csv, tsv or jsonl like the input",
        ),
    ] = None,
    second: Annotated[
        bool,
        output_option(
            "--second", help="Add the runner-up and its probability, which is larger than that of the label at times."
        ),
    ] = False,
    all_probabilities: Annotated[
        bool, output_option("--all-probabilities", help="Add the probability of each class, as probability_LABEL.")
    ] = False,
    why: Annotated[
        int,
        output_option(
            "--why",
            metavar="N",
            help="Add the N words that spoke most for the label, as why.",
            min=0,
            max=1000,
            show_default="none",
        ),
    ] = 0,
    costs: Annotated[
        str | None,
        output_option("--costs", metavar="FILE", help=f"Pick the labels of the least expected cost. {COSTS_HELP}"),
    ] = None,
    resume: Annotated[
        bool, output_option("--resume", help="Resume a run that was stopped or killed; give the same options again.")
    ] = False,
    dask: Dask = None,
    json: Annotated[bool, output_option("--json", help="Print JSON lines, one object per row.")] = False,
) -> None:
    """Classify texts. All columns are kept; predicted, probability and unknown_words are added.

    If texts have several labels, predicted and probability hold all of them: lists in JSON lines and Parquet, joined
    by the label separator in other formats.

    If the model was trained with --precision, rows whose label is not probable enough are unsure, and all rows get
    likeliest, second and second_probability.

    \b
    tfcr predict model new.csv -o labelled.csv
    tfcr predict model 'in/*.csv' -o out/
    tfcr predict model new.csv --second --why 3
    """
    from tfcr.errors import DataError
    from tfcr.predict_files import run_journal, targets_of
    from tfcr.predict_table import Extras, Summary, added_classes, check_extras

    targets = targets_of(data, output, reading.path)
    classifier = _classifier(model, costs)
    extras = Extras(second, all_probabilities, why)
    check_extras(classifier, extras)
    total, failed = Summary(added_classes(classifier)), []
    matrix = None if costs is None else classifier.decision.costs  # what the file holds, not its name
    decided = {"costs": None if matrix is None else matrix.tolist()}
    options = {**asdict(reading), **asdict(writing), **asdict(extras), **decided, "json": json}
    with (
        dask_places(dask) as places,
        run_journal(targets, output, model, options, resume=resume, note=note) as journal,
        progress_bar(hidden=output is None and sys.stdout.isatty()) as stages,  # the rows go there
    ):
        job = Job(classifier, reading, writing, extras, json)
        if_stopped(_if_stopped(output, can_resume=journal is not None))
        stages.begin("reading")
        before, in_all = 0, _size_of_files(targets)

        def tell(size: int) -> None:
            stages.tell("predicting", (before + size) / max(in_all, before + size))

        for target, found in job.run_all(targets, journal, tell, None if places is None else places.each):
            if isinstance(found, DataError):
                if len(targets) == 1:
                    raise found
                warn(f"{target.path} was not written: {found}")
                failed.append(target)
                continue
            for line in found.notes:
                note(line)
            if len(targets) > 1:
                done = ", complete already" if found.was_complete else ""
                note(f"{target.path}: {found.summary.rows:,} rows{done}")
            total.merge(found.summary)
            before += _size_of_files([target])
        if journal is not None and not failed:
            journal.remove()
    for line in total.lines():
        note(line)
    if failed:
        raise DataError(
            f"{len(failed)} of {len(targets)} inputs failed, the first is {failed[0].sources[0]}; the others are "
            "complete. Mend or leave out what failed, and give the same command with --resume"
        )


@dataclass(frozen=True)
class Job:
    """What is done to each target."""

    model: "TrainedModel"
    reading: Reading
    writing: Writing
    extras: "Extras"
    json: bool

    def run_all(
        self,
        targets: "Sequence[Target]",
        journal: "Journal | None",
        tell: "Callable[[int], object]",
        elsewhere: "Callable[..., Iterator[Any]] | None",
    ) -> "Iterator[tuple[Target, Predicted | DataError]]":
        """Predict targets, one after the other; several files where `elsewhere` calls functions, a file each."""
        from tfcr.errors import DataError
        from tfcr.predict_files import can_map, map_targets

        if elsewhere is not None and can_map(targets):
            yield from map_targets(_predict_there, targets, self.model, journal, elsewhere, self)
            return
        for target in targets:
            try:
                yield target, self.run(target, journal, tell, elsewhere)
            except DataError as error:
                yield target, error

    def run(
        self,
        target: "Target",
        journal: "Journal | None",
        tell: "Callable[[int], object]",
        elsewhere: "Callable[..., Iterator[Any]] | None" = None,
        note: "Callable[[str], object]" = note,
    ) -> "Predicted":
        """Predict a target."""
        from tfcr.predict_files import predict_target

        return predict_target(
            self.model,
            target,
            self.reading.pieces(list(target.sources), self.model.training),
            partial(self.style, target),
            journal,
            extras=self.extras,
            note=note,
            tell=tell,
            elsewhere=elsewhere,
        )

    def style(self, target: "Target", table: "Table") -> "tuple[str, Style]":
        """Return the format and the style to write a target in."""
        from tfcr.predict_table import OUTPUT_SEPARATOR

        kind, style = self.writing.style(table, None if target.path is None else str(target.path), json=self.json)
        given = self.reading.label_separator or self.model.training.get("label_separator")
        style = replace(style, label_separator=given or OUTPUT_SEPARATOR)
        _check_labels(self.model, kind, style)
        return kind, style


def _predict_there(target: "Target", job: Job) -> "tuple[list[Any], int, list[str]] | DataError":
    """Predict a file on a worker of a cluster; see `map_targets`."""
    from tfcr.errors import DataError

    notes: list[str] = []
    try:
        found = job.run(target, None, lambda size: None, note=notes.append)
    except DataError as error:
        return error
    return found.summary.state(), 0 if target.path is None else target.path.stat().st_size, notes


def _classifier(path: str, costs: str | None) -> "TrainedModel":
    """Return the model, with other costs than it was trained with if a file gives some."""
    from tfcr.decision import cost_matrix
    from tfcr.errors import InputError
    from tfcr.trained.model import TrainedModel

    model = TrainedModel.load(path)
    if costs is None:
        return model
    if model.decision.several:
        raise InputError(f"found --costs, and {path}, which gives several labels; expected a model that gives one")
    if model.decision.least_probabilities is not None:
        raise InputError(
            f"found --costs, and {path}, which was trained for a precision of other labels; train with both: "
            "tfcr train DATA --precision P --costs FILE"
        )
    matrix = cost_matrix(read_costs(costs), model.classes)
    return replace(model, decision=replace(model.decision, costs=matrix))


def _if_stopped(output: str | None, *, can_resume: bool) -> str:
    """Return what Ctrl-C says."""
    if output is None:
        return "the rows printed so far are not all; to start over, type the same command again"
    how = (
        "to resume, type the same command with --resume" if can_resume else "to start over, type the same command again"
    )
    return f"{output} is not complete; {how}"


def _size_of_files(targets: "Sequence[Target]") -> int:
    """Return the bytes of the files that are read; 0 if they are unknown, as of standard input."""
    from tfcr.system.limits import is_file

    paths = [Path(source) for target in targets for source in target.sources]
    return sum(path.stat().st_size for path in paths if is_file(path))


def _check_labels(model: "TrainedModel", kind: str, style: "Style") -> None:
    """Refuse an encoding, a quoting or a separator that cannot hold the model's labels, before any long work."""
    import polars as pl

    from tfcr.data.dialect import delimited_rows
    from tfcr.data.writers import WRITERS
    from tfcr.errors import DataError

    labels = [str(label) for label in model.classes.tolist()]
    divided = [label for label in labels if style.label_separator in label]
    if model.decision.several and divided and not WRITERS[kind].holds_lists:
        raise DataError(
            f"the label {divided[0]!r} contains {style.label_separator!r}, which separates several labels in a cell; "
            "give another: --label-separator '|', or write lists: -o FILE.jsonl"
        )
    if style.dialect is None:
        return
    delimited_rows(pl.DataFrame({"predicted": labels}), style.dialect, guard=style.guard, header=True)
    for label in labels:
        try:
            label.encode(style.dialect.encoding)
        except UnicodeEncodeError:
            raise DataError(
                f"the label {label!r} cannot be written in {style.dialect.encoding}, the encoding of the input; give "
                "--output-encoding utf-8"
            ) from None
