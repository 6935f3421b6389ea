"""``tfcr predict``."""

from contextlib import closing
from typing import Annotated

from tfcr.cli.help import output_option
from tfcr.cli.options import Data, Model, Reading, with_options
from tfcr.cli.output import note, progress_bar


@with_options
def predict(
    model: Model,
    data: Data,
    reading: Reading,
    output: Annotated[
        str | None,
        output_option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write ({writers}, by its ending).",
            show_default="standard output, as csv",
        ),
    ] = None,
    json: Annotated[bool, output_option("--json", help="Print JSON lines, one object per row.")] = False,
) -> None:
    """Classify texts. All columns are kept; predicted, probability and unknown_words are added.

    \b
    tfcr predict model new.csv -o labelled.csv
    """
    from tfcr.data.writers import check_target, frame_writer
    from tfcr.predict_table import free_names, predict_frame
    from tfcr.trained.model import TrainedModel

    check_target(output)
    classifier = TrainedModel.load(model)
    rows = missing = 0
    names: list[str] = []
    with (
        closing(reading.pieces(data, classifier.training)) as pieces,
        progress_bar("predicting") as progress,
        frame_writer(output, "jsonl" if json else "csv") as write,
    ):
        for table, columns in pieces:
            names = names or free_names(table.frame.columns)
            note(table.how)

            def tell(done: int, total: int, before: int = rows) -> None:
                progress(before + done, before + total)

            frame = predict_frame(classifier, table.frame, columns.text, names=names, progress=tell)
            write(frame)
            rows += frame.height
            missing += frame[names[0]].null_count()
    if missing:
        note(f"{missing} of {rows} rows have no text and get no prediction")
