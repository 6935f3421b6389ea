"""How cost grows: training and prediction from 1,000 to 100,000 documents, and from 2 to 50 classes.

    python benchmarks/growth.py

Tweets of the emoji dataset, 100-dimension GloVe vectors, SVM. Other numbers of classes come from splitting and joining
the 20 emoji at random: as many coefficients to learn, with less to tell the classes apart. Each point is a process of
its own, so that its peak memory can be measured. Writes benchmarks/results/growth.md, .json and docs/images/growth.svg.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import in_new_process, write_results
from speed import GLOVE, vector_file

from tfcr import Embeddings, TfcrClassifier
from tfcr.data import load_dataset
from tfcr.warmup import warm_up

DOCUMENTS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
CLASSES = (2, 5, 10, 20, 35, 50)
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "growth.svg"


def measure(n_documents: int, n_classes: int, blocks: str) -> dict[str, Any]:
    corpus = load_dataset("emoji")
    random = np.random.default_rng(0)
    chosen = random.permutation(len(corpus))[:n_documents]
    texts = [corpus.texts[row] for row in chosen]
    numbers = np.unique(np.array(corpus.labels)[chosen], return_inverse=True)[1]
    labels = (numbers + 20 * random.integers(0, 3, n_documents)) % n_classes
    vectors = Embeddings.load(vector_file(GLOVE))
    warm_up()
    began, cpu = time.perf_counter(), time.process_time()
    model = TfcrClassifier.from_preset("paper", tokenizer="words", embeddings=vectors, blocks=blocks).fit(texts, labels)
    trained, trained_cpu = time.perf_counter(), time.process_time()
    model.predict(texts)
    return {
        "train_wall": trained - began,
        "train_cpu": trained_cpu - cpu,
        "predict_wall": time.perf_counter() - trained,
        "words": len(model.table_.vocabulary),
    }


def main() -> None:
    points = []
    print("| documents | classes | blocks | training, s wall (CPU) | prediction, s wall | peak memory, GB |")
    print("|---|---|---|---|---|---|", flush=True)
    wanted = [(documents, 20, blocks) for blocks in ("all", "own") for documents in DOCUMENTS]
    wanted += [(20_000, classes, blocks) for blocks in ("all", "own") for classes in CLASSES]
    for documents, classes, blocks in wanted:
        printed, peak, _ = in_new_process(__file__, "one", str(documents), str(classes), blocks)
        point = {"documents": documents, "classes": classes, "blocks": blocks, "peak": peak, **json.loads(printed)}
        points.append(point)
        print(row(point), flush=True)
    write_results("growth", "\n".join(map(row, points)), points)
    draw(points)


def row(point: dict[str, Any]) -> str:
    return (
        f"| {point['documents']:,} | {point['classes']} | {point['blocks']} | {point['train_wall']:.1f} "
        f"({point['train_cpu']:.1f}) | {point['predict_wall']:.2f} | {point['peak']:.2f} |"
    )


def draw(points: list[dict[str, Any]]) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    for axes, key, fixed, title in zip(
        figure.subplots(1, 2), ("documents", "classes"), ("classes", "documents"),
        ("20 classes", "20,000 documents"), strict=True,
    ):  # fmt: skip
        value = {"classes": 20, "documents": 20_000}[fixed]
        for blocks, style in (("all", "-o"), ("own", "--s")):
            line = sorted((p for p in points if p[fixed] == value and p["blocks"] == blocks), key=lambda p: p[key])
            for what, shade in (("train", 1.0), ("predict", 0.5)):
                seconds = [p[f"{what}_wall"] for p in line]
                axes.plot([p[key] for p in line], seconds, style, alpha=shade, label=f"{what}, {blocks} blocks")
        axes.set(xlabel=key, ylabel="seconds", title=title, xscale="log", yscale="log")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="x-small")
    IMAGE.parent.mkdir(exist_ok=True)
    figure.savefig(IMAGE, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(measure(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
    else:
        main()
