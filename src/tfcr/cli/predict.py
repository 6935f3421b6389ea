"""``tfcr predict``."""

from contextlib import closing
from typing import Annotated, Optional

import typer

from tfcr.cli.options import Data, Model, Reading, with_options
from tfcr.cli.output import note, progress_bar


@with_options
def predict(
    model: Model,
    data: Data,
    reading: Reading,
    output: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--output", "-o", help="File to write, .csv, .tsv, .jsonl or .parquet; else standard output."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines, an object a row.")] = False,
) -> None:
    """Classify texts; keep all columns and add predicted, probability and unknown_words.

    \b
    tfcr predict model new.csv -o labelled.csv
    """
    from tfcr.data.named import load_pieces
    from tfcr.data.writers import check_target, frame_writer
    from tfcr.predict_table import free_names, predict_frame
    from tfcr.trained.model import TrainedModel

    check_target(output)
    classifier = TrainedModel.load(model)
    usual = classifier.training.get("columns", ())
    rows = missing = 0
    names: list[str] = []
    with (
        closing(load_pieces(data, reading.options(), usual, reading.path)) as pieces,
        progress_bar("predicting") as progress,
        frame_writer(output, "jsonl" if json else "csv") as write,
    ):
        for table, columns in pieces:
            names = names or free_names(table.frame.columns)
            note(table.how)
            before = rows

            def tell(done: int, total: int) -> None:
                progress(before + done, before + total)  # noqa: B023 - called within this piece

            frame = predict_frame(classifier, table.frame, columns.text, names=names, progress=tell)
            write(frame)
            rows += frame.height
            missing += frame[names[0]].null_count()
    if missing:
        note(f"{missing} of {rows} rows have no text and get no prediction")
