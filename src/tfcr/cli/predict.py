"""``tfcr predict``."""

import sys
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tfcr.cli.help import output_option
from tfcr.cli.options import Data, Model, Reading, Writing, with_options
from tfcr.cli.output import if_stopped, note, progress_bar

if TYPE_CHECKING:
    from tfcr.data.writers import Style
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
            help="File to write ({writers}, by its ending).",
            show_default="standard output, as csv, tsv or jsonl like the input",
        ),
    ] = None,
    json: Annotated[bool, output_option("--json", help="Print JSON lines, one object per row.")] = False,
) -> None:
    """Classify texts. All columns are kept; predicted, probability and unknown_words are added.

    If texts have several labels, predicted and probability hold all of them: lists in JSON lines and Parquet, joined
    by the label separator in other formats.

    \b
    tfcr predict model new.csv -o labelled.csv
    """
    from tfcr.data.writers import check_target, frame_writer
    from tfcr.predict_table import OUTPUT_SEPARATOR, Summary, free_names, predict_frame
    from tfcr.trained.model import TrainedModel

    check_target(output)
    classifier = TrainedModel.load(model)
    unfinished = f"{output} was not written" if output else "the rows printed so far are not all"
    if_stopped(f"{unfinished}; to start over, type the same command again")
    summary = Summary(classifier.classes.tolist())
    with (
        closing(reading.pieces(data, classifier.training)) as pieces,
        progress_bar(hidden=output is None and sys.stdout.isatty()) as stages,  # the rows go there
    ):
        stages.begin("reading")
        read, in_all = 0, _size_of_files(data)
        first = next(pieces)
        names = free_names(first[0].frame.columns)
        kind, style = writing.style(first[0], output, json=json)
        style = replace(style, fixed=tuple(names[1:]))
        if classifier.decision.several:
            separator = reading.label_separator or classifier.training.get("label_separator") or OUTPUT_SEPARATOR
            style = replace(style, lists=tuple(names[:2]), label_separator=separator)
        _check_labels(classifier, kind, style)
        with frame_writer(output, kind, style) as write:
            for table, columns in chain([first], pieces):
                note(table.how)

                # a table takes about as many bytes in memory as in its file: enough for a progress bar
                size = int(table.frame.estimated_size())

                def tell(done: int, total: int, before: int = read, size: int = size) -> None:
                    stages.tell("predicting", (before + size * done / total) / max(in_all, before + size))

                frame = predict_frame(classifier, table.frame, columns.text, names=names, progress=tell)
                write(frame)
                summary.add(frame, names)
                read += size
    for line in summary.lines():
        note(line)


def _size_of_files(data: list[str]) -> int:
    """Return the bytes of the files that are read; 0 if they are unknown, as of standard input."""
    from tfcr.system.limits import is_file

    return sum(Path(file).stat().st_size for file in data if is_file(Path(file)))


def _check_labels(model: "TrainedModel", kind: str, style: "Style") -> None:
    """Refuse an encoding, a quoting or a separator that cannot hold the model's labels, before any long work."""
    import polars as pl

    from tfcr.data.dialect import delimited_rows
    from tfcr.data.writers import WRITERS
    from tfcr.errors import DataError

    labels = [str(label) for label in model.classes.tolist()]
    divided = [label for label in labels if style.label_separator in label]
    if style.lists and divided and not WRITERS[kind].holds_lists:
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
