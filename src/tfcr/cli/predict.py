"""``tfcr predict``."""

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tfcr.cli.help import output_option
from tfcr.cli.options import Data, Model, Reading, Writing, with_options
from tfcr.cli.output import if_stopped, note, progress_bar, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcr.data.options import Table
    from tfcr.data.writers import Style
    from tfcr.predict_files import Target
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
    resume: Annotated[
        bool, output_option("--resume", help="Resume a run that was stopped or killed; give the same options again.")
    ] = False,
    json: Annotated[bool, output_option("--json", help="Print JSON lines, one object per row.")] = False,
) -> None:
    """Classify texts. All columns are kept; predicted, probability and unknown_words are added.

    If texts have several labels, predicted and probability hold all of them: lists in JSON lines and Parquet, joined
    by the label separator in other formats.

    \b
    tfcr predict model new.csv -o labelled.csv
    tfcr predict model 'in/*.csv' -o out/
    """
    from tfcr.errors import DataError
    from tfcr.predict_files import Target, predict_target, run_journal, targets_of
    from tfcr.predict_table import OUTPUT_SEPARATOR, Summary
    from tfcr.trained.model import TrainedModel

    targets = targets_of(data, output, reading.path)
    classifier = TrainedModel.load(model)
    total = Summary(classifier.classes.tolist())
    failed: list[Target] = []
    options = {**asdict(reading), **asdict(writing), "json": json}
    with (
        run_journal(targets, output, model, options, resume=resume, note=note) as journal,
        progress_bar(hidden=output is None and sys.stdout.isatty()) as stages,  # the rows go there
    ):
        if_stopped(_if_stopped(output, can_resume=journal is not None))
        stages.begin("reading")
        before, in_all = 0, _size_of_files(targets)
        for target in targets:

            def tell(size: int, before: int = before) -> None:
                stages.tell("predicting", (before + size) / max(in_all, before + size))

            def style_of(table: "Table", target: Target = target) -> "tuple[str, Style]":
                kind, style = writing.style(table, None if target.path is None else str(target.path), json=json)
                separator = reading.label_separator or classifier.training.get("label_separator") or OUTPUT_SEPARATOR
                style = replace(style, label_separator=separator)
                _check_labels(classifier, kind, style)
                return kind, style

            pieces = reading.pieces(list(target.sources), classifier.training)
            try:
                found = predict_target(classifier, target, pieces, style_of, journal, note=note, tell=tell)
            except DataError as error:
                if len(targets) == 1:
                    raise
                warn(f"{target.path} was not written: {error}")
                failed.append(target)
                continue
            total.merge(found.summary)
            before += _size_of_files([target])
            if len(targets) > 1:
                note(
                    f"{target.path}: {found.summary.rows:,} rows" + (", complete already" if found.was_complete else "")
                )
        if journal is not None and not failed:
            journal.remove()
    for line in total.lines():
        note(line)
    if failed:
        raise DataError(
            f"{len(failed)} of {len(targets)} inputs failed, the first is {failed[0].sources[0]}; the others are "
            "complete. Mend or leave out what failed, and give the same command with --resume"
        )


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
