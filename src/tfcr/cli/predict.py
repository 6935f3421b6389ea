"""``tfcr predict``."""

from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Annotated

from tfcr.cli.help import output_option
from tfcr.cli.options import Data, Model, Reading, Writing, with_options
from tfcr.cli.output import note, progress_bar

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

    \b
    tfcr predict model new.csv -o labelled.csv
    """
    from tfcr.data.writers import check_target, frame_writer
    from tfcr.predict_table import Summary, free_names, predict_frame
    from tfcr.trained.model import TrainedModel

    check_target(output)
    classifier = TrainedModel.load(model)
    summary = Summary(classifier.classes.tolist())
    with closing(reading.pieces(data, classifier.training)) as pieces, progress_bar("predicting") as progress:
        first = next(pieces)
        names = free_names(first[0].frame.columns)
        kind, style = writing.style(first[0], output, json=json)
        _check_labels(classifier, style)
        with frame_writer(output, kind, replace(style, fixed=tuple(names[1:]))) as write:
            for table, columns in chain([first], pieces):
                note(table.how)

                def tell(done: int, total: int, before: int = summary.rows) -> None:
                    progress(before + done, before + total)

                frame = predict_frame(classifier, table.frame, columns.text, names=names, progress=tell)
                write(frame)
                summary.add(frame, names)
    for line in summary.lines():
        note(line)


def _check_labels(model: "TrainedModel", style: "Style") -> None:
    """Refuse an encoding or quoting that cannot hold the model's labels, before any long work."""
    import polars as pl

    from tfcr.data.dialect import delimited_rows
    from tfcr.errors import DataError

    if style.dialect is None:
        return
    labels = [str(label) for label in model.classes.tolist()]
    delimited_rows(pl.DataFrame({"predicted": labels}), style.dialect, guard=style.guard, header=True)
    for label in labels:
        try:
            label.encode(style.dialect.encoding)
        except UnicodeEncodeError:
            raise DataError(
                f"the label {label!r} cannot be written in {style.dialect.encoding}, the encoding of the input; give "
                "--output-encoding utf-8"
            ) from None
