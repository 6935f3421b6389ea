"""CPU time of prediction: the preset best beside the sentence encoders of the accuracy benchmark, on the same texts.

    python benchmarks/encoder_cost.py [--datasets agnews,davidson] [--encoders minilm] [--texts 500]

All take turns in one process, one thread each, after a first call: what is loaded or compiled on first use does not
count. Of an encoder, only encoding counts: the linear classifier on top of it takes next to nothing. Texts are encoded
in the order of their length, in batches, as in the accuracy benchmark. `best` is trained on 5,000 other texts.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "TFCR_THREADS"), "1"))

import measuring
import numpy as np
from encoders import BATCH, ENCODERS, Vectors, batched

from tfcr import TfcrClassifier, TfcrWarning
from tfcr.data import load_data
from tfcr.errors import look_up
from tfcr.experiment.plan.parsing import parse_names

TRAINING = 5_000
"""Texts that `best` is trained on."""


def measure(name: str, encoders: list[str], n_texts: int) -> measuring.Contest:
    """Return the seconds of each for texts of a dataset."""
    corpus = load_data([name])
    order = np.random.default_rng(0).permutation(len(corpus.texts)).tolist()
    asked = sorted((corpus.texts[number] for number in order[:n_texts]), key=len)
    training = order[n_texts:][:TRAINING]
    model = TfcrClassifier.from_preset("best", random_state=0)
    model.fit([corpus.texts[number] for number in training], [corpus.labels[number] for number in training])
    contestants: dict[str, Callable[[], Any]] = {"best": partial(model.predict, asked)}
    for encoder in encoders:
        contestants[encoder] = partial(encode_all, look_up(ENCODERS, encoder, "encoder")(), asked)
    seconds = measuring.take_turns(contestants, turns=3)
    return measuring.Contest(f"{name}, {len(asked):,} texts", seconds, dict.fromkeys(encoders, 100.0))


def encode_all(encode: Callable[[list[str]], Vectors], texts: list[str]) -> None:
    """Encode texts batch by batch."""
    for batch in batched(texts, BATCH):
        encode(list(batch))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", type=parse_names, default="agnews,davidson,dbpedia,semeval")
    parser.add_argument("--encoders", type=parse_names, default="minilm")
    parser.add_argument("--texts", type=int, default=500)
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore", TfcrWarning)
    print(measuring.HEADER)
    for name in asked.datasets:
        print("\n".join(measure(name, list(asked.encoders), asked.texts).rows()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
