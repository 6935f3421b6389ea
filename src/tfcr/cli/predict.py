"""``tfcr predict``."""

import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

from tfcr.cli.help import output_option
from tfcr.cli.options import Data, Model, Reading, with_options
from tfcr.cli.output import if_stopped, note, progress_bar


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
    unfinished = f"{output} was not written" if output else "the rows printed so far are not all"
    if_stopped(f"{unfinished}; to start over, type the same command again")
    rows = missing = 0
    names: list[str] = []
    with (
        closing(reading.pieces(data, classifier.training)) as pieces,
        progress_bar(hidden=output is None and sys.stdout.isatty()) as stages,  # the rows go there
        frame_writer(output, "jsonl" if json else "csv") as write,
    ):
        stages.begin("reading")
        read, in_all = 0, _size_of_files(data)
        for table, columns in pieces:
            names = names or free_names(table.frame.columns)
            note(table.how)

            # a table takes about as many bytes in memory as in its file: enough for a progress bar
            size = int(table.frame.estimated_size())

            def tell(done: int, total: int, before: int = read, size: int = size) -> None:
                stages.tell("predicting", (before + size * done / total) / max(in_all, before + size))

            frame = predict_frame(classifier, table.frame, columns.text, names=names, progress=tell)
            write(frame)
            rows += frame.height
            read += size
            missing += frame[names[0]].null_count()
    if missing:
        note(f"{missing} of {rows} rows have no text and get no prediction")


def _size_of_files(data: list[str]) -> int:
    """Return the bytes of the files that are read; 0 if they are unknown, as of standard input."""
    return sum(Path(file).stat().st_size for file in data if Path(file).is_file())
