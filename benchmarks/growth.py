"""How cost grows: with documents (1,000 to 100,000), classes (2 to 500), and words per text (10 to 10,000).

    python benchmarks/growth.py [AXIS ...]

Axes: documents classes words. Tweets of the emoji dataset, 100-dimension GloVe vectors; the presets `best` and `fast`,
and the part `vectors` alone with an SVM. Other numbers of classes come from splitting and joining the 20 emoji at
random: as many coefficients to learn, with less to tell the classes apart. Texts of a given length are words of tweets
of one class in a row. Each point is a process of its own, so that its peak memory can be measured. Seconds are of CPU,
since other work on the machine changes those of the clock. Writes benchmarks/results/growth.md, .json and
docs/images/growth.svg.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring import in_new_process, write_results
from numpy.typing import NDArray
from speed import GLOVE, vector_file

from tfcr import Embeddings, TfcrClassifier
from tfcr.data import load_dataset
from tfcr.warmup import warm_up

AXES: dict[str, tuple[tuple[int, ...], dict[str, int]]] = {
    "documents": ((1_000, 3_000, 10_000, 30_000, 100_000), {"classes": 20, "words": 0}),
    "classes": ((2, 5, 20, 50, 150, 500), {"documents": 10_000, "words": 0}),
    "words": ((10, 100, 1_000, 10_000), {"documents": 500, "classes": 20}),
}
"""What grows, and what is fixed meanwhile; 0 words per text: tweets as they are, 11 words in the mean."""
TITLES = {
    "documents": "tweets, 20 classes",
    "classes": "10,000 tweets",
    "words": "500 texts, 20 classes",
}


def vectors_alone(blocks: str) -> Callable[[Embeddings], TfcrClassifier]:
    return lambda vectors: TfcrClassifier.from_preset("paper", tokenizer="words", embeddings=vectors, blocks=blocks)


SYSTEMS: dict[str, Callable[[Embeddings], TfcrClassifier]] = {
    "best": lambda vectors: TfcrClassifier.from_preset("best", embeddings=vectors),
    "fast": lambda _: TfcrClassifier.from_preset("fast"),
    "vectors, own blocks": vectors_alone("own"),
    "vectors, all blocks": vectors_alone("all"),
}
MOST_CLASSES = {"vectors, all blocks": 20, "vectors, own blocks": 50}
"""Beyond these, the dense document vectors take minutes; all blocks have as many dimensions as classes times 100."""
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "growth.svg"


def measure(system: str, documents: int, classes: int, words: int) -> dict[str, Any]:
    corpus = load_dataset("emoji")
    random = np.random.default_rng(0)
    chosen = random.permutation(len(corpus))[:documents]
    numbers = np.unique(np.array(corpus.labels), return_inverse=True)[1]
    if words:
        texts = texts_of_length(words, corpus.texts, numbers, numbers[chosen], random)
    else:
        texts = [corpus.texts[row] for row in chosen]
    labels = (numbers[chosen] + 20 * random.integers(0, -(-classes // 20), documents)) % classes
    model = SYSTEMS[system](Embeddings.load(vector_file(GLOVE)))
    warm_up()
    began = time.process_time()
    model.fit(texts, labels)
    trained = time.process_time()
    model.predict(texts)
    return {
        "train": trained - began,
        "predict": time.process_time() - trained,
        "vocabulary": len(model.table_.vocabulary),
    }


def texts_of_length(
    n_words: int,
    tweets: Sequence[str],
    numbers: NDArray[np.int64],
    wanted: NDArray[np.int64],
    random: np.random.Generator,
) -> list[str]:
    """Return a text of so many words for each wanted class number: words of its tweets in a row, from anywhere."""
    pools: dict[int, list[str]] = {}
    for tweet, number in zip(tweets, numbers.tolist(), strict=True):
        pools.setdefault(number, []).extend(tweet.split())
    texts = []
    for number in wanted.tolist():
        start = int(random.integers(len(pools[number]) - n_words))
        texts.append(" ".join(pools[number][start : start + n_words]))
    return texts


def main(axes: Sequence[str]) -> None:
    points: list[dict[str, Any]] = []
    print("| documents | classes | words per text | what | training, s | prediction, s | peak memory, GB |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for axis in axes:
        values, fixed = AXES[axis]
        for system in SYSTEMS:
            for value in values:
                size = {**fixed, axis: value}
                if size["classes"] > MOST_CLASSES.get(system, size["classes"]):
                    continue
                given = json.dumps({"system": system, **size})
                printed, peak, _ = in_new_process(__file__, "one", given)
                points.append({"axis": axis, "system": system, **size, "peak": peak, **json.loads(printed)})
                print(row(points[-1]), flush=True)
    write_results("growth", "\n".join(map(row, points)), points)
    draw(points, axes)


def row(point: dict[str, Any]) -> str:
    return (
        f"| {point['documents']:,} | {point['classes']} | {point['words'] or 'tweets'} | {point['system']} "
        f"| {point['train']:.1f} | {point['predict']:.2f} | {point['peak']:.2f} |"
    )


def draw(points: list[dict[str, Any]], names: Sequence[str]) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(4 * len(names) + 1, 3.6), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        for number, system in enumerate(SYSTEMS):
            line = [point for point in points if (point["axis"], point["system"]) == (name, system)]
            for what, style in (("train", "-o"), ("predict", ":.")):
                seconds = [point[what] for point in line]
                label = f"{what}, {system}"
                axes.plot([point[name] for point in line], seconds, style, color=f"C{number}", ms=4, label=label)
        axes.set(xlabel="words per text" if name == "words" else name, title=TITLES[name], xscale="log", yscale="log")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("seconds of CPU")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize="x-small")
    IMAGE.parent.mkdir(exist_ok=True)
    figure.savefig(IMAGE, metadata={"Date": None})


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        print(json.dumps(measure(**json.loads(sys.argv[2]))))
    else:
        main(sys.argv[1:] or list(AXES))
