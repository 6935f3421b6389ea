"""Time counting and predicting on a local Dask cluster of one and of two processes, with one thread each.

    python benchmarks/cluster.py                            # a million documents, made by generate.py
    python benchmarks/cluster.py --corpus FOLDER --documents 200000

Counting makes shards and their vocabulary, as `tfcr train` does; eight files are predicted, as by `tfcr predict MODEL
FILES -o FOLDER/`. Two processes should take at most .65 of the time of one. Each is measured several times, in turn;
the median counts. On a machine that does other work, the ratio tells more about that.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from distributed import Client
from generate import main as generate
from scale import first_documents

from tfcr import TfcrClassifier, TrainedModel
from tfcr.cli.options import Reading, Writing
from tfcr.cli.predict import Job
from tfcr.cluster import DaskPlaces, open_client
from tfcr.counting import count_batches
from tfcr.data.labelled_stream import LabelledStream, labelled_stream
from tfcr.evaluation.streams import StreamBatches
from tfcr.predict_files import Predicted, targets_of
from tfcr.predict_table import NO_EXTRAS

WANTED = 0.65
PROCESSES = (1, 2)
FILES = 8


def count(client: Client, stream: LabelledStream, model: TrainedModel, files: Sequence[Path]) -> None:
    places = DaskPlaces(client)
    counted = count_batches(StreamBatches(stream, None), places, model.tokenizer, bigrams=False, max_memory=2 * 10**9)
    places.drop(counted.documents.pieces)


def predict(client: Client, stream: LabelledStream, model: TrainedModel, files: Sequence[Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        job = Job(model, Reading(text=["text"]), Writing(), NO_EXTRAS, json=False)
        targets = targets_of([str(file) for file in files], f"{folder}/")
        for _, found in job.run_all(targets, None, lambda size: None, DaskPlaces(client).each):
            assert isinstance(found, Predicted), found


STEPS: dict[str, Callable[..., None]] = {"count": count, "predict": predict}


def measure(path: Path, repeats: int, folder: Path) -> dict[tuple[str, int], list[float]]:
    """Return the seconds of each step on each number of processes."""
    frame = pl.read_csv(path, columns=["text", "label"], infer_schema=False)
    some = frame.head(20_000)
    model = TfcrClassifier.from_preset("fast").fit(some["text"].to_list(), some["label"].to_list()).model_
    files = [folder / f"{number}.csv" for number in range(FILES)]
    size = -(-frame.height // FILES)
    for number, file in enumerate(files):
        frame.slice(number * size, size).write_csv(file)
    few = folder / "few.csv"
    some.write_csv(few)
    found: dict[tuple[str, int], list[float]] = {(name, number): [] for name in STEPS for number in PROCESSES}
    with labelled_stream([str(path)]) as stream, labelled_stream([str(few)]) as small:
        for _ in range(repeats):
            for number in PROCESSES:
                with open_client("local", processes=number) as client:
                    for name, step in STEPS.items():
                        for warming in range(2 * number):  # compiled code is loaded first
                            step(client, small, model, [few, files[warming % FILES]])
                        began = time.perf_counter()
                        step(client, stream, model, files)
                        found[name, number].append(time.perf_counter() - began)
    return found


def report(found: dict[tuple[str, int], list[float]]) -> Iterator[str]:
    """Yield a line for each step."""
    for name in STEPS:
        one, two = (statistics.median(found[name, number]) for number in PROCESSES)
        shown: Any = {number: " ".join(f"{seconds:.2f}" for seconds in found[name, number]) for number in PROCESSES}
        met = "met" if two / one <= WANTED else "missed"
        yield f"{name:8} one {one:6.2f} s ({shown[1]})   two {two:6.2f} s ({shown[2]})   ratio {two / one:.2f}, {met}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--corpus", type=Path, help="a folder that generate.py wrote; by default it is made")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus = asked.corpus or Path(folder)
        if asked.corpus is None:
            generate(["--documents", str(asked.documents), "--no-vectors", "-o", folder])
        print(f"{asked.documents:,} documents; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before")
        with first_documents(corpus / "texts.csv", asked.documents) as path:
            for line in report(measure(path, asked.repeats, Path(folder))):
                print(line)
        print(f"load {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
