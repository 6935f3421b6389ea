"""Expected calibration error of our presets and of scikit-learn's calibrated LinearSVC, on the same folds.

    python benchmarks/calibration.py [--datasets a,b] [--folds 3/10] [--systems fast,best,calibrated-svc]

The error is that of the likeliest label: 15 bins of equal width, folds pooled. Macro-F1 is that of the labels that
`predict` picks and, beside it, that of the likeliest ones.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from tfcr import TfcrClassifier
from tfcr.data import load_dataset
from tfcr.decision import reliability
from tfcr.experiment.plan.parsing import parse_folds, parse_names

DATASETS = ("agnews", "davidson", "dbpedia", "semeval", "20ng", "emoji")
SYSTEMS: dict[str, Callable[[], Any]] = {
    "fast": lambda: TfcrClassifier.from_preset("fast", random_state=0),
    "best": lambda: TfcrClassifier.from_preset("best", random_state=0),
    "calibrated-svc": lambda: make_pipeline(
        TfidfVectorizer(sublinear_tf=True), CalibratedClassifierCV(LinearSVC(), ensemble=False)
    ),
}


def measure(name: str, system: Callable[[], Any], folds: int, first: int) -> str:
    corpus = load_dataset(name)
    texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
    tested: list[NDArray[np.int64]] = []
    predicted, probabilities = [], []
    splits = StratifiedKFold(folds, shuffle=True, random_state=0).split(texts, labels)
    for train, test in list(splits)[:first]:
        model = system().fit(texts[train], labels[train])
        tested.append(test)
        predicted.append(model.predict(texts[test]))
        probabilities.append(model.predict_proba(texts[test]))
    truth, chances = labels[np.concatenate(tested)], np.concatenate(probabilities)
    likeliest = np.unique(labels)[chances.argmax(axis=1)]
    error = reliability(chances.max(axis=1), likeliest == truth).expected_error
    scores = [f1_score(truth, given, average="macro") for given in (np.concatenate(predicted), likeliest)]
    return f"| {error:.4f} | {scores[0]:.4f} | {scores[1]:.4f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", type=parse_names, default=DATASETS)
    parser.add_argument("--systems", type=parse_names, default=tuple(SYSTEMS))
    parser.add_argument("--folds", type=parse_folds, default=(10, 10))
    asked = parser.parse_args()
    print("| dataset | system | calibration error | macro-F1 | of the likeliest label |\n|---|---|---|---|---|")
    for dataset in asked.datasets:
        for name in asked.systems:
            print(f"| {dataset} | `{name}` {measure(dataset, SYSTEMS[name], *asked.folds)}", flush=True)


if __name__ == "__main__":
    main()
