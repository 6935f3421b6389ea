"""How long the page Documents takes with many documents: ``python -m benchmarks.documents [--documents N]``.

A `fast` model of half of the docstrings of `pydocs`; the other half is repeated, with a number at the end of each,
until there are so many documents. Prints the seconds until the server listens, its memory, and the milliseconds of each
path.
"""

import argparse
import csv
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

from tests.serving.conftest import serving

from tfcr import TfcrClassifier
from tfcr.data import load_dataset

REPEATS = 15


def main() -> None:
    """Measure, and print a row for each path."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    wanted = parser.parse_args().documents
    corpus = load_dataset("pydocs")
    rows = list(zip(corpus.texts, corpus.labels, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        model, data = Path(folder) / "model", Path(folder) / "data.csv"
        texts, labels = map(list, zip(*rows[::2], strict=True))
        TfcrClassifier.from_preset("fast", random_state=0).fit(texts, labels).save(model)
        others = rows[1::2]
        with data.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("text", "label"))
            for number in range(wanted):
                text, label = others[number % len(others)]
                writer.writerow((f"{text} {number}", label))
        print(f"{wanted:,} documents, {data.stat().st_size / 1e6:.0f} MB, {len(set(labels))} classes")
        began = time.perf_counter()
        with serving(model, "--data", data, "--text", "text", "--label", "label") as server:
            print(f"ready after {time.perf_counter() - began:.1f} s")
            _ask(server.address, str(labels[0]), str(labels[-1]))
            status = Path(f"/proc/{server.process.pid}/status")
            if status.exists():
                peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
                print(f"memory at most {int(peak.split()[1]) / 1e3:.0f} MB")


def _ask(address: str, label: str, other: str) -> None:
    one, two = quote(label), quote(other)
    paths = (
        "classes",
        f"class?label={one}",
        "list",
        "list?page=1000",
        "list?status=wrong&order=probability",
        f"list?label={one}&status=right",
        f"list?label={one}&predicted={two}&status=wrong",
        "text?number=99",
    )
    print("| path | first, ms | median, ms | kB |\n|---|---|---|---|")
    for path in paths:
        times, size = [], 0
        for _ in range(REPEATS):
            began = time.perf_counter()
            with urllib.request.urlopen(f"{address}/documents/{path}", timeout=60) as answer:
                size = len(answer.read())
            times.append(1e3 * (time.perf_counter() - began))
        print(f"| `{path}` | {times[0]:.0f} | {statistics.median(times):.1f} | {size / 1e3:.1f} |")


if __name__ == "__main__":
    main()
