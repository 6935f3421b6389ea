"""What each step of training in shards costs on one core, per million documents: the figures of cluster_costs.json.

    python benchmarks/generate.py --documents 1000000 -o FOLDER
    python benchmarks/step_costs.py FOLDER [--documents 200000] [--keep]

Trains `fast` on the first documents of the generated corpus, with one thread, as the workers of a cluster would:
Newton's method without the descent that only one machine can do. Each step is timed where it is called, in CPU seconds,
and multiplied up to a million documents. word2vec is trained on a tenth of them. --keep writes cluster_costs.json.
"""

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "TFCR_THREADS"), "1"))

import numpy as np
from cluster_cost import COSTS, MILLION
from scale import first_documents

from tfcr import Embeddings, TfcrClassifier
from tfcr.data.labelled_stream import labelled_stream
from tfcr.evaluation.streams import StreamBatches
from tfcr.heads.sharded import ShardedSums
from tfcr.system.files import scratch_folder, written_beside
from tfcr.system.places import DiskPlaces
from tfcr.text import shards
from tfcr.warmup import warm_up

VOCABULARY_GROWTH = 0.46
"""By what power of the documents words grow: 113,803 words of 100,000 documents, 329,397 of a million (scale.py)."""

WORD_BYTES = 24
"""Bytes that each word of a shard sends to the driver besides itself: offset, hash, order, documents."""


class Clock:
    """CPU seconds and calls of functions, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Add the CPU time of a block."""
        began = time.process_time()
        yield
        self.seconds[name] += time.process_time() - began
        self.calls[name] += 1

    def timed(self, owner: Any, attribute: str, name: str) -> None:
        """Time every call of a function or method."""
        work: Callable[..., Any] = getattr(owner, attribute)

        def call(*arguments: Any, **named: Any) -> Any:
            with self.timing(name):
                return work(*arguments, **named)

        setattr(owner, attribute, call)


def measure(path: Path, documents: int) -> dict[str, Any]:
    """Return the costs, as cluster_costs.json has them."""
    clock = Clock()
    clock.timed(shards, "_united_words", "merge vocabularies")
    clock.timed(ShardedSums, "slopes", "gradient")
    clock.timed(ShardedSums, "_curved", "Hessian product")
    model = TfcrClassifier.from_preset("fast")
    times = MILLION / documents
    with first_documents(path, documents) as data, labelled_stream([str(data)]) as stream, scratch_folder() as folder:
        places = DiskPlaces(folder, threads=1)
        with clock.timing("read and count"):
            counted = model.count_batches(StreamBatches(stream, None), places)
        n_words = counted.documents.vocabulary.n_words
        pieces = [places.get(counted.documents.pieces, number) for number in range(len(counted.documents.pieces))]
        held = sum(array.nbytes for piece in pieces for array in piece.values())
        words_of_shards = sum(len(piece["places"]) for piece in pieces)
        del pieces
        model.fit_counted(counted.documents, counted.labels, np.ones(documents), None)
        texts = [text for some, *_ in StreamBatches(stream, None) for text in some]
    with clock.timing("predict"):
        model.predict(texts)
    few = texts[: documents // 10]
    with clock.timing("word2vec"):
        Embeddings.train(few, dimensions=25)
    mean_size = sum(map(len, counted.documents.vocabulary.words)) / n_words
    words_sent = words_of_shards * (mean_size + WORD_BYTES)
    seconds = {
        "read and count": (clock.seconds["read and count"] - clock.seconds["merge vocabularies"]) * times,
        "merge vocabularies": clock.seconds["merge vocabularies"] * times,
        **{name: clock.seconds[name] / clock.calls[name] * times for name in ("gradient", "Hessian product")},
        "word2vec": clock.seconds["word2vec"] * times * 10,
        "predict": clock.seconds["predict"] * times,
    }
    sent = {"read and count": held * times, "merge vocabularies": words_sent * times, "predict": 10e6}
    note = f"step_costs.py, {documents:,} documents"
    return {
        "about": "CPU seconds of each step per million documents of benchmarks/generate.py, on one core, with the "
        "preset fast; bytes that a million documents send to the driver (read and count: that they take on a worker). "
        "Written by benchmarks/step_costs.py; 'measured' is false where a figure is assumed.",
        "steps": {
            name: {"seconds": round(spent, 2), "bytes": round(sent.get(name, 0)), "measured": True, "note": note}
            for name, spent in seconds.items()
        },
        "passes": {
            **{name: clock.calls[name] for name in ("gradient", "Hessian product")},
            "measured": True,
            "note": f"{note}, to the tolerance of training",
        },
        "coefficients": {
            "bytes": round(n_words * times**VOCABULARY_GROWTH * 20 * 4),
            "growth": VOCABULARY_GROWTH,
            "measured": True,
            "note": f"{n_words:,} words of {documents:,} documents, 20 classes, 4 bytes",
        },
    }


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--keep", action="store_true", help=f"write {COSTS.name}")
    asked = parser.parse_args(arguments)
    warm_up()
    with patch("tfcr.heads.sharded.can_descend", lambda documents, layout: False):  # what a cluster cannot do
        found = measure(asked.corpus / "texts.csv", asked.documents)
    text = json.dumps(found, indent=1)
    print(text)
    if asked.keep:
        with written_beside(COSTS) as file:
            file.write(f"{text}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1:])
