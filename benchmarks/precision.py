"""How often labels that are decided at a wanted precision are right on unseen folds, and how many are decided.

    python benchmarks/precision.py [--precision 0.95] [--datasets a,b] [--systems fast,best] [--folds 3/10]

Of each dataset: the share of documents decided and how many of them are right, folds pooled; the classes with 50 or
more decided documents, how many of them reach the wanted precision less .02, and the least of them; and the classes
that are decided in no fold.
"""

import argparse
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from tfcr import PRESETS, TfcrClassifier, TfcrWarning
from tfcr.data import load_dataset
from tfcr.experiment.plan.parsing import parse_folds, parse_names

DATASETS = ("agnews", "davidson", "dbpedia", "semeval", "20ng", "emoji")
FEW_DECIDED = 50
"""A class with fewer decided documents is not judged."""
SHORT = 0.02
"""So much less than the wanted precision is allowed on unseen documents."""


def measure(name: str, preset: str, precision: float, folds: int, first: int) -> tuple[str, int, int]:
    """Return a row of the table, the number of classes that are judged, and how many of them reach the precision."""
    corpus = load_dataset(name)
    texts, labels = np.array(corpus.texts, dtype=object), np.array(corpus.labels)
    classes = np.unique(labels)
    right, decided = np.zeros(len(classes), np.int64), np.zeros(len(classes), np.int64)
    tested = 0
    for train, test in list(StratifiedKFold(folds, shuffle=True, random_state=0).split(texts, labels))[:first]:
        model = TfcrClassifier.from_preset(preset, precision=precision, random_state=0).fit(texts[train], labels[train])
        for true, found in zip(labels[test].tolist(), model.decide(texts[test]), strict=True):
            if found is not None:
                number = np.searchsorted(classes, found)
                decided[number] += 1
                right[number] += found == true
        tested += len(test)
    judged = decided >= FEW_DECIDED
    reached = right[judged] / decided[judged]
    n_reached = int((reached >= precision - SHORT).sum())
    least = f"{reached.min():.3f}" if judged.any() else ""
    never = ", ".join(map(str, classes[decided == 0].tolist()))
    overall = f"{decided.sum() / tested:.1%} | {right.sum() / max(decided.sum(), 1):.3f}"
    row = f"| {name} | `{preset}` | {overall} | {n_reached} of {judged.sum()} | {least} | {never} |"
    return row, int(judged.sum()), n_reached


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--precision", type=float, default=0.95)
    parser.add_argument("--datasets", type=parse_names, default=DATASETS)
    parser.add_argument("--systems", type=parse_names, default=("fast", "best"), help=", ".join(PRESETS))
    parser.add_argument("--folds", type=parse_folds, default=(10, 10))
    asked = parser.parse_args()
    warnings.simplefilter("ignore", TfcrWarning)  # classes that are never decided are in the table
    enough = f"{asked.precision - SHORT:.2f}"
    print(f"| dataset | system | decided | right | classes that reach {enough} | least | never decided |")
    print("|---|---|---|---|---|---|---|")
    judged = reached = 0
    for dataset in asked.datasets:
        for preset in asked.systems:
            row, *numbers = measure(dataset, preset, asked.precision, *asked.folds)
            judged, reached = judged + numbers[0], reached + numbers[1]
            print(row, flush=True)
    print(f"\n{reached} of {judged} classes reach {enough}.")


if __name__ == "__main__":
    main()
