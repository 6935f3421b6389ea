"""Time, CPU time and peak memory of `tfcr train` on the generated corpus, from 100,000 documents to 10 million.

    python benchmarks/generate.py --documents 10000000 -o FOLDER
    python benchmarks/scale.py FOLDER [--sizes 100000,1000000,10000000] [--presets fast,paper,best] [--table]

Each run is a process of its own, with --max-memory 2GB and without cross-validation; the first documents of the corpus
are a smaller one. What has run is kept in benchmarks/results/scale.json, or in the folder that TFCR_RESULTS names, and
is not run again; --table runs nothing. `best` stops at 2 million documents. Draws docs/images/scale.svg.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import measuring

MEMORY = "2GB"
SIZES = (100_000, 1_000_000, 2_000_000, 10_000_000)
MOST = {"best": 2_000_000}
"""Documents beyond which a preset is not run."""
LIMIT = 1.3
"""How many times as long a document may take as at the smallest size."""
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "scale.svg"


@contextmanager
def first_documents(path: Path, size: int) -> Iterator[Path]:
    """Give a file with the first documents of the corpus; rows have no line breaks."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "texts.csv"
        with path.open("rb") as source, target.open("wb") as file:
            file.writelines(islice(source, size + 1))
        yield target


def run(corpus: Path, preset: str, size: int) -> dict[str, Any]:
    """Train once, and return what it took."""
    vectors = ["--embeddings", str(corpus / "vectors.bin")] if preset != "fast" else []
    with first_documents(corpus / "texts.csv", size) as data, tempfile.TemporaryDirectory() as folder:
        command = ["-m", "tfcr", "train", str(data), "--preset", preset, *vectors]
        more = ["--no-cv", "--max-memory", MEMORY, "-o", str(Path(folder) / "model"), "--json"]
        began = time.monotonic()
        process = subprocess.Popen([sys.executable, *command, *more], stdout=subprocess.PIPE)
        output = process.stdout.read() if process.stdout else b""
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - began
        if status:
            raise SystemExit(f"tfcr train stopped with status {os.waitstatus_to_exitcode(status)}")
        training = json.loads(output)["training"]
    return {
        "preset": preset,
        "documents": size,
        "wall": seconds,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss * 1024,
        "words": training["words"],
        "sample": training.get("sample"),
    }


def table(runs: list[dict[str, Any]]) -> str:
    """Return the runs as a table; each preset against its smallest size."""
    lines = [
        "| preset | documents | words | minutes | CPU minutes | CPU ms per document | × the smallest | peak, GB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    smallest = {one["preset"]: one for one in sorted(runs, key=lambda one: -int(one["documents"]))}
    for one in sorted(runs, key=lambda one: (one["preset"], one["documents"])):
        each = 1000 * one["cpu"] / one["documents"]
        first = smallest[one["preset"]]
        ratio = each / (1000 * first["cpu"] / first["documents"])
        cells = (
            one["preset"],
            f"{one['documents']:,}",
            f"{one['words']:,}",
            f"{one['wall'] / 60:.1f}",
            f"{one['cpu'] / 60:.1f}",
            f"{each:.3f}",
            f"{ratio:.2f}",
            f"{one['peak'] / 1e9:.2f}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(runs: list[dict[str, Any]]) -> None:
    """Draw time per document, and peak memory, by the number of documents."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tfcr"
    from matplotlib import pyplot as plt  # noqa: PLC0415

    figure, (times, memory) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for marker, preset in zip("os^", sorted({one["preset"] for one in runs}), strict=False):
        some = sorted((one for one in runs if one["preset"] == preset), key=lambda one: int(one["documents"]))
        documents = [one["documents"] for one in some]
        times.plot(documents, [1000 * one["cpu"] / one["documents"] for one in some], marker=marker, label=preset)
        memory.plot(documents, [one["peak"] / 1e9 for one in some], marker=marker, label=preset)
    times.set(xscale="log", xlabel="documents", ylabel="CPU ms per document", ylim=(0, None))
    memory.set(xscale="log", xlabel="documents", ylabel="peak memory, GB", ylim=(0, 2.1))
    memory.axhline(2, color="grey", linestyle=":")
    times.legend(frameon=False)
    figure.savefig(IMAGE, metadata={"Date": None})


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split(",")], default=list(SIZES))
    parser.add_argument("--presets", type=lambda text: text.split(","), default=["fast", "paper", "best"])
    parser.add_argument("--table", action="store_true", help="run nothing, print what there is")
    asked = parser.parse_args(arguments)
    kept = measuring.RESULTS / "scale.json"
    runs = json.loads(kept.read_text())["results"]["runs"] if kept.exists() else []
    done = {(one["preset"], one["documents"]) for one in runs}
    for size in () if asked.table else asked.sizes:
        for preset in asked.presets:
            if (preset, size) not in done and size <= MOST.get(preset, size):
                runs.append(run(asked.corpus, preset, size))
                measuring.write_results("scale", table(runs), {"runs": runs})
    if runs:
        draw(runs)
        print(table(runs))


if __name__ == "__main__":
    main(sys.argv[1:])
