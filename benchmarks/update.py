"""What adding documents in parts costs: ``python benchmarks/update.py [--preset fast] [--folds 3] [DATASET...]``.

Of each dataset a fold is held out; the other documents come in ten parts. A model is trained on the first, and then

- learns on from the others one after the other (`partial_fit`, ``tfcr update --keep-weights``),
- or is trained again with each of them (`update`), which equals training once on everything.

Both are compared with a model of the first part, and with one of all documents. ``--vectors FILE`` are those of the
preset paper.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

from tfcr import TfcrClassifier
from tfcr.data import Corpus, read_corpus
from tfcr.decision import macro_f1_of_labels
from tfcr.evaluation import splits

DATA = Path(os.environ.get("TFCR_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
PARTS = 10
DATASETS = {
    "davidson": lambda: read_corpus(DATA / "davidson" / "labeled_data.csv", text=("tweet",), label="class"),
    "agnews": lambda: read_corpus(DATA / "agnews" / "test.csv", text=("2", "3"), label="1", header=False),
}


def measure(corpus: Corpus, model: TfcrClassifier, folds: int) -> dict[str, tuple[list[float], float]]:
    """Return macro-F1 on each fold, and the mean seconds of all training, of each way."""
    labels = np.array(corpus.labels)
    texts = np.array(corpus.texts, dtype=object)
    found: dict[str, tuple[list[float], list[float]]] = {}
    for number, (train, test) in enumerate(splits(labels, None, 5, 0)):
        if number == folds:
            break
        parts = np.array_split(np.random.default_rng(number).permutation(train), PARTS)

        def note(name: str, fitted: TfcrClassifier, began: float) -> None:
            seconds = time.perf_counter() - began
            score = macro_f1_of_labels(labels[test], np.asarray(fitted.predict(texts[test].tolist())))  # noqa: B023
            found.setdefault(name, ([], []))
            found[name][0].append(score)
            found[name][1].append(seconds)
            print(f"  fold {number}: {name} {score:.4f} {seconds:.1f} s", flush=True)  # noqa: B023

        for name, way in (("first part", None), ("keep weights", "partial_fit"), ("update", "update")):
            began = time.perf_counter()
            fitted = TfcrClassifier(**{**model.get_params(), "keep_documents": way == "update"})
            fitted.fit(texts[parts[0]].tolist(), labels[parts[0]])
            for part in parts[1:] if way else []:
                getattr(fitted, str(way))(texts[part].tolist(), labels[part])
            note(name, fitted, began)
        began = time.perf_counter()
        order = np.concatenate(parts)
        note("at once", TfcrClassifier(**model.get_params()).fit(texts[order].tolist(), labels[order]), began)
    return {name: (scores, float(np.mean(seconds))) for name, (scores, seconds) in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--preset", default="fast")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--vectors")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    vectors = {"embeddings": given.vectors} if given.vectors else {}
    for dataset in given.datasets:
        corpus = DATASETS[dataset]()
        model = TfcrClassifier.from_preset(given.preset, random_state=0, **vectors)
        print(f"{dataset}, {given.preset}: {len(corpus):,} documents", flush=True)
        for name, (scores, seconds) in measure(corpus, model, given.folds).items():
            print(
                f"{dataset:10} {given.preset:6} {name:14} {np.mean(scores):.4f} {np.std(scores):.4f} {seconds:7.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
